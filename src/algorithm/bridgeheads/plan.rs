//! The stages of a gossip along all axes, and the blocks that each message carries.

use std::ops::Range;

use smallvec::SmallVec;

use super::choice::{Choice, Order, PHASES, at_most, row_axes};
use super::diagonal;
use super::estimate::{Estimate, Run};
use super::row::{self, Load, Message, Row, Stage};
use crate::algorithm::course::Course;
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, Problem, RankAmounts, RankRound, Share};

/// The blocks that a node holds, by their places along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Along {
    All,
    /// Those at its own place and at multiples of a number of nodes from it.
    Every(usize),
    /// Those of its arc, with this number of bridgeheads.
    Arc(usize),
}

/// A stage along an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Leg {
    axis: usize,
    stage: Stage,
    /// The blocks that a bridgehead holds before the stage, along each axis.
    has: Vec<Along>,
    rounds: Range<usize>,
    /// The number of parts in which bridgeheads pass what they have, in some row.
    parts: usize,
    /// The number of bridgeheads with which its rows begin.
    heads: usize,
}

/// An axis, a stage along it, and what a bridgehead holds before it.
type Part = (usize, Stage, Vec<Along>);

/// A gossip.
#[derive(Clone, Debug)]
pub(in crate::algorithm) struct Plan {
    order: Order,
    /// The extents, and whether they are rings.
    axes: Vec<(usize, bool)>,
    /// The legs of each colour, one after the other. Each colour is a part of every block.
    colours: Vec<Vec<Leg>>,
    rounds: usize,
    /// The rounds before the second phase and those after it.
    phases: [usize; PHASES - 1],
    one_port: bool,
    /// Whether it is a gossip on the diagonals of a torus whose side is a multiple of theirs.
    is_regular: bool,
}

/// Evenly spaced places along an axis, which may wrap round the row.
#[derive(Clone, Copy, Debug)]
struct Places {
    from: usize,
    apart: usize,
    count: usize,
}

/// The places of all axes.
type Product = SmallVec<[Places; 4]>;

/// A message of one colour.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub(super) peer: usize,
    pub(super) distance: usize,
    colour: usize,
    /// The nodes of which it carries blocks, the last axis fastest.
    nodes: Product,
    /// Which of these it carries, in order.
    part: Range<usize>,
    /// Those that the receiver has already, as indices among the places along each axis. Empty if
    /// it has none of them; else one entry an axis.
    without: Product,
}

impl Transfer {
    /// Returns the number of blocks.
    pub(super) fn count(&self) -> usize {
        self.part.len() - (self.without_before(self.part.end) - self.without_before(self.part.start))
    }

    /// Returns how many of the first nodes are left out.
    fn without_before(&self, end: usize) -> usize {
        let mut stride: usize = self.nodes.iter().map(|places| places.count).product();
        if self.without.is_empty() || end == 0 {
            return 0;
        }
        if end == stride {
            return self.without.iter().map(|left_out| left_out.count).product();
        }
        let (mut rest, mut before) = (end, 0);
        for (axis, (along, left_out)) in self.nodes.iter().zip(&self.without).enumerate() {
            stride /= along.count;
            let index = rest / stride;
            rest %= stride;
            // Those that wrap round the row come first.
            let wrapped = (left_out.from + left_out.count).saturating_sub(along.count);
            let below = (left_out.count - wrapped).min(index.saturating_sub(left_out.from)) + wrapped.min(index);
            let inner: usize = self.without[axis + 1..].iter().map(|left_out| left_out.count).product();
            before += below * inner;
            if !left_out.has(index, along.count) {
                break;
            }
        }
        before
    }
}

impl Places {
    const fn one(place: usize) -> Self {
        Self { from: place, apart: 1, count: 1 }
    }

    /// Returns whether a place is one of these consecutive places of a row of `of` nodes.
    const fn has(self, place: usize, of: usize) -> bool {
        (place + of - self.from) % of < self.count
    }
}

impl Plan {
    /// Returns the plan for a problem that [lacks](Choice::lacks) nothing.
    pub(in crate::algorithm) fn new(problem: &Problem, order: Order, choice: Choice) -> Self {
        let axes = row_axes(problem).unwrap_or_default();
        let colours = vec![vec![]; choice.colours(axes.len())];
        let (one_port, is_regular) = (choice.is_one_port(), order == Order::Diagonals && choice.is_regular(&axes));
        let mut plan = Self { order, axes, colours, rounds: 0, phases: Default::default(), one_port, is_regular };
        match order {
            Order::ByAxis => plan.along_each_axis(choice),
            Order::Diagonals => plan.on_diagonals(choice),
        }
        plan
    }

