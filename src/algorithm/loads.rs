//! Channel loads of default routes on products of lines, rings and complete networks, with rank i
//! on node i, when all ranks send at once; of an exchange of all blocks, also on products of
//! overlapping windows. For other networks, placements and schedules, messages are
//! [counted](super::counted) if there are few.
//!
//! Default routes correct the last dimension first. So when a block moves along dimension d, its
//! later coordinates are those of its destination, and its earlier ones those of its source. Of all
//! N^2 blocks, every line along d therefore carries the same number.

use std::collections::{BTreeMap, BTreeSet};

use super::counted::{Counted, MOST_MESSAGES};
use super::row_loads::load_at_once;
use super::{Claims, is_complete};
use crate::block::Volume;
use crate::ids::Rank;
use crate::topology::{Axis, Factor, Kind, axes};
use crate::vocabulary::{Problem, Share};

/// Returns the dimensions of the problem's network, if it is a product and every node has a rank.
pub(in crate::algorithm) fn product(problem: &Problem) -> Option<Vec<Axis>> {
    let topology = problem.topology();
    axes(&**topology).filter(|_| problem.ranks() == topology.nodes())
}

/// Returns the load of the busiest channel when all blocks are sent at once, and the longest route.
pub(in crate::algorithm) fn at_once(problem: &Problem) -> Option<(Volume, u64)> {
    let nodes = problem.ranks() as u128;
    let load = |row: &Factor| Volume::ratio(u128::from(load_at_once(*row)) * nodes, row.extent() as u128);
    let rows = problem.topology().factors().filter(|_| problem.ranks() == problem.topology().nodes());
    if let Some(rows) = rows {
        let rows = || rows.iter().filter(|row| row.extent() > 1);
        return Some((rows().map(load).max().unwrap_or_default(), rows().copied().map(diameter).sum()));
    }
    let ranks = problem.ranks();
    let pairs = (0..ranks).flat_map(|from| (0..ranks).filter(move |&to| to != from).map(move |to| (from, to, 1)));
    let counted = Counted::of(problem, nodes * (nodes - 1), pairs)?;
    Some((counted.load.into(), counted.hops))
}

/// Returns the longest distance along a dimension.
fn diameter(row: Factor) -> u64 {
    let farthest = match row {
        Factor::Ring(extent) | Factor::Windows { extent, wraps: true, .. } => extent / 2,
        _ => row.extent() - 1,
    };
    row.distance(0, farthest) as u64
}

/// The channel load of simultaneous equal messages, one from each rank, by default routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::algorithm) struct Pattern {
    /// The number of messages over the busiest channel.
    pub(in crate::algorithm) load: u64,
    /// The longest route.
    pub(in crate::algorithm) hops: u64,
}

/// The largest number of ranks for which this takes time proportional to the ranks, and the largest
/// extent for which it takes time proportional to the extent's square.
const MAX_RANKS: usize = 1 << 20;
const MAX_EXTENT: u64 = 1 << 11;

impl Pattern {
    /// Returns the load of messages from every rank to the rank `shift` further on.
    pub(in crate::algorithm) fn rotation(problem: &Problem, shift: u64) -> Option<Self> {
        if is_complete(problem) {
            return Some(Self { load: 1, hops: 1 });
        }
        match in_order(problem) {
            Some(axes) => Some(rotation(&axes, shift)),
            None => Self::counted(problem, |rank| (rank + shift as usize) % problem.ranks()),
        }
    }

    /// Counts the load of messages from every rank to a rank given by a function.
    fn counted(problem: &Problem, to: impl Fn(usize) -> usize) -> Option<Self> {
        let messages = (0..problem.ranks()).map(|from| (from, to(from), 1));
        let Counted { load, hops, .. } = Counted::of(problem, problem.ranks() as u128, messages)?;
        Some(Self { load, hops })
    }

