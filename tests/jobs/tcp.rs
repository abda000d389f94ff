//! Jobs over TCP for tests: every rank joins as a process does, from a thread of this one.

#![allow(dead_code, unused_imports)]

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, process, thread};

use necklace::topology::{Complete, Topology};
use necklace::transport::Endpoint;
use necklace::transport::tcp::{Join, Key, Root, Supervisor};
use necklace::{Communicator, Error, Options, local};

pub(crate) use necklace_tests::{topology, watched};

/// Whether the backend has collectives of its own.
pub(crate) const NATIVE: bool = false;

/// How many calls of its context a collective is that a communicator does for the first time.
pub(crate) const FIRST_TIME: u64 = 1;

/// A deadline as short as ranks on a loaded machine keep it.
pub(crate) const SOON: Duration = Duration::from_secs(1);

/// Where the ranks of one job meet, and what they prove to each other.
struct Meeting {
    size: usize,
    address: IpAddr,
    file: PathBuf,
    key: Key,
}

impl Meeting {
    fn new(size: usize, address: IpAddr) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = env::temp_dir().join(format!("necklace-test-{}-{number}", process::id()));
        Self { size, address, file, key: Key::fresh().unwrap() }
    }

    fn join(&self, rank: usize) -> Join {
        Join::new(rank, self.size, Root::File(self.file.clone())).key(self.key.clone()).address(self.address)
    }
}

/// The endpoints of a job, by rank.
pub(crate) fn endpoints(size: usize) -> Vec<Arc<dyn Endpoint>> {
    endpoints_at(size, Ipv4Addr::LOCALHOST.into())
}

/// The same, where every rank listens on that address.
pub(crate) fn endpoints_at(size: usize, address: IpAddr) -> Vec<Arc<dyn Endpoint>> {
    let meeting = Meeting::new(size, address);
    let join = |rank| meeting.join(rank).endpoint().unwrap();
    thread::scope(|scope| {
        let ranks: Vec<_> = (0..size).map(|rank| scope.spawn(move || join(rank))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// As [`local::run`].
pub(crate) fn run<R: Send>(ranks: usize, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
    Job::on(Arc::new(Complete::new(ranks).unwrap())).run(body)
}

/// A job with a rank on every node.
pub(crate) fn on(text: &str) -> Job {
    Job::on(topology(text))
}

/// As [`local::Job`], whose threads it borrows: each takes an endpoint over TCP in place of its own.
pub(crate) struct Job {
    job: local::Job,
    /// By rank, from when it has joined until it runs.
    supervisors: Arc<[Mutex<Option<Supervisor>>]>,
}

impl Job {
    pub(crate) fn on(topology: Arc<dyn Topology>) -> Self {
        let meeting = Meeting::new(topology.nodes(), Ipv4Addr::LOCALHOST.into());
        let supervisors: Arc<[_]> = (0..meeting.size).map(|_| Mutex::new(None)).collect();
        let slots = Arc::clone(&supervisors);
        let job = local::Job::on(topology).wrap(move |thread| {
            let rank = thread.rank().index();
            let (supervisor, endpoint) = meeting.join(rank).supervised().unwrap();
            *slots[rank].lock().unwrap() = Some(supervisor);
            endpoint
        });
        Self { job, supervisors }
    }

    pub(crate) fn options(self, options: Options) -> Self {
        Self { job: self.job.options(options), ..self }
    }

    pub(crate) fn choose(self, collective: &str, algorithm: &str) -> Self {
        Self { job: self.job.choose(collective, algorithm), ..self }
    }

    pub(crate) fn run<R: Send>(self, body: impl Fn(Communicator) -> R + Sync) -> Result<Vec<R>, Error> {
        let Self { job, supervisors } = self;
        job.run(|comm| {
            let supervisor = supervisors[comm.rank()].lock().unwrap().take();
            catch_unwind(AssertUnwindSafe(|| body(comm))).unwrap_or_else(|panic| {
                supervisor.unwrap().panicked(words(&*panic));
                resume_unwind(panic)
            })
        })
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("something that is no text")
}
