//! Direct barrier: every rank signals every rank, in one round.
//!
//! Source: the collective's definition. Needs: nothing. Model: unlimited ports.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 (0 for one rank) |
//! | messages a rank | N - 1, of no bytes |
//!
//! A rank takes time and memory in proportion to N.

use crate::algorithm::{About, Algorithm, Claims, pairs};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// The direct algorithm: every rank signals every rank, in one round.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "barrier",
    name: "direct",
    summary: "each rank signals every rank directly, all in one round",
    source: "the definition",
    needs: "nothing",
    claims: "1 start-up, N - 1 messages of no bytes a rank; contention-free on complete networks",
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
        Box::new(pairs::round(problem.ranks(), rank, move |_| Block::from(rank), Block::from))
    }
}
