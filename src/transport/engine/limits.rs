//! Times and amounts that several parts of the engine go by.

use std::time::Duration;

/// How often a process reads what nobody waits for, and looks at what it waits for itself.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// How long a process that ends waits at least until the others have read what it sent them. They
/// have as long as their deadlines are, within bounds; unless something has failed, so that nobody
/// needs any of it but word of the failure.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// How often one process is read from, or written to, before others have their turn: where the
/// other is as fast as this one, the socket is never empty, or full.
pub(crate) const BUDGET: u32 = 16;

/// So much is put together before it is written.
pub(crate) const STAGE: usize = 64 << 10;

/// How many changes of what is called are remembered. Who asks may be a few calls behind.
pub(crate) const REMEMBERED: usize = 8;

/// How often a deadline is put off since this process has slept.
pub(crate) const MAX_SUSPENSIONS: u32 = 8;

/// How long somebody may take to answer, in a context whose rounds may wait so long.
pub(crate) fn grace(timeout: Duration) -> Duration {
    (timeout / 8).clamp(Duration::from_millis(100), Duration::from_secs(15))
}
