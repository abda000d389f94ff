//! A process: one engine for all its contexts, and the thread that listens while no thread is in a
//! round.

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::ending::Ending;
#[cfg(feature = "mpi")]
use super::library::LibraryCalls;
use super::limits::TICK;
use super::state::{Engine, Life};
use crate::transport::ContextId;
use crate::transport::wire::{Sleeper, Wire};

/// The time for which a thread that waits on a polled wire only yields between two polls; and the
/// maximum time for which it sleeps after that.
const YIELDING: Duration = Duration::from_micros(500);
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// The number of polls for each peer after which everything that has come on a polled wire is
/// found, and the most at a time: where many processes share a core, their polls add up.
const POLLS_PER_PEER: usize = 2;
const MOST_POLLS: usize = 32;

/// A process of a job whose bootstrap is complete.
#[derive(Debug)]
pub(crate) struct Process {
    shared: Arc<Shared>,
    listener: Mutex<Option<JoinHandle<()>>>,
}

/// The engine, and the threads that sleep on its behalf.
#[derive(Debug)]
pub(crate) struct Driven {
    engine: Engine,
    /// The sleeper of the wire, if it has one. The thread that sleeps takes it out.
    sleeper: Option<Box<dyn Sleeper>>,
    /// Number of threads that sleep until another has moved something for them.
    sleepers: usize,
}

impl Deref for Driven {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl DerefMut for Driven {
    fn deref_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }
}

/// The state that its threads share.
#[derive(Debug)]
struct Shared {
    engine: Mutex<Driven>,
    /// Notified when a thread has moved something for others.
    moved: Condvar,
    spins: bool,
}

impl Shared {
    /// Locks the engine, and tells it the time.
    fn lock(&self) -> MutexGuard<'_, Driven> {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        engine.tick(Instant::now());
        engine
    }

    /// Wakes the threads that sleep until another has moved something for them.
    fn wake(&self, engine: &Driven) {
        if engine.sleepers > 0 {
            self.moved.notify_all();
        }
    }

    /// Sleeps until an event or until the limit, and handles the events.
    fn sleep<'s>(&'s self, mut engine: MutexGuard<'s, Driven>, limit: Duration) -> MutexGuard<'s, Driven> {
        if engine.polled {
            let limit = if engine.unfinished.is_empty() { limit } else { Duration::ZERO };
            if !limit.is_zero() {
                drop(engine);
                thread::sleep(limit);
                engine = self.lock();
            }
            self.handle_events(&mut engine);
            return engine;
        }
        let Some(mut sleeper) = engine.sleeper.take() else {
            // Another thread sleeps on the wire, and may not know that there is more to do.
            if !engine.unfinished.is_empty() {
                engine.resume();
                self.wake(&engine);
                return engine;
            }
            engine.sleepers += 1;
            let mut engine = match self.moved.wait_timeout(engine, limit) {
                Ok((engine, _)) => engine,
                Err(poisoned) => poisoned.into_inner().0,
            };
            engine.sleepers -= 1;
            engine.tick(Instant::now());
            return engine;
        };
        // No thread sleeps while there is more to do.
        let limit = if engine.unfinished.is_empty() { limit } else { Duration::ZERO };
        let mut events = std::mem::take(&mut engine.events);
        drop(engine);
        sleeper.sleep(limit, &mut events);
        let mut engine = self.lock();
        engine.events = events;
        engine.sleeper = Some(sleeper);
        self.handle_events(&mut engine);
        engine
    }

    /// Reads everything that has arrived, without waiting.
    fn poll_all<'s>(&'s self, mut engine: MutexGuard<'s, Driven>) -> MutexGuard<'s, Driven> {
        if engine.polled {
            // One poll may look at one peer only, as in shared memory those of MPICH do.
            let polls = (POLLS_PER_PEER * engine.connections.len()).min(MOST_POLLS);
            (0..polls).for_each(|_| engine.handle_events(Instant::now()));
        }
        engine = self.sleep(engine, Duration::ZERO);
        engine.sweep(Instant::now());
        engine
    }

    /// Handles the events that have been collected.
    fn handle_events(&self, engine: &mut Driven) {
        engine.handle_events(Instant::now());
        engine.resume();
        self.wake(engine);
    }

    /// Returns how long a thread that has waited for `waited` should sleep: until the next tick, or
    /// shorter on a polled wire, where frequent polls cost more.
    fn nap(&self, engine: &Engine, waited: Duration) -> Duration {
        match (engine.polled, waited < YIELDING) {
            (false, _) => TICK,
            (true, true) => Duration::ZERO,
            (true, false) => (waited / 8).min(LONGEST_NAP),
        }
    }

    /// Listens now and then, until the process ends.
    fn listen(&self) {
        loop {
            thread::park_timeout(TICK);
            let mut engine = self.lock();
            if let Life::Ended { .. } = engine.life {
                return;
            }
            // A thread that sleeps on the wire handles its events itself.
            if engine.polled || engine.sleeper.is_some() {
                engine = self.poll_all(engine);
            }
            engine.supervise();
            self.wake(&engine);
        }
    }
}

