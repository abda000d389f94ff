//! Allreduce of parts, directly: every rank combines its part of all contributions, and sends it to
//! every rank.
//!
//! Source: R. Rabenseifner, *Optimization of collective reduction operations*, ICCS 2004, with
//! direct messages in place of halving and doubling. Needs: nothing. Model: unlimited ports.
//! Combines in rank order, so operations need not commute; all ranks get the same bits.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 2 (0 for one rank) |
//! | blocks a rank sends | 2 (N - 1) / N, the lower bound |
//! | messages a rank | 2 (N - 1) |
//! | blocks combined | (N - 1) / N, the lower bound |
//!
//! A rank takes time and memory in proportion to N. Among threads a rank combines its part straight
//! from the memory of the others, so each contribution is read once.

use crate::algorithm::{About, Algorithm, Claims, pairs};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Direct reduce-scatter and direct allgather, of a part for each rank.
#[derive(Clone, Copy, Debug)]
pub struct DirectParts;

static ABOUT: About = About {
    collective: "allreduce",
    name: "direct-parts",
    summary: "each rank combines its part of all vectors, and sends it to every rank",
    source: "Rabenseifner 2004, with direct messages",
    needs: "nothing",
    claims: "2 start-ups, 1 / N block a message, 2 (N - 1) messages a rank; contention-free on complete networks; combines in rank order",
    ports: Ports::Unlimited,
};

impl Algorithm for DirectParts {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks() as u64;
        Claims { combined: Some(Volume::new(ranks - 1, ranks)), ..pairs::claims(problem, 2, ranks) }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let ranks = problem.ranks();
        let part = pairs::part(ranks, Block::RESULT);
        let combining = pairs::combining_round(ranks, rank, part);
        Box::new(combining.chain(pairs::round(ranks, rank, move |_| part(rank), part)))
    }
}
