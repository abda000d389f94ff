//! What each collective means: which rank holds which block before, and which rank shall hold what
//! after.
//!
//! This is the specification that [`verify`](crate::schedule::verify()) holds a schedule against. A
//! file says what there is to say of one.

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

pub use custom::Custom;
pub use definition::Collective;
pub use row::Holding;
pub(crate) use row::Traffic;
