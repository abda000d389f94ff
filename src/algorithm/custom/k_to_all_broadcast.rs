//! K-to-all broadcast: k ranks send one block each to all ranks, in doubling sub-cubes.
//!
//! Source: Grama et al., problem 4.16. Needs: a [`Custom::k_to_all_broadcast`] among 2^d ranks.
//! Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | log N |
//! | blocks sent | at most k log(N/k) + k - 1, for k a power of two: so many if the sources are consecutive and the first is divisible by k |
//! | hops on a cube | log N |
//!
//! A rank takes time and memory in proportion to N. Without contention on cubes and complete
//! networks.
//!
//! # Idea
//!
//! In round i, sub-cubes of 2^i ranks exchange all blocks that they have: at most 2^i, and at most
//! k.

use super::{is_other, sources};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::collective::Custom;
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// Recursive doubling of the blocks of some ranks.
#[derive(Clone, Copy, Debug)]
pub struct KToAllBroadcast;

static ABOUT: About = About {
    collective: "custom",
    name: "k-to-all-broadcast",
    summary: "round i: each rank exchanges all blocks that it holds with the rank that differs in bit i",
    source: "Grama et al., problem 4.16",
    needs: "a k-to-all broadcast among a number of ranks that is a power of two",
    claims: "log N start-ups, at most k log(N/k) + k - 1 blocks; contention-free on cubes and complete networks",
    ports: Ports::One,
};

/// Returns the number of sources in each sub-cube of 2^i ranks.
fn in_sub_cubes(problem: &Problem, i: u32) -> Vec<u64> {
    let mut counts = vec![0; problem.ranks() >> i];
    sources(problem).iter().for_each(|source| counts[source.index() >> i] += 1);
    counts
}

impl Algorithm for KToAllBroadcast {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        is_other(problem, "k-to-all broadcast", Custom::k_to_all_broadcast)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let rounds = if sources(problem).is_empty() { 0 } else { problem.ranks().ilog2() };
        let held: Vec<Vec<u64>> = (0..rounds).map(|i| in_sub_cubes(problem, i)).collect();
        let most = held.iter().map(|counts| counts.iter().max().copied().unwrap_or(0)).sum::<u64>();
        let sent = |rank: usize| held.iter().enumerate().map(|(i, counts)| counts[rank >> i]).sum::<u64>();
        let volume = sources(problem).iter().map(|source| sent(source.index())).max().unwrap_or(0);
        Claims {
            transmission: Some(Volume::from(most)),
            volume: Some(Volume::from(volume)),
            ..Claims::of_single_blocks(rounds.into(), is_complete(problem) || is_cube(problem))
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (sources, me) = (sources(problem), rank.index());
        Box::new((0..problem.ranks().ilog2()).map(move |i| {
            let peer = me ^ 1 << i;
            let end = |sender: usize| {
                let held = sources.iter().filter(|source| source.index() >> i == sender >> i);
                let blocks: Vec<Block> = held.map(|&source| Block::from(source)).collect();
                if blocks.is_empty() { vec![] } else { vec![End::new(Rank::new(peer), blocks)] }
            };
            RankRound::new(end(me), end(peer))
        }))
    }
}
