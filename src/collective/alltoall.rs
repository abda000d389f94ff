//! Alltoall: every rank sends a block to every rank.

use super::row::{Blocks, Holding, Row, Seat, Traffic};
use crate::block::Block;

/// Before, rank i holds `[i, j]` for every j; after, `[j, i]` for every j.
pub(super) struct Alltoall;

impl Row for Alltoall {
    fn name(&self) -> &'static str {
        "alltoall"
    }

    fn before(&self, seat: Seat) -> Holding {
        seat.all().map(|j| seat.own(Block::new(seat.rank, j))).collect()
    }

    fn after(&self, seat: Seat) -> Holding {
        seat.all().map(|j| (Block::new(j, seat.rank), vec![j])).collect()
    }

    fn buffers(&self) -> (Blocks, Blocks) {
        (Blocks::Each, Blocks::Each)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Pairs
    }

    fn is_personalised(&self) -> bool {
        true
    }
}
