//! The blocks that ranks hold at the beginning and must hold at the end, in the form that the
//! verifier needs.

use std::ops::Range;

use super::holdings::{Cuts, Holdings, name, span};
use super::{Contributors, Location, ViolationKind, Violations};
use crate::block::Block;
use crate::collective::Collective;
use crate::hash::Map;
use crate::ids::Rank;
use crate::vocabulary::Problem;

/// The holdings of all ranks. Those of a rank are created at its first use, so that ranks without
/// transfers cost nothing.
pub(super) struct Ranks {
    conditions: Conditions,
    holdings: Map<Holdings>,
}

/// The collective, which says what ranks hold.
struct Conditions {
    collective: Collective,
    size: usize,
    ordered: bool,
}

/// Chunks that a rank must hold at the end.
pub(super) struct Wanted {
    pub(super) name: u64,
    pub(super) block: Block,
    /// The range of chunks, and the number of chunks of the block. Only a custom collective asks
    /// for less than the whole block.
    pub(super) span: Range<u32>,
    pub(super) of: u32,
    pub(super) who: Contributors,
}

impl Ranks {
    pub(super) fn new(problem: &Problem) -> Self {
        let (collective, size, ordered) = (problem.collective().clone(), problem.ranks(), !problem.commutative());
        Self { conditions: Conditions { collective, size, ordered }, holdings: Map::default() }
    }

    /// Returns what a rank holds now.
    pub(super) fn of(&mut self, rank: Rank, cuts: &Cuts) -> &mut Holdings {
        let Self { conditions, holdings } = self;
        holdings.entry(rank.index() as u64).or_insert_with(|| conditions.before(rank, cuts))
    }

    /// Removes and returns what a rank holds at the end.
    pub(super) fn last(&mut self, rank: Rank, cuts: &Cuts) -> Holdings {
        let known = self.holdings.remove(&(rank.index() as u64));
        known.unwrap_or_else(|| self.conditions.before(rank, cuts))
    }

    /// Returns what a rank must hold at the end.
    pub(super) fn wanted(&self, rank: Rank, cuts: &Cuts) -> Vec<Wanted> {
        let Conditions { collective, size, ordered } = &self.conditions;
        let wanted = |block: Block, who| {
            let name = name(block);
            let of = cuts.of(name);
            let span = if of > 1 && block.of() == 1 { 0..of } else { span(block) };
            Wanted { name, block, span, of, who }
        };
        if let Some((block, contributors)) = collective.result(*size, rank) {
            return vec![wanted(block, Contributors::range(contributors))];
        }
        let after = collective.after(*size, rank);
        let sound = after.into_iter().filter(|(block, who)| flaw(*block, who, *size, cuts).is_none());
        sound.map(|(block, who)| wanted(block, Contributors::of(&who, *ordered))).collect()
    }
}

impl Conditions {
    /// Returns what a rank holds at the beginning.
    fn before(&self, rank: Rank, cuts: &Cuts) -> Holdings {
        let mut holdings = Holdings::default();
        for (block, who) in self.collective.before(self.size, rank) {
            if flaw(block, &who, self.size, cuts).is_none() {
                holdings.put(name(block), span(block), block.of(), Contributors::of(&who, self.ordered));
            }
        }
        holdings
    }
}

/// Returns the number of ranks plus the number of blocks that all ranks hold at the beginning and
/// at the end.
pub(super) fn amount(problem: &Problem) -> u128 {
    let ranks = problem.ranks() as u128;
    let (before, after) = problem.collective().together(ranks, ranks);
    ranks + before + after
}

/// Records how a custom collective cuts its blocks into chunks, and reports its violations.
pub(super) fn inspect(problem: &Problem, cuts: &mut Cuts, violations: &mut Violations) {
    let Collective::Custom(custom) = problem.collective() else { return };
    let ranks = problem.ranks();
    for side in [&custom.pre, &custom.post] {
        if side.len() != ranks {
            let fault = ViolationKind::ConditionRanks { expected: ranks, found: side.len() };
            violations.report(Location::default(), fault);
        }
        for (rank, holding) in side.iter().enumerate() {
            let place = Location::default().rank(Rank::new(rank));
            let mut stated = Vec::with_capacity(holding.len());
            for &(block, ref who) in holding {
                let cut = cuts.note(block).err().map(|expected| ViolationKind::Cut { expected, found: block.of() });
                match cut.or_else(|| flaw(block, who, ranks, cuts)) {
                    Some(fault) => violations.report(place.block(block), fault),
                    None => stated.push(block),
                }
            }
            stated.sort_unstable_by_key(|&block| (name(block), block.first()));
            for pair in stated.windows(2) {
                if name(pair[0]) == name(pair[1]) && span(pair[0]).end > pair[1].first() {
                    violations.report(place.block(pair[1]), ViolationKind::StatedTwice);
                }
            }
        }
    }
}

/// Returns the violation of a block that names a rank which does not exist.
pub(super) fn out_of_range(block: Block, ranks: usize) -> Option<ViolationKind> {
    let ends = [block.source(), block.destination()].into_iter();
    let outside = |&end: &i32| usize::try_from(end).is_ok_and(|end| end >= ranks);
    ends.filter(outside).map(|found| ViolationKind::BlockRange { found, ranks }).next()
}

/// Returns the violation of a block that a custom collective states. Built-in collectives have
/// none.
fn flaw(block: Block, who: &[Rank], ranks: usize, cuts: &Cuts) -> Option<ViolationKind> {
    if let [own] = who
        && own.index() < ranks
        && block.of() == 1
        && cuts.of(name(block)) == 1
    {
        return out_of_range(block, ranks);
    }
    let mut sorted = who.to_vec();
    sorted.sort_unstable();
    let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]);
    let outside = sorted.last().filter(|rank| rank.index() >= ranks);
    out_of_range(block, ranks)
        .or_else(|| outside.map(|&contributor| ViolationKind::ContributorRange { contributor, ranks }))
        .or_else(|| twice.map(|pair| ViolationKind::ContributorTwice { contributor: pair[0] }))
}
