//! Allreduce: every rank contributes to one result, and all ranks get it.

use std::ops::Range;

use super::row::{Blocks, Holding, Row, Seat, Traffic};
use crate::block::Block;

/// Before, rank i holds its contribution to `[-1, -1]`; after, the contributions of all ranks,
/// combined.
pub(super) struct Allreduce;

impl Row for Allreduce {
    fn name(&self) -> &'static str {
        "allreduce"
    }

    fn before(&self, seat: Seat) -> Holding {
        vec![seat.own(Block::RESULT)]
    }

    fn result(&self, seat: Seat) -> Option<(Block, Range<usize>)> {
        Some((Block::RESULT, 0..seat.size))
    }

    fn buffers(&self) -> (Blocks, Blocks) {
        (Blocks::One, Blocks::One)
    }

    fn traffic(&self) -> Traffic {
        Traffic::TreeTwice
    }

    fn combines(&self) -> bool {
        true
    }
}
