//! Binomial trees: by places relative to the root, or in rank order.

use crate::algorithm::doublings;
use crate::algorithm::loads::{Pattern, with_counted, with_loads};
use crate::block::Volume;
use crate::ids::Rank;
use crate::vocabulary::{Claims, Combine, Problem, Share};

/// Adds to claims of a broadcast what follows from the routes of its messages: in round k, 2^k
/// ranks send one block each.
pub(super) fn with_broadcast(claims: Claims, problem: &Problem, shares: impl Fn(Rank) -> Share) -> Claims {
    // They send in one direction what an exchange sends in both, over as busy a channel: the
    // senders are all ranks of a half of a row.
    with_bits(claims, problem, |_, exchange| (exchange, Volume::from(1)), shares)
}

/// Adds to claims what follows from the routes of a tree's messages: those along the edges from
/// subtrees of 2^k ranks have `size(k)` blocks, on products whose extents are powers of two.
pub(super) fn with_edges(
    claims: Claims,
    problem: &Problem,
    size: impl Fn(usize) -> u64,
    shares: impl Fn(Rank) -> Share,
) -> Claims {
    // Ranks whose lower bits are the root's: one message in each range of 2^(k + 1) ranks of a row.
    let edge = |k, exchange| (Pattern { load: 1, ..exchange }, Volume::from(size(k)));
    with_bits(claims, problem, edge, shares)
}

/// Adds to claims what follows from the load of each bit's round, as a function of the load of
/// exchanges between ranks that differ in this bit. Without a formula for those, counts the
/// messages.
fn with_bits(
    claims: Claims,
    problem: &Problem,
    load: impl Fn(usize, Pattern) -> (Pattern, Volume),
    shares: impl Fn(Rank) -> Share,
) -> Claims {
    match Pattern::bits(problem) {
        Some(bits) => with_loads(claims, Some(bits.into_iter().enumerate().map(|(k, exchange)| load(k, exchange)))),
        None => with_counted(claims, problem, shares),
    }
}

/// Returns a rank's place relative to the root, which is at 0. For powers of two it is an exclusive
/// or, so that messages follow the channels of a cube.
pub(super) fn from_root(rank: usize, root: usize, size: usize) -> usize {
    if size.is_power_of_two() { rank ^ root } else { (rank + size - root) % size }
}

/// Returns the rank at a place.
pub(super) fn at(place: usize, root: usize, size: usize) -> usize {
    if size.is_power_of_two() { place ^ root } else { (place + root) % size }
}

/// Returns the places of the subtree at a place whose parent is 2^k before it, in a tree of `size`
/// ranks.
pub(super) fn below(place: usize, k: u32, size: usize) -> std::ops::Range<usize> {
    place..size.min(place.saturating_add(1 << k))
}

/// Returns the sum over all k of the size of the largest subtree whose parent is 2^k before it.
pub(super) fn transmission(size: usize) -> Volume {
    let most = |k: u32| below(1 << k, k, size).len() as u64;
    (0..doublings(size)).map(|k| Volume::from(most(k))).sum()
}

/// Returns the receiver and the sender of a rank in round k of a broadcast, if it has them: the 2^k
/// ranks that have the block send it to the next 2^k, by place.
pub(super) fn broadcast(rank: usize, root: usize, size: usize, k: u32) -> (Option<usize>, Option<usize>) {
    let (me, step) = (from_root(rank, root, size), 1 << k);
    let rank = |place| at(place, root, size);
    let to = Some(me + step).filter(|&to| me < step && to < size);
    (to.map(rank), me.checked_sub(step).filter(|&from| from < step).map(rank))
}

/// Returns the places of the sender and the receiver of the message that a place takes part in, in
/// round k of a gather: the places with lowest bit k send to the place 2^k before.
pub(super) fn gathered(place: usize, size: usize, k: u32) -> Option<(usize, usize)> {
    let step = 1 << k;
    match place % (2 * step) {
        0 => Some((place + step, place)).filter(|&(from, _)| from < size),
        last => (last == step).then(|| (place, place - step)),
    }
}

/// The ranges of 2^k ranks in rank order, and which rank represents each. The last is the root.
#[derive(Clone, Copy)]
pub(super) struct Ranges {
    pub(super) size: usize,
    pub(super) root: usize,
}

/// A message between the representatives of two neighbouring ranges.
#[derive(Clone, Copy)]
pub(super) struct Merge {
    pub(super) from: usize,
    /// Represents both ranges afterwards.
    pub(super) to: usize,
    pub(super) combine: Combine,
}

impl Ranges {
    /// Returns the message by which the range of 2^(k+1) ranks that a rank is in comes about.
    /// `None` if it has no second half.
    pub(super) fn merge(self, rank: usize, k: u32) -> Option<Merge> {
        let (low, high) = self.merged(rank, k)?;
        // The representative of both ranges stays, and the other sends.
        Some(match self.representative(rank, k + 1) == low {
            true => Merge { from: high, to: low, combine: Combine::Right },
            false => Merge { from: low, to: high, combine: Combine::Left },
        })
    }

    /// Returns the representative of the range of 2^k ranks that a rank is in.
    fn representative(self, rank: usize, k: u32) -> usize {
        let mut begin = rank >> k << k;
        // Halve the range, towards the rank with the root's lowest bits.
        for bit in (0..k).rev() {
            let upper = begin + (1 << bit);
            let is_wanted = self.root & (1 << bit) != 0 && upper + (self.root & ((1 << bit) - 1)) < self.size;
            begin = if is_wanted { upper } else { begin };
        }
        begin
    }

    /// Returns the representatives of the two ranges of 2^k ranks that make up the one of 2^(k+1)
    /// that a rank is in. `None` if there is no second one.
    fn merged(self, rank: usize, k: u32) -> Option<(usize, usize)> {
        let begin = rank >> (k + 1) << (k + 1);
        let upper = Some(begin + (1 << k)).filter(|&upper| upper < self.size)?;
        Some((self.representative(begin, k), self.representative(upper, k)))
    }
}
