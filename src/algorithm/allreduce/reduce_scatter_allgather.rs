//! Allreduce of long vectors on grids: around the rings of each dimension, the ranks reduce and
//! scatter parts of the vector, and then gather the results. On a ring this is the ring allreduce.
//!
//! Source: Grama et al., §4.7.1 (equation 4.14). Needs: a product of lines, rings and complete
//! networks, with rank i on node i; an operation that commutes, unless all dimensions have 2 ranks.
//! Model: one-port. All ranks get the same bits.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | twice the sum over dimensions of n - 1, n the extent; on a cube 2 log N |
//! | blocks sent | 2 (N - 1) / N, the one-port lower bound |
//! | hops | as many as start-ups; along a line of 3 or more nodes twice as many |
//!
//! A rank takes time and memory in proportion to its messages. Without contention on these
//! networks, by default routes. A complete row counts as a dimension for each prime factor of its
//! extent.
//!
//! # Idea
//!
//! The first half is the [reduce-scatter by
//! dimension](crate::algorithm::reduce_scatter::ByDimension) of N parts, the second half takes the
//! same messages back.

use crate::algorithm::halving::lacks;
use crate::algorithm::parts::Parts;
use crate::algorithm::rows::RingAxis;
use crate::algorithm::{About, Algorithm, Claims, no_free_order};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Reduce-scatter and allgather of parts, by dimension.
#[derive(Clone, Copy, Debug)]
pub struct ReduceScatterAllgather;

static ABOUT: About = About {
    collective: "allreduce",
    name: "reduce-scatter-allgather",
    summary: "around the rings of each dimension, parts of the vector are combined, and then passed to all",
    source: "Grama et al., 4.7.1",
    needs: "a product of lines, rings, windows and complete networks, with rank i on node i; an operation that commutes, for extents above 2",
    claims: "twice the sum of n - 1 over dimensions in start-ups, 2 (N - 1) / N blocks, as many hops as start-ups, twice that along lines; contention-free",
    ports: Ports::One,
};

impl Algorithm for ReduceScatterAllgather {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let parts = Parts::of(problem, Block::RESULT);
        let longest = || parts.rows().iter().map(|row| RingAxis::extent(*row)).max().unwrap_or(1);
        lacks(problem).or_else(|| no_free_order(problem, longest()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let parts = Parts::of(problem, Block::RESULT);
        Claims { combined: Some(parts.combined()), ..parts.ring_claims(2) }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let parts = Parts::of(problem, Block::RESULT);
        Box::new(parts.reduce_scatter(rank).into_iter().chain(parts.allgather(rank)))
    }
}
