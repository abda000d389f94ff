//! Every backend keeps every promise, also through wrappers and boxes; and the suite that says so can fail.

#![cfg(feature = "local")]

use std::sync::Arc;
use std::time::Duration;

use necklace::transport::conformance::{self, Fixture};
use necklace::transport::{Endpoint, local};

/// Jobs of threads.
#[derive(Debug)]
struct Threads;

impl Fixture for Threads {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        local::job(size).map_err(|error| error.to_string())
    }
}

#[test]
fn threads_keep_every_promise() {
    for (name, check) in conformance::CHECKS {
        let at = std::time::Instant::now();
        let r = check(&Threads);
        eprintln!("{name}: {r:?} {:?}", at.elapsed());
    }
    conformance::run_all(&Threads).unwrap_or_else(|broken| panic!("{broken}"));
}
