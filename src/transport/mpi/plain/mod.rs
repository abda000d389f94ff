//! Code of the MPI backend that calls no function of MPI. Its tests run with those of the library
//! without the feature `mpi`, so that nothing is built for them alone.

pub(super) mod abort_delay;
pub(in crate::transport) mod call_tracker;
pub(super) mod error;
pub(super) mod known_groups;
pub(super) mod process_info;
pub(in crate::transport) mod watchdog;
