//! Algorithms for [custom](crate::collective::Custom) collectives of a known kind. They are in no
//! registry: pass them where an algorithm of your own can be.

mod k_to_all_broadcast;
mod k_to_all_parts;
mod k_to_all_personalised;

pub use k_to_all_broadcast::KToAllBroadcast;
pub use k_to_all_parts::KToAllParts;
pub use k_to_all_personalised::KToAllPersonalised;

use crate::algorithm::no_power_of_two;
use crate::collective::{Collective, Custom};
use crate::ids::Rank;
use crate::vocabulary::Problem;

/// Returns the ranks that have blocks before, in order.
fn sources(problem: &Problem) -> Vec<Rank> {
    let Collective::Custom(custom) = problem.collective() else { return vec![] };
    let has_some = |rank: &Rank| custom.pre.get(rank.index()).is_some_and(|pre| !pre.is_empty());
    problem.all().filter(has_some).collect()
}

/// Returns the unmet requirement if the collective is not the one that `of` makes from its sources,
/// or the number of ranks is not a power of two.
fn is_other(problem: &Problem, what: &str, of: impl FnOnce(usize, &[Rank]) -> Custom) -> Option<String> {
    let expected = of(problem.ranks(), &sources(problem));
    let same = matches!(problem.collective(), Collective::Custom(custom) if **custom == expected);
    let needs = || format!("it needs a {what}; this has other conditions");
    (!same).then(needs).or_else(|| no_power_of_two(problem))
}

/// The sources of a collective by their numbers modulo their number k, a power of two: those of a
/// cube of the lowest dimensions, or a translate of each in the others.
struct Teams {
    /// For each remainder its source.
    sources: Vec<Rank>,
    /// The base-2 logarithm of the number of sources, and of ranks per source.
    low: u32,
    high: u32,
}

impl Teams {
    /// Returns the unmet requirement, if there is one.
    fn lacks(problem: &Problem) -> Option<String> {
        let found = sources(problem);
        let k = found.len();
        let is_each_once = k.is_power_of_two() && {
            let mut known = vec![false; k];
            found.iter().all(|source| !std::mem::replace(&mut known[source.index() % k], true))
        };
        let needs = || format!("it needs 2^i sources that differ modulo their number; there are {k}");
        (!is_each_once).then(needs)
    }

    fn of(problem: &Problem) -> Self {
        let mut sources = sources(problem);
        let k = sources.len().max(1);
        sources.sort_by_key(|source| source.index() % k);
        Self { sources, low: k.ilog2(), high: problem.ranks().ilog2().saturating_sub(k.ilog2()) }
    }

    /// Returns the source of a rank's team.
    fn source(&self, rank: usize) -> Rank {
        self.sources.get(rank & ((1 << self.low) - 1)).copied().unwrap_or_default()
    }

    /// Returns the place of a rank in its team, relative to the source.
    fn place(&self, rank: usize) -> usize {
        (rank ^ self.source(rank).index()) >> self.low
    }

    /// Returns what a rank does in the round of a scatter along bit `b` of the places: it sends to
    /// a rank of its team, or receives from it, and the members that are reached over the receiver,
    /// as consecutive numbers in the team.
    fn scatter(&self, rank: usize, b: u32) -> Option<Handing> {
        let (place, peer) = (self.place(rank), rank ^ 1 << (b + self.low));
        let sends = match place % (2 << b) {
            0 => true,
            last if last == 1 << b => false,
            _ => return None,
        };
        let receiver = if sends { peer } else { rank };
        let first = receiver >> self.low >> b << b;
        Some(Handing { sends, peer: Rank::new(peer), members: first..first + (1 << b) })
    }
}

/// A handover in a scatter.
struct Handing {
    sends: bool,
    peer: Rank,
    members: std::ops::Range<usize>,
}
