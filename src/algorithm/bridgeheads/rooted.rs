//! A broadcast from the root and a gather to it, along one axis after the other, and the same in
//! reverse: a reduction and a scatter.
//!
//! The root is the only bridgehead of its row. `src/algorithm/broadcast/bridgeheads.rs` and
//! `src/algorithm/gather/bridgeheads.rs` say what they do and take.

use std::cmp::Ordering;
use std::ops::Range;

use smallvec::SmallVec;

use super::axis::AxisCounts;
use super::choice::{self, Choice, at_most, row_axes};
use super::estimate::{Estimate, Run};
use super::row::{self, Row, Stage};
use super::streams::{self, Cargo, Stream};
use crate::algorithm::About;
use crate::algorithm::course::Course;
use crate::block::{Block, Volume, gcd};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Share};

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

    pub(super) fn is_reversed(self) -> bool {
        matches!(self, Self::Reduce | Self::Scatter)
    }

    /// Returns the description of the algorithm of this collective.
    pub(in crate::algorithm) const fn about(self, summary: &'static str, ports: Ports) -> About {
        let (collective, claims) = match self {
            Self::Broadcast => ("broadcast", SPREAD),
            Self::Reduce => ("reduce", SPREAD),
            Self::Gather => ("gather", CONCENTRATED),
            Self::Scatter => ("scatter", CONCENTRATED),
        };
        let source = match self {
            Self::Broadcast | Self::Reduce => "after Juurlink, Sibeyn & Rao 1998, section 4.2",
            Self::Gather | Self::Scatter => "after Juurlink, Sibeyn & Rao 1998, section 4.1",
        };
        let needs = match self {
            Self::Reduce => {
                "a ring, a line or a product of them, with rank i on node i, and an operation that commutes"
            }
            Self::Broadcast | Self::Gather | Self::Scatter => {
                "a ring, a line or a product of them, with rank i on node i"
            }
        };
        About::new(collective, "bridgeheads", ports).summary(summary).source(source).needs(needs).claims(claims)
    }

    /// Returns what a problem lacks for a choice of parameters.
    pub(in crate::algorithm) fn lacks(self, problem: &Problem, choice: Choice) -> Option<String> {
        let order = if self == Self::Reduce { Course::Up.lacks_order(problem) } else { None };
        let is_many = choice.b > MAX_STEPS;
        let many = || format!("b={}: it needs at most {MAX_STEPS}", choice.b);
        order.or_else(|| choice.lacks_but_steps(problem, choice::Order::ByAxis)).or_else(|| is_many.then(many))
    }
}

/// The claims of a broadcast and a reduction.
const SPREAD: &str = "about b log_a n start-ups along each ring and b log_a n / (2 b - a + 2) blocks, divided by the colours; more along lines; contention-free";

/// The claims of a gather and a scatter.
const CONCENTRATED: &str = "ceil(log_3 n) start-ups along each ring, up to ceil(log_3 (2 n - 1)) along each line, in each phase those of the longest; contention-free";

/// The most steps of a round. The numbers of parts in which rounds cut the block are up to 2 b + 2 and
/// differ by at most one, so their common multiple for twelve colours has 32 bits.
pub(super) const MAX_STEPS: usize = 1 << 13;

/// What messages carry, of the part of their colour.
#[derive(Clone, Debug)]
enum Content {
    /// Parts of the block, of which each takes one message: in order, or in reverse order.
    Parts { of: usize, reverse: bool },
    /// The blocks of nodes: by axis, the first place, and the number of places from there.
    Nodes(SmallVec<[(usize, usize); 4]>),
}

/// Messages to a node, or from one, in consecutive rounds.
#[derive(Clone, Debug)]
struct Flow {
    peer: usize,
    colour: usize,
    rounds: Range<usize>,
    content: Content,
}

/// An axis, and the stages along it.
#[derive(Clone, Debug)]
struct Axis {
    row: Row,
    stages: Vec<Stage>,
    /// The step in which each stage begins, and the number of steps.
    begins: Vec<usize>,
    steps: usize,
}

/// The rounds of a collective with a root.
#[derive(Clone, Debug)]
pub(in crate::algorithm) struct RootedPlan {
    call: Rooted,
    axes: Vec<Axis>,
    /// The round in which each phase begins.
    phases: Vec<usize>,
    rounds: usize,
    colours: usize,
    /// The units in the part of a colour, which the parts of all stages divide.
    units: usize,
}

