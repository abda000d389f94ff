//! Errors of distributions.

use std::ops::Range;

use crate::quote::{cut, debug_as_text};

/// The reason why an array cannot be distributed in this way.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// The shape has no axis.
    #[error("an array has at least one axis; the shape is []")]
    NoAxes,
    /// The array, or the memory for it, is too large. An extent of 0 counts as 1, so that the other
    /// extents have limits too.
    #[error(
        "an array of {} elements{} has more than 2^63 - 1{}",
        times(shape),
        padding.map_or_else(String::new, |padding| format!(", rows padded to {padding},")),
        if shape.contains(&0) { ", counting an extent of 0 as 1" } else { "" }
    )]
    #[non_exhaustive]
    Size {
        /// The extents, with the elements at each index as a last one if there are several.
        shape: Vec<usize>,
        /// The length that rows are padded to.
        padding: Option<usize>,
    },
    /// There is not one split for each axis.
    #[error("{found} splits for an array of {axes} axes; expected one for each axis")]
    #[non_exhaustive]
    Splits {
        /// The number of axes.
        axes: usize,
        /// The number of splits.
        found: usize,
    },
    /// An axis is divided over an axis that the grid does not have.
    #[error("axis {axis} is divided over axis {over} of the grid, which has {dimensions}; expected 0 to {}", dimensions - 1)]
    #[non_exhaustive]
    GridAxis {
        /// The axis of the array.
        axis: usize,
        /// The axis of the grid.
        over: usize,
        /// The number of axes of the grid.
        dimensions: usize,
    },
    /// The array does not have an axis.
    #[error("no axis {axis}; expected 0 to {}", axes - 1)]
    #[non_exhaustive]
    Axis {
        /// The number that was given.
        axis: usize,
        /// The number of axes.
        axes: usize,
    },
    /// An axis is named twice.
    #[error("axis {axis} is named twice; name each axis at most once")]
    #[non_exhaustive]
    AxisTwice {
        /// The axis.
        axis: usize,
    },
    /// The number of ranks is 0 or exceeds the maximum.
    #[error("{ranks} ranks; expected 1 to {}", crate::ids::MAX_NODES)]
    #[non_exhaustive]
    Grid {
        /// The number of ranks.
        ranks: usize,
    },
    /// Two axes are divided over the same axis of the grid.
    #[error("axes {} and {} are both divided over axis {over} of the grid; each needs one of its own", axes.0, axes.1)]
    #[non_exhaustive]
    SharedGridAxis {
        /// The axes of the array.
        axes: (usize, usize),
        /// The axis of the grid.
        over: usize,
    },
    /// No axis is divided over an axis of the grid, so several ranks would have the same elements.
    #[error(
        "no axis of the array is divided over axis {over} of the grid, whose extent is {extent}; divide one over it, or leave it out"
    )]
    #[non_exhaustive]
    UnusedGridAxis {
        /// The axis of the grid.
        over: usize,
        /// Its extent.
        extent: usize,
    },
    /// Blocks are empty.
    #[error("axis {axis} is divided into blocks of 0 indices; expected 1 or more")]
    #[non_exhaustive]
    EmptyBlocks {
        /// The axis of the array.
        axis: usize,
    },
    /// The order does not name each axis once.
    #[error("the order of memory [{}] does not name each of the axes 0 to {} once", cut(&joined(order, ", "), SHOWN), axes - 1)]
    #[non_exhaustive]
    Order {
        /// The order.
        order: Vec<usize>,
        /// The number of axes.
        axes: usize,
    },
    /// Rows are longer than they are padded to.
    #[error("rows of {row} indices cannot be padded to {padding}; expected {row} or more")]
    #[non_exhaustive]
    Padding {
        /// The longest row of a rank, in indices of the axis that is fastest in memory.
        row: usize,
        /// The length that was given.
        padding: usize,
    },
    /// There are no elements at an index.
    #[error("0 elements at each index; expected 1 or more")]
    EmptyBatch,
    /// An exchange has no portions, or more than there are indices.
    #[error("{found} portions along axis {axis}, whose extent is {extent}; expected 1 to {}", (*extent).max(1))]
    #[non_exhaustive]
    Portions {
        /// The number that was given.
        found: usize,
        /// The axis of the array.
        axis: usize,
        /// Its extent.
        extent: usize,
    },
    /// A redistribution does not have a portion.
    #[error("no portion {found}; expected 0 to {}", portions - 1)]
    #[non_exhaustive]
    Portion {
        /// The number that was given.
        found: usize,
        /// The number of portions.
        portions: usize,
    },
    /// There is no box.
    #[error("no boxes; expected one for each rank")]
    NoBoxes,
    /// A box has another number of axes, or lies outside the array.
    #[error("the box {} of rank {rank} does not lie in an array of {} elements", box_text(range), times(shape))]
    #[non_exhaustive]
    BoxRange {
        /// The rank.
        rank: usize,
        /// The box.
        range: Vec<Range<usize>>,
        /// The extents of the array.
        shape: Vec<usize>,
    },
    /// Two boxes have an element in common.
    #[error("the boxes {} of rank {} and {} of rank {} overlap", box_text(&boxes.0), ranks.0, box_text(&boxes.1), ranks.1)]
    #[non_exhaustive]
    BoxOverlap {
        /// The ranks.
        ranks: (usize, usize),
        /// The boxes.
        boxes: (Vec<Range<usize>>, Vec<Range<usize>>),
    },
    /// No box has an element.
    #[error("no box has the element at [{}]", cut(&joined(index, ", "), SHOWN))]
    #[non_exhaustive]
    BoxGap {
        /// The index.
        index: Vec<usize>,
    },
    /// The distributions have different shapes or numbers of elements at each index.
    #[error(
        "an array of {}, {} at each index, cannot become one of {}, {} at each index; expected equal shapes and equal numbers",
        times(&from.0), elements(from.1), times(&to.0), elements(to.1)
    )]
    #[non_exhaustive]
    Shapes {
        /// The extents before, and the elements at each index.
        from: (Vec<usize>, usize),
        /// The extents after, and the elements at each index.
        to: (Vec<usize>, usize),
    },
    /// A block consists of too many pieces.
    #[error(
        "rank {rank} exchanges {pieces} pieces with rank {peer}; expected at most {most}; there are fewer if the \
         blocks of one distribution divide those of the other"
    )]
    #[non_exhaustive]
    Pieces {
        /// A rank.
        rank: usize,
        /// The rank that it exchanges elements with.
        peer: usize,
        /// The number of pieces.
        pieces: u64,
        /// The maximum number.
        most: u64,
    },
    /// A buffer does not have the length of a rank's part.
    #[error("the buffer has {found} elements; the part of rank {rank} has {expected}")]
    #[non_exhaustive]
    Buffer {
        /// The rank.
        rank: usize,
        /// The length of its part in elements.
        expected: usize,
        /// The length of the buffer.
        found: usize,
    },
    /// The distribution and the communicator have different numbers of ranks.
    #[error("the array is distributed over {found} ranks; the communicator has {ranks}")]
    #[non_exhaustive]
    Ranks {
        /// The ranks of the distribution.
        found: usize,
        /// The ranks of the communicator.
        ranks: usize,
    },
}

debug_as_text!(ArrayError);

/// The longest list of numbers that is shown whole, in characters.
const SHOWN: usize = 120;

/// Returns extents as in `4x3`.
fn times(extents: &[usize]) -> String {
    cut(&joined(extents, "x"), SHOWN).into_owned()
}

/// Joins numbers by a separator.
pub(super) fn joined(numbers: &[usize], between: &str) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(between)
}

fn elements(number: usize) -> String {
    format!("{number} element{}", if number == 1 { "" } else { "s" })
}

/// Returns a box as in `[0..4, 1..3]`.
fn box_text(range: &[Range<usize>]) -> String {
    cut(&format!("{range:?}"), SHOWN).into_owned()
}
