//! A broadcast from the root and a gather to it, along one axis after the other, and the same in
//! reverse: a reduction and a scatter.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), sections 4.1 and 4.2. The root is the only bridgehead of
//! its row. In a broadcast the number of bridgeheads grows by a factor a in each round, in b steps,
//! until all nodes of the row have the block, and then of the rows through them. In a gather the
//! root collects the blocks of its row as bridgeheads do, after the nodes of the row have collected
//! those of the rows through them.

use std::ops::Range;

use smallvec::SmallVec;

use super::choice::{Choice, Order, at_most, row_axes};
use super::row::{self, Heading, Load, Message, Row, Stage};
use crate::algorithm::Claims;
use crate::algorithm::counts::{Counts, Sent};
use crate::algorithm::course::Course;
use crate::algorithm::kept::Kept;
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, Problem, RankAmounts, RankRound, Share};

/// A collective with a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::algorithm) enum Rooted {
    Broadcast,
    /// A broadcast in reverse.
    Reduce,
    Gather,
    /// A gather in reverse.
    Scatter,
}

impl Rooted {
    pub(super) fn is_spread(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce)
    }

    fn is_reversed(self) -> bool {
        matches!(self, Self::Reduce | Self::Scatter)
    }

    /// Returns what a problem lacks for a choice of parameters.
    pub(in crate::algorithm) fn lacks(self, problem: &Problem, choice: Choice) -> Option<String> {
        let order = if self == Self::Reduce { Course::Up.lacks_order(problem) } else { None };
        order.or_else(|| choice.lacks_but_steps(problem, Order::ByAxis))
    }
}

/// A stage along the axis that a colour goes through in a phase.
#[derive(Clone, Debug)]
struct Leg {
    phase: usize,
    axis: usize,
    stage: Stage,
    rounds: Range<usize>,
}

/// What a message carries, of the part of its colour.
#[derive(Clone, Debug)]
enum Content {
    /// Units of the block.
    Units(Range<usize>),
    /// The blocks of nodes: by axis, the first place, and the number of places from there.
    Nodes(SmallVec<[(usize, usize); 4]>),
}

#[derive(Clone, Debug)]
struct Transfer {
    peer: usize,
    distance: usize,
    colour: usize,
    content: Content,
}

impl Transfer {
    /// Returns the size, in units or in parts of blocks.
    fn count(&self) -> usize {
        match &self.content {
            Content::Units(units) => units.len(),
            Content::Nodes(places) => places.iter().map(|(_, count)| count).product(),
        }
    }
}

/// The rounds of a collective with a root.
#[derive(Clone, Debug)]
pub(in crate::algorithm) struct RootedPlan {
    call: Rooted,
    /// The extents, and whether they are rings.
    axes: Vec<(usize, bool)>,
    root: SmallVec<[usize; 4]>,
    colours: Vec<Vec<Leg>>,
    rounds: usize,
    /// The units in the part of a colour.
    units: usize,
    one_port: bool,
}

/// The most units in the part of a colour, unless a round has more parts.
const MAX_UNITS: usize = 1 << 12;

impl RootedPlan {
    /// Returns the plan for a problem that [lacks](Rooted::lacks) nothing.
    pub(in crate::algorithm) fn new(problem: &Problem, call: Rooted, choice: Choice) -> Self {
        let axes = row_axes(problem).unwrap_or_default();
        let root = problem.collective().root().unwrap_or_default().index();
        let colours = vec![vec![]; choice.colours(axes.len())];
        let one_port = choice.is_one_port();
        let mut plan = Self { call, axes, root: SmallVec::new(), colours, rounds: 0, units: 1, one_port };
        plan.root = plan.coordinates(root);
        let count = plan.axes.len();
        for phase in 0..count {
            let begin = plan.rounds;
            for colour in 0..plan.colours.len() {
                let (axis, mut end) = ((phase + colour) % count, begin);
                for stage in plan.stages(axis, choice) {
                    let steps = plan.row(axis).steps(stage);
                    plan.colours[colour].push(Leg { phase, axis, stage, rounds: end..end + steps });
                    end += steps;
                }
                plan.rounds = plan.rounds.max(end);
            }
        }
        plan.units = plan.common_units();
        plan
    }

