//! Reduce-scatter on grids, one dimension after the other: around the rings of the last dimension,
//! then with the results that are left around those of the one before, and so on. A line is a
//! folded ring: up over the even coordinates, and down over the odd ones. A complete row counts as
//! a dimension for each prime factor of its extent.
//!
//! Source: Grama et al., problems 4.4 and 4.8 (its all-to-all reduction, the dual of the allgather
//! of §4.2.2). Needs: a product of lines, rings, windows and complete networks, with rank i on node
//! i; an operation that commutes, unless all these dimensions have 2 ranks. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | the sum over dimensions of n - 1, n the extent; on a cube log N |
//! | blocks sent | N - 1, the one-port lower bound |
//! | hops | as many as start-ups; along a line of 3 or more nodes twice as many |
//!
//! A rank takes time and memory in proportion to N. Without contention on these networks, by
//! default routes.
//!
//! # Idea
//!
//! In a ring, the result of each place sets out at the next place and goes once around, over all
//! contributors. After the rings of a dimension, a rank has the results of ranks with its own
//! coordinate. A ring of 2 ranks combines neighbouring ranges of ranks, in rank order. A longer one
//! cannot keep it with single results: see [`Ring`](super::Ring).

use crate::algorithm::halving::lacks;
use crate::algorithm::rows::{self, RingAxis, rows};
use crate::algorithm::{About, Algorithm, Claims, no_free_order};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, Combine, End, Ports, Problem, RankAmounts, RankRound, Share};

/// The ring algorithm along one dimension after the other, the last one first.
#[derive(Clone, Copy, Debug)]
pub struct ByDimension;

static ABOUT: About = About {
    collective: "reduce_scatter",
    name: "by-dimension",
    summary: "around the rings of one dimension after the other; each node adds its contributions to what it received last",
    source: "Grama et al., problems 4.4 and 4.8",
    needs: "a product of lines, rings, windows and complete networks, with rank i on node i; an operation that commutes, for extents above 2",
    claims: "the sum of n - 1 over dimensions in start-ups, N - 1 blocks, as many hops as start-ups, twice that along lines; contention-free",
    ports: Ports::One,
};

/// Returns the number of results in a message along a dimension.
fn results(row: RingAxis, ranks: usize) -> usize {
    ranks / row.width()
}

impl Algorithm for ByDimension {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let longest = || rows(problem).into_iter().map(RingAxis::extent).max().unwrap_or(1);
        lacks(problem).or_else(|| no_free_order(problem, longest()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks();
        let claims = rows::claims(&rows(problem), 1, |row| Volume::from(results(row, ranks) as u64));
        Claims { combined: claims.transmission, ..claims }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (size, me) = (problem.ranks(), rank.index());
        let along = move |row: RingAxis| {
            let (extent, place) = (row.extent(), row.place(me));
            let end = move |sender: Rank, receiver: Rank, peer: Rank, of: usize| {
                let combine = Combine::in_rank_order(sender, receiver);
                // The ranks that agree with the ring in the dimensions before, and are at this
                // place.
                let first = row.coordinate(of) * row.stride + me % row.stride;
                let results = (first..size).step_by(row.width()).map(|result| Block::result(Rank::new(result)));
                vec![End::new(peer, results.collect()).combined(combine)]
            };
            let (next, previous) = (row.at(me, place + 1), row.at(me, place + extent - 1));
            (1..extent).map(move |i| {
                let (sent, received) = (place + extent - i, place + 2 * extent - 1 - i);
                RankRound::new(end(rank, next, next, sent), end(previous, rank, previous, received))
            })
        };
        Box::new(rows(problem).into_iter().flat_map(along))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let (size, me) = (problem.ranks(), rank.index());
        Box::new(rows(problem).into_iter().flat_map(move |row| {
            let results = Volume::from(results(row, size) as u64);
            let to = Amount::new(row.at(me, row.place(me) + 1), results);
            (1..row.extent()).map(move |_| RankAmounts::new(vec![to.clone()], 1).combining(results))
        }))
    }
}
