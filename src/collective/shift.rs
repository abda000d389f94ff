//! Shift: every rank sends a block to the rank a distance further on, in a circle.

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;
use crate::ids::Rank;

/// Before, rank i holds `[i, i + by]`; after, `[i - by, i]`, modulo the number of ranks.
pub(super) struct Shift {
    pub(super) by: usize,
}

impl Shift {
    /// Reads the parameters of a text.
    pub(super) fn read(parameters: &str) -> Option<Self> {
        parameters.strip_prefix("by=")?.parse().ok().map(|by| Self { by })
    }
}

impl CollectiveRow for Shift {
    fn name(&self) -> &'static str {
        "shift"
    }

    fn text(&self) -> String {
        if self.by == 1 { self.name().to_owned() } else { format!("{}:by={}", self.name(), self.by) }
    }

    fn syntax(&self) -> &'static str {
        "shift[:by=N]"
    }

    fn description(&self) -> String {
        format!("{} by {}", self.name(), self.by)
    }

    fn before(&self, role: Role) -> Holding {
        vec![role.own(Block::new(role.rank, role.ahead(self.by)))]
    }

    fn after(&self, role: Role) -> Holding {
        let from = role.ahead(role.size - self.by % role.size);
        vec![(Block::new(from, role.rank), vec![from])]
    }

    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::One, BlockCount::One)
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
