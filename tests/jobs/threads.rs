//! Jobs of threads for tests.
//!
//! `tcp.rs` offers the same over TCP, `native.rs` over a backend that has collectives of its own, `proxied.rs` over processes. Suites name
//! none of them: see `tests/suites`.

#![allow(dead_code, unused_imports)]

use std::sync::Arc;
use std::time::Duration;

use necklace::transport::{Endpoint, local};

pub(crate) use necklace::local::{Job, run};
pub(crate) use necklace_tests::{topology, watched};

/// Whether the backend has collectives of its own.
pub(crate) const NATIVE: bool = false;

/// How many calls of its context a collective is that a communicator does for the first time.
pub(crate) const FIRST_TIME: u64 = 1;

/// A deadline as short as ranks on a loaded machine keep it.
pub(crate) const SOON: Duration = Duration::from_millis(300);

/// A job with a thread on every node.
pub(crate) fn on(text: &str) -> Job {
    Job::on(topology(text))
}

/// The endpoints of a job, by rank.
pub(crate) fn endpoints(size: usize) -> Vec<Arc<dyn Endpoint>> {
    local::job(size).unwrap()
}
