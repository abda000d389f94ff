//! Timeouts and intervals of the bootstrap.

use std::time::{Duration, Instant};

/// Maximum time for a handshake and the first message after it, together.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for a message to be sent, and for a peer to read its last one.
pub(super) const LINGER: Duration = Duration::from_secs(1);
/// Interval at which rank 0 reads the rendezvous file, and others look for it.
pub(super) const FILE_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which rank 0 asks for ranks that will not come.
pub(super) const WATCH_INTERVAL: Duration = Duration::from_millis(20);
/// Interval between attempts to send what is unsent.
pub(super) const FLUSH_INTERVAL: Duration = Duration::from_millis(5);
/// Interval at which progress is logged while nothing happens.
pub(super) const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// A duration longer than any job.
pub(super) const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Returns how much longer the other ranks wait for a message of rank 0 than rank 0 itself waits.
pub(super) fn grace(timeout: Duration) -> Duration {
    (timeout / 4).clamp(2 * LINGER, Duration::from_secs(20))
}

/// Adds a duration, limited to [`NEVER`]. Returns `now` if the clock cannot represent the sum.
pub(super) fn after(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration.min(NEVER)).unwrap_or(now)
}

/// Rounds a duration for errors.
pub(super) fn rounded(duration: Duration) -> Duration {
    Duration::from_millis(duration.as_millis().min(u64::MAX.into()) as u64)
}
