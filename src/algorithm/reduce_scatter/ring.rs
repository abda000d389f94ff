//! Reduce-scatter around a ring: every rank adds its contribution to what it received last, and
//! forwards it.
//!
//! Source: Grama et al., §4.2.1 (Algorithm 4.5). Needs: an operation that commutes; made for rings.
//! Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N - 1 |
//! | blocks sent | N - 1, the one-port lower bound |
//! | hops on a ring | N - 1 |
//!
//! A rank takes time and memory in proportion to N.
//!
//! # Idea
//!
//! The result of a rank sets out at the next rank and goes once around, over all contributors, to
//! its own rank. So the contributions of higher ranks come before those of lower ones. In rank
//! order they would be two results until the last rank has both.

use crate::algorithm::alltoall::claims_of_a_ring;
use crate::algorithm::{About, Algorithm, Claims, no_free_order};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, Ports, Problem, RankRound, Share};

/// The ring algorithm, in one direction, with the ranks in order.
#[derive(Clone, Copy, Debug)]
pub struct Ring;

static ABOUT: About = About {
    collective: "reduce_scatter",
    name: "ring",
    summary: "in one direction around the ring of ranks; each rank adds its contribution to the result that it received last",
    source: "Grama et al., 4.2.1",
    needs: "an operation that commutes, for more than two ranks; made for rings",
    claims: "N - 1 start-ups, N - 1 blocks, on a ring N - 1 hops; contention-free on lines, rings, complete networks and products of them",
    ports: Ports::One,
};

impl Algorithm for Ring {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        no_free_order(problem, problem.ranks())
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let others = Volume::from(problem.ranks() as u64 - 1);
        let claims = claims_of_a_ring(problem, others, |circle| Some((circle.chain, circle.chain.into())));
        Claims { combined: Some(others), ..claims }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        around(problem.ranks(), rank, |of| vec![Block::result(of)])
    }
}

/// Returns the rounds of a rank in which the results of all ranks go around the ring of ranks, each
/// from the next rank to its own.
pub(in crate::algorithm) fn around(
    size: usize,
    rank: Rank,
    results: impl Fn(Rank) -> Vec<Block> + Send + 'static,
) -> Share {
    let me = rank.index();
    let at = move |offset: usize| Rank::new((me + offset) % size);
    Box::new((1..size).map(move |i| {
        let end = |sender: usize, receiver: usize, of: Rank, peer: Rank| {
            let combine = Combine::in_rank_order(sender, receiver);
            vec![End::new(peer, results(of)).combined(combine)]
        };
        let (next, previous) = (at(1), at(size - 1));
        RankRound::new(
            end(me, next.index(), at(size - i), next),
            end(previous.index(), me, at(2 * size - 1 - i), previous),
        )
    }))
}