    /// Returns the stages along an axis.
    fn stages(&self, axis: usize, choice: Choice) -> Vec<Stage> {
        if !self.call.is_spread() {
            return vec![Stage::Concentrate { heads: 1 }];
        }
        let (nodes, ring) = self.axes[axis];
        let choice = if choice.a == 0 { choice.with(3, 0) } else { choice };
        let (mut heads, mut stages) = (1, vec![]);
        while heads < nodes {
            let more = heads * choice.factor();
            // To one other node on a ring, routes in both directions could be the same.
            let more = if more == 2 && ring && !self.one_port { 3 } else { more };
            let next = at_most(more, nodes);
            let steps = choice.steps(row::factor(heads, next, nodes));
            stages.push(Stage::Spread { heads, next, steps });
            heads = next;
        }
        stages
    }

    /// Returns a number of units that the parts of all rounds divide, if it is not large.
    fn common_units(&self) -> usize {
        let legs = self.colours.iter().flatten();
        let parts: Vec<usize> = legs.filter_map(|leg| self.parts(leg)).collect();
        let most = parts.iter().copied().max().unwrap_or(1);
        let multiple = parts.iter().try_fold(1_usize, |all, &parts| {
            let multiple = all / common_divisor(all, parts) * parts;
            (multiple <= MAX_UNITS).then_some(multiple)
        });
        multiple.unwrap_or_else(|| most.max(MAX_UNITS))
    }

    /// Returns the number of parts in which the messages of a leg carry the block.
    fn parts(&self, leg: &Leg) -> Option<usize> {
        match leg.stage {
            Stage::Spread { heads, next, steps } => Some(self.row(leg.axis).parts(heads, next, steps)),
            Stage::Concentrate { .. } | Stage::Circulate { .. } => None,
        }
    }

    fn ranks(&self) -> usize {
        self.axes.iter().map(|(extent, _)| extent).product()
    }

    /// Returns the number of rounds, and the transmission of a broadcast in 2^20ths of a block.
    pub(super) fn measured(&self) -> (usize, usize) {
        let most = |round| {
            let legs = self.colours.iter().filter_map(move |legs| legs.iter().find(|leg| leg.rounds.contains(&round)));
            legs.filter_map(|leg| self.parts(leg)).min().map_or(0, |parts| self.units.div_ceil(parts))
        };
        let transmission: usize = (0..self.rounds).map(most).sum();
        (self.rounds, (transmission << 20) / self.units)
    }

    /// Returns the rows along an axis, whose first bridgehead is in line with the root. In a row of
    /// two nodes all goes one way.
    fn row(&self, axis: usize) -> Row {
        let (nodes, ring) = self.axes[axis];
        let one_port = self.one_port || nodes == 2;
        Row { nodes, ring: ring || one_port, first: self.root[axis], equal: false, one_port }
    }

    fn coordinates(&self, mut node: usize) -> SmallVec<[usize; 4]> {
        let mut coordinates = SmallVec::from_elem(0, self.axes.len());
        for (at, (extent, _)) in coordinates.iter_mut().zip(&self.axes).rev() {
            *at = node % extent;
            node /= extent;
        }
        coordinates
    }

    fn node(&self, coordinates: &[usize]) -> usize {
        coordinates.iter().zip(&self.axes).fold(0, |node, (at, (extent, _))| node * extent + at)
    }

    /// Returns the phase in which a colour goes through an axis.
    fn phase(&self, axis: usize, colour: usize) -> usize {
        let count = self.axes.len();
        (axis + count - colour) % count
    }

