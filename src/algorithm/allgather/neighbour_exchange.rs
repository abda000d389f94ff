//! Allgather by exchanges with both neighbours in turn: every rank passes on the two blocks that it
//! received last.
//!
//! Source: J. Chen, L. Zhang, Y. Zhang & W. Yuan, *Performance evaluation of allgather algorithms
//! on terascale Linux cluster with fast Ethernet*, HPC Asia 2005 ("neighbor exchange"). Needs: an
//! even number of ranks; made for rings. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | N / 2 |
//! | blocks sent | N - 1, the one-port lower bound |
//! | hops on a ring | N / 2 |
//!
//! A rank takes time and memory in proportion to N.
//!
//! # Idea
//!
//! In round 0 the ranks 2p and 2p + 1 exchange their own blocks: both have those of pair p. In odd
//! rounds an even rank exchanges with the rank below it, in even rounds with the rank above it. A
//! message has the two blocks of the pair that arrived in the round before. So pairs travel through
//! the ranks in both directions, and each round brings every rank one pair:
//!
//! ```text
//! rank 2p      receives pairs  p, p - 1, p + 1, p - 2, p + 2, ..
//! rank 2p + 1  receives pairs  p, p + 1, p - 1, p + 2, p - 2, ..
//! ```

use crate::algorithm::loads::{Pattern, with_repeated};
use crate::algorithm::{About, Algorithm, Claims, is_complete};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// Neighbour exchange: pairs of blocks travel in both directions around the ranks.
#[derive(Clone, Copy, Debug)]
pub struct NeighbourExchange;

static ABOUT: About = About {
    collective: "allgather",
    name: "neighbour-exchange",
    summary: "each rank exchanges with both neighbours in turn, and passes on the two blocks that it received last",
    source: "Chen et al. 2005",
    needs: "an even number of ranks; made for rings",
    claims: "N / 2 start-ups, N - 1 blocks, on a ring N / 2 hops; contention-free on rings and complete networks",
    ports: Ports::One,
};

/// Returns the rank that a rank exchanges with in a round.
fn partner(rank: usize, round: usize, size: usize) -> usize {
    if rank % 2 == round % 2 { (rank + 1) % size } else { (rank + size - 1) % size }
}

/// Returns the pair of ranks whose blocks a rank receives in a round. In round 0 one of the two
/// blocks is its own.
fn pair(rank: usize, round: usize, pairs: usize) -> usize {
    let (own, distance) = (rank / 2, round.div_ceil(2));
    // Even ranks get the pairs above them in even rounds.
    if rank % 2 == round % 2 { (own + distance) % pairs } else { (own + pairs - distance) % pairs }
}

/// Returns the blocks that a rank sends in a round: those of the pair that it received last.
fn sent(rank: usize, round: usize, size: usize) -> Vec<Block> {
    match round.checked_sub(1) {
        None => vec![Block::from(Rank::new(rank))],
        Some(last) => {
            let first = 2 * pair(rank, last, size / 2);
            [first, first + 1].map(|from| Block::from(Rank::new(from))).to_vec()
        }
    }
}

impl Algorithm for NeighbourExchange {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        let ranks = problem.ranks();
        (ranks % 2 == 1).then(|| format!("it needs an even number of ranks; there are {ranks}"))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks() as u64;
        let (rounds, all) = (ranks / 2, Some(Volume::from(ranks - 1)));
        let claims =
            Claims { transmission: all, volume: all, ..Claims::of_single_blocks(rounds, is_complete(problem)) };
        // Even rounds have the same pairs of partners, and so have odd rounds.
        let (even, odd) = (Pattern::pairs(problem, false), Pattern::pairs(problem, true));
        let loads = even.zip(odd).map(|(even, odd)| {
            let (one, two) = (Volume::from(1), Volume::from(2));
            [((even, one), 1), ((odd, two), rounds / 2), ((even, two), (rounds - 1) / 2)]
        });
        with_repeated(claims, loads)
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (size, me) = (problem.ranks(), rank.index());
        Box::new((0..size / 2).map(move |round| {
            let peer = partner(me, round, size);
            let end = |sender: usize| vec![End::new(Rank::new(peer), sent(sender, round, size))];
            RankRound::new(end(me), end(peer))
        }))
    }
}
