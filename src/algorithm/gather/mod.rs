//! Gather: every rank sends a block to the root (all-to-one personalised).

mod binomial;
mod direct;

pub use binomial::Binomial;
pub use direct::Direct;
