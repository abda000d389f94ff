//! The test group of a check: one thread for each rank of a fresh job, and a watch for ranks that
//! do not return.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::Fixture;
use super::scenario::{Random, RankBuffers};
use crate::ids::Rank;
use crate::plan::Program;
use crate::transport::{CallInfo, ContextId, Endpoint, Failure, RoundIo, Signature, Timeouts, Transport};

/// The arguments of the test of one rank.
#[derive(Clone, Debug)]
pub(super) struct TestRank {
    pub(super) endpoint: Arc<dyn Endpoint>,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// Timeout of rounds that must succeed.
    pub(super) timeout: Duration,
    /// Timeout of rounds that must fail by it.
    pub(super) short_timeout: Duration,
    /// Shared by all ranks of the job.
    pub(super) events: EventCount,
}

impl TestRank {
    /// Opens the context of the whole job, with the ranks in order.
    pub(super) fn world(&self) -> Result<Box<dyn Transport>, String> {
        self.open(ContextId::WORLD, &(0..self.size).collect::<Vec<_>>())
    }

    pub(super) fn open(&self, context: ContextId, members: &[usize]) -> Result<Box<dyn Transport>, String> {
        let members: Vec<Rank> = members.iter().copied().map(Rank::new).collect();
        self.endpoint.open(context, &members).map_err(|error| format!("rank {} cannot open: {error}", self.rank))
    }

    /// Returns a runner of a program in the context of the whole job.
    pub(super) fn runner(&self, program: &Program) -> Result<Runner, String> {
        self.world().map(|transport| Runner::new(transport, program, self.timeout))
    }
}

/// An event count, by which ranks synchronise outside of the transport.
#[derive(Clone, Debug, Default)]
pub(super) struct EventCount(Arc<(Mutex<u64>, Condvar)>);

impl EventCount {
    /// Adds one event.
    pub(super) fn advance(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.1.notify_all();
    }

    /// Returns the number of events so far.
    pub(super) fn read(&self) -> u64 {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there are `events` events. Fails after `limit`.
    pub(super) fn wait_for(&self, events: u64, limit: Duration) -> Result<(), String> {
        let count = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(count, limit, |count| *count < events);
        let count = *waited.unwrap_or_else(PoisonError::into_inner).0;
        if count < events { Err(format!("{count} of {events} events came within {limit:?}")) } else { Ok(()) }
    }
}

/// Runs a program on a transport, call after call.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) transport: Box<dyn Transport>,
    pub(super) program: Program,
    pub(super) memory: RankBuffers,
    pub(super) signature: Signature,
    pub(super) timeouts: Timeouts,
    pub(super) call: u64,
}

impl Runner {
    pub(super) fn new(transport: Box<dyn Transport>, program: &Program, timeouts: impl Into<Timeouts>) -> Self {
        let memory = RankBuffers::filled(program.sizes(), &mut Random::new(transport.rank().index() as u64));
        let signature = signature(1, "the suite's call");
        Self { transport, program: program.clone(), memory, signature, timeouts: timeouts.into(), call: 0 }
    }

    /// Runs one round of the current call.
    pub(super) fn round(&mut self, round: usize) -> Result<(), Failure> {
        let io = RoundIo::new(
            &self.program,
            round,
            crate::plan::Buffers {
                input: &self.memory.input,
                output: &mut self.memory.output,
                scratch: &mut self.memory.scratch,
            },
            CallInfo::new(self.call, &self.signature, self.timeouts),
        );
        io.map_or(Ok(()), |io| self.transport.round(io))
    }

    /// Runs all rounds of a call.
    pub(super) fn run(&mut self) -> Result<(), Failure> {
        (0..self.program.rounds().len()).try_for_each(|round| self.round(round))?;
        self.call += 1;
        Ok(())
    }

    /// Runs a call that must succeed.
    pub(super) fn run_ok(&mut self) -> Result<(), String> {
        let rank = self.transport.rank();
        self.run().map_err(|failure| format!("rank {rank} failed: {failure}"))
    }

    /// Runs a call that must fail, and returns its failure.
    pub(super) fn run_err(&mut self) -> Result<Failure, String> {
        let rank = self.transport.rank();
        match self.run() {
            Ok(()) => Err(format!("rank {rank} did not fail")),
            Err(failure) => Ok(failure),
        }
    }
}

