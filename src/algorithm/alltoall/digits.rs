//! Message combining, one digit of the destination after the other: the schedule of all exchanges
//! by digits.
//!
//! A node's coordinates are written in digits: a digit is a whole coordinate, or a cell, half of a
//! cell or unit. Each node has an order of its digits. Digit by digit, each node exchanges blocks
//! among the nodes that differ from it in that digit alone. A [`Walk`] says how: around a circle in
//! one or both directions, directly to each node in turn, or to all at once. A walk in both
//! directions can be cut in two, with other digits between its halves.
//!
//! # Why it is correct
//!
//! Requirement: nodes that exchange a digit have the same digits in the same order, up to that
//! digit.
//!
//! 1. The blocks of a node are a product over its digits. For a corrected digit, the destination
//!    has the node's value, and the source any value. For a later digit, the source has the node's
//!    value, and the destination any value. The current digit, and one whose walk is cut, is in
//!    between, as its walk defines.
//! 2. A message is the part of that product that the walk moves in the current digit. After the
//!    last round of a digit, all blocks are at their destination in that digit; after the last
//!    digit, they are at their destination.
//!
//! A rank computes its messages from its own position alone, in time proportional to their blocks.

use std::ops::RangeInclusive;

use crate::block::{Block, Volume};
use crate::ids::{Node, Rank};
use crate::topology::Coordinates;
use crate::vocabulary::{Amount, Amounts, End, Placement, RankAmounts, RankRound, Route, Share};

/// The way in which the nodes that differ in one digit alone, arranged in a circle, exchange
/// blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    /// In one direction around the circle, forwarding blocks.
    OneWay,
    /// In the shorter direction for each block; rounds ahead and rounds back alternate.
    BothWays,
    /// The rounds ahead of [`BothWays`](Self::BothWays). The digit has another slot for
    /// [`Back`](Self::Back), later.
    Ahead,
    /// The rounds back of [`BothWays`](Self::BothWays), after all those [`Ahead`](Self::Ahead).
    Back,
    /// In round i, directly to the node i further on.
    Rotated,
    /// Directly to each node, in one round.
    AtOnce,
}

/// The routes of the messages of a digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The topology's default routes.
    Default,
    /// The coordinate is a ring: ahead is up, back is down.
    Ring,
    /// The coordinate is a line. The last node of the circle sends to the first along the whole
    /// line.
    Line,
    /// The circle is folded over a line, so that neighbours in the circle are at most two places
    /// apart: up over the even places, back over the odd ones.
    Folded,
    /// The circle is folded over windows, in the same order. Default routes take one hop, since a
    /// window reaches two places.
    FoldedInWindows,
}

impl Way {
    fn is_folded(self) -> bool {
        matches!(self, Self::Folded | Self::FoldedInWindows)
    }

    fn takes_default_routes(self) -> bool {
        matches!(self, Self::Default | Self::FoldedInWindows)
    }
}

/// A digit of a coordinate: it has `base` values, each worth `unit`.
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

/// An index in the order of digits, the same for all nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The phase of the schedule.
    pub(super) phase: usize,
    /// The rounds of the longest walk there.
    pub(super) rounds: usize,
}

/// A round of the walk in a slot.
#[derive(Clone, Copy, Debug)]
struct WalkRound {
    slot: usize,
    phase: usize,
    /// The number of the round within the walk, from 1.
    round: usize,
}

/// A node that exchanges one of its digits.
struct Exchanging<'a> {
    /// The coordinates of the node.
    at: &'a [usize],
    /// The digits in the node's order.
    digits: &'a [Digit],
    /// The index of the current digit.
    slot: usize,
}

/// A message of a walk, with positions relative to the sender, so that it is the same for all
/// senders.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hop {
    to: usize,
    /// Whether the message goes back rather than ahead.
    back: bool,
    /// The source of the blocks.
    source: usize,
    /// The destinations: these steps along the circle, in the message's direction.
    reach: RangeInclusive<usize>,
    /// The number of nodes of the circle.
    base: usize,
}

impl Walk {
    /// Returns the number of rounds.
    pub(super) fn rounds(self, base: usize) -> usize {
        let others = base.saturating_sub(1);
        match self {
            Self::AtOnce => others.min(1),
            Self::Ahead => base / 2,
            Self::Back => others / 2,
            Self::OneWay | Self::BothWays | Self::Rotated => others,
        }
    }

