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
//! A rank takes memory in proportion to log N, and time in proportion to its square.
//!
//! # Idea
//!
//! After k rounds, one rank represents each range of 2^k ranks. In round k, of two neighbouring
//! ranges one representative sends to the other, which combines from the left or the right. The
//! representative is the rank whose lowest k bits are the root's, where there is one. So the last
//! is the root, whichever it is, and on a cube all messages of round k are along dimension k.

use crate::algorithm::{About, Algorithm, Claims, doublings, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, Ports, Problem, RankRound, Share};

/// A binomial tree in rank order: neighbouring ranges of 2^k ranks are combined.
#[derive(Clone, Copy, Debug)]
pub struct Binomial;

static ABOUT: About = About {
    collective: "reduce",
    name: "binomial",
    summary: "round k: neighbouring ranges of 2^k ranks are combined at one rank, the root's range at the root",
    source: "Grama et al., 4.1",
    needs: "nothing",
    claims: "ceil(log N) start-ups and blocks, on a cube log N hops; contention-free on cubes and complete networks; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for Binomial {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let rounds = u64::from(doublings(problem.ranks()));
        Claims {
            messages: Some(rounds.min(1)),
            volume: Some(Volume::from(rounds.min(1))),
            combined: Some(Volume::from(rounds)),
            ..Claims::of_single_blocks(rounds, is_complete(problem) || is_cube(problem))
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        let root = problem.collective().root().unwrap_or_default();
        let ranges = Ranges { size, root: root.index() };
        Box::new((0..doublings(size)).map(move |k| {
            let Some((low, high)) = ranges.merged(rank.index(), k) else { return RankRound::default() };
            let end = |peer, combine| End::new(Rank::new(peer), vec![Block::result(root)]).combined(combine);
            // The representative of both ranges stays, and the other sends.
            let (from, to, combine) = match ranges.representative(rank.index(), k + 1) == low {
                true => (high, low, Combine::Right),
                false => (low, high, Combine::Left),
            };
            match rank.index() {
                me if me == from => RankRound::new(vec![end(to, combine)], vec![]),
                me if me == to => RankRound::new(vec![], vec![end(from, combine)]),
                _ => RankRound::default(),
            }
        }))
    }
}

/// The ranges of 2^k ranks, and which rank represents each.
#[derive(Clone, Copy)]
struct Ranges {
    size: usize,
    root: usize,
}

impl Ranges {
    /// Returns the representative of the range of 2^k ranks that a rank is in.
    fn representative(self, rank: usize, k: u32) -> usize {
        let mut begin = rank >> k << k;
        // Halve the range, towards the rank with the root's lowest bits.
        for bit in (0..k).rev() {
            let upper = begin + (1 << bit);
            let is_wanted = self.root & (1 << bit) != 0 && upper + (self.root & ((1 << bit) - 1)) < self.size;
            begin = if is_wanted { upper } else { begin };
        }
        begin
    }

    /// Returns the representatives of the two ranges of 2^k ranks that make up the one of 2^(k+1)
    /// that a rank is in. `None` if there is no second one.
    fn merged(self, rank: usize, k: u32) -> Option<(usize, usize)> {
        let begin = rank >> (k + 1) << (k + 1);
        let upper = Some(begin + (1 << k)).filter(|&upper| upper < self.size)?;
        Some((self.representative(begin, k), self.representative(upper, k)))
    }
}
