//! A bell: what a rank sleeps on until somebody changes something it waits for.
//!
//! There is one sleeper a bell, and any number of ringers. The sleeper announces itself and then
//! looks once more; the ringer makes its change and then looks for a sleeper. A sequentially
//! consistent fence stands between the two halves on both sides, so that at least one of them sees
//! the other: no ring is lost, and a ringer who finds nobody asleep has paid a fence and a load,
//! and takes no lock. Who has many to ring asks first whether [anybody](Sleepers) sleeps.

use std::time::Duration;

use super::sync::{AtomicBool, AtomicU32, Condvar, Mutex, MutexGuard, Ordering, fence};

/// How many of a group sleep, or are about to.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Sleepers(AtomicU32);

impl Sleepers {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Whether anybody sleeps: asked after an [`announce`](Bell::announce). If not, nobody need be
    /// rung.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Bell {
    asleep: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Bell {
    pub(super) fn new() -> Self {
        Self { asleep: AtomicBool::new(false), lock: Mutex::new(()), wake: Condvar::new() }
    }

    /// Sleeps until the bell rings, or `limit` has passed, unless there is `news` already. May
    /// return early; the caller looks again in any case. Only the bell's owner sleeps on it. `news`
    /// must take no lock.
    pub(super) fn sleep(&self, sleepers: &Sleepers, limit: Option<Duration>, news: impl FnOnce() -> bool) {
        let guard = self.lock();
        sleepers.0.fetch_add(1, Ordering::Relaxed);
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let _guard = if news() {
            guard
        } else {
            // The lock was held since before the announcement: a ringer that saw it gets the lock,
            // and notifies, only once this thread really sleeps.
            match limit {
                Some(limit) => self.wake.wait_timeout(guard, limit).unwrap_or_else(|poisoned| poisoned.into_inner()).0,
                None => self.wake.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner()),
            }
        };
        self.asleep.store(false, Ordering::Relaxed);
        sleepers.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// The fence between a change, or several, and the [`ring_announced`](Self::ring_announced)
    /// that tells of it.
    #[inline]
    pub(super) fn announce() {
        fence(Ordering::SeqCst);
    }

    /// Wakes the sleeper, if there is one; the change lies before an [`announce`](Self::announce)
    /// of this thread.
    #[inline]
    pub(super) fn ring_announced(&self) {
        if self.asleep.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let guard = self.lock();
        // One ringer is enough for a sleep: the sleeper looks at everything when it wakes, and
        // announces itself anew before it sleeps again.
        if self.asleep.load(Ordering::Relaxed) {
            self.asleep.store(false, Ordering::Relaxed);
            drop(guard);
            self.wake.notify_one();
        }
    }

    /// The lock under which `asleep` is written. Poisoned, it still guards nothing that could be
    /// broken.
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
