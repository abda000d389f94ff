//! Scatter: the root has a block for everyone (one-to-all personalised).

mod binomial;
mod direct;

pub use binomial::Binomial;
pub use direct::Direct;
