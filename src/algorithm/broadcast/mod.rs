//! Broadcast: the root has a block that all shall have (one-to-all broadcast).

mod binomial;

pub use binomial::Binomial;
