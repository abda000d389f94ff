//! Collectives: the blocks that each rank holds before and must hold after.
//!
//! [`verify`](crate::schedule::verify()) checks schedules against these conditions. Each collective
//! is defined in one file.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod broadcast;
mod custom;
mod definition;
mod gather;
mod reduce;
mod reduce_scatter;
mod row;
mod scan;
mod scatter;
mod shift;

pub use custom::Custom;
pub use definition::Collective;
pub use row::Holding;
pub(crate) use row::{BlockCount, Traffic};
