//! Gather: every rank sends a block to the root (all-to-one personalised).

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
