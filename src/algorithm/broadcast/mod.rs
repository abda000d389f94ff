//! Broadcast: the root sends one block to all ranks (one-to-all broadcast).

mod binomial;
mod by_dimension;

pub use binomial::Binomial;
pub use by_dimension::ByDimension;
