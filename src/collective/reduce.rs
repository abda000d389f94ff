//! Reduce: every rank contributes to one result, and the root gets it.

use std::ops::Range;

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;

/// Before, rank i holds its contribution to `[-1, root]`; after, the root holds the contributions
/// of all ranks, combined.
pub(super) struct Reduce;

impl CollectiveRow for Reduce {
    fn name(&self) -> &'static str {
        "reduce"
    }

    fn before(&self, role: Role) -> Holding {
        vec![role.own(Block::result(role.root))]
    }

    fn result(&self, role: Role) -> Option<(Block, Range<usize>)> {
        role.is_root().then(|| (Block::result(role.root), 0..role.size))
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::One, BlockCount::OneAtRoot)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Tree
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        &["direct", "binomial", "reduce-scatter-gather", "chain", "binary-tree"]
    }

    fn gathers(&self) -> bool {
        true
    }

    fn combines(&self) -> bool {
        true
    }
}
