//! Shift on grids, one dimension after the other: along each row, around it the shorter way, by jumps
//! of a window where there are windows. Blocks that leave a row at its end go one row further in the
//! dimension before.
//!
//! Source: Grama et al., §4.6.1. Differs from it: the step that compensates for the end of a row is
//! one of the steps along columns, which may also go the other way. Windows are own work. Needs: a
//! product of lines, rings, complete networks and windows, with rank i on node i. Model: one-port.
//!
//! | term | shift by q, whose digits in the extents n are s |
//! |---|---|
//! | startups | the sum over dimensions of min(s, n - s), or of min(s + 1, n - s - 1) if that is more and rows before wrap; in windows of w, of each divided by w and rounded up |
//! | blocks sent | as many |
//! | hops | as many in rings; n - 1 for each in lines; (n - j) / w, rounded up, for a jump of j in windows that do not wrap round |
//!
//! On an s x s torus these are at most s start-ups, less than the book's bound s + 1. A complete
//! row is shifted at once. A rank takes time and memory in proportion to its messages. Without
//! contention on these networks, by default routes: what leaves windows of w at the end of a row comes
//! back by jumps of w, from at most w nodes that follow each other.
//!
//! # Why it is correct
//!
//! Node numbers add digit by digit, the last dimension first. Nodes of a column have the same
//! digits behind it, so a carry into it is one for all blocks that are there: whole columns are
//! shifted by the digit, or by one more.

use super::{Circle, distance};
use crate::algorithm::loads::factors_in_order;
use crate::algorithm::{About, Algorithm, Claims};
use crate::block::Volume;
use crate::ids::Rank;
use crate::topology::Factor;
use crate::vocabulary::{Ports, Problem, RankRound, Share};

/// Shifts along rows, then along columns, and so on.
#[derive(Clone, Copy, Debug)]
pub struct ByDimension;

const NEEDS: &str = "a product of lines, rings, complete networks and windows, with rank i on node i";

static ABOUT: About = About {
    collective: "shift",
    name: "by-dimension",
    summary: "along rows the shorter way, then along columns, one step further for blocks that came around the end of a row",
    source: "Grama et al., 4.6.1",
    needs: NEEDS,
    claims: "start-ups and blocks at most the sum of floor(n/2) over dimensions, 1 for complete ones, a w-th for windows of w; contention-free",
    ports: Ports::One,
};

/// The shift along a dimension.
#[derive(Clone, Copy)]
struct Along {
    row: Factor,
    stride: usize,
    /// The part of the distance in earlier dimensions.
    rest: usize,
    digit: usize,
}

/// Returns the shift along each dimension, the last one first.
fn dimensions(problem: &Problem) -> Vec<Along> {
    let (rows, by, mut stride) = (factors_in_order(problem).unwrap_or_default(), distance(problem), 1);
    let along = |row: Factor| {
        let along = Along { row, stride, rest: by % stride, digit: by / stride % row.extent() };
        stride *= row.extent();
        along
    };
    rows.into_iter().rev().map(along).collect()
}

impl Along {
    fn extent(self) -> usize {
        self.row.extent()
    }

    /// Returns whether blocks in a node's column have left an earlier row at its end.
    fn carries(self, node: usize) -> bool {
        node % self.stride < self.rest
    }

    /// Returns the distance that columns are shifted by.
    fn distance(self, carry: bool) -> usize {
        (self.digit + usize::from(carry)) % self.extent()
    }

    /// Returns the longest step.
    fn window(self) -> usize {
        match self.row {
            _ if self.row.is_complete() => self.extent(),
            Factor::Windows { window, .. } => window,
            _ => 1,
        }
    }

    /// Returns whether columns are shifted forwards, and by how much in all, the shorter way.
    fn way(self, carry: bool) -> (bool, usize) {
        let distance = self.distance(carry);
        let back = self.extent() - distance;
        // A complete row has no ends, and so no other way.
        let is_forward = distance <= back || self.row.is_complete();
        (is_forward, if is_forward { distance } else { back })
    }

    /// Returns the number of rounds in which columns are shifted.
    fn steps(self, carry: bool) -> usize {
        self.way(carry).1.div_ceil(self.window())
    }

