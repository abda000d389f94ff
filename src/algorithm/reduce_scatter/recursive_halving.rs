//! Reduce-scatter by recursive halving: in each round, every rank sends the contributions to half
//! of the results that it still holds.
//!
//! Source: Grama et al., §4.3 (Algorithm 4.7 backwards, with contributions); "recursive halving" in
//! MPI libraries, which take the bits from the highest on; folding the ranks beyond a power of two
//! is common practice. Needs: nothing. Model: one-port. Combines contributions in rank order, so
//! operations need not commute.
//!
//! Let p = 2^q be the largest power of two up to N, and e = N - p:
//!
//! | term | N = p | otherwise |
//! |---|---|---|
//! | startups | q, the one-port lower bound | q + 2 |
//! | blocks sent | N - 1, the one-port lower bound | N + p + the sum of ceil(e / 2^k), k = 1 to q |
//! | hops on a cube | q | |
//!
//! A rank takes time and memory in proportion to N.
//!
//! # Idea
//!
//! The first 2 e ranks fold in pairs: the even rank sends its contributions to all results to the
//! odd rank, which represents both. In round k, representatives whose indices differ in bit k
//! exchange: each keeps the results of those that agree with its own index in bits 0 to k, and
//! sends the others. A representative of two ranks has the results of both. The two have combined
//! neighbouring ranges of ranks, so combining left or right keeps the order. At the end the odd
//! ranks send the even ranks their results.

use crate::algorithm::fold::Fold;
use crate::algorithm::loads::{Pattern, with_counted, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, Ports, Problem, RankRound, Share};

/// Recursive halving, from the lowest bit on.
#[derive(Clone, Copy, Debug)]
pub struct RecursiveHalving;

static ABOUT: About = About {
    collective: "reduce_scatter",
    name: "recursive-halving",
    summary: "pairs of ranks join until a power of two remains; in round k each sends half of its remaining blocks to the one that differs in bit k, in rank order",
    source: "Grama et al., 4.3",
    needs: "nothing",
    claims: "for powers of two log N start-ups, N - 1 blocks, on a cube log N hops; otherwise floor(log N) + 2 start-ups, up to 2 N + log N blocks; contention-free on cubes and complete networks; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for RecursiveHalving {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let (fold, ranks) = (Fold::new(problem.ranks()), problem.ranks() as u64);
        let doublings = fold.doublings;
        let apart = is_complete(problem) || is_cube(problem);
        if fold.pairs == 0 {
            let all = Some(Volume::from(ranks - 1));
            let claims = Claims {
                transmission: all,
                volume: all,
                combined: all,
                ..Claims::of_single_blocks(doublings.into(), apart)
            };
            let round = |k: u32| Some((Pattern::bit(problem, k)?, Volume::from(ranks >> (k + 1))));
            return with_loads(claims, (0..doublings).map(round).collect::<Option<Vec<_>>>());
        }
        // The first representative is always sent the most.
        let halves = (1..=doublings).map(|k| (1_u64 << (doublings - k)) + (fold.pairs as u64).div_ceil(1 << k));
        let combined = ranks + halves.sum::<u64>();
        let claims = Claims {
            transmission: Some(Volume::from(combined + 1)),
            messages: Some(u64::from(doublings) + 1),
            // An even rank sends all contributions, and a representative all but its own.
            volume: Some(Volume::from(ranks)),
            combined: Some(Volume::from(combined)),
            ..Claims::of_single_blocks(u64::from(doublings) + 2, apart)
        };
        with_counted(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (fold, ranks) = (Fold::new(problem.ranks()), problem.ranks());
        let me = fold.folded_rank(rank);
        let halving = move |k: u32| {
            let Some(me) = me else { return RankRound::default() };
            let peer = me ^ (1 << k);
            let end = |sender: usize, receiver: usize| {
                // The results of representatives that agree with the receiver in bits 0 to k.
                let folded = (receiver % (2 << k)..1 << fold.doublings).step_by(2 << k);
                let results = folded.flat_map(|folded| fold.represented(folded..folded + 1));
                let combine = Combine::in_rank_order(sender, receiver);
                let blocks = results.map(|result| Block::result(Rank::new(result))).collect();
                vec![End::new(fold.rank(peer), blocks).combined(combine)]
            };
            RankRound::new(end(me, peer), end(peer, me))
        };
        let all = |_| (0..ranks).map(|result| Block::result(Rank::new(result))).collect();
        let giving = fold.giving_blocks(rank, Combine::Left, all);
        let back = fold.handing_back_blocks(rank, |other| vec![Block::result(other)]);
        Box::new(giving.into_iter().chain((0..fold.doublings).map(halving)).chain(back))
    }
}
