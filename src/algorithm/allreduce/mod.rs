//! Allreduce: every rank contributes to one result, and all ranks get it.

mod recursive_doubling;

pub use recursive_doubling::RecursiveDoubling;
