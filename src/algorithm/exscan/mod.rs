//! Exscan: rank i gets the combined contributions of the ranks before it (exclusive prefix).

mod recursive_doubling;

pub use recursive_doubling::RecursiveDoubling;
