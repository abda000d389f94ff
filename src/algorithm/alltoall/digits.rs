//! The one walk that all exchanges by digits make: message combining, one digit of the destination
//! after the other.
//!
//! A node's coordinates are written in digits: a whole coordinate is one, or cells, halves of cells
//! and units are. For each node an order of its digits is given. Digit by digit, each node passes
//! on, among the nodes that differ from it in that digit only, what it holds for them; a [`Walk`]
//! says how: round a circle one way or both ways, straight to each in turn, or to all at once.
//!
//! # Why it is correct
//!
//! Needed: nodes that exchange a digit have the same digits in the same order, up to that one.
//!
//! 1. What a node holds is a product over its digits. A digit already walked through is the node's
//!    own in the destination and anything in the source; one still to come is the node's own in the
//!    source and anything in the destination; the one at hand is in between, as its walk has it.
//! 2. A message is of that product what the walk moves of the digit at hand. After the last round
//!    of the digit all is where it belongs in that digit; after the last digit all is where it
//!    belongs.
//!
//! A rank makes its messages from its own position alone, in time in proportion to their blocks.

use std::ops::RangeInclusive;

use crate::block::{Block, Volume};
use crate::ids::{Node, Rank};
use crate::topology::Coordinates;
use crate::vocabulary::{Amount, Amounts, End, Placement, RankAmounts, RankRound, Route, Share};

/// How those that differ in one digit only exchange among themselves; they stand in a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    /// One way round, everyone passing on what is not its own.
    OneWay,
    /// Each block the shorter way round; rounds ahead and rounds back take turns.
    BothWays,
    /// In round i straight to the one i further on.
    Rotated,
    /// Straight to each, in one round.
    AtOnce,
}

/// The way that messages of a digit take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The topology's own.
    Default,
    /// The coordinate is a ring: up for ahead, down for back.
    Ring,
    /// The coordinate is a line, the circle's last comes next to its first.
    Line,
    /// The circle is laid on a line doubled up, so that those next to each other in the circle are
    /// at most two places apart on the line: out over the even places, home over the odd ones.
    Folded,
}

/// A digit of a coordinate: worth `unit` a step, of `base` values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digit {
    pub(super) dimension: usize,
    pub(super) unit: usize,
    pub(super) base: usize,
    pub(super) walk: Walk,
    pub(super) way: Way,
    /// Whether ahead is up.
    pub(super) up: bool,
}

/// A place in everybody's order of digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The schedule's phase that it belongs to.
    pub(super) phase: usize,
    /// The rounds that the longest walk there takes.
    pub(super) rounds: usize,
}

/// A message of a walk, the same for everybody when positions are counted from the sender, round
/// the circle.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hop {
    to: usize,
    /// Whether it goes back rather than ahead.
    back: bool,
    /// Whose blocks.
    source: usize,
    /// For whom: those so many steps along the circle, the way it goes.
    reach: RangeInclusive<usize>,
    /// The nodes of the circle.
    base: usize,
}

impl Walk {
    /// The rounds it takes.
    pub(super) fn rounds(self, base: usize) -> usize {
        let others = base.saturating_sub(1);
        if self == Self::AtOnce { others.min(1) } else { others }
    }

    /// What each of `nodes` nodes sends in all rounds.
    ///
    /// One way round, in round r (L - r)/L of its `nodes` blocks. Both ways, in the r-th round of a
    /// way (R + 1 - r)/L of them, with R = L/2 ahead and (L - 1)/2 back, rounded down.
    pub(super) fn volume(self, base: usize, nodes: u64) -> Volume {
        let base = base as u64;
        match self {
            Self::OneWay => Volume::new((base - 1) * nodes, 2),
            Self::BothWays => Volume::from(base * base / 4 * (nodes / base)),
            Self::Rotated | Self::AtOnce => Volume::from((base - 1) * (nodes / base)),
        }
    }

