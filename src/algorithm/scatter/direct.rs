//! Direct scatter: the root sends every rank its block, in one round.
//!
//! Source: the collective's definition; "linear" in MPI libraries. Needs: nothing. Model: unlimited
//! ports.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 |
//! | blocks through the root's port | N - 1, the lower bound |
//! | blocks of the busiest channel | the most of all dimensions, see below |
//! | hops | the longest route from the root |
//!
//! The last two are those of a [broadcast](crate::algorithm::broadcast::Direct).
//!
//! The root takes time and memory in proportion to N, other ranks O(1).

use crate::algorithm::{About, Algorithm, Claims, star};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// The direct algorithm: the root sends to every rank, in one round.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "scatter",
    name: "direct",
    summary: "the root sends each rank its block",
    source: "the definition",
    needs: "nothing",
    claims: "1 start-up; N - 1 blocks through the root's port; over the busiest channel of a ring fl(N/2) blocks; contention-free where all ranks are neighbours of the root",
    ports: Ports::Unlimited,
};

impl Algorithm for Direct {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        star::claims_from_root(problem)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        let end = |peer, receiver| End::new(peer, vec![Block::new(root, receiver)]);
        let round = if rank == root {
            let sends = problem.all().filter(|&other| other != root).map(|other| end(other, other)).collect();
            RankRound { sends, ..RankRound::default() }
        } else {
            RankRound { receives: vec![end(root, rank)], ..RankRound::default() }
        };
        Box::new((problem.ranks() > 1).then_some(round).into_iter())
    }
}
