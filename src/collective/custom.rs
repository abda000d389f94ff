//! Custom collectives, defined by their pre- and postconditions.

use std::collections::HashSet;

use super::row::{Blocks, Holding, Role, Row, Traffic};
use crate::block::Block;

/// A collective defined by its precondition and its postcondition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Custom {
    /// For each rank, the blocks that it holds before.
    pub pre: Vec<Holding>,
    /// For each rank, the blocks that it must hold after.
    pub post: Vec<Holding>,
}

impl Custom {
    /// Returns the collective with these conditions: for each rank, the blocks that it holds before
    /// and those that it must hold after.
    #[must_use]
    pub fn new(pre: Vec<Holding>, post: Vec<Holding>) -> Self {
        Self { pre, post }
    }

    /// The most blocks, over all ranks, for which the library itself makes a custom collective.
    /// They take some 3 GB.
    pub(crate) const MOST_BLOCKS: u64 = 1 << 24;
}

impl Row for Custom {
    fn name(&self) -> &'static str {
        "custom"
    }

    fn before(&self, role: Role) -> Holding {
        self.pre.get(role.rank.index()).cloned().unwrap_or_default()
    }

    fn after(&self, role: Role) -> Holding {
        self.post.get(role.rank.index()).cloned().unwrap_or_default()
    }

    /// A custom collective has no buffers of equal blocks.
    fn buffers(&self) -> (Blocks, Blocks) {
        (Blocks::None, Blocks::None)
    }

    fn most(&self, _: u64) -> u64 {
        self.pre.iter().chain(&self.post).map(Vec::len).max().unwrap_or(0) as u64
    }

    /// Counts the blocks of all ranks.
    fn together(&self, _: u128, _: u128) -> (u128, u128) {
        let blocks = |sides: &[Holding]| sides.iter().map(|side| side.len() as u128).sum();
        (blocks(&self.pre), blocks(&self.post))
    }

    fn blocks_name_their_contents(&self) -> bool {
        false
    }

    fn traffic(&self) -> Traffic {
        Traffic::Unknown
    }

    /// True if the postcondition has a block with several contributors.
    fn combines(&self) -> bool {
        self.post.iter().flatten().any(|(_, contributors)| contributors.len() > 1)
    }

    /// True if each block is at one rank before and at one rank after.
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
