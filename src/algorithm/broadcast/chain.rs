//! Broadcast along a chain of all ranks: chunks of the block follow each other, and every rank
//! passes on what it received last.
//!
//! Source: J. Pjesivac-Grbovic, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel & J. J. Dongarra,
//! *Performance analysis of MPI collective operations*, Cluster Computing 10(2), 2007 (pipeline: a
//! chain with segments). Needs: nothing; made for rings, and for long blocks. Model: one-port.
//!
//! With k chunks, for two or more ranks:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N + k - 2 |
//! | blocks sent | (N + k - 2) / k; 1 by each rank but the last |
//! | hops on a ring | N + k - 2 |
//!
//! A rank takes time in proportion to N + k, and memory O(1).
//!
//! # Idea
//!
//! The ranks are in circular order from the root on. The rank at place p receives chunk c in round
//! p + c - 1 and sends it in round p + c. The time of long blocks is close to that of one block
//! through one port, which is the least, and half that of
//! [`ScatterAllgather`](super::ScatterAllgather) or of a [binary tree](super::BinaryTree). The
//! chain of N ranks takes its time to fill.

use std::sync::Arc;

use crate::algorithm::pipeline::{CHUNKS, Edge, Filling, Pipeline, with_chunks};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Combine, Ports, Problem, Share};

/// A pipelined chain, with the ranks in circular order from the root on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain {
    chunks: usize,
}

static ABOUT: About = About {
    collective: "broadcast",
    name: "chain",
    summary: "chunks of the block follow each other from rank to rank",
    source: "Pjesivac-Grbovic et al. 2007",
    needs: "nothing; made for rings",
    claims: "with k chunks N + k - 2 start-ups, (N + k - 2) / k blocks, on a ring N + k - 2 hops; contention-free on lines, rings, complete networks and products of them",
    ports: Ports::One,
};

impl Algorithm for Chain {
    fn about(&self) -> &About {
        &ABOUT
    }

    with_chunks!(problem => Some(Filling::of_chain(problem)));

    fn claims(&self, problem: &Problem) -> Claims {
        let edges = problem.ranks() - 1;
        let all = || (0..edges).map(|place| edge(problem, place)).collect();
        Pipeline::of_chain(self.chunks, edges).claims(problem, 1, all)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (size, root) = (problem.ranks(), problem.collective().root().unwrap_or_default());
        let place = (rank.index() + size - root.index()) % size;
        let edges = [place.checked_sub(1), Some(place).filter(|place| place + 1 < size)];
        let edges = edges.into_iter().flatten().map(|place| edge(problem, place)).collect();
        Pipeline::of_chain(self.chunks, size - 1).share(rank, Block::from(root), edges)
    }
}

/// Returns the edge from a place to the next one. The root is at place 0.
fn edge(problem: &Problem, place: usize) -> Edge {
    let root = problem.collective().root().unwrap_or_default().index();
    let at = |place: usize| Rank::new((root + place) % problem.ranks());
    Edge { from: at(place), to: at(place + 1), combine: Combine::Replace, first: place }
}
