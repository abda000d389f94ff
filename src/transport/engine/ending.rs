//! The end of a process: it sends FIN and waits until all others have acknowledged it, since closing
//! a connection would lose unread bytes.

use std::time::{Duration, Instant};

use super::connection::{Connection, ConnectionState};
use super::frame::{Header, Kind};
use super::limits::LINGER;
use super::state::{Engine, Life};
use crate::transport::ContextId;

/// A process that ends; see the [module](self).
#[derive(Debug)]
pub(crate) struct Ending {
    /// Whether each other process has to acknowledge the FIN.
    peers: Vec<bool>,
    /// Whether the job is lost if this process ends before that.
    takes_the_job: bool,
    begun: Instant,
    last: Remaining,
    /// The time since when nothing counts as progress; and when a failure was first seen.
    since: Instant,
    failed_since: Option<Instant>,
}

/// What an ending process still waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Remaining {
    /// Number of peers and transfers.
    waiting: usize,
    bytes_written: u64,
}

impl Ending {
    /// Leaves all contexts and sends FIN.
    pub(crate) fn begin(engine: &mut Engine) -> Self {
        // A peer that has sent FIN itself needs nothing more from this process.
        let stays = |connection: &Option<Connection>| connection.as_ref().is_some_and(Connection::accepts_frames);
        let peers: Vec<bool> = engine.connections.iter().map(stays).collect();
        // Another thread may still have contexts open when the process exits. The calls completed
        // in them are complete.
        for id in engine.still_open() {
            engine.broadcast_leave(id, "has ended");
        }
        for (process, _) in peers.iter().enumerate().filter(|(_, stays)| **stays) {
            engine.enqueue(process, Header::new(Kind::Fin, ContextId::WORLD), &[]);
            engine.pump_out(process);
        }
        engine.life = Life::Ending;
        let takes_the_job = engine.wire.library().is_some();
        let last = Remaining::of(engine, &peers, takes_the_job);
        Self { peers, takes_the_job, begun: engine.now, last, since: engine.now, failed_since: None }
    }

    /// Returns whether all have acknowledged the FIN, once they have or it is not worth waiting any
    /// longer. From then on, the process has ended.
    pub(crate) fn poll(&mut self, engine: &mut Engine) -> Option<bool> {
        let now = engine.now;
        let remaining = Remaining::of(engine, &self.peers, self.takes_the_job);
        if remaining != self.last {
            self.last = remaining;
            // Peers that leave do not extend the wait for the others. Where the end of this process
            // takes the job with it, any progress does.
            self.since = if self.takes_the_job { now } else { self.begun };
        }
        if remaining.waiting > 0 && self.waited(now) < engine.patience() && !self.gives_up(engine) {
            return None;
        }
        // A peer that has sent FIN before it read this process's, or after, may close its end first.
        let lost =
            |connection: &Connection| matches!(connection.state, ConnectionState::Lost(_)) && !connection.fin_acked;
        let well = remaining.waiting == 0 && !engine.connections.iter().flatten().any(lost);
        engine.life = Life::Ended { well };
        engine.fail_open();
        engine.wire.end(well);
        Some(well)
    }

    /// Returns how long it has waited without progress.
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        now.duration_since(self.since)
    }

    /// Returns whether others need only the news of a failure, which they have had the time to read.
    fn gives_up(&mut self, engine: &Engine) -> bool {
        let failed =
            engine.panics.are_told() || engine.contexts.values().any(|context| context.agreement.failure().is_some());
        // If giving up here would abort the job, the process does not give up because of a slow
        // rank.
        let counts = failed && !self.takes_the_job;
        counts && engine.now.duration_since(*self.failed_since.get_or_insert(engine.now)) >= LINGER
    }
}

impl Remaining {
    fn of(engine: &Engine, peers: &[bool], takes_the_job: bool) -> Self {
        let mut remaining = Self { waiting: engine.wire.under_way(), bytes_written: 0 };
        let all =
            engine.connections.iter().zip(peers).filter_map(|(connection, stays)| Some((connection.as_ref()?, stays)));
        for (connection, stays) in all.filter(|(connection, _)| connection.is_open()) {
            let unwritten = !connection.queue.is_empty() || connection.sending.is_some();
            let waits = *stays && !connection.fin_acked || takes_the_job && unwritten;
            remaining.waiting += usize::from(waits);
            remaining.bytes_written += connection.bytes_written;
        }
        remaining
    }
}
