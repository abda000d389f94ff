//! Reduce: every rank contributes to one result, and the root gets it.

use std::ops::Range;

use super::row::{Blocks, Holding, Row, Seat, Traffic};
use crate::block::Block;

/// Before, rank i holds its contribution to `[-1, root]`; after, the root holds the contributions
/// of all ranks, combined.
pub(super) struct Reduce;

impl Row for Reduce {
    fn name(&self) -> &'static str {
        "reduce"
    }

    fn before(&self, seat: Seat) -> Holding {
        vec![seat.own(Block::result(seat.root))]
    }

    fn result(&self, seat: Seat) -> Option<(Block, Range<usize>)> {
        seat.is_root().then(|| (Block::result(seat.root), 0..seat.size))
    }

    fn buffers(&self) -> (Blocks, Blocks) {
        (Blocks::One, Blocks::OneAtRoot)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Tree
    }

    fn gathers(&self) -> bool {
        true
    }

    fn combines(&self) -> bool {
        true
    }
}
