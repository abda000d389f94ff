//! The schedule of the c left-over pairs of cyclic addresses with a necklace of weight d - c.
//!
//! Source: TR-16-92, §3.5.3, Figure 3 and Table 7. In the *generating table* row ρ and column t
//! hold the dimension (ρ + t) mod d: every column, a step, has each dimension once. The last c rows
//! belong to the pairs. In the other rows, q = d - c lines are drawn through d entries each: the
//! j-th entry of a line is the dimension that member j of the necklace crosses, and its column is
//! the step. This is a schedule if no member has two entries in one column.
//!
//! The paper has two systems of lines. [`Scheme::Necklaces`](super::Scheme) uses the right one of
//! Figure 3, [`greedy`], which needs no case distinction. The left one needs one for even d, and
//! does not exist for c = d/2; only the tests have it.

use crate::topology::Hypercube;

/// An entry of a line: the dimension that a member crosses, and the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The dimension.
    pub(super) dimension: usize,
    /// The step, a column of the generating table.
    pub(super) step: usize,
}

/// Returns whether there are such lines, and such an entry.
pub(super) fn exists(d: usize, c: usize, i: usize, j: usize) -> bool {
    c < d && i < d - c && j < d && d <= Hypercube::MAX_DIMENSIONS
}

/// Returns entry `j` of line `i` of `d` - `c`, for c < d. The first line goes down to the last row
/// above the pairs, then to the right for c columns; each next line turns one row earlier, and then
/// goes down again. Member j of the necklace is 0^c 1^(d-c), rotated to the left j times. `None` if
/// there is no such entry.
pub(super) fn greedy(d: usize, c: usize, i: usize, j: usize) -> Option<Entry> {
    exists(d, c, i, j).then(|| {
        let right = (i + j + 1).saturating_sub(d - c).min(c);
        Entry { dimension: (i + j) % d, step: i + right }
    })
}
