//! Scatter: the root sends a block to every rank (one-to-all personalised).

mod binomial;
mod bridgeheads;
mod by_dimension;
mod direct;
mod two_level;

pub use binomial::Binomial;
pub use bridgeheads::Bridgeheads;
pub use by_dimension::ByDimension;
pub use direct::Direct;
pub use two_level::TwoLevel;
