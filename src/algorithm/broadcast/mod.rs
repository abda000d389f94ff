//! Broadcast: the root sends one block to all ranks (one-to-all broadcast).

mod binomial;

pub use binomial::Binomial;
