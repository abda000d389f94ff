//! Everyone contributes to a result that the root shall have.

use std::ops::Range;

use super::row::{Blocks, Holding, Row, Seat, Traffic};
use crate::block::Block;

/// Rank i holds its contribution to `[-1, root]` before; the root holds that of all after.
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
