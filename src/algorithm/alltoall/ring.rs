//! Alltoall around a ring, in one direction: every rank forwards the blocks that are not for
//! itself.
//!
//! Source: Grama et al., §4.5.1 (Algorithm 4.9's ring, equation 4.7). Needs: nothing; made for
//! rings, where neighbours in rank are neighbours in the network. Model: one-port,
//! store-and-forward.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N - 1 |
//! | blocks sent | N (N - 1) / 2 |
//! | hops on a ring | N - 1 |
//!
//! A rank takes time and memory in proportion to the N (N - 1) / 2 blocks that it sends.
//!
//! # Idea
//!
//! Round i moves every undelivered block one rank further. The blocks that a rank sends in round i
//! come from the rank i - 1 behind it, for the N - i ranks ahead that this source has not reached
//! yet; the first of these is the receiver itself.

use super::digits::{Digit, Digits, Slot, Walk, Way};
use crate::algorithm::loads::{Circle, Pattern};
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::Volume;
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Placement, Ports, Problem, Share};

/// The ring algorithm, in one direction, with the ranks in order.
///
/// On a ring of six; each rank keeps one of the blocks that it receives and forwards the rest:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/ring.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct Ring;

static ABOUT: About = About {
    collective: "alltoall",
    name: "ring",
    summary: "in one direction around the ring of ranks; each rank forwards the blocks of others",
    source: "Grama et al., 4.5.1",
    needs: "nothing; made for rings",
    claims: "N - 1 start-ups, N (N - 1) / 2 blocks, on a ring N - 1 hops; contention-free on lines, rings, complete networks and products of them",
    ports: Ports::One,
};

impl Algorithm for Ring {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let rounds = problem.ranks() as u64 - 1;
        claims_of_a_ring(problem, Volume::from(rounds * (rounds + 1) / 2), |circle| {
            Some((circle.chain, circle.falling))
        })
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        round_the_ranks(problem, Walk::OneWay).share(&Placement::identity(problem.ranks()), rank)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        round_the_ranks(problem, Walk::OneWay).amounts(&Placement::identity(problem.ranks()), rank)
    }
}

/// A [walk through one digit](super::digits): the whole rank.
pub(super) fn round_the_ranks(
    problem: &Problem,
    walk: Walk,
) -> Digits<impl Fn(&[usize]) -> Vec<Digit> + Send + 'static> {
    let base = problem.ranks();
    let digit = Digit { dimension: 0, unit: 1, base, walk, way: Way::Default, up: true };
    let slot = Slot { phase: 0, rounds: walk.rounds(base) };
    Digits::new(&[base], vec![slot], move |_| vec![digit])
}

/// Returns the claims for blocks that are forwarded from rank to rank around a ring. It is
/// contention-free on complete networks, and on products of lines, rings and complete networks:
/// messages back from the end of a line use channels that no other message uses.
pub(in crate::algorithm) fn claims_of_a_ring(
    problem: &Problem,
    sent: Volume,
    chained: impl Fn(&Circle) -> Option<(u64, Volume)>,
) -> Claims {
    claims_around_a_ring(problem, problem.ranks() as u64 - 1, sent, chained)
}

/// Returns the claims as [`claims_of_a_ring`], for any number of rounds.
pub(in crate::algorithm) fn claims_around_a_ring(
    problem: &Problem,
    rounds: u64,
    sent: Volume,
    chained: impl Fn(&Circle) -> Option<(u64, Volume)>,
) -> Claims {
    let single = Claims {
        transmission: Some(sent),
        volume: Some(sent),
        ..Claims::of_single_blocks(rounds, is_complete(problem))
    };
    let Some(circle) = Circle::of(problem) else { return single };
    let chained = chained(&circle);
    let Pattern { load, hops } = circle.pattern;
    Claims {
        hops: Some(hops * rounds),
        channel_transmission: Some(sent * load),
        // Every round takes the same route, so each block takes it as often as it is sent.
        forwarded_transmission: Some(sent * hops),
        end_transmission: Some(sent * hops.min(2)),
        chained_hops: chained.map(|(hops, _)| hops),
        chained_forwarded: chained.map(|(_, forwarded)| forwarded),
        contention_free: load <= 1,
        ..single
    }
}
