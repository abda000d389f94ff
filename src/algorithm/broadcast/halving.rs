//! Broadcast along a tree of halves: the ranks are halved, and one in the half that
//! does not have the block gets it.
//!
//! Source: Grama et al., §4.1.1 and §4.1.4 (Algorithm 4.2: the farthest first), for any
//! number of ranks as in problem 4.1. Needs: nothing; made for balanced trees whose leaves are the
//! ranks. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | ceil(log N), the one-port lower bound |
//! | blocks sent | ceil(log N) |
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
//! [`Binomial`](super::Binomial) begins with neighbours, and its later messages share the links to
//! the root of the tree.

use crate::algorithm::halving::{Handover, along, claims_of_ranks};
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// A tree of halves of the ranks.
#[derive(Clone, Copy, Debug)]
pub struct Halving;

static ABOUT: About = About {
    collective: "broadcast",
    name: "halving",
    summary: "each range of ranks is halved, and a rank in the other half gets the block",
    source: "Grama et al., 4.1.4",
    needs: "nothing; made for balanced trees whose leaves are the ranks",
    claims: "ceil(log N) start-ups and blocks; contention-free on lines, rings, complete networks, cubes and the leaves of balanced trees",
    ports: Ports::One,
};

impl Algorithm for Halving {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        claims_of_ranks(problem, true)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let root = problem.collective().root().unwrap_or_default();
        let round = move |handover: Option<Handover>| {
            let Some(Handover { from, to, .. }) = handover else { return RankRound::default() };
            let end = |peer| vec![End::new(peer, vec![Block::from(root)])];
            if rank == from { RankRound::new(end(to), vec![]) } else { RankRound::new(vec![], end(from)) }
        };
        Box::new(along(problem.ranks(), 1, root.index(), rank).map(round))
    }
}
