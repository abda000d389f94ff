//! Allgather: every rank sends one block to all ranks (gossip, all-to-all broadcast).

mod recursive_doubling;
mod ring;

pub use recursive_doubling::RecursiveDoubling;
pub use ring::Ring;
