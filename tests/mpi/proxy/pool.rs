//! The workers of this test process: started once, for jobs one after the other and side by side.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use super::endpoint::{Proxy, Supervisor};
use super::line::{Line, Request};
use super::maker;

/// The number of workers, unless a job needs more.
const WORKERS: usize = 16;

/// Longer than any answer takes: a suite has given up before.
const PATIENCE: Duration = Duration::from_secs(100);

/// How long workers may take to start.
const START: Duration = Duration::from_secs(60);

/// Maximum time for workers to end when the pool ends, before they are killed.
const END: Duration = Duration::from_secs(10);

/// The pool for the next job. The thread that makes a job holds the lock, because workers make one
/// job at a time.
static CURRENT: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

/// For pools and jobs.
static NEXT: AtomicU64 = AtomicU64::new(0);

fn current() -> MutexGuard<'static, Option<Arc<Pool>>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The endpoints of a fresh job, by rank.
pub(crate) fn job(size: usize) -> Vec<Proxy> {
    make(size, false)
}

/// The same, with a supervisor that reports why a rank's thread panicked.
pub(crate) fn supervised(size: usize) -> Vec<(Supervisor, Proxy)> {
    make(size, true).into_iter().map(|proxy| (proxy.supervisor(), proxy)).collect()
}

fn make(size: usize, supervised: bool) -> Vec<Proxy> {
    let mut current = current();
    if !current.as_ref().is_some_and(|pool| pool.serves(size)) {
        *current = None;
        *current = Some(Arc::new(Pool::start(WORKERS.max(size.next_power_of_two()))));
    }
    let pool = Arc::clone(current.as_ref().unwrap());
    let job = NEXT.fetch_add(1, Ordering::Relaxed);
    Proxy::job(&pool, job, size, supervised).unwrap_or_else(|words| {
        *current = None;
        panic!("no job of {size} ranks: {words}")
    })
}

/// Makes no more jobs in this pool, if there is one, and prints the unanswered requests to its
/// workers.
pub(crate) fn retire() {
    if let Some(pool) = current().take() {
        for (words, since) in pool.awaited.lock().unwrap_or_else(PoisonError::into_inner).values() {
            eprintln!("{words}: for {:?}", since.elapsed());
        }
    }
}

/// Workers, which end when the last job is gone and no new one comes.
#[derive(Debug)]
pub(crate) struct Pool {
    number: u64,
    /// The directory of their sockets.
    place: PathBuf,
    /// A connection to each, by number, which closes with it.
    workers: Mutex<Vec<Line>>,
    size: usize,
    children: Vec<Child>,
    /// The numbers of the workers' processes.
    ids: BTreeMap<usize, u32>,
    lost: AtomicBool,
    /// The unanswered requests, and when each was sent.
    awaited: Mutex<BTreeMap<u64, (String, Instant)>>,
}

impl Pool {
    pub(super) fn start(size: usize) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let place = env::temp_dir().join(format!("necklace-workers-{}-{number}", process::id()));
        fs::DirBuilder::new().mode(0o700).create(&place).unwrap();
        let driver = driver(&place);
        let listener = UnixListener::bind(&driver).unwrap();
        listener.set_nonblocking(true).unwrap();
        let children = maker::commands(size).into_iter().map(|mut command| {
            command.args(["--exact", super::worker::TEST, "--nocapture", "--test-threads=1"]);
            command.env(super::worker::VARIABLE, &place).stdin(Stdio::null()).stdout(Stdio::null());
            command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
        });
        let mut pool = Self {
            number,
            children: children.collect(),
            place,
            workers: Mutex::default(),
            size,
            ids: BTreeMap::new(),
            lost: AtomicBool::new(false),
            awaited: Mutex::default(),
        };
        let workers = pool.meet(&listener);
        pool.workers = Mutex::new(workers);
        fs::remove_file(driver).unwrap();
        pool
    }

    /// Waits until all workers have come.
    fn meet(&mut self, listener: &UnixListener) -> Vec<Line> {
        let mut workers: BTreeMap<usize, Line> = BTreeMap::new();
        let until = Instant::now() + START;
        while workers.len() < self.size {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false).unwrap();
                    let mut line = Line::new(stream).patience(START);
                    let (number, id): (usize, u32) = line.hear().unwrap();
                    self.ids.insert(number, id);
                    assert!(number < self.size && workers.insert(number, line).is_none(), "worker {number} came twice");
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
            for child in &mut self.children {
                if let Some(status) = child.try_wait().unwrap() {
                    panic!("workers are not started: {status}");
                }
            }
            assert!(Instant::now() < until, "only workers {:?} of {} have started", workers.keys(), self.size);
            thread::sleep(Duration::from_millis(2));
        }
        workers.into_values().collect()
    }

    /// Returns whether it has this many workers, all of them alive.
    pub(super) fn serves(&self, size: usize) -> bool {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let well = !self.lost.load(Ordering::SeqCst);
        well && size <= workers.len() && workers.iter().all(Line::is_open)
    }

    /// A new connection to a worker.
    pub(super) fn call(&self, worker: usize) -> io::Result<Line> {
        Ok(Line::new(UnixStream::connect(socket(&self.place, worker))?).patience(PATIENCE))
    }

    /// No other pool has it.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The directory of its sockets.
    pub(super) fn place(&self) -> &Path {
        &self.place
    }

    /// The number of a worker's process.
    pub(super) fn process(&self, worker: usize) -> u32 {
        self.ids[&worker]
    }

    /// Records a request to a worker until the result is dropped.
    pub(super) fn awaits(&self, worker: usize, request: &Request) -> Awaited<'_> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let words = format!("worker {worker}, {}", request.words());
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).insert(number, (words, Instant::now()));
        Awaited { pool: self, number }
    }

    /// Makes no more jobs in it: one of its workers is lost.
    pub(super) fn give_up(&self) {
        self.lost.store(true, Ordering::SeqCst);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.workers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        let until = Instant::now() + END;
        for child in &mut self.children {
            while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
                thread::sleep(Duration::from_millis(5));
            }
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// A request that is not yet answered.
#[derive(Debug)]
pub(super) struct Awaited<'a> {
    pool: &'a Pool,
    number: u64,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.pool.awaited.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// The socket at which workers report that they have started.
pub(super) fn driver(place: &Path) -> PathBuf {
    place.join("driver")
}

/// The socket of a worker.
pub(super) fn socket(place: &Path, worker: usize) -> PathBuf {
    place.join(worker.to_string())
}
