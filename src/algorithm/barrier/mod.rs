//! Barrier: no rank returns before all ranks have called.

mod direct;
mod dissemination;

pub use direct::Direct;
pub use dissemination::Dissemination;
