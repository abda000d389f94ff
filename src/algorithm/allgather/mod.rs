//! Allgather: everyone has a block that all shall have (gossip, all-to-all broadcast).

mod recursive_doubling;
mod ring;

pub use recursive_doubling::RecursiveDoubling;
pub use ring::Ring;
