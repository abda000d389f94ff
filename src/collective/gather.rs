//! Gather: every rank sends a block to the root.

use super::row::{Blocks, Holding, Row, Seat, Traffic};
use crate::block::Block;

/// Before, rank i holds `[i, root]`; after, the root holds `[j, root]` for every j.
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
