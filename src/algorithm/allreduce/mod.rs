//! Allreduce: every rank contributes to one result, and all ranks get it.

mod balanced_trees;
mod black_white;
mod bridgeheads;
mod by_dimension;
mod direct;
mod direct_parts;
mod rabenseifner;
mod recursive_doubling;
mod reduce_scatter_allgather;
mod ring;
mod tree_packing;
mod two_level;

pub use balanced_trees::BalancedTrees;
pub use black_white::BlackWhite;
pub use bridgeheads::{CircGos, CubGos, HighDimGos, TorGos};
pub use by_dimension::ByDimension;
pub use direct::Direct;
pub use direct_parts::DirectParts;
pub use rabenseifner::Rabenseifner;
pub use recursive_doubling::RecursiveDoubling;
pub use reduce_scatter_allgather::ReduceScatterAllgather;
pub use ring::Ring;
pub use tree_packing::TreePacking;
pub use two_level::TwoLevel;
