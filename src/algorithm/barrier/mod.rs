//! Barrier: no rank returns before all ranks have called.

mod dissemination;

pub use dissemination::Dissemination;
