//! Direct allgather: every rank sends its block to every rank, in one round.
//!
//! Source: the collective's definition; "linear" in MPI libraries. Needs: nothing. Model: unlimited
//! ports; transfers share channels and the network queues them. On complete networks, where every
//! channel of a rank carries its block: several ports with the same value.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 (0 for one rank) |
//! | blocks sent | 1, the largest transfer |
//! | messages a rank | N - 1 |
//! | blocks of the busiest channel | as for the direct [alltoall](crate::algorithm::alltoall::Direct) |
//!
//! A rank takes time and memory in proportion to N.

use crate::algorithm::{About, Algorithm, Claims, is_complete, pairs};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// The direct algorithm: every rank sends to every rank, in one round.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "allgather",
    name: "direct",
    summary: "each rank sends its block directly to every rank, all in one round",
    source: "the definition",
    needs: "nothing",
    claims: "1 start-up, 1 block a message, N - 1 messages a rank; contention-free on complete networks, with the same value for all ports",
    ports: Ports::Unlimited,
};

impl Algorithm for Direct {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        pairs::claims(problem, 1, 1)
    }

    fn ports(&self, problem: &Problem) -> Ports {
        if is_complete(problem) { Ports::SameValue } else { Ports::Unlimited }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Box::new(pairs::round(problem.ranks(), rank, move |_| Block::from(rank), Block::from))
    }
}
