//! The crew of a check: a thread for each rank of a fresh job, each with its part, and somebody who
//! notices if one does not come back.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::Fixture;
use super::draw::{Dice, Memory};
use crate::ids::Rank;
use crate::plan::Program;
use crate::transport::{ContextId, Endpoint, Failure, RoundIo, Signature, Timeouts, Transport};

/// What a rank is given.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) endpoint: Arc<dyn Endpoint>,
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) patience: Duration,
    pub(super) deadline: Duration,
    pub(super) cue: Cue,
}

impl Part {
    /// The context of the whole job, the ranks in their order.
    pub(super) fn world(&self) -> Result<Box<dyn Transport>, String> {
        self.open(ContextId::WORLD, &(0..self.size).collect::<Vec<_>>())
    }

    pub(super) fn open(&self, context: ContextId, members: &[usize]) -> Result<Box<dyn Transport>, String> {
        let members: Vec<Rank> = members.iter().copied().map(Rank::new).collect();
        self.endpoint.open(context, &members).map_err(|error| format!("rank {} cannot open: {error}", self.rank))
    }

    /// A program on a context of the whole job.
    pub(super) fn act(&self, program: &Program) -> Result<Act, String> {
        self.world().map(|transport| Act::new(transport, program, self.patience))
    }
}

/// A signal between the parts that goes no way of the transport's: a count that rises.
#[derive(Clone, Debug, Default)]
pub(super) struct Cue(Arc<(Mutex<u64>, Condvar)>);

impl Cue {
    pub(super) fn give(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.1.notify_all();
    }

    pub(super) fn given(&self) -> u64 {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it was given so often, or for too long.
    pub(super) fn wait(&self, times: u64, limit: Duration) -> Result<(), String> {
        let count = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(count, limit, |count| *count < times);
        let count = *waited.unwrap_or_else(PoisonError::into_inner).0;
        if count < times { Err(format!("{count} of {times} parts came so far within {limit:?}")) } else { Ok(()) }
    }
}

/// A program that runs on a transport, call after call.
#[derive(Debug)]
pub(super) struct Act {
    pub(super) transport: Box<dyn Transport>,
    pub(super) program: Program,
    pub(super) memory: Memory,
    pub(super) signature: Signature,
    pub(super) timeouts: Timeouts,
    pub(super) call: u64,
}

impl Act {
    pub(super) fn new(transport: Box<dyn Transport>, program: &Program, timeouts: impl Into<Timeouts>) -> Self {
        let memory = Memory::filled(program.sizes(), &mut Dice::new(transport.rank().index() as u64));
        let signature = signature(1, "the suite's call");
        Self { transport, program: program.clone(), memory, signature, timeouts: timeouts.into(), call: 0 }
    }

    pub(super) fn round(&mut self, round: usize) -> Result<(), Failure> {
        let io = RoundIo::new(
            &self.program,
            round,
            crate::plan::Buffers {
                input: &self.memory.input,
                output: &mut self.memory.output,
                scratch: &mut self.memory.scratch,
            },
            self.call,
            &self.signature,
            self.timeouts,
        );
        io.map_or(Ok(()), |io| self.transport.round(io))
    }

    /// All rounds of a call.
    pub(super) fn run(&mut self) -> Result<(), Failure> {
        (0..self.program.rounds().len()).try_for_each(|round| self.round(round))?;
        self.call += 1;
        Ok(())
    }

    /// The same, where it must end well.
    pub(super) fn must(&mut self) -> Result<(), String> {
        let rank = self.transport.rank();
        self.run().map_err(|failure| format!("rank {rank} failed: {failure}"))
    }

    /// The same, where it must not.
    pub(super) fn must_fail(&mut self) -> Result<Failure, String> {
        let rank = self.transport.rank();
        match self.run() {
            Ok(()) => Err(format!("rank {rank} did not fail")),
            Err(failure) => Ok(failure),
        }
    }
}

pub(super) fn signature(fingerprint: u64, description: &str) -> Signature {
    Signature { fingerprint, description: description.into() }
}

/// Plays a part on every rank of a fresh job; what the ranks return, or the first complaint.
pub(super) fn play<R, F>(fixture: &dyn Fixture, size: usize, part: F) -> Result<Vec<R>, String>
where
    R: Send + 'static,
    F: Fn(&Part) -> Result<R, String> + Send + Sync + 'static,
{
    let endpoints = fixture.job(size).map_err(|error| format!("no job of {size} ranks: {error}"))?;
    if endpoints.len() != size {
        return Err(format!("a job of {size} ranks has {} endpoints", endpoints.len()));
    }
    let cue = Cue::default();
    let parts = endpoints.into_iter().enumerate().map(|(rank, endpoint)| Part {
        endpoint,
        rank,
        size,
        patience: fixture.patience(),
        deadline: fixture.deadline(),
        cue: cue.clone(),
    });
    let part = Arc::new(part);
    let tasks = parts.map(|given| {
        let part = part.clone();
        Box::new(move || part(&given)) as Task<R>
    });
    together(tasks.collect(), fixture.patience() * 2)
}

pub(super) type Task<R> = Box<dyn FnOnce() -> Result<R, String> + Send>;

/// Runs tasks in threads of their own; what they return, or the first complaint, which is the
/// nearest to the cause. Threads that are not back by then are left behind.
pub(super) fn together<R: Send + 'static>(tasks: Vec<Task<R>>, limit: Duration) -> Result<Vec<R>, String> {
    let (sender, results) = mpsc::channel();
    let mut done: Vec<Option<R>> = tasks.iter().map(|_| None).collect();
    for (i, task) in tasks.into_iter().enumerate() {
        let sender = sender.clone();
        let body = move || {
            let result = catch_unwind(AssertUnwindSafe(task)).unwrap_or_else(|panic| Err(panic_words(&*panic)));
            // Nobody listens any more if the check is over.
            let _ = sender.send((i, result));
        };
        thread::Builder::new().spawn(body).map_err(|error| format!("no thread: {error}"))?;
    }
    let until = Instant::now() + limit;
    while done.iter().any(Option::is_none) {
        let Ok((i, result)) = results.recv_timeout(until.saturating_duration_since(Instant::now())) else {
            let missing: Vec<usize> = (0..done.len()).filter(|i| done[*i].is_none()).collect();
            return Err(format!("ranks {missing:?} did not come back within {limit:?}"));
        };
        done[i] = Some(result?);
    }
    Ok(done.into_iter().flatten().collect())
}

fn panic_words(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    format!("a rank panicked: {}", words.unwrap_or("without words"))
}

/// That all of these are one failure; returns it.
pub(super) fn all_equal(failures: &[Failure]) -> Result<&Failure, String> {
    let first = failures.first().ok_or("no failure at all")?;
    match failures.iter().position(|failure| failure != first) {
        Some(other) => {
            Err(format!("ranks learn different failures: {first:?} and, the {other}-th, {:?}", failures[other]))
        }
        None => Ok(first),
    }
}
