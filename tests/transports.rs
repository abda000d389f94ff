//! Every backend keeps every promise, also through wrappers and boxes.

#![cfg(feature = "local")]

mod support;

use std::fmt;
use std::sync::Arc;

use necklace::Rank;
use necklace::transport::conformance::{self, Fixture};
use necklace::transport::fault::Faulty;
use necklace::transport::trace::Tracing;
use necklace::transport::{ContextId, Endpoint, OpenError, Transport, local};

use support::{Work, alltoall, on_each, world};

/// Jobs of threads, each endpoint in some wrapping.
struct Threads<W>(W);

impl<W> fmt::Debug for Threads<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Threads")
    }
}

impl<W: Fn(Arc<dyn Endpoint>) -> Arc<dyn Endpoint> + Send + Sync> Fixture for Threads<W> {
    fn job(&self, size: usize) -> Result<Vec<Arc<dyn Endpoint>>, String> {
        let endpoints = local::job(size).map_err(|error| error.to_string())?;
        Ok(endpoints.into_iter().map(&self.0).collect())
    }
}

fn keeps_every_promise(wrap: impl Fn(Arc<dyn Endpoint>) -> Arc<dyn Endpoint> + Send + Sync) {
    conformance::run_all(&Threads(wrap)).unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn threads_keep_every_promise() {
    keeps_every_promise(|endpoint| endpoint);
}

#[test]
fn traced_threads_keep_every_promise() {
    let tracing = Tracing::new();
    keeps_every_promise(|endpoint| Arc::new(tracing.wrap(endpoint)));
    assert!(!tracing.events().is_empty());
}

#[test]
fn threads_with_no_faults_in_their_script_keep_every_promise() {
    keeps_every_promise(|endpoint| Arc::new(Faulty::new(endpoint, &[])));
}

/// An endpoint in boxes, whose transports are in boxes.
#[derive(Debug)]
struct Boxed(Box<Arc<dyn Endpoint>>);

impl Endpoint for Boxed {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        Ok(Box::new(self.0.open(context, members)?))
    }
}

#[test]
fn boxed_threads_keep_every_promise() {
    keeps_every_promise(|endpoint| Arc::new(Boxed(Box::new(endpoint))));
}

#[test]
fn many_more_ranks_than_cores_exchange_with_everybody() {
    let size = 32;
    let sums = on_each(local::job(size).unwrap(), |endpoint| {
        let mut work = Work::new(world(&endpoint), alltoall(endpoint.rank().index(), size, 100));
        for call in 0..50 {
            work.input.fill(endpoint.rank().index() as u8 + call);
            work.call().unwrap();
        }
        work.output.iter().map(|byte| u64::from(*byte)).sum::<u64>()
    });
    let all: u64 = (0..size as u64).map(|rank| 100 * (rank + 49)).sum();
    let expected: Vec<u64> = (0..size as u64).map(|rank| all - 100 * (rank + 49)).collect();
    assert_eq!(sums, expected);
}
