//! Broadcast: the root sends one block to all ranks (one-to-all broadcast).

mod along_rows;
mod binary_tree;
mod binomial;
mod bridgeheads;
mod by_dimension;
mod chain;
mod direct;
mod edge_disjoint_trees;
mod farthest_first;
mod halving;
mod scatter_allgather;
mod sliding_windows;
mod spread;
mod two_level;

pub use binary_tree::BinaryTree;
pub use binomial::Binomial;
pub use bridgeheads::Bridgeheads;
pub use by_dimension::ByDimension;
pub use chain::Chain;
pub use direct::Direct;
pub use edge_disjoint_trees::EdgeDisjointTrees;
pub use farthest_first::FarthestFirst;
pub use halving::Halving;
pub use scatter_allgather::ScatterAllgather;
pub use sliding_windows::SlidingWindows;
pub use two_level::TwoLevel;
