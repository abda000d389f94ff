//! Broadcast of long blocks on grids: the root scatters parts of its block, and the ranks gather
//! all of them around the rings of each dimension.
//!
//! Source: Grama et al., §4.7.1 (equation 4.13); M. Barnett, S. Gupta, D. Payne, L. Shuler, R. van
//! de Geijn & J. Watts, *Interprocessor collective communication library*, SHPCC 1994. Needs: a
//! product of lines, rings, windows and complete networks, with rank i on node i. Model: one-port.
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
//! The block is cut into a part for each rank. The parts go down the trees of a scatter along each
//! dimension, the last one first. The [allgather](crate::algorithm::allgather::ByDimension) takes
//! the dimensions in the other order. Parts that a rank has had for others are not sent to it
//! again.

use crate::algorithm::halving::{NEEDS, lacks};
use crate::algorithm::parts::Parts;
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Scatter and allgather of parts, by dimension.
#[derive(Clone, Copy, Debug)]
pub struct ScatterAllgather;

static ABOUT: About = About {
    collective: "broadcast",
    name: "scatter-allgather",
    summary: "the root scatters a part to each rank along trees, and the ranks collect all parts around the rings of each dimension",
    source: "Grama et al., 4.7.1; Barnett et al. 1994",
    needs: NEEDS,
    claims: "the sum of n - 1 + ceil(log n) over dimensions in start-ups, for powers of two 2 (N - 1) / N blocks; contention-free",
    ports: Ports::One,
};

fn parts(problem: &Problem) -> (Parts, Rank) {
    let root = problem.collective().root().unwrap_or_default();
    (Parts::of(problem, Block::from(root)), root)
}

impl Algorithm for ScatterAllgather {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let (parts, root) = parts(problem);
        let claims = parts.claims_with_scatter(root);
        // Of two ranks, only the root sends.
        if problem.ranks() == 2 { claims.of_independent_messages() } else { claims }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (parts, root) = parts(problem);
        Box::new(parts.scatter(rank, root).into_iter().chain(parts.allgather_after(rank, root)))
    }
}
