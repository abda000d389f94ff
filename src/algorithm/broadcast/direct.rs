//! Direct broadcast: the root sends the block to every rank, in one round.
//!
//! Source: the collective's definition; "linear" in MPI libraries. Needs: nothing. Model: unlimited
//! ports; on complete networks several ports with the same value, the block.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 1 (0 for one rank) |
//! | blocks through the root's port | N - 1 |
//! | blocks of the busiest channel | the most of all dimensions, see below |
//! | hops | the longest route from the root |
//!
//! The last two are formulas on products of lines, rings and complete networks with a rank on every
//! node, by default routes; elsewhere they are counted for up to some hundred ranks. Along a
//! dimension of k nodes, a channel carries at most m blocks for each choice of earlier coordinates:
//! m is 1 on a complete network, fl(k/2) on a ring, and on a line the number of nodes on the longer
//! side of the root.
//!
//! The root takes time and memory in proportion to N, other ranks O(1). Among threads all ranks
//! copy from the root's memory at the same time.

use crate::algorithm::{About, Algorithm, Claims, is_complete, star};
use crate::block::Block;
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

    fn ports(&self, problem: &Problem) -> Ports {
        if is_complete(problem) { Ports::SameValue } else { Ports::Unlimited }
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
