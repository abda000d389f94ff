//! The enum of collectives.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::allgather::Allgather;
use super::allreduce::Allreduce;
use super::alltoall::Alltoall;
use super::barrier::Barrier;
use super::broadcast::Broadcast;
use super::custom::Custom;
use super::gather::Gather;
use super::reduce::Reduce;
use super::reduce_scatter::ReduceScatter;
use super::row::{BlockCount, CollectiveRow, Holding, Role, Traffic};
use super::scan::{Exscan, Scan};
use super::scatter::Scatter;
use super::shift::Shift;
use crate::block::Block;
use crate::ids::Rank;

/// A collective operation.
///
/// | collective | before: rank i holds | after: rank i has |
/// |---|---|---|
/// | `alltoall` | `[i, j]` for every j | `[j, i]` for every j |
/// | `scatter` | root: `[root, j]` for every j | `[root, i]` |
/// | `gather` | `[i, root]` | root: `[j, root]` for every j |
/// | `allgather` | `[i, -1]` | `[j, -1]` for every j |
/// | `broadcast` | root: `[root, -1]` | `[root, -1]` |
/// | `reduce` | `[-1, root]` | root: `[-1, root]` of all |
/// | `reduce_scatter` | `[-1, j]` for every j | `[-1, i]` of all |
/// | `allreduce` | `[-1, -1]` | `[-1, -1]` of all |
/// | `scan` | `[-1, i]` | `[-1, i]` of ranks `0..=i` |
/// | `exscan` | `[-1, i]` | `[-1, i]` of ranks `0..i` (rank 0: nothing) |
/// | `shift` | `[i, i + by]`, modulo the number of ranks | `[i - by, i]` |
/// | `barrier` | `[i, -1]`, of no bytes | `[j, -1]` for every j: it has heard from all ranks |
/// | `custom` | as given | as given |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Collective {
    /// Every rank sends a block to every rank.
    Alltoall,
    /// The root sends a block to every rank.
    Scatter {
        /// The rank that sends the blocks.
        root: Rank,
    },
    /// Every rank sends a block to the root.
    Gather {
        /// The rank that gets the blocks.
        root: Rank,
    },
    /// Every rank sends one block to all ranks.
    Allgather,
    /// The root sends one block to all ranks.
    Broadcast {
        /// The rank that sends the block.
        root: Rank,
    },
    /// Every rank contributes to one result, and the root gets it.
    Reduce {
        /// The rank that gets the result.
        root: Rank,
    },
    /// Every rank contributes to one result per rank, and each rank gets its own.
    ReduceScatter,
    /// Every rank contributes to one result, and all ranks get it.
    Allreduce,
    /// Rank i gets the combined contributions of ranks 0 to i.
    Scan,
    /// Rank i gets the combined contributions of the ranks before it.
    Exscan,
    /// Every rank sends a block to the rank a distance further on, in a circle.
    Shift {
        /// The distance, modulo the number of ranks.
        by: usize,
    },
    /// No rank returns before all ranks have called.
    Barrier,
    /// A collective defined by the blocks that ranks hold before and after.
    Custom(Arc<Custom>),
}

impl Collective {
    /// Calls a function with the collective's definition.
    fn row<R>(&self, of: impl FnOnce(&(dyn CollectiveRow + 'static)) -> R) -> R {
        match self {
            Self::Alltoall => of(&Alltoall),
            Self::Scatter { .. } => of(&Scatter),
            Self::Gather { .. } => of(&Gather),
            Self::Allgather => of(&Allgather),
            Self::Broadcast { .. } => of(&Broadcast),
            Self::Reduce { .. } => of(&Reduce),
            Self::ReduceScatter => of(&ReduceScatter),
            Self::Allreduce => of(&Allreduce),
            Self::Scan => of(&Scan),
            Self::Exscan => of(&Exscan),
            Self::Shift { by } => of(&Shift { by: *by }),
            Self::Barrier => of(&Barrier),
            Self::Custom(custom) => of(&**custom),
        }
    }

    /// Returns all collectives except `custom`. Those with a root get this one; the shift is by 1.
    pub fn all(root: Rank) -> impl Iterator<Item = Self> {
        let all = [
            Self::Alltoall,
            Self::Scatter { root },
            Self::Gather { root },
            Self::Allgather,
            Self::Broadcast { root },
            Self::Reduce { root },
            Self::ReduceScatter,
            Self::Allreduce,
            Self::Scan,
            Self::Exscan,
            Self::Shift { by: 1 },
            Self::Barrier,
        ];
        all.into_iter()
    }

    /// Returns the names of all collectives except `custom`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::all(Rank::default()).map(|collective| collective.name())
    }

    /// Returns the collectives that have a call with blocks of different lengths, each with the
    /// name of that call. Those with a root have root 0.
    pub(crate) fn varying() -> impl Iterator<Item = (&'static str, Self)> {
        Self::all(Rank::default()).filter_map(|collective| Some((collective.row(|row| row.varying())?, collective)))
    }

    /// Returns the collective with this name, and with this root if it has one. The shift is by 1;
    /// by another distance its name is `shift:by=5`. `None` for an unknown name and for `custom`.
    ///
    /// ```
    /// use necklace::{Rank, collective::Collective};
    ///
    /// let named = |name| Collective::named(name, Rank::new(2));
    /// assert_eq!(named("gather"), Some(Collective::Gather { root: Rank::new(2) }));
    /// assert_eq!(named("shift:by=5"), Some(Collective::Shift { by: 5 }));
    /// ```
    #[must_use]
    pub fn named(name: &str, root: Rank) -> Option<Self> {
        let (name, parameters) = name.split_once(':').map_or((name, None), |(name, of)| (name, Some(of)));
        let found = Self::all(root).find(|collective| collective.name() == name)?;
        match (parameters, &found) {
            (None, _) => Some(found),
            (Some(parameters), Self::Shift { .. }) => Shift::read(parameters).map(|Shift { by }| Self::Shift { by }),
            (Some(_), _) => None,
        }
    }

    /// Returns the syntax of the texts that [`named`](Self::named) reads, `alltoall, scatter, ..`,
    /// for messages and help.
    #[must_use]
    pub fn syntax() -> String {
        let all = Self::all(Rank::default()).map(|collective| collective.row(CollectiveRow::syntax));
        all.collect::<Vec<_>>().join(", ")
    }

    /// Returns the text that [`named`](Self::named) reads: the name, and the distance of a shift
    /// unless it is 1.
    #[must_use]
    pub fn text(&self) -> String {
        self.row(CollectiveRow::text)
    }

    /// Returns the name in commands and JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.row(CollectiveRow::name)
    }

