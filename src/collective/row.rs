//! The definition of a collective: each has one file.

use std::ops::Range;

use crate::block::Block;
use crate::ids::Rank;

/// Blocks of one rank, each with the ranks that contributed to it, in order.
pub type Holding = Vec<(Block, Vec<Rank>)>;

/// A rank of so many, and the root, where there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) rank: Rank,
    pub(crate) size: usize,
    pub(crate) root: Rank,
}

impl Seat {
    /// All ranks, in order.
    pub(super) fn all(self) -> impl Iterator<Item = Rank> {
        (0..self.size).map(Rank::new)
    }

    pub(super) fn is_root(self) -> bool {
        self.rank == self.root
    }

    /// A block that is its holder's alone.
    pub(super) fn own(self, block: Block) -> (Block, Vec<Rank>) {
        (block, vec![self.rank])
    }
}

/// How many blocks a buffer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocks {
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
}

impl Blocks {
    /// How many a rank has.
    #[inline]
    pub(crate) fn at(self, seat: Seat) -> usize {
        match self {
            Self::None => 0,
            Self::One => 1,
            Self::Each => seat.size,
            Self::OneAtRoot => usize::from(seat.rank == seat.root),
            Self::EachAtRoot if seat.rank == seat.root => seat.size,
            Self::EachAtRoot => 0,
        }
    }

    /// The most that one of so many ranks has.
    pub(crate) fn most(self, ranks: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::One | Self::OneAtRoot => 1,
            Self::Each | Self::EachAtRoot => ranks,
        }
    }

    /// How many `some` ranks of `all` have together, the root among them.
    pub(crate) fn together(self, some: u128, all: u128) -> u128 {
        match self {
            Self::None => 0,
            Self::One => some,
            Self::Each => some * all,
            Self::OneAtRoot => 1,
            Self::EachAtRoot => all,
        }
    }
}

/// The data that every schedule must move. The lower bounds of a collective follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// A block from each rank to each other.
    Pairs,
    /// A block between the root and each other rank.
    Root,
    /// A block from each rank to all, or contributions to a block for each rank from all.
    All,
    /// One block to all others, or contributions to one from all others.
    Tree,
    /// Contributions to one block from all, and that block to all.
    TreeTwice,
    /// Nothing is known.
    Unknown,
}

/// What a collective is, in the words of its documentation.
pub(crate) trait Row {
    /// The name that users type and that JSON carries.
    fn name(&self) -> &'static str;

    /// What a rank holds before. A block of a reduction is its contributor's alone.
    fn before(&self, seat: Seat) -> Holding;

    /// What a rank shall hold after.
    fn after(&self, seat: Seat) -> Holding {
        let result = self.result(seat).into_iter();
        result.map(|(block, contributors)| (block, contributors.map(Rank::new).collect())).collect()
    }

    /// The result that a reduction leaves at a rank, and whose contributions it is of.
    fn result(&self, seat: Seat) -> Option<(Block, Range<usize>)> {
        let _ = seat;
        None
    }

    /// The blocks of a rank's input and of its output.
    fn buffers(&self) -> (Blocks, Blocks);

    /// Returns the data that every schedule must move.
    fn traffic(&self) -> Traffic;

    /// From where to all others news must travel, or from all others to there. `None` for from
    /// everywhere to everywhere.
    fn centre(&self, root: Option<Rank>) -> Option<Rank> {
        root
    }

    /// Whether all comes together at one rank, so that only its receives limit how fast.
    fn gathers(&self) -> bool {
        false
    }

    /// Whether contributions are combined.
    fn combines(&self) -> bool {
        false
    }

    /// Whether each block has one source and one destination, and so is in one place at a time.
    fn is_personalised(&self) -> bool {
        false
    }

    /// Whether blocks have bytes.
    fn has_bytes(&self) -> bool {
        true
    }

    /// Whether readers of documents know what it means by its name. Of others, documents have the
    /// conditions.
    #[cfg(feature = "json")]
    fn is_known_by_name(&self) -> bool {
        true
    }
}
