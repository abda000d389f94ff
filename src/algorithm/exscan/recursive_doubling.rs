//! Exscan by recursive doubling: in round k, every rank sends the combined contributions of the
//! last 2^k ranks, up to itself, to the rank 2^k further on.
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
//! A rank keeps the combination of the ranks before it. What it sends is that with its own
//! contribution on the right. Both are temporaries, which have the same names on all ranks.

use crate::algorithm::loads::with_counted;
use crate::algorithm::{About, Algorithm, Claims, doublings, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, LocalStep, Ports, Problem, RankRound, Share};

/// Recursive doubling: running combinations are sent over distances that double.
#[derive(Clone, Copy, Debug)]
pub struct RecursiveDoubling;

static ABOUT: About = About {
    collective: "exscan",
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
        let rounds = u64::from(doublings(problem.ranks()));
        // The combinations of what has arrived, and of what is passed on; the first message and the
        // last need only one of the two.
        let combined = Some(Volume::from(2 * rounds.saturating_sub(1)));
        let claims = Claims { combined, ..Claims::of_single_blocks(rounds, is_complete(problem)) };
        with_counted(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        // The combination that a rank sends, and the one that it has of the ranks before it.
        const RUNNING: Block = Block::temporary(0);
        const BEFORE: Block = Block::temporary(1);
        let (size, own, me) = (problem.ranks(), Block::result(rank), rank.index());
        let begin =
            (size > 1).then(|| RankRound::default().with_local(vec![LocalStep::new(own, RUNNING, Combine::Replace)]));
        let last = doublings(size).checked_sub(1);
        let doubling = (0..doublings(size)).map(move |k| {
            let end = |peer| End::new(Rank::new(peer), vec![RUNNING]);
            let from = me.checked_sub(1 << k);
            let (is_first, is_last) = (k == 0, Some(k) == last);
            let mut local = vec![];
            if from.is_some() {
                let combine = if is_first { Combine::Replace } else { Combine::Left };
                local.push(LocalStep::new(RUNNING, BEFORE, combine));
                if !is_last {
                    local.push(LocalStep::new(BEFORE, RUNNING, Combine::Replace));
                    local.push(LocalStep::new(own, RUNNING, Combine::Right));
                }
            }
            if is_last && me > 0 {
                local.push(LocalStep::new(BEFORE, own, Combine::Replace));
            }
            let sends = Some(me + (1 << k)).filter(|&to| to < size).map(end);
            RankRound::new(sends.into_iter().collect(), from.map(end).into_iter().collect()).with_local(local)
        });
        Box::new(begin.into_iter().chain(doubling))
    }
}
