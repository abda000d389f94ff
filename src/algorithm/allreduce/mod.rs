//! Allreduce: every rank contributes to one result, and all ranks get it.

mod by_dimension;
mod rabenseifner;
mod recursive_doubling;
mod reduce_scatter_allgather;
mod ring;

pub use by_dimension::ByDimension;
pub use rabenseifner::Rabenseifner;
pub use recursive_doubling::RecursiveDoubling;
pub use reduce_scatter_allgather::ReduceScatterAllgather;
pub use ring::Ring;
