//! Direct alltoall: every rank sends to every rank, in one round.
//!
//! Source: what MPI libraries call linear or spread-out. Needs: nothing. Model: unlimited;
//! transfers share channels and the network queues them.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 (0 for one rank) |
//! | blocks sent | 1, the largest transfer |
//! | messages a rank | N - 1 |
//! | blocks of the busiest channel | the most of all dimensions, see below |
//! | hops | the diameter |
//!
//! For products of lines, rings and complete networks with a rank on every node, the last two are
//! formulas, by default routes; elsewhere they are counted for up to some 100 ranks. Along a
//! dimension of k of the N nodes a channel carries at most N/k fl(k/2) (fl(k/2) + 1) / 2 blocks on
//! a ring, N/k fl(k^2/4) on a line, N/k on a complete network; fl rounds down. Blocks that travel
//! half a ring all take the same direction, which costs more than the lower bound.
//!
//! A rank takes time and memory in proportion to N. Each block crosses the network once, so no
//! schedule moves fewer bytes; the cost is N - 1 messages per rank, and contention on sparse
//! networks.

use crate::algorithm::{About, Algorithm, Claims, pairs};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// The direct algorithm: every rank sends to every rank, in one round.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "alltoall",
    name: "direct",
    summary: "each block goes directly to its destination, all in one round",
    source: "folklore; the baseline",
    needs: "nothing",
    claims: "1 start-up, 1 block a message, N - 1 messages a rank; over the busiest channel the most, of all extents k, of N/k fl(k/2) (fl(k/2) + 1) / 2 blocks on a torus, N/k fl(k^2/4) on a mesh; contention-free on complete networks",
    ports: Ports::Unlimited,
};

impl Algorithm for Direct {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        pairs::claims(problem, 1, 1)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Box::new(pairs::round(
            problem.ranks(),
            rank,
            move |to| Block::new(rank, to),
            move |from| Block::new(from, rank),
        ))
    }
}
