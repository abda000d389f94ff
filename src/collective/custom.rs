//! Anything, by what is held before and after.

use std::collections::HashSet;

use super::row::{Blocks, Holding, Row, Seat, Traffic};
use crate::block::Block;

/// A collective by its pre- and postcondition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Custom {
    /// For each rank, what it holds before.
    pub pre: Vec<Holding>,
    /// For each rank, what it shall hold after.
    pub post: Vec<Holding>,
}

impl Custom {
    /// Returns the collective with these conditions: for each rank, the blocks that it holds before
    /// and those that it must hold after.
    #[must_use]
    pub fn new(pre: Vec<Holding>, post: Vec<Holding>) -> Self {
        Self { pre, post }
    }

    /// How many blocks of all ranks together the library lists of a collective of its own making:
    /// some 3 GB.
    pub const MOST_BLOCKS: u64 = 1 << 24;
}

impl Row for Custom {
    fn name(&self) -> &'static str {
        "custom"
    }

    fn before(&self, seat: Seat) -> Holding {
        self.pre.get(seat.rank.index()).cloned().unwrap_or_default()
    }

    fn after(&self, seat: Seat) -> Holding {
        self.post.get(seat.rank.index()).cloned().unwrap_or_default()
    }

    /// No buffers of equal blocks.
    fn buffers(&self) -> (Blocks, Blocks) {
        (Blocks::None, Blocks::None)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Unknown
    }

    /// A block of several contributors is wanted.
    fn combines(&self) -> bool {
        self.post.iter().flatten().any(|(_, contributors)| contributors.len() > 1)
    }

    /// Its blocks are each with one rank before and with one after.
    fn is_personalised(&self) -> bool {
        let once = |side: &[Holding]| {
            let all = || side.iter().flatten().map(|(block, _)| *block);
            let different: HashSet<Block> = all().collect();
            (different.len() == all().count()).then_some(different)
        };
        let before = once(&self.pre);
        before.is_some() && before == once(&self.post)
    }

    #[cfg(feature = "json")]
    fn is_known_by_name(&self) -> bool {
        false
    }
}
