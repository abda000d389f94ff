//! Barrier: no rank returns before all ranks have called.

mod dissemination;
mod two_level;

pub use dissemination::Dissemination;
pub use two_level::TwoLevel;
