//! Allreduce: every rank contributes to one result, and all ranks get it.

use std::ops::Range;

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;

/// Before, rank i holds its contribution to `[-1, -1]`; after, the contributions of all ranks,
/// combined.
pub(super) struct Allreduce;

impl CollectiveRow for Allreduce {
    fn name(&self) -> &'static str {
        "allreduce"
    }

    fn before(&self, role: Role) -> Holding {
        vec![role.own(Block::RESULT)]
    }

    fn result(&self, role: Role) -> Option<(Block, Range<usize>)> {
        Some((Block::RESULT, 0..role.size))
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::One, BlockCount::One)
    }

    fn traffic(&self) -> Traffic {
        Traffic::TreeTwice
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        &["direct", "recursive-doubling", "rabenseifner", "ring"]
    }

    fn combines(&self) -> bool {
        true
    }
}
