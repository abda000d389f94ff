//! Exchanges within a cube, element by element, as Johnsson & Ho describe them.

mod schemes;
mod tables;

use std::collections::BTreeSet;

use super::AddressGroup;
use super::lines::{Entry, exists};

/// Returns the addresses of a group of an exchange of d dimensions. Address 0, which crosses
/// nothing, is in the group of its complement.
fn addresses(group: &AddressGroup, d: usize) -> BTreeSet<usize> {
    let crossing: BTreeSet<usize> = group.steps.iter().flatten().map(|crossing| crossing.address).collect();
    let zero = crossing.contains(&((1 << d) - 1)).then_some(0);
    crossing.into_iter().chain(zero).collect()
}

/// Returns the row of an entry in the generating table of d dimensions, if the entry is in the
/// table.
fn row(entry: Entry, d: usize) -> Option<usize> {
    (entry.dimension < d && entry.step < d).then(|| (entry.dimension + d - entry.step) % d)
}

/// Returns entry `j` of line `i` of the left system of Figure 3, `d` - `c` lines for c < d.
///
/// Lines go from the diagonal to the right, wrapping within the row. For even d and c < d/2, the
/// lines from d/2 on begin one column later, so that no member has two entries in one column.
/// Member 0 has the bits 2i mod d; for the lines from d/2 on, the bits 2i + 1 mod d instead.
///
/// `None` if there is no such entry, or if c = d/2, where the word would be cyclic.
fn diagonal(d: usize, c: usize, i: usize, j: usize) -> Option<Entry> {
    (exists(d, c, i, j) && 2 * c != d).then(|| {
        let later = d.is_multiple_of(2) && i >= d / 2;
        let step = (i + j + usize::from(later)) % d;
        Entry { dimension: (i + step) % d, step }
    })
}