    /// Counts the load of these messages, at most as many as ranks.
    pub(in crate::algorithm) fn of(
        problem: &Problem,
        messages: impl IntoIterator<Item = (usize, usize)>,
    ) -> Option<Self> {
        let messages = messages.into_iter().map(|(from, to)| (from, to, 1));
        let Counted { load, hops, .. } = Counted::of(problem, problem.ranks() as u128, messages)?;
        Some(Self { load, hops })
    }

    /// Returns the load of exchanges between ranks whose numbers differ in this bit.
    pub(in crate::algorithm) fn bit(problem: &Problem, bit: u32) -> Option<Self> {
        if is_complete(problem) {
            return Some(Self { load: 1, hops: 1 });
        }
        match Self::bits(problem) {
            Some(bits) => bits.get(bit as usize).copied(),
            None => Self::counted(problem, |rank| rank ^ 1 << bit),
        }
    }

    /// Returns the loads of exchanges between ranks whose numbers differ in one bit, from the
    /// lowest bit on, if there is a formula: on products whose extents are powers of two.
    pub(in crate::algorithm) fn bits(problem: &Problem) -> Option<Vec<Self>> {
        let along = |axis: &Axis| (0..axis.extent.ilog2()).map(|bit| exchange(*axis, 1 << bit)).collect::<Vec<_>>();
        Some(digits(problem)?.iter().rev().flat_map(along).collect())
    }

    /// Returns the load of exchanges between the ranks 2i and 2i + 1, or, if `odd`, between 2i + 1
    /// and 2i + 2, modulo an even number of ranks.
    pub(in crate::algorithm) fn pairs(problem: &Problem, odd: bool) -> Option<Self> {
        if is_complete(problem) {
            return Some(Self { load: 1, hops: 1 });
        }
        let ranks = problem.ranks();
        match in_order(problem) {
            Some(axes) => Some(pairs(&axes, odd)),
            None => Self::counted(problem, |rank| {
                if (rank % 2 == 1) == odd { (rank + 1) % ranks } else { (rank + ranks - 1) % ranks }
            }),
        }
    }

    /// Returns the loads of all rotations except the identity.
    pub(in crate::algorithm) fn rotations(problem: &Problem) -> Option<Vec<Self>> {
        let shifts = 1..problem.ranks() as u64;
        match in_order(problem) {
            Some(axes) if problem.ranks() <= MAX_RANKS => Some(shifts.map(|shift| rotation(&axes, shift)).collect()),
            Some(_) => None,
            None if Counted::fits(problem, (problem.ranks() as u128).pow(2)) => {
                shifts.map(|shift| Self::rotation(problem, shift)).collect()
            }
            None => None,
        }
    }

    /// Returns the loads of the exchanges between ranks i and i xor k, for all k except 0.
    pub(in crate::algorithm) fn exchanges(problem: &Problem) -> Option<Vec<Self>> {
        let Some(axes) = digits(problem) else {
            let all = Counted::fits(problem, (problem.ranks() as u128).pow(2)).then_some(1..problem.ranks());
            return all?.map(|mask| Self::counted(problem, |rank| rank ^ mask)).collect();
        };
        if problem.ranks() > MAX_RANKS || axes.iter().any(|a| a.kind != Kind::Complete && a.extent > MAX_EXTENT) {
            return None;
        }
        let of_an_axis = |axis: &Axis| (0..axis.extent).map(|mask| exchange(*axis, mask)).collect::<Vec<_>>();
        let tables: Vec<Vec<Self>> = axes.iter().map(of_an_axis).collect();
        let exchange = |mut mask: usize| {
            tables.iter().rev().fold(Self { load: 0, hops: 0 }, |sum, table| {
                let part = table[mask % table.len()];
                mask /= table.len();
                Self { load: sum.load.max(part.load), hops: sum.hops + part.hops }
            })
        };
        Some((1..problem.ranks()).map(exchange).collect())
    }
}

