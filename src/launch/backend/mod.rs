//! The backends as a launch sees them: one row each.
//!
//! A row says by which variables and launchers a process is a rank of the backend, and how it
//! joins. `row.rs` has what a row must say, `registry.rs` the list. A row is there whether or not
//! the program is built with its backend, so that errors can name the missing feature.

mod local;
mod mpi;
#[cfg(any(feature = "mpi", feature = "tcp"))]
mod process;
mod registry;
mod row;
pub(super) mod tcp;

pub(super) use registry::{ROWS, THREADS};
pub(super) use row::{Answer, Environment, Joined, Row, Size, Supervise};
