//! Drives the rounds of a context: posts each, and sleeps until it has ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use super::context::ActiveRound;
use super::limits::TICK;
use super::process::{Driven, Process};
use super::round::Round;
use super::watch::{RoundInfo, Watch};
use crate::ids::Rank;
use crate::plan::Message;
use crate::transport::bases::Bases;
use crate::transport::thread_number::this_thread;
use crate::transport::{ContextId, Failure, History, RoundIo, Transport};

/// The transport of one context of a process.
#[derive(Debug)]
pub(crate) struct Driver {
    process: Arc<Process>,
    id: ContextId,
    rank: Rank,
    size: usize,
    /// Whether the context has failed, or may have.
    maybe_failed: Arc<AtomicBool>,
    /// The last call and round, and when it ended.
    last: Option<(u64, u32)>,
    over: Instant,
}

/// The time for which a rank polls before it sleeps, if each rank has a core of its own.
const SPIN: Duration = Duration::from_micros(50);

/// The time for which it polls without yielding.
const EAGER: Duration = Duration::from_micros(10);

impl Driver {
    pub(crate) fn new(
        process: Arc<Process>,
        (id, maybe_failed): (ContextId, Arc<AtomicBool>),
        rank: Rank,
        size: usize,
    ) -> Self {
        Self { process, id, rank, size, maybe_failed, last: None, over: Instant::now() }
    }

    /// Returns what is wrong with a round that the caller passes, if something is.
    fn refusal(&mut self, io: &RoundIo<'_>) -> Option<String> {
        let now = (io.call, io.number());
        if self.last.replace(now).is_some_and(|last| last >= now) {
            return Some(format!("call {}, round {} does not come after the last one", now.0, now.1));
        }
        // The messages of a round are sorted by peer.
        let (sends, receives) = (io.sends(), io.receives());
        let peers = || sends.iter().chain(receives).map(|message| message.peer);
        if peers().any(|peer| peer == self.rank) {
            return Some("a message between a rank and itself".to_owned());
        }
        let beyond = peers().find(|peer| peer.index() >= self.size)?;
        Some(format!("a message with rank {beyond} of {}", self.size))
    }

    /// Pauses: polls again while that is cheaper than sleeping, if each rank has a core; otherwise
    /// yields and polls once, and sleeps from then on.
    fn pause<'p>(
        &'p self,
        mut engine: MutexGuard<'p, Driven>,
        messages: (&[Message], &[Message]),
        watch: &mut Watch,
    ) -> MutexGuard<'p, Driven> {
        let waited = watch.waited();
        let spins = self.process.spins() && waited < SPIN;
        // The awaited message may come from the rank that runs next on this core. A thread that
        // sleeps takes longer to return.
        if engine.active.len() == 1 && (spins || watch.is_first_pause()) {
            if !spins || waited > EAGER {
                drop(engine);
                std::thread::yield_now();
                engine = self.process.lock();
            } else {
                engine.tick(Instant::now());
            }
            if spins {
                engine.poll_peers(self.id, messages);
            } else {
                engine = self.process.poll(engine);
            }
            return engine;
        }
        let mut engine = self.process.sleep(engine, waited);
        if watch.is_time_to_sweep(engine.now) {
            engine.sweep(Instant::now());
        }
        engine
    }
}

impl Transport for Driver {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn round(&mut self, mut io: RoundIo<'_>) -> Result<(), Failure> {
        let process = Arc::clone(&self.process);
        let refusal = self.refusal(&io);
        let (id, rank) = (self.id, self.rank);
        let info =
            RoundInfo { id, rank, call: io.call, signature: io.signature, round: io.number(), timeouts: io.timeouts };
        let (program, index, messages) = (io.program(), io.index(), (io.sends(), io.receives()));
        let bases = Bases::of(&mut io.buffers());
        // Declared before the engine is locked, so that it is dropped after the lock is released.
        let mut posted = Posted { process: &process, id, active: false };
        let mut engine = process.lock();
        let mut round = Round::begin(&engine, info);
        if engine.now.duration_since(self.over) >= TICK {
            // A rank that comes late first reads what has arrived: the call may have failed.
            engine = process.poll_all(engine);
        }
        if let Some(reason) = refusal {
            round.refuse(&mut engine, reason);
        } else {
            posted.active = true;
            // SAFETY: the memory that `io` lends stays in place until this function returns. Before
            // that, even on a panic here, `posted` withdraws the active round. Until then, the
            // buffers are accessed only through these pointers.
            #[allow(unsafe_code)]
            let mut active = unsafe { ActiveRound::new((program, index), bases, io.call, io.signature, io.timeouts) };
            active.driver = this_thread();
            round.post(&mut engine, active, messages);
        }
        loop {
            if let Some(result) = round.poll(&mut engine) {
                engine = process.withdraw(engine, id);
                posted.active = false;
                process.wake(&engine);
                let over = engine.now;
                drop(engine);
                self.over = over;
                return result;
            }
            engine = self.pause(engine, messages, round.watch());
        }
    }

    fn abort(&mut self, failure: Failure) {
        let mut engine = self.process.lock();
        engine.propose(self.id, failure);
    }

    fn failure(&self) -> Option<Failure> {
        if !self.maybe_failed.load(Ordering::Acquire) {
            return None;
        }
        let mut engine = self.process.lock();
        // A proposal is decided soon, one way or another.
        let begin = Instant::now();
        while engine.is_undecided(self.id) {
            engine = self.process.sleep(engine, begin.elapsed());
            engine.sweep(Instant::now());
        }
        engine.failure(self.id).cloned()
    }

    fn conclude(&mut self, history: History) {
        if let Some(context) = self.process.lock().contexts.get_mut(&self.id) {
            context.history = Some(history);
        }
    }
}

/// Withdraws the active round when dropped, if one is posted.
#[derive(Debug)]
struct Posted<'p> {
    process: &'p Process,
    id: ContextId,
    active: bool,
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        if self.active {
            drop(self.process.withdraw(self.process.lock(), self.id));
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.process.leave(self.id);
    }
}
