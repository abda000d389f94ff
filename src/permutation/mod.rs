//! Permutations of distributed arrays, by their addresses' bits.

mod map;

pub use map::{BitMap, BitMapError};
