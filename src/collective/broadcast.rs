//! Broadcast: the root sends one block to all ranks.

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;

/// Before, the root holds `[root, -1]`; after, every rank does.
pub(super) struct Broadcast;

impl CollectiveRow for Broadcast {
    fn name(&self) -> &'static str {
        "broadcast"
    }

    fn before(&self, role: Role) -> Holding {
        if role.is_root() { vec![role.own(Block::from(role.root))] } else { vec![] }
    }

    fn after(&self, role: Role) -> Holding {
        vec![(Block::from(role.root), vec![role.root])]
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::OneAtRoot, BlockCount::One)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Tree
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        &["direct", "binomial", "chain", "binary-tree", "scatter-allgather"]
    }
}
