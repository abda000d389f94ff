//! Scatter: the root sends a block to every rank (one-to-all personalised).

mod binomial;
mod direct;

pub use binomial::Binomial;
pub use direct::Direct;