    /// Returns whether the row of a leg through a node takes part: a broadcast has reached it, or
    /// the blocks of a gather are still in it.
    fn takes_part(&self, colour: usize, leg: &Leg, node: &[usize]) -> bool {
        (0..self.axes.len()).filter(|&axis| node[axis] != self.root[axis]).all(|axis| {
            let phase = self.phase(axis, colour);
            axis == leg.axis || if self.call.is_spread() { phase < leg.phase } else { phase > leg.phase }
        })
    }

    /// Returns the legs of a round in whose rows a node takes part, with the step of each.
    fn legs(&self, node: &[usize], round: usize) -> impl Iterator<Item = (usize, &Leg, usize)> {
        self.colours.iter().enumerate().filter_map(move |(colour, legs)| {
            let leg = legs.iter().find(|leg| leg.rounds.contains(&round))?;
            self.takes_part(colour, leg, node).then_some((colour, leg, round - leg.rounds.start))
        })
    }

    fn transfer(&self, colour: usize, leg: &Leg, from: &[usize], message: Message) -> Transfer {
        let content = match message.load {
            Load::Part { index, of } => Content::Units(index * self.units / of..(index + 1) * self.units / of),
            Load::Nodes { from: first, count } => Content::Nodes(
                (0..self.axes.len())
                    .map(|axis| match self.phase(axis, colour).cmp(&leg.phase) {
                        std::cmp::Ordering::Less => (0, self.axes[axis].0),
                        std::cmp::Ordering::Equal => (first, count),
                        std::cmp::Ordering::Greater => (from[axis], 1),
                    })
                    .collect(),
            ),
            // There is no circulation.
            Load::Head(_) => Content::Units(0..0),
        };
        let mut to: SmallVec<[usize; 4]> = from.into();
        to[leg.axis] = message.to;
        Transfer { peer: self.node(&to), distance: message.distance, colour, content }
    }

    /// Returns the messages that a node sends in a round.
    fn sends(&self, node: usize, round: usize) -> Vec<Transfer> {
        let from = self.coordinates(node);
        let mut all = vec![];
        for (colour, leg, step) in self.legs(&from, round) {
            let row = self.row(leg.axis);
            let sent = Heading::BOTH.into_iter().filter_map(|way| row.send(leg.stage, step, from[leg.axis], way));
            all.extend(sent.map(|message| self.transfer(colour, leg, &from, message)));
        }
        all
    }

    /// Returns the messages that a node receives in a round. The peers are the senders.
    fn receives(&self, node: usize, round: usize) -> Vec<Transfer> {
        let to = self.coordinates(node);
        let mut all = vec![];
        for (colour, leg, step) in self.legs(&to, round) {
            let row = self.row(leg.axis);
            for way in Heading::BOTH {
                for place in row.senders(leg.stage, step, to[leg.axis], way) {
                    let message = row.send(leg.stage, step, place, way);
                    let Some(message) = message.filter(|message| message.to == to[leg.axis]) else { continue };
                    let mut from = to.clone();
                    from[leg.axis] = place;
                    let transfer = self.transfer(colour, leg, &from, message);
                    all.push(Transfer { peer: self.node(&from), ..transfer });
                }
            }
        }
        all
    }

    /// Returns the blocks of a message, or their parts.
    fn blocks(&self, transfer: &Transfer) -> Vec<Block> {
        let (of, colour, root) = (self.colours.len(), transfer.colour, Rank::new(self.node(&self.root)));
        match &transfer.content {
            Content::Units(units) => {
                let block = if self.call == Rooted::Reduce { Block::result(root) } else { Block::from(root) };
                let first = colour * self.units + units.start;
                block.chunks(first as u32, (of * self.units) as u32, units.len() as u32).into_iter().collect()
            }
            Content::Nodes(places) => {
                let block = |mut at: usize| {
                    let (mut stride, mut node) = (1, 0);
                    for (&(first, count), (extent, _)) in places.iter().zip(&self.axes).rev() {
                        node += (first + at % count) % extent * stride;
                        (at, stride) = (at / count, stride * extent);
                    }
                    let rank = Rank::new(node);
                    let block =
                        if self.call == Rooted::Scatter { Block::new(root, rank) } else { Block::new(rank, root) };
                    block.chunks(colour as u32, of as u32, 1)
                };
                (0..transfer.count()).filter_map(block).collect()
            }
        }
    }