/// The channel load of the messages of a round, by default routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::algorithm) struct Crossing {
    /// The load of the busiest channel.
    channel: Volume,
    /// The longest route.
    hops: u64,
    /// The largest product of a message's size and hops, and the load at the ends of that route.
    forwarded: (Volume, Volume),
    /// Whether no channel carries two messages.
    free: bool,
}

impl From<(Pattern, Volume)> for Crossing {
    fn from((Pattern { load, hops }, size): (Pattern, Volume)) -> Self {
        Self { channel: size * load, hops, forwarded: (size * hops, size * hops.min(2)), free: load <= 1 }
    }
}

impl Crossing {
    /// Returns whether this is known for rounds in which each rank sends `messages` messages.
    pub(in crate::algorithm) fn known(problem: &Problem, messages: u64) -> bool {
        let all = || u128::from(messages) * problem.ranks() as u128;
        is_complete(problem) || in_order(problem).is_some() || Counted::fits(problem, all())
    }

    /// Counts the load of these messages, given as source, destination and blocks.
    fn of(problem: &Problem, messages: &[(usize, usize, u64)]) -> Option<Self> {
        let counted = Counted::of(problem, messages.len() as u128, messages.iter().copied())?;
        let node = |rank| problem.placement().node(Rank::new(rank));
        let forwarded = messages.iter().map(|&(from, to, blocks)| {
            let hops = problem.topology().distance(node(from), node(to)) as u64;
            (Volume::from(blocks * hops), Volume::from(blocks * hops.min(2)))
        });
        let forwarded = forwarded.max().unwrap_or_default();
        Some(Self { channel: counted.load.into(), hops: counted.hops, forwarded, free: counted.shared <= 1 })
    }

    /// Returns the load if blocks are parts of blocks.
    fn in_parts(self, parts: u64) -> Self {
        let Self { channel, forwarded: (moved, ends), .. } = self;
        Self { channel: channel.part(parts), forwarded: (moved.part(parts), ends.part(parts)), ..self }
    }

    /// Returns the load of simultaneous rotations, given as shifts and numbers of blocks. Shifts
    /// must be distinct, from 1 to the number of ranks - 1.
    pub(in crate::algorithm) fn rotations(problem: &Problem, messages: &[(u64, u64)]) -> Option<Self> {
        let each = messages.iter().map(|&(shift, blocks)| Some((Pattern::rotation(problem, shift)?, blocks.into())));
        let each: Vec<Self> = each.map(|one| one.map(Self::from)).collect::<Option<_>>()?;
        let alone = Self {
            channel: each.iter().map(|one| one.channel).max()?,
            hops: each.iter().map(|one| one.hops).max()?,
            forwarded: each.iter().map(|one| one.forwarded).max()?,
            free: each.iter().all(|one| one.free),
        };
        // Different shifts connect different pairs.
        if messages.len() == 1 || is_complete(problem) {
            return Some(alone);
        }
        let Some(axes) = in_order(problem) else {
            let ranks = problem.ranks();
            let all =
                || messages.iter().flat_map(move |&(shift, blocks)| (0..ranks).map(move |from| (from, shift, blocks)));
            let all = all().map(|(from, shift, blocks)| (from, (from + shift as usize) % ranks, blocks));
            let counted = Counted::of(problem, (messages.len() * ranks) as u128, all)?;
            return Some(Self { channel: counted.load.into(), free: counted.shared <= 1, ..alone });
        };
        let single: Vec<_> = messages.iter().map(|&(shift, _)| (shift, 1)).collect();
        let channel = Volume::ratio(together(&axes, messages), 1);
        Some(Self { channel, free: together(&axes, &single) <= 1, ..alone })
    }
}

/// Adds to claims what follows from the loads of all rounds.
pub(in crate::algorithm) fn with_loads(
    claims: Claims,
    rounds: Option<impl IntoIterator<Item = impl Into<Crossing>>>,
) -> Claims {
    with_repeated(claims, rounds.map(|rounds| rounds.into_iter().map(|round| (round, 1))))
}