    /// Returns the volume that each of `nodes` nodes sends in all rounds.
    ///
    /// In one direction, round r sends (L - r)/L of the node's `nodes` blocks. In both, the r-th
    /// round of a direction sends (R + 1 - r)/L of them, with R = L/2 ahead and (L - 1)/2 back,
    /// rounded down.
    pub(super) fn volume(self, base: usize, nodes: u64) -> Volume {
        let base = base as u64;
        match self {
            Self::OneWay => Volume::new((base - 1) * nodes, 2),
            Self::BothWays => Volume::from(base * base / 4 * (nodes / base)),
            Self::Ahead | Self::Back => {
                let reach = if self == Self::Ahead { base / 2 } else { (base - 1) / 2 };
                Volume::from(reach * (reach + 1) / 2 * (nodes / base))
            }
            Self::Rotated | Self::AtOnce => Volume::from((base - 1) * (nodes / base)),
        }
    }

    /// Returns the sum over rounds of the largest message.
    pub(super) fn transmission(self, base: usize, nodes: u64) -> Volume {
        match self {
            Self::AtOnce if base > 1 => Volume::from(nodes / base as u64),
            _ => self.volume(base, nodes),
        }
    }

    /// Returns the size of the largest message in a round, counted from 1.
    pub(super) fn largest(self, base: usize, round: usize, nodes: u64) -> Volume {
        let many = self.hops(base, round).iter().map(Hop::many).max().unwrap_or(0);
        Volume::from(many as u64) * (nodes / base as u64)
    }

    /// Returns the messages of a node in a round, counted from 1.
    fn hops(self, base: usize, round: usize) -> Vec<Hop> {
        let straight = |to| Hop { to, back: false, source: 0, reach: to..=to, base };
        match self {
            _ if round > self.rounds(base) => vec![],
            Self::OneWay => vec![Hop::passing_on(base, round, base - 1, false)],
            Self::BothWays if round % 2 == 1 => Self::Ahead.hops(base, round.div_ceil(2)),
            Self::BothWays => Self::Back.hops(base, round / 2),
            Self::Ahead => vec![Hop::passing_on(base, round, base / 2, false)],
            Self::Back => vec![Hop::passing_on(base, round, (base - 1) / 2, true)],
            Self::Rotated => vec![straight(round)],
            Self::AtOnce => (1..base).map(straight).collect(),
        }
    }
}

impl Hop {
    /// Returns the message to the next node in the i-th round of forwarding blocks that travel at
    /// most `reach` steps. The nearest destination is first, so that the blocks to be forwarded
    /// further are one piece.
    fn passing_on(base: usize, i: usize, reach: usize, back: bool) -> Self {
        let along = |steps| along(base, steps, back);
        Self { to: along(1), back, source: along((base + 1 - i) % base), reach: 1..=reach + 1 - i, base }
    }

    /// Returns the destinations, the nearest first.
    fn destinations(&self) -> impl Iterator<Item = usize> {
        let (base, back) = (self.base, self.back);
        self.reach.clone().map(move |steps| along(base, steps, back))
    }

    /// Returns the number of destinations.
    fn many(&self) -> usize {
        self.reach.end() + 1 - self.reach.start()
    }
}

/// Returns the position `steps` steps from 0 around a circle.
fn along(base: usize, steps: usize, back: bool) -> usize {
    if back { (base - steps % base) % base } else { steps }
}

impl Digit {
    fn value(&self, at: &[usize]) -> usize {
        at[self.dimension] / self.unit % self.base
    }

    /// Returns the value `positions` positions after `value` in the circle.
    fn moved(&self, value: usize, positions: usize) -> usize {
        let positions = if self.up { positions } else { (self.base - positions) % self.base };
        self.place((self.position(value) + positions) % self.base)
    }

    /// Returns the value at a position.
    fn place(&self, position: usize) -> usize {
        match self.way.is_folded() {
            true if 2 * position < self.base => 2 * position,
            true => 2 * (self.base - position) - 1,
            false => position,
        }
    }

