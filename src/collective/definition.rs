//! The collectives by their names.

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
use super::row::{Blocks, Holding, Row, Seat, Traffic};
use super::scan::{Exscan, Scan};
use super::scatter::Scatter;
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
/// | `barrier` | `[i, -1]`, of no bytes | `[j, -1]` for every j: it has heard of everybody |
/// | `custom` | as given | as given |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Collective {
    /// Everyone has a block for everyone.
    Alltoall,
    /// The root has a block for everyone.
    Scatter {
        /// Who has the blocks.
        root: Rank,
    },
    /// Everyone has a block for the root.
    Gather {
        /// Who gets the blocks.
        root: Rank,
    },
    /// Everyone has a block that all shall have.
    Allgather,
    /// The root has a block that all shall have.
    Broadcast {
        /// Who has the block.
        root: Rank,
    },
    /// Everyone contributes to a result that the root shall have.
    Reduce {
        /// Who gets the result.
        root: Rank,
    },
    /// Everyone contributes to every block; each rank shall have the result of its own.
    ReduceScatter,
    /// Everyone contributes to a result that all shall have.
    Allreduce,
    /// Rank i shall have the combination of ranks 0 to i.
    Scan,
    /// Rank i shall have the combination of the ranks before it.
    Exscan,
    /// Nobody leaves before everybody has come.
    Barrier,
    /// Anything else, by what is held before and after.
    Custom(Arc<Custom>),
}

impl Collective {
    /// Returns the definition in its file.
    fn row(&self) -> &dyn Row {
        match self {
            Self::Alltoall => &Alltoall,
            Self::Scatter { .. } => &Scatter,
            Self::Gather { .. } => &Gather,
            Self::Allgather => &Allgather,
            Self::Broadcast { .. } => &Broadcast,
            Self::Reduce { .. } => &Reduce,
            Self::ReduceScatter => &ReduceScatter,
            Self::Allreduce => &Allreduce,
            Self::Scan => &Scan,
            Self::Exscan => &Exscan,
            Self::Barrier => &Barrier,
            Self::Custom(custom) => &**custom,
        }
    }

    /// All but `custom`, with that root where they have one.
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
            Self::Barrier,
        ];
        all.into_iter()
    }

    /// The names of all but `custom`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::all(Rank::default()).map(|collective| collective.name())
    }

    /// The collective of that name, with that root where it has one. `None` for an unknown name and
    /// for `custom`.
    #[must_use]
    pub fn named(name: &str, root: Rank) -> Option<Self> {
        Self::all(root).find(|collective| collective.name() == name)
    }

    /// The name that users type and that JSON carries.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.row().name()
    }

    /// The root, for a collective that has one.
    #[must_use]
    pub fn root(&self) -> Option<Rank> {
        match *self {
            Self::Scatter { root } | Self::Gather { root } | Self::Broadcast { root } | Self::Reduce { root } => {
                Some(root)
            }
            _ => None,
        }
    }

    /// A rank's seat in it.
    pub(crate) fn seat(&self, size: usize, rank: Rank) -> Seat {
        Seat { rank, size, root: self.root().unwrap_or_default() }
    }

    /// What `rank` of `size` holds before. A block of a reduction is its contributor's alone.
    #[must_use]
    pub fn before(&self, size: usize, rank: Rank) -> Holding {
        self.row().before(self.seat(size, rank))
    }

    /// What `rank` of `size` shall hold after.
    #[must_use]
    pub fn after(&self, size: usize, rank: Rank) -> Holding {
        self.row().after(self.seat(size, rank))
    }

    /// The result that a reduction leaves at `rank` of `size`, and whose contributions it is of.
    /// `None` where there is none.
    pub(crate) fn result(&self, size: usize, rank: Rank) -> Option<(Block, Range<usize>)> {
        self.row().result(self.seat(size, rank))
    }

    /// The blocks of a rank's input and of its output; of a custom collective none.
    pub(crate) fn buffers(&self) -> (Blocks, Blocks) {
        self.row().buffers()
    }

    /// Returns the data that every schedule must move.
    pub(crate) fn traffic(&self) -> Traffic {
        self.row().traffic()
    }

    /// From where to all others news must travel, or from all others to there. `None` for from
    /// everywhere to everywhere.
    pub(crate) fn centre(&self) -> Option<Rank> {
        self.row().centre(self.root())
    }

    /// Whether all comes together at one rank.
    pub(crate) fn gathers(&self) -> bool {
        self.row().gathers()
    }

    /// Whether blocks have bytes: those of a barrier have none.
    pub(crate) fn has_bytes(&self) -> bool {
        self.row().has_bytes()
    }

    /// Whether documents name it, in place of its conditions.
    #[cfg(feature = "json")]
    pub(crate) fn is_known_by_name(&self) -> bool {
        self.row().is_known_by_name()
    }

    /// Whether contributions are combined, so that their order may matter: true of reduce,
    /// reduce_scatter, allreduce, scan and exscan, and of a custom collective that wants a block of
    /// several contributors.
    #[must_use]
    pub fn is_reduction(&self) -> bool {
        self.row().combines()
    }

    /// Whether each block has one source and one destination, and so is in one place at a time:
    /// sending it gives it up. True of alltoall, scatter and gather, and of a custom collective
    /// whose blocks are each with one rank before and with one after.
    #[must_use]
    pub fn is_personalised(&self) -> bool {
        self.row().is_personalised()
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.root().map_or(Ok(()), |root| write!(f, " from root {root}"))
    }
}
