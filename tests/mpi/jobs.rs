//! Jobs whose ranks are processes. Their endpoints are in the workers of `tests/mpi/proxy`; threads
//! of this process drive them.

use std::env;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use necklace::launch::Launch;
use necklace::topology::Topology;
use necklace::transport::Endpoint;
use necklace_tests::jobs::{Backend, Job};

use crate::proxy::{Supervisor, pool};

/// The backend of processes. A proxy does not forward the library's own collectives.
#[derive(Debug)]
pub(crate) struct Processes;

impl Backend for Processes {
    /// Ranks that wait keep their cores busy. With `NECKLACE_LONG` they have the time.
    fn many_calls(&self) -> usize {
        if env::var_os("NECKLACE_LONG").is_some() { usize::MAX } else { 16 }
    }

    fn seeds(&self) -> Range<u64> {
        if env::var_os("NECKLACE_LONG").is_some() { 300_000..300_040 } else { 300_000..300_016 }
    }

    fn soon(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn endpoints(&self, size: usize) -> Vec<Arc<dyn Endpoint>> {
        pool::job(size).into_iter().map(|proxy| Arc::new(proxy) as Arc<dyn Endpoint>).collect()
    }

    fn job(&self, topology: Arc<dyn Topology>) -> Job {
        let (supervisors, proxies): (Vec<_>, Vec<_>) = pool::supervised(topology.ranks()).into_iter().unzip();
        let proxies = slots(proxies);
        let job = Launch::threads().topology(topology).wrap(move |thread| {
            let proxy = proxies[thread.rank().index()].lock().unwrap().take();
            Arc::new(proxy.unwrap())
        });
        Job::supervised(job, slots(supervisors), Supervisor::panicked)
    }

    /// The workers may be in any state, so the next case gets new ones.
    fn failed(&self, case: &str) {
        eprintln!("the workers of {case:?} are left to themselves");
        pool::retire();
    }
}

fn slots<T>(things: Vec<T>) -> Arc<[Mutex<Option<T>>]> {
    things.into_iter().map(|thing| Mutex::new(Some(thing))).collect()
}
