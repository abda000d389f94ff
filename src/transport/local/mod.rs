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
//! # Ok::<(), local::SizeError>(())
//! ```

// How it works. Each rank has a board (`board`). It begins a round by laying out there where its
// messages lie, with a note for each receiver; then it claims what its peers have noted for it
// (`parcels`), checks it, and copies it from their memory into its own (`copy`); and it returns
// once all that it laid out has been copied, or taken back (`outbox`). There is no queue, so
// nothing piles up, and nothing is copied twice.
//
// Small messages are copied twice all the same, since that costs less than to wait for each other:
// they go as letters (`letters`) into the receiver's letterbox (`mail`), which has room for two of
// each sender; their sender does not wait unless there is no room. What is small both ends know, so
// that each looks for a message where it comes; where it should not come they look before they
// sleep, and find that the two disagree (`mismatch`). A letter is never taken back: a sender that
// has gone on learns of a failure in its next round.
//
// A rank that has to wait sleeps on its bell (`bell`), which is rung by who lays out or writes for
// it, by who settles the last of its parcels, by who takes a letter when there was no room, by a
// failure and by a departure. Before it sleeps it looks around (`wait`): at who has left, at what
// the others are doing (`post`), and, when it is time, at who waits for whom (`wait_for`).
//
// `board`, `mail`, `bell` and `post` are the kernel on which all of it rests. They use what `sync`
// names and nothing else, and `tests/loom.rs` includes them as they are.
#![allow(unsafe_code)]

mod active_round;
mod bell;
mod board;
mod copy;
mod group;
mod job;
mod letters;
mod mail;
mod mismatch;
mod outbox;
mod parcels;
mod parts;
mod post;
mod round;
mod sync;
mod wait;
mod wait_for;

use std::sync::Arc;

use self::job::Job;
pub use self::job::{MAX_RANKS, SizeError};
use self::round::Local;
use super::{ContextId, Disagreement, Endpoint, OpenError, Transport, position};
use crate::ids::Rank;

/// The endpoints of a new job, one a rank, each to be handed to a thread.
///
/// A rank whose transport is dropped by a panic is reported as `panicked`; [`supervised`] lets the
/// reports say more.
///
/// # Errors
///
/// If the size is 0 or more than [`MAX_RANKS`].
pub fn job(size: usize) -> Result<Vec<Arc<dyn Endpoint>>, SizeError> {
    Job::start(size, false).map(|job| endpoints(&job))
}

/// The same, for a launcher that catches the panics of its threads: it owes the job a
/// [`panicked`](Supervisor::panicked) for each, and those who wait for a rank that panicked hear of
/// it with its message.
///
/// # Errors
///
/// If the size is 0 or more than [`MAX_RANKS`].
pub fn supervised(size: usize) -> Result<(Supervisor, Vec<Arc<dyn Endpoint>>), SizeError> {
    let job = Job::start(size, true)?;
    let endpoints = endpoints(&job);
    Ok((Supervisor { job }, endpoints))
}

fn endpoints(job: &Arc<Job>) -> Vec<Arc<dyn Endpoint>> {
    let endpoint = |rank| Arc::new(Thread { job: job.clone(), rank: Rank::new(rank) }) as Arc<dyn Endpoint>;
    (0..job.size).map(endpoint).collect()
}

/// What a launcher tells a job about its threads.
///
/// Until it says why, or is dropped, nobody hears of a panic, so the launcher speaks as soon as it
/// has caught one.
#[derive(Debug)]
pub struct Supervisor {
    job: Arc<Job>,
}

impl Supervisor {
    /// A rank's thread has panicked; its transports and its endpoint are gone. Whoever waits for
    /// it, now or later, fails with this message.
    pub fn panicked(&self, rank: Rank, message: &str) {
        self.job.registry().announce(rank, Some(message.into()));
    }
}

impl Supervisor {
    /// The first failures that a rank has seen in contexts which it has left.
    pub(crate) fn failures(&self, rank: Rank) -> Vec<Disagreement> {
        let registry = self.job.registry();
        let of_rank = registry.failures.iter().filter(|(known, _)| *known == rank);
        of_rank.map(|(_, failure)| failure.clone()).collect()
    }

    /// That members of a context have left it after other calls than each other, where nothing has
    /// failed that would be the reason.
    pub(crate) fn disagreement(&self) -> Option<Disagreement> {
        let registry = self.job.registry();
        registry.disagreement.clone().filter(|_| !registry.marred)
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

#[cfg(test)]
mod tests;
