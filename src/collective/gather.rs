//! Everyone has a block for the root.

use super::row::{Blocks, Holding, Row, Seat, Traffic};
use crate::block::Block;

/// Rank i holds `[i, root]` before; the root holds `[j, root]` for every j after.
pub(super) struct Gather;

impl Row for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn before(&self, seat: Seat) -> Holding {
        vec![seat.own(Block::new(seat.rank, seat.root))]
    }

    fn after(&self, seat: Seat) -> Holding {
        let of = |j| (Block::new(j, seat.root), vec![j]);
        if seat.is_root() { seat.all().map(of).collect() } else { vec![] }
    }

    fn buffers(&self) -> (Blocks, Blocks) {
        (Blocks::One, Blocks::EachAtRoot)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Root
    }

    fn gathers(&self) -> bool {
        true
    }

    fn is_personalised(&self) -> bool {
        true
    }
}
