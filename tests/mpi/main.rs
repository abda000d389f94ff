//! The suites of transports and communicators once more, over ranks that are processes: see `tests/proxy`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../jobs/proxied.rs"]
mod jobs;
#[path = "../mpirun/mod.rs"]
mod mpirun;
#[path = "../proxy/mod.rs"]
mod proxy;

mod promises;

#[path = "../promises/mod.rs"]
mod every_backend;
#[path = "../suites/mod.rs"]
mod suites;

/// The workers are this program, started again: for them this is no test.
#[test]
fn worker() {
    proxy::run_if_told();
}
