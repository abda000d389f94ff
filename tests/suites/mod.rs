//! What holds for a communicator over any backend: that it does what MPI's collectives do, by brute-force definitions (all
//! collectives, types, sizes and algorithms), and that what is wrong is an error that says so, on every rank concerned.
//!
//! The module that includes these suites names its backend's jobs `jobs`.

mod absent;
mod arguments;
mod choice;
mod contexts;
mod counts;
mod cubes;
pub(super) mod definitions;
mod disagreement;
pub(super) mod failures;
mod networks;
mod persistent;
mod plans;
mod reductions;
mod regular;
mod split;
mod strided;
mod varying;

use super::jobs;
