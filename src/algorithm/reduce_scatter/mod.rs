//! Reduce-scatter: everyone contributes to every block; each rank has the result of its own.

mod pairwise;
mod recursive_halving;

pub use pairwise::Pairwise;
pub use recursive_halving::RecursiveHalving;