    /// Returns the position of a value.
    fn position(&self, value: usize) -> usize {
        match self.way.is_folded() {
            true if value % 2 == 1 => self.base - value.div_ceil(2),
            true => value / 2,
            false => value,
        }
    }

    /// Returns whether it is the same digit as another, at whatever step of its walk.
    fn is_same(&self, other: &Self) -> bool {
        (self.dimension, self.unit) == (other.dimension, other.unit)
    }

    /// Replaces the value of the digit in coordinates.
    fn with(&self, at: &[usize], value: usize) -> Coordinates {
        let mut other = Coordinates::from(at);
        other[self.dimension] = other[self.dimension] + value * self.unit - self.value(at) * self.unit;
        other
    }
}

/// The order of digits of each node, on a network whose nodes are numbered row-major.
pub(super) struct Digits<F> {
    extents: Coordinates,
    /// The stride of each dimension.
    strides: Coordinates,
    slots: Vec<Slot>,
    order: F,
}

impl<F: Fn(&[usize]) -> Vec<Digit> + Send + 'static> Digits<F> {
    /// Takes the function that returns the digits of the node at a position in its order, one per
    /// slot.
    pub(super) fn new(extents: &[usize], slots: Vec<Slot>, order: F) -> Self {
        let stride = |dimension: usize| extents[dimension + 1..].iter().product();
        Self { extents: extents.into(), strides: (0..extents.len()).map(stride).collect(), slots, order }
    }

    /// Returns one rank's rounds.
    pub(super) fn share(self, placement: &Placement, rank: Rank) -> Share {
        let placement = placement.clone();
        let (steps, at) = self.steps(&placement, rank);
        Box::new(steps.map(move |step| self.round(&placement, &at, step)))
    }

    /// Returns one rank's rounds by message sizes.
    pub(super) fn amounts(self, placement: &Placement, rank: Rank) -> Amounts {
        let placement = placement.clone();
        let (steps, at) = self.steps(&placement, rank);
        Box::new(steps.map(move |step| self.amount(&placement, &at, step)))
    }

    /// Returns all rounds, and the rank's coordinates.
    fn steps(
        &self,
        placement: &Placement,
        rank: Rank,
    ) -> (impl Iterator<Item = WalkRound> + Send + use<F>, Coordinates) {
        let slots: Vec<(usize, Slot)> = self.slots.iter().copied().enumerate().collect();
        let steps = slots
            .into_iter()
            .flat_map(|(slot, Slot { phase, rounds })| (1..=rounds).map(move |round| WalkRound { slot, phase, round }));
        let node = placement.node(rank).index();
        let at: Coordinates =
            self.extents.iter().zip(&self.strides).map(|(extent, stride)| node / stride % extent).collect();
        (steps, at)
    }

    fn round(&self, placement: &Placement, at: &[usize], step: WalkRound) -> RankRound {
        let WalkRound { slot, phase, round } = step;
        let digits = (self.order)(at);
        let mut made = RankRound { phase, ..RankRound::default() };
        let Some(digit) = digits.get(slot) else { return made };
        for (index, hop) in digit.walk.hops(digit.base, round).iter().enumerate() {
            let value = digit.value(at);
            let to = digit.with(at, digit.moved(value, hop.to));
            let sent = End::new(
                self.rank(placement, &to),
                self.blocks(placement, &Exchanging { at, digits: &digits, slot }, hop),
            );
            made.sends.push(match digit.way.takes_default_routes() {
                true => sent,
                false => sent.via(self.route(at, to[digit.dimension], digit, hop.back)),
            });
            // The sender for which this node is at the receiver's relative position.
            let from = digit.with(at, digit.moved(value, digit.base - hop.to));
            let digits = (self.order)(&from);
            let hops = digits.get(slot).map(|digit| digit.walk.hops(digit.base, round)).unwrap_or_default();
            let sender = Exchanging { at: &from, digits: &digits, slot };
            let received = |hop| End::new(self.rank(placement, &from), self.blocks(placement, &sender, hop));
            made.receives.extend(hops.get(index).map(received));
        }
        made
    }

    /// Returns a round as [`round`](Self::round) does, by message sizes: a message has the hop's
    /// values of the current digit, and all values of the others.
    fn amount(&self, placement: &Placement, at: &[usize], step: WalkRound) -> RankAmounts {
        let WalkRound { slot, phase, round } = step;
        let digits = (self.order)(at);
        let mut made = RankAmounts { phase, ..RankAmounts::default() };
        let Some(digit) = digits.get(slot) else { return made };
        let others = digits.iter().filter(|other| other.walk != Walk::Back && !other.is_same(digit));
        let others = others.map(|digit| digit.base as u64).product();
        for (index, hop) in digit.walk.hops(digit.base, round).iter().enumerate() {
            let value = digit.value(at);
            let to = digit.with(at, digit.moved(value, hop.to));
            let route = match digit.way.takes_default_routes() {
                true => Route::Default,
                false => Route::Via(self.route(at, to[digit.dimension], digit, hop.back)),
            };
            let volume = Volume::from(hop.many() as u64) * others;
            made.sends.push(Amount { peer: self.rank(placement, &to), volume, route });
            let from = digit.with(at, digit.moved(value, digit.base - hop.to));
            let sends = |digit: &Digit| index < digit.walk.hops(digit.base, round).len();
            made.receives += usize::from((self.order)(&from).get(slot).is_some_and(sends));
        }
        made
    }

    /// Returns the blocks of a message of a node: those of its blocks that the hop moves in the
    /// current digit. That digit is the outermost loop, then come the later digits in order, so
    /// that the blocks that the next round forwards are the end of this message.
    fn blocks(&self, placement: &Placement, sender: &Exchanging<'_>, hop: &Hop) -> Vec<Block> {
        let &Exchanging { at, digits, slot } = sender;
        let mut pairs = vec![(0, 0)];
        let mut choose = |choices: &[(usize, usize)]| {
            pairs = pairs.iter().flat_map(|&(s, d)| choices.iter().map(move |&(t, e)| (s + t, d + e))).collect();
        };
        let worth = |digit: &Digit, value: usize| value * digit.unit * self.strides[digit.dimension];
        let (done, rest) = digits.split_at(slot);
        for (i, digit) in rest.iter().enumerate() {
            let value = digit.value(at);
            let moved = |positions: usize| worth(digit, digit.moved(value, positions));
            let choices: Vec<(usize, usize)> = match digit.walk {
                _ if i == 0 => {
                    let source = moved(hop.source);
                    hop.destinations().map(|destination| (source, moved(destination))).collect()
                }
                // Between the two halves of its walk: some blocks have arrived, the others go back.
                Walk::Back if done.iter().any(|ahead| ahead.is_same(digit)) => {
                    let (base, reach) = (digit.base, digit.base / 2);
                    let arrived = (0..=reach).map(|steps| (moved(along(base, steps, true)), moved(0)));
                    arrived.chain((reach + 1..base).map(|ahead| (moved(0), moved(ahead)))).collect()
                }
                // Its other half has them.
                Walk::Back => continue,
                _ => (0..digit.base).map(|ahead| (moved(0), moved(ahead))).collect(),
            };
            choose(&choices);
        }
        for digit in done.iter().filter(|digit| digit.walk != Walk::Ahead) {
            let own = worth(digit, digit.value(at));
            choose(&(0..digit.base).map(|value| (worth(digit, value), own)).collect::<Vec<_>>());
        }
        let rank = |node| placement.rank(Node::new(node)).unwrap_or_default();
        pairs.into_iter().map(|(source, destination)| Block::new(rank(source), rank(destination))).collect()
    }

    /// Returns the route to the node at coordinate `to` in the digit's dimension.
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
    fn folded_circle_has_neighbours_within_two_places() {
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
    fn every_walk_delivers_all_blocks() {
        let whole = [Walk::OneWay, Walk::BothWays, Walk::Rotated, Walk::AtOnce].map(|walk| vec![walk]);
        for walks in whole.into_iter().chain([vec![Walk::Ahead, Walk::Back]]) {
            for base in 1..12 {
                // The blocks of position 0 as offsets; all others have the same, shifted.
                let mut held: Vec<(usize, usize)> = (0..base).map(|to| (0, to)).collect();
                let rounds = walks.iter().flat_map(|&walk| (1..=walk.rounds(base)).map(move |round| (walk, round)));
                for (walk, round) in rounds {
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
                assert!(held.into_iter().eq((0..base).map(|from| (from, 0))), "{walks:?} {base}");
            }
        }
    }
}
