//! Gather: every rank sends a block to the root (all-to-one personalised).

mod balanced_spanning_subgraph;
mod balanced_spanning_tree;
mod binomial;
mod bridgeheads;
mod by_dimension;
mod direct;
mod subtrees;
mod two_level;

pub use balanced_spanning_subgraph::BalancedSpanningSubgraph;
pub use balanced_spanning_tree::BalancedSpanningTree;
pub use binomial::Binomial;
pub use bridgeheads::Bridgeheads;
pub use by_dimension::ByDimension;
pub use direct::Direct;
pub use subtrees::Subtrees;
pub use two_level::TwoLevel;