    /// Adds a leg of one colour that begins in a round, and returns the round after its last.
    /// `axis` and the indices of `has` count from the colour's first axis. The rows begin with
    /// `heads` bridgeheads.
    fn leg(&mut self, colour: usize, begin: usize, heads: usize, (axis, stage, has): Part) -> usize {
        let count = self.axes.len();
        let axis = (axis + colour) % count;
        let has = (0..count).map(|at| has[(at + count - colour) % count]).collect();
        let rows: Vec<Row> = self.rows(axis, heads).collect();
        let end = begin + rows.iter().map(|row| row.steps(stage)).max().unwrap_or(0);
        let parts = match stage {
            Stage::Spread { heads, next, steps } => rows.iter().map(|row| row.parts(heads, next, steps)).min(),
            Stage::Concentrate { .. } | Stage::Circulate { .. } => None,
        };
        let leg = Leg { axis, stage, has, rounds: begin..end, parts: parts.unwrap_or(1), heads };
        self.colours[colour].push(leg);
        self.rounds = self.rounds.max(end);
        end
    }

    fn along_each_axis(&mut self, choice: Choice) {
        let count = self.axes.len();
        for phase in 0..count {
            let begin = self.rounds;
            let choice = choice.phase(phase);
            let a = choice.heads(&self.axes, self.order);
            for colour in 0..self.colours.len() {
                let (nodes, _) = self.axes[(phase + colour) % count];
                let has = |along| -> Vec<Along> {
                    let axis = |axis: usize| match axis.cmp(&phase) {
                        std::cmp::Ordering::Less => Along::All,
                        std::cmp::Ordering::Equal => along,
                        std::cmp::Ordering::Greater => Along::Every(self.axes[(axis + colour) % count].0),
                    };
                    (0..count).map(axis).collect()
                };
                let first = at_most(a, nodes);
                let mut heads = first;
                let mut legs = vec![
                    (Stage::Concentrate { heads }, has(Along::Every(nodes))),
                    (Stage::Circulate { heads, sources: heads }, has(Along::Arc(heads))),
                ];
                let factor = choice.with(a, 0).factor();
                while heads < nodes {
                    let next = at_most(heads * factor, nodes);
                    let steps = choice.steps(row::factor(heads, next, nodes));
                    legs.push((Stage::Spread { heads, next, steps }, has(Along::All)));
                    heads = next;
                }
                legs.into_iter().fold(begin, |at, (stage, has)| self.leg(colour, at, first, (phase, stage, has)));
            }
            self.phases.iter_mut().skip(phase).for_each(|end| *end = self.rounds);
        }
    }

    fn on_diagonals(&mut self, choice: Choice) {
        let count = self.axes.len();
        let nodes = self.axes.first().map_or(1, |(extent, _)| *extent);
        // Along the rows, and along the columns before and after the one that is gone through.
        let has = |row: Along, axis: usize, before: usize, after: usize| -> Vec<Along> {
            let column = |at: usize| Along::Every(nodes / if at < axis { before } else { after });
            (0..count).map(|at| if at == 0 { row } else { column(at) }).collect()
        };
        let a = choice.heads(&self.axes, self.order);
        let (mut heads, most) = (a, choice.with(a, 0).factor());
        let mut legs = vec![
            (0, Stage::Concentrate { heads }, has(Along::Every(nodes), 0, 1, 1)),
            (0, Stage::Circulate { heads, sources: nodes }, has(Along::Arc(heads), 0, 1, 1)),
        ];
        let columns = |heads: usize, old: usize, sources: usize| {
            let stage = Stage::Circulate { heads, sources };
            (1..count).map(move |axis| (axis, stage, has(Along::All, axis, heads, old)))
        };
        legs.extend(columns(heads, 1, nodes));
        while nodes / heads > 1 {
            let rest = nodes / heads;
            let divides = |factor: &usize| rest.is_multiple_of(*factor);
            let factor = (2..=most).rev().find(divides).or_else(|| (2..=rest).find(divides)).unwrap_or(rest);
            let next = if factor == rest { nodes } else { heads * factor };
            let growth = self.rows(0, a).map(|row| row.growth(heads, next)).max().unwrap_or(factor);
            let steps = choice.steps(growth);
            legs.push((0, Stage::Spread { heads, next, steps }, has(Along::All, 0, heads, heads)));
            legs.extend(columns(next, heads, factor));
            heads = next;
        }
        for (axis, stage, has) in legs {
            let begin = self.rounds;
            for colour in 0..self.colours.len() {
                self.leg(colour, begin, a, (axis, stage, has.clone()));
            }
        }
        self.phases.fill(self.rounds);
    }