    /// Returns the numbers of the rounds in order.
    fn order(&self) -> impl Iterator<Item = usize> + Send + use<> {
        let (rounds, reversed) = (self.rounds, self.call.is_reversed());
        (0..rounds).map(move |round| if reversed { rounds - 1 - round } else { round })
    }

    /// Returns the messages that a node sends and those that it receives.
    fn transfers(&self, node: usize, round: usize) -> [Vec<Transfer>; 2] {
        let [sends, receives] = [self.sends(node, round), self.receives(node, round)];
        if self.call.is_reversed() { [receives, sends] } else { [sends, receives] }
    }

    /// Returns the rounds of a rank.
    pub(in crate::algorithm) fn share(self, rank: Rank) -> Share {
        Box::new(self.order().map(move |round| {
            let end = |transfer: &Transfer, sends: bool| {
                let peer = Rank::new(transfer.peer);
                let (sender, receiver) = if sends { (rank, peer) } else { (peer, rank) };
                let combine = Course::combine(self.call == Rooted::Reduce, sender, receiver);
                End::new(peer, self.blocks(transfer)).combined(combine)
            };
            let [sends, receives] = self.transfers(rank.index(), round);
            let ends = |all: Vec<Transfer>, sends| all.iter().map(|transfer| end(transfer, sends)).collect();
            RankRound::new(ends(sends, true), ends(receives, false))
        }))
    }

    /// Returns the rounds of a rank by message sizes.
    pub(in crate::algorithm) fn amounts(self, rank: Rank) -> Amounts {
        let chunk = self.chunk();
        Box::new(self.order().map(move |round| {
            let [sends, receives] = self.transfers(rank.index(), round);
            let size = |transfer: &Transfer| chunk * transfer.count() as u64;
            let amounts = sends.iter().map(|transfer| Amount::new(Rank::new(transfer.peer), size(transfer))).collect();
            let combines = self.call == Rooted::Reduce;
            let combined = if combines { receives.iter().map(size).sum() } else { Volume::ZERO };
            RankAmounts::new(amounts, receives.len()).combining(combined)
        }))
    }

    /// Returns the size of a unit, or of a part of a block.
    fn chunk(&self) -> Volume {
        let units = if self.call.is_spread() { self.units } else { 1 };
        Volume::new(1, (self.colours.len().max(1) * units) as u64)
    }

    fn counted(&self) -> Counts {
        Counts::of(vec![(0..self.ranks()).collect()], self.rounds, |nodes, round| {
            let sent = |from: usize| {
                let sent = self.sends(from, round).into_iter();
                sent.map(move |transfer| Sent {
                    from,
                    to: transfer.peer,
                    hops: transfer.distance,
                    chunks: transfer.count(),
                })
            };
            nodes.iter().flat_map(|&from| sent(from)).collect::<Vec<_>>()
        })
    }
}

/// What counts depend on: the extents, whether they are rings, and the place of the root.
type Key = (bool, Vec<(usize, bool)>, SmallVec<[usize; 4]>, Choice);

/// Returns the claims for a problem that [lacks](Rooted::lacks) nothing.
pub(in crate::algorithm) fn rooted_claims(problem: &Problem, call: Rooted, choice: Choice) -> Claims {
    static COUNTED: Kept<Key, Counts> = Kept::new(64);
    let plan = RootedPlan::new(problem, call, choice);
    // A ring is the same from every node.
    let place = plan.root.iter().zip(&plan.axes).map(|(&at, (_, ring))| if *ring { 0 } else { at }).collect();
    let key = (call.is_spread(), plan.axes.clone(), place, choice);
    let counts = COUNTED.get(key, || plan.counted());
    let claims = counts.claims(plan.chunk(), if call.is_reversed() { Course::Up } else { Course::Down });
    if call == Rooted::Scatter { Claims { combined: None, ..claims } } else { claims }
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
