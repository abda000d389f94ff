//! Gossiping after squares of two by two have gossiped: black nodes send along the rows while white
//! ones send along the columns.
//!
//! Source: Juurlink, Sibeyn & Rao (1998), section 7.2, the fifth algorithm.
//!
//! # Idea
//!
//! Nodes whose coordinates have a sum of the same parity have the same colour. Each square of two by
//! two gossips in one exchange along each axis. Of its nodes, one is then enough to stand for it, so
//! each node passes what its square has to those at even distances from itself alone. Around the
//! rings of these, half as many nodes take half the start-ups. Every row has two such rings, on
//! the same channels, one of black nodes and one of white nodes. These go along different axes at
//! any time.
//!
//! In d dimensions, there are cubes of 2^d nodes and, in place of the colours, the number of odd
//! coordinates. In phase p, nodes with k of these go along axis (p + k) mod d. Neighbours differ by
//! one in k, so the two rings of a row are never in use at the same time.

use crate::algorithm::bridgeheads::{TWICE, row_axes};
use crate::algorithm::counts::{Counts, Most, Pair};
use crate::algorithm::course::Course;
use crate::algorithm::rows::RingAxis;
use crate::algorithm::{About, Claims};
use crate::block::Block;
use crate::ids::Rank;
use crate::topology::Factor;
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Share};

/// The properties of a problem that the algorithm needs.
const NEEDS: &str = "a product of two or more rings or lines of even extents, not all 2 and together at most 4096, with rank i on node i";

/// The most that the extents add up to: claims are counted round by round.
const MOST: usize = 1 << 12;

/// What the algorithm claims, and twice in an allreduce.
const CLAIMS: &str = "d times half the largest extent in start-ups, for d dimensions; N - 1 blocks if all extents are equal, else less than d times as many; contention-free";

/// Returns the description of the algorithm for a collective.
pub(super) const fn about(collective: &'static str, course: Course, summary: &'static str) -> About {
    let about = About::new(collective, "black-white", Ports::One).summary(summary);
    let about = about.source("Juurlink, Sibeyn & Rao 1998, section 7.2");
    let claims = if matches!(course, Course::UpAndDown) { TWICE } else { CLAIMS };
    about.needs(if matches!(course, Course::Down) { NEEDS } else { NEEDS_TO_COMBINE }).claims(claims)
}

const NEEDS_TO_COMBINE: &str = "a product of two or more rings or lines of even extents, not all 2 and together at most 4096, with rank i on node i; an operation that commutes";

/// Returns what a problem lacks.
pub(super) fn lacks(problem: &Problem, course: Course) -> Option<String> {
    let axes = row_axes(problem).unwrap_or_default();
    let is_small = axes.iter().map(|(extent, _)| extent).sum::<usize>() <= MOST;
    let fits = is_small
        && axes.len() > 1
        && axes.iter().all(|(extent, _)| extent.is_multiple_of(2))
        && axes.iter().any(|(extent, _)| *extent > 2);
    let instead = match axes.len() {
        1 if is_small => "; use circgos",
        2.. if is_small => "; use high-dim-gos",
        _ => "",
    };
    let needs = || format!("it needs {NEEDS}; this is {}{instead}", problem.topology().text());
    course.lacks_order(problem).or_else(|| (!fits).then(needs))
}

/// One axis of the network.
#[derive(Clone, Copy, Debug)]
struct Line {
    extent: usize,
    stride: usize,
    /// Along the nodes at even distances.
    half: RingAxis,
}

/// A message along an axis.
#[derive(Clone, Copy, Debug)]
struct Message {
    to: usize,
    /// A node with the coordinates of the blocks that it carries.
    of: usize,
    axis: usize,
}

/// A gossip. Rounds that no node takes part in do not occur.
#[derive(Clone, Debug)]
pub(super) struct Gossip {
    lines: Vec<Line>,
    /// The number of rounds of a phase.
    phase: usize,
}

impl Gossip {
    /// Returns the gossip for a problem that [lacks](lacks) nothing.
    pub(super) fn new(problem: &Problem) -> Self {
        let axes = row_axes(problem).unwrap_or_default();
        let mut stride = axes.iter().map(|(extent, _)| extent).product::<usize>();
        let line = |&(extent, ring): &(usize, bool)| {
            stride /= extent;
            let row = if ring { Factor::Ring(extent / 2) } else { Factor::Line(extent / 2) };
            Line { extent, stride, half: RingAxis { row, stride: 2 * stride } }
        };
        let lines: Vec<Line> = axes.iter().map(line).collect();
        let longest = lines.iter().map(|line| line.half.rounds()).max().unwrap_or(0);
        Self { lines, phase: longest as usize }
    }

    fn ranks(&self) -> usize {
        self.lines.iter().map(|line| line.extent).product()
    }

    fn rounds(&self) -> usize {
        self.lines.len() * (1 + self.phase)
    }

    fn coordinate(&self, node: usize, axis: usize) -> usize {
        node / self.lines[axis].stride % self.lines[axis].extent
    }

    /// Returns the number of odd coordinates of a node.
    fn odd(&self, node: usize) -> usize {
        (0..self.lines.len()).filter(|&axis| self.coordinate(node, axis) % 2 == 1).count()
    }

    /// Returns the phase and the round in it of a round after the squares.
    fn phase(&self, round: usize) -> Option<(usize, usize)> {
        let round = round.checked_sub(self.lines.len())?;
        Some((round / self.phase, round % self.phase))
    }

