//! Numbers threads, so that one can be told from another.

use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the number of the current thread, from 1; 0 while the thread ends.
pub(crate) fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MINE: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    MINE.try_with(|mine| *mine).unwrap_or(0)
}
