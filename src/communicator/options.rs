//! What a communicator is told at its making.

use std::time::Duration;

use crate::machine::Machine;
use crate::vocabulary::Placement;

/// What a communicator may be told at its making. The same on every rank.
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
    /// How long a rank waits without any progress before the call fails. 5 minutes unless set.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Whether ranks compare what they call, and so find that they disagree. On unless set. Lengths of messages are compared all
    /// the same, but a call that the backend's own library does is then as unguarded as there.
    #[must_use]
    pub fn fingerprints(self, fingerprints: bool) -> Self {
        Self { fingerprints, ..self }
    }

    /// How many plans are kept, and of how many bytes together; those unused longest go first. 32 of 256 MiB unless set. As
    /// much again is kept for permutations of arrays.
    #[must_use]
    pub fn cache(self, plans: usize, bytes: usize) -> Self {
        Self { plans, plan_bytes: bytes, ..self }
    }

    /// The prices by which `auto` chooses; the [endpoint's](crate::transport::Endpoint::machine) unless set. Rank 0's count, for everybody.
    #[must_use]
    pub fn machine(self, machine: Machine) -> Self {
        Self { machine: Some(machine), ..self }
    }

    /// Which node each rank sits on. Rank i on node i unless set.
    #[must_use]
    pub fn placement(self, placement: Placement) -> Self {
        Self { placement: Some(placement), ..self }
    }

    /// How long a rank waits.
    #[cfg(any(feature = "mpi", feature = "tcp"))]
    pub(crate) fn patience(&self) -> Duration {
        self.timeout
    }
}
