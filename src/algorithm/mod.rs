//! Algorithms: from a problem and a rank, that rank's share of a schedule.
//!
//! One file an algorithm; [`registry`] lists them all. An algorithm speaks of blocks and peers only, never of bytes.

use crate::error::BuildError;
use crate::ids::Rank;
use crate::schedule::{Outline, Ports, Problem, Share, Volume};

/// What is known of an algorithm without a problem.
#[derive(Clone, Debug)]
pub struct About {
    /// The collective it is for, by name.
    pub collective: &'static str,
    /// Its name in the registry.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// Where it comes from: paper and section.
    pub source: &'static str,
    /// What it needs of the problem.
    pub needs: &'static str,
    /// The port model it keeps to.
    pub ports: Ports,
}

/// What an algorithm promises of its schedule for one problem, by formula. `None` is no promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Rounds in which anything is sent.
    pub startups: Option<u64>,
    /// Sum over rounds of the largest transfer.
    pub transmission: Option<Volume>,
    /// Sum over rounds of the longest route.
    pub hops: Option<u64>,
    /// Times that a rank's blocks are put into another order between phases.
    pub rearrangements: Option<u64>,
    /// Messages that the busiest rank sends.
    pub messages: Option<u64>,
    /// No channel carries two transfers in one round.
    pub contention_free: bool,
}

/// A way to do a collective.
///
/// # For implementors
///
/// - [`share`](Self::share) derives one rank's rounds without building everybody's: time and memory in proportion to
///   what that rank sends, holds and receives. An algorithm that cannot says so in its docs.
/// - All ranks' shares fit together: the i-th send from a to b in a round is b's i-th receive from a, with the same
///   blocks in the same order. A share depends on nothing but its arguments.
/// - Nothing is sent before it is held; blocks are named by ranks, routes by nodes.
/// - The schedule keeps to [`About::ports`] and to [`claims`](Self::claims).
///
/// [`Shares`](crate::schedule::Shares) with [`verify`](crate::schedule::verify) checks all of it.
pub trait Algorithm: Send + Sync {
    /// Name, source, needs.
    fn about(&self) -> &About;

    /// Its name with its parameters, as it would be typed.
    fn name(&self) -> String {
        self.about().name.to_owned()
    }

    /// Whether it can do this.
    ///
    /// # Errors
    ///
    /// [`BuildError::Unfit`], with what it needs and what it found.
    fn fits(&self, problem: &Problem) -> Result<(), BuildError>;

    /// What it promises for a problem that it [fits](Self::fits).
    fn claims(&self, problem: &Problem) -> Claims;

    /// The names of its phases for a problem that it [fits](Self::fits).
    fn phases(&self, problem: &Problem) -> Vec<String> {
        let _ = problem;
        vec![self.about().name.to_owned()]
    }

    /// One rank's rounds.
    ///
    /// # Errors
    ///
    /// As [`fits`](Self::fits), and [`BuildError::Rank`] where there is no such rank.
    fn share(&self, problem: &Problem, rank: Rank) -> Result<Share, BuildError>;

    /// What its schedule is of, and what it promises.
    ///
    /// # Errors
    ///
    /// As [`fits`](Self::fits).
    fn outline(&self, problem: &Problem) -> Result<Outline, BuildError> {
        self.fits(problem)?;
        Ok(Outline {
            problem: problem.clone(),
            algorithm: self.name(),
            ports: self.about().ports,
            contention_free: self.claims(problem).contention_free,
            phases: self.phases(problem),
        })
    }
}
