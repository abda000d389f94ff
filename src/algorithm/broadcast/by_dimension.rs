//! Broadcast, one dimension after the other: in each
//! round, every rank that has the block sends it halfway to the next one
//!
//! Source: Grama et al., §4.1 (recursive doubling on rings, meshes and hypercubes). Needs: a
//! product of lines, rings, windows and complete networks, with rank i on node i. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | the sum over dimensions of ceil(log n), n the extent: ceil(log N) for powers of two |
//! | blocks sent | as many as start-ups |
//! | hops on a ring or line of n | n - 1 for powers of two |
//!
//! A rank takes time and memory in proportion to log N. Without contention on these networks, by
//! default routes.

use crate::algorithm::halving::{Handover, NEEDS, TreeCosts, handovers, lacks};
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// Recursive doubling along one dimension after the other.
#[derive(Clone, Copy, Debug)]
pub struct ByDimension;

static ABOUT: About = About {
    collective: "broadcast",
    name: "by-dimension",
    summary: "along each dimension, each range of nodes is halved, and a node in the other half gets the block",
    source: "Grama et al., 4.1",
    needs: NEEDS,
    claims: "the sum of ceil(log n) over dimensions in start-ups and blocks; contention-free",
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
            transmission: Some(Volume::from(costs.rounds)),
            forwarded_transmission: Some(Volume::from(costs.hops)),
            end_transmission: Some(Volume::from(costs.ends)),
            messages: Some(costs.sends),
            volume: Some(Volume::from(costs.sends)),
            ..Claims::default()
        })
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        let round = move |handover: Option<Handover>| {
            let Some(Handover { from, to, .. }) = handover else { return RankRound::default() };
            let end = |peer| vec![End::new(peer, vec![Block::from(root)])];
            if rank == from { RankRound::new(end(to), vec![]) } else { RankRound::new(vec![], end(from)) }
        };
        Box::new(handovers(problem, rank).into_iter().map(round))
    }
}
