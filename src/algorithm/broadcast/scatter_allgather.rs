//! Broadcast of long blocks: the root scatters chunks of its block, and the ranks gather all of them.
//!
//! Source: Grama et al., §4.7.1 (splitting messages); M. Barnett, S. Gupta, D. Payne, L. Shuler, R.
//! van de Geijn & J. Watts, *Interprocessor collective communication library*, SHPCC 1994. Needs:
//! nothing. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | 2 ceil(log N) |
//! | blocks sent | 2 (N - 1) / N for powers of two; otherwise a little more |
//! | hops on a cube | 2 log N |
//!
//! A rank takes time and memory in proportion to log N, and to the chunks that it sends.
//!
//! # Idea
//!
//! The block is cut into a chunk for each rank. They go down the binomial tree of a scatter, and then
//! all ranks exchange what they have: for powers of two by recursive doubling, otherwise each gets
//! what the rank 2^k further on has, as in Bruck's allgather. What a rank has had for its subtree is
//! not sent again.

use crate::algorithm::tree::{at, below, from_root, transmission};
use crate::algorithm::{About, Algorithm, Claims, doublings, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{End, Ports, Problem, RankRound, Share};

/// A scatter and an allgather of chunks.
#[derive(Clone, Copy, Debug)]
pub struct ScatterAllgather;

static ABOUT: About = About {
    collective: "broadcast",
    name: "scatter-allgather",
    summary: "the root scatters a chunk to each rank along a binomial tree, and the ranks exchange the chunks in doubling groups",
    source: "Grama et al., 4.7.1; Barnett et al. 1994",
    needs: "nothing",
    claims: "2 ceil(log N) start-ups, for powers of two 2 (N - 1) / N blocks, on a cube 2 log N hops; contention-free on cubes and complete networks",
    ports: Ports::One,
};

/// Returns the number of chunks in the messages of round k of the allgather.
fn count(size: usize, k: u32) -> usize {
    (1 << k).min(size - (1 << k))
}

/// Returns chunks of the root's block, by the places of their ranks, which may go on at 0.
fn chunks(root: Rank, size: usize, first: usize, count: usize) -> Vec<Block> {
    let before = count.min(size - first);
    let part = |first: usize, count: usize| Block::from(root).chunks(first as u32, size as u32, count as u32);
    [part(first, before), part(0, count - before)].into_iter().flatten().collect()
}

impl Algorithm for ScatterAllgather {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let size = problem.ranks();
        let part = |chunks: u64| Volume::new(chunks, size as u64);
        let all = part(size as u64 - 1);
        let scattered = transmission(size).part(size as u64);
        let rounds = 2 * u64::from(doublings(size));
        let apart = is_complete(problem) || is_cube(problem);
        Claims {
            transmission: Some(scattered + all),
            // The root sends the most. It does not wait for its own messages.
            volume: Some(all + all),
            chained_hops: (size == 2 && apart).then_some(1),
            ..Claims::of_single_blocks(rounds, apart)
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let size = problem.ranks();
        let root = problem.collective().root().unwrap_or_default();
        let me = from_root(rank.index(), root.index(), size);
        let rank = move |place: usize| Rank::new(at(place, root.index(), size));
        let scatter = (0..doublings(size)).rev().map(move |k| {
            let step = 1 << k;
            let end = |peer: usize, receiver: usize| {
                let part = below(receiver, k, size);
                vec![End::new(rank(peer), chunks(root, size, part.start, part.len()))]
            };
            match me % (2 * step) {
                0 if me + step < size => RankRound::new(end(me + step, me + step), vec![]),
                last if last == step => RankRound::new(vec![], end(me - step, me)),
                _ => RankRound::default(),
            }
        });
        let allgather = (0..doublings(size)).map(move |k| {
            let step = 1 << k;
            let (to, from) = match size.is_power_of_two() {
                true => (me ^ step, me ^ step),
                false => ((me + size - step) % size, (me + step) % size),
            };
            let end = |sender: usize, receiver: usize, peer: usize| {
                let mut missing = count(size, k);
                // A rank has the chunks of its subtree.
                let had = below(receiver, receiver.trailing_zeros().min(usize::BITS - 1), size).len();
                let first = if size.is_power_of_two() {
                    missing = if receiver.is_multiple_of(2 * step) { 0 } else { missing };
                    sender >> k << k
                } else {
                    let skipped = had.saturating_sub(step).min(missing);
                    missing -= skipped;
                    (sender + skipped) % size
                };
                (missing > 0).then(|| End::new(rank(peer), chunks(root, size, first, missing)))
            };
            RankRound::new(end(me, to, to).into_iter().collect(), end(from, me, from).into_iter().collect())
        });
        Box::new(scatter.chain(allgather))
    }
}
