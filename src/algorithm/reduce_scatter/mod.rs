//! Reduce-scatter: every rank contributes to one result per rank, and each rank gets its own.

mod balanced_trees;
mod black_white;
mod bridgeheads;
mod by_dimension;
mod direct;
mod pairwise;
mod recursive_halving;
mod ring;
mod tree_packing;

pub use balanced_trees::BalancedTrees;
pub use black_white::BlackWhite;
pub use bridgeheads::{CircGos, CubGos, HighDimGos, TorGos};
pub use by_dimension::ByDimension;
pub use direct::Direct;
pub use pairwise::Pairwise;
pub use recursive_halving::RecursiveHalving;
pub use ring::Ring;
pub(in crate::algorithm) use ring::around;
pub use tree_packing::TreePacking;
