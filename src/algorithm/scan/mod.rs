//! Scan: rank i gets the combined contributions of ranks 0 to i (inclusive prefix).

mod recursive_doubling;

pub use recursive_doubling::RecursiveDoubling;
