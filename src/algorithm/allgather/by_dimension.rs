//! Allgather on grids, one dimension after the other: around the rings of the last dimension, then
//! with all that each node has around those of the one before, and so on. A line is a folded ring: up
//! over the even coordinates, and down over the odd ones.
//!
//! Source: Grama et al., §4.2.2 (Algorithm 4.6: rows, then columns). Needs: a product of lines, rings
//! and complete networks, with rank i on node i. Model: one-port.
//!
//! | term | whole schedule |
//! |---|---|
//! | startups | the sum over dimensions of n - 1, n the extent |
//! | blocks sent | N - 1, the one-port lower bound |
//! | hops | as many as start-ups; along a line of 3 or more nodes twice as many |
//!
//! A rank takes time and memory in proportion to N. Without contention on these networks, by default
//! routes.

use super::Ring;
use crate::algorithm::halving::{NEEDS, lacks};
use crate::algorithm::loads::in_order;
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::{Block, Volume};
use crate::ids::Rank;
use crate::topology::{Axis, Kind};
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

/// A round of a rank: the two neighbours, and the first ranks of the consecutive ones whose blocks it
/// sends and receives.
struct Step {
    next: Rank,
    previous: Rank,
    sent: usize,
    received: usize,
    /// The number of blocks of each message.
    blocks: usize,
}

/// Returns the rounds of a rank.
fn steps(problem: &Problem, rank: Rank) -> impl Iterator<Item = Step> + Send + use<> {
    let axes = in_order(problem).unwrap_or_default();
    let mut stride = 1;
    let dimensions: Vec<(Axis, usize)> = axes
        .iter()
        .rev()
        .map(|axis| {
            let extent = axis.extent as usize;
            stride *= extent;
            (*axis, stride / extent)
        })
        .collect();
    dimensions.into_iter().flat_map(move |(axis, stride)| {
        let extent = axis.extent as usize;
        let whole = rank.index() / (extent * stride) * (extent * stride);
        let place = place(axis, rank.index() / stride % extent);
        let group = move |place: usize| whole + coordinate(axis, place % extent) * stride;
        let at = move |place: usize| Rank::new(group(place) + rank.index() % stride);
        (1..extent).map(move |i| Step {
            next: at(place + 1),
            previous: at(place + extent - 1),
            sent: group(place + extent + 1 - i),
            received: group(place + extent - i),
            blocks: stride,
        })
    })
}

/// Returns the coordinate at a place of the ring along a dimension.
fn coordinate(axis: Axis, place: usize) -> usize {
    let extent = axis.extent as usize;
    match axis.kind {
        Kind::Line if 2 * place < extent => 2 * place,
        Kind::Line => 2 * (extent - place) - 1,
        Kind::Ring | Kind::Complete => place,
    }
}

/// Returns the place of a coordinate.
fn place(axis: Axis, coordinate: usize) -> usize {
    match axis.kind {
        Kind::Line if coordinate % 2 == 1 => axis.extent as usize - coordinate.div_ceil(2),
        Kind::Line => coordinate / 2,
        Kind::Ring | Kind::Complete => coordinate,
    }
}

impl Algorithm for ByDimension {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        lacks(problem)
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let axes = in_order(problem).unwrap_or_default();
        if axes.iter().all(|axis| axis.kind != Kind::Line) && axes.len() <= 1 {
            return Ring.claims(problem);
        }
        let all = Some(Volume::from(problem.ranks() as u64 - 1));
        let rounds = axes.iter().map(|axis| axis.extent - 1).sum();
        let longest = |axis: &Axis| if axis.kind == Kind::Line && axis.extent > 2 { 2 } else { 1 };
        // The sum over rounds of the size of a message, times something of its dimension.
        let sized = |times: &dyn Fn(&Axis) -> u64| {
            let mut stride = 1;
            let sizes = axes.iter().rev().map(|axis| {
                let size = u128::from((axis.extent - 1) * times(axis)) * stride;
                stride *= u128::from(axis.extent);
                size
            });
            Some(Volume::ratio(sizes.sum(), 1))
        };
        // The whole ring, but for its shortest route.
        let along_a_line = match axes[..] {
            [line] => Some(2 * line.extent - 3),
            _ => None,
        };
        Claims {
            transmission: all,
            volume: all,
            forwarded_transmission: sized(&longest),
            end_transmission: sized(&longest),
            hops: Some(axes.iter().map(|axis| (axis.extent - 1) * longest(axis)).sum()),
            chained_hops: along_a_line,
            chained_forwarded: along_a_line.map(Volume::from),
            ..Claims::of_single_blocks(rounds, true)
        }
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
