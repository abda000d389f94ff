//! The definition of a collective.

use std::ops::Range;

use crate::block::Block;
use crate::ids::Rank;

/// The blocks that one rank holds, each with its contributors in order.
pub type Holding = Vec<(Block, Vec<Rank>)>;

/// A rank, the number of ranks, and the root (rank 0 if the collective has none).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Role {
    pub(crate) rank: Rank,
    pub(crate) size: usize,
    pub(crate) root: Rank,
}

impl Role {
    /// Returns all ranks, in order.
    pub(super) fn all(self) -> impl Iterator<Item = Rank> {
        (0..self.size).map(Rank::new)
    }

    pub(super) fn is_root(self) -> bool {
        self.rank == self.root
    }

    /// Returns a block whose only contributor is this rank.
    pub(super) fn own(self, block: Block) -> (Block, Vec<Rank>) {
        (block, vec![self.rank])
    }
}

/// The number of blocks in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockCount {
    /// None.
    None,
    /// One.
    One,
    /// One for each rank.
    Each,
    /// One at the root, none elsewhere.
    OneAtRoot,
    /// One for each rank at the root, none elsewhere.
    EachAtRoot,
    /// None at rank 0, one elsewhere.
    OneButAtFirst,
}

impl BlockCount {
    /// Returns the number at a rank.
    #[inline]
    pub(crate) fn at(self, role: Role) -> usize {
        match self {
            Self::None => 0,
            Self::One => 1,
            Self::Each => role.size,
            Self::OneAtRoot => usize::from(role.rank == role.root),
            Self::EachAtRoot if role.rank == role.root => role.size,
            Self::EachAtRoot => 0,
            Self::OneButAtFirst => usize::from(role.rank.index() > 0),
        }
    }

    /// Returns the largest number at any of `ranks` ranks.
    pub(crate) fn most(self, ranks: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::One | Self::OneAtRoot => 1,
            Self::Each | Self::EachAtRoot => ranks,
            Self::OneButAtFirst => u64::from(ranks > 1),
        }
    }

    /// Returns the sum over `some` of `all` ranks, the root included.
    pub(crate) fn together(self, some: u128, all: u128) -> u128 {
        match self {
            Self::None => 0,
            Self::One => some,
            Self::Each => some * all,
            Self::OneAtRoot => 1,
            Self::EachAtRoot => all,
            Self::OneButAtFirst => some.saturating_sub(1),
        }
    }
}

/// The data that every schedule of a collective must move, from which its lower bounds follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// One block from each rank to each other rank.
    Pairs,
    /// One block between the root and each other rank.
    Root,
    /// One block from each rank to all ranks, or contributions of all ranks to one block for each
    /// rank.
    All,
    /// One block to all other ranks, or contributions of all other ranks to one block.
    Tree,
    /// Contributions of all ranks to one block, and that block to all ranks.
    TreeTwice,
    /// Unknown.
    Unknown,
}

/// The definition of a collective: its name, its conditions, its buffers and its traffic.
pub(crate) trait CollectiveRow {
    /// Returns the name in commands and JSON.
    fn name(&self) -> &'static str;

    /// Returns the name with the parameters, unless they are those that the name alone means.
    fn text(&self) -> String {
        self.name().to_owned()
    }

    /// Returns the syntax of the texts. A part that may be left out is in brackets.
    fn syntax(&self) -> &'static str {
        self.name()
    }

    /// Returns the name with the parameters, for people.
    fn description(&self) -> String {
        self.name().to_owned()
    }

    /// Returns the blocks that a rank holds before. Each has one contributor.
    fn before(&self, role: Role) -> Holding;

    /// Returns the blocks that a rank must hold after.
    fn after(&self, role: Role) -> Holding {
        let result = self.result(role).into_iter();
        result.map(|(block, contributors)| (block, contributors.map(Rank::new).collect())).collect()
    }

    /// Returns the result that a reduction leaves at a rank, and its contributors.
    fn result(&self, role: Role) -> Option<(Block, Range<usize>)> {
        let _ = role;
        None
    }

    /// Returns the number of blocks in a rank's input and output.
    fn buffers(&self) -> (BlockCount, BlockCount);

    /// Returns the number of blocks in the input and in the output of one rank.
    #[inline]
    fn lengths(&self, role: Role) -> (usize, usize) {
        let (before, after) = self.buffers();
        (before.at(role), after.at(role))
    }

    /// Returns the most blocks that any of `ranks` ranks holds, before or after.
    fn most(&self, ranks: u64) -> u64 {
        let (before, after) = self.buffers();
        before.most(ranks).max(after.most(ranks))
    }

    /// Returns the most blocks that `some` of `all` ranks hold together, before and after.
    fn together(&self, some: u128, all: u128) -> (u128, u128) {
        let (before, after) = self.buffers();
        (before.together(some, all), after.together(some, all))
    }

    /// Returns whether a block's name tells which contributions the block holds.
    fn blocks_name_their_contents(&self) -> bool {
        !self.combines()
    }

    /// Returns the data that every schedule must move.
    fn traffic(&self) -> Traffic;

    /// Returns the rank from which information must reach all others, or which information from all
    /// others must reach. `None` if information goes from all ranks to all ranks.
    fn centre(&self, root: Option<Rank>) -> Option<Rank> {
        root
    }

    /// Returns whether all data ends at one rank, so that its receives alone limit the time.
    fn gathers(&self) -> bool {
        false
    }

    /// Returns whether contributions are combined.
    fn combines(&self) -> bool {
        false
    }

    /// Returns whether each block has one source and one destination, and so is in one place at a
    /// time.
    fn is_personalised(&self) -> bool {
        false
    }

    /// Returns whether blocks have bytes.
    fn has_bytes(&self) -> bool {
        true
    }

    /// Returns the name of the call with blocks of different lengths, if there is one.
    fn varying(&self) -> Option<&'static str> {
        None
    }

    /// Returns the names of the algorithms by which libraries such as MPI are known to execute the
    /// collective. Empty if it is not known that they have it.
    fn in_libraries(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns whether JSON documents name the collective. For others they list the conditions.
    #[cfg(feature = "json")]
    fn is_known_by_name(&self) -> bool {
        true
    }
}
