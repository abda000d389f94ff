//! What a rank's thread holds of its endpoint in a worker.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, thread};

use necklace::Rank;
use necklace::machine::Machine;
use necklace::plan::{Buffer, Program};
use necklace::transport::{ContextId, Endpoint, Failure, OpenError, RoundIo, Transport};

use super::codec::{Bytes, Code};
use super::line::{Answer, Line, Made, Moved, Opened, Request, Round};
use super::memory::places;
use super::pool::Pool;

thread_local! {
    /// The lines of this thread, by pool and worker: at the other end of each is a thread that does
    /// what this one does, so a backend that looks at threads sees as many of them, each at the
    /// same.
    static LINES: RefCell<HashMap<(u64, usize), Line>> = RefCell::default();
}

/// A worker, as the threads of this process talk to it.
#[derive(Clone, Debug)]
struct Worker {
    pool: Arc<Pool>,
    number: usize,
}

impl Worker {
    /// What the worker answers. An error is one of the worker or its pool: nothing that a suite
    /// would expect.
    fn ask<T: Code>(&self, request: &Request) -> Result<T, String> {
        self.say(request)?;
        self.hear(request)
    }

    fn say(&self, request: &Request) -> Result<(), String> {
        self.talk(request, |line| line.say(request))
    }

    fn hear<T: Code>(&self, request: &Request) -> Result<T, String> {
        let _awaited = self.pool.awaits(self.number, request);
        let answer = self.talk(request, |line| line.hear::<Answer<T>>())?;
        answer.map_err(|words| format!("{}, {}: {words}", self.name(), request.words()))
    }

    /// By the line of this thread.
    fn talk<T>(&self, request: &Request, talk: impl FnOnce(&mut Line) -> io::Result<T>) -> Result<T, String> {
        let lost = |error: io::Error| {
            self.pool.give_up();
            format!("{} is lost, {}: {error}", self.name(), request.words())
        };
        let key = (self.pool.number(), self.number);
        LINES.with_borrow_mut(|lines| {
            let line = match lines.entry(key) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(self.pool.call(self.number).map_err(lost)?),
            };
            talk(line).map_err(|error| {
                lines.remove(&key);
                lost(error)
            })
        })
    }

    fn name(&self) -> String {
        format!("worker {} (process {})", self.number, self.pool.process(self.number))
    }
}

/// Panics with a complaint, or says it where something panics already.
fn complain(outcome: Result<(), String>) {
    match outcome {
        Err(words) if thread::panicking() => eprintln!("{words}"),
        Err(words) => panic!("{words}"),
        Ok(()) => {}
    }
}

/// An endpoint whose real one is in a worker.
#[derive(Debug)]
pub(crate) struct Proxy {
    worker: Worker,
    job: u64,
    rank: Rank,
    size: usize,
    machine: Machine,
}

/// Says in the worker why a rank's thread panicked.
#[derive(Debug)]
pub(crate) struct Supervisor {
    worker: Worker,
    job: u64,
}

impl Supervisor {
    pub(crate) fn panicked(&self, message: &str) {
        complain(self.worker.ask(&Request::Panicked { job: self.job, message: message.to_owned() }));
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        complain(self.worker.ask(&Request::Unsupervise { job: self.job }));
    }
}

impl Proxy {
    /// Those of a job on the first workers of a pool, by rank. All workers are asked before any is
    /// awaited.
    pub(super) fn job(pool: &Arc<Pool>, job: u64, size: usize, supervised: bool) -> Result<Vec<Self>, String> {
        let request = Request::Make { job, size, supervised };
        let workers: Vec<Worker> = (0..size).map(|number| Worker { pool: Arc::clone(pool), number }).collect();
        workers.iter().try_for_each(|worker| worker.say(&request))?;
        let made: Vec<_> = workers.iter().map(|worker| worker.hear::<Made>(&request)).collect();
        let proxies = workers.into_iter().zip(made).map(|(worker, made)| {
            let (rank, (size, machine)) = made?;
            Ok(Self { worker, job, rank, size, machine })
        });
        // Those that are made are dropped by their worker, whatever became of the others.
        let proxies: Vec<Result<Self, String>> = proxies.collect();
        proxies.into_iter().collect()
    }

    pub(super) fn supervisor(&self) -> Supervisor {
        Supervisor { worker: self.worker.clone(), job: self.job }
    }
}

impl Endpoint for Proxy {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let open = Request::Open { job: self.job, context, members: members.to_vec(), transport: number };
        let opened: Opened = self.worker.ask(&open).unwrap_or_else(|words| panic!("{words}"));
        let (rank, size) = opened?;
        Ok(Box::new(Context { worker: self.worker.clone(), number, rank, size, program: None }))
    }

    fn machine(&self) -> Machine {
        self.machine
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        complain(self.worker.ask(&Request::Forget { job: self.job, panicking: thread::panicking() }));
    }
}

/// A transport whose real one is in a worker.
#[derive(Debug)]
struct Context {
    worker: Worker,
    number: u64,
    rank: Rank,
    size: usize,
    /// The last that the worker was told.
    program: Option<Program>,
}

impl Transport for Context {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn round(&mut self, mut io: RoundIo<'_>) -> Result<(), Failure> {
        let (program, call, signature, timeouts) = (io.program(), io.call, io.signature.clone(), io.timeouts);
        let index = program.rounds().iter().position(|round| round.number == io.number()).unwrap();
        let (sends, receives) = (io.sends(), io.receives());
        let new = self.program.as_ref() != Some(program);
        if new {
            self.program = Some(program.clone());
        }
        let buffers = io.buffers();
        let mut bytes = Vec::new();
        for (buffer, place) in places(program, sends).chain(places(program, receives)) {
            let buffer = match buffer {
                Buffer::Input => buffers.input,
                Buffer::Output => &*buffers.output,
                Buffer::Scratch => &*buffers.scratch,
            };
            bytes.extend_from_slice(&buffer[place]);
        }
        let program = new.then(|| program.clone());
        let round = Round { program, index, call, signature, timeouts, bytes: Bytes(bytes) };
        let moved = self.worker.ask::<Moved>(&Request::Round { transport: self.number, round });
        let (outcome, Bytes(received)) = moved.unwrap_or_else(|words| panic!("{words}"));
        let mut rest = &received[..];
        for (buffer, place) in places(io.program(), receives) {
            let buffers = io.buffers();
            let buffer = if buffer == Buffer::Output { buffers.output } else { buffers.scratch };
            let piece = rest.split_off(..place.len()).unwrap();
            buffer[place].copy_from_slice(piece);
        }
        outcome
    }

    fn abort(&mut self, failure: Failure) {
        let outcome = self.worker.ask(&Request::Abort { transport: self.number, failure });
        outcome.unwrap_or_else(|words| panic!("{words}"))
    }

    fn failure(&self) -> Option<Failure> {
        let failure = self.worker.ask(&Request::Failure { transport: self.number });
        failure.unwrap_or_else(|words| panic!("{words}"))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        complain(self.worker.ask(&Request::Leave { transport: self.number, panicking: thread::panicking() }));
    }
}
