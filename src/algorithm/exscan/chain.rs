//! Exscan along a chain of all ranks: chunks of the prefix follow each other, and every rank adds
//! its contribution to what it passes on.
//!
//! Source: the linear exscan of MPI libraries, with the segments of J. Pjesivac-Grbovic et al.,
//! *Performance analysis of MPI collective operations*, Cluster Computing 10(2), 2007. Needs:
//! nothing; made for lines and rings, for long blocks, and for ranks that share cores. Model:
//! one-port. Combines in rank order, so operations need not commute.
//!
//! With k chunks, for two or more ranks:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N + k - 2 |
//! | blocks sent | (N + k - 2) / k; 1 by each rank but the last |
//! | blocks combined | (N + k - 3) / k for three or more ranks |
//! | hops on a line or ring | N + k - 2 |
//!
//! A rank takes time in proportion to N + k, and memory O(1).
//!
//! # Idea
//!
//! The messages are those of the [scan](super::super::scan::Chain). A rank keeps what arrives, its
//! result, apart from what it passes on.

use std::iter::{empty, once};
use std::sync::Arc;

use crate::algorithm::pipeline::{CHUNKS, Edge, Filling, Pipeline, with_chunks};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Combine, LocalStep, Ports, Problem, Share};

/// A pipelined chain in rank order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain {
    chunks: usize,
}

static ABOUT: About = About {
    collective: "exscan",
    name: "chain",
    summary: "chunks of the prefix follow each other from rank to rank; each rank adds its contribution",
    source: "linear; Pjesivac-Grbovic et al. 2007",
    needs: "nothing; made for lines and rings",
    claims: "with k chunks N + k - 2 start-ups, (N + k - 2) / k blocks, on a line or ring N + k - 2 hops; contention-free on lines, rings, complete networks and products of them; combines in rank order",
    ports: Ports::One,
};

/// The block that a rank passes on.
const RUNNING: Block = Block::temporary(0);
/// The combination of the ranks before this one.
const BEFORE: Block = Block::temporary(1);

impl Algorithm for Chain {
    fn about(&self) -> &About {
        &ABOUT
    }

    with_chunks!(problem => Some(Filling::of_chain(problem)));

    fn claims(&self, problem: &Problem) -> Claims {
        let edges = problem.ranks() - 1;
        // A rank combines what it passes on. The last rank passes nothing on.
        let combine = |rank| if rank + 1 < edges { Combine::Left } else { Combine::Replace };
        let all = || (0..edges).map(|rank| Edge::upwards(rank, combine(rank))).collect();
        let combined = Pipeline::of_chain(self.chunks, edges.saturating_sub(1)).transmission();
        Claims { combined: Some(combined), ..Pipeline::of_chain(self.chunks, edges).claims(problem, 1, all) }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (own, size) = (Block::result(rank), problem.ranks());
        let pipeline = Pipeline::of_chain(self.chunks, size - 1);
        let rounds = pipeline.share(rank, RUNNING, Edge::beside(problem, rank, Combine::Replace));
        let is_last = rank.index() + 1 == size;
        let rounds = rounds.map(move |round| {
            let arrived = round.receives.iter().flat_map(|end| &end.blocks).copied();
            let local = arrived.flat_map(|chunk| keep(chunk, own, is_last)).collect();
            round.with_local(local)
        });
        let before = pipeline.copy(own, RUNNING);
        let after = (rank.index() > 0).then(|| pipeline.copy(BEFORE, own));
        if size == 1 { Box::new(empty()) } else { Box::new(once(before).chain(rounds).chain(after)) }
    }
}

/// Returns the steps that keep a chunk of the result that has arrived, and make that of the next
/// rank from it.
fn keep(chunk: Block, own: Block, is_last: bool) -> impl Iterator<Item = LocalStep> {
    let part = |block: Block| block.chunks(chunk.first(), chunk.of(), chunk.count());
    let kept = part(BEFORE).map(|before| LocalStep::new(chunk, before, Combine::Replace));
    let passed = part(own).filter(|_| !is_last).map(|own| LocalStep::new(own, chunk, Combine::Right));
    kept.into_iter().chain(passed)
}
