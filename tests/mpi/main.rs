//! The suites of transports and communicators, over ranks that are processes; see `proxy`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, missing_docs)]

mod jobs;
mod proxy;

mod promises;

mod suites {
    use crate::jobs::Processes;

    necklace_tests::suites!(Processes);
}

/// The entry point of the workers, which are this program started again. Not a test by itself.
#[test]
fn worker() {
    proxy::run_if_told();
}
