//! Scatter, one dimension after the other: in each
//! round, every rank with blocks for others forwards those for half of a range
//!
//! Source: Grama et al., §4.4. Needs: a product of lines, rings, windows and complete networks,
//! with rank i on node i. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | the sum over dimensions of ceil(log n), n the extent: ceil(log N) for powers of two |
//! | blocks sent | N - 1 by the root; for powers of two N - 1 in the sum of all rounds |
//! | hops on a ring or line of n | n - 1 for powers of two |
//!
//! A rank takes time and memory in proportion to log N and to the blocks
//! that pass through it. Without contention on these networks, by
//! default routes.

use crate::algorithm::halving::{Handover, NEEDS, TreeCosts, handovers, lacks};
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// Recursive halving along one dimension after the other.
#[derive(Clone, Copy, Debug)]
pub struct ByDimension;

static ABOUT: About = About {
    collective: "scatter",
    name: "by-dimension",
    summary: "along each dimension, each range of nodes is halved, and a node in the other half gets the blocks for that",
    source: "Grama et al., 4.4",
    needs: NEEDS,
    claims: "the sum of ceil(log n) over dimensions in start-ups, for powers of two N - 1 blocks; contention-free",
    ports: Ports::One,
};

impl Algorithm for ByDimension {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        TreeCosts::claims(problem, |costs| Claims {
            transmission: Some(Volume::from(costs.handed)),
            forwarded_transmission: Some(Volume::from(costs.forwarded)),
            end_transmission: Some(Volume::from(costs.forwarded_at_ends)),
            messages: Some(costs.sends),
            // The root sends all but its own block.
            volume: Some(Volume::from(problem.ranks() as u64 - 1)),
            ..Claims::default()
        })
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        let round = move |handover: Option<Handover>| {
            let Some(Handover { from, to, below }) = handover else { return RankRound::default() };
            let blocks: Vec<Block> = below.map(|receiver| Block::new(root, Rank::new(receiver))).collect();
            let end = |peer| vec![End::new(peer, blocks)];
            if rank == from { RankRound::new(end(to), vec![]) } else { RankRound::new(vec![], end(from)) }
        };
        Box::new(handovers(problem, rank).into_iter().map(round))
    }
}
