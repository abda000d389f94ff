//! Exscan: rank i gets the combined contributions of the ranks before it (exclusive prefix).

mod by_dimension;
mod chain;
mod direct;
mod recursive_doubling;

pub use by_dimension::ByDimension;
pub use chain::Chain;
pub use direct::Direct;
pub use recursive_doubling::RecursiveDoubling;
