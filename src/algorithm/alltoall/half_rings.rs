//! Alltoall on a torus over all channels at once: every dimension in both directions, by one part of
//! each block.
//!
//! Source: own work. Needs: a ring or torus, a rank on every node; extents of 1 do not count. Model:
//! all-port, store-and-forward.
//!
//! With n dimensions, the longest K, r = floor(K/2), N nodes:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | n r |
//! | blocks over a channel | N floor(K^2/4) / 2K; N/2 if K = 2; N/2K more if K > 2 and another extent is 2 |
//! | hops | n r |
//! | messages a rank | n times the sum of 2 floor(k/2) over the extents k, of 1 if k = 2 |
//! | blocks a rank sends | N times the sum of floor(k^2/4)/k over the extents k |
//! | rearrangements | n - 1 |
//!
//! With equal extents, no schedule of messages between neighbours takes less: the start-ups are the
//! diameter, each block takes a shortest way, and all channels carry the same. Unlike
//! [`cayley-exchange`](super::CayleyExchange), which does the same on other networks too, and with
//! unequal extents in fewer start-ups, it has no table: a rank takes time and memory in proportion to
//! the blocks that it sends. It cuts each block in n parts, and if an extent above 2 is even, in 2n.
//!
//! # Idea
//!
//! Around a ring, every node sends each block in the shorter direction, at once up and down; what is
//! for the opposite node is sent half up, half down. So all channels carry the same. On a torus, the
//! dimensions are taken one after the other; to use all of them at once, each block is cut in n parts,
//! and each part begins with another dimension.
//!
//! ```text
//! 5 x 5      part 0        part 1
//! phase 0    along y       along x       two rounds, up and down
//! phase 1    along x       along y       two rounds, up and down
//! ```
//!
//! # Why it is correct
//!
//! 1. A part takes the dimensions in the same order on all nodes. In each, it moves from the source's
//!    coordinate to the destination's, a step a round, so it arrives in at most floor(k/2) rounds.
//! 2. In each phase, a dimension belongs to one part. A node sends one message up and one down, over
//!    channels of its own.

use super::cells::{by_extent, no_rank_on_every_node};
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::{Node, Rank};
use crate::topology::{Coordinates, Grid, Topology};
use crate::vocabulary::{Amount, Amounts, End, Placement, Ports, Problem, RankAmounts, RankRound, Share};

/// An exchange on tori over all channels at once.
#[derive(Clone, Copy, Debug)]
pub struct HalfRings;

static ABOUT: About = About {
    collective: "alltoall",
    name: "half-rings",
    summary: "both ways around all dimensions at once, by parts of each block that take the dimensions in turn",
    source: "own work",
    needs: "a ring or torus, with a rank on every node",
    claims: "n dimensions, the longest K: n floor(K/2) start-ups, N floor(K^2/4) / 2K blocks over a channel, N/2 if K = 2, \
             N/2K more if K > 2 and another extent is 2; contention-free",
    ports: Ports::All,
};

impl Algorithm for HalfRings {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        no_rank_on_every_node(problem).or_else(|| Torus::of(problem).is_none().then(|| "it needs a torus".to_owned()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Torus::of(problem).map(|torus| torus.claims()).unwrap_or_default()
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        let turns = Torus::of(problem).map_or(0, |torus| torus.dimensions.len());
        (1..=turns).map(|turn| format!("turn {turn} of {turns}")).collect()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let Some(torus) = Torus::of(problem) else { return Box::new(std::iter::empty()) };
        let placement = problem.placement().clone();
        let at = torus.grid.coordinates(placement.node(rank));
        Box::new(torus.steps().map(move |step| torus.round(&placement, &at, step)))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let Some(torus) = Torus::of(problem) else { return Box::new(std::iter::empty()) };
        let placement = problem.placement().clone();
        let at = torus.grid.coordinates(placement.node(rank));
        Box::new(torus.steps().map(move |step| torus.amount(&placement, &at, step)))
    }
}

/// A torus, and how blocks are cut for it.
struct Torus {
    grid: Grid,
    /// The stride of each dimension.
    strides: Coordinates,
    /// The dimensions of more than one node, the longest first.
    dimensions: Vec<usize>,
    /// The number of chunks of a block, and of a part.
    chunks: (u32, u32),
}

/// A round of a phase, from 1.
#[derive(Clone, Copy)]
struct Step {
    phase: usize,
    round: usize,
}

/// A message of a round: along a dimension, by the part that takes it in this phase.
#[derive(Clone, Copy)]
struct Message {
    part: usize,
    dimension: usize,
    up: bool,
}

impl Torus {
    fn of(problem: &Problem) -> Option<Self> {
        let grid = Grid::of(&**problem.topology()).filter(|grid| grid.wraps())?;
        let (extents, dimensions) = (grid.extents(), by_extent(&grid));
        let stride = |dimension: usize| extents[dimension + 1..].iter().product();
        let halves = extents.iter().any(|extent| *extent > 2 && extent.is_multiple_of(2));
        let (parts, each) = (dimensions.len() as u32, if halves { 2 } else { 1 });
        Some(Self { strides: (0..extents.len()).map(stride).collect(), chunks: (parts * each, each), dimensions, grid })
    }

    /// Returns half of the longest extent: the rounds of a phase.
    fn reach(&self) -> usize {
        self.dimensions.first().map_or(0, |&longest| self.extent(longest) / 2)
    }

    fn steps(&self) -> impl Iterator<Item = Step> + Send + use<> {
        let reach = self.reach();
        (0..self.dimensions.len()).flat_map(move |phase| (1..=reach).map(move |round| Step { phase, round }))
    }

    /// Returns the dimension that a part takes in a phase.
    fn dimension(&self, part: usize, phase: usize) -> usize {
        self.dimensions[(part + phase) % self.dimensions.len()]
    }

