//! The suites of transports and communicators once more, over ranks that are processes: see
//! `tests/proxy`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, missing_docs)]

mod jobs;
#[path = "../proxy/mod.rs"]
mod proxy;

mod promises;

mod suites {
    use crate::jobs::Processes;

    necklace_tests::suites!(Processes);
}

/// The workers are this program, started again: for them this is no test.
#[test]
fn worker() {
    proxy::run_if_told();
}
