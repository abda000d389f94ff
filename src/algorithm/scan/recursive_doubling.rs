//! Scan by recursive doubling: in round k, every rank sends the combined contributions of the last
//! 2^k ranks to the rank 2^k further on.
//!
//! Source: Grama et al., §4.3 (prefix sums); the pattern without wrap-around is Hillis & Steele's.
//! Needs: nothing. Model: one-port. Combines in rank order, so operations need not commute.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | ceil(log N) |
//! | blocks sent | ceil(log N) |
//!
//! A rank takes time and memory in proportion to log N. What channels carry is counted for up to
//! some hundred ranks.
//!
//! # Idea
//!
//! A rank's own block is named after its result, `[-1, rank]`, so it cannot be combined at other
//! ranks. The running combination is therefore a temporary, which has the same name on all ranks:
//! it starts as the rank's contribution, is sent, and ends as the result.

use crate::algorithm::loads::with_counted;
use crate::algorithm::{About, Algorithm, Claims, doublings, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, LocalStep, Ports, Problem, RankRound, Share};

/// Recursive doubling: running combinations are sent over distances that double.
#[derive(Clone, Copy, Debug)]
pub struct RecursiveDoubling;

static ABOUT: About = About {
    collective: "scan",
    name: "recursive-doubling",
    summary: "round k: each rank sends the combination of 2^k ranks, up to itself, to the rank 2^k above it",
    source: "Grama et al., 4.3",
    needs: "nothing",
    claims: "ceil(log N) start-ups and blocks; contention-free on complete networks; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for RecursiveDoubling {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let rounds = doublings(problem.ranks()).into();
        let combined = Some(Volume::from(rounds));
        let claims = Claims { combined, ..Claims::of_single_blocks(rounds, is_complete(problem)) };
        with_counted(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        const RUNNING: Block = Block::temporary(0);
        let (size, own, me) = (problem.ranks(), Block::result(rank), rank.index());
        let copy = |from, into| vec![LocalStep { from, into, combine: Combine::Replace }];
        let begin = (size > 1).then(|| RankRound { local: copy(own, RUNNING), ..RankRound::default() });
        let last = doublings(size).checked_sub(1);
        let doubling = (0..doublings(size)).map(move |k| {
            let end = |peer| End::new(Rank::new(peer), vec![RUNNING]).combined(Combine::Left);
            RankRound {
                sends: Some(me + (1 << k)).filter(|&to| to < size).map(end).into_iter().collect(),
                receives: me.checked_sub(1 << k).map(end).into_iter().collect(),
                local: if Some(k) == last { copy(RUNNING, own) } else { vec![] },
                ..RankRound::default()
            }
        });
        Box::new(begin.into_iter().chain(doubling))
    }
}
