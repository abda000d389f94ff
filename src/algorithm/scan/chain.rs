//! Scan along a chain of all ranks: chunks of the prefix follow each other, and every rank adds its
//! contribution to what it passes on.
//!
//! Source: the linear scan of MPI libraries, with the segments of J. Pjesivac-Grbovic et al.,
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
//! | blocks combined | (N + k - 2) / k |
//! | hops on a line or ring | N + k - 2 |
//!
//! A rank takes time in proportion to N + k, and memory O(1).
//!
//! # Idea
//!
//! Rank i receives chunk c of the prefix of rank i - 1 in round i + c - 1 and puts it before its
//! own. It sends the result in round i + c. All ranks together send N - 1 blocks, the least that a
//! scan can do, where [`RecursiveDoubling`](super::RecursiveDoubling) sends some N log N.

use std::iter::once;
use std::sync::Arc;

use crate::algorithm::pipeline::{CHUNKS, Edge, Filling, Pipeline, with_chunks};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Combine, Ports, Problem, Share};

/// A pipelined chain in rank order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain {
    chunks: usize,
}

static ABOUT: About = About {
    collective: "scan",
    name: "chain",
    summary: "chunks of the prefix follow each other from rank to rank; each rank adds its contribution",
    source: "linear; Pjesivac-Grbovic et al. 2007",
    needs: "nothing; made for lines and rings",
    claims: "with k chunks N + k - 2 start-ups, (N + k - 2) / k blocks, on a line or ring N + k - 2 hops; contention-free on lines, rings, complete networks and products of them; combines in rank order",
    ports: Ports::One,
};

/// The prefix. A rank's own block is named after its result, so what it sends has another name.
const PREFIX: Block = Block::temporary(0);

impl Algorithm for Chain {
    fn about(&self) -> &About {
        &ABOUT
    }

    with_chunks!(problem => Some(Filling::of_chain(problem)));

    fn claims(&self, problem: &Problem) -> Claims {
        let edges = problem.ranks() - 1;
        let all = || (0..edges).map(|rank| Edge::upwards(rank, Combine::Left)).collect();
        let pipeline = Pipeline::of_chain(self.chunks, edges);
        Claims { combined: Some(pipeline.transmission()), ..pipeline.claims(problem, 1, all) }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let pipeline = Pipeline::of_chain(self.chunks, problem.ranks() - 1);
        let rounds = pipeline.share(rank, PREFIX, Edge::beside(problem, rank, Combine::Left));
        let own = Block::result(rank);
        let (before, after) = (pipeline.copy(own, PREFIX), pipeline.copy(PREFIX, own));
        if problem.ranks() == 1 { rounds } else { Box::new(once(before).chain(rounds).chain(once(after))) }
    }
}
