//! Reduce along a binomial tree, in rank order: in each round, neighbouring ranges of ranks are
//! combined.
//!
//! Source: Grama et al., §4.1 (the dual of its one-to-all broadcast). Needs: nothing. Model:
//! one-port. Combines in rank order, so operations need not commute.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | ceil(log N), the one-port lower bound |
//! | blocks sent | ceil(log N), 1 by each rank but the root |
//! | hops on a cube | log N |
//!
//! Without contention on products of lines, rings and complete networks whose extents are powers of
//! two. Elsewhere messages are counted for up to some hundred ranks.
//!
//! A rank takes memory in proportion to log N, and time in proportion to its square.
//!
//! # Idea
//!
//! After k rounds, one rank represents each range of 2^k ranks. In round k, of two neighbouring
//! ranges one representative sends to the other, which combines from the left or the right. The
//! representative is the rank whose lowest k bits are the root's, where there is one. So the last
//! is the root, whichever it is, and on a cube all messages of round k are along dimension k.

use crate::algorithm::tree::{Merge, Ranges, with_edges};
use crate::algorithm::{About, Algorithm, Claims, doublings, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// A binomial tree in rank order: neighbouring ranges of 2^k ranks are combined.
#[derive(Clone, Copy, Debug)]
pub struct Binomial;

static ABOUT: About = About {
    collective: "reduce",
    name: "binomial",
    summary: "round k: neighbouring ranges of 2^k ranks are combined at one rank, the root's range at the root",
    source: "Grama et al., 4.1",
    needs: "nothing",
    claims: "ceil(log N) start-ups and blocks, on a cube log N hops; contention-free on complete networks, and on products of lines, rings and complete networks whose extents are powers of two; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for Binomial {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let rounds = u64::from(doublings(problem.ranks()));
        let apart = is_complete(problem) || is_cube(problem);
        let claims = Claims {
            messages: Some(rounds.min(1)),
            volume: Some(Volume::from(rounds.min(1))),
            combined: Some(Volume::from(rounds)),
            ..Claims::of_single_blocks(rounds, apart)
        };
        with_edges(claims, problem, |_| 1, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        let root = problem.collective().root().unwrap_or_default();
        let ranges = Ranges { size, root: root.index() };
        Box::new((0..doublings(size)).map(move |k| {
            let Some(Merge { from, to, combine }) = ranges.merge(rank.index(), k) else { return RankRound::default() };
            let end = |peer| End::new(Rank::new(peer), vec![Block::result(root)]).combined(combine);
            match rank.index() {
                me if me == from => RankRound::new(vec![end(to)], vec![]),
                me if me == to => RankRound::new(vec![], vec![end(from)]),
                _ => RankRound::default(),
            }
        }))
    }
}
