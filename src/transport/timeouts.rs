//! The two deadlines of a call.

use std::time::Duration;

/// Maximum times that a call waits: for progress, and for ranks that have not called.
///
/// `Duration::MAX` turns a deadline off. Members of a context may have different ones: the first
/// deadline that passes on any member fails the call on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Maximum time without progress while a process does not answer or messages are in transit.
    pub silence: Duration,
    /// Maximum time to wait for a rank whose process answers, but which has not called, or
    /// computes.
    pub arrival: Duration,
}

impl Timeouts {
    /// Creates a pair of timeouts.
    #[must_use]
    pub const fn new(silence: Duration, arrival: Duration) -> Self {
        Self { silence, arrival }
    }

    /// Returns the timeout that belongs to a deadline.
    #[must_use]
    pub const fn of(self, deadline: Deadline) -> Duration {
        match deadline {
            Deadline::Silence => self.silence,
            Deadline::Arrival => self.arrival,
        }
    }

    /// Returns the shorter of the two.
    #[must_use]
    pub fn shortest(self) -> Duration {
        self.silence.min(self.arrival)
    }
}

/// Uses one timeout for both.
impl From<Duration> for Timeouts {
    fn from(timeout: Duration) -> Self {
        Self::new(timeout, timeout)
    }
}

/// One of the two deadlines of a call. [`Timeouts`] sets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Deadline {
    /// A process does not answer, messages in transit make no progress, or ranks wait in a cycle.
    Silence,
    /// A rank answers, but has not called, or computes in the middle of the call.
    Arrival,
}