    fn rounds(self) -> usize {
        self.steps(false).max(if self.rest > 0 { self.steps(true) } else { 0 })
    }

    /// Returns how far columns are shifted before a round.
    fn moved(self, carry: bool, round: usize) -> usize {
        (round * self.window()).min(self.way(carry).1)
    }

    /// Returns the longest route of each round.
    fn longest(self) -> impl Iterator<Item = u64> {
        let of = move |carry: bool, round: usize| {
            let jump = self.moved(carry, round + 1) - self.moved(carry, round);
            // From one end of the row to the other.
            let back = self.row.distance(self.extent() - 1, jump.saturating_sub(1));
            if jump == 0 { 0 } else { back.max(1) as u64 }
        };
        (0..self.rounds()).map(move |round| of(false, round).max(if self.rest > 0 { of(true, round) } else { 0 }))
    }

    /// Returns the node a number of coordinates further on.
    fn ahead(self, node: usize, by: usize) -> usize {
        let coordinate = node / self.stride % self.extent();
        node - coordinate * self.stride + (coordinate + by) % self.extent() * self.stride
    }
}

impl Algorithm for ByDimension {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn lacks(&self, problem: &Problem) -> Option<String> {
        factors_in_order(problem).is_none().then(|| format!("it needs {NEEDS}; this is {}", problem.topology().text()))
    }

    fn claims(&self, problem: &Problem) -> Claims {
        let all = dimensions(problem);
        let sum = |of: fn(u64) -> u64| all.iter().flat_map(|along| along.longest()).map(of).sum::<u64>();
        // The most messages of a rank in columns without and with a carry.
        let mut most = [Some(0), None];
        for along in &all {
            let [without, with] =
                [false, true].map(|carry| Some(most[usize::from(carry)]? + along.steps(carry) as u64));
            // A rank's own columns carry if its number up to there is less than the distance.
            let either = |possible: bool| without.max(with).filter(|_| possible);
            most = [without.max(either(along.digit + 1 < along.extent())), with.max(either(along.digit > 0))];
        }
        let hops = sum(|longest| longest);
        let sent = most.into_iter().flatten().max().unwrap_or(0);
        // If all blocks move along one dimension by equal steps, every rank sends to one other in all
        // rounds.
        let chain = match all.iter().filter(|along| along.rounds() > 0).collect::<Vec<_>>()[..] {
            [along] if along.rest == 0 && along.stride * along.extent() == problem.ranks() => {
                let alike = along.rounds() == 1 || along.way(false).1.is_multiple_of(along.window());
                along.longest().next().filter(|_| alike).map(|longest| along.rounds() as u64 + longest - 1)
            }
            _ => None,
        };
        Claims {
            hops: Some(hops),
            forwarded_transmission: Some(Volume::from(hops)),
            end_transmission: Some(Volume::from(sum(|longest| longest.min(2)))),
            chained_hops: chain,
            chained_forwarded: chain.map(Volume::from),
            messages: Some(sent),
            volume: Some(Volume::from(sent)),
            ..Claims::of_single_blocks(sum(|_| 1), true)
        }
    }

    fn rounds(&self, problem: &Problem, rank: Rank) -> Share {
        let (circle, me) = (Circle::of(problem), rank.index());
        Box::new(dimensions(problem).into_iter().flat_map(move |along| {
            let carry = along.carries(me);
            let (steps, extent, is_forward) = (along.steps(carry), along.extent(), along.way(carry).0);
            // The node at the other end of a step, forwards or back.
            let beside = move |by: usize, forward: bool| along.ahead(me, if forward { by } else { extent - by });
            // Before a dimension's turn, a block is in the row of its source and, in the dimensions
            // behind, at the coordinates of its destination.
            let source = move |i: usize| {
                let begin = beside(along.moved(carry, i), !is_forward);
                let (row, place) = (begin / along.stride * along.stride, begin % along.stride);
                row + (place + along.stride - along.rest) % along.stride
            };
            (0..along.rounds()).map(move |i| {
                if i >= steps {
                    return RankRound::default();
                }
                let jump = along.moved(carry, i + 1) - along.moved(carry, i);
                let (next, previous) = (beside(jump, is_forward), beside(jump, !is_forward));
                circle.round((next, source(i)), (previous, source(i + 1)))
            })
        }))
    }
}
