//! Ranks that are threads of one process: one copy, from the sender's memory to the receiver's.
//! Needs the feature `local`.
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

// Implementation: each rank has a publication slot (`slot`). It begins a round by publishing there
// a descriptor of its messages, with a flag for each receiver. Then it takes what its peers have
// published for it (`rendezvous`), checks it, and copies it from their memory into its own
// (`copy`), or combines it with what it has (`folds`). It returns once all that it published has
// been copied, or revoked (`outbox`). There is no queue, so nothing accumulates, and each byte is
// copied once.
//
// Small messages are copied twice, because that costs less than to wait for each other. They are
// eager messages (`eager`), written into the receiver's mailbox (`mailbox`), which has room for a
// few of each sender. The sender does not wait unless there is no room. Both ends know which
// messages are small, so each looks for a message where it comes. Before a rank parks it also looks
// where the message should not come, and finds that the two disagree (`mismatch`). An eager message
// is never revoked: a sender that has gone on learns of a failure in its next round.
//
// A rank that has to wait parks (`parker`). It is unparked by a rank that publishes or writes a
// message for it, that releases the last of its rendezvous messages, or that takes an eager message
// when there was no room; and by a failure and a departure. Before it parks it checks (`wait`)
// which members have left, what the others are doing (`status_word`), and from time to time the
// wait-for chain (`wait_for`).
//
// All of this rests on `slot`, `mailbox`, `parker` and `status_word`. They use what `sync` names
// and nothing else, and `tests/loom/loom.rs` includes them as they are.
#![allow(unsafe_code)]

mod active_round;
mod copy;
mod eager;
mod folds;
mod group;
mod job;
mod mailbox;
mod mismatch;
mod outbox;
mod parker;
mod peer_messages;
mod rendezvous;
mod round;
mod slot;
mod status_word;
mod sync;
mod wait;
mod wait_for;

use std::sync::Arc;

use self::job::Job;
pub use self::job::{MAX_RANKS, SizeError};
use self::round::LocalTransport;
use super::{ContextId, Disagreement, Endpoint, OpenError, Transport, position};
use crate::ids::Rank;
use crate::machine::Machine;
use crate::vocabulary::Hosts;

/// Starts a job and returns its endpoints, by rank. Each belongs to one thread.
///
/// A rank whose transport is dropped in a panic is reported as `panicked`. With [`supervised`] the
/// report has the panic's message.
///
/// # Errors
///
/// If the size is 0 or more than [`MAX_RANKS`].
pub fn job(size: usize) -> Result<Vec<Arc<dyn Endpoint>>, SizeError> {
    Job::start(size, false).map(|job| endpoints(&job))
}

/// Starts a job like [`job`], for a launcher that catches the panics of its threads.
///
/// The launcher reports each panic by [`PanicReporter::panicked`]. Ranks that wait for a rank that
/// panicked then fail with the panic's message.
///
/// # Errors
///
/// If the size is 0 or more than [`MAX_RANKS`].
pub fn supervised(size: usize) -> Result<(PanicReporter, Vec<Arc<dyn Endpoint>>), SizeError> {
    let job = Job::start(size, true)?;
    let endpoints = endpoints(&job);
    Ok((PanicReporter { job }, endpoints))
}

fn endpoints(job: &Arc<Job>) -> Vec<Arc<dyn Endpoint>> {
    let endpoint = |rank| Arc::new(LocalEndpoint { job: job.clone(), rank: Rank::new(rank) }) as Arc<dyn Endpoint>;
    (0..job.size).map(endpoint).collect()
}

/// Reports the panics of a job's threads to the job.
///
/// Until the launcher reports a panic, or drops this value, no rank learns of it. So the launcher
/// reports a panic as soon as it has caught it.
#[derive(Debug)]
pub struct PanicReporter {
    job: Arc<Job>,
}

impl PanicReporter {
    /// Reports that a rank's thread has panicked, after its transports and its endpoint are
    /// dropped. Each rank that waits for it, now or later, fails with this message.
    pub fn panicked(&self, rank: Rank, message: &str) {
        self.job.registry().report_panic(rank, Some(message.into()));
    }
}

impl PanicReporter {
    /// Returns the first failures that a rank has seen in contexts that it has left.
    pub(crate) fn failures(&self, rank: Rank) -> Vec<Disagreement> {
        self.job.registry().report.failures(rank).cloned().collect()
    }

    /// Returns the disagreement of members that have left a context after different calls. `None`
    /// if a failure or a panic may be the reason.
    pub(crate) fn disagreement(&self) -> Option<Disagreement> {
        self.job.registry().report.disagreement()
    }
}

impl Drop for PanicReporter {
    fn drop(&mut self) {
        let mut registry = self.job.registry();
        registry.supervised = false;
        (0..self.job.size).map(Rank::new).for_each(|rank| registry.report_panic(rank, None));
    }
}

/// The endpoint of one thread.
#[derive(Debug)]
struct LocalEndpoint {
    job: Arc<Job>,
    rank: Rank,
}

impl Endpoint for LocalEndpoint {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.job.size
    }

    fn open(&self, context: ContextId, members: &[Rank]) -> Result<Box<dyn Transport>, OpenError> {
        let me = position(self.rank, self.job.size, members)?;
        let group = self.job.registry().open(context, members, me)?;
        Ok(Box::new(LocalTransport::new(self.job.clone(), group, me)))
    }

    fn machine(&self) -> Machine {
        Machine::THREADS.with_cores(if self.job.has_core_each() { 0 } else { self.job.cores as u64 })
    }

    /// Threads of one process share its host.
    fn hosts(&self) -> Option<Hosts> {
        Some(Hosts::of_consecutive(self.job.size, self.job.size))
    }
}

impl Drop for LocalEndpoint {
    fn drop(&mut self) {
        self.job.registry().close_endpoint(self.rank);
    }
}

#[cfg(test)]
mod tests;
