//! Scatter: the root sends a block to every rank.

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;

/// Before, the root holds `[root, j]` for every j; after, rank i holds `[root, i]`.
pub(super) struct Scatter;

impl CollectiveRow for Scatter {
    fn name(&self) -> &'static str {
        "scatter"
    }

    fn before(&self, role: Role) -> Holding {
        let own = |j| role.own(Block::new(role.root, j));
        if role.is_root() { role.all().map(own).collect() } else { vec![] }
    }

    fn after(&self, role: Role) -> Holding {
        vec![(Block::new(role.root, role.rank), vec![role.root])]
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::EachAtRoot, BlockCount::One)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Root
    }

    fn varying(&self) -> Option<&'static str> {
        Some("scatterv")
    }

    fn in_libraries(&self) -> &'static [&'static str] {
        &["direct", "binomial"]
    }

    fn is_personalised(&self) -> bool {
        true
    }
}
