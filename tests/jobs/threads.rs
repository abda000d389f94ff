//! Jobs of threads.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use necklace::topology::Topology;
use necklace::transport::{Endpoint, local};

use super::{Backend, Job};

/// The backend of threads.
#[derive(Debug)]
pub struct Threads;

impl Backend for Threads {
    fn seeds(&self) -> Range<u64> {
        0..24
    }

    fn soon(&self) -> Duration {
        Duration::from_millis(300)
    }

    fn endpoints(&self, size: usize) -> Vec<Arc<dyn Endpoint>> {
        local::job(size).unwrap()
    }

    fn job(&self, topology: Arc<dyn Topology>) -> Job {
        Job::of(necklace::launch::Launch::threads().topology(topology))
    }
}