    /// Returns the root, if the collective has one.
    #[must_use]
    pub fn root(&self) -> Option<Rank> {
        match *self {
            Self::Scatter { root } | Self::Gather { root } | Self::Broadcast { root } | Self::Reduce { root } => {
                Some(root)
            }
            _ => None,
        }
    }

    /// Returns the distance, if the collective is a shift.
    #[must_use]
    pub fn distance(&self) -> Option<usize> {
        if let Self::Shift { by } = *self { Some(by) } else { None }
    }

    /// Returns the rank's role in the collective.
    pub(crate) fn role(&self, size: usize, rank: Rank) -> Role {
        Role { rank, size, root: self.root().unwrap_or_default() }
    }

    /// Returns the blocks that `rank` of `size` ranks holds before. Each block has one contributor.
    #[must_use]
    pub fn before(&self, size: usize, rank: Rank) -> Holding {
        self.row(|row| row.before(self.role(size, rank)))
    }

    /// Returns the blocks that `rank` of `size` ranks must hold after.
    #[must_use]
    pub fn after(&self, size: usize, rank: Rank) -> Holding {
        self.row(|row| row.after(self.role(size, rank)))
    }

    /// Returns the result that a reduction leaves at `rank` of `size` ranks, and its contributors.
    /// `None` if it leaves none.
    pub(crate) fn result(&self, size: usize, rank: Rank) -> Option<(Block, Range<usize>)> {
        self.row(|row| row.result(self.role(size, rank)))
    }

    /// Returns the pattern of the number of blocks in a rank's input and output. A custom
    /// collective has none.
    pub(crate) fn buffers(&self) -> (BlockCount, BlockCount) {
        self.row(CollectiveRow::buffers)
    }

    /// Returns the number of blocks in the input and in the output of one rank.
    pub(crate) fn lengths(&self, size: usize, rank: Rank) -> (usize, usize) {
        self.row(|row| row.lengths(self.role(size, rank)))
    }

    /// Returns the most blocks that any of `ranks` ranks holds, before or after.
    pub(crate) fn most(&self, ranks: u64) -> u64 {
        self.row(|row| row.most(ranks))
    }

    /// Returns the most blocks that `some` of `all` ranks hold together, before and after.
    pub(crate) fn together(&self, some: u128, all: u128) -> (u128, u128) {
        self.row(|row| row.together(some, all))
    }

    /// Returns whether a block's name tells which contributions the block holds.
    pub(crate) fn blocks_name_their_contents(&self) -> bool {
        self.row(CollectiveRow::blocks_name_their_contents)
    }

    /// Returns the data that every schedule must move.
    pub(crate) fn traffic(&self) -> Traffic {
        self.row(CollectiveRow::traffic)
    }

    /// Returns the rank from which information must reach all others, or which information from all
    /// others must reach. `None` if information goes from all ranks to all ranks.
    pub(crate) fn centre(&self) -> Option<Rank> {
        self.row(|row| row.centre(self.root()))
    }

    /// Returns whether all data ends at one rank.
    pub(crate) fn gathers(&self) -> bool {
        self.row(CollectiveRow::gathers)
    }

    /// Returns whether blocks have bytes. Those of a barrier have none.
    #[must_use]
    pub fn has_bytes(&self) -> bool {
        self.row(CollectiveRow::has_bytes)
    }

    /// Returns the names of the algorithms by which libraries such as MPI are known to execute it.
    pub(crate) fn in_libraries(&self) -> &'static [&'static str] {
        self.row(CollectiveRow::in_libraries)
    }

    /// Returns whether JSON documents name the collective instead of listing its conditions.
    #[cfg(feature = "json")]
    pub(crate) fn is_known_by_name(&self) -> bool {
        self.row(CollectiveRow::is_known_by_name)
    }

    /// Returns whether contributions are combined, so that their order may matter. True for reduce,
    /// reduce_scatter, allreduce, scan, exscan, and custom collectives with a block of several
    /// contributors.
    #[must_use]
    pub fn is_reduction(&self) -> bool {
        self.row(CollectiveRow::combines)
    }

    /// Returns whether the collective is personalised: each block has one source and one
    /// destination, and is in one place at a time, so that a rank that sends a block gives it up.
    /// True for alltoall, scatter, gather, shift, and custom collectives whose blocks are at one
    /// rank before and at one rank after.
    #[must_use]
    pub fn is_personalised(&self) -> bool {
        self.row(CollectiveRow::is_personalised)
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.row(CollectiveRow::description))?;
        self.root().map_or(Ok(()), |root| write!(f, " from root {root}"))
    }
}
