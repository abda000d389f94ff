//! Scan: rank i shall have the combination of ranks 0 to i (inclusive prefix).

mod recursive_doubling;

pub use recursive_doubling::RecursiveDoubling;