    /// The sum over the rounds of the largest message.
    pub(super) fn transmission(self, base: usize, nodes: u64) -> Volume {
        match self {
            Self::AtOnce if base > 1 => Volume::from(nodes / base as u64),
            _ => self.volume(base, nodes),
        }
    }

    /// What everybody sends in a round, counted from 1.
    fn hops(self, base: usize, round: usize) -> Vec<Hop> {
        let straight = |to| Hop { to, back: false, source: 0, reach: to..=to, base };
        match self {
            _ if round > self.rounds(base) => vec![],
            Self::OneWay => vec![Hop::passing_on(base, round, base - 1, false)],
            Self::BothWays if round % 2 == 1 => vec![Hop::passing_on(base, round.div_ceil(2), base / 2, false)],
            Self::BothWays => vec![Hop::passing_on(base, round / 2, (base - 1) / 2, true)],
            Self::Rotated => vec![straight(round)],
            Self::AtOnce => (1..base).map(straight).collect(),
        }
    }
}

impl Hop {
    /// To the next in the circle, what the i-th round of passing on has of the blocks that go at
    /// most `reach` far: the nearest destination first, so that what goes on further is one piece.
    fn passing_on(base: usize, i: usize, reach: usize, back: bool) -> Self {
        let along = |steps| along(base, steps, back);
        Self { to: along(1), back, source: along((base + 1 - i) % base), reach: 1..=reach + 1 - i, base }
    }

    /// For whom: the nearest first.
    fn destinations(&self) -> impl Iterator<Item = usize> {
        let (base, back) = (self.base, self.back);
        self.reach.clone().map(move |steps| along(base, steps, back))
    }

    /// How many those are.
    fn many(&self) -> usize {
        self.reach.end() + 1 - self.reach.start()
    }
}

/// The position so many steps from 0 round a circle.
fn along(base: usize, steps: usize, back: bool) -> usize {
    if back { (base - steps % base) % base } else { steps }
}

impl Digit {
    fn value(&self, at: &[usize]) -> usize {
        at[self.dimension] / self.unit % self.base
    }

    /// The value that is so many positions from `value` on in the circle.
    fn moved(&self, value: usize, positions: usize) -> usize {
        let positions = if self.up { positions } else { (self.base - positions) % self.base };
        self.place((self.position(value) + positions) % self.base)
    }

    /// The value that stands at a position.
    fn place(&self, position: usize) -> usize {
        match self.way {
            Way::Folded if 2 * position < self.base => 2 * position,
            Way::Folded => 2 * (self.base - position) - 1,
            _ => position,
        }
    }

    /// The position where a value stands.
    fn position(&self, value: usize) -> usize {
        match self.way {
            Way::Folded if value % 2 == 1 => self.base - value.div_ceil(2),
            Way::Folded => value / 2,
            _ => value,
        }
    }

    /// The coordinates like these, but with that value of the digit.
    fn with(&self, at: &[usize], value: usize) -> Coordinates {
        let mut other = Coordinates::from(at);
        other[self.dimension] = other[self.dimension] + value * self.unit - self.value(at) * self.unit;
        other
    }
}

/// Everybody's order of digits on a network whose nodes are numbered row-major.
pub(super) struct Digits<F> {
    extents: Coordinates,
    /// By how much the numbers of neighbours in each dimension differ.
    strides: Coordinates,
    slots: Vec<Slot>,
    order: F,
}

