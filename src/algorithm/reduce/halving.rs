//! Reduce along a tree of halves: the results of the two halves of each range of
//! ranks are combined.
//!
//! Source: Grama et al., §4.1.1 and §4.1.4 (Algorithm 4.3: the nearest first), for any
//! number of ranks as in problem 4.1. Needs: nothing; made for balanced trees whose leaves are the
//! ranks. Model: one-port. Combines in rank order, so operations need not commute.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | ceil(log N), the one-port lower bound |
//! | blocks sent | ceil(log N), 1 by each rank but the root |
//!
//! A rank takes time and memory in proportion to log N. Without contention on lines, rings and
//! complete networks, on products of these whose extents are powers of two, and on any tree whose
//! leaves, in order, are the ranks. On other products, [`ByDimension`](super::ByDimension) takes
//! shorter routes.
//!
//! # Idea
//!
//! The ranks are halved again and again, and messages stay within their range. In a balanced binary
//! tree of 2^d leaves the ranges of a round are the leaves of subtrees, which share no link.

use crate::algorithm::halving::{Handover, along, claims_of_ranks};
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, Ports, Problem, RankRound, Share};

/// A tree of halves of the ranks.
#[derive(Clone, Copy, Debug)]
pub struct Halving;

static ABOUT: About = About {
    collective: "reduce",
    name: "halving",
    summary: "the results of the two halves of each range of ranks are combined",
    source: "Grama et al., 4.1.4",
    needs: "nothing; made for balanced trees whose leaves are the ranks",
    claims: "ceil(log N) start-ups and blocks; contention-free on lines, rings, complete networks, cubes and the leaves of balanced trees; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for Halving {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let claims = claims_of_ranks(problem, false);
        Claims { combined: claims.startups.map(Volume::from), ..claims }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        let round = move |handover: Option<Handover>| {
            let Some(handover) = handover else { return RankRound::default() };
            let combine = if handover.is_upwards() { Combine::Right } else { Combine::Left };
            let end = |peer| vec![End::new(peer, vec![Block::result(root)]).combined(combine)];
            let Handover { from, to, .. } = handover;
            if rank == to { RankRound::new(end(from), vec![]) } else { RankRound::new(vec![], end(to)) }
        };
        Box::new(along(problem.ranks(), 1, root.index(), rank).rev().map(round))
    }
}
