//! Allgather by recursive doubling: in round k, sub-cubes of 2^k ranks exchange all blocks that
//! they hold.
//!
//! Source: Grama et al., §4.2.3 (Algorithm 4.7); folding the ranks beyond a power of two is common
//! practice. Needs: nothing. Model: one-port.
//!
//! Let p = 2^q be the largest power of two up to N, and e = N - p:
//!
//! | term | N = p | otherwise |
//! |---|---|---|
//! | startups | q | q + 2 |
//! | blocks sent | N - 1, the one-port lower bound | N + p - 1 + the sum of min(2^k, e), k < q |
//! | hops on a cube | q | |
//!
//! A rank takes time and memory in proportion to N.
//!
//! # Idea
//!
//! The first 2 e ranks fold in pairs: the even rank sends its block to the odd rank, which
//! represents both. The p representatives then double: in round k, each exchanges with the one
//! whose index differs in bit k. At the end the odd ranks send all other blocks back.

use std::ops::Range;

use crate::algorithm::fold::Fold;
use crate::algorithm::loads::{Pattern, with_counted, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, Combine, End, Ports, Problem, RankAmounts, RankRound, Share};

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
    summary: "pairs of ranks join until a power of two remains; in round k each exchanges all its blocks with the one that differs in bit k",
    source: "Grama et al., 4.2.3",
    needs: "nothing",
    claims: "for powers of two log N start-ups, N - 1 blocks, on a cube log N hops; otherwise floor(log N) + 2 start-ups, up to 2.5 N blocks; contention-free on cubes and complete networks",
    ports: Ports::One,
};

impl Algorithm for RecursiveDoubling {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let fold = Fold::new(problem.ranks());
        let (doublings, others) = (fold.doublings, problem.ranks() as u64 - 1);
        let apart = is_complete(problem) || is_cube(problem);
        if fold.pairs == 0 {
            let sent = Some(Volume::from(others));
            let claims =
                Claims { transmission: sent, volume: sent, ..Claims::of_single_blocks(doublings.into(), apart) };
            let round = |k: u32| Some((Pattern::bit(problem, k)?, Volume::from(1 << k)));
            return with_loads(claims, (0..doublings).map(round).collect::<Option<Vec<_>>>());
        }
        // The first representative always has the most blocks, and sends the others back.
        let sent = (0..doublings).map(|k| known(fold, 0, k).len() as u64).sum::<u64>() + others;
        let claims = Claims {
            transmission: Some(Volume::from(1 + sent)),
            messages: Some(u64::from(doublings) + 1),
            volume: Some(Volume::from(sent)),
            ..Claims::of_single_blocks(u64::from(doublings) + 2, apart)
        };
        with_counted(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (fold, ranks) = (Fold::new(problem.ranks()), problem.ranks());
        let me = fold.folded_rank(rank);
        let doubling = move |k: u32| {
            let Some(me) = me else { return RankRound::default() };
            let peer = me ^ (1 << k);
            let end = |sender: usize| {
                let blocks = known(fold, sender, k).map(|source| Block::from(Rank::new(source))).collect();
                vec![End::new(fold.rank(peer), blocks)]
            };
            RankRound::new(end(me), end(peer))
        };
        let giving = fold.giving_blocks(rank, Combine::Replace, |other| vec![Block::from(other)]);
        let back = move || {
            let all = (0..ranks).map(Rank::new);
            fold.handing_back_blocks(rank, |other| all.filter(|&source| source != other).map(Block::from).collect())
        };
        let back = std::iter::once_with(back).flatten();
        Box::new(giving.into_iter().chain((0..fold.doublings).map(doubling)).chain(back))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let (fold, others) = (Fold::new(problem.ranks()), problem.ranks() as u64 - 1);
        let me = fold.folded_rank(rank);
        let message = |to: Rank, blocks: u64| vec![Amount::new(to, Volume::from(blocks))];
        let doubling = move |k: u32| {
            me.map_or_else(RankAmounts::default, |me| {
                let blocks = known(fold, me, k).len() as u64;
                RankAmounts::new(message(fold.rank(me ^ (1 << k)), blocks), 1)
            })
        };
        let in_pair = |sends: bool, blocks: u64| match rank.index() {
            r if r >= 2 * fold.pairs => RankAmounts::default(),
            r if sends => RankAmounts::new(message(Rank::new(r ^ 1), blocks), 0),
            _ => RankAmounts::new(vec![], 1),
        };
        let (giving, back) = (in_pair(me.is_none(), 1), in_pair(me.is_some(), others));
        let folded = |round: RankAmounts| (fold.pairs > 0).then_some(round);
        Box::new(folded(giving).into_iter().chain((0..fold.doublings).map(doubling)).chain(folded(back)))
    }
}

/// Returns the ranks whose blocks a representative holds before round `k`: those of its sub-cube of
/// 2^k representatives.
fn known(fold: Fold, folded_rank: usize, k: u32) -> Range<usize> {
    let first = folded_rank >> k << k;
    fold.represented(first..first + (1 << k))
}
