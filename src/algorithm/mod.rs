//! Algorithms: from a problem and a rank, that rank's share of a schedule.
//!
//! One file an algorithm; [`registry`] lists them all. An algorithm speaks of blocks and peers only, never of bytes.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod broadcast;
pub mod cube;
mod loads;
mod native;
mod parameters;
pub mod scan;

pub use native::Native;
pub use parameters::{Parameter, Settings, Values};

use std::sync::{Arc, LazyLock};

use crate::collective::Collective;
use crate::error::BuildError;
use crate::ids::Rank;
use crate::schedule::{Amounts, Outline, Ports, Problem, RankAmounts, Share, Volume};
use crate::topology::Factor;

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

/// What an algorithm promises of its schedule for one problem, by formula. `None` is no promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Rounds in which anything is sent.
    pub startups: Option<u64>,
    /// Sum over rounds of the largest transfer.
    pub transmission: Option<Volume>,
    /// Sum over rounds of the most that one rank sends or receives. [Follows](Self::completed) for one port.
    pub port_transmission: Option<Volume>,
    /// Sum over rounds of what the busiest channel carries. [Follows](Self::completed) where nothing contends.
    pub channel_transmission: Option<Volume>,
    /// Sum over rounds of the largest product of a transfer's size and the channels it takes.
    /// [Follows](Self::completed) where all messages go to neighbours.
    pub forwarded_transmission: Option<Volume>,
    /// Sum over rounds of what the ends of that transfer pass one after the other: its size, twice where it takes more than
    /// one channel. [Follows](Self::completed) where all messages go to neighbours.
    pub end_transmission: Option<Volume>,
    /// Sum over rounds of the longest route.
    pub hops: Option<u64>,
    /// Where everyone sends to the same rank in every round, the channels on the longest chain of messages: see
    /// [`Figures::chained_hops`](crate::schedule::Figures::chained_hops). Where nothing is claimed of it, it is the
    /// [hops](Self::hops).
    pub chained_hops: Option<u64>,
    /// The same of sizes times channels, else the [transmission forwarded](Self::forwarded_transmission).
    pub chained_forwarded: Option<Volume>,
    /// Times that a rank's blocks are put into another order between phases.
    pub rearrangements: Option<u64>,
    /// Sum over rounds of the most messages that one rank sends and the most that one receives.
    /// [Follows](Self::completed) for one port.
    pub handled: Option<u64>,
    /// Messages that the busiest rank sends.
    pub messages: Option<u64>,
    /// Blocks that the busiest rank sends.
    pub volume: Option<Volume>,
    /// No channel carries two transfers in one round.
    pub contention_free: bool,
}

