//! Broadcast along a binomial tree: in each round, every rank that has the block sends it to one
//! that does not.
//!
//! Source: Grama et al., §4.1.3 (Algorithm 4.2, with the dimensions in ascending order). Needs:
//! nothing. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | ceil(log N), the one-port lower bound |
//! | blocks sent | ceil(log N) |
//! | hops on a cube | log N |
//!
//! What the busiest channel carries has a formula on products of lines, rings and complete networks
//! whose extents are powers of two. Elsewhere messages are counted for up to some hundred ranks.
//!
//! A rank takes time and memory in proportion to log N.

use crate::algorithm::{About, Algorithm, Claims, doublings, is_complete, is_cube, tree};
use crate::block::Block;
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// A binomial tree: in round k, the 2^k ranks that have the block send it to the next 2^k, counted
/// from the root.
///
/// On a cube of three dimensions:
///
#[cfg_attr(doc, doc = include_str!("../../../doc/binomial.svg"))]
#[derive(Clone, Copy, Debug)]
pub struct Binomial;

static ABOUT: About = About {
    collective: "broadcast",
    name: "binomial",
    summary: "round k: each of the 2^k ranks that have the block sends it to one that does not",
    source: "Grama et al., 4.1.3",
    needs: "nothing",
    claims: "ceil(log N) start-ups and blocks, on a cube log N hops; contention-free on cubes and complete networks",
    ports: Ports::One,
};

impl Algorithm for Binomial {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let apart = is_complete(problem) || is_cube(problem);
        let claims = Claims::of_single_blocks(doublings(problem.ranks()).into(), apart);
        tree::with_broadcast(claims, problem, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        let root = problem.collective().root().unwrap_or_default();
        Box::new((0..doublings(size)).map(move |k| {
            let (to, from) = tree::broadcast(rank.index(), root.index(), size, k);
            let end = |peer| End::new(Rank::new(peer), vec![Block::from(root)]);
            RankRound::new(to.map(end).into_iter().collect(), from.map(end).into_iter().collect())
        }))
    }
}
