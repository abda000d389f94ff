//! All backends.

use super::row::Row;
use super::{local, mpi, tcp};

/// One row per backend, in order of precedence. The first that selects this process is used.
pub(in crate::launch) const ROWS: [&Row; 3] = [&mpi::ROW, &tcp::ROW, &local::ROW];

/// The backend of threads, for launches that read no environment.
pub(in crate::launch) const THREADS: &Row = &local::ROW;
