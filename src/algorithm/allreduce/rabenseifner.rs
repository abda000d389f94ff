//! Allreduce by halving and doubling, in rank order: the ranks reduce and scatter chunks of the
//! vector, and then gather the results.
//!
//! Source: R. Rabenseifner, *Optimization of collective reduction operations*, ICCS 2004; Grama et
//! al., §4.7.1, has it as all-to-all reduction and all-to-all broadcast. Needs: nothing. Model:
//! one-port. Combines contributions in rank order, so operations need not commute; all ranks get
//! the same bits.
//!
//! Let p = 2^q be the largest power of two up to N:
//!
//! | term | N = p | otherwise |
//! |---|---|---|
//! | startups | 2 q | 2 q + 2 |
//! | blocks sent | 2 (p - 1) / p, the one-port lower bound | 2 more |
//! | hops on a cube | 2 q | |
//!
//! A rank takes time and memory in proportion to log N, and to the chunks that it sends, 2 p.
//!
//! # Idea
//!
//! The ranks beyond a power of two fold as in recursive doubling. In round k of the first half,
//! each representative exchanges with the one whose index differs in bit k: it sends one half of
//! the chunks that it still has, and combines what arrives with the other half. The two represent
//! neighbouring ranges of ranks, so combining left or right keeps the order. The second half
//! exchanges the same chunks back, complete. Halves of chunks are consecutive: the rank with index
//! i ends the first half with the chunk whose number is i with its bits reversed.

use crate::algorithm::fold::Fold;
use crate::algorithm::loads::{Pattern, with_counted, with_loads};
use crate::algorithm::{About, Algorithm, Claims, is_complete, is_cube};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, Ports, Problem, RankRound, Share};

/// Reduce-scatter by recursive halving, and allgather by recursive doubling, of chunks.
#[derive(Clone, Copy, Debug)]
pub struct Rabenseifner;

static ABOUT: About = About {
    collective: "allreduce",
    name: "rabenseifner",
    summary: "adjacent ranges of ranks exchange and combine halves of the vector, and then collect the results",
    source: "Rabenseifner 2004; Grama et al., 4.7.1",
    needs: "nothing",
    claims: "2 floor(log N) start-ups, 2 (N - 1) / N blocks for powers of two; otherwise 2 more of each; contention-free on cubes and complete networks; combines in rank order",
    ports: Ports::One,
};

impl Algorithm for Rabenseifner {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let ranks = problem.ranks();
        let (doublings, folds) = (u64::from(ranks.ilog2()), if ranks.is_power_of_two() { 0 } else { 2 });
        let half = |k: u64| Volume::new(1, 2 << k);
        let combined: Volume = (0..doublings).map(half).sum();
        let halves = combined * 2;
        let claims = Claims {
            transmission: Some(halves + Volume::from(folds)),
            messages: Some(2 * doublings + folds / 2),
            volume: Some(halves + Volume::from(folds / 2)),
            combined: Some(combined + Volume::from(folds / 2)),
            ..Claims::of_single_blocks(2 * doublings + folds, is_complete(problem) || is_cube(problem))
        };
        if folds > 0 {
            return with_counted(claims, problem, |rank| self.rounds(problem, rank));
        }
        let round = |k: u64| Some((Pattern::bit(problem, k as u32)?, half(k)));
        let rounds = (0..doublings).chain((0..doublings).rev()).map(round);
        with_loads(claims, rounds.collect::<Option<Vec<_>>>())
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let fold = Fold::new(problem.ranks());
        let (doublings, chunks) = (fold.doublings, 1_u32 << fold.doublings);
        let me = fold.folded_rank(rank);
        let exchange = move |k: u32, halving: bool| {
            let Some(me) = me else { return RankRound::default() };
            let peer = me ^ (1 << k);
            let end = |sender: usize, receiver: usize| {
                // Halving, the half of the receiver; doubling, that of the sender.
                let of = if halving { receiver } else { sender };
                let combine = match halving {
                    false => Combine::Replace,
                    true if sender < receiver => Combine::Left,
                    true => Combine::Right,
                };
                let count = chunks >> (k + 1);
                let blocks = Block::RESULT.chunks(first_chunk(of, k + 1, doublings), chunks, count);
                vec![End::new(fold.rank(peer), blocks.into_iter().collect()).combined(combine)]
            };
            RankRound::new(end(me, peer), end(peer, me))
        };
        let (halving, doubling) = ((0..doublings).map(move |k| exchange(k, true)), (0..doublings).rev());
        // A block is cut into the same chunks in all rounds.
        let whole = Block::RESULT.chunks(0, chunks, chunks).unwrap_or(Block::RESULT);
        let rounds = halving.chain(doubling.map(move |k| exchange(k, false)));
        Box::new(fold.giving(rank, whole).into_iter().chain(rounds).chain(fold.handing_back(rank, whole)))
    }
}

/// Returns the first chunk that the representative with an index has after this many halvings. Bit
/// i of the index decides between the halves of halving i.
fn first_chunk(index: usize, halvings: u32, doublings: u32) -> u32 {
    (0..halvings).map(|i| (index as u32 >> i & 1) << (doublings - 1 - i)).sum()
}
