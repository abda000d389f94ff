//! Prefixes on products of lines, rings, windows and complete networks: which rank sends which
//! other the combination of a range of ranks.
//!
//! The ranks are halved, dimension by dimension, into ranges of consecutive ranks. First the last
//! rank of each range gets the combination of the range: from the last rank of the lower half, in
//! every round for larger ranges. Then, in every round for smaller ranges, the rank before a range,
//! which has its prefix, sends it to the last rank of the range's lower half. (The pattern is that
//! of R. P. Brent & H. T. Kung, *A regular layout for parallel adders*, IEEE Trans. Comput. 1982.)
//!
//! Ranges do not overlap, and a message from the rank before a range leaves the rows in which
//! others move in the other direction or at the border. So no two messages of a round share a
//! channel.

use std::ops::Range;

use super::doublings;
use super::loads::factors_in_order;
use super::rows::{RingAxis, halved_rows};
use crate::block::Volume;
use crate::ids::Rank;
use crate::topology::Factor;
use crate::vocabulary::{Claims, Problem};

/// Returns the dimensions of a cube, the last one first. A complete row of 2^k nodes is one too.
/// None for other networks.
pub(super) fn cube(problem: &Problem) -> Option<Vec<RingAxis>> {
    Some(halved_rows(problem)).filter(|rows| rows.iter().all(|row| row.extent() == 2))
}

/// The step of a rank in a round: it sends its combination to one rank, or gets that of lower ranks
/// from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PrefixStep {
    pub(super) to: Option<Rank>,
    pub(super) from: Option<Rank>,
}

/// Returns the steps of a rank.
pub(super) fn steps(problem: &Problem, rank: Rank) -> Vec<PrefixStep> {
    let rows = factors_in_order(problem).unwrap_or_default();
    let (me, mut stride) = (rank.index(), 1);
    let mut up = vec![];
    for row in rows.iter().rev() {
        let extent = row.extent();
        let is_last = me % stride == stride - 1;
        let row = me / (stride * extent) * extent;
        let last = |end: usize| Rank::new((row + end) * stride - 1);
        up.extend(ranges(extent, me / stride % extent).into_iter().rev().map(|range| {
            let Some(Halved { middle, end, .. }) = range.filter(|_| is_last) else { return PrefixStep::default() };
            step(rank, last(middle), last(end))
        }));
        stride *= extent;
    }
    let mut down = vec![];
    for (i, row) in rows.iter().enumerate() {
        let extent = row.extent();
        stride /= extent;
        // The rank is the last one of a lower half, or the one before a range.
        let own = me % stride == stride - 1;
        let before = |begin: usize, row: usize| ((row + begin) * stride).checked_sub(1).map(Rank::new);
        let levels = if i == 0 { first_levels(extent) } else { 0..doublings(extent) };
        let (mine, next) = (me / stride, (me + 1) / stride);
        let received = ranges(extent, mine % extent);
        let sent = ranges(extent, next % extent);
        down.extend(levels.map(|level| {
            let get = |ranges: &[Option<Halved>]| ranges.get(level as usize).copied().flatten().filter(|_| own);
            let lower = |row: usize, Halved { begin, middle, .. }: Halved| {
                Some((before(begin, row)?, Rank::new((row + middle) * stride - 1)))
            };
            let from = get(&received).and_then(|range| lower(mine / extent * extent, range));
            let to = get(&sent).and_then(|range| lower(next / extent * extent, range));
            PrefixStep {
                from: from.filter(|(_, to)| *to == rank).map(|(from, _)| from),
                to: to.filter(|(from, to)| *from == rank && to.index() < problem.ranks()).map(|(_, to)| to),
            }
        }));
    }
    up.into_iter().chain(down).collect()
}

fn step(rank: Rank, from: Rank, to: Rank) -> PrefixStep {
    PrefixStep { to: (rank == from).then_some(to), from: (rank == to).then_some(from) }
}

/// A range of coordinates, cut into halves. The lower one is longer if they differ.
#[derive(Clone, Copy, Debug)]
struct Halved {
    begin: usize,
    middle: usize,
    end: usize,
}

/// Returns for each round the range that contains a coordinate. None if that is not cut.
fn ranges(extent: usize, coordinate: usize) -> Vec<Option<Halved>> {
    let mut range = 0..extent;
    let halved = (0..doublings(extent)).map(|_| {
        if range.len() < 2 {
            return None;
        }
        let Range { start: begin, end } = range;
        let middle = begin + (end - begin).div_ceil(2);
        range = if coordinate < middle { begin..middle } else { middle..end };
        Some(Halved { begin, middle, end })
    });
    halved.collect()
}

/// Returns the rounds of the first dimension in which a range that does not begin at 0 is cut.
/// After k rounds, ranges have n / 2^k nodes, rounded down or up.
fn first_levels(extent: usize) -> Range<u32> {
    let last = (1..doublings(extent)).rev().find(|&k| extent >= (1 << k) + 2);
    1..last.map_or(1, |k| k + 1)
}

/// Returns the claims of messages of one block.
pub(super) fn claims(problem: &Problem) -> Claims {
    let rows = factors_in_order(problem).unwrap_or_default();
    let along = |row: &Factor, apart: usize| row.distance(0, apart) as u64;
    let longest = |row: &Factor, level: u32| row.extent().div_ceil(1 << level);
    let mut routes = vec![];
    // The longest route from the last rank of a row of the earlier dimensions to the one of the
    // next.
    let mut next_row = 0;
    for (i, row) in rows.iter().enumerate() {
        let levels = doublings(row.extent());
        routes.extend((0..levels).map(|level| along(row, longest(row, level) / 2)));
        let down = if i == 0 { first_levels(row.extent()) } else { 0..levels };
        routes.extend(down.map(|level| {
            let half = longest(row, level).div_ceil(2);
            let within = inner(row.extent(), level).map(|len| along(row, len.div_ceil(2)));
            let from_before = (i > 0).then(|| next_row + along(row, row.extent() - half));
            within.max(from_before).unwrap_or(0)
        }));
        let (up, back) = (along(row, 1), along(row, row.extent() - 1));
        next_row = if i == 0 { up } else { up.max(back + next_row) };
    }
    let of = |extent: usize| u64::from(doublings(extent));
    // The rank before the middle sends to that of each range behind it.
    let sent = match rows.split_first() {
        Some((first, others)) => 1 + of(first.extent() / 2) + others.iter().map(|row| of(row.extent())).sum::<u64>(),
        None => 0,
    };
    let hops = routes.iter().sum::<u64>();
    Claims {
        hops: Some(hops),
        forwarded_transmission: Some(Volume::from(hops)),
        end_transmission: Some(routes.iter().map(|&hops| Volume::from(hops.min(2))).sum()),
        messages: Some(sent),
        volume: Some(Volume::from(sent)),
        ..Claims::of_single_blocks(routes.len() as u64, true)
    }
}

/// Returns the length of the longest range of a round that does not begin at 0 and is cut.
fn inner(extent: usize, level: u32) -> Option<usize> {
    let (floor, long) = (extent >> level, extent % (1 << level));
    let longest = floor + usize::from(long > 1);
    (level > 0 && longest > 1).then_some(longest)
}
