//! Binomial trees: places counted from the root.

use crate::algorithm::doublings;
use crate::block::Volume;

/// A rank's place in the tree, the root's being 0. By exclusive or where that can be, so that a
/// cube's channels are used.
pub(super) fn from_root(rank: usize, root: usize, size: usize) -> usize {
    if size.is_power_of_two() { rank ^ root } else { (rank + size - root) % size }
}

/// The rank at that place.
pub(super) fn at(place: usize, root: usize, size: usize) -> usize {
    if size.is_power_of_two() { place ^ root } else { (place + root) % size }
}

/// In a tree of so many, the places at and below a place whose parent is 2^k before it.
pub(super) fn below(place: usize, k: u32, size: usize) -> std::ops::Range<usize> {
    place..size.min(place.saturating_add(1 << k))
}

/// The sum over rounds of the most places at and below one whose parent is 2^k before it, for all
/// k.
pub(super) fn transmission(size: usize) -> Volume {
    let most = |k: u32| below(1 << k, k, size).len() as u64;
    (0..doublings(size)).map(|k| Volume::from(most(k))).sum()
}
