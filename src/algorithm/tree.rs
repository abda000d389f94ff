//! Binomial trees, by places relative to the root.

use crate::algorithm::doublings;
use crate::block::Volume;

/// Returns a rank's place relative to the root, which is at 0. For powers of two it is an exclusive
/// or, so that messages follow the channels of a cube.
pub(super) fn from_root(rank: usize, root: usize, size: usize) -> usize {
    if size.is_power_of_two() { rank ^ root } else { (rank + size - root) % size }
}

/// Returns the rank at a place.
pub(super) fn at(place: usize, root: usize, size: usize) -> usize {
    if size.is_power_of_two() { place ^ root } else { (place + root) % size }
}

/// Returns the places of the subtree at a place whose parent is 2^k before it, in a tree of `size`
/// ranks.
pub(super) fn below(place: usize, k: u32, size: usize) -> std::ops::Range<usize> {
    place..size.min(place.saturating_add(1 << k))
}

/// Returns the sum over all k of the size of the largest subtree whose parent is 2^k before it.
pub(super) fn transmission(size: usize) -> Volume {
    let most = |k: u32| below(1 << k, k, size).len() as u64;
    (0..doublings(size)).map(|k| Volume::from(most(k))).sum()
}
