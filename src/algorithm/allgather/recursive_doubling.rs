//! Allgather by recursive doubling: in round k, sub-cubes of 2^k ranks exchange all blocks that
//! they hold.
//!
//! Source: Grama et al., §4.2.3 (Algorithm 4.7). Needs: 2^d ranks. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | log N |
//! | blocks sent | N - 1, the one-port lower bound |
//! | hops on a cube | log N |
//!
//! A rank takes time and memory in proportion to N.

use crate::algorithm::loads::{Pattern, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube, no_power_of_two};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Route, Share};

/// Recursive doubling: pairs exchange all blocks that they hold, one cube dimension per round.
///
/// On a cube of four dimensions, the size of messages doubles from round to round:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/recursive-doubling.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct RecursiveDoubling;

static ABOUT: About = About {
    collective: "allgather",
    name: "recursive-doubling",
    summary: "round k: each rank exchanges all blocks that it holds with the rank that differs in bit k",
    source: "Grama et al., 4.2.3",
    needs: "a number of ranks that is a power of two",
    claims: "log N start-ups, N - 1 blocks, on a cube log N hops; contention-free on cubes and complete networks",
    ports: Ports::One,
};

impl Algorithm for RecursiveDoubling {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        no_power_of_two(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks() as u64;
        let apart = is_complete(problem) || is_cube(problem);
        let sent = Some(Volume::from(ranks - 1));
        let claims =
            Claims { transmission: sent, volume: sent, ..Claims::of_single_blocks(ranks.ilog2().into(), apart) };
        let round = |k: u32| Some((Pattern::bit(problem, k)?, Volume::from(1 << k)));
        with_loads(claims, (0..ranks.ilog2()).map(round).collect::<Option<Vec<_>>>())
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Box::new((0..problem.ranks().ilog2()).map(move |k| {
            let peer = Rank::new(rank.index() ^ (1 << k));
            RankRound {
                sends: vec![End::new(peer, known(rank, k))],
                receives: vec![End::new(peer, known(peer, k))],
                ..RankRound::default()
            }
        }))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        Box::new((0..problem.ranks().ilog2()).map(move |k| {
            let peer = Rank::new(rank.index() ^ (1 << k));
            let sends = vec![Amount { peer, volume: Volume::from(1 << k), route: Route::Default }];
            RankAmounts::new(sends, 1)
        }))
    }
}

/// Returns the blocks that a rank holds before round `k`: those of its sub-cube of 2^k ranks.
fn known(rank: Rank, k: u32) -> Vec<Block> {
    let first = rank.index() >> k << k;
    (first..first + (1 << k)).map(|source| Block::from(Rank::new(source))).collect()
}
