//! Pipelines: a block is cut into chunks, which follow each other along the edges of a chain or of
//! a binary tree of ranks.
//!
//! An [`Edge`] carries one chunk every [`period`](Pipeline::period) rounds. Along a chain that is
//! every round. In a tree a rank sends each chunk to two children, one after the other, so it is
//! every second round.

mod busiest;
mod chunks;
mod tree;

use std::cell::LazyCell;
use std::collections::BTreeMap;

pub(super) use chunks::{CHUNKS, Filling, number, with_chunks};
pub(super) use tree::Tree;

use super::counted::Counted;
use super::is_complete;
use super::loads::{Pattern, in_order, with_repeated};
use crate::block::{Block, Volume};
use crate::ids::{Node, Rank};
use crate::vocabulary::{Claims, Combine, End, LocalStep, Problem, RankRound, Share};

/// A message of each chunk, from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: Rank,
    pub(super) to: Rank,
    pub(super) combine: Combine,
    /// The round of the first chunk.
    pub(super) first: usize,
}

impl Edge {
    /// Returns the edge from a rank to the next one, in a chain in rank order.
    pub(super) fn upwards(rank: usize, combine: Combine) -> Self {
        Self { from: Rank::new(rank), to: Rank::new(rank + 1), combine, first: rank }
    }

    /// Returns the edges of such a chain at which a rank is.
    pub(super) fn beside(problem: &Problem, rank: Rank, combine: Combine) -> Vec<Self> {
        let rank = rank.index();
        let froms = [rank.checked_sub(1), Some(rank).filter(|rank| rank + 1 < problem.ranks())];
        froms.into_iter().flatten().map(|from| Self::upwards(from, combine)).collect()
    }
}

/// The rounds of a pipeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pipeline {
    pub(super) chunks: usize,
    /// The number of rounds from one chunk to the next.
    pub(super) period: usize,
    /// The number of rounds in which any edge carries its first chunk.
    pub(super) depth: usize,
}

impl Pipeline {
    /// Returns the pipeline of a chain with this many edges.
    pub(super) fn of_chain(chunks: usize, edges: usize) -> Self {
        Self { chunks: number(chunks), period: 1, depth: edges }
    }

    /// Returns the number of rounds in which anything is sent.
    pub(super) fn rounds(self) -> u64 {
        if self.depth == 0 { 0 } else { (self.depth + self.period * (self.chunks - 1)) as u64 }
    }

    /// Returns the blocks that are sent one after the other: a chunk in every round.
    pub(super) fn transmission(self) -> Volume {
        Volume::new(self.rounds(), self.chunks as u64)
    }

    /// Returns a round without messages, in which a rank copies a block to another name.
    pub(super) fn copy(self, from: Block, into: Block) -> RankRound {
        let cut = |block: Block| block.chunks(0, self.chunks as u32, self.chunks as u32).unwrap_or(block);
        RankRound::default().with_local(vec![LocalStep::new(cut(from), cut(into), Combine::Replace)])
    }

    /// Returns the rounds of a rank that has these edges.
    pub(super) fn share(self, rank: Rank, block: Block, edges: Vec<Edge>) -> Share {
        let Self { chunks, period, .. } = self;
        Box::new((0..self.rounds() as usize).map(move |round| {
            let mut all = RankRound::default();
            for edge in &edges {
                let since = round.checked_sub(edge.first).filter(|since| since.is_multiple_of(period));
                let Some(chunk) = since.map(|since| since / period).filter(|&chunk| chunk < chunks) else { continue };
                let blocks = block.chunks(chunk as u32, chunks as u32, 1).into_iter().collect();
                let end = |peer| End::new(peer, blocks).combined(edge.combine);
                if edge.from == rank { all.sends.push(end(edge.to)) } else { all.receives.push(end(edge.from)) }
            }
            all
        }))
    }

    /// Returns the claims of a pipeline, in which the busiest rank sends each chunk `sends` times.
    pub(super) fn claims(self, problem: &Problem, sends: usize, edges: impl FnOnce() -> Vec<Edge>) -> Claims {
        let edges = LazyCell::new(edges);
        let (rounds, size) = (self.rounds(), Volume::new(1, self.chunks as u64));
        let sends = if rounds == 0 { 0 } else { (sends * self.chunks) as u64 };
        let claims = Claims {
            transmission: Some(self.transmission()),
            messages: Some(sends),
            volume: Some(size * sends),
            at_hosts: problem.hosts().map(|hosts| self.at_hosts(hosts, &edges, size)),
            ..Claims::of_single_blocks(rounds, is_complete(problem))
        };
        let loads = if is_complete(problem) {
            Some(BTreeMap::from([((1, 1), rounds)]))
        } else if in_order(problem).is_some() && problem.ranks() <= MAX_RANKS
            || Counted::fits(problem, problem.ranks() as u128)
        {
            Some(self.loads(problem, &edges))
        } else {
            None
        };
        let repeated = |loads: &BTreeMap<(u64, u64), u64>| -> Vec<_> {
            loads.iter().map(|(&(load, hops), &times)| ((Pattern { load, hops }, size), times)).collect()
        };
        let claims = with_repeated(claims, loads.as_ref().map(repeated));
        // Between two ranks, one rank sends to the same rank in all rounds, and no message depends
        // on another.
        let single = loads.filter(|_| problem.ranks() == 2).and_then(|loads| loads.keys().map(|&(_, hops)| hops).max());
        Claims {
            chained_hops: single,
            chained_forwarded: single.map(|hops| size * (hops + self.chunks as u64 - 1)),
            ..claims
        }
    }

    /// Counts for each load of the busiest channel and each longest route the rounds that have
    /// them.
    fn loads(self, problem: &Problem, edges: &[Edge]) -> BTreeMap<(u64, u64), u64> {
        let node = |rank: Rank| problem.placement().node(rank);
        self.busiest(edges, |edge| {
            let route = problem.topology().route(node(edge.from), node(edge.to));
            let key = |hop: &[Node]| (hop[0].index() as u64) << 32 | hop[1].index() as u64;
            route.windows(2).map(key).collect()
        })
    }
}

/// The most ranks of a product whose messages are counted. This takes a few milliseconds.
const MAX_RANKS: usize = 1 << 12;
