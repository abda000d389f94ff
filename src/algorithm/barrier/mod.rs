//! Barrier: no rank returns before all ranks have called.

mod direct;
mod dissemination;
mod two_level;

pub use direct::Direct;
pub use dissemination::Dissemination;
pub use two_level::TwoLevel;
