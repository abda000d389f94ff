//! Reduce-scatter: every rank contributes to one result per rank, and each rank gets its own.

mod pairwise;
mod recursive_halving;

pub use pairwise::Pairwise;
pub use recursive_halving::RecursiveHalving;
