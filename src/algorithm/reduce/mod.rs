//! Reduce: the root gets the combined contributions of all ranks (all-to-one reduction).

mod binomial;
mod by_dimension;
mod direct;

pub use binomial::Binomial;
pub use by_dimension::ByDimension;
pub use direct::Direct;
