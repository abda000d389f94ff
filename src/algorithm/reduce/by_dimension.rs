//! Reduce, one dimension after the other: the
//! reverse of the broadcast
//!
//! Source: Grama et al., §4.1 (the dual of its one-to-all broadcast). Needs: a product of lines,
//! rings and complete networks, with rank i on node i. Model: one-port. Combines in rank order, so
//! operations need not commute.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | the sum over dimensions of ceil(log n), n the extent: ceil(log N) for powers of two |
//! | blocks sent | as many as start-ups, 1 by each rank but the root |
//! | hops on a ring or line of n | n - 1 for powers of two |
//!
//! A rank takes time and memory in proportion to log N. Without contention on these networks, by
//! default routes.

use crate::algorithm::halving::{Handover, NEEDS, TreeCosts, handovers, lacks};
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, Ports, Problem, RankRound, Share};

/// Recursive halving along one dimension after the other, the last one first.
#[derive(Clone, Copy, Debug)]
pub struct ByDimension;

static ABOUT: About = About {
    collective: "reduce",
    name: "by-dimension",
    summary: "along each dimension, the results of the two halves of each range of nodes are combined",
    source: "Grama et al., 4.1",
    needs: NEEDS,
    claims: "the sum of ceil(log n) over dimensions in start-ups and blocks; contention-free; combines in rank order",
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
            combined: Some(Volume::from(costs.rounds)),
            messages: Some(costs.rounds.min(1)),
            volume: Some(Volume::from(costs.rounds.min(1))),
            ..Claims::default()
        })
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        let round = move |handover: Option<Handover>| {
            let Some(handover) = handover else { return RankRound::default() };
            let combine = if handover.is_upwards() { Combine::Right } else { Combine::Left };
            let end = |peer| vec![End::new(peer, vec![Block::result(root)]).combined(combine)];
            let Handover { from, to, .. } = handover;
            if rank == to { RankRound::new(end(from), vec![]) } else { RankRound::new(vec![], end(to)) }
        };
        Box::new(handovers(problem, rank).into_iter().rev().map(round))
    }
}
