//! Portions of the ranks' parts of an array.

use std::ops::Range;

/// Into how many portions each rank's part of an array is divided, along which axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portions {
    pub(crate) axis: usize,
    pub(crate) count: usize,
}

impl Portions {
    /// The part as a whole.
    pub(crate) const WHOLE: Self = Self { axis: 0, count: 1 };
}

/// A portion of a rank's part, in a buffer of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Portion {
    /// Its positions within the part, along the axis that is divided.
    pub(crate) positions: Range<usize>,
    /// The distance in its buffer between elements that are neighbours along each axis.
    pub(super) distances: Vec<usize>,
    /// The length of its buffer.
    pub(crate) length: usize,
}
