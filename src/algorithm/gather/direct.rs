//! Direct gather: every rank sends its block to the root, in one round.
//!
//! Source: the collective's definition; "linear" in MPI libraries. Needs: nothing. Model: unlimited
//! ports; on complete networks one port to send, since each rank sends one message to a neighbour.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 |
//! | blocks through the root's port | N - 1, the lower bound |
//! | blocks of the busiest channel | the most of all dimensions, see below |
//! | hops | the longest route to the root |
//!
//! The last two are those of a [broadcast](crate::algorithm::broadcast::Direct), with later
//! coordinates in place of earlier ones.
//!
//! The root takes time and memory in proportion to N, other ranks O(1).

use crate::algorithm::{About, Algorithm, Claims, is_complete, star};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// The direct algorithm: every rank sends to the root, in one round.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "gather",
    name: "direct",
    summary: "each rank sends its block directly to the root",
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
        star::claims_to_root(problem, 1)
    }

    fn ports(&self, problem: &Problem) -> Ports {
        if is_complete(problem) { Ports::OneSend } else { Ports::Unlimited }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        let end = |peer, sender| End::new(peer, vec![Block::new(sender, root)]);
        let round = if rank == root {
            let receives = problem.all().filter(|&other| other != root).map(|other| end(other, other)).collect();
            RankRound { receives, ..RankRound::default() }
        } else {
            RankRound { sends: vec![end(root, rank)], ..RankRound::default() }
        };
        Box::new((problem.ranks() > 1).then_some(round).into_iter())
    }
}
