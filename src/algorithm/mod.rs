//! Algorithms: from a problem and a rank, that rank's share of a schedule.
//!
//! One file an algorithm; [`registry`] lists them all. An algorithm speaks of blocks and peers
//! only, never of bytes.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod broadcast;
pub mod cube;
mod definition;
mod fixed;
pub mod gather;
mod loads;
mod native;
mod parameters;
pub mod reduce_scatter;
mod registry;
pub mod scan;
pub mod scatter;
mod shape;
mod tree;

pub(crate) use definition::scheduled;
pub use definition::{About, Algorithm};
pub(crate) use fixed::Fixed;
pub use native::Native;
pub use parameters::{Parameter, Settings, Values};
pub use registry::{all_for, candidates, find, registry};
use shape::{cube_digits, doublings, is_complete, is_cube, no_power_of_two};

pub use crate::vocabulary::Claims;
