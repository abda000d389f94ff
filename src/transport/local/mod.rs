//! Ranks that are threads of one process: one copy, from the sender's memory to the receiver's.
//!
//! ```
//! use necklace::Rank;
//! use necklace::transport::{ContextId, local};
//!
//! let endpoints = local::job(2)?;
//! std::thread::scope(|scope| {
//!     for endpoint in endpoints {
//!         scope.spawn(move || {
//!             let world = endpoint.open(ContextId::WORLD, &[Rank::new(0), Rank::new(1)]).unwrap();
//!             assert_eq!((world.rank(), world.size()), (endpoint.rank(), 2));
//!         });
//!     }
//! });
//! # Ok::<(), local::JobError>(())
//! ```

// How it works. Each rank has a board (`board`). It begins a round by laying out there where its messages lie, with a note for
// each receiver; then it claims what its peers have noted for it (`parcels`), checks it, and copies it from their memory
// into its own (`copy`); and it returns once all that it laid out has been copied, or taken back (`outbox`). There is no
// queue, so nothing piles up, and nothing is copied twice.
//
// Small messages are copied twice all the same, since that costs less than to wait for each other: they go as letters
// (`letters`) into the receiver's letterbox (`mail`), which has room for two of each sender; their sender does not wait
// unless there is no room. What is small both ends know, so that each looks for a message where it comes; where it
// should not come they look before they sleep, and find that the two disagree (`mismatch`). A letter is never taken
// back: a sender that has gone on learns of a failure in its next round.
//
// A rank that has to wait sleeps on its bell (`bell`), which is rung by who lays out or writes for it, by who settles the
// last of its parcels, by who takes a letter when there was no room, by a failure and by a departure. Before it sleeps it
// looks around (`wait`): at who has left, at what the others are doing (`post`), and, when it is time, at who waits for
// whom (`chain`).
//
// `board`, `mail`, `bell` and `post` are the kernel on which all of it rests. They use what `sync` names and nothing else, and
// `tests/loom.rs` includes them as they are.
#![allow(unsafe_code)]

mod bell;
mod board;
mod chain;
mod copy;
mod group;
mod letters;
mod mail;
mod mismatch;
mod outbox;
mod parcels;
mod post;
mod round;
mod sync;
mod wait;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::group::{Group, Leave};
use self::round::Local;
use super::{ContextId, Discord, Endpoint, OpenError, Transport, position};
use crate::ids::Rank;

/// How many ranks a job may have. A context takes memory in proportion to the square of its ranks: for this many 700 MB.
pub const MAX_RANKS: usize = 4096;

/// A job that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job of {size} threads: it may have 1 to {MAX_RANKS}")]
pub struct JobError {
    /// How many ranks were asked for.
    pub size: usize,
}

/// The endpoints of a new job, one a rank, each to be handed to a thread.
///
/// A rank whose transport is dropped by a panic is reported as `panicked`; [`supervised`] lets the reports say more.
///
/// # Errors
///
/// If the size is 0 or more than [`MAX_RANKS`].
pub fn job(size: usize) -> Result<Vec<Arc<dyn Endpoint>>, JobError> {
    Job::start(size, false).map(|job| Job::endpoints(&job))
}

/// The same, for a launcher that catches the panics of its threads: it owes the job a
/// [`panicked`](Supervisor::panicked) for each, and those who wait for a rank that panicked hear of it with its message.
///
/// # Errors
///
/// If the size is 0 or more than [`MAX_RANKS`].
pub fn supervised(size: usize) -> Result<(Supervisor, Vec<Arc<dyn Endpoint>>), JobError> {
    let job = Job::start(size, true)?;
    let endpoints = Job::endpoints(&job);
    Ok((Supervisor { job }, endpoints))
}

/// What a launcher tells a job about its threads.
///
/// Until it says why, or is dropped, nobody hears of a panic, so the launcher speaks as soon as it has caught one.
#[derive(Debug)]
pub struct Supervisor {
    job: Arc<Job>,
}

impl Supervisor {
    /// A rank's thread has panicked; its transports and its endpoint are gone. Whoever waits for it, now or later, fails
    /// with this message.
    pub fn panicked(&self, rank: Rank, message: &str) {
        self.job.registry().announce(rank, Some(message.into()));
    }
}

impl Supervisor {
    /// That members of a context have left it after other calls than each other, where nothing has failed that would be the reason.
    pub(crate) fn discord(&self) -> Option<Discord> {
        let registry = self.job.registry();
        registry.discord.clone().filter(|_| !registry.marred)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let mut registry = self.job.registry();
        registry.supervised = false;
        (0..self.job.size).map(Rank::new).for_each(|rank| registry.announce(rank, None));
    }
}

/// The endpoint of one thread.
#[derive(Debug)]
struct Thread {
    job: Arc<Job>,
    rank: Rank,
}

impl Endpoint for Thread {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.job.size
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let me = position(self.rank, self.job.size, members)?;
        let group = self.job.registry().open(context, members, me)?;
        Ok(Box::new(Local::new(self.job.clone(), group, me)))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.job.registry().leave(self.rank);
    }
}

/// What the threads share.
#[derive(Debug)]
struct Job {
    size: usize,
    cores: usize,
    registry: Mutex<Registry>,
}

