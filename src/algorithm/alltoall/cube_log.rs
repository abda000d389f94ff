//! Alltoall by the dimensions of a cube: in round k, every rank exchanges half of its blocks with
//! the rank whose number differs in bit k.
//!
//! Source: Grama et al., §4.5.3 (the first algorithm, Figure 4.20, equation 4.9). Differs from it:
//! bit 0 is first. Needs: 2^d ranks. Model: one-port.
//!
//! | term | whole schedule | paper |
//! |---|---|---|
//! | startups | log N | equation 4.9 |
//! | blocks sent | (N/2) log N | equation 4.9 |
//! | hops on a cube | log N | |
//! | rearrangements | log N - 1 | §4.5.3 has one more: before the first round |
//!
//! A rank takes time and memory in proportion to the (N/2) log N blocks that it sends.
//! Contention-free on cubes, where every exchange is between neighbours, and on complete networks.
//! Like the other pairwise algorithms it fits other networks too. It sends as many blocks in as
//! many rounds as [`Bruck`](super::Bruck) of radix 2, but with one partner per round instead of
//! two.
//!
//! # Idea
//!
//! Before round k a rank holds, for each of the 2^k ranks whose numbers agree with its own from bit
//! k up, the blocks for the destinations that agree with its own number below bit k. It sends the
//! blocks whose destination differs in bit k.
//!
//! The order of blocks within a message decides the number of memory pieces. Sorted by destination,
//! the blocks for the receiver itself are one run of sources, and so one piece of its output.
//! Blocks to be forwarded lie in scratch, one piece per destination and message.

use crate::algorithm::loads::{Pattern, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube, no_power_of_two};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Route, Share};

/// Pairs exchange half of their blocks, one cube dimension per round.
///
/// On a cube of three dimensions:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/cube-log.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct CubeLog;

static ABOUT: About = About {
    collective: "alltoall",
    name: "cube-log",
    summary: "round k: each rank exchanges half of its blocks with the rank that differs in bit k",
    source: "Grama et al., 4.5.3",
    needs: "a number of ranks that is a power of two",
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
        with_loads(claims, patterns)
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
            RankAmounts { phase: k as usize, ..RankAmounts::new(sends, 1) }
        }))
    }
}

/// Returns the blocks that `from` sends to `to`, which differs in bit `k`: for each destination
/// that agrees with `to` in bits 0 to `k`, `to` first, those of the 2^k sources that agree with
/// `from` from bit `k` up.
fn handed_over(size: usize, from: Rank, to: Rank, k: u32) -> Vec<Block> {
    let first = from.index() >> k << k;
    let destinations = (0..size).step_by(2 << k).map(|ahead| Rank::new((to.index() + ahead) % size));
    destinations.flat_map(|d| (first..first + (1 << k)).map(move |s| Block::new(Rank::new(s), d))).collect()
}
