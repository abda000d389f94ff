//! A post: which call a rank is in, and by which fingerprint, for everybody to look up.
//!
//! Two words that belong together, written by one rank and read by any, without a lock: a reader
//! that met the writer between the two notices, since the call number changes at the beginning and
//! at the end.

use super::sync::{AtomicU64, Ordering};

const NONE: u64 = 0;
const CHANGING: u64 = u64::MAX;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Post {
    /// One more than the call's number.
    call: AtomicU64,
    fingerprint: AtomicU64,
}

impl Post {
    pub(super) fn new() -> Self {
        Self { call: AtomicU64::new(NONE), fingerprint: AtomicU64::new(0) }
    }

    /// Says where its owner is. Call numbers do not fall, and only the owner writes.
    #[inline]
    pub(super) fn write(&self, call: u64, fingerprint: u64) {
        if self.fingerprint.load(Ordering::Relaxed) != fingerprint {
            self.call.store(CHANGING, Ordering::Relaxed);
            // Whoever reads the new fingerprint sees that something is changing when it looks at
            // the call again.
            self.fingerprint.store(fingerprint, Ordering::Release);
        }
        // And whoever reads the new call has its fingerprint.
        self.call.store(call.wrapping_add(1), Ordering::Release);
    }

    /// The call and its fingerprint; `None` if there was none yet, or it is just changing.
    pub(super) fn read(&self) -> Option<(u64, u64)> {
        let call = self.call.load(Ordering::Acquire);
        let fingerprint = self.fingerprint.load(Ordering::Acquire);
        let same = self.call.load(Ordering::Relaxed) == call;
        (same && call != NONE && call != CHANGING).then(|| (call - 1, fingerprint))
    }
}
