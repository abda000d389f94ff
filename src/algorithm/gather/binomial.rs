//! Gather along a binomial tree: the reverse of a scatter.
//!
//! Source: Grama et al., §4.4 (the dual of its scatter). Needs: nothing. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | ceil(log N), the one-port lower bound |
//! | blocks sent | N - 1 for powers of two, the lower bound; at most that otherwise |
//! | hops on a cube | log N |
//!
//! Without contention on products of lines, rings and complete networks whose extents are powers of
//! two. Elsewhere messages are counted for up to some hundred ranks.
//!
//! A rank takes time and memory in proportion to log N and to the blocks that pass through it.

use crate::algorithm::tree::{at, below, from_root, gathered, transmission, with_edges};
use crate::algorithm::{About, Algorithm, Claims, doublings, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// A binomial tree: in round k, the ranks whose place relative to the root has lowest bit k send
/// their blocks to the rank 2^k before.
#[derive(Clone, Copy, Debug)]
pub struct Binomial;

static ABOUT: About = About {
    collective: "gather",
    name: "binomial",
    summary: "round k: half of the ranks that still hold blocks send all of them to the other half",
    source: "Grama et al., 4.4",
    needs: "nothing",
    claims: "ceil(log N) start-ups, for powers of two N - 1 blocks, on a cube log N hops; contention-free on complete networks, and on products of lines, rings and complete networks whose extents are powers of two",
    ports: Ports::One,
};

impl Algorithm for Binomial {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let size = problem.ranks();
        let (rounds, apart) = (u64::from(doublings(size)), is_complete(problem) || is_cube(problem));
        let most = (0..doublings(size)).map(|k| below(1 << k, k, size).len() as u64).max();
        let claims = Claims {
            transmission: Some(transmission(size)),
            messages: Some(rounds.min(1)),
            volume: Some(Volume::from(most.unwrap_or(0))),
            ..Claims::of_single_blocks(rounds, apart)
        };
        with_edges(claims, problem, |k| 1 << k, |rank| self.rounds(problem, rank))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        let root = problem.collective().root().unwrap_or_default();
        let me = from_root(rank.index(), root.index(), size);
        Box::new((0..doublings(size)).map(move |k| {
            let Some((from, to)) = gathered(me, size, k) else { return RankRound::default() };
            let rank = |place| Rank::new(at(place, root.index(), size));
            let blocks = below(from, k, size).map(|place| Block::new(rank(place), root)).collect();
            match me == from {
                true => RankRound::new(vec![End::new(rank(to), blocks)], vec![]),
                false => RankRound::new(vec![], vec![End::new(rank(from), blocks)]),
            }
        }))
    }
}
