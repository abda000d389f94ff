//! Gather: every rank sends a block to the root.

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;

/// Before, rank i holds `[i, root]`; after, the root holds `[j, root]` for every j.
pub(super) struct Gather;

impl CollectiveRow for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn before(&self, role: Role) -> Holding {
        vec![role.own(Block::new(role.rank, role.root))]
    }

    fn after(&self, role: Role) -> Holding {
        let of = |j| (Block::new(j, role.root), vec![j]);
        if role.is_root() { role.all().map(of).collect() } else { vec![] }
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::One, BlockCount::EachAtRoot)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Root
    }

    fn varying(&self) -> Option<&'static str> {
        Some("gatherv")
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        &["direct", "binomial"]
    }

    fn gathers(&self) -> bool {
        true
    }

    fn is_personalised(&self) -> bool {
        true
    }
}
