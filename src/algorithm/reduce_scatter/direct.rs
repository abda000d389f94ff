//! Direct reduce-scatter: every rank sends every rank the contribution to its result, in one round.
//!
//! Source: the collective's definition; "linear" in MPI libraries. Needs: nothing. Model: unlimited
//! ports. Combines in rank order, so operations need not commute.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 (0 for one rank) |
//! | blocks sent | 1, the largest transfer |
//! | messages a rank | N - 1 |
//! | blocks combined | N - 1 |
//!
//! A rank takes time and memory in proportion to N.

use crate::algorithm::{About, Algorithm, Claims, pairs};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// The direct algorithm: every rank sends to every rank, in one round.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "reduce_scatter",
    name: "direct",
    summary: "each rank sends every rank the contribution to its result, all in one round",
    source: "the definition",
    needs: "nothing",
    claims: "1 start-up, 1 block a message, N - 1 messages a rank; contention-free on complete networks; combines in rank order",
    ports: Ports::Unlimited,
};

impl Algorithm for Direct {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let combined = Some(Volume::from(problem.ranks() as u64 - 1));
        Claims { combined, ..pairs::claims(problem, 1, 1) }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Box::new(pairs::combining_round(problem.ranks(), rank, Block::result))
    }
}
