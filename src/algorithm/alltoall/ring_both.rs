//! Alltoall around a ring, in both directions: each block takes the shorter one.
//!
//! Source: Grama et al., §4.5.1 (its last paragraph before the cost analysis). Needs: nothing; made
//! for rings, where neighbours in rank are neighbours in the network. Model: one-port,
//! store-and-forward.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N - 1 |
//! | blocks sent | floor(N^2/4) |
//! | hops on a ring | N - 1 |
//! | hops on a line | (N - 1)^2 |
//!
//! so T = (N - 1) t_s + floor(N^2/4) m t_w: half the transmission of [`ring`](super::Ring). A rank
//! takes time and memory in proportion to the blocks that it sends. With one port, no schedule that
//! forwards blocks between neighbours sends fewer: floor(N^2/4) is the sum of a node's distances to
//! the others.
//!
//! # Idea
//!
//! Blocks for the floor(N/2) ranks ahead go up, the others down. Rounds up and down alternate, so
//! that a rank that can do both at once need not wait: each round depends on the one before the
//! last.

use super::digits::Walk;
use super::ring::round_the_ranks;
use crate::algorithm::loads::{Pattern, with_repeated};
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::Volume;
use crate::ids::Rank;
use crate::vocabulary::{Amounts, Placement, Ports, Problem, Share};

/// The ring algorithm, in both directions, with the ranks in order.
#[derive(Clone, Copy, Debug)]
pub struct RingBoth;

static ABOUT: About = About {
    collective: "alltoall",
    name: "ring-both",
    summary: "in the shorter direction around the ring of ranks; each rank forwards the blocks of others",
    source: "Grama et al., 4.5.1",
    needs: "nothing; made for rings",
    claims: "N - 1 start-ups, floor(N^2/4) blocks, on a ring N - 1 hops; contention-free on rings, lines and complete networks",
    ports: Ports::One,
};

impl Algorithm for RingBoth {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks() as u64;
        let sent = Some(Volume::from(ranks * ranks / 4));
        let single = Claims::of_single_blocks(ranks - 1, is_complete(problem));
        let claims = Claims { transmission: sent, volume: sent, ..single };
        // All rounds up take the same routes, and so do all rounds down. They send 1, 2, .. blocks.
        let [ahead, back] = [ranks / 2, (ranks - 1) / 2];
        let average = |rounds| Volume::new(rounds + 1, 2);
        let rounds = |shift, rounds| Some(((Pattern::rotation(problem, shift)?, average(rounds)), rounds));
        let both = rounds(1 % ranks, ahead).zip(rounds(ranks - 1, back));
        with_repeated(claims, both.map(<[_; 2]>::from))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        round_the_ranks(problem, Walk::BothWays).share(&Placement::identity(problem.ranks()), rank)
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        round_the_ranks(problem, Walk::BothWays).amounts(&Placement::identity(problem.ranks()), rank)
    }
}
