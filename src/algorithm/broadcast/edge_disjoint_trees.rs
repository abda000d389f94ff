//! Broadcast along arc-disjoint trees from the root: every tree carries a part of the block, in
//! chunks that follow each other.
//!
//! Source: S. L. Johnsson & C.-T. Ho, *Optimum broadcasting and personalized communication in
//! hypercubes*, IEEE Transactions on Computers 38(9), 1989 (hypercubes: edge-disjoint spanning
//! binomial trees). On all networks; the number of trees is that of Edmonds' theorem. Needs: a rank
//! on every node of a network that is not complete, of at most 1024 nodes and 16384 channels, or
//! 65536 in products of rings, complete networks and windows that wrap round. Model: all-port.
//!
//! With k chunks of each part, and T trees of depth H, in rounds:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | H + k - 1 |
//! | blocks over a channel | (H + k - 1) / (T k) |
//! | blocks received | at most (H + k - 1) / k |
//! | hops | H + k - 1 |
//!
//! T is the least number of channels from any set of nodes with the root to the others: the
//! channels of a node on rings, tori, cubes and generalized hypercubes; the number of dimensions on
//! a mesh; 1 on a line. No schedule sends less than 1 / T over the busiest channel. On a hypercube
//! of dimension d, H is d + 1, on a ring of N nodes N - 1, on most tori the diameter and 1 or 2.
//!
//! Every rank computes all trees: in an optimised build, 256 nodes take up to 10 ms, 1024 nodes 3
//! to 170 ms, up to half a second where nodes have dozens of channels. The ranks of a process share
//! the trees that were used last.
//!
//! # Idea
//!
//! The trees use each channel at most once, so all trees can carry data in all rounds without
//! contention, and all messages go to neighbours. Where channels limit the time, a long block
//! arrives T times as fast as along a [chain](super::Chain). See `src/algorithm/arborescences/` for
//! the trees.

use std::sync::Arc;

use crate::algorithm::arborescences::{NEEDS, Streams, lacks};
use crate::algorithm::pipeline::{CHUNKS, Filling, with_chunks};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// A pipeline along each of several trees that share no channel.
#[cfg_attr(doc, doc = include_str!("../../../doc/edge-disjoint-trees.svg"))]
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeDisjointTrees {
    chunks: usize,
}

static ABOUT: About = About {
    collective: "broadcast",
    name: "edge-disjoint-trees",
    summary: "parts of the block go along trees that share no channel, each in chunks that follow each other",
    source: "Johnsson & Ho 1989; Edmonds 1973",
    needs: NEEDS,
    claims: "with k chunks and T trees of depth H, H + k - 1 start-ups and (H + k - 1) / (T k) blocks over a channel; T is the least cut, H on most networks the diameter and 1 or 2; contention-free",
    ports: Ports::All,
};

impl Algorithm for EdgeDisjointTrees {
    fn about(&self) -> &About {
        &ABOUT
    }

    with_chunks!(problem => lacks(problem).is_none().then(|| Streams::down(problem, 1).filling()));

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Streams::down(problem, self.chunks).claims(problem)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        Streams::down(problem, self.chunks).share(rank, Block::from(root))
    }
}