    pub(super) fn ranks(&self) -> usize {
        self.axes.iter().map(|(extent, _)| extent).product()
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    /// Returns sets of nodes that stand for all. What a node sends in a round is the sum of what
    /// its representative in each set sends there, or to a node of the set.
    ///
    /// A gossip along one axis after the other is the same in all rows along an axis. One on
    /// diagonals that all fit the torus is the same at all nodes with an equal sum of coordinates,
    /// modulo the side: a row has one of each.
    pub(super) fn representatives(&self) -> Vec<Vec<usize>> {
        let row = |axis: usize| (0..self.axes[axis].0).map(|place| place * self.stride(axis)).collect();
        match self.order {
            Order::ByAxis => (0..self.axes.len()).map(row).collect(),
            Order::Diagonals if self.is_regular => self.axes.len().checked_sub(1).map(row).into_iter().collect(),
            Order::Diagonals => vec![(0..self.ranks()).collect()],
        }
    }

    /// Returns the node that stands for a node in its set.
    pub(super) fn representative(&self, node: usize) -> usize {
        match self.axes.first() {
            Some((side, _)) if self.is_regular => self.coordinates(node).iter().sum::<usize>() % side,
            _ => node,
        }
    }

    /// Returns the row of a leg through a node.
    fn row(&self, leg: &Leg, coordinates: &[usize]) -> Row {
        let others = match self.order {
            Order::ByAxis => 0,
            Order::Diagonals => coordinates.iter().sum::<usize>() - coordinates[leg.axis],
        };
        self.row_along(leg.axis, leg.heads, others)
    }

    /// Returns the row along an axis that begins with a number of bridgeheads, from the sum of the
    /// coordinates along the others.
    fn row_along(&self, axis: usize, heads: usize, others: usize) -> Row {
        let (nodes, ring) = self.axes[axis];
        let apart = nodes / heads;
        let (first, equal) = match self.order {
            Order::ByAxis => ((apart - 1) / 2, false),
            Order::Diagonals => (diagonal::place(apart, others), true),
        };
        // Two nodes are next to each other on both sides.
        Row { nodes, ring: ring || self.one_port, first, equal, one_port: self.one_port }
    }

    /// Returns rows that stand for all along an axis.
    fn rows(&self, axis: usize, heads: usize) -> impl Iterator<Item = Row> {
        let (nodes, _) = self.axes[axis];
        let different = match self.order {
            Order::ByAxis => 1,
            Order::Diagonals if self.is_regular => 1,
            Order::Diagonals => nodes / heads,
        };
        (0..different).map(move |others| self.row_along(axis, heads, others))
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

    /// Returns the leg of a colour in a round, and its step.
    fn at(&self, colour: usize, round: usize) -> Option<(&Leg, usize)> {
        let leg = self.colours[colour].iter().find(|leg| leg.rounds.contains(&round))?;
        Some((leg, round - leg.rounds.start))
    }

    /// Returns the nodes of which a message carries blocks, in an order on which all nodes of its
    /// row agree. In a regular gossip the order is the same seen from nodes that are alike.
    fn nodes(&self, leg: &Leg, row: Row, sender: &[usize], load: Load) -> Product {
        let first = if self.is_regular {
            let others = sender.iter().sum::<usize>() - sender[leg.axis];
            diagonal::place(row.nodes, others)
        } else {
            0
        };
        let along = |(axis, along): (usize, &Along)| {
            let (extent, _) = self.axes[axis];
            let mut place = sender[axis];
            if axis == leg.axis {
                match load {
                    Load::Nodes { from, count } => return Places { from, apart: 1, count },
                    Load::Head(head) => place = head,
                    Load::Part { .. } => {}
                }
            }
            match *along {
                Along::All => Places { from: first, apart: 1, count: extent },
                Along::Every(apart) if extent.is_multiple_of(apart) => {
                    Places { from: place, apart, count: extent / apart }
                }
                Along::Every(apart) => {
                    let from = place % apart;
                    Places { from, apart, count: (extent - from).div_ceil(apart) }
                }
                Along::Arc(heads) => {
                    let (below, above) = row.arc(place, heads);
                    Places { from: (place + extent - below) % extent, apart: 1, count: below + 1 + above }
                }
            }
        };
        leg.has.iter().enumerate().map(along).collect()
    }

    fn transfer(&self, colour: usize, leg: &Leg, row: Row, from: &[usize], message: Message) -> Option<Transfer> {
        let nodes = self.nodes(leg, row, from, message.load);
        let all: usize = nodes.iter().map(|places| places.count).product();
        let (part, without) = match message.load {
            Load::Part { index, of } => {
                let mut to: SmallVec<[usize; 4]> = from.into();
                to[leg.axis] = message.to;
                (index * all / of..(index + 1) * all / of, self.collected(leg, row, &to, &nodes))
            }
            Load::Head(_) | Load::Nodes { .. } => (0..all, Product::new()),
        };
        let peer = self.node(from) + message.to * self.stride(leg.axis) - from[leg.axis] * self.stride(leg.axis);
        let transfer = Transfer { peer, distance: message.distance, colour, nodes, part, without };
        (transfer.count() > 0).then_some(transfer)
    }

    fn stride(&self, axis: usize) -> usize {
        self.axes[axis + 1..].iter().map(|(extent, _)| extent).product()
    }

    /// Returns those of these nodes whose blocks a node already holds from the concentration.
    fn collected(&self, leg: &Leg, row: Row, node: &[usize], nodes: &Product) -> Product {
        let (from, count) = row.collected(node[leg.axis], leg.heads);
        let along = |(axis, places): (usize, &Places)| {
            let after = |place: usize| (place + self.axes[axis].0 - places.from) % self.axes[axis].0 / places.apart;
            match self.order {
                _ if axis == leg.axis => Places { from: after(from), apart: 1, count },
                Order::ByAxis => Places { from: 0, ..*places },
                Order::Diagonals => Places::one(after(node[axis])),
            }
        };
        nodes.iter().enumerate().map(along).collect()
    }

    /// Returns what the first phase, the second and the others take, about, with sizes in chunks,
    /// without visiting the nodes. It takes no account of the blocks that a receiver has already.
    pub(super) fn estimate(&self) -> [Estimate; PHASES] {
        let runs = |leg| self.runs(leg);
        let colours: Vec<Vec<Run>> = self.colours.iter().map(|legs| legs.iter().flat_map(runs).collect()).collect();
        let [second, third] = self.phases;
        [0..second, second..third, third..self.rounds].map(|rounds| Estimate::of(&colours, rounds, false))
    }

    fn runs(&self, leg: &Leg) -> SmallVec<[Run; 8]> {
        let row = self.rows(leg.axis, leg.heads).next();
        row.map_or_else(SmallVec::new, |row| row.runs(leg.stage, leg.rounds.clone(), |step| self.size(leg, step)))
    }

    /// Returns the size of the messages of a leg, in chunks, about.
    fn size(&self, leg: &Leg, step: usize) -> usize {
        let arc = |(extent, ring): (usize, bool), heads: usize| match self.order {
            Order::ByAxis => extent.div_ceil(heads),
            // What is left over is shared by the last arc and the first.
            Order::Diagonals if ring => extent / heads + (extent % (extent / heads)).div_ceil(2),
            Order::Diagonals => extent / heads,
        };
        let along = |(has, axis): (&Along, &(usize, bool))| match *has {
            Along::All => axis.0,
            Along::Every(apart) => axis.0.div_ceil(apart),
            Along::Arc(heads) => arc(*axis, heads),
        };
        let held = leg.has.iter().zip(&self.axes).map(along).product::<usize>();
        match leg.stage {
            Stage::Concentrate { heads } => held * arc(self.axes[leg.axis], heads).min(3_usize.pow(step as u32)),
            Stage::Circulate { .. } => held,
            Stage::Spread { .. } => held.div_ceil(leg.parts),
        }
    }

    /// Returns the messages that a node sends in a round.
    pub(super) fn sends(&self, node: usize, round: usize) -> Vec<Transfer> {
        let from = self.coordinates(node);
        let sends = (0..self.colours.len()).flat_map(|colour| {
            let found = self.at(colour, round);
            let from = &from;
            found.into_iter().flat_map(move |(leg, step)| {
                let row = self.row(leg, from);
                row::Heading::BOTH.into_iter().filter_map(move |way| {
                    let message = row.send(leg.stage, step, from[leg.axis], way)?;
                    self.transfer(colour, leg, row, from, message)
                })
            })
        });
        sends.collect()
    }

    /// Returns the messages that a node receives in a round. The peers are the senders.
    fn receives(&self, node: usize, round: usize) -> Vec<Transfer> {
        let to = self.coordinates(node);
        let mut all = vec![];
        for colour in 0..self.colours.len() {
            let Some((leg, step)) = self.at(colour, round) else { continue };
            let row = self.row(leg, &to);
            for way in row::Heading::BOTH {
                for place in row.senders(leg.stage, step, to[leg.axis], way) {
                    let Some(message) = row.send(leg.stage, step, place, way) else { continue };
                    if message.to == to[leg.axis] {
                        let mut from = to.clone();
                        from[leg.axis] = place;
                        let transfer = self.transfer(colour, leg, row, &from, message);
                        all.extend(transfer.map(|transfer| Transfer { peer: self.node(&from), ..transfer }));
                    }
                }
            }
        }
        all
    }

    /// Returns the chunks that a transfer carries.
    fn blocks(&self, transfer: &Transfer, course: Course) -> Vec<Block> {
        let ranks = self.ranks();
        let (of, colour) = (self.colours.len() as u32, transfer.colour as u32);
        let block = |at: usize| {
            let (mut rest, mut stride, mut node, mut left_out) = (at, 1, 0, !transfer.without.is_empty());
            for (axis, places) in transfer.nodes.iter().enumerate().rev() {
                let (index, extent) = (rest % places.count, self.axes[axis].0);
                left_out &= transfer.without.get(axis).is_some_and(|without| without.has(index, places.count));
                node += (places.from + index * places.apart) % extent * stride;
                (rest, stride) = (rest / places.count, stride * extent);
            }
            course.chunk(Rank::new(node), ranks, colour, of).filter(|_| !left_out)
        };
        transfer.part.clone().filter_map(block).collect()
    }

    /// Returns the messages that a node sends and those that it receives.
    fn transfers(&self, node: usize, (round, reverse): (usize, bool)) -> [Vec<Transfer>; 2] {
        let [sends, receives] = [self.sends(node, round), self.receives(node, round)];
        if reverse { [receives, sends] } else { [sends, receives] }
    }

    /// Returns the rounds of a rank.
    pub(in crate::algorithm) fn share(self, rank: Rank, course: Course) -> Share {
        Box::new(course.rounds(self.rounds).map(move |round| {
            let end = |transfer: &Transfer, sends: bool| {
                let peer = Rank::new(transfer.peer);
                let (sender, receiver) = if sends { (rank, peer) } else { (peer, rank) };
                let combine = Course::combine(round.1, sender, receiver);
                End::new(peer, self.blocks(transfer, course)).combined(combine)
            };
            let [sends, receives] = self.transfers(rank.index(), round);
            let ends = |all: Vec<Transfer>, sends| all.iter().map(|transfer| end(transfer, sends)).collect();
            RankRound::new(ends(sends, true), ends(receives, false))
        }))
    }

    /// Returns the size of a chunk.
    pub(super) fn chunk(&self, course: Course) -> Volume {
        course.size(self.ranks(), self.colours.len().max(1))
    }

    /// Returns the rounds of a rank by message sizes.
    pub(in crate::algorithm) fn amounts(self, rank: Rank, course: Course) -> Amounts {
        let chunk = self.chunk(course);
        Box::new(course.rounds(self.rounds).map(move |round| {
            let [sends, receives] = self.transfers(rank.index(), round);
            let size = |transfer: &Transfer| chunk * transfer.count() as u64;
            let amounts = sends.iter().map(|transfer| Amount::new(Rank::new(transfer.peer), size(transfer))).collect();
            let combined = if round.1 { receives.iter().map(size).sum() } else { Volume::ZERO };
            RankAmounts::new(amounts, receives.len()).combining(combined)
        }))
    }
}
