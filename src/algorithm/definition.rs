//! What an algorithm is.

use std::sync::Arc;

use super::parameters::{Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, BuildError, Claims, Outline, Ports, Problem, RankAmounts, Share, Shares};

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
    /// What it promises, as formulas in N ranks, for people; [`Algorithm::claims`] has the numbers.
    pub claims: &'static str,
    /// The port model it keeps to.
    pub ports: Ports,
}

/// A way to do a collective.
///
/// # For callers
///
/// [`share`](Self::share) is the way in: it checks, then makes one rank's rounds.
/// [`shares`](Self::shares) joins those of all ranks.
///
/// # For implementors
///
/// - [`rounds`](Self::rounds) derives one rank's rounds without building everybody's: time and
///   memory in proportion to what that rank sends, holds and receives. An algorithm that cannot
///   says so in its docs.
/// - All ranks' rounds fit together: the i-th send from a to b in a round is b's i-th receive from
///   a, with the same blocks in the same order. They depend on nothing but the arguments.
/// - Nothing is sent before it is held. Blocks are named by ranks, routes by nodes.
/// - The schedule keeps to [`About::ports`] and to [`claims`](Self::claims).
///
/// [`verify_shares`](crate::schedule::verify_shares) checks all of it.
pub trait Algorithm: Send + Sync {
    /// Name, source, needs.
    fn about(&self) -> &About;

    /// The parameters that it takes: none unless overridden.
    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    /// What its parameters are set to.
    fn settings(&self) -> Settings {
        Settings::default()
    }

    /// The same algorithm with these parameters, so that its [`settings`](Self::settings) are
    /// these. `None` for one that takes none.
    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        let _ = settings;
        None
    }

    /// The same algorithm with other parameters, where these may be the better choice for a problem
    /// of its collective: few, and derived from the problem alone. What `auto` and lists consider
    /// besides itself.
    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let _ = problem;
        vec![]
    }

    /// Its name with its parameters, as it would be typed; those at their defaults left out.
    fn name(&self) -> String {
        self.settings().name(self.about().name, self.parameters())
    }

    /// For one that has no schedule, as the backend does the collective [in its own
    /// way](crate::algorithm::Native), where it can: the algorithms for it, by name, as the
    /// cheapest of which it is priced where the machine charges for the network; elsewhere it is as
    /// the cheapest of all. `None`, unless overridden: it has a schedule.
    fn priced_as(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// What it would need and what it finds instead, for a problem of its collective that it cannot
    /// do. Unless overridden, it can do all.
    fn lacks(&self, problem: &Problem) -> Option<String> {
        let _ = problem;
        None
    }

    /// What it promises for a problem that it [fits](Self::fits).
    fn claims(&self, problem: &Problem) -> Claims;

    /// The names of its phases for a problem that it [fits](Self::fits).
    fn phases(&self, problem: &Problem) -> Vec<String> {
        let _ = problem;
        vec![self.about().name.to_owned()]
    }

    /// The rounds of one rank of a problem that it [fits](Self::fits). None where it [has no
    /// schedule](Self::priced_as): [`share`](Self::share) tells that from a schedule without
    /// rounds.
    fn rounds(&self, problem: &Problem, rank: Rank) -> Share;

    /// The same rounds by how much is sent, for [simulations](crate::simulate), which ask nothing
    /// else. Unless overridden, the [`rounds`](Self::rounds) are made and counted. Where messages
    /// are long it is worth overriding: time then is in proportion to messages, not to their
    /// blocks.
    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        Box::new(self.rounds(problem, rank).map(RankAmounts::from))
    }

    /// Whether it can do this.
    ///
    /// # Errors
    ///
    /// [`BuildError::Unfit`], with what it needs and what it found.
    fn fits(&self, problem: &Problem) -> Result<(), BuildError> {
        let about = self.about();
        let needs = if problem.collective().name() == about.collective {
            self.lacks(problem)
        } else {
            Some(format!("it is for {}", about.collective))
        };
        needs.map_or(Ok(()), |needs| {
            Err(BuildError::Unfit {
                algorithm: self.name(),
                collective: problem.collective().to_string(),
                topology: problem.topology().text(),
                needs,
            })
        })
    }

    /// Whether it promises, for a problem that it [fits](Self::fits), to keep to a port model.
    /// Where nothing contends a channel has one transfer, whatever ranks have.
    fn keeps(&self, problem: &Problem, ports: Ports) -> bool {
        self.about().ports.implies(ports) || ports == Ports::All && self.claims(problem).contention_free
    }

    /// One rank's rounds.
    ///
    /// # Errors
    ///
    /// As [`fits`](Self::fits), [`BuildError::Rank`] where there is no such rank,
    /// [`BuildError::Unscheduled`] where there is no schedule.
    fn share(&self, problem: &Problem, rank: Rank) -> Result<Share, BuildError> {
        let ranks = problem.ranks();
        if rank.index() >= ranks {
            return Err(BuildError::Rank { rank, ranks });
        }
        scheduled(self, problem)?;
        Ok(self.rounds(problem, rank))
    }

    /// The shares of all ranks, to be joined into whole rounds.
    ///
    /// # Errors
    ///
    /// As [`fits`](Self::fits), and [`BuildError::Unscheduled`] where there is no schedule.
    fn shares(&self, problem: &Problem) -> Result<Shares, BuildError> {
        let shares = problem.all().map(|rank| self.share(problem, rank)).collect::<Result<_, _>>()?;
        Ok(Shares::new(self.outline(problem)?, shares))
    }

    /// What its schedule is of, and what it promises.
    ///
    /// # Errors
    ///
    /// As [`fits`](Self::fits), and [`BuildError::Unscheduled`] where there is no schedule.
    fn outline(&self, problem: &Problem) -> Result<Outline, BuildError> {
        scheduled(self, problem)?;
        Ok(Outline {
            problem: problem.clone(),
            algorithm: self.name(),
            ports: self.about().ports,
            contention_free: self.claims(problem).contention_free,
            phases: self.phases(problem),
        })
    }
}

/// That an algorithm has a schedule, and fits a problem.
pub(crate) fn scheduled<A: Algorithm + ?Sized>(algorithm: &A, problem: &Problem) -> Result<(), BuildError> {
    if algorithm.priced_as().is_some() {
        let (collective, topology) = (problem.collective().to_string(), problem.topology().text());
        return Err(BuildError::Unscheduled { algorithm: algorithm.name(), collective, topology });
    }
    algorithm.fits(problem)
}
