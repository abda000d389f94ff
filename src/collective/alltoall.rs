//! Alltoall: every rank sends a block to every rank.

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;

/// Before, rank i holds `[i, j]` for every j; after, `[j, i]` for every j.
pub(super) struct Alltoall;

impl CollectiveRow for Alltoall {
    fn name(&self) -> &'static str {
        "alltoall"
    }

    fn before(&self, role: Role) -> Holding {
        role.all().map(|j| role.own(Block::new(role.rank, j))).collect()
    }

    fn after(&self, role: Role) -> Holding {
        role.all().map(|j| (Block::new(j, role.rank), vec![j])).collect()
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::Each, BlockCount::Each)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Pairs
    }

    fn varying(&self) -> Option<&'static str> {
        Some("alltoallv")
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        &["direct", "direct-rotated", "direct-xor", "bruck"]
    }

    fn is_personalised(&self) -> bool {
        true
    }
}
