//! Reduce: the root gets the combined contributions of all ranks (all-to-one reduction).

mod binomial;
mod direct;

pub use binomial::Binomial;
pub use direct::Direct;
