//! Reduce-scatter by recursive halving: in each round, every rank sends the contributions to half
//! of the results that it still holds.
//!
//! Source: Grama et al., §4.3 (Algorithm 4.7 backwards, with contributions); "recursive halving" in
//! MPI libraries, which take the bits from the highest on. Needs: 2^d ranks. Model:
//! one-port. Combines contributions in rank order, so operations need not commute.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | log N, the one-port lower bound |
//! | blocks sent | N - 1, the one-port lower bound |
//! | hops on a cube | log N |
//!
//! A rank takes time and memory in proportion to N.
//!
//! # Idea
//!
//! In round k, ranks whose numbers differ in bit k exchange: each keeps the results of ranks that
//! agree with its own number in bits 0 to k, and sends the others. The two have combined
//! neighbouring ranges of ranks, so combining left or right keeps the order.

use crate::algorithm::loads::{Pattern, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube, no_power_of_two};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, Ports, Problem, RankRound, Share};

/// Recursive halving, from the lowest bit on.
#[derive(Clone, Copy, Debug)]
pub struct RecursiveHalving;

static ABOUT: About = About {
    collective: "reduce_scatter",
    name: "recursive-halving",
    summary: "round k: each rank sends half of its remaining blocks to the rank that differs in bit k, in rank order",
    source: "Grama et al., 4.3",
    needs: "a number of ranks that is a power of two",
    claims: "log N start-ups, N - 1 blocks, on a cube log N hops; contention-free on cubes and complete networks; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for RecursiveHalving {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        no_power_of_two(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks();
        let all = Some(Volume::from(ranks as u64 - 1));
        let claims = Claims {
            transmission: all,
            volume: all,
            combined: all,
            ..Claims::of_single_blocks(ranks.ilog2().into(), is_complete(problem) || is_cube(problem))
        };
        let round = |k: u32| Some((Pattern::bit(problem, k)?, Volume::from(ranks as u64 >> (k + 1))));
        with_loads(claims, (0..ranks.ilog2()).map(round).collect::<Option<Vec<_>>>())
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (size, me) = (problem.ranks(), rank.index());
        Box::new((0..size.ilog2()).map(move |k| {
            let peer = me ^ (1 << k);
            let end = |sender: usize, receiver: usize| {
                // The results of ranks that agree with the receiver in bits 0 to k.
                let results = (receiver % (2 << k)..size).step_by(2 << k);
                let combine = if sender < receiver { Combine::Left } else { Combine::Right };
                let blocks = results.map(|result| Block::result(Rank::new(result))).collect();
                End::new(Rank::new(peer), blocks).combined(combine)
            };
            RankRound { sends: vec![end(me, peer)], receives: vec![end(peer, me)], ..RankRound::default() }
        }))
    }
}
