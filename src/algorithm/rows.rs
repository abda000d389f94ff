//! Rings along the rows of a product of lines, rings, windows and complete networks, one dimension
//! after the other.
//!
//! A line is a folded ring: up over the even coordinates, and down over the odd ones. So are
//! windows that do not wrap round, without longer routes. A complete row is cut into one dimension
//! for each prime factor of its extent: a row of 2^d nodes is a cube. So a ring of 2 ranks
//! exchanges, and messages between neighbours on a ring never contend.

use super::loads::factors_in_order;
use crate::block::Volume;
use crate::ids::Rank;
use crate::topology::Factor;
use crate::vocabulary::{Claims, Problem};

/// The rings along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RingAxis {
    pub(super) row: Factor,
    /// The difference in rank between neighbouring coordinates.
    pub(super) stride: usize,
}

/// Returns the dimensions of a problem's network, the last one first, with complete rows cut into
/// prime factors. None if the network is no product or rank i is not on node i.
pub(super) fn rows(problem: &Problem) -> Vec<RingAxis> {
    cut(problem, prime_factors)
}

/// Returns the dimensions as [`rows`], with complete rows cut into factors of 2 and an odd one.
pub(super) fn halved_rows(problem: &Problem) -> Vec<RingAxis> {
    cut(problem, |extent| {
        let (twos, odd) = (extent.trailing_zeros(), extent >> extent.trailing_zeros());
        (0..twos).map(|_| 2).chain((odd > 1).then_some(odd)).collect()
    })
}

fn cut(problem: &Problem, factors: impl Fn(usize) -> Vec<usize>) -> Vec<RingAxis> {
    let mut stride = 1;
    let rows = factors_in_order(problem).unwrap_or_default();
    let rows = rows.into_iter().rev().flat_map(|row| match row {
        Factor::Complete(extent) => factors(extent).into_iter().map(Factor::Complete).collect(),
        _ => vec![row],
    });
    let row = |row: Factor| {
        let row = RingAxis { row, stride };
        stride *= row.extent();
        row
    };
    rows.map(row).collect()
}

fn prime_factors(mut number: usize) -> Vec<usize> {
    let (mut factors, mut factor) = (vec![], 2);
    while number > 1 {
        if factor * factor > number {
            factor = number;
        }
        if number.is_multiple_of(factor) {
            factors.push(factor);
            number /= factor;
        } else {
            factor += 1;
        }
    }
    factors
}

impl RingAxis {
    /// Returns the number of ranks on a ring.
    pub(super) fn extent(self) -> usize {
        self.row.extent()
    }

    /// Returns whether the ring goes up over the even coordinates and down over the odd ones.
    fn is_folded(self) -> bool {
        matches!(self.row, Factor::Line(3..) | Factor::Windows { wraps: false, .. })
    }

    /// Returns the number of ranks on rings of this dimension and of those before it.
    pub(super) fn width(self) -> usize {
        self.stride * self.extent()
    }

    /// Returns the place of a rank on its ring.
    pub(super) fn place(self, rank: usize) -> usize {
        let coordinate = rank / self.stride % self.extent();
        match coordinate % 2 {
            _ if !self.is_folded() => coordinate,
            1 => self.extent() - coordinate.div_ceil(2),
            _ => coordinate / 2,
        }
    }

    /// Returns the coordinate at a place of a ring, modulo its extent.
    pub(super) fn coordinate(self, place: usize) -> usize {
        let place = place % self.extent();
        match 2 * place < self.extent() {
            _ if !self.is_folded() => place,
            true => 2 * place,
            false => 2 * (self.extent() - place) - 1,
        }
    }

    /// Returns the rank at a place of a rank's ring.
    pub(super) fn at(self, rank: usize, place: usize) -> Rank {
        let rest = rank / self.width() * self.width() + rank % self.stride;
        Rank::new(rest + self.coordinate(place) * self.stride)
    }

    /// Returns the number of rounds in which a message goes from each place to all others.
    pub(super) fn rounds(self) -> u64 {
        self.extent() as u64 - 1
    }

    /// Returns the longest route between neighbours on a ring.
    pub(super) fn longest(self) -> u64 {
        if matches!(self.row, Factor::Line(3..)) { 2 } else { 1 }
    }

    /// Returns the most channels that this many rounds of [`rounds`](Self::rounds) cross one after
    /// the other: the whole ring each time, except along shortest routes.
    fn chain(self, times: u64) -> u64 {
        match (self.longest(), self.extent() as u64) {
            (1, _) => times * self.rounds(),
            // The routes of length 1 are at the two ends. Those of a ring of 3 follow each other.
            (_, extent) if times == 1 => 2 * extent - 3,
            (_, 3) => 6,
            (_, extent) => times * (2 * extent - 2) - times - 1,
        }
    }
}

/// Returns the claims of `times` passages through all rings, in which each message along a
/// dimension has a number of blocks. A rank sends to the same neighbour in all passages.
pub(super) fn claims(rows: &[RingAxis], times: u64, size: impl Fn(RingAxis) -> Volume) -> Claims {
    let sum = |of: &dyn Fn(RingAxis) -> u64| rows.iter().map(|&row| times * of(row)).sum::<u64>();
    let sized =
        |of: &dyn Fn(RingAxis) -> u64| Some(rows.iter().map(|&row| size(row) * (times * of(row))).sum::<Volume>());
    let sent = sized(&|row| row.rounds());
    let forwarded = sized(&|row| row.rounds() * row.longest());
    let rounds = sum(&|row| row.rounds());
    // Along a single dimension every rank sends to one other in all rounds.
    let chain = match *rows {
        [row] => Some((row.chain(times), size(row))),
        _ => None,
    };
    Claims {
        transmission: sent,
        volume: sent,
        forwarded_transmission: forwarded,
        end_transmission: forwarded,
        hops: Some(sum(&|row| row.rounds() * row.longest())),
        chained_hops: chain.map(|(hops, _)| hops),
        chained_forwarded: chain.map(|(hops, size)| size * hops),
        ..Claims::of_single_blocks(rounds, true)
    }
}