/// Adds to claims what follows from the loads of all rounds, each with the number of times that it
/// is repeated.
pub(in crate::algorithm) fn with_repeated(
    claims: Claims,
    rounds: Option<impl IntoIterator<Item = (impl Into<Crossing>, u64)>>,
) -> Claims {
    let Some(rounds) = rounds else { return claims };
    let (mut hops, mut channel, mut forwarded, mut ends) = (0, Volume::ZERO, Volume::ZERO, Volume::ZERO);
    let mut free = true;
    for (round, times) in rounds {
        let round: Crossing = round.into();
        hops += round.hops * times;
        channel += round.channel * times;
        forwarded += round.forwarded.0 * times;
        ends += round.forwarded.1 * times;
        free &= times == 0 || round.free;
    }
    Claims {
        hops: Some(hops),
        channel_transmission: Some(channel),
        forwarded_transmission: Some(forwarded),
        end_transmission: Some(ends),
        contention_free: free,
        ..claims
    }
}

/// Adds to claims what follows from the routes of all messages, if there are few: those of up to
/// some hundred ranks. On complete networks nothing needs to be counted.
pub(in crate::algorithm) fn with_counted(claims: Claims, problem: &Problem, shares: impl Fn(Rank) -> Share) -> Claims {
    with_loads(claims, counted_rounds(problem, shares))
}

/// Returns the loads of all rounds. `None` on complete networks, and if there are too many messages
/// or blocks are not all cut alike.
fn counted_rounds(problem: &Problem, shares: impl Fn(Rank) -> Share) -> Option<Vec<Crossing>> {
    if is_complete(problem) || !Counted::fits(problem, problem.ranks() as u128) {
        return None;
    }
    let (mut rounds, mut count, mut parts) = (Vec::<Vec<(usize, usize, u64)>>::new(), 0, None);
    for rank in problem.all() {
        for (number, round) in shares(rank).enumerate() {
            rounds.resize(rounds.len().max(number + 1), vec![]);
            for end in &round.sends {
                let mut cuts = end.blocks.iter().map(|block| block.of());
                if !cuts.all(|of| *parts.get_or_insert(of) == of) {
                    return None;
                }
                let size = end.blocks.iter().map(|block| u64::from(block.count())).sum();
                rounds[number].push((rank.index(), end.peer.index(), size));
            }
            count += round.sends.len() as u128;
        }
        if count > MOST_MESSAGES {
            return None;
        }
    }
    let parts = parts.map_or(1, u64::from);
    rounds.iter().map(|round| Some(Crossing::of(problem, round)?.in_parts(parts))).collect()
}

/// The loads of messages from every rank to the next, over all rounds of a ring.
pub(in crate::algorithm) struct Circle {
    /// The load of one round.
    pub(in crate::algorithm) pattern: Pattern,
    /// The hops of the longest chain of N - 1 messages: those of all routes except the shortest.
    pub(in crate::algorithm) chain: u64,
    /// The sum of size times hops on that chain, if the first message has N - 1 blocks and each
    /// further message one less.
    pub(in crate::algorithm) falling: Volume,
}