impl Job {
    fn start(size: usize, supervised: bool) -> Result<Arc<Self>, JobError> {
        if !(1..=MAX_RANKS).contains(&size) {
            return Err(JobError { size });
        }
        let ranks = (0..size).map(|_| Presence::Here).collect();
        Ok(Arc::new(Self {
            size,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            registry: Mutex::new(Registry {
                supervised,
                contexts: HashMap::new(),
                ranks,
                marred: false,
                discord: None,
            }),
        }))
    }

    fn endpoints(job: &Arc<Self>) -> Vec<Arc<dyn Endpoint>> {
        let endpoint = |rank| Arc::new(Thread { job: job.clone(), rank: Rank::new(rank) }) as Arc<dyn Endpoint>;
        (0..job.size).map(endpoint).collect()
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a rank that spins takes nobody's core.
    fn has_core_each(&self) -> bool {
        self.size <= self.cores
    }

    /// The contexts that somebody has opened and not everybody left.
    fn groups(&self) -> Vec<Arc<Group>> {
        self.registry().contexts.values().map(|context| context.group.clone()).collect()
    }

    /// A member's transport is dropped.
    fn close(&self, group: &Group, me: usize) {
        self.registry().close(group.context, me);
    }
}

/// Which contexts there are, and which ranks.
#[derive(Debug)]
struct Registry {
    /// Whether somebody will say why a thread panicked.
    supervised: bool,
    contexts: HashMap<ContextId, Context>,
    ranks: Box<[Presence]>,
    /// Whether a context has failed, or a rank panicked; and that members of a context have left it after other calls.
    marred: bool,
    discord: Option<Discord>,
}

/// A context, until all its members have left: one that comes late must learn that others have been there.
#[derive(Debug)]
struct Context {
    group: Arc<Group>,
    members: Box<[Presence]>,
}

/// Where a rank is, in the job or in a context.
#[derive(Debug)]
enum Presence {
    /// A rank that may open contexts; a member that has not opened this one.
    Here,
    /// A member that has it open.
    Open,
    /// Dropped in a panic, of which nobody knows more yet.
    Falling,
    /// Over.
    Left(Leave),
}

impl Registry {
    fn open(&mut self, id: ContextId, members: &[Rank], me: usize) -> Result<Arc<Group>, OpenError> {
        let ranks = &self.ranks;
        let context = self.contexts.entry(id).or_insert_with(|| {
            let group = Arc::new(Group::new(id, members));
            // A rank whose endpoint is gone will not come any more.
            for (i, member) in members.iter().enumerate() {
                if let Presence::Left(leave) = &ranks[member.index()] {
                    group.depart(i, leave.clone());
                }
            }
            Context { group, members: members.iter().map(|_| Presence::Here).collect() }
        });
        if *context.group.processes != *members || !matches!(context.members[me], Presence::Here) {
            return Err(OpenError::InUse(id));
        }
        context.members[me] = Presence::Open;
        Ok(context.group.clone())
    }

    /// How what is dropped now leaves; `None` if that is still to be said.
    fn leaving(&self) -> Presence {
        match (std::thread::panicking(), self.supervised) {
            (false, _) => Presence::Left(Leave::Returned),
            (true, false) => Presence::Left(Leave::Panicked(None)),
            (true, true) => Presence::Falling,
        }
    }

    /// A member's transport is dropped.
    fn close(&mut self, id: ContextId, me: usize) {
        let leaving = self.leaving();
        let Some(context) = self.contexts.get_mut(&id) else { return };
        if let Presence::Left(leave) = &leaving {
            context.group.depart(me, leave.clone());
        }
        if let Presence::Left(Leave::Returned) = &leaving
            && context.group.failure().is_none()
        {
            self.discord = self.discord.take().or_else(|| context.group.discord(me));
        } else {
            self.marred = true;
        }
        context.members[me] = leaving;
        self.sweep();
    }

    /// A rank's endpoint is dropped: what it has not opened, it never will.
    fn leave(&mut self, rank: Rank) {
        let leaving = self.leaving();
        if let Presence::Left(leave) = &leaving {
            self.miss(rank, leave);
        }
        self.ranks[rank.index()] = leaving;
        self.sweep();
    }

    /// A rank has panicked: those that wait for it where it fell hear of it.
    fn announce(&mut self, rank: Rank, message: Option<Arc<str>>) {
        let Some(presence) = self.ranks.get_mut(rank.index()) else { return };
        let leave = Leave::Panicked(message);
        for context in self.contexts.values_mut() {
            let Some(me) = context.group.rank_of(rank) else { continue };
            if matches!(context.members[me], Presence::Falling) {
                context.group.depart(me, leave.clone());
                context.members[me] = Presence::Left(leave.clone());
            }
        }
        if matches!(presence, Presence::Falling) {
            *presence = Presence::Left(leave.clone());
            self.miss(rank, &leave);
        }
        self.sweep();
    }

    /// A rank will not open what it has not opened.
    fn miss(&mut self, rank: Rank, leave: &Leave) {
        for context in self.contexts.values() {
            if let Some(me) = context.group.rank_of(rank)
                && matches!(context.members[me], Presence::Here)
            {
                context.group.depart(me, leave.clone());
            }
        }
    }

    /// Forgets the contexts that everybody has left.
    fn sweep(&mut self) {
        self.contexts.retain(|_, context| !context.group.is_deserted());
    }
}

#[cfg(test)]
mod tests;