    /// Returns the axis along which nodes with this number of odd coordinates go in a round.
    fn axis(&self, odd: usize, round: usize) -> Option<usize> {
        let Some((phase, step)) = self.phase(round) else { return Some(round) };
        let axis = (phase + odd) % self.lines.len();
        (step < self.lines[axis].half.rounds() as usize).then_some(axis)
    }

    /// Returns what a node sends in a round, and the node from which it receives the like.
    fn message(&self, node: usize, round: usize) -> Option<(Message, usize)> {
        let axis = self.axis(self.odd(node), round)?;
        let Line { stride, half, .. } = self.lines[axis];
        let Some((_, step)) = self.phase(round) else {
            let even = self.coordinate(node, axis).is_multiple_of(2);
            let peer = if even { node + stride } else { node - stride };
            return Some((Message { to: peer, of: node, axis }, peer));
        };
        let at = |place: usize| half.at(node, place).index();
        let (place, extent) = (half.place(node), half.extent());
        let message = Message { to: at(place + 1), of: at(place + extent - step), axis };
        Some((message, at(place + extent - 1)))
    }

    /// Returns the numbers of coordinates along each axis of the blocks of a message along `along`
    /// from a node with this number of odd coordinates: its own, the two of its square, or all.
    fn widths(&self, odd: usize, round: usize, along: usize) -> impl Iterator<Item = usize> {
        let (axes, phase) = (self.lines.len(), self.phase(round));
        self.lines.iter().enumerate().map(move |(axis, line)| match phase {
            None if axis < along => 2,
            None => 1,
            // The phase in which it goes along this axis.
            Some((phase, _)) if (axis + axes - odd % axes) % axes < phase => line.extent,
            Some(_) => 2,
        })
    }

    fn count(&self, odd: usize, round: usize, axis: usize) -> usize {
        self.widths(odd, round, axis).product()
    }

    /// Returns the ranks whose blocks a message from a node carries.
    fn sources(&self, from: usize, round: usize, message: Message) -> Vec<usize> {
        let widths = self.widths(self.odd(from), round, message.axis);
        self.lines.iter().zip(widths).enumerate().fold(vec![0], |nodes, (axis, (line, width))| {
            let first = self.coordinate(message.of, axis) / width * width;
            let along = |node: usize| (first..first + width).map(move |coordinate| node + coordinate * line.stride);
            nodes.into_iter().flat_map(along).collect()
        })
    }

    /// Returns the message that a node sends and that which it receives, each with its sender.
    fn both(&self, node: usize, round: usize) -> Option<[(usize, Message); 2]> {
        let (sent, from) = self.message(node, round)?;
        let (received, _) = self.message(from, round)?;
        Some([(node, sent), (from, received)])
    }

    /// Returns the rounds of a rank.
    pub(super) fn share(self, rank: Rank, course: Course) -> Share {
        let ranks = self.ranks();
        Box::new(course.rounds(self.rounds()).map(move |(round, reverse)| {
            let end = |(from, message): (usize, Message)| {
                let peer = if from == rank.index() { message.to } else { from };
                let (sender, receiver) = if reverse { (message.to, from) } else { (from, message.to) };
                let sources = self.sources(from, round, message).into_iter();
                let blocks: Vec<Block> =
                    sources.filter_map(|source| course.chunk(Rank::new(source), ranks, 0, 1)).collect();
                let combine = Course::combine(reverse, Rank::new(sender), Rank::new(receiver));
                vec![End::new(Rank::new(peer), blocks).combined(combine)]
            };
            let Some([sent, received]) = self.both(rank.index(), round) else { return RankRound::default() };
            let (sends, receives) = if reverse { (received, sent) } else { (sent, received) };
            RankRound::new(end(sends), end(receives))
        }))
    }

    /// Returns the rounds of a rank by message sizes.
    pub(super) fn amounts(self, rank: Rank, course: Course) -> Amounts {
        let (chunk, odd) = (course.size(self.ranks(), 1), self.odd(rank.index()));
        Box::new(course.rounds(self.rounds()).map(move |(round, reverse)| {
            let Some((message, from)) = self.message(rank.index(), round) else { return RankAmounts::default() };
            // Nodes of a ring send alike.
            let size = chunk * self.count(odd, round, message.axis) as u64;
            let peer = if reverse { from } else { message.to };
            let amounts = RankAmounts::new(vec![Amount::new(Rank::new(peer), size)], 1);
            if reverse { amounts.combining(size) } else { amounts }
        }))
    }

    /// Returns the claims.
    pub(super) fn claims(&self, course: Course) -> Claims {
        let (mut counts, ranks) = (Counts::default(), self.ranks());
        for round in 0..self.rounds() {
            let mut most = Most::default();
            for odd in 0..self.lines.len() {
                let Some(axis) = self.axis(odd, round) else { continue };
                let chunks = self.count(odd, round, axis) as u64;
                let hops = if self.phase(round).is_some() { 2 * self.lines[axis].half.longest() } else { 1 };
                let pair = Pair { messages: 1, chunks };
                most = Most { sent: most.sent.most(pair), received: most.received.most(pair), ..most };
                most = most.with(chunks, hops);
            }
            counts.add(1, most);
        }
        let messages = self.lines.iter().map(|line| 1 + line.half.rounds()).sum();
        let one = Pair { messages, chunks: ranks as u64 - 1 };
        counts.with_busiest([one.plus(one), one, one]).claims(course.size(ranks, 1), course)
    }
}