impl Process {
    pub(super) fn start(
        rank: usize,
        size: usize,
        wire: Box<dyn Wire>,
        sleeper: Option<Box<dyn Sleeper>>,
        spins: bool,
    ) -> io::Result<Arc<Self>> {
        let engine = Engine::new((rank, size), wire, sleeper.is_none(), Instant::now());
        let driven = Driven { engine, sleeper, sleepers: 0 };
        let shared = Arc::new(Shared { engine: Mutex::new(driven), moved: Condvar::new(), spins });
        let listening = Arc::clone(&shared);
        let listener = thread::Builder::new().name("necklace".to_owned()).spawn(move || listening.listen())?;
        Ok(Arc::new(Self { shared, listener: Mutex::new(Some(listener)) }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Driven> {
        self.shared.lock()
    }

    pub(crate) fn wake(&self, engine: &Driven) {
        self.shared.wake(engine);
    }

    /// Sleeps a little on behalf of a thread that has waited for `waited`.
    pub(crate) fn sleep<'s>(&'s self, mut engine: MutexGuard<'s, Driven>, waited: Duration) -> MutexGuard<'s, Driven> {
        let nap = self.shared.nap(&engine, waited);
        if nap.is_zero() {
            drop(engine);
            thread::yield_now();
            engine = self.lock();
        }
        self.shared.sleep(engine, nap)
    }

    /// Handles events that have occurred, without waiting.
    pub(crate) fn poll<'s>(&'s self, engine: MutexGuard<'s, Driven>) -> MutexGuard<'s, Driven> {
        // The thread that sleeps on the wire handles its events itself.
        if !engine.polled && engine.sleeper.is_none() {
            return engine;
        }
        self.shared.sleep(engine, Duration::ZERO)
    }

    /// Begins to supervise the calls that a library executes for a context.
    #[cfg(feature = "mpi")]
    pub(crate) fn add_library(&self, id: ContextId, library: Box<dyn LibraryCalls>) {
        if let Some(context) = self.lock().contexts.get_mut(&id) {
            context.library = Some(library);
        }
    }

    /// Reads everything that has arrived, without waiting.
    pub(crate) fn poll_all<'s>(&'s self, engine: MutexGuard<'s, Driven>) -> MutexGuard<'s, Driven> {
        // The thread that sleeps on the wire handles its events itself.
        if engine.polled || engine.sleeper.is_some() {
            return self.shared.poll_all(engine);
        }
        let mut engine = engine;
        engine.sweep(Instant::now());
        engine
    }

    /// Withdraws a round once it has got back all memory that it lent. If some memory does not come
    /// back, nothing may ever use it again, and the job ends.
    pub(crate) fn withdraw<'s>(&'s self, mut engine: MutexGuard<'s, Driven>, id: ContextId) -> MutexGuard<'s, Driven> {
        let begin = Instant::now();
        while !engine.call_back(id) {
            let waited = begin.elapsed();
            if waited > engine.patience() {
                let failure = engine.failure(id).cloned().or_else(|| engine.stranded(id));
                if let (Some(failure), Some(library)) = (failure, engine.wire.library()) {
                    library.abort(&failure);
                }
            }
            engine = self.sleep(engine, waited);
            engine.sweep(Instant::now());
        }
        engine.withdraw(id);
        engine
    }

    /// Returns whether a thread is in a call that a library executes.
    #[cfg(feature = "mpi")]
    pub(crate) fn in_library_call(&self) -> bool {
        self.lock()
            .contexts
            .values()
            .any(|context| context.library.as_ref().is_some_and(|library| library.current().is_some()))
    }

    /// Returns whether a waiting rank may poll without taking another rank's core.
    pub(crate) fn spins(&self) -> bool {
        self.shared.spins
    }

    /// Leaves a context. After a panic, the members learn of it once the supervisor has given the
    /// reason, if there is a supervisor.
    pub(crate) fn leave(&self, id: ContextId) {
        self.lock().leave(id, thread::panicking());
    }

    /// Ends the process, once. Returns whether all others have acknowledged that.
    pub(crate) fn finish(&self) -> bool {
        let mut engine = self.shared.lock();
        if let Life::Ended { well } = engine.life {
            return well;
        }
        let mut ending = Ending::begin(&mut engine);
        let well = loop {
            if let Some(well) = ending.poll(&mut engine) {
                break well;
            }
            let waited = ending.waited(engine.now);
            engine = self.sleep(engine, waited);
            engine.sweep(Instant::now());
        };
        self.wake(&engine);
        drop(engine);
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listener) = listener.filter(|listener| listener.thread().id() != thread::current().id()) {
            listener.thread().unpark();
            // It may have panicked; it is over in any case.
            let _ = listener.join();
        }
        well
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.finish();
    }
}
