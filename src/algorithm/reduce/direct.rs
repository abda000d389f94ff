//! Direct reduce: every rank sends its contribution to the root, in one round.
//!
//! Source: the collective's definition; "linear" in MPI libraries. Needs: nothing. Model: unlimited
//! ports; on complete networks one port to send, since each rank sends one message to a neighbour.
//! Combines in rank order, so operations need not commute.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 |
//! | blocks through the root's port | N - 1 |
//! | blocks of the busiest channel | the most of all dimensions, see below |
//! | hops | the longest route to the root |
//!
//! The last two are those of a [broadcast](crate::algorithm::broadcast::Direct), with later
//! coordinates in place of earlier ones.
//!
//! The root takes time and memory in proportion to N, other ranks O(1).

use crate::algorithm::{About, Algorithm, Claims, is_complete, star};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, Ports, Problem, RankRound, Share};

/// The direct algorithm: every rank sends to the root, which combines, in one round.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

static ABOUT: About = About {
    collective: "reduce",
    name: "direct",
    summary: "each rank sends its contribution directly to the root",
    source: "the definition",
    needs: "nothing",
    claims: "1 start-up; N - 1 blocks through the root's port; over the busiest channel of a ring fl(N/2) blocks; contention-free where all ranks are neighbours of the root; combines in rank order",
    ports: Ports::Unlimited,
};

impl Algorithm for Direct {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let combined = Some(Volume::from(problem.ranks() as u64 - 1));
        Claims { combined, ..star::claims_to_root(problem, 1) }
    }

    fn ports(&self, problem: &Problem) -> Ports {
        if is_complete(problem) { Ports::OneSend } else { Ports::Unlimited }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        let end = |peer, sender: Rank| {
            let combine = if sender < root { Combine::Left } else { Combine::Right };
            End::new(peer, vec![Block::result(root)]).combined(combine)
        };
        let round = if rank == root {
            // From the root outwards, so that the combination is always of neighbouring ranks.
            let (before, after) = (0..root.index(), root.index() + 1..problem.ranks());
            let senders = before.rev().chain(after).map(Rank::new);
            RankRound::new(vec![], senders.map(|sender| end(sender, sender)).collect())
        } else {
            RankRound::new(vec![end(root, rank)], vec![])
        };
        Box::new((problem.ranks() > 1).then_some(round).into_iter())
    }
}
