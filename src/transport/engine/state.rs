//! The state of the engine: its connections, its contexts, and the rounds that its threads drive.
//!
//! It is behind one lock. A thread in a round makes progress on all contexts, its own and those of
//! other threads, and sleeps without the lock. So any thread may receive any byte.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::context::Context;
use super::flow_control::Credit;
use super::limits::{LINGER, LONGEST, STAGE};
use super::panics::Panics;
use crate::transport::wire::{Wire, WireEvent};
use crate::transport::{ContextId, Failure, Report};

/// The state of the engine; see the [module](self).
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) me: usize,
    /// The time, as its driver has last told it. The engine reads no clock.
    pub(crate) now: Instant,
    /// The connection to each process; `None` for this one.
    pub(crate) connections: Box<[Option<Connection>]>,
    pub(crate) contexts: BTreeMap<ContextId, Context>,
    /// The contexts with a round under way.
    pub(crate) active: Vec<ContextId>,
    pub(crate) credit: Credit,
    pub(crate) wire: Box<dyn Wire>,
    /// Whether the wire reports no events and has to be polled.
    pub(crate) polled: bool,
    /// The events that have been reported.
    pub(crate) events: Vec<WireEvent>,
    /// Buffer for bytes whose destination is not known yet, and for short frames that are gathered
    /// into one write.
    pub(crate) bounce_buffer: Box<[u8]>,
    pub(crate) stage: Vec<u8>,
    /// Selects which of the active contexts sends first.
    pub(crate) rotation: usize,
    /// Connections on which something may be sent that could not be before.
    pub(crate) due: Vec<usize>,
    /// Connections that have used up their budget, and may have more to read or write.
    pub(crate) unfinished: Vec<usize>,
    /// Number of consecutive sweeps that left something unread.
    pub(crate) deferrals: u32,
    /// Number of processes that have left or were lost.
    pub(crate) departures: u64,
    /// The number of the last status request.
    pub(crate) status_requests: u64,
    /// The time when the engine last checked all connections.
    pub(crate) looked: Instant,
    pub(crate) panics: Panics,
    pub(crate) report: Report,
    /// The longest silence timeout of any round so far.
    pub(crate) longest_silence: Duration,
    pub(crate) life: Life,
    /// Number of times that a sweep found something unread that a round awaits.
    #[cfg(test)]
    pub(crate) overlooked: u64,
}

/// The life of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// It has sent FIN, and sends nothing more but FIN acknowledgements.
    Ending,
    /// It has ended: whether all others have acknowledged its FIN.
    Ended {
        well: bool,
    },
}

/// Maximum number of bytes read at once without a known place.
const BOUNCE_BUFFER: usize = 128 << 10;

impl Engine {
    /// Creates the engine of process `me` of a job of `processes`. A `polled` wire reports no events
    /// by a sleeper.
    pub(crate) fn new((me, processes): (usize, usize), wire: Box<dyn Wire>, polled: bool, now: Instant) -> Self {
        let connections = (0..processes).map(|process| (process != me).then(Connection::default)).collect();
        let credit = Credit::among(processes);
        Self {
            me,
            now,
            connections,
            contexts: BTreeMap::new(),
            active: Vec::new(),
            credit,
            wire,
            polled,
            events: Vec::with_capacity(processes.clamp(16, 1024)),
            bounce_buffer: vec![0; BOUNCE_BUFFER].into(),
            stage: Vec::with_capacity(2 * STAGE),
            rotation: 0,
            due: Vec::with_capacity(processes),
            unfinished: Vec::with_capacity(processes),
            deferrals: 0,
            departures: 0,
            status_requests: 0,
            looked: now,
            panics: Panics::default(),
            report: Report::default(),
            longest_silence: Duration::ZERO,
            life: Life::Running,
            #[cfg(test)]
            overlooked: 0,
        }
    }

    /// Returns whether the process has sent FIN.
    pub(super) fn fin_sent(&self) -> bool {
        self.life != Life::Running
    }

    /// Tells the engine the time.
    pub(crate) fn tick(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Returns the time that this process waits for others before it gives up on what they owe it.
    pub(super) fn patience(&self) -> Duration {
        self.longest_silence.clamp(LINGER, LONGEST)
    }

    /// Returns the process of a rank in a context.
    pub(super) fn process(&self, id: ContextId, rank: usize) -> usize {
        self.contexts.get(&id).map_or(self.me, |context| context.members[rank].index())
    }

    /// Returns whether a failure of a context is proposed and not decided yet.
    pub(crate) fn is_undecided(&self, id: ContextId) -> bool {
        self.contexts.get(&id).is_some_and(|context| context.agreement.is_pending())
    }

    /// Returns the failure of a context.
    pub(crate) fn failure(&self, id: ContextId) -> Option<&Failure> {
        self.contexts.get(&id)?.agreement.failure()
    }
}
