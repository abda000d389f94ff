//! Allgather: every rank sends one block to all ranks (gossip, all-to-all broadcast).

mod balanced_trees;
mod black_white;
mod bridgeheads;
mod bruck;
mod by_dimension;
mod direct;
mod neighbour_exchange;
mod recursive_doubling;
mod ring;
mod sliding_windows;
mod tree_packing;
mod two_level;

pub use balanced_trees::BalancedTrees;
pub use black_white::BlackWhite;
pub use bridgeheads::{CircGos, CubGos, HighDimGos, TorGos};
pub use bruck::Bruck;
pub use by_dimension::ByDimension;
pub use direct::Direct;
pub use neighbour_exchange::NeighbourExchange;
pub use recursive_doubling::RecursiveDoubling;
pub use ring::Ring;
pub(in crate::algorithm) use ring::around;
pub use sliding_windows::SlidingWindows;
pub use tree_packing::TreePacking;
pub use two_level::TwoLevel;