impl RootedPlan {
    /// Returns the plan for a problem that [lacks](Rooted::lacks) nothing.
    pub(in crate::algorithm) fn new(problem: &Problem, call: Rooted, choice: Choice) -> Self {
        let root = problem.collective().root().unwrap_or_default().index();
        Self::of(&row_axes(problem).unwrap_or_default(), root, call, choice)
    }

    /// Returns the plan for these extents, and whether they are rings.
    pub(super) fn of(extents: &[(usize, bool)], mut root: usize, call: Rooted, choice: Choice) -> Self {
        let mut axes: Vec<Axis> = extents
            .iter()
            .rev()
            .map(|&(nodes, ring)| {
                let first = root % nodes;
                root /= nodes;
                Axis::new(nodes, ring, first, call, choice)
            })
            .collect();
        axes.reverse();
        let colours = choice.colours(axes.len());
        let units = axes.iter().flat_map(Axis::parts).fold(1, |all, parts| all / gcd(all, parts) * parts);
        let mut plan = Self { call, axes, phases: vec![], rounds: 0, colours, units };
        for phase in 0..plan.axes.len() {
            plan.phases.push(plan.rounds);
            plan.rounds += plan.in_phase(phase).map(|axis| axis.steps).max().unwrap_or(0);
        }
        plan
    }

    /// Returns the axes that colours go through in a phase.
    fn in_phase(&self, phase: usize) -> impl Iterator<Item = &Axis> {
        (0..self.colours).map(move |colour| &self.axes[self.axis(phase, colour)])
    }

    /// Returns what a broadcast takes, about, with sizes in 2^20ths of the part of a colour.
    pub(super) fn estimate(&self) -> Estimate {
        let phases = (0..self.axes.len()).map(|phase| {
            let colours: Vec<Vec<Run>> = self.in_phase(phase).map(Axis::runs).collect();
            let rounds = self.in_phase(phase).map(|axis| axis.steps).max().unwrap_or(0);
            // Only in the last phase do rows that all colours go through meet away from the root.
            Estimate::of(&colours, 0..rounds, phase + 1 < self.axes.len())
        });
        phases.reduce(Estimate::with).unwrap_or_default()
    }

    /// Returns the number of axes.
    pub(super) fn axes(&self) -> usize {
        self.axes.len()
    }

    pub(super) fn colours(&self) -> usize {
        self.colours
    }

    pub(super) fn extent(&self, axis: usize) -> usize {
        self.axes[axis].row.nodes
    }

    /// Returns the counts of a row along an axis.
    pub(super) fn counts(&self, axis: usize) -> AxisCounts {
        let Axis { row, stages, .. } = &self.axes[axis];
        AxisCounts::of(*row, stages, self.units)
    }

    /// Returns the axis that a colour goes through in a phase.
    pub(super) fn axis(&self, phase: usize, colour: usize) -> usize {
        (phase + colour) % self.axes.len()
    }

    /// Returns the phase in which a colour goes through an axis.
    fn phase(&self, axis: usize, colour: usize) -> usize {
        let count = self.axes.len();
        (axis + count - colour) % count
    }

    /// Returns the axes that a colour has reached in a phase: the rows of nodes that are not in line
    /// with the root in other axes do not take part. A broadcast has not got to them yet, or a gather
    /// has taken the blocks out of them.
    pub(super) fn reached(&self, phase: usize, colour: usize) -> impl Iterator<Item = usize> {
        (0..self.axes.len()).filter(move |&axis| {
            let other = self.phase(axis, colour);
            if self.call.is_spread() { other <= phase } else { other >= phase }
        })
    }

    /// Returns the number of blocks that each node of a row has collected for a colour before a
    /// phase.
    pub(super) fn blocks_of_node(&self, phase: usize, colour: usize) -> usize {
        let before = (0..phase).map(|phase| self.extent(self.axis(phase, colour)));
        if self.call.is_spread() { 1 } else { before.product() }
    }

    fn coordinates(&self, mut node: usize) -> SmallVec<[usize; 4]> {
        let mut coordinates = SmallVec::from_elem(0, self.axes.len());
        for (at, axis) in coordinates.iter_mut().zip(&self.axes).rev() {
            *at = node % axis.row.nodes;
            node /= axis.row.nodes;
        }
        coordinates
    }

