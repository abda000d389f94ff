//! The trait of algorithms.

use std::sync::Arc;

use super::parameters::{Parameter, Settings};
use crate::ids::Rank;
use crate::vocabulary::{Amounts, BuildError, Claims, Outline, Ports, Problem, RankAmounts, Share, Shares};

/// The description of an algorithm, independent of a problem.
///
/// ```
/// use necklace::algorithm::About;
/// use necklace::schedule::Ports;
///
/// static ABOUT: About = About::new("allgather", "downwards", Ports::One)
///     .summary("each rank passes on the last block that it received, to the rank below")
///     .needs("nothing; made for rings")
///     .claims("N - 1 start-ups, N - 1 blocks");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct About {
    /// The name of the collective.
    pub collective: &'static str,
    /// The algorithm's name, without parameters.
    pub name: &'static str,
    /// One line: what the algorithm does.
    pub summary: &'static str,
    /// The source: paper and section.
    pub source: &'static str,
    /// The requirements of the algorithm on a problem.
    pub needs: &'static str,
    /// The claims as formulas in N ranks, for readers. [`Algorithm::claims`] has the numbers.
    pub claims: &'static str,
    /// The port model that the schedules keep to.
    pub ports: Ports,
}

impl About {
    /// Returns the description of an algorithm for a collective, by its name. The algorithm needs
    /// nothing; summary, source and claims are empty.
    #[must_use]
    pub const fn new(collective: &'static str, name: &'static str, ports: Ports) -> Self {
        Self { collective, name, summary: "", source: "", needs: "nothing", claims: "", ports }
    }

    /// Sets the summary.
    #[must_use]
    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// Sets the source.
    #[must_use]
    pub const fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    /// Sets what the algorithm requires of a problem.
    #[must_use]
    pub const fn needs(mut self, needs: &'static str) -> Self {
        self.needs = needs;
        self
    }

    /// Sets the claims as formulas.
    #[must_use]
    pub const fn claims(mut self, claims: &'static str) -> Self {
        self.claims = claims;
        self
    }
}

/// An algorithm for a collective: it makes a schedule for a problem.
///
/// # For callers
///
/// [`share`](Self::share) checks the problem and returns one rank's rounds.
/// [`shares`](Self::shares) returns the rounds of all ranks, joined.
///
/// # For implementors
///
/// - [`rounds`](Self::rounds) computes one rank's rounds without those of the others, in time and
///   memory in proportion to the blocks that this rank sends, holds and receives. An algorithm that
///   needs more says so in its documentation.
/// - The rounds of all ranks fit together: the i-th send from a to b in a round is b's i-th receive
///   from a, with the same blocks in the same order. Rounds depend on the arguments alone.
/// - The rounds of a rank end, after at most [`Problem::max_rounds`].
/// - A rank sends only blocks that it holds. Blocks are named by ranks, routes by nodes.
/// - The schedule keeps to [`ports`](Self::ports) and to [`claims`](Self::claims).
///
/// [`verify_shares`](crate::schedule::verify_shares) checks the rounds, the port model and the
/// promise of no contention. [`Figures::contradicts`](crate::schedule::Figures::contradicts)
/// compares the claims with the counts. Nothing checks time and memory.
pub trait Algorithm: Send + Sync {
    /// Returns the description: name, source, requirements, port model.
    fn about(&self) -> &About;

    /// Returns the parameters that the algorithm takes. None by default.
    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    /// Returns the values of the parameters.
    fn settings(&self) -> Settings {
        Settings::default()
    }

