//! A slot: where one rank lays out what another may copy, and how both know when its memory is its own again.
//!
//! ```text
//!            publish             claim              settle
//!   EMPTY ------------> PUBLISHED -----> CLAIMED ------------> EMPTY
//!   (sender)                |           (receiver copies)
//!                           +------------------------------> EMPTY
//!                                 revoke (sender)
//! ```
//!
//! A slot has one sender and one receiver. `claim` and `revoke` both leave PUBLISHED by a compare-and-swap, so one of them
//! wins: either the receiver copies and the sender waits for it, or the receiver sees nothing. Each way back to EMPTY
//! counts down the sender's [`Tally`], whose zero says that nobody touches what the sender published any more.
//!
//! A parcel is what is published: a few words that say where the bytes are. Small messages could be staged in it.

use std::mem::MaybeUninit;

use super::bell::Bell;
use super::sync::{AtomicU32, Ordering, UnsafeCell};

const EMPTY: u32 = 0;
const PUBLISHED: u32 = 1;
const CLAIMED: u32 = 2;

/// See the [module](self).
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Slot<T> {
    state: AtomicU32,
    parcel: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the parcel is written by the sender in EMPTY and read by the receiver in CLAIMED, never by both at once, as the
// state machine and `publish`'s obligation say; it moves from one thread to the other, hence `Send`.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T: Copy> Slot<T> {
    pub(super) fn new() -> Self {
        Self { state: AtomicU32::new(EMPTY), parcel: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Lays out a parcel.
    ///
    /// # Safety
    ///
    /// The caller is the slot's only sender, and the slot is empty: the tally of everything published before is settled.
    /// What the parcel points to stays valid until the sender's tally, which expects this parcel, is settled.
    #[inline]
    pub(super) unsafe fn publish(&self, parcel: T) {
        self.parcel.with_mut(|cell| {
            // SAFETY: the slot is EMPTY and the caller is the only sender, so nobody else reads or writes the cell; that
            // the last reader is through happened before this, by the tally (the caller's obligation).
            unsafe { cell.write(MaybeUninit::new(parcel)) };
        });
        self.state.store(PUBLISHED, Ordering::Release);
    }

    /// Whether a parcel lies here that nobody has claimed.
    #[inline]
    pub(super) fn is_published(&self) -> bool {
        self.state.load(Ordering::Relaxed) == PUBLISHED
    }

    /// Whether nothing lies here, nor is being copied.
    pub(super) fn is_empty(&self) -> bool {
        self.state.load(Ordering::Relaxed) == EMPTY
    }

    /// Takes what is published, if anything is. Until the claim is dropped, what the parcel points to stays valid. Only
    /// the slot's receiver claims; `sender` is the desk of its sender.
    #[inline]
    pub(super) fn claim<'a>(&'a self, sender: &'a Desk) -> Option<Claim<'a, T>> {
        if !self.is_published() {
            return None;
        }
        self.state.compare_exchange(PUBLISHED, CLAIMED, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let parcel = self.parcel.with(|cell| {
            // SAFETY: the slot is CLAIMED by this thread: the sender initialised the cell before it was PUBLISHED, and
            // does not touch it before the claim is dropped.
            unsafe { cell.read().assume_init() }
        });
        Some(Claim { slot: self, sender, parcel })
    }

    /// Takes back what nobody has claimed. If it is claimed already, or done, does nothing. Only the slot's sender
    /// revokes; `own` is its desk.
    pub(super) fn revoke(&self, own: &Desk) {
        if self.state.compare_exchange(PUBLISHED, EMPTY, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            own.tally.settle();
        }
    }
}

/// A receiver's hold on a parcel; dropping it gives the memory back to the sender, and tells it if it was the last.
#[derive(Debug)]
pub(super) struct Claim<'a, T> {
    slot: &'a Slot<T>,
    sender: &'a Desk,
    /// What was published.
    pub(super) parcel: T,
}

impl<T> Drop for Claim<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.slot.state.store(EMPTY, Ordering::Release);
        if self.sender.tally.settle() {
            self.sender.bell.ring();
        }
    }
}

/// What a rank has that others touch: its bell, which they mostly read, and the count of its parcels that are under way,
/// which they write; on lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Desk {
    /// Rung for whatever the rank may wait for.
    pub(super) bell: Bell,
    /// Its parcels under way.
    pub(super) tally: Tally,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self { bell: Bell::new(), tally: Tally(AtomicU32::new(0)) }
    }
}

/// How many parcels of a sender are neither settled nor revoked. Receivers count it down, each once its copy is done.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally(AtomicU32);

impl Tally {
    /// Before `parcels` are published; everything before is settled.
    #[inline]
    pub(super) fn expect(&self, parcels: u32) {
        // Ordered before the count down of a receiver by the publication that it claims.
        self.0.store(parcels, Ordering::Relaxed);
    }

    /// How many are under way. Once it is 0, all that receivers did with the memory has happened before.
    #[inline]
    pub(super) fn open(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// One less; whether it was the last.
    #[inline]
    fn settle(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
