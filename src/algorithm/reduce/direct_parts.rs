//! Reduce of parts, directly: every rank combines its part of all contributions, and sends it to
//! the root.
//!
//! Source: R. Rabenseifner, *Optimization of collective reduction operations*, ICCS 2004, with
//! direct messages in place of halving. Needs: nothing. Model: unlimited ports. Combines in rank
//! order, so operations need not commute.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 2 (0 for one rank) |
//! | blocks through the root's port | 2 (N - 1) / N |
//! | blocks of the busiest channel | those of [reduce-scatter](crate::algorithm::reduce_scatter::Direct) and [gather](crate::algorithm::gather::Direct), by N |
//! | messages a rank | N |
//! | blocks combined | (N - 1) / N, the lower bound |
//!
//! A rank takes time and memory in proportion to N. Among threads a rank combines its part straight
//! from the memory of the others.

use crate::algorithm::{About, Algorithm, Claims, pairs, star};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// Direct reduce-scatter and direct gather, of a part for each rank.
#[derive(Clone, Copy, Debug)]
pub struct DirectParts;

static ABOUT: About = About {
    collective: "reduce",
    name: "direct-parts",
    summary: "each rank combines its part of all vectors, and sends it to the root",
    source: "Rabenseifner 2004, with direct messages",
    needs: "nothing",
    claims: "2 start-ups, 1 / N block a message, N messages a rank; contention-free on complete networks; combines in rank order",
    ports: Ports::Unlimited,
};

impl Algorithm for DirectParts {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let (ranks, others) = (problem.ranks() as u64, problem.ranks() as u64 - 1);
        let one = others.min(1);
        let (exchange, gather) = (pairs::claims(problem, 1, ranks), star::claims_to_root(problem, ranks));
        let both = |of: fn(&Claims) -> Option<Volume>| Some(of(&exchange)? + of(&gather)?);
        Claims {
            startups: Some(2 * one),
            transmission: Some(Volume::new(2 * one, ranks)),
            port_transmission: Some(Volume::new(2 * others, ranks)),
            handled: Some(3 * others + one),
            messages: Some(others + one),
            volume: Some(Volume::new(others + one, ranks)),
            combined: Some(Volume::new(others, ranks)),
            hops: exchange.hops.zip(gather.hops).map(|(exchange, gather)| exchange + gather),
            channel_transmission: both(|claims| claims.channel_transmission),
            forwarded_transmission: both(|claims| claims.forwarded_transmission),
            end_transmission: both(|claims| claims.end_transmission),
            ..exchange
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (ranks, root) = (problem.ranks(), problem.collective().root().unwrap_or_default());
        let part = pairs::part(ranks, Block::result(root));
        let gathering = move |combining| {
            let end = |peer, of| End::new(peer, vec![part(of)]);
            let gathering = match rank == root {
                true => RankRound::new(vec![], pairs::peers(ranks, root).map(|other| end(other, other)).collect()),
                false => RankRound::new(vec![end(root, rank)], vec![]),
            };
            [combining, gathering]
        };
        Box::new(pairs::combining_round(ranks, rank, part).flat_map(gathering))
    }
}
