//! Allreduce by recursive doubling, in rank order: neighbouring ranges of ranks exchange and
//! combine.
//!
//! Source: Grama et al., §4.3 (Algorithm 4.7 with a sum in place of the union); folding the ranks
//! beyond a power of two is common practice. Needs: nothing. Model: one-port. Combines
//! contributions in rank order, so operations need not commute; all ranks get the same bits.
//!
//! Let p = 2^q be the largest power of two up to N:
//!
//! | term | N = p | otherwise |
//! |---|---|---|
//! | startups | q | q + 2 |
//! | blocks sent | q | q + 2 |
//! | hops on a cube | q | |
//!
//! A rank takes time and memory in proportion to log N.
//!
//! # Idea
//!
//! The first 2 (N - p) ranks fold in pairs: the even rank sends its contribution to the odd rank,
//! which represents both. The p representatives then double: in round k, each exchanges with the
//! one whose index differs in bit k. The two sides represent neighbouring ranges of ranks, so
//! combining left or right keeps the order. At the end the odd ranks send the result back.

use crate::algorithm::fold::Fold;
use crate::algorithm::loads::{Pattern, with_counted, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Ports, Problem, Share};

/// Recursive doubling, in rank order.
///
/// On a cube of three dimensions:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/allreduce.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct RecursiveDoubling;

static ABOUT: About = About {
    collective: "allreduce",
    name: "recursive-doubling",
    summary: "adjacent ranges of ranks exchange and combine their partial results, in rank order",
    source: "Grama et al., 4.3",
    needs: "nothing",
    claims: "floor(log N) start-ups and blocks, and 2 more unless N is a power of two; on a cube log N hops; contention-free on cubes and complete networks; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for RecursiveDoubling {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks();
        let (doublings, folds) = (u64::from(ranks.ilog2()), if ranks.is_power_of_two() { 0 } else { 2 });
        // A representative of two ranks sends the result back once.
        let sent = doublings + folds / 2;
        let claims = Claims {
            messages: Some(sent),
            volume: Some(Volume::from(sent)),
            combined: Some(Volume::from(doublings + folds / 2)),
            ..Claims::of_single_blocks(doublings + folds, is_complete(problem) || is_cube(problem))
        };
        if folds > 0 {
            return with_counted(claims, problem, |rank| self.rounds(problem, rank));
        }
        let round = |k: u32| Some((Pattern::bit(problem, k)?, Volume::from(1)));
        with_loads(claims, (0..ranks.ilog2()).map(round).collect::<Option<Vec<_>>>())
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Box::new(Fold::new(problem.ranks()).rounds(Block::RESULT).map(move |round| round(rank)))
    }
}
