//! Times and sizes that several parts of the engine share.

use std::time::Duration;

/// The interval at which a process reads frames that no round awaits, and checks its own waiting
/// rounds.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// Minimum time that an ending process waits until the others have read what it sent. The maximum
/// is their longest timeout, within bounds. After a failure it waits for this minimum only, since
/// the others need only the news of the failure.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// Maximum time that a process waits at its end: a launcher wants to know its result.
pub(crate) const LONGEST: Duration = Duration::from_secs(30);

/// Maximum number of reads from, or writes to, one process before others get their share. If the
/// peer is as fast as this process, the socket is never empty, or never full.
pub(crate) const BUDGET: u32 = 16;

/// Maximum number of bytes that are gathered for one write.
pub(crate) const STAGE: usize = 64 << 10;

/// Number of changes of the called signature that are recorded. A process that asks may be a few
/// calls behind.
pub(crate) const REMEMBERED: usize = 8;

/// Maximum number of times that a suspension of this process extends a deadline.
pub(crate) const MAX_SUSPENSIONS: u32 = 8;

/// Returns the time that a process has to answer, in a context with that timeout.
pub(crate) fn grace(timeout: Duration) -> Duration {
    (timeout / 8).clamp(Duration::from_millis(100), Duration::from_secs(15))
}
