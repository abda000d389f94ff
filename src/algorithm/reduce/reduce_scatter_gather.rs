//! Reduce of long vectors on grids: around the rings of each dimension, the ranks reduce and
//! scatter parts of the vector, and the root gathers them.
//!
//! Source: Grama et al., §4.7.1, problems 4.17 and 4.19. Needs: a product of lines, rings and
//! complete networks, with rank i on node i; an operation that commutes, unless all dimensions have
//! 2 ranks. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | the sum over dimensions of n - 1 + ceil(log n), n the extent; on a cube 2 log N |
//! | blocks sent | 2 (N - 1) / N for powers of two; otherwise a little more |
//! | hops on a cube | 2 log N |
//!
//! A rank takes time and memory in proportion to its messages. Without contention on these
//! networks, by default routes. A complete row counts as a dimension for each prime factor of its
//! extent.
//!
//! # Idea
//!
//! It is the [broadcast](crate::algorithm::broadcast::ScatterAllgather) of N parts backwards.

use crate::algorithm::halving::lacks;
use crate::algorithm::parts::Parts;
use crate::algorithm::rows::RingAxis;
use crate::algorithm::{About, Algorithm, Claims, no_free_order};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Reduce-scatter and gather of parts, by dimension.
#[derive(Clone, Copy, Debug)]
pub struct ReduceScatterGather;

static ABOUT: About = About {
    collective: "reduce",
    name: "reduce-scatter-gather",
    summary: "around the rings of each dimension, parts of the vector are combined; the root gathers them along trees",
    source: "Grama et al., 4.7.1 and problem 4.17",
    needs: "a product of lines, rings, windows and complete networks, with rank i on node i; an operation that commutes, for extents above 2",
    claims: "the sum of n - 1 + ceil(log n) over dimensions in start-ups, for powers of two 2 (N - 1) / N blocks; contention-free",
    ports: Ports::One,
};

fn parts(problem: &Problem) -> (Parts, Rank) {
    let root = problem.collective().root().unwrap_or_default();
    (Parts::of(problem, Block::result(root)), root)
}

impl Algorithm for ReduceScatterGather {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let longest = || parts(problem).0.rows().iter().map(|row| RingAxis::extent(*row)).max().unwrap_or(1);
        lacks(problem).or_else(|| no_free_order(problem, longest()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let (parts, root) = parts(problem);
        Claims { combined: Some(parts.combined()), ..parts.claims_with_gather(root) }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (parts, root) = parts(problem);
        Box::new(parts.reduce_scatter(rank).into_iter().chain(parts.gather(rank, root)))
    }
}
