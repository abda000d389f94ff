//! The synchronisation primitives of [`slot`](super::slot), [`mailbox`](super::mailbox),
//! [`parker`](super::parker) and [`status_word`](super::status_word). Here they are those of the
//! standard library. In `tests/loom/loom.rs`, which includes the same files, they are loom's.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};

/// A cell in which each access says whether it reads or writes, as in loom.
#[derive(Debug)]
pub(super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(super) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Passes a pointer for reading.
    #[inline(always)]
    pub(super) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Passes a pointer for writing.
    #[inline(always)]
    pub(super) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
