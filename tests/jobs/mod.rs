//! Jobs for tests, over any backend.
//!
//! A suite names no backend: it asks this module for jobs, and gets those of the backend that
//! [`over`] says. So suites are compiled once, and run over every backend.

pub mod native;
pub mod tcp;
pub mod threads;

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use necklace::communicator::How;
use necklace::launch::Launch;
use necklace::topology::{Complete, Topology};
use necklace::transport::Endpoint;
use necklace::{Communicator, JobError, Options};

pub use crate::topology;

/// What a backend provides for tests.
pub trait Backend: Sync {
    /// Returns whether it has collectives of its own.
    fn is_native(&self) -> bool {
        false
    }

    /// Returns the largest number of ranks for a case that makes many calls.
    fn many_calls(&self) -> usize {
        usize::MAX
    }

    /// Returns the seeds of random cases that cost much. Those of backends differ, so that together they
    /// test more cases.
    fn seeds(&self) -> Range<u64>;

    /// Returns the shortest deadline that its ranks meet on a loaded machine.
    fn soon(&self) -> Duration;

    /// Returns the endpoints of a job, by rank.
    fn endpoints(&self, size: usize) -> Vec<Arc<dyn Endpoint>>;

    /// Makes a job with a rank on every node.
    fn job(&self, topology: Arc<dyn Topology>) -> Job;

    /// Records that a case has failed, after which the state of its ranks is unknown.
    fn failed(&self, _case: &str) {}
}

thread_local! {
    static CURRENT: Cell<Option<&'static dyn Backend>> = const { Cell::new(None) };
}

/// Runs the closure with jobs of this backend.
pub fn over<R>(backend: &'static dyn Backend, body: impl FnOnce() -> R) -> R {
    CURRENT.set(Some(backend));
    body()
}

fn current() -> &'static dyn Backend {
    CURRENT.get().expect("a thread that a test starts by itself has no backend")
}

/// As [`Backend::is_native`].
pub(crate) fn is_native() -> bool {
    current().is_native()
}

/// As [`Backend::many_calls`].
pub(crate) fn many_calls() -> usize {
    current().many_calls()
}

/// As [`Backend::seeds`], and others for each of several sets of cases.
pub(crate) fn seeds(set: u64) -> Range<u64> {
    let Range { start, end } = current().seeds();
    set << 32 | start..set << 32 | end
}

/// As [`Backend::soon`].
pub(crate) fn soon() -> Duration {
    current().soon()
}

/// As [`Backend::endpoints`].
pub(crate) fn endpoints(size: usize) -> Vec<Arc<dyn Endpoint>> {
    current().endpoints(size)
}

/// As [`necklace::local::run`].
pub(crate) fn run<R: Send>(ranks: usize, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, JobError> {
    Job::on(Arc::new(Complete::new(ranks).unwrap())).run(body)
}

/// Makes a job with a rank on every node.
pub(crate) fn on(text: &str) -> Job {
    Job::on(topology(text))
}

/// As [`crate::watched`].
pub(crate) fn watched<R: Send + 'static>(case: &str, body: impl FnOnce() -> R + Send + 'static) -> R {
    let backend = current();
    catch_unwind(AssertUnwindSafe(|| crate::watched(case, move || over(backend, body)))).unwrap_or_else(|panic| {
        backend.failed(case);
        resume_unwind(panic)
    })
}

/// Runs the body of a rank, given its number.
type Around = Arc<dyn Fn(usize, &mut dyn FnMut()) + Send + Sync>;

/// As [`Launch::threads`], whose threads it borrows: each may take another endpoint in place of its
/// own.
pub struct Job {
    job: Launch,
    around: Around,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.job.fmt(f)
    }
}

impl Job {
    /// Makes a job with a rank on every node.
    #[must_use]
    pub fn on(topology: Arc<dyn Topology>) -> Self {
        current().job(topology)
    }

    /// Makes a job whose ranks run in nothing else.
    #[must_use]
    pub fn of(job: Launch) -> Self {
        Self { job, around: Arc::new(|_, body| body()) }
    }

    /// Makes a job whose ranks have supervisors, in slots by rank. A rank that panics reports it to
    /// its own.
    pub fn supervised<S: Send + 'static>(job: Launch, slots: Arc<[Mutex<Option<S>>]>, panicked: fn(&S, &str)) -> Self {
        let around = move |rank: usize, body: &mut dyn FnMut()| {
            let supervisor = slots[rank].lock().unwrap().take().unwrap();
            catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
                panicked(&supervisor, panic_message(&*panic));
                resume_unwind(panic)
            });
        };
        Self { job, around: Arc::new(around) }
    }

    /// As [`Launch::options`].
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { job: self.job.options(options), ..self }
    }

    /// As [`Launch::choose`].
    #[must_use]
    pub fn choose(self, collective: &str, how: impl Into<How>) -> Self {
        Self { job: self.job.choose(collective, how), ..self }
    }

    /// As [`Launch::run`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn run<R: Send>(self, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, JobError> {
        let (Self { job, around }, backend) = (self, CURRENT.get());
        job.run(|comm| {
            CURRENT.set(backend);
            let (rank, mut comm, mut result) = (comm.rank(), Some(comm), None);
            around(rank, &mut || result = comm.take().map(&body));
            result.unwrap()
        })
    }
}

/// Returns the message of a panic.
#[must_use]
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("something that is no text")
}
