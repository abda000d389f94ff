//! Broadcast: the root sends one block to all ranks.

use super::row::{Blocks, Holding, Row, Seat, Traffic};
use crate::block::Block;

/// Before, the root holds `[root, -1]`; after, every rank does.
pub(super) struct Broadcast;

impl Row for Broadcast {
    fn name(&self) -> &'static str {
        "broadcast"
    }

    fn before(&self, seat: Seat) -> Holding {
        if seat.is_root() { vec![seat.own(Block::from(seat.root))] } else { vec![] }
    }

    fn after(&self, seat: Seat) -> Holding {
        vec![(Block::from(seat.root), vec![seat.root])]
    }

    fn buffers(&self) -> (Blocks, Blocks) {
        (Blocks::OneAtRoot, Blocks::One)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Tree
    }
}
