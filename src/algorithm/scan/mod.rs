//! Scan: rank i gets the combined contributions of ranks 0 to i (inclusive prefix).

mod by_dimension;
mod recursive_doubling;

pub use by_dimension::ByDimension;
pub use recursive_doubling::RecursiveDoubling;