impl<F: Fn(&[usize]) -> Vec<Digit> + Send + 'static> Digits<F> {
    /// With the order in which the node at a position walks through its digits, one a slot.
    pub(super) fn new(extents: &[usize], slots: Vec<Slot>, order: F) -> Self {
        let stride = |dimension: usize| extents[dimension + 1..].iter().product();
        Self { extents: extents.into(), strides: (0..extents.len()).map(stride).collect(), slots, order }
    }

    /// One rank's rounds.
    pub(super) fn share(self, placement: &Placement, rank: Rank) -> Share {
        let placement = placement.clone();
        let (steps, at) = self.steps(&placement, rank);
        Box::new(steps.map(move |(slot, phase, round)| self.round(&placement, &at, slot, phase, round)))
    }

    /// One rank's rounds by amounts.
    pub(super) fn amounts(self, placement: &Placement, rank: Rank) -> Amounts {
        let placement = placement.clone();
        let (steps, at) = self.steps(&placement, rank);
        Box::new(steps.map(move |(slot, phase, round)| self.amount(&placement, &at, slot, phase, round)))
    }

    /// The slot, phase and number of each round, and the rank's coordinates.
    fn steps(
        &self,
        placement: &Placement,
        rank: Rank,
    ) -> (impl Iterator<Item = (usize, usize, usize)> + Send + use<F>, Coordinates) {
        let steps: Vec<(usize, Slot)> = self.slots.iter().copied().enumerate().collect();
        let steps =
            steps.into_iter().flat_map(|(slot, about)| (1..=about.rounds).map(move |round| (slot, about.phase, round)));
        let node = placement.node(rank).index();
        let at: Coordinates =
            self.extents.iter().zip(&self.strides).map(|(extent, stride)| node / stride % extent).collect();
        (steps, at)
    }

    fn round(&self, placement: &Placement, at: &[usize], slot: usize, phase: usize, round: usize) -> RankRound {
        let digits = (self.order)(at);
        let mut made = RankRound { phase, ..RankRound::default() };
        let Some(digit) = digits.get(slot) else { return made };
        for (index, hop) in digit.walk.hops(digit.base, round).iter().enumerate() {
            let value = digit.value(at);
            let to = digit.with(at, digit.moved(value, hop.to));
            let sent = End::new(self.rank(placement, &to), self.blocks(placement, at, &digits, slot, hop));
            made.sends.push(match digit.way {
                Way::Default => sent,
                _ => sent.via(self.route(at, to[digit.dimension], digit, hop.back)),
            });
            // The one that sees this one where this one sees its receiver.
            let from = digit.with(at, digit.moved(value, digit.base - hop.to));
            let digits = (self.order)(&from);
            let hops = digits.get(slot).map(|digit| digit.walk.hops(digit.base, round)).unwrap_or_default();
            made.receives.extend(
                hops.get(index).map(|hop| {
                    End::new(self.rank(placement, &from), self.blocks(placement, &from, &digits, slot, hop))
                }),
            );
        }
        made
    }

    /// A round as [`round`](Self::round) makes it, without the blocks: of the digit at hand a
    /// message has those of the hop, of all others every value.
    fn amount(&self, placement: &Placement, at: &[usize], slot: usize, phase: usize, round: usize) -> RankAmounts {
        let digits = (self.order)(at);
        let mut made = RankAmounts { phase, ..RankAmounts::default() };
        let Some(digit) = digits.get(slot) else { return made };
        let others =
            digits.iter().enumerate().filter(|(i, _)| *i != slot).map(|(_, digit)| digit.base as u64).product();
        for (index, hop) in digit.walk.hops(digit.base, round).iter().enumerate() {
            let value = digit.value(at);
            let to = digit.with(at, digit.moved(value, hop.to));
            let route = match digit.way {
                Way::Default => Route::Default,
                _ => Route::Via(self.route(at, to[digit.dimension], digit, hop.back)),
            };
            let volume = Volume::from(hop.many() as u64) * others;
            made.sends.push(Amount { peer: self.rank(placement, &to), volume, route });
            let from = digit.with(at, digit.moved(value, digit.base - hop.to));
            let sends = |digit: &Digit| index < digit.walk.hops(digit.base, round).len();
            made.receives += usize::from((self.order)(&from).get(slot).is_some_and(sends));
        }
        made
    }

    /// The blocks of a message of the node there: of all that it holds, what the hop moves of the
    /// digit at hand. That one is the outermost loop, then come those still to be walked through,
    /// in their order, so that what the next round passes on is the rear of what this one brings.
    fn blocks(&self, placement: &Placement, at: &[usize], digits: &[Digit], slot: usize, hop: &Hop) -> Vec<Block> {
        let mut pairs = vec![(0, 0)];
        let mut choose = |choices: &[(usize, usize)]| {
            pairs = pairs.iter().flat_map(|&(s, d)| choices.iter().map(move |&(t, e)| (s + t, d + e))).collect();
        };
        let worth = |digit: &Digit, value: usize| value * digit.unit * self.strides[digit.dimension];
        let (done, rest) = digits.split_at(slot);
        for (i, digit) in rest.iter().enumerate() {
            let value = digit.value(at);
            let moved = |positions: usize| worth(digit, digit.moved(value, positions));
            let choices: Vec<(usize, usize)> = if i == 0 {
                let source = moved(hop.source);
                hop.destinations().map(|destination| (source, moved(destination))).collect()
            } else {
                (0..digit.base).map(|ahead| (moved(0), moved(ahead))).collect()
            };
            choose(&choices);
        }
        for digit in done {
            let own = worth(digit, digit.value(at));
            choose(&(0..digit.base).map(|value| (worth(digit, value), own)).collect::<Vec<_>>());
        }
        let rank = |node| placement.rank(Node::new(node)).unwrap_or_default();
        pairs.into_iter().map(|(source, destination)| Block::new(rank(source), rank(destination))).collect()
    }

    /// The nodes from one to the one at coordinate `to` of the digit's dimension.
    fn route(&self, at: &[usize], to: usize, digit: &Digit, back: bool) -> Vec<Node> {
        let (extent, stride, from) =
            (self.extents[digit.dimension], self.strides[digit.dimension], at[digit.dimension]);
        let up = if digit.way == Way::Ring { digit.up != back } else { to > from };
        let next = |x: usize| if up { (x + 1) % extent } else { (x + extent - 1) % extent };
        let origin = self.number(at) - from * stride;
        let coordinates = std::iter::successors(Some(from), |&x| (x != to).then(|| next(x)));
        coordinates.map(|x| Node::new(origin + x * stride)).collect()
    }

    fn number(&self, at: &[usize]) -> usize {
        at.iter().zip(&self.strides).map(|(x, stride)| x * stride).sum()
    }

    fn rank(&self, placement: &Placement, at: &[usize]) -> Rank {
        placement.rank(Node::new(self.number(at))).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digit(base: usize, way: Way, up: bool) -> Digit {
        Digit { dimension: 0, unit: 1, base, walk: Walk::OneWay, way, up }
    }

    #[test]
    fn a_folded_circle_has_neighbours_at_most_two_places_apart_and_each_place_once() {
        for base in 1..20 {
            let folded = digit(base, Way::Folded, true);
            let mut places: Vec<usize> = (0..base).map(|position| folded.place(position)).collect();
            for i in 0..base {
                assert!(places[i].abs_diff(places[(i + 1) % base]) <= 2, "{places:?}");
                assert_eq!(folded.position(places[i]), i);
            }
            places.sort_unstable();
            assert!(places.into_iter().eq(0..base));
        }
    }

    #[test]
    fn every_walk_brings_everything_to_everyone() {
        for walk in [Walk::OneWay, Walk::BothWays, Walk::Rotated, Walk::AtOnce] {
            for base in 1..12 {
                // What position 0 holds, as offsets from it; all others hold the same, moved.
                let mut held: Vec<(usize, usize)> = (0..base).map(|to| (0, to)).collect();
                for round in 1..=walk.rounds(base) {
                    for hop in walk.hops(base, round) {
                        for to in hop.destinations() {
                            let moved = (hop.source, to);
                            let here = held.iter().position(|&block| block == moved);
                            held.swap_remove(here.unwrap_or_else(|| panic!("{walk:?} {base} {round}: {hop:?}")));
                            let seen = |offset: usize| (offset + base - hop.to) % base;
                            held.push((seen(hop.source), seen(to)));
                        }
                    }
                }
                held.sort_unstable();
                assert!(held.into_iter().eq((0..base).map(|from| (from, 0))), "{walk:?} {base}");
            }
        }
    }
}
