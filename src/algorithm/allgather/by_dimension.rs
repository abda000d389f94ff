//! Allgather on grids, one dimension after the other: around the rings of the last dimension, then
//! with all that each node has around those of the one before, and so on. A line is a folded ring:
//! up over the even coordinates, and down over the odd ones. A complete row counts as a dimension
//! for each prime factor of its extent.
//!
//! Source: Grama et al., §4.2.2 (Algorithm 4.6: rows, then columns; equation 4.3). Needs: a product
//! of lines, rings, windows and complete networks, with rank i on node i. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | the sum over dimensions of n - 1, n the extent; on a cube log N |
//! | blocks sent | N - 1, the one-port lower bound |
//! | hops | as many as start-ups; along a line of 3 or more nodes twice as many |
//!
//! A rank takes time and memory in proportion to N. Without contention on these networks, by
//! default routes.

use crate::algorithm::halving::{NEEDS, lacks};
use crate::algorithm::rows::{self, rows};
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Amount, Amounts, End, Ports, Problem, RankAmounts, RankRound, Share};

/// The ring algorithm along one dimension after the other, the last one first.
#[derive(Clone, Copy, Debug)]
pub struct ByDimension;

static ABOUT: About = About {
    collective: "allgather",
    name: "by-dimension",
    summary: "around the rings of one dimension after the other; each node forwards what it received last",
    source: "Grama et al., 4.2.2",
    needs: NEEDS,
    claims: "the sum of n - 1 over dimensions in start-ups, N - 1 blocks, as many hops as start-ups, twice that along lines; contention-free",
    ports: Ports::One,
};

/// A round of a rank: the two neighbours, and the first ranks of the consecutive ones whose blocks
/// it sends and receives.
struct RingRound {
    next: Rank,
    previous: Rank,
    sent: usize,
    received: usize,
    /// The number of blocks of each message.
    blocks: usize,
}

/// Returns the rounds of a rank.
fn steps(problem: &Problem, rank: Rank) -> impl Iterator<Item = RingRound> + Send + use<> {
    rows(problem).into_iter().flat_map(move |row| {
        let (me, extent, place) = (rank.index(), row.extent(), row.place(rank.index()));
        let group = move |place: usize| row.at(me, place).index() / row.stride * row.stride;
        (1..extent).map(move |i| RingRound {
            next: row.at(me, place + 1),
            previous: row.at(me, place + extent - 1),
            sent: group(place + extent + 1 - i),
            received: group(place + extent - i),
            blocks: row.stride,
        })
    })
}

impl Algorithm for ByDimension {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        rows::claims(&rows(problem), 1, |row| Volume::from(row.stride as u64))
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        Box::new(steps(problem, rank).map(|step| {
            let blocks = |first: usize| (first..first + step.blocks).map(|from| Block::from(Rank::new(from))).collect();
            let (sent, received) =
                (End::new(step.next, blocks(step.sent)), End::new(step.previous, blocks(step.received)));
            RankRound::new(vec![sent], vec![received])
        }))
    }

    fn amounts(&self, problem: &Problem, rank: Rank) -> Amounts {
        Box::new(steps(problem, rank).map(|step| {
            let sends = vec![Amount::new(step.next, Volume::from(step.blocks as u64))];
            RankAmounts { sends, receives: 1, ..RankAmounts::default() }
        }))
    }
}
