//! Jobs for tests whose ranks are processes: their endpoints are in the workers of `tests/proxy`, this process has threads
//! that drive them.

#![allow(dead_code, unused_imports)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use necklace::topology::{Complete, Topology};
use necklace::transport::Endpoint;
use necklace::{Communicator, Error, Options, local};

use crate::proxy::{Proxy, Supervisor, pool};
pub(crate) use necklace_tests::topology;

/// Whether the backend has collectives of its own: none that a proxy passes on.
pub(crate) const NATIVE: bool = false;

/// How many calls of its context a collective is that a communicator does for the first time.
pub(crate) const FIRST_TIME: u64 = 1;

/// A deadline as short as ranks on a loaded machine keep it.
pub(crate) const SOON: Duration = Duration::from_secs(1);

/// As for the jobs of other backends. After a case that fails, workers may be at anything: there are new ones for the next.
pub(crate) fn watched<R: Send + 'static>(case: &str, body: impl FnOnce() -> R + Send + 'static) -> R {
    catch_unwind(AssertUnwindSafe(|| necklace_tests::watched(case, body))).unwrap_or_else(|panic| {
        eprintln!("the workers of {case:?} are left to themselves");
        pool::retire();
        resume_unwind(panic)
    })
}

/// The endpoints of a job, by rank.
pub(crate) fn endpoints(size: usize) -> Vec<Arc<dyn Endpoint>> {
    pool::job(size).into_iter().map(|proxy| Arc::new(proxy) as Arc<dyn Endpoint>).collect()
}

/// As [`local::run`].
pub(crate) fn run<R: Send>(ranks: usize, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
    Job::on(Arc::new(Complete::new(ranks).unwrap())).run(body)
}

/// A job with a rank on every node.
pub(crate) fn on(text: &str) -> Job {
    Job::on(topology(text))
}

/// As [`local::Job`], whose threads it borrows: each takes a proxy in place of its own endpoint.
pub(crate) struct Job {
    job: local::Job,
    size: usize,
}

impl Job {
    pub(crate) fn on(topology: Arc<dyn Topology>) -> Self {
        let size = topology.nodes();
        Self { job: local::Job::on(topology), size }
    }

    pub(crate) fn options(self, options: Options) -> Self {
        Self { job: self.job.options(options), ..self }
    }

    pub(crate) fn choose(self, collective: &str, algorithm: &str) -> Self {
        Self { job: self.job.choose(collective, algorithm), ..self }
    }

    pub(crate) fn run<R: Send>(self, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
        let (supervisors, proxies): (Vec<_>, Vec<_>) = pool::supervised(self.size).into_iter().unzip();
        let (supervisors, proxies) = (slots(supervisors), slots(proxies));
        let job = self.job.wrap(move |thread| Arc::new(take(&proxies, thread.rank().index())));
        job.run(|comm| {
            let supervisor = take(&supervisors, comm.rank());
            catch_unwind(AssertUnwindSafe(|| body(comm))).unwrap_or_else(|panic| {
                supervisor.panicked(words(&*panic));
                resume_unwind(panic)
            })
        })
    }
}

fn slots<T>(things: Vec<T>) -> Vec<Mutex<Option<T>>> {
    things.into_iter().map(|thing| Mutex::new(Some(thing))).collect()
}

fn take<T>(slots: &[Mutex<Option<T>>], rank: usize) -> T {
    slots[rank].lock().unwrap().take().unwrap()
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("something that is no text")
}
