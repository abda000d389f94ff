//! Direct broadcast: the root sends the block to every rank, in one round.
//!
//! Source: the collective's definition; "linear" in MPI libraries. Needs: nothing. Model: unlimited
//! ports.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 (0 for one rank) |
//! | blocks through the root's port | N - 1 |
//!
//! The root takes time and memory in proportion to N, other ranks O(1). Among threads all ranks
//! copy from the root's memory at the same time.

use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// The direct algorithm: the root sends to every rank, in one round.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "broadcast",
    name: "direct",
    summary: "the root sends the block directly to every rank",
    source: "the definition",
    needs: "nothing",
    claims: "1 start-up; N - 1 blocks through the root's port; contention-free on complete networks",
    ports: Ports::Unlimited,
};

impl Algorithm for Direct {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let others = problem.ranks() as u64 - 1;
        Claims {
            port_transmission: Some(Volume::from(others)),
            received: Some(Volume::from(others.min(1))),
            handled: Some(others + others.min(1)),
            messages: Some(others),
            volume: Some(Volume::from(others)),
            ..Claims::of_single_blocks(others.min(1), is_complete(problem))
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        let end = |peer| End::new(peer, vec![Block::from(root)]);
        let round = if rank == root {
            RankRound::new(problem.all().filter(|&other| other != root).map(end).collect(), vec![])
        } else {
            RankRound::new(vec![], vec![end(root)])
        };
        Box::new((problem.ranks() > 1).then_some(round).into_iter())
    }
}
