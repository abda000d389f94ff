//! Direct allreduce: every rank sends its contribution to every rank, in one round, and combines
//! all of them.
//!
//! Source: the collective's definition. Needs: nothing. Model: unlimited ports. Combines in rank
//! order, so operations need not commute; all ranks get the same bits.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 (0 for one rank) |
//! | blocks sent | 1, the largest transfer |
//! | messages a rank | N - 1 |
//! | blocks combined | N - 1 |
//!
//! A rank takes time and memory in proportion to N. For vectors of a few elements: longer ones go
//! in [parts](super::DirectParts).
//!
//! # Idea
//!
//! A rank's contribution travels as a temporary named after the rank. Every rank combines the
//! temporaries in the same order, so rounding differs nowhere.

use crate::algorithm::{About, Algorithm, Claims, pairs};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, LocalStep, Ports, Problem, RankRound, Share};

/// The direct algorithm: every rank sends to every rank, in one round.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "allreduce",
    name: "direct",
    summary: "each rank sends its contribution directly to every rank, and combines all contributions",
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
        let ranks = problem.ranks();
        let combine = |from: Rank| {
            let combine = if from.index() == 0 { Combine::Replace } else { Combine::Right };
            LocalStep::new(of(from), Block::RESULT, combine)
        };
        let round = pairs::round(ranks, rank, move |_| of(rank), of).flat_map(move |round| {
            let name = LocalStep::new(Block::RESULT, of(rank), Combine::Replace);
            let combined = round.with_local((0..ranks).map(Rank::new).map(combine).collect());
            [RankRound::default().with_local(vec![name]), combined]
        });
        Box::new(round)
    }
}

/// Returns the temporary with the contribution of a rank.
fn of(rank: Rank) -> Block {
    Block::raw(-2, rank.index() as i32)
}