pub(super) fn signature(fingerprint: u64, description: &str) -> Signature {
    Signature::new(fingerprint, description)
}

/// Runs a test on every rank of a fresh job. Returns the results by rank, or the first error.
pub(super) fn run_ranks<R, F>(fixture: &dyn Fixture, size: usize, test: F) -> Result<Vec<R>, String>
where
    R: Send + 'static,
    F: Fn(&TestRank) -> Result<R, String> + Send + Sync + 'static,
{
    run_shared(fixture, size, &(Arc::new(test) as SharedTest<R>))
}

type SharedTest<R> = Arc<dyn Fn(&TestRank) -> Result<R, String> + Send + Sync>;

fn run_shared<R: Send + 'static>(fixture: &dyn Fixture, size: usize, test: &SharedTest<R>) -> Result<Vec<R>, String> {
    let tasks = ranks_of_job(fixture, size)?.into_iter().map(|rank| {
        let test = test.clone();
        Box::new(move || test(&rank)) as Task<R>
    });
    run_threads(tasks.collect(), fixture.timeout() * 2)
}

fn ranks_of_job(fixture: &dyn Fixture, size: usize) -> Result<Vec<TestRank>, String> {
    let endpoints = fixture.job(size).map_err(|error| format!("no job of {size} ranks: {error}"))?;
    if endpoints.len() != size {
        return Err(format!("a job of {size} ranks has {} endpoints", endpoints.len()));
    }
    let events = EventCount::default();
    let ranks = endpoints.into_iter().enumerate().map(|(rank, endpoint)| TestRank {
        endpoint,
        rank,
        size,
        timeout: fixture.timeout(),
        short_timeout: fixture.short_timeout(),
        events: events.clone(),
    });
    Ok(ranks.collect())
}

pub(super) type Task<R> = Box<dyn FnOnce() -> Result<R, String> + Send>;

/// Runs each task in a thread of its own. Returns their results, or the first error in time, which
/// is the nearest to the cause. Threads that have not returned after `limit` are left running.
pub(super) fn run_threads<R: Send + 'static>(tasks: Vec<Task<R>>, limit: Duration) -> Result<Vec<R>, String> {
    let results: Vec<Arc<Mutex<Option<R>>>> = tasks.iter().map(|_| Arc::default()).collect();
    let tasks = tasks.into_iter().zip(results.clone()).map(|(task, result)| {
        let task = move || {
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(task()?);
            Ok(())
        };
        Box::new(task) as Task<()>
    });
    wait_for_all(tasks.collect(), limit)?;
    Ok(results.iter().filter_map(|result| result.lock().unwrap_or_else(PoisonError::into_inner).take()).collect())
}

fn wait_for_all(tasks: Vec<Task<()>>, limit: Duration) -> Result<(), String> {
    let (sender, ends) = mpsc::channel();
    let mut running: Vec<usize> = (0..tasks.len()).collect();
    for (i, task) in tasks.into_iter().enumerate() {
        let sender = sender.clone();
        let body = move || {
            let result = catch_unwind(AssertUnwindSafe(task)).unwrap_or_else(|panic| Err(panic_message(&*panic)));
            // No receiver is left if the check is over.
            let _ = sender.send((i, result));
        };
        thread::Builder::new().spawn(body).map_err(|error| format!("no thread: {error}"))?;
    }
    let until = Instant::now() + limit;
    while !running.is_empty() {
        let Ok((i, result)) = ends.recv_timeout(until.saturating_duration_since(Instant::now())) else {
            return Err(format!("ranks {running:?} did not return within {limit:?}"));
        };
        result?;
        running.retain(|rank| *rank != i);
    }
    Ok(())
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    format!("a rank panicked: {}", message.unwrap_or("without a message"))
}

/// Returns the failure that all of these are equal to, or an error if they differ.
pub(super) fn all_equal(failures: &[Failure]) -> Result<&Failure, String> {
    let first = failures.first().ok_or("no failure at all")?;
    match failures.iter().position(|failure| failure != first) {
        Some(other) => {
            Err(format!("ranks learn different failures: {first:?} and, the {other}-th, {:?}", failures[other]))
        }
        None => Ok(first),
    }
}
