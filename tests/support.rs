//! What several of the tests share: cases that are watched, so that what hangs fails by its name;
//! jobs of any backend, and the suites that run over each; the promises of transports.

#![allow(clippy::unwrap_used)]

pub mod jobs;
#[cfg(feature = "mpi")]
pub mod mpirun;
pub mod promises;
pub mod suites;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use necklace::topology::{Topology, parse};

/// Far longer than any case takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a case in a thread of its own; panics with its name if it does not come back. The thread is
/// then left behind.
pub fn watched<R: Send + 'static>(case: &str, body: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, result) = mpsc::channel();
    // Nobody listens any more if it is too late.
    thread::spawn(move || sender.send(catch_unwind(AssertUnwindSafe(body))));
    match result.recv_timeout(PATIENCE) {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => {
            eprintln!("in the case {case:?}");
            resume_unwind(panic)
        }
        Err(_) => panic!("the case {case:?} hangs"),
    }
}

/// The network of that text.
#[must_use]
pub fn topology(text: &str) -> Arc<dyn Topology> {
    parse(text).unwrap()
}
