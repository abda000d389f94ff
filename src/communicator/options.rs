//! Options of a communicator.

use std::time::Duration;

use crate::machine::Machine;
use crate::vocabulary::Placement;

/// Options of a new communicator, which must be the same on every rank.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) timeout: Duration,
    pub(super) fingerprints: bool,
    pub(super) plans: usize,
    pub(super) plan_bytes: usize,
    pub(super) machine: Option<Machine>,
    pub(super) placement: Option<Placement>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(300),
            fingerprints: true,
            plans: 32,
            plan_bytes: 256 << 20,
            machine: None,
            placement: None,
        }
    }
}

impl Options {
    /// Sets the maximum time without progress before a call fails. The default is 5 minutes.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
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
    /// Permutations of arrays have a second cache of the same size.
    #[must_use]
    pub fn cache(self, plans: usize, bytes: usize) -> Self {
        Self { plans, plan_bytes: bytes, ..self }
    }

    /// Sets the prices by which `auto` chooses. The default is the
    /// [endpoint's machine](crate::transport::Endpoint::machine).
    ///
    /// All ranks use the machine of rank 0.
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
    pub(crate) fn patience(&self) -> Duration {
        self.timeout
    }
}
