//! The c pairs that a cube's cyclic addresses leave over, together with a necklace of weight d - c.
//!
//! Source: TR-16-92, §3.5.3, Figure 3 and Table 7. In the *generating table* row ρ and column t
//! hold the dimension (ρ + t) mod d: every column, a step, has each dimension once. The last c rows
//! are the pairs'. In the others q = d - c lines are drawn, each through d entries: the j-th entry
//! of a line is what member j of the necklace crosses, and in which step. For that to be a
//! schedule, no member may be on two entries of a column.
//!
//! Two systems of lines are in the paper. The right one of Figure 3, [`greedy`], is what
//! [`Scheme::Necklaces`](super::Scheme) uses: it needs no case distinction. The left one,
//! [`diagonal`], needs one for even d and does not exist for c = d/2.

use crate::topology::Hypercube;

/// Where a member is on a line: what it crosses, in which step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The dimension.
    pub dimension: usize,
    /// The step, a column of the generating table.
    pub step: usize,
}

impl Entry {
    /// The row of the generating table of d dimensions, if it is an entry of that.
    #[must_use]
    pub fn row(self, d: usize) -> Option<usize> {
        (self.dimension < d && self.step < d).then(|| (self.dimension + d - self.step) % d)
    }
}

/// Whether there are such lines, and such an entry.
fn exists(d: usize, c: usize, i: usize, j: usize) -> bool {
    c < d && i < d - c && j < d && d <= Hypercube::MAX_DIMENSIONS
}

/// Entry `j` of line `i` of `d` - `c`, for c < d: the first line goes down to the last row that is
/// not the pairs', then to the right, for c columns; each next one turns a row earlier, and goes
/// down again. Member j of the necklace is 0^c 1^(d-c), rotated to the left j times. `None` where
/// there is no such entry.
#[must_use]
pub fn greedy(d: usize, c: usize, i: usize, j: usize) -> Option<Entry> {
    exists(d, c, i, j).then(|| {
        let right = (i + j + 1).saturating_sub(d - c).min(c);
        Entry { dimension: (i + j) % d, step: i + right }
    })
}

/// Entry `j` of line `i` of `d` - `c`, for c < d: from the diagonal to the right, around the edge
/// within the row. For even d and c < d/2 the lines i >= d/2 begin a column later, so that no
/// member is on two entries of a column. Member 0 has the bits 2i mod d, of the lines i >= d/2 the
/// bits 2i + 1 mod d instead. `None` where there is no such entry, and where c = d/2: that one's
/// word would be cyclic.
#[must_use]
pub fn diagonal(d: usize, c: usize, i: usize, j: usize) -> Option<Entry> {
    (exists(d, c, i, j) && 2 * c != d).then(|| {
        let later = d.is_multiple_of(2) && i >= d / 2;
        let step = (i + j + usize::from(later)) % d;
        Entry { dimension: (i + step) % d, step }
    })
}
