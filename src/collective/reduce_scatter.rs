//! Everyone contributes to every block; each rank shall have the result of its own.

use std::ops::Range;

use super::row::{Blocks, Holding, Row, Seat, Traffic};
use crate::block::Block;

/// Rank i holds its contributions to `[-1, j]` for every j before, and `[-1, i]` of all after.
pub(super) struct ReduceScatter;

impl Row for ReduceScatter {
    fn name(&self) -> &'static str {
        "reduce_scatter"
    }

    fn before(&self, seat: Seat) -> Holding {
        seat.all().map(|j| seat.own(Block::result(j))).collect()
    }

    fn result(&self, seat: Seat) -> Option<(Block, Range<usize>)> {
        Some((Block::result(seat.rank), 0..seat.size))
    }

    fn buffers(&self) -> (Blocks, Blocks) {
        (Blocks::Each, Blocks::One)
    }

    fn traffic(&self) -> Traffic {
        Traffic::All
    }

    fn combines(&self) -> bool {
        true
    }
}