/// A way to do a collective.
///
/// # For callers
///
/// [`share`](Self::share) is the way in: it checks, then makes one rank's rounds. [`Shares`](crate::schedule::Shares)
/// joins the shares of all ranks.
///
/// # For implementors
///
/// - [`rounds`](Self::rounds) derives one rank's rounds without building everybody's: time and memory in proportion to
///   what that rank sends, holds and receives. An algorithm that cannot says so in its docs.
/// - All ranks' rounds fit together: the i-th send from a to b in a round is b's i-th receive from a, with the same
///   blocks in the same order. They depend on nothing but the arguments.
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

    /// The same algorithm with these parameters, so that its [`settings`](Self::settings) are these. `None` for one that
    /// takes none.
    fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
        let _ = settings;
        None
    }

    /// The same algorithm with other parameters, where these may be the better choice for a problem of its collective:
    /// few, and derived from the problem alone. What `auto` and lists consider besides itself.
    fn variants(&self, problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
        let _ = problem;
        vec![]
    }

    /// Its name with its parameters, as it would be typed; those at their defaults left out.
    fn name(&self) -> String {
        self.settings().name(self.about().name, self.parameters())
    }

    /// For one that has no schedule, as the backend does the collective [in its own way](Native): the algorithms for it, by
    /// name, as the cheapest of which it is priced where the machine charges for the network; elsewhere it is as the cheapest of all.
    /// `None`, unless overridden: it has a schedule.
    fn priced_as(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// What it would need and what it finds instead, for a problem of its collective that it cannot do. Unless overridden,
    /// it can do all.
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

    /// The rounds of one rank of a problem that it [fits](Self::fits). None where it [has no schedule](Self::priced_as):
    /// [`share`](Self::share) tells that from a schedule without rounds.
    fn rounds(&self, problem: &Problem, rank: Rank) -> Share;

    /// The same rounds by how much is sent, for [simulations](crate::simulate), which ask nothing else. Unless overridden, the
    /// [`rounds`](Self::rounds) are made and counted. Where messages are long it is worth overriding: time then is in
    /// proportion to messages, not to their blocks.
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

    /// Whether it promises, for a problem that it [fits](Self::fits), to keep to a port model. Where nothing contends a
    /// channel has one transfer, whatever ranks have.
    fn keeps(&self, problem: &Problem, ports: Ports) -> bool {
        self.about().ports.implies(ports) || ports == Ports::All && self.claims(problem).contention_free
    }

    /// One rank's rounds.
    ///
    /// # Errors
    ///
    /// As [`fits`](Self::fits), [`BuildError::Rank`] where there is no such rank, [`BuildError::Unscheduled`] where there is no
    /// schedule.
    fn share(&self, problem: &Problem, rank: Rank) -> Result<Share, BuildError> {
        let ranks = problem.ranks();
        if rank.index() >= ranks {
            return Err(BuildError::Rank { rank, ranks });
        }
        scheduled(self, problem)?;
        Ok(self.rounds(problem, rank))
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

impl Claims {
    /// With what follows from them, for a schedule that keeps to these ports.
    #[must_use]
    pub fn completed(self, ports: Ports) -> Self {
        let one = ports == Ports::One;
        // Every round in which anything is sent takes a hop at least.
        let to_neighbours = self.hops.is_some() && self.hops == self.startups;
        let transmission = |follows: bool| self.transmission.filter(|_| follows);
        Self {
            port_transmission: self.port_transmission.or(transmission(one)),
            channel_transmission: self.channel_transmission.or(transmission(self.contention_free)),
            forwarded_transmission: self.forwarded_transmission.or(transmission(to_neighbours)),
            end_transmission: self.end_transmission.or(transmission(to_neighbours)),
            handled: self.handled.or(self.startups.filter(|_| one).map(|startups| startups.saturating_mul(2))),
            ..self
        }
    }

    /// Those of a schedule in which so many rounds each move single blocks, and the busiest rank sends one in each; over
    /// channels of their own if `apart`.
    pub(crate) fn of_single_blocks(rounds: u64, apart: bool) -> Self {
        Self {
            startups: Some(rounds),
            transmission: Some(Volume::from(rounds)),
            hops: apart.then_some(rounds),
            rearrangements: Some(0),
            messages: Some(rounds),
            volume: Some(Volume::from(rounds)),
            contention_free: apart,
            ..Self::default()
        }
    }
}

/// All algorithms: one row each, with the defaults of its parameters.
#[must_use]
pub fn registry() -> &'static [Arc<dyn Algorithm>] {
    static ROWS: LazyLock<Vec<Arc<dyn Algorithm>>> = LazyLock::new(|| {
        let native = Native::ALL.map(|native| Arc::new(native) as Arc<dyn Algorithm>);
        let scheduled: Vec<Arc<dyn Algorithm>> = vec![
            Arc::new(alltoall::Direct),
            Arc::new(alltoall::DirectRotated),
            Arc::new(alltoall::DirectXor),
            Arc::new(alltoall::Ring),
            Arc::new(alltoall::RingBoth),
            Arc::new(alltoall::Bruck::default()),
            Arc::new(alltoall::ByDimension::default()),
            Arc::new(alltoall::CubeLog),
            Arc::new(alltoall::CubeXor),
            Arc::new(alltoall::TorusExchange),
            Arc::new(alltoall::MeshExchange::default()),
            Arc::new(alltoall::NecklaceExchange::default()),
            Arc::new(allgather::Ring),
            Arc::new(allgather::RecursiveDoubling),
            Arc::new(allreduce::RecursiveDoubling),
            Arc::new(scan::RecursiveDoubling),
            Arc::new(broadcast::Binomial),
            Arc::new(barrier::Dissemination),
        ];
        native.into_iter().chain(scheduled).collect()
    });
    &ROWS
}

/// The algorithms for a collective, by its name, in the registry's order.
pub fn all_for(collective: &str) -> impl Iterator<Item = &'static Arc<dyn Algorithm>> {
    registry().iter().filter(move |algorithm| algorithm.about().collective == collective)
}

