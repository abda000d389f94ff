//! Allgather around a ring: every rank forwards the block that it received last.
//!
//! Source: Grama et al., §4.2.1. Needs: nothing; made for rings. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N - 1 |
//! | blocks sent | N - 1, the one-port lower bound |
//! | hops on a ring | N - 1 |
//!
//! A rank takes time and memory in proportion to N.

use crate::algorithm::alltoall::claims_of_a_ring;
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// The ring algorithm, in one direction, with the ranks in order.
#[derive(Clone, Copy, Debug)]
pub struct Ring;

static ABOUT: About = About {
    collective: "allgather",
    name: "ring",
    summary: "in one direction around the ring of ranks; each rank forwards the block that it received last",
    source: "Grama et al., 4.2.1",
    needs: "nothing; made for rings",
    claims: "N - 1 start-ups, N - 1 blocks, on a ring N - 1 hops; contention-free on lines, rings, complete networks and products of them",
    ports: Ports::One,
};

impl Algorithm for Ring {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        claims_of_a_ring(problem, Volume::from(problem.ranks() as u64 - 1), |circle| {
            Some((circle.chain, circle.chain.into()))
        })
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        around(problem.ranks(), rank, |from| vec![Block::from(from)])
    }
}

/// Returns the rounds of a rank in which the blocks of all ranks go around the ring of ranks.
pub(in crate::algorithm) fn around(
    size: usize,
    rank: Rank,
    blocks: impl Fn(Rank) -> Vec<Block> + Send + 'static,
) -> Share {
    let at = move |offset: usize| Rank::new((rank.index() + offset) % size);
    Box::new((1..size).map(move |i| RankRound {
        sends: vec![End::new(at(1), blocks(at(size + 1 - i)))],
        receives: vec![End::new(at(size - 1), blocks(at(size - i)))],
        ..RankRound::default()
    }))
}
