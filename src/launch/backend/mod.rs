//! The backends of a launch: one row each.
//!
//! A row says by which variables and launchers a process is a rank of the backend, and how it
//! joins. `row.rs` defines a row, `registry.rs` lists all. A row exists whether or not the program
//! is built with its backend, so that errors can name the missing feature.

mod local;
mod mpi;
#[cfg(any(feature = "mpi", feature = "tcp"))]
mod process;
mod registry;
mod row;
pub(super) mod tcp;

pub(super) use registry::{ROWS, THREADS};
pub(super) use row::{Environment, JoinedJob, Row, Selection, Size, Supervise};