/// What there is to choose from for a problem, fit or not: the algorithms for its collective in the registry's order,
/// each followed by those of its [variants](Algorithm::variants) that fit.
#[must_use]
pub fn candidates(problem: &Problem) -> Vec<Arc<dyn Algorithm>> {
    let with_variants = |row: &Arc<dyn Algorithm>| {
        let variants = row.variants(problem).into_iter().filter(|variant| variant.fits(problem).is_ok());
        std::iter::once(Arc::clone(row)).chain(variants).collect::<Vec<_>>()
    };
    all_for(problem.collective().name()).flat_map(with_variants).collect()
}

/// The algorithm for a collective that a text names: `name`, or `name:key=value,..` where it takes parameters.
///
/// # Errors
///
/// [`BuildError::Unknown`], naming those there are; [`BuildError::Parameters`], with what would be right.
pub fn find(collective: &Collective, text: &str) -> Result<Arc<dyn Algorithm>, BuildError> {
    let kind = collective.name();
    let (name, given) = text.split_once(':').map_or((text, None), |(name, given)| (name, Some(given)));
    let Some(row) = all_for(kind).find(|algorithm| algorithm.about().name == name) else {
        return Err(BuildError::Unknown {
            name: name.to_owned(),
            collective: kind.to_owned(),
            known: all_for(kind).map(|algorithm| algorithm.about().name.to_owned()).collect(),
        });
    };
    let settings = Settings::read(name, row.parameters(), given)?;
    Ok(row.with(&settings).unwrap_or_else(|| Arc::clone(row)))
}

/// That an algorithm fits a problem and has a schedule for it.
pub(crate) fn scheduled<A: Algorithm + ?Sized>(algorithm: &A, problem: &Problem) -> Result<(), BuildError> {
    algorithm.fits(problem)?;
    algorithm.priced_as().map_or(Ok(()), |_| {
        let (collective, topology) = (problem.collective().to_string(), problem.topology().text());
        Err(BuildError::Unscheduled { algorithm: algorithm.name(), collective, topology })
    })
}

/// What an algorithm for powers of two of ranks lacks elsewhere.
fn no_power_of_two(problem: &Problem) -> Option<String> {
    let ranks = problem.ranks();
    (!ranks.is_power_of_two()).then(|| format!("it needs a power of two of ranks, there are {ranks}"))
}

/// Whether messages between any two ranks have channels of their own.
fn is_complete(problem: &Problem) -> bool {
    let nodes = problem.topology().nodes();
    problem.topology().channels() == nodes.saturating_mul(nodes - 1)
}

/// Whether ranks whose numbers differ in one bit are neighbours.
fn is_cube(problem: &Problem) -> bool {
    problem.placement().is_identity() && problem.topology().cube().is_some_and(|d| problem.ranks() == 1 << d)
}

/// The extents of a product of complete networks, all powers of two, with rank i on node i. Exclusive or with a number
/// changes each coordinate by itself there, and a changed coordinate is one hop.
fn cube_digits(problem: &Problem) -> Option<Vec<usize>> {
    let all = problem.placement().is_identity() && problem.ranks() == problem.topology().nodes();
    let digit =
        |factor: &Factor| (factor.is_complete() && factor.extent().is_power_of_two()).then_some(factor.extent());
    problem.topology().factors().filter(|_| all)?.iter().map(digit).collect()
}

/// The rounds of doubling that reach all of `ranks`: the base-2 logarithm, rounded up.
fn doublings(ranks: usize) -> u32 {
    ranks.next_power_of_two().trailing_zeros()
}
