//! Allreduce on grids, one dimension after the other: each row combines its contributions at its
//! first node, which sends the result back. Rows of two exchange.
//!
//! Source: Grama et al., §4.3 and problem 4.6 (ii), along every row at once. Needs: a product of
//! lines, rings, windows and complete networks, with rank i on node i. Model: one-port. Combines in
//! rank order, so operations need not commute; all ranks get the same bits.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | the sum over dimensions of 2 ceil(log n), n the extent; 1 for an extent of 2: on a cube log N |
//! | blocks sent | as many |
//! | hops on a ring or line of n | 2 (n - 1) for powers of two |
//!
//! A rank takes time and memory in proportion to log N. Without contention on these networks, by
//! default routes.
//!
//! # Idea
//!
//! The last dimension comes first, so that rows hold the results of neighbouring ranges of ranks. A
//! complete row of 2^k m nodes, m odd, counts as k dimensions of 2 and one of m. On a cube this is
//! [recursive doubling](super::RecursiveDoubling). On a ring or line the tree takes fewer rounds
//! and blocks than passing each contribution to all, and no rank combines in another order than
//! others.

use crate::algorithm::halving::{Handover, NEEDS, along, lacks, routes_along};
use crate::algorithm::rows::{RingAxis, halved_rows};
use crate::algorithm::{About, Algorithm, Claims, doublings};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::vocabulary::{Combine, End, Ports, Problem, RankRound, Share};

/// Trees along the rows of one dimension after the other, the last one first.
#[derive(Clone, Copy, Debug)]
pub struct ByDimension;

static ABOUT: About = About {
    collective: "allreduce",
    name: "by-dimension",
    summary: "within rows, then within columns, and so on: along a tree to the first node and back; pairs exchange",
    source: "Grama et al., 4.3 and problem 4.6",
    needs: NEEDS,
    claims: "the sum of 2 ceil(log n) over dimensions in start-ups and blocks, 1 for n = 2; contention-free; combines in rank order",
    ports: Ports::One,
};

/// Returns the number of rounds along a row in each direction, and the number of directions.
fn depth(row: RingAxis) -> (u32, u64) {
    (doublings(row.extent()), if row.extent() == 2 { 1 } else { 2 })
}

fn end(peer: Rank, combine: Combine) -> Vec<End> {
    vec![End::new(peer, vec![Block::RESULT]).combined(combine)]
}

impl Algorithm for ByDimension {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let rows = halved_rows(problem);
        let both = |(depth, ways): (u32, u64)| u64::from(depth) * ways;
        let rounds: u64 = rows.iter().map(|&row| both(depth(row))).sum();
        // The first rank sends along every row, in one direction or in exchanges.
        let sent: u64 = rows.iter().map(|&row| u64::from(depth(row).0)).sum();
        let routes = |of: &dyn Fn(u64) -> u64| {
            let along = |row: &RingAxis| {
                let routes = routes_along(row.row)?;
                Some(routes.into_iter().map(|hops| of(hops) * depth(*row).1).sum::<u64>())
            };
            rows.iter().map(along).sum::<Option<u64>>()
        };
        let hops = routes(&|hops| hops);
        Claims {
            hops,
            forwarded_transmission: hops.map(Volume::from),
            end_transmission: routes(&|hops| hops.min(2)).map(Volume::from),
            messages: Some(sent),
            volume: Some(Volume::from(sent)),
            combined: Some(Volume::from(sent)),
            ..Claims::of_single_blocks(rounds, true)
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let tree = move |row: RingAxis| {
            let steps: Vec<_> = along(row.extent(), row.stride, 0, rank).collect();
            let combined = |step: &Option<Handover>| {
                // The first node of a range has the lower ranks.
                let Some(Handover { from, to, .. }) = *step else { return RankRound::default() };
                let (sends, receives) = (end(from, Combine::Right), end(to, Combine::Right));
                if rank == to { RankRound::new(sends, vec![]) } else { RankRound::new(vec![], receives) }
            };
            let spread = |step: &Option<Handover>| {
                let Some(Handover { from, to, .. }) = *step else { return RankRound::default() };
                let (sends, receives) = (end(to, Combine::Replace), end(from, Combine::Replace));
                if rank == from { RankRound::new(sends, vec![]) } else { RankRound::new(vec![], receives) }
            };
            steps.iter().rev().map(combined).chain(steps.iter().map(spread)).collect::<Vec<_>>()
        };
        Box::new(halved_rows(problem).into_iter().flat_map(move |row| {
            if row.extent() > 2 {
                return tree(row);
            }
            let peer = row.at(rank.index(), row.place(rank.index()) + 1);
            let combine = |sender: Rank, receiver: Rank| Combine::in_rank_order(sender, receiver);
            vec![RankRound::new(end(peer, combine(rank, peer)), end(peer, combine(peer, rank)))]
        }))
    }
}