    /// Returns the same algorithm with these [`settings`](Self::settings), or `None` if it takes no
    /// parameters.
    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        let _ = settings;
        None
    }

    /// Returns the same algorithm with other parameters that may be better for a problem of its
    /// collective. `auto` and lists consider them too, so they should be few. They must depend on
    /// the problem alone. None by default.
    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let _ = problem;
        vec![]
    }

    /// Returns the same algorithm with all parameters that are priced if a name leaves some open. The
    /// cheapest is taken, for the length of a block and the machine. They must depend on the problem
    /// alone. None by default: the algorithm leaves nothing open.
    fn alternatives(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let _ = problem;
        vec![]
    }

    /// Returns the name with the parameters that differ from their defaults, as typed.
    fn name(&self) -> String {
        self.settings().name(self.about().name, self.parameters())
    }

    /// Returns the names of the algorithms by which a [native](crate::algorithm::Native) collective
    /// is priced. `None`, the default, for an algorithm that has a schedule.
    ///
    /// A native collective is executed by the backend's own library and has no schedule. Where the
    /// machine charges for the network, it costs as much as the cheapest of these algorithms;
    /// elsewhere, as much as the cheapest of all.
    fn priced_as(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Returns what the algorithm needs and what it finds instead, if it does not fit a problem of
    /// its collective. By default it fits every problem.
    fn lacks(&self, problem: &Problem) -> Option<String> {
        let _ = problem;
        None
    }

    /// Returns the claims for a problem that the algorithm [fits](Self::fits).
    fn claims(&self, problem: &Problem) -> Claims;

    /// Returns the port model that the schedule for a problem that the algorithm [fits](Self::fits)
    /// keeps to. By default it is [`About::ports`].
    fn ports(&self, problem: &Problem) -> Ports {
        let _ = problem;
        self.about().ports
    }

    /// Returns the names of the phases for a problem that the algorithm [fits](Self::fits). By
    /// default there is one phase, named after the algorithm.
    fn phases(&self, problem: &Problem) -> Vec<String> {
        let _ = problem;
        only_phase(self.about())
    }

    /// Returns the rounds of one rank for a problem that the algorithm [fits](Self::fits). An
    /// algorithm [without a schedule](Self::priced_as) returns no rounds; [`share`](Self::share)
    /// fails instead.
    fn rounds(&self, problem: &Problem, rank: Rank) -> Share;

    /// Returns the same rounds by message sizes, for [simulations](crate::simulate).
    ///
    /// By default the [`rounds`](Self::rounds) are made and counted. An algorithm with many blocks
    /// per message should override this, so that it takes time in proportion to the messages.
    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        Box::new(self.rounds(problem, rank).map(RankAmounts::from))
    }

    /// Checks that the algorithm fits a problem.
    ///
    /// # Errors
    ///
    /// [`BuildError::Unfit`], with what the algorithm needs and what it found.
    fn fits(&self, problem: &Problem) -> Result<(), BuildError> {
        fits(self.about(), problem, &|| self.lacks(problem), &|| self.name())
    }

    /// Returns whether the algorithm promises to keep to a port model, for a problem that it
    /// [fits](Self::fits). A contention-free schedule keeps to [`Ports::All`].
    fn keeps(&self, problem: &Problem, ports: Ports) -> bool {
        self.ports(problem).implies(ports) || ports == Ports::All && self.claims(problem).contention_free
    }

    /// Checks the problem and returns one rank's rounds.
    ///
    /// # Errors
    ///
    /// As [`fits`](Self::fits); [`BuildError::Rank`] for a rank out of range;
    /// [`BuildError::Unscheduled`] for an algorithm without a schedule.
    fn share(&self, problem: &Problem, rank: Rank) -> Result<Share, BuildError> {
        let ranks = problem.ranks();
        if rank.index() >= ranks {
            return Err(BuildError::Rank { rank, ranks });
        }
        scheduled(self, problem)?;
        Ok(self.rounds(problem, rank))
    }

    /// Returns the shares of all ranks, joined into whole rounds.
    ///
    /// # Errors
    ///
    /// As [`fits`](Self::fits); [`BuildError::Unscheduled`] for an algorithm without a schedule.
    fn shares(&self, problem: &Problem) -> Result<Shares, BuildError> {
        Ok(joined(self.outline(problem)?, &|rank| self.rounds(problem, rank)))
    }

    /// Returns the outline of the schedule: the problem and the promises.
    ///
    /// # Errors
    ///
    /// As [`fits`](Self::fits); [`BuildError::Unscheduled`] for an algorithm without a schedule.
    fn outline(&self, problem: &Problem) -> Result<Outline, BuildError> {
        scheduled(self, problem)?;
        let contention_free = self.claims(problem).contention_free;
        Ok(outline(problem, self.name(), self.ports(problem), contention_free, self.phases(problem)))
    }
}

/// Checks that an algorithm has a schedule and fits a problem.
pub(crate) fn scheduled<A: Algorithm + ?Sized>(algorithm: &A, problem: &Problem) -> Result<(), BuildError> {
    match algorithm.priced_as() {
        None => algorithm.fits(problem),
        Some(_) => Err(unscheduled(algorithm.name(), problem)),
    }
}

// What follows is compiled once, not once for each algorithm.

fn only_phase(about: &About) -> Vec<String> {
    vec![about.name.to_owned()]
}

fn outline(problem: &Problem, algorithm: String, ports: Ports, contention_free: bool, phases: Vec<String>) -> Outline {
    Outline { problem: problem.clone(), algorithm, ports, contention_free, phases }
}

fn joined(outline: Outline, rounds: &dyn Fn(Rank) -> Share) -> Shares {
    let shares = outline.problem.all().map(rounds).collect();
    Shares::new(outline, shares)
}

fn fits(
    about: &About,
    problem: &Problem,
    lacks: &dyn Fn() -> Option<String>,
    name: &dyn Fn() -> String,
) -> Result<(), BuildError> {
    let needs = if problem.collective().name() == about.collective {
        lacks()
    } else {
        Some(format!("it is for {}", about.collective))
    };
    needs.map_or(Ok(()), |needs| {
        Err(BuildError::Unfit {
            algorithm: name(),
            collective: problem.collective().to_string(),
            topology: problem.topology().text(),
            needs,
        })
    })
}

fn unscheduled(algorithm: String, problem: &Problem) -> BuildError {
    let (collective, topology) = (problem.collective().to_string(), problem.topology().text());
    BuildError::Unscheduled { algorithm, collective, topology }
}
