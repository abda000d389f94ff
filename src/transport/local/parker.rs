//! Parking: how a rank sleeps until another thread changes something that it waits for.
//!
//! A parker has one sleeping thread, its owner, and any number of threads that unpark it. The owner
//! sets its flag and then looks once more at what it waits for. The other thread makes its change
//! and then reads the flag. Between the two steps stands a sequentially consistent fence, on both
//! sides, so that at least one of them sees the other and no wake-up is lost. A thread that finds
//! the owner awake has paid for one fence and one load, and takes no lock. A thread with many
//! parkers to unpark first asks whether [any](ParkedCount) rank is parked.

use std::time::Duration;

use super::sync::{AtomicBool, AtomicU32, Condvar, Mutex, MutexGuard, Ordering, fence};

/// Number of members of a group that are parked, or are about to park.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct ParkedCount(AtomicU32);

impl ParkedCount {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Whether any member is parked. The caller has passed a [`Parker::fence`] after its changes.
    /// If the answer is no, it need not unpark any member.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// The object that one rank sleeps on. See the [module](self).
#[derive(Debug)]
pub(super) struct Parker {
    parked: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Parker {
    pub(super) fn new() -> Self {
        Self { parked: AtomicBool::new(false), lock: Mutex::new(()), wake: Condvar::new() }
    }

    /// Sleeps until another thread unparks this parker or `limit` has passed. Does not sleep if
    /// `is_ready` returns true.
    ///
    /// May return early, so the caller checks again in any case. Only the owner parks. `is_ready`
    /// must take no lock.
    pub(super) fn park(&self, count: &ParkedCount, limit: Option<Duration>, is_ready: impl FnOnce() -> bool) {
        let guard = self.lock();
        count.0.fetch_add(1, Ordering::Relaxed);
        self.parked.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let _guard = if is_ready() {
            guard
        } else {
            // This thread has held the lock since before it set the flag. A thread that saw the
            // flag therefore gets the lock, and notifies, only once this one really sleeps.
            match limit {
                Some(limit) => self.wake.wait_timeout(guard, limit).unwrap_or_else(|poisoned| poisoned.into_inner()).0,
                None => self.wake.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner()),
            }
        };
        self.parked.store(false, Ordering::Relaxed);
        count.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Fences one or more changes from the [`unpark_after_fence`](Self::unpark_after_fence) that
    /// reports them.
    #[inline]
    pub(super) fn fence() {
        fence(Ordering::SeqCst);
    }

    /// Wakes the owner if it is parked. This thread has passed a [`fence`](Self::fence) after its
    /// change.
    #[inline]
    pub(super) fn unpark_after_fence(&self) {
        if self.parked.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let guard = self.lock();
        // One notification for each sleep is enough: the owner looks at everything when it wakes,
        // and sets its flag again before it sleeps again.
        if self.parked.load(Ordering::Relaxed) {
            self.parked.store(false, Ordering::Relaxed);
            drop(guard);
            self.wake.notify_one();
        }
    }

    /// Takes the lock under which `parked` is written. A poisoned lock is taken too: it guards no
    /// data that could be inconsistent.
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
