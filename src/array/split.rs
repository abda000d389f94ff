//! How an axis of an array is divided.

use std::fmt;

use super::index_set::IndexSet;
use crate::plan::even_range;

/// The division of one axis of an array among the coordinates of an axis of the process grid.
///
/// The grid's axis is given by its number. No two axes of an array are divided over the same one.
///
/// | `Split` of 10 indices over 3 coordinates | the first has | the second | the third |
/// |---|---|---|---|
/// | `Whole` | 0 to 9 | 0 to 9 | 0 to 9 |
/// | `Block(g)` | 0 to 3 | 4 to 6 | 7 to 9 |
/// | `Cyclic(g)` | 0, 3, 6, 9 | 1, 4, 7 | 2, 5, 8 |
/// | `BlockCyclic { axis: g, block: 2 }` | 0, 1, 6, 7 | 2, 3, 8, 9 | 4, 5 |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Split {
    /// Every rank has all indices.
    Whole,
    /// Ranges of consecutive indices over this axis of the grid. Their lengths differ by at most
    /// one, the longer ones first.
    Block(usize),
    /// Single indices over this axis of the grid in turn.
    Cyclic(usize),
    /// Blocks of consecutive indices over an axis of the grid in turn, as ScaLAPACK divides
    /// matrices.
    BlockCyclic {
        /// The axis of the grid.
        axis: usize,
        /// The number of indices in a block.
        block: usize,
    },
}

impl Split {
    /// Returns the axis of the grid, if it is divided.
    #[must_use]
    pub fn axis(self) -> Option<usize> {
        match self {
            Self::Whole => None,
            Self::Block(axis) | Self::Cyclic(axis) | Self::BlockCyclic { axis, .. } => Some(axis),
        }
    }

    /// Returns the indices of one of `of` coordinates.
    pub(super) fn index_set(self, extent: usize, coordinate: usize, of: usize) -> IndexSet {
        match self {
            Self::Whole => IndexSet::range(0..extent),
            Self::Block(_) => IndexSet::range(even_range(extent, of, coordinate)),
            Self::Cyclic(_) => IndexSet::dealt(1, coordinate, of, extent),
            Self::BlockCyclic { block, .. } => IndexSet::dealt(block, coordinate, of, extent),
        }
    }

    /// Returns the coordinate that has an index, one of `of`.
    pub(super) fn coordinate(self, extent: usize, index: usize, of: usize) -> usize {
        let longer = extent % of;
        match self {
            Self::Whole => 0,
            Self::Block(_) => {
                // The first ranges are longer by one.
                let length = extent / of + 1;
                if index < longer * length { index / length } else { longer + (index - longer * length) / (length - 1) }
            }
            Self::Cyclic(_) => index % of,
            Self::BlockCyclic { block, .. } => index / block % of,
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("whole"),
            Self::Block(axis) => write!(f, "block over {axis}"),
            Self::Cyclic(axis) => write!(f, "cyclic over {axis}"),
            Self::BlockCyclic { axis, block } => write!(f, "blocks of {block} over {axis}"),
        }
    }
}
