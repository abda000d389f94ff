//! Shift: every rank sends a block to the rank a distance further on, in a circle.

use super::row::{Blocks, Holding, Role, Row, Traffic};
use crate::block::Block;
use crate::ids::Rank;

/// Before, rank i holds `[i, i + by]`; after, `[i - by, i]`, modulo the number of ranks.
pub(super) struct Shift;

impl Row for Shift {
    fn name(&self) -> &'static str {
        "shift"
    }

    fn before(&self, role: Role) -> Holding {
        vec![role.own(Block::new(role.rank, role.ahead(role.by)))]
    }

    fn after(&self, role: Role) -> Holding {
        let from = role.ahead(role.size - role.by % role.size);
        vec![(Block::new(from, role.rank), vec![from])]
    }

    fn buffers(&self) -> (Blocks, Blocks) {
        (Blocks::One, Blocks::One)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Unknown
    }

    fn is_personalised(&self) -> bool {
        true
    }

    #[cfg(feature = "json")]
    fn is_known_by_name(&self) -> bool {
        false
    }
}

impl Role {
    /// Returns the rank a distance further on, in a circle.
    fn ahead(self, by: usize) -> Rank {
        Rank::new((self.rank.index() + by % self.size) % self.size)
    }
}
