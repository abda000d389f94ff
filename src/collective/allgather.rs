//! Allgather: every rank sends one block to all ranks.

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;

/// Before, rank i holds `[i, -1]`; after, `[j, -1]` for every j.
pub(super) struct Allgather;

impl CollectiveRow for Allgather {
    fn name(&self) -> &'static str {
        "allgather"
    }

    fn before(&self, role: Role) -> Holding {
        vec![role.own(Block::from(role.rank))]
    }

    fn after(&self, role: Role) -> Holding {
        role.all().map(|j| (Block::from(j), vec![j])).collect()
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::One, BlockCount::Each)
    }

    fn traffic(&self) -> Traffic {
        Traffic::All
    }

    fn varying(&self) -> Option<&'static str> {
        Some("allgatherv")
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        &["direct", "ring", "recursive-doubling", "bruck", "neighbour-exchange"]
    }
}