    fn node(&self, coordinates: impl IntoIterator<Item = usize>) -> usize {
        coordinates.into_iter().zip(&self.axes).fold(0, |node, (at, axis)| node * axis.row.nodes + at)
    }

    fn root(&self) -> Rank {
        Rank::new(self.node(self.axes.iter().map(|axis| axis.row.first)))
    }

    /// Returns what a node sends and what it receives.
    fn flows(&self, node: usize) -> [Vec<Flow>; 2] {
        let at = self.coordinates(node);
        let mut flows = [vec![], vec![]];
        for (phase, colour) in
            (0..self.axes.len()).flat_map(|phase| (0..self.colours).map(move |colour| (phase, colour)))
        {
            let apart = |&axis: &usize| at[axis] != self.axes[axis].row.first;
            if self.reached(phase, colour).filter(apart).count() < (0..self.axes.len()).filter(apart).count() {
                continue;
            }
            let axis = self.axis(phase, colour);
            let Axis { row, stages, begins, .. } = &self.axes[axis];
            for (&stage, begin) in stages.iter().zip(begins) {
                let begin = begin + self.phases[phase];
                let flow = |place: usize, stream: Stream| {
                    let mut peer = at.clone();
                    peer[axis] = place;
                    Flow {
                        peer: self.node(peer),
                        colour,
                        rounds: begin + stream.steps.start..begin + stream.steps.end,
                        content: self.content(phase, colour, &at, stream.cargo),
                    }
                };
                let [sends, receives] = [streams::sent, streams::received].map(|all| all(*row, stage, at[axis]));
                flows[0].extend(sends.into_iter().map(|stream| flow(stream.to, stream)));
                flows[1].extend(receives.into_iter().map(|stream| flow(stream.from, stream)));
            }
        }
        if self.call.is_reversed() {
            flows.reverse();
        }
        flows
    }

    /// Returns what messages carry along the row of a node in a phase.
    fn content(&self, phase: usize, colour: usize, at: &[usize], cargo: Cargo) -> Content {
        match cargo {
            Cargo::Parts { of, reverse } => Content::Parts { of, reverse },
            Cargo::Nodes { from, count } => Content::Nodes(
                (0..self.axes.len())
                    .map(|axis| match self.phase(axis, colour).cmp(&phase) {
                        Ordering::Less => (0, self.extent(axis)),
                        Ordering::Equal => (from, count),
                        Ordering::Greater => (at[axis], 1),
                    })
                    .collect(),
            ),
        }
    }

    /// Returns the size of the messages of a flow, in units or in parts of blocks.
    fn size(&self, flow: &Flow) -> usize {
        match &flow.content {
            Content::Parts { of, .. } => self.units / of,
            Content::Nodes(places) => places.iter().map(|(_, count)| count).product(),
        }
    }

    /// Returns the blocks of the message of a flow in a round, or their parts.
    fn blocks(&self, flow: &Flow, round: usize) -> Vec<Block> {
        let (of, colour, root) = (self.colours, flow.colour, self.root());
        match &flow.content {
            Content::Parts { of: parts, reverse } => {
                let block = if self.call == Rooted::Reduce { Block::result(root) } else { Block::from(root) };
                let number = round - flow.rounds.start;
                let part = if *reverse { parts - 1 - number } else { number };
                let size = self.units / parts;
                let first = colour * self.units + part * size;
                block.chunks(first as u32, (of * self.units) as u32, size as u32).into_iter().collect()
            }
            Content::Nodes(places) => {
                let block = |mut at: usize| {
                    let (mut stride, mut node) = (1, 0);
                    for (&(first, count), axis) in places.iter().zip(&self.axes).rev() {
                        let extent = axis.row.nodes;
                        node += (first + at % count) % extent * stride;
                        (at, stride) = (at / count, stride * extent);
                    }
                    let rank = Rank::new(node);
                    let block =
                        if self.call == Rooted::Scatter { Block::new(root, rank) } else { Block::new(rank, root) };
                    block.chunks(colour as u32, of as u32, 1)
                };
                (0..self.size(flow)).filter_map(block).collect()
            }
        }
    }

    /// Returns the numbers of the rounds in order.
    fn order(&self) -> impl Iterator<Item = usize> + Send + use<> {
        let (rounds, reversed) = (self.rounds, self.call.is_reversed());
        (0..rounds).map(move |round| if reversed { rounds - 1 - round } else { round })
    }

