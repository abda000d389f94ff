//! What default routes do to the channels of products of lines, rings and complete networks, where
//! rank i sits on node i and all ranks send at once; for other networks, and ranks that are placed,
//! messages are counted, as long as they are few.
//!
//! Default routes correct the last dimension first. So where a block is moved along dimension d,
//! its later coordinates are the destination's, its earlier ones the source's: of all N^2 blocks,
//! every line along d is given the same.

use std::collections::{BTreeMap, BTreeSet};

use super::{Claims, is_complete};
use crate::block::Volume;
use crate::hash::Map;
use crate::ids::Rank;
use crate::topology::{Axis, Factor, Kind, axes};
use crate::vocabulary::Problem;

/// The product that the problem's network is, if its default routes are known to be such, and every
/// node has a rank.
pub(in crate::algorithm) fn product(problem: &Problem) -> Option<Vec<Axis>> {
    let topology = problem.topology();
    axes(&**topology).filter(|_| problem.ranks() == topology.nodes())
}

/// What the busiest channel carries when all blocks go at once, and the longest way of one.
pub(in crate::algorithm) fn at_once(problem: &Problem) -> Option<(Volume, u64)> {
    let nodes = problem.ranks() as u128;
    let load = |axis: &Axis| Volume::ratio(u128::from(load_along(axis.kind, axis.extent)) * nodes, axis.extent.into());
    if let Some(axes) = product(problem) {
        let load = axes.iter().map(load).max().unwrap_or_default();
        return Some((load, axes.into_iter().map(Axis::diameter).sum()));
    }
    let ranks = problem.ranks();
    let pairs = (0..ranks).flat_map(|from| (0..ranks).filter(move |&to| to != from).map(move |to| (from, to, 1)));
    let counted = Counted::of(problem, nodes * (nodes - 1), pairs)?;
    Some((counted.load.into(), counted.hops))
}

/// What the busiest channel of a row carries when each of its nodes sends each other a block.
pub(in crate::algorithm) fn load_at_once(row: Factor) -> u64 {
    let kind = match row {
        Factor::Ring(3..) => Kind::Ring,
        Factor::Ring(_) | Factor::Line(_) => Kind::Line,
        Factor::Complete(_) => Kind::Complete,
    };
    load_along(kind, row.extent() as u64)
}

fn load_along(kind: Kind, extent: u64) -> u64 {
    match kind {
        Kind::Line => extent * extent / 4,
        // Blocks that have half a ring to go all go up, so this is more than the average.
        Kind::Ring => (extent / 2) * (extent / 2 + 1) / 2,
        Kind::Complete => 1,
    }
}

/// What equal messages of all ranks at once do, by default routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::algorithm) struct Pattern {
    /// How many of them the busiest channel carries.
    pub(in crate::algorithm) load: u64,
    /// The longest way.
    pub(in crate::algorithm) hops: u64,
}

/// The most ranks, and the longest extent, for which work in proportion to their number, or to its
/// square, is done.
const MAX_RANKS: usize = 1 << 20;
const MAX_EXTENT: u64 = 1 << 11;

impl Pattern {
    /// From every rank to the one `shift` further on.
    pub(in crate::algorithm) fn rotation(problem: &Problem, shift: u64) -> Option<Self> {
        if is_complete(problem) {
            return Some(Self { load: 1, hops: 1 });
        }
        match in_order(problem) {
            Some(axes) => Some(rotation(&axes, shift)),
            None => Self::counted(problem, |rank| (rank + shift as usize) % problem.ranks()),
        }
    }

    /// From every rank to the one that is said.
    fn counted(problem: &Problem, to: impl Fn(usize) -> usize) -> Option<Self> {
        let messages = (0..problem.ranks()).map(|from| (from, to(from), 1));
        let Counted { load, hops, .. } = Counted::of(problem, problem.ranks() as u128, messages)?;
        Some(Self { load, hops })
    }

    /// Between ranks whose numbers differ in that bit.
    pub(in crate::algorithm) fn bit(problem: &Problem, bit: u32) -> Option<Self> {
        if is_complete(problem) {
            return Some(Self { load: 1, hops: 1 });
        }
        let Some(axes) = digits(problem) else { return Self::counted(problem, |rank| rank ^ 1 << bit) };
        let mut bit = u64::from(bit);
        for axis in axes.iter().rev() {
            let bits = u64::from(axis.extent.ilog2());
            if bit < bits {
                return Some(exchange(*axis, 1 << bit));
            }
            bit -= bits;
        }
        None
    }

