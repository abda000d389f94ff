//! Barrier: nobody leaves before everybody has come.

mod dissemination;

pub use dissemination::Dissemination;