    /// Returns the rounds of a rank.
    pub(in crate::algorithm) fn share(self, rank: Rank) -> Share {
        let [sends, receives] = self.flows(rank.index());
        Box::new(self.order().map(move |round| {
            let end = |flow: &Flow, sends: bool| {
                let peer = Rank::new(flow.peer);
                let (sender, receiver) = if sends { (rank, peer) } else { (peer, rank) };
                let combine = Course::combine(self.call == Rooted::Reduce, sender, receiver);
                End::new(peer, self.blocks(flow, round)).combined(combine)
            };
            let ends = |flows: &[Flow], sends| {
                let in_round = flows.iter().filter(|flow| flow.rounds.contains(&round));
                in_round.map(|flow| end(flow, sends)).collect()
            };
            RankRound::new(ends(&sends, true), ends(&receives, false))
        }))
    }

    /// Returns the rounds of a rank by message sizes.
    pub(in crate::algorithm) fn amounts(self, rank: Rank) -> Amounts {
        let chunk = self.chunk();
        let sized = |flow: Flow| (chunk * self.size(&flow) as u64, flow);
        let [sends, receives] = self.flows(rank.index()).map(|flows| flows.into_iter().map(sized).collect::<Vec<_>>());
        let combines = self.call == Rooted::Reduce;
        Box::new(self.order().map(move |round| {
            let in_round = |(_, flow): &&(Volume, Flow)| flow.rounds.contains(&round);
            let amount = |(size, flow): &(Volume, Flow)| Amount::new(Rank::new(flow.peer), *size);
            let (mut count, mut combined) = (0, Volume::ZERO);
            for (size, _) in receives.iter().filter(in_round) {
                count += 1;
                combined = if combines { combined + *size } else { combined };
            }
            RankAmounts::new(sends.iter().filter(in_round).map(amount).collect(), count).combining(combined)
        }))
    }

    /// Returns the size of a unit, or of a part of a block.
    pub(super) fn chunk(&self) -> Volume {
        let units = if self.call.is_spread() { self.units } else { 1 };
        Volume::new(1, (self.colours.max(1) * units) as u64)
    }
}

impl Axis {
    /// Returns the rows along an axis, whose first bridgehead is in line with the root. In a row of
    /// two nodes all goes one way.
    fn new(nodes: usize, ring: bool, first: usize, call: Rooted, choice: Choice) -> Self {
        let one_port = choice.is_one_port() || nodes == 2;
        let row = Row { nodes, ring: ring || one_port, first, equal: false, one_port };
        let stages =
            if call.is_spread() { spreads(nodes, ring, choice) } else { vec![Stage::Concentrate { heads: 1 }] };
        let mut steps = 0;
        let begin = |&stage: &Stage| {
            let begin = steps;
            steps += row.steps(stage);
            begin
        };
        let begins = stages.iter().map(begin).collect();
        Self { row, stages, begins, steps }
    }

    /// Returns the numbers of parts in which the stages cut the block.
    fn parts(&self) -> impl Iterator<Item = usize> {
        self.stages.iter().filter_map(|&stage| self.row.parts_of(stage))
    }

    /// Returns the runs of a broadcast, with sizes in 2^20ths of the part of a colour.
    fn runs(&self) -> Vec<Run> {
        let of = |(&stage, &begin): (&Stage, &usize)| {
            let size = (1 << 20) / self.row.parts_of(stage).unwrap_or(1);
            self.row.runs(stage, begin..begin + self.row.steps(stage), |_| size)
        };
        self.stages.iter().zip(&self.begins).flat_map(of).collect()
    }
}

/// Returns the stages of a broadcast along a row.
fn spreads(nodes: usize, ring: bool, choice: Choice) -> Vec<Stage> {
    let choice = if choice.a == 0 { choice.with(3, 0) } else { choice };
    let (mut heads, mut stages) = (1, vec![]);
    while heads < nodes {
        let more = heads * choice.factor();
        // To one other node on a ring, routes in both directions could be the same.
        let more = if more == 2 && ring && !choice.is_one_port() { 3 } else { more };
        let next = at_most(more, nodes);
        let steps = choice.steps(row::factor(heads, next, nodes));
        stages.push(Stage::Spread { heads, next, steps });
        heads = next;
    }
    stages
}
