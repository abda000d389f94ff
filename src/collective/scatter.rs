//! Scatter: the root sends a block to every rank.

use super::row::{Blocks, Holding, Row, Seat, Traffic};
use crate::block::Block;

/// Before, the root holds `[root, j]` for every j; after, rank i holds `[root, i]`.
pub(super) struct Scatter;

impl Row for Scatter {
    fn name(&self) -> &'static str {
        "scatter"
    }

    fn before(&self, seat: Seat) -> Holding {
        let own = |j| seat.own(Block::new(seat.root, j));
        if seat.is_root() { seat.all().map(own).collect() } else { vec![] }
    }

    fn after(&self, seat: Seat) -> Holding {
        vec![(Block::new(seat.root, seat.rank), vec![seat.root])]
    }

    fn buffers(&self) -> (Blocks, Blocks) {
        (Blocks::EachAtRoot, Blocks::One)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Root
    }

    fn is_personalised(&self) -> bool {
        true
    }
}
