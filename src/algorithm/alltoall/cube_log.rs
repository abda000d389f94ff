//! Alltoall by the dimensions of a cube: in round k everyone exchanges half of what it holds across
//! bit k.
//!
//! Source: Grama et al., §4.5.3 (the first algorithm, Figure 4.20, equation 4.9). Differs from it:
//! bit 0 is first. Needs: a power of two of ranks. Model: one-port.
//!
//! | term | whole schedule | paper |
//! |---|---|---|
//! | startups | log N | equation 4.9 |
//! | blocks sent | (N/2) log N | equation 4.9 |
//! | hops on a cube | log N | |
//! | rearrangements | log N - 1 | §4.5.3 has one more: before the first round |
//!
//! A rank's own time and memory are in proportion to the (N/2) log N blocks that it sends.
//! Contention-free on cubes, where every exchange is between neighbours, and on complete networks.
//! It is offered on other networks too, like the other algorithms of pairs: where start-ups are
//! dear it is what [`Bruck`](super::Bruck) of radix 2 is for any number of ranks, with as many
//! blocks in as many rounds, but with one partner a round instead of two.
//!
//! # Idea
//!
//! Before round k a rank holds, for each of the 2^k ranks whose numbers agree with its own from bit
//! k up, the blocks for those destinations that agree with its own below bit k: the sources' low
//! bits are done, the destinations' high bits are still to come. It hands over those whose
//! destination differs in bit k.
//!
//! The order within a message decides how many pieces of memory it is. Destination by destination,
//! what comes for the receiver itself is one run of sources and lands in its output as one piece;
//! what goes on lies in scratch so that the blocks for one destination are one piece in each
//! message they came by.

use crate::algorithm::loads::Pattern;
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube, no_power_of_two};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Route, Share};

/// Exchanges of half of everything, dimension after dimension of a cube.
///
/// On a cube of three dimensions:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/cube-log.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct CubeLog;

static ABOUT: About = About {
    collective: "alltoall",
    name: "cube-log",
    summary: "round k: exchange half of all one holds with the rank whose number differs in bit k",
    source: "Grama et al., 4.5.3",
    needs: "a power of two of ranks",
    claims: "log N start-ups, (N/2) log N blocks, log N - 1 rearrangements; on a cube log N hops; contention-free on cubes and complete networks",
    ports: Ports::One,
};

impl Algorithm for CubeLog {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        no_power_of_two(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks() as u64;
        let rounds = u64::from(ranks.ilog2());
        let half = Volume::from(ranks / 2);
        let sent = Some(half * rounds);
        let claims = Claims {
            transmission: sent,
            volume: sent,
            rearrangements: Some(rounds.saturating_sub(1)),
            ..Claims::of_single_blocks(rounds, is_complete(problem) || is_cube(problem))
        };
        let patterns: Option<Vec<_>> = (0..ranks.ilog2()).map(|k| Some((Pattern::bit(problem, k)?, half))).collect();
        claims.routed(patterns)
    }

    fn phases(&self, problem: &Problem) -> Vec<String> {
        (0..problem.ranks().ilog2()).map(|k| format!("bit {k}")).collect()
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        Box::new((0..size.ilog2()).map(move |k| {
            let peer = Rank::new(rank.index() ^ (1 << k));
            RankRound {
                phase: k as usize,
                sends: vec![End::new(peer, handed_over(size, rank, peer, k))],
                receives: vec![End::new(peer, handed_over(size, peer, rank, k))],
                ..RankRound::default()
            }
        }))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let size = problem.ranks();
        Box::new((0..size.ilog2()).map(move |k| {
            let peer = Rank::new(rank.index() ^ (1 << k));
            let sends = vec![Amount { peer, volume: (size as u64 / 2).into(), route: Route::Default }];
            RankAmounts { phase: k as usize, sends, receives: 1 }
        }))
    }
}

/// What `from` sends to `to`, which differs in bit `k`: for each destination that agrees with `to`
/// up to this bit, `to` itself first, the blocks of the 2^k sources that agree with `from` from
/// this bit up.
fn handed_over(size: usize, from: Rank, to: Rank, k: u32) -> Vec<Block> {
    let first = from.index() >> k << k;
    let destinations = (0..size).step_by(2 << k).map(|ahead| Rank::new((to.index() + ahead) % size));
    destinations.flat_map(|d| (first..first + (1 << k)).map(move |s| Block::new(Rank::new(s), d))).collect()
}
