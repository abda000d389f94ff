//! Options of a communicator.

use std::time::Duration;

use crate::machine::Machine;
use crate::transport::Timeouts;
use crate::vocabulary::Placement;

/// Options of a new communicator.
///
/// Placement and fingerprints must be the same on every rank. The machine is that of rank 0.
/// Timeouts and cache sizes may differ.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) timeouts: Timeouts,
    pub(super) fingerprints: bool,
    pub(super) plans: usize,
    pub(super) plan_bytes: usize,
    pub(super) machine: Option<Machine>,
    pub(super) placement: Option<Placement>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeouts: Timeouts::new(Duration::from_secs(300), Duration::from_secs(30 * 60)),
            fingerprints: true,
            plans: 32,
            plan_bytes: 256 << 20,
            machine: None,
            placement: None,
        }
    }
}

impl Options {
    /// Sets the maximum time without progress before a call fails; `None` turns it off. The default
    /// is 5 minutes.
    ///
    /// It counts while a process is silent (stopped, or its host or network is down). It also
    /// counts while messages under way make no progress, and while ranks wait for each other in a
    /// cycle. A rank that computes is not silent: see [`arrival_timeout`](Self::arrival_timeout).
    ///
    /// Ranks may have different timeouts. The first deadline that passes fails the call on all.
    #[must_use]
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let silence = timeout.into().unwrap_or(Duration::MAX);
        Self { timeouts: Timeouts::new(silence, self.timeouts.arrival), ..self }
    }

    /// Sets how long a call waits for a rank whose process answers but that has not made the call.
    /// `None` turns it off. The default is 30 minutes.
    ///
    /// Raise it, or turn it off, if ranks compute for longer between calls. If it is off, a call
    /// waits for such a rank as long as its process lives, as in MPI.
    ///
    /// Ranks may have different timeouts. The first deadline that passes fails the call on all.
    #[must_use]
    pub fn arrival_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let arrival = timeout.into().unwrap_or(Duration::MAX);
        Self { timeouts: Timeouts::new(self.timeouts.silence, arrival), ..self }
    }

    /// Sets whether ranks compare their calls, to find that they disagree. The default is true.
    ///
    /// Without fingerprints, ranks still compare the lengths of messages. Calls of the backend's
    /// own library are then as unguarded as in the library itself.
    #[must_use]
    pub fn fingerprints(self, fingerprints: bool) -> Self {
        Self { fingerprints, ..self }
    }

    /// Sets how many plans are cached, and their total size in bytes. The default is 32 plans, 256
    /// MiB.
    ///
    /// The communicator drops the least recently used plans first, and keeps one plan of any size.
    /// Permutations of arrays, calls with blocks of different lengths, and exchanges with
    /// neighbours have caches of their own, of the same size.
    #[must_use]
    pub fn cache(self, plans: usize, bytes: usize) -> Self {
        Self { plans, plan_bytes: bytes, ..self }
    }

    /// Sets the prices by which `auto` chooses. The default is the
    /// [endpoint's machine](crate::transport::Endpoint::machine).
    ///
    /// All ranks use the machine of rank 0. `NECKLACE_MACHINE` overrides it, except in a launch of
    /// [threads](crate::launch::Launch::threads).
    #[must_use]
    pub fn machine(self, machine: Machine) -> Self {
        Self { machine: Some(machine), ..self }
    }

    /// Sets which node each rank sits on. By default rank i sits on node i.
    #[must_use]
    pub fn placement(self, placement: Placement) -> Self {
        Self { placement: Some(placement), ..self }
    }

    /// Returns how long a rank waits for the others to join.
    #[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
    pub(crate) fn join_timeout(&self) -> Duration {
        self.timeouts.silence
    }
}
