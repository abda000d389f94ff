//! Allgather by doubling along the ranks: in round k, every rank gets all that the rank 2^k further
//! on has.
//!
//! Source: Bruck, Ho, Kipnis, Upfal & Weathersby, *Efficient algorithms for all-to-all
//! communications in multiport message-passing systems*, IEEE TPDS 8(11), 1997, §4 (one port, the
//! concatenation); blocks lie in their places, so nothing is rotated at the end. Needs: nothing.
//! Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | ceil(log N), the one-port lower bound |
//! | blocks sent | N - 1, the one-port lower bound |
//!
//! A rank takes time and memory in proportion to N.

use crate::algorithm::loads::{Pattern, with_loads};
use crate::algorithm::{About, Algorithm, Claims, doublings, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Share};

/// Doubling along the ranks, for any number of them.
#[derive(Clone, Copy, Debug)]
pub struct Bruck;

static ABOUT: About = About {
    collective: "allgather",
    name: "bruck",
    summary: "round k: each rank gets all blocks that the rank 2^k above it (modulo N) has",
    source: "Bruck et al. 1997, 4",
    needs: "nothing",
    claims: "ceil(log N) start-ups, N - 1 blocks; contention-free on complete networks",
    ports: Ports::One,
};

/// Returns the number of blocks in the message of round k.
fn count(size: usize, k: u32) -> usize {
    (1 << k).min(size - (1 << k))
}

impl Algorithm for Bruck {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let size = problem.ranks();
        let all = Some(Volume::from(size as u64 - 1));
        let rounds = doublings(size);
        let claims =
            Claims { transmission: all, volume: all, ..Claims::of_single_blocks(rounds.into(), is_complete(problem)) };
        let round = |k: u32| {
            let down = Pattern::rotation(problem, (size - (1 << k)) as u64)?;
            Some((down, Volume::from(count(size, k) as u64)))
        };
        with_loads(claims, (0..rounds).map(round).collect::<Option<Vec<_>>>())
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        Box::new((0..doublings(size)).map(move |k| {
            let at = |from: Rank, offset: usize| Rank::new((from.index() + offset) % size);
            let (to, from) = (at(rank, size - (1 << k)), at(rank, 1 << k));
            let held = |by: Rank| (0..count(size, k)).map(|i| Block::from(at(by, i))).collect();
            RankRound::new(vec![End::new(to, held(rank))], vec![End::new(from, held(from))])
        }))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        let size = problem.ranks();
        Box::new((0..doublings(size)).map(move |k| {
            let to = Rank::new((rank.index() + size - (1 << k)) % size);
            let sends = vec![Amount::new(to, Volume::from(count(size, k) as u64))];
            RankAmounts { sends, receives: 1, ..RankAmounts::default() }
        }))
    }
}
