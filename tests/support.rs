//! Code that several tests share: cases with a time limit, so that one that hangs fails by its
//! name; jobs of any backend, and the suites that run over each; the conformance of transports; the
//! independent checker.

#![allow(clippy::unwrap_used)]

pub mod checker;
pub mod jobs;
#[cfg(feature = "mpi")]
pub mod mpirun;
pub mod promises;
pub mod suites;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use necklace::topology::{Topology, parse};

/// Far longer than any case takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prints that a test is skipped, or a part of one, past the test runner, which shows what a test
/// prints only if it fails.
pub fn skipped(reason: &str) {
    // Nothing reads the text if this fails.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// Runs a case in its own thread. Panics with its name if it does not return in time; the thread
/// then continues.
pub fn watched<R: Send + 'static>(case: &str, body: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, result) = mpsc::channel();
    // Nothing receives a result that is too late.
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

/// Returns the network of this text.
#[must_use]
pub fn topology(text: &str) -> Arc<dyn Topology> {
    parse(text).unwrap()
}
