//! Reduce: the root gets the combined contributions of all ranks (all-to-one reduction).

mod binary_tree;
mod binomial;
mod bridgeheads;
mod by_dimension;
mod chain;
mod direct;
mod direct_parts;
mod edge_disjoint_trees;
mod halving;
mod reduce_scatter_gather;
mod two_level;

pub use binary_tree::BinaryTree;
pub use binomial::Binomial;
pub use bridgeheads::Bridgeheads;
pub use by_dimension::ByDimension;
pub use chain::Chain;
pub use direct::Direct;
pub use direct_parts::DirectParts;
pub use edge_disjoint_trees::EdgeDisjointTrees;
pub use halving::Halving;
pub use reduce_scatter_gather::ReduceScatterGather;
pub use two_level::TwoLevel;