impl Circle {
    pub(in crate::algorithm) fn of(problem: &Problem) -> Option<Self> {
        let ranks = problem.ranks() as u64;
        if ranks < 2 {
            return Some(Self { pattern: Pattern { load: 0, hops: 0 }, chain: 0, falling: Volume::ZERO });
        }
        let pattern = Pattern::rotation(problem, 1)?;
        // The route from the last rank back to the first is the longest; the chain that starts with
        // it is the longest chain.
        let (all, falling) = if is_complete(problem) {
            (ranks, u128::from(ranks - 1) * u128::from(ranks) / 2)
        } else if let Some(axes) = in_order(problem) {
            let (mut all, mut falling) = (ranks - 1, u128::from(ranks - 1) * u128::from(ranks - 2) / 2);
            falling += u128::from(ranks - 1) * u128::from(pattern.hops);
            let mut worth = 1;
            for axis in axes.iter().rev() {
                worth *= axis.extent;
                let back = if axis.kind == Kind::Line { axis.extent - 1 } else { 1 };
                all += back * (ranks / worth);
                let (times, worth) = (u128::from((ranks - 2) / worth), u128::from(worth));
                falling += u128::from(back) * (times * u128::from(ranks - 1) - worth * times * (times + 1) / 2);
            }
            (all, falling)
        } else {
            return Self::counted(problem, pattern);
        };
        Some(Self { pattern, chain: all - 1, falling: Volume::ratio(falling, 1) })
    }

    /// Returns the hops of the longest chain of some messages, at least one, each from a rank to
    /// the next, or each to the one before.
    pub(in crate::algorithm) fn chain(problem: &Problem, messages: u64) -> Option<u64> {
        if is_complete(problem) {
            return Some(messages);
        }
        if let Some(axes) = in_order(problem) {
            // The chain that starts with the route between the last rank and the first. A route
            // takes one hop, or goes back along a dimension and on to the next one.
            let (mut hops, mut worth) = (messages, 1);
            for axis in axes.iter().rev() {
                worth *= axis.extent;
                let back = if axis.kind == Kind::Line { axis.extent - 1 } else { 1 };
                hops += back * messages.div_ceil(worth);
            }
            // After the first dimension there is no next one.
            return Some(hops - messages.div_ceil(worth));
        }
        Counted::fits(problem, problem.ranks() as u128).then(|| {
            let ways = Self::ways(problem);
            let chain = |first: usize| ways.iter().cycle().skip(first).take(messages as usize).sum();
            (0..ways.len()).map(chain).max().unwrap_or(0)
        })
    }

    /// Returns the lengths of the routes from each rank to the next.
    fn ways(problem: &Problem) -> Vec<u64> {
        let ranks = problem.ranks();
        let node = |rank: usize| problem.placement().node(Rank::new(rank % ranks));
        (0..ranks).map(|rank| problem.topology().distance(node(rank), node(rank + 1)) as u64).collect()
    }

    fn counted(problem: &Problem, pattern: Pattern) -> Option<Self> {
        let (ranks, ways) = (problem.ranks(), Self::ways(problem));
        let all: u64 = ways.iter().sum();
        // The chain that starts at a rank gives the one that starts at the next rank.
        let mut chain: i128 = (1..ranks).map(|i| (ranks - i) as i128 * i128::from(ways[i - 1])).sum();
        let mut longest = chain;
        for &way in &ways {
            chain += i128::from(all) - ranks as i128 * i128::from(way);
            longest = longest.max(chain);
        }
        let shortest = ways.iter().min().copied().unwrap_or(0);
        Some(Self { pattern, chain: all - shortest, falling: Volume::ratio(longest.unsigned_abs(), 1) })
    }
}

/// Returns the dimensions of the product, if rank i sits on node i.
pub(in crate::algorithm) fn in_order(problem: &Problem) -> Option<Vec<Axis>> {
    product(problem).filter(|_| problem.placement().is_identity())
}

/// Returns the factors of more than one node of a product of any kind, if rank i sits on node i,
/// for all nodes.
pub(in crate::algorithm) fn factors_in_order(problem: &Problem) -> Option<Vec<Factor>> {
    let all = problem.placement().is_identity() && problem.ranks() == problem.topology().nodes();
    let factors = problem.topology().factors().filter(|_| all)?;
    Some(factors.into_iter().filter(|factor| factor.extent() > 1).collect())
}