    /// All rotations but the identity.
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

    /// The exchanges between ranks whose numbers differ by exclusive or with i, for all i but 0.
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

/// What the messages of a round do, by default routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::algorithm) struct Crossing {
    /// What the busiest channel carries.
    channel: Volume,
    /// The longest way.
    hops: u64,
    /// The largest product of a message's size and its way, and what the ends of that way pass.
    forwarded: (Volume, Volume),
    /// Whether no channel has two messages.
    free: bool,
}

impl From<(Pattern, Volume)> for Crossing {
    fn from((Pattern { load, hops }, size): (Pattern, Volume)) -> Self {
        Self { channel: size * load, hops, forwarded: (size * hops, size * hops.min(2)), free: load <= 1 }
    }
}

impl Crossing {
    /// Whether that is known of rounds with so many messages of each rank together.
    pub(in crate::algorithm) fn known(problem: &Problem, messages: u64) -> bool {
        let all = || u128::from(messages) * problem.ranks() as u128;
        is_complete(problem) || in_order(problem).is_some() || Counted::fits(problem, all())
    }

    /// From every rank to the one `shift` further on, so many blocks, for each of these shifts and
    /// numbers of blocks: all different shifts, from 1 to less than there are ranks.
    pub(in crate::algorithm) fn rotations(problem: &Problem, messages: &[(u64, u64)]) -> Option<Self> {
        let each = messages.iter().map(|&(shift, blocks)| Some((Pattern::rotation(problem, shift)?, blocks.into())));
        let each: Vec<Self> = each.map(|one| one.map(Self::from)).collect::<Option<_>>()?;
        let alone = Self {
            channel: each.iter().map(|one| one.channel).max()?,
            hops: each.iter().map(|one| one.hops).max()?,
            forwarded: each.iter().map(|one| one.forwarded).max()?,
            free: each.iter().all(|one| one.free),
        };
        // Different shifts are between different pairs.
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

impl Claims {
    /// With what follows from what the messages of all rounds do.
    pub(in crate::algorithm) fn routed(self, rounds: Option<impl IntoIterator<Item = impl Into<Crossing>>>) -> Self {
        let Some(rounds) = rounds else { return self };
        let (mut hops, mut channel, mut forwarded, mut ends) = (0, Volume::ZERO, Volume::ZERO, Volume::ZERO);
        let mut free = true;
        for round in rounds {
            let round: Crossing = round.into();
            hops += round.hops;
            channel += round.channel;
            forwarded += round.forwarded.0;
            ends += round.forwarded.1;
            free &= round.free;
        }
        Self {
            hops: Some(hops),
            channel_transmission: Some(channel),
            forwarded_transmission: Some(forwarded),
            end_transmission: Some(ends),
            contention_free: free,
            ..self
        }
    }
}

/// What messages of one round do that are counted one by one: on networks, and for ranks placed,
/// for which there is no formula.
struct Counted {
    /// What the busiest channel carries.
    load: u64,
    /// The most messages that a channel has.
    shared: u64,
    /// The longest way.
    hops: u64,
}

/// How many messages are counted for one algorithm, at most, and how many channels searched for
/// their ways: a few milliseconds, as every rank does so before it plans.
const COUNTED: u128 = 1 << 14;
const SEARCHED: usize = 1 << 20;

impl Counted {
    /// Whether so many messages may be counted.
    fn fits(problem: &Problem, messages: u128) -> bool {
        let topology = problem.topology();
        let network = topology.nodes().saturating_add(topology.channels());
        messages <= COUNTED && problem.ranks().saturating_mul(network) <= SEARCHED
    }

    /// Of so many messages, at most, from one rank to another of so many blocks.
    fn of(problem: &Problem, most: u128, messages: impl Iterator<Item = (usize, usize, u64)>) -> Option<Self> {
        let mut counted = Self { load: 0, shared: 0, hops: 0 };
        let mut channels: Map<(u64, u64)> = Map::default();
        for (from, to, blocks) in Self::fits(problem, most).then_some(messages)? {
            let node = |rank| problem.placement().node(Rank::new(rank));
            let route = problem.topology().route(node(from), node(to));
            counted.hops = counted.hops.max(route.len() as u64 - 1);
            for hop in route.windows(2) {
                let channel = (hop[0].index() as u64) << 32 | hop[1].index() as u64;
                let (load, shared) = channels.entry(channel).or_default();
                (*load, *shared) = (*load + blocks, *shared + 1);
                (counted.load, counted.shared) = (counted.load.max(*load), counted.shared.max(*shared));
            }
        }
        Some(counted)
    }
}

/// What messages from every rank to the next do, round after round, all the way round.
pub(in crate::algorithm) struct Circle {
    /// In one round.
    pub(in crate::algorithm) pattern: Pattern,
    /// The channels of all ways but the shortest: those of the longest chain of N - 1 messages on.
    pub(in crate::algorithm) chain: u64,
    /// The same of sizes times channels, where the first message has N - 1 blocks and each further
    /// one less.
    pub(in crate::algorithm) falling: Volume,
}

impl Circle {
    pub(in crate::algorithm) fn of(problem: &Problem) -> Option<Self> {
        let ranks = problem.ranks() as u64;
        if ranks < 2 {
            return Some(Self { pattern: Pattern { load: 0, hops: 0 }, chain: 0, falling: Volume::ZERO });
        }
        let pattern = Pattern::rotation(problem, 1)?;
        // From the last rank back to the first is the longest way, and in front of it the chain is
        // longest.
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

    fn counted(problem: &Problem, pattern: Pattern) -> Option<Self> {
        let ranks = problem.ranks();
        let node = |rank: usize| problem.placement().node(Rank::new(rank % ranks));
        let ways = (0..ranks).map(|rank| problem.topology().distance(node(rank), node(rank + 1)) as u64);
        let ways: Vec<u64> = ways.collect();
        let all: u64 = ways.iter().sum();
        // The chain that starts at a rank, and from it that of the next.
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

/// The product, if rank i sits on node i of it.
fn in_order(problem: &Problem) -> Option<Vec<Axis>> {
    product(problem).filter(|_| problem.placement().is_identity())
}

/// The product, if its extents are powers of two, so that bits of a number are bits of its
/// coordinates.
fn digits(problem: &Problem) -> Option<Vec<Axis>> {
    let powers = |axes: &Vec<Axis>| axes.iter().all(|axis| axis.extent.is_power_of_two());
    in_order(problem).filter(powers)
}

/// Exchanges along a dimension between coordinates that differ by exclusive or with `mask`. Its
/// highest bit cuts lines into pieces of twice its worth, whose halves change places: all of them
/// cross the middle. Round a ring the shorter way may be another, but only where the halves are
/// those of the whole ring.
fn exchange(axis: Axis, mask: u64) -> Pattern {
    let Some(highest) = mask.checked_ilog2() else { return Pattern { load: 0, hops: 0 } };
    match axis.kind {
        Kind::Complete => Pattern { load: 1, hops: 1 },
        Kind::Ring if 2 << highest == axis.extent && !mask.is_power_of_two() => round_a_ring(axis.extent, mask),
        _ => Pattern { load: 1 << highest, hops: mask },
    }
}

/// The same by counting, for masks that reach across a ring.
fn round_a_ring(extent: u64, mask: u64) -> Pattern {
    let size = extent as usize;
    // Where channels up and down begin and end to be used; ways across the border are counted on
    // both sides of it.
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

/// A rotation adds `shift` to the number of each node, digit by digit with a carry. All nodes of a
/// line along a dimension have the same later coordinates, so the same carry: along it they are all
/// rotated alike, by a digit or one more.
fn rotation(axes: &[Axis], mut shift: u64) -> Pattern {
    let (mut load, mut carry_possible) = (0, false);
    // The longest way so far, without and with a carry into the next dimension.
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

/// What the busiest channel carries of several rotations at once, each by a shift and of so many
/// blocks.
///
/// Along a dimension, a rotation moves all nodes of a line alike: by its digit there, or by one
/// more in those lines whose later coordinates are, as a number, below the rest of the shift (there
/// the digits below carry). So the lines are gone through by that number, and from class to class
/// few rotations change.
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

/// What rotations of all nodes of a line do to its channels.
struct Line {
    axis: Axis,
    /// What its busiest channel up carries, and down. On a line without wrap-around that is the one
    /// in the middle for each rotation, and down as much as up.
    ways: [u128; 2],
    /// Where all are neighbours: what the channels to the node so much further on carry, and the
    /// same in order.
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

    /// Changes the loads of a rotation by so much, which crosses a channel so many times.
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
