//! How long each step of a meeting may take, and who this rank is in it.

use std::time::{Duration, Instant};

use super::super::handshake::Identity;
use super::super::hello::Build;
use super::super::{Join, Key};

/// How long the last word may take.
pub(super) const LINGER: Duration = Duration::from_secs(1);
/// How often a file is looked at.
pub(super) const GLANCE: Duration = Duration::from_millis(100);
/// How often the log says who is there, while nobody comes.
pub(super) const REPORT: Duration = Duration::from_secs(10);
/// How often it is looked whether the last word is on its way.
pub(super) const AGAIN: Duration = Duration::from_millis(5);
/// A time that does not come.
pub(super) const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// How much longer than rank 0 the others wait for what it has to say.
pub(super) fn grace(timeout: Duration) -> Duration {
    (timeout / 4).clamp(2 * LINGER, Duration::from_secs(20))
}

/// So much later; never, if that is no time that the clock has.
pub(super) fn after(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration.min(NEVER)).unwrap_or(now)
}

/// As errors say it, and as it goes over the wire.
pub(super) fn rounded(duration: Duration) -> Duration {
    Duration::from_millis(duration.as_millis().min(u128::from(u32::MAX)) as u64)
}

pub(super) fn identity(join: &Join, job: u64) -> Identity {
    let key = join.key.clone().unwrap_or_else(Key::none);
    Identity { key, build: Build::own(), rank: join.rank, size: join.size, job }
}