/// Returns the dimensions of the product, if all extents are powers of two, so that each bit of a
/// node number is a bit of one coordinate.
fn digits(problem: &Problem) -> Option<Vec<Axis>> {
    let powers = |axes: &Vec<Axis>| axes.iter().all(|axis| axis.extent.is_power_of_two());
    in_order(problem).filter(powers)
}

/// Returns the load of exchanges along a dimension between x and x xor `mask`. The highest bit of
/// the mask, 2^k, cuts a line into pieces of 2^(k+1) whose halves change places: all messages cross
/// the middle of their piece. In a ring the shorter route may differ, but only if the piece is the
/// whole ring.
fn exchange(axis: Axis, mask: u64) -> Pattern {
    let Some(highest) = mask.checked_ilog2() else { return Pattern { load: 0, hops: 0 } };
    match axis.kind {
        Kind::Complete => Pattern { load: 1, hops: 1 },
        Kind::Ring if 2 << highest == axis.extent && !mask.is_power_of_two() => round_a_ring(axis.extent, mask),
        _ => Pattern { load: 1 << highest, hops: mask },
    }
}

/// Counts the load of exchanges whose piece is the whole ring.
fn round_a_ring(extent: u64, mask: u64) -> Pattern {
    let size = extent as usize;
    // The beginnings and ends of routes up and down. Routes across the border are counted on both
    // sides.
    let mut changes = [vec![0_i64; 2 * size + 1], vec![0_i64; 2 * size + 1]];
    let mut hops = 0;
    for x in 0..size {
        let up = ((x ^ mask as usize) + size - x) % size;
        let (way, far) = if up <= size - up { (0, up) } else { (1, size - up) };
        let from = if way == 0 { x } else { x + size - far };
        changes[way][from] += 1;
        changes[way][from + far] -= 1;
        hops = hops.max(far as u64);
    }
    let load = |changes: &[i64]| {
        let mut used = vec![0_i64; size];
        let mut now = 0;
        for (at, change) in changes.iter().enumerate() {
            now += change;
            used[at % size] += now;
        }
        used.into_iter().max().unwrap_or(0) as u64
    };
    Pattern { load: changes.iter().map(|changes| load(changes)).max().unwrap_or(0), hops }
}

/// Returns the load of a rotation, which adds `shift` to each node number, digit by digit with
/// carry. All nodes of a line along a dimension have the same later coordinates, and so the same
/// carry: they are all rotated by the same digit, or by one more.
fn rotation(axes: &[Axis], mut shift: u64) -> Pattern {
    let (mut load, mut carry_possible) = (0, false);
    // The longest route so far, without and with a carry into the next dimension.
    let mut hops = [Some(0), None];
    for axis in axes.iter().rev() {
        let (extent, digit) = (axis.extent, shift % axis.extent);
        shift /= extent;
        let mut next: [Option<u64>; 2] = [None, None];
        for (carry, longest) in hops.into_iter().enumerate() {
            let (Some(longest), by) = (longest, digit + carry as u64) else { continue };
            let (up, down) = match axis.kind {
                Kind::Line => (by, extent - by),
                Kind::Ring => (by.min(extent - by), by.min(extent - by)),
                Kind::Complete => (u64::from(by % extent != 0), u64::from(by % extent != 0)),
            };
            if by < extent {
                next[0] = next[0].max(Some(longest + up));
            }
            if by > 0 {
                next[1] = next[1].max(Some(longest + down));
            }
        }
        for by in [digit, digit + 1].into_iter().take(1 + usize::from(carry_possible)) {
            let of_a_line = by.min(extent - by);
            load = load.max(if axis.kind == Kind::Complete { of_a_line.min(1) } else { of_a_line });
        }
        carry_possible |= digit > 0;
        hops = next;
    }
    Pattern { load, hops: hops.into_iter().flatten().max().unwrap_or(0) }
}

