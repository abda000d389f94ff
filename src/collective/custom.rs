//! Custom collectives, defined by their pre- and postconditions.

use std::collections::HashSet;

use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use crate::block::Block;
use crate::ids::Rank;

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

    /// Returns the k-to-all broadcast: each source sends a block to all ranks. Ranks hold blocks in
    /// the order of their sources.
    ///
    /// [`KToAllBroadcast`](crate::algorithm::custom::KToAllBroadcast) makes schedules for it.
    #[must_use]
    pub fn k_to_all_broadcast(ranks: usize, sources: &[Rank]) -> Self {
        Self::k_to_all_broadcast_of(ranks, sources, Block::from)
    }

    /// Returns the k-to-all broadcast of blocks that are cut into a number of equal parts, which
    /// may take different ways. `None` for no parts.
    ///
    /// [`KToAllParts`](crate::algorithm::custom::KToAllParts) makes schedules for it.
    #[must_use]
    pub fn k_to_all_broadcast_in_parts(ranks: usize, sources: &[Rank], parts: u32) -> Option<Self> {
        Block::RESULT.chunks(0, parts, parts)?;
        let cut = |source| Block::from(source).chunks(0, parts, parts).unwrap_or(Block::from(source));
        Some(Self::k_to_all_broadcast_of(ranks, sources, cut))
    }

    fn k_to_all_broadcast_of(ranks: usize, sources: &[Rank], block: impl Fn(Rank) -> Block) -> Self {
        let sources = in_order(sources);
        let own = |source: Rank| (block(source), vec![source]);
        let pre = (0..ranks).map(Rank::new).map(|rank| sources.contains(&rank).then(|| own(rank)));
        let all: Holding = sources.iter().copied().map(own).collect();
        Self { pre: pre.map(|one| one.into_iter().collect()).collect(), post: vec![all; ranks] }
    }

    /// Returns the k-to-all personalised exchange: each source sends a block to each rank. Ranks
    /// hold blocks in the order of their sources and destinations.
    ///
    /// [`KToAllPersonalised`](crate::algorithm::custom::KToAllPersonalised) makes schedules
    /// for it.
    #[must_use]
    pub fn k_to_all_personalised(ranks: usize, sources: &[Rank]) -> Self {
        let sources = in_order(sources);
        let all = || (0..ranks).map(Rank::new);
        let block = |source: Rank, to: Rank| (Block::new(source, to), vec![source]);
        let pre = |rank| if sources.contains(&rank) { all().map(|to| block(rank, to)).collect() } else { vec![] };
        let post = |rank| sources.iter().map(|&source| block(source, rank)).collect();
        Self { pre: all().map(pre).collect(), post: all().map(post).collect() }
    }

    /// The most blocks, over all ranks, for which the library itself makes a custom collective.
    /// They take some 3 GB.
    pub(crate) const MOST_BLOCKS: u64 = 1 << 24;
}

fn in_order(ranks: &[Rank]) -> Vec<Rank> {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

impl CollectiveRow for Custom {
    fn name(&self) -> &'static str {
        "custom"
    }

    fn before(&self, role: Role) -> Holding {
        self.pre.get(role.rank.index()).cloned().unwrap_or_default()
    }

    fn after(&self, role: Role) -> Holding {
        self.post.get(role.rank.index()).cloned().unwrap_or_default()
    }

    /// The buffers of a custom collective follow no pattern.
    fn buffers(&self) -> (BlockCount, BlockCount) {
        (BlockCount::None, BlockCount::None)
    }

    fn lengths(&self, role: Role) -> (usize, usize) {
        let blocks = |sides: &[Holding]| sides.get(role.rank.index()).map_or(0, Vec::len);
        (blocks(&self.pre), blocks(&self.post))
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