    /// Returns the messages that each node sends in a round.
    fn messages(&self, Step { phase, round }: Step) -> impl Iterator<Item = Message> {
        (0..self.dimensions.len()).flat_map(move |part| {
            let dimension = self.dimension(part, phase);
            let extent = self.extent(dimension);
            // Up and down are one channel in a ring of two.
            let ways = if extent == 2 { &[true][..] } else { &[true, false] };
            let ways = if round <= extent / 2 { ways } else { &[] };
            ways.iter().map(move |&up| Message { part, dimension, up })
        })
    }

    /// Returns the size of a message along an extent in a round.
    fn size(&self, extent: usize, round: usize) -> Volume {
        let (nodes, parts) = (self.nodes(), self.dimensions.len() as u128);
        let many = if extent == 2 { 2 } else { extent + 1 - 2 * round };
        Volume::ratio(u128::from(nodes) * many as u128, 2 * extent as u128 * parts)
    }

    fn extent(&self, dimension: usize) -> usize {
        self.grid.extents()[dimension]
    }

    fn nodes(&self) -> u64 {
        self.grid.nodes() as u64
    }

    fn claims(&self) -> Claims {
        let n = self.dimensions.len() as u64;
        let Some(&longest) = self.dimensions.first() else { return Claims::of_single_blocks(0, true) };
        let extents = self.dimensions.iter().map(|&dimension| self.extent(dimension) as u64);
        let load =
            |extent: u64| Volume::ratio(u128::from(self.nodes()) * u128::from(extent * extent / 4), extent.into());
        let longest = self.extent(longest) as u64;
        let over_longest = load(longest).part(if longest == 2 { 1 } else { 2 });
        // A ring of two has half of the blocks in its only round; the longest has less in its first.
        let more = if longest > 2 && extents.clone().any(|extent| extent == 2) { self.nodes() } else { 0 };
        let messages = n * extents.clone().map(|extent| if extent == 2 { 1 } else { extent / 2 * 2 }).sum::<u64>();
        let volume = Some(extents.map(load).sum());
        Claims {
            transmission: Some(over_longest + Volume::new(more, 2 * longest)),
            port_transmission: volume,
            volume,
            handled: Some(2 * messages),
            messages: Some(messages),
            rearrangements: Some(n - 1),
            ..Claims::of_single_blocks(n * self.reach() as u64, true)
        }
    }

    fn round(&self, placement: &Placement, at: &[usize], step: Step) -> RankRound {
        let mut made = RankRound { phase: step.phase, ..RankRound::default() };
        for message in self.messages(step) {
            let Message { dimension, up, .. } = message;
            let end = |peer: &[usize], sender: &[usize]| {
                End::new(self.rank(placement, peer), self.blocks(placement, sender, message, step))
            };
            made.sends.push(end(&self.moved(at, dimension, 1, up), at));
            let from = self.moved(at, dimension, 1, !up);
            made.receives.push(end(&from, &from));
        }
        made
    }

    fn amount(&self, placement: &Placement, at: &[usize], step: Step) -> RankAmounts {
        let amount = |Message { dimension, up, .. }| {
            let peer = self.rank(placement, &self.moved(at, dimension, 1, up));
            Amount::new(peer, self.size(self.extent(dimension), step.round))
        };
        let sends: Vec<Amount> = self.messages(step).map(amount).collect();
        RankAmounts { phase: step.phase, receives: sends.len(), sends, ..RankAmounts::default() }
    }

    /// Returns the blocks of a message, the nearest destinations first: what the next round forwards
    /// is the end of this message.
    fn blocks(&self, placement: &Placement, at: &[usize], message: Message, step: Step) -> Vec<Block> {
        let Message { part, dimension, up } = message;
        let Step { phase, round } = step;
        let extent = self.extent(dimension);
        let source = self.moved(at, dimension, round - 1, !up);
        let worth = |dimension: usize, x: usize| x * self.strides[dimension];
        let mut others = vec![(0, 0)];
        for turn in (0..self.dimensions.len()).filter(|&turn| turn != phase) {
            let other = self.dimension(part, turn);
            let own = worth(other, at[other]);
            let ends = |x| if turn < phase { (worth(other, x), own) } else { (own, worth(other, x)) };
            let along = (0..self.extent(other)).map(ends);
            others = others.iter().flat_map(|&(s, d)| along.clone().map(move |(t, e)| (s + t, d + e))).collect();
        }
        let (of, each) = self.chunks;
        let first = part as u32 * each;
        let blocks = |distance: usize| {
            let to = self.moved(&source, dimension, distance, up);
            let [from, to] = [&source, &to].map(|end| worth(dimension, end[dimension]));
            let is_half = 2 * distance == extent && extent > 2;
            let (first, count) = if is_half { (first + u32::from(!up), 1) } else { (first, each) };
            others.iter().map(move |&(s, d)| {
                let [source, destination] =
                    [s + from, d + to].map(|node| placement.rank(Node::new(node)).unwrap_or_default());
                let block = Block::new(source, destination);
                block.chunks(first, of, count).unwrap_or(block)
            })
        };
        (round..=extent / 2).flat_map(blocks).collect()
    }

    /// Returns the coordinates some steps further along a dimension.
    fn moved(&self, at: &[usize], dimension: usize, steps: usize, up: bool) -> Coordinates {
        let (mut to, extent) = (Coordinates::from(at), self.extent(dimension));
        let ahead = if up { steps } else { extent - steps };
        to[dimension] = (to[dimension] + ahead) % extent;
        to
    }

    fn rank(&self, placement: &Placement, at: &[usize]) -> Rank {
        placement.rank(self.grid.node(at)).unwrap_or_default()
    }
}
