//! Allreduce: everyone contributes to a result that all shall have.

mod recursive_doubling;

pub use recursive_doubling::RecursiveDoubling;
