//! Status words: which call a rank is in, and with which fingerprint, readable by every rank.
//!
//! A status is two words that belong together. One rank writes them and any rank reads them,
//! without a lock. The call number is written before and after a change of the fingerprint, so a
//! reader notices if it reads between the two.

use super::sync::{AtomicU64, Ordering};

const NONE: u64 = 0;
const CHANGING: u64 = u64::MAX;

/// The call and the fingerprint that one rank is in. See the [module](self).
#[derive(Debug)]
pub(super) struct StatusWord {
    /// The number of the call plus one, or [`NONE`] or [`CHANGING`].
    call: AtomicU64,
    fingerprint: AtomicU64,
}

impl StatusWord {
    pub(super) fn new() -> Self {
        Self { call: AtomicU64::new(NONE), fingerprint: AtomicU64::new(0) }
    }

    /// Sets the call that the owner is in. Call numbers never decrease, and only the owner writes.
    #[inline]
    pub(super) fn write(&self, call: u64, fingerprint: u64) {
        if self.fingerprint.load(Ordering::Relaxed) != fingerprint {
            self.call.store(CHANGING, Ordering::Relaxed);
            // A rank that reads the new fingerprint sees `CHANGING`, or a later call, when it reads
            // the call again.
            self.fingerprint.store(fingerprint, Ordering::Release);
        }
        // A rank that reads the new call reads its fingerprint too.
        self.call.store(call.wrapping_add(1), Ordering::Release);
    }

    /// Returns the call and its fingerprint, or `None` before the first call or during a change.
    pub(super) fn read(&self) -> Option<(u64, u64)> {
        let call = self.call.load(Ordering::Acquire);
        let fingerprint = self.fingerprint.load(Ordering::Acquire);
        let same = self.call.load(Ordering::Relaxed) == call;
        (same && call != NONE && call != CHANGING).then(|| (call - 1, fingerprint))
    }
}
