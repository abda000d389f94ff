//! Reduce along arc-disjoint trees to the root: every tree carries a part of the result, in chunks
//! that follow each other, and every rank adds its contribution.
//!
//! Source: S. L. Johnsson & C.-T. Ho, *Optimum broadcasting and personalized communication in
//! hypercubes*, IEEE Transactions on Computers 38(9), 1989 (hypercubes: edge-disjoint spanning
//! binomial trees), in reverse. Needs: the network of the
//! [broadcast](crate::algorithm::broadcast::EdgeDisjointTrees), and an operation that commutes.
//! Model: all-port.
//!
//! With k chunks of each part, and T trees of depth H, in rounds:
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | H + k - 1 |
//! | blocks over a channel | (H + k - 1) / (T k) |
//! | blocks combined | as many as the busiest rank receives |
//! | hops | H + k - 1 |
//!
//! T and H are those of the [broadcast](crate::algorithm::broadcast::EdgeDisjointTrees), and so are
//! time and memory.
//!
//! # Idea
//!
//! It is the [broadcast](crate::algorithm::broadcast::EdgeDisjointTrees) backwards. A rank may
//! receive from several ranks below it in a tree, in one round or in several.

use std::sync::Arc;

use crate::algorithm::arborescences::{NEEDS_TO_COMBINE, Streams, lacks_to_combine};
use crate::algorithm::pipeline::{CHUNKS, Filling, with_chunks};
use crate::algorithm::{About, Algorithm, Claims, Parameter, Settings};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// A pipeline along each of several trees that share no channel, to the root.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeDisjointTrees {
    chunks: usize,
}

static ABOUT: About = About {
    collective: "reduce",
    name: "edge-disjoint-trees",
    summary: "parts of the result go along trees that share no channel, each in chunks that follow each other; each rank adds its contribution",
    source: "Johnsson & Ho 1989; Edmonds 1973",
    needs: NEEDS_TO_COMBINE,
    claims: "with k chunks and T trees of depth H, H + k - 1 start-ups and (H + k - 1) / (T k) blocks over a channel; T is the least cut, H on most networks the diameter and 1 or 2; contention-free",
    ports: Ports::All,
};

impl Algorithm for EdgeDisjointTrees {
    fn about(&self) -> &About {
        &ABOUT
    }

    with_chunks!(problem => lacks_to_combine(problem).is_none().then(|| Streams::up(problem, 1).filling()));

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks_to_combine(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        Streams::up(problem, self.chunks).claims(problem)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        Streams::up(problem, self.chunks).share(rank, Block::result(root))
    }
}
