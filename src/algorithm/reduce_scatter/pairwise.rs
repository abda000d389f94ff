//! Reduce-scatter by rotation: in round i, every rank sends its contribution to the rank i further
//! on.
//!
//! Source: Grama et al., §4.6 (the circular shifts of its exchange), with results in place of
//! blocks; "pairwise exchange" in MPI libraries. Needs: nothing. Model: one-port. Combines
//! contributions in rank order, so operations need not commute.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N - 1 |
//! | blocks sent | N - 1, the one-port lower bound |
//!
//! A rank takes time and memory in proportion to N.
//!
//! # Idea
//!
//! Contributions reach a rank from the rank before it, then from the one before that, and so on:
//! first those of lower ranks, each combined on the left; then those of higher ranks, from the
//! highest down. The latter are combined separately, each on the left of the previous ones, and
//! finally combined on the right of the result.

use crate::algorithm::loads::{Pattern, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{
    Amount, Amounts, Combine, End, LocalStep, Ports, Problem, RankAmounts, RankRound, Route, Share,
};

/// Pairwise exchange: in round i, every rank sends to the rank i further on.
#[derive(Clone, Copy, Debug)]
pub struct Pairwise;

static ABOUT: About = About {
    collective: "reduce_scatter",
    name: "pairwise",
    summary: "round i: each rank sends the rank i above it (modulo N) the contribution to that rank's result",
    source: "Grama et al., 4.6",
    needs: "nothing",
    claims: "N - 1 start-ups, N - 1 blocks; contention-free on complete networks and cubes; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for Pairwise {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let others = problem.ranks() as u64 - 1;
        // With three ranks or more, some rank joins what is from below and from above at the end.
        let combined = Some(Volume::from(others + u64::from(others > 1)));
        let claims = Claims { combined, ..Claims::of_single_blocks(others, is_complete(problem)) };
        let block = Volume::from(1);
        with_loads(
            claims,
            Pattern::rotations(problem).map(|rounds| rounds.into_iter().map(move |round| (round, block))),
        )
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (size, me) = (problem.ranks(), rank.index());
        // Lower ranks combine it in the temporary.
        let apart = |to| LocalStep { from: Block::result(to), into: from_above(to), combine: Combine::Replace };
        let local = (0..me).map(|to| apart(Rank::new(to))).collect();
        let begin = (size > 1).then(|| RankRound { local, ..RankRound::default() });
        let rotation = (1..size).map(move |i| {
            let (to, from) = ((me + i) % size, (me + size - i) % size);
            let end = |peer: usize, sender: usize, receiver: usize| {
                let result = Rank::new(receiver);
                let block = if sender < receiver { Block::result(result) } else { from_above(result) };
                // The highest rank is the first of the ranks above.
                let combine = if sender == size - 1 { Combine::Replace } else { Combine::Left };
                End::new(Rank::new(peer), vec![block]).combined(combine)
            };
            let last = i == size - 1 && me < size - 1;
            let joined = LocalStep { from: from_above(rank), into: Block::result(rank), combine: Combine::Right };
            RankRound {
                sends: vec![end(to, me, to)],
                receives: vec![end(from, from, me)],
                local: last.then_some(joined).into_iter().collect(),
                ..RankRound::default()
            }
        });
        Box::new(begin.into_iter().chain(rotation))
    }

    // The initial copies would be more than the messages of all ranks.
    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let (size, me) = (problem.ranks(), rank.index());
        let begin = (size > 1).then(RankAmounts::default);
        let rotation = (1..size).map(move |i| {
            let to = Amount { peer: Rank::new((me + i) % size), volume: Volume::from(1), route: Route::Default };
            // The contribution from the highest rank, if it is above, is the first from above.
            let arrived = u64::from((me + size - i) % size != size - 1);
            let joined = u64::from(i == size - 1 && me < size - 1);
            RankAmounts::new(vec![to], 1).combining(Volume::from(arrived + joined))
        });
        Box::new(begin.into_iter().chain(rotation))
    }
}

/// Returns the temporary with the contributions of the ranks above.
fn from_above(rank: Rank) -> Block {
    Block::raw(-2, rank.index() as i32)
}