/// Returns the load of exchanges between neighbours in rank, along the last dimension or across its
/// border. A pair across the border sends one message back along the row of the lower rank, and one
/// on along the row of the higher rank. On a line these share channels with the pairs within the
/// row.
fn pairs(axes: &[Axis], odd: bool) -> Pattern {
    let Some((axis, rest)) = axes.split_last() else { return Pattern { load: 0, hops: 0 } };
    let is_even = axis.extent.is_multiple_of(2);
    if is_even && !odd {
        return Pattern { load: 1, hops: 1 };
    }
    let (back, load) = match axis.kind {
        Kind::Line => (axis.extent - 1, if axis.extent > 2 { 2 } else { 1 }),
        Kind::Ring | Kind::Complete => (1, 1),
    };
    // All rows have such a pair, or those whose numbers are even or odd.
    let across = if is_even { rotation(rest, 1) } else { pairs(rest, odd) };
    Pattern { load, hops: back + across.hops }
}

/// Returns the load of the busiest channel under several simultaneous rotations, given as shifts
/// and numbers of blocks.
///
/// Along a dimension, a rotation moves all nodes of a line by its digit there, or by one more if
/// the lower digits carry. Whether they carry depends on the line's later coordinates, read as a
/// number. So the lines are visited in the order of that number, and few rotations change from one
/// class of lines to the next.
fn together(axes: &[Axis], messages: &[(u64, u64)]) -> u128 {
    let (mut busiest, mut below) = (0, 1);
    for axis in axes.iter().rev() {
        let mut carries: Vec<(u64, u64, u64)> =
            messages.iter().map(|&(shift, blocks)| (shift % below, shift / below % axis.extent, blocks)).collect();
        carries.sort_unstable();
        let mut line = Line::new(*axis);
        for &(rest, digit, blocks) in &carries {
            line.add(digit + u64::from(rest > 0), blocks.into());
        }
        for same in carries.chunk_by(|a, b| a.0 == b.0).filter(|same| same[0].0 > 0) {
            busiest = busiest.max(line.busiest());
            for &(_, digit, blocks) in same {
                line.remove(digit + 1, blocks.into());
                line.add(digit, blocks.into());
            }
        }
        busiest = busiest.max(line.busiest());
        below *= axis.extent;
    }
    busiest
}

/// The channel loads of rotations along a line.
struct Line {
    axis: Axis,
    /// The loads of the busiest channels up and down. On a line without wrap-around that is the
    /// middle channel for every rotation, and down equals up.
    ways: [u128; 2],
    /// For a complete network: the load of the channels by offset, and the same loads sorted.
    offsets: BTreeMap<u64, u128>,
    loads: BTreeSet<(u128, u64)>,
}

impl Line {
    fn new(axis: Axis) -> Self {
        Self { axis, ways: [0; 2], offsets: BTreeMap::new(), loads: BTreeSet::new() }
    }

    fn add(&mut self, by: u64, blocks: u128) {
        self.change(by, |load, times| load + blocks * times);
    }

    fn remove(&mut self, by: u64, blocks: u128) {
        self.change(by, |load, times| load - blocks * times);
    }

    /// Changes the loads of a rotation. The closure gets the old load and the number of crossings.
    fn change(&mut self, by: u64, change: impl Fn(u128, u128) -> u128) {
        let by = by % self.axis.extent;
        let back = self.axis.extent - by;
        let way = usize::from(self.axis.kind == Kind::Ring && by > back);
        match self.axis.kind {
            _ if by == 0 => {}
            Kind::Line | Kind::Ring => self.ways[way] = change(self.ways[way], by.min(back).into()),
            Kind::Complete => {
                let load = self.offsets.entry(by).or_default();
                self.loads.remove(&(*load, by));
                *load = change(*load, 1);
                self.loads.insert((*load, by));
            }
        }
    }

    fn busiest(&self) -> u128 {
        let most = self.loads.last().map_or(0, |&(load, _)| load);
        most.max(self.ways[0]).max(self.ways[1])
    }
}
