//! Allreduce: every rank contributes to one result, and all ranks get it.

mod rabenseifner;
mod recursive_doubling;

pub use rabenseifner::Rabenseifner;
pub use recursive_doubling::RecursiveDoubling;
