//! A slot: where one rank lays out what another may copy, and how both know when its memory is its own again.
//!
//! ```text
//!            publish             claim (receiver copies, then settles)
//!   EMPTY ------------> PUBLISHED -----> TAKEN
//!   or TAKEN (sender)       |
//!                           +----------> EMPTY
//!                             revoke (sender)
//! ```
//!
//! A slot has one sender and one receiver. A receiver that claims first says whose memory it is about to touch (its
//! [`Hold`]), then looks whether the parcel is still there; a sender that revokes first takes the parcel away, then looks
//! whom the receiver holds. A sequentially consistent fence stands between the two halves on both sides, so that at least
//! one of them sees the other: either the receiver leaves the memory alone, or the sender waits until it lets go. Claiming
//! is what happens all the time, so it is kept to words that the receiver alone writes; a compare-and-swap on the slot
//! would fetch its cache line a second time (a tenth of a microsecond between two cores).
//!
//! Each claim counts down the sender's [`Tally`] in the end, whose zero says that nobody touches what the sender published
//! any more. Who revokes has failed: its tally is of no use any more, nor are its slots.
//!
//! A parcel is what is published: a few words that say where the bytes are. Small messages go by
//! [`mail`](super::mail) instead.

use std::mem::MaybeUninit;

use super::bell::Bell;
use super::sync::{AtomicBool, AtomicU32, Ordering, UnsafeCell, fence};

const EMPTY: u32 = 0;
const PUBLISHED: u32 = 1;
const TAKEN: u32 = 2;

/// See the [module](self). Laid out in this order, so that the state comes on the parcel's cache line.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct Slot<T> {
    state: AtomicU32,
    parcel: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the parcel is written by the sender while nothing is under way, and read by the receiver under a claim, never by
// both at once, as the protocol and `publish`'s obligation say; it moves from one thread to the other, hence `Send`.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T: Copy> Slot<T> {
    pub(super) fn new() -> Self {
        Self { state: AtomicU32::new(EMPTY), parcel: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Lays out a parcel.
    ///
    /// # Safety
    ///
    /// The caller is the slot's only sender, the tally of everything published before is settled, and nothing was revoked.
    /// What the parcel points to stays valid until the sender's tally, which expects this parcel, is settled.
    #[inline]
    pub(super) unsafe fn publish(&self, parcel: T) {
        self.parcel.with_mut(|cell| {
            // SAFETY: the caller is the only sender, and nothing that was published before is under way: nobody else
            // reads or writes the cell; that the last reader is through happened before this, by the tally.
            unsafe { cell.write(MaybeUninit::new(parcel)) };
        });
        self.state.store(PUBLISHED, Ordering::Release);
    }

    /// Whether a parcel lies here that nobody has claimed.
    #[inline]
    pub(super) fn is_published(&self) -> bool {
        self.state.load(Ordering::Relaxed) == PUBLISHED
    }

    /// Takes what is published, if anything is. Until the claim is dropped, what the parcel points to stays valid. Only
    /// the slot's receiver claims, one parcel at a time; `own` is its desk, and `sender` that of the slot's sender, whose
    /// number is `from`.
    #[inline]
    pub(super) fn claim<'a>(&'a self, (from, sender): (usize, &'a Desk), own: &'a Desk) -> Option<Claim<'a, T>> {
        if self.state.load(Ordering::Acquire) != PUBLISHED {
            return None;
        }
        own.hold.take(from);
        fence(Ordering::SeqCst);
        if !self.is_published() {
            own.hold.release();
            return None;
        }
        // For those who ask whether somebody still has to come for it. Should it be revoked just now, nobody asks.
        self.state.store(TAKEN, Ordering::Relaxed);
        let parcel = self.parcel.with(|cell| {
            // SAFETY: the sender initialised the cell before it was PUBLISHED, and does not touch it before the claim is
            // dropped: it publishes no more before its tally is settled.
            unsafe { cell.read().assume_init() }
        });
        Some(Claim { hold: &own.hold, sender, parcel })
    }

    /// Takes back what nobody has claimed. Only the slot's sender revokes, and publishes nothing more. After a
    /// [`Hold::settle_revoked`], nobody touches what was published once the receiver's hold is not on this sender.
    pub(super) fn revoke(&self) {
        self.state.store(EMPTY, Ordering::Relaxed);
    }
}

/// A receiver's hold on a parcel; dropping it gives the memory back to the sender, and tells it if it was the last.
#[derive(Debug)]
pub(super) struct Claim<'a, T> {
    hold: &'a Hold,
    sender: &'a Desk,
    /// What was published.
    pub(super) parcel: T,
}

impl<T> Drop for Claim<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.hold.release();
        if self.sender.tally.settle() {
            Bell::announce();
            self.sender.bell.ring_announced();
        }
    }
}

/// Whose memory a rank is touching: one more than its number; 0 if nobody's.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Hold(AtomicU32);

impl Hold {
    // Whatever a revoking sender reads here, what the holder did before that has happened: both stores release.

    #[inline]
    fn take(&self, whose: usize) {
        self.0.store(whose as u32 + 1, Ordering::Release);
    }

    #[inline]
    fn release(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Whether it is that rank's memory.
    #[inline]
    pub(super) fn is_on(&self, whose: usize) -> bool {
        self.0.load(Ordering::Acquire) == whose as u32 + 1
    }

    /// Between all [revocations](Slot::revoke) of a sender and looking at the [holds](Self::is_on) of its receivers: who
    /// is not on the sender's memory then, comes on it no more.
    pub(super) fn settle_revoked() {
        fence(Ordering::SeqCst);
    }
}

/// What a rank has that others touch: its bell, which they mostly read, the count of its parcels that are under way,
/// which they write, and its hold, which it writes itself and hardly anybody reads; on lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Desk {
    /// Rung for whatever the rank may wait for.
    pub(super) bell: Bell,
    /// Its parcels under way.
    pub(super) tally: Tally,
    /// Whose memory it is touching.
    pub(super) hold: Hold,
    /// Whether it sleeps until a letterbox that it fills has room.
    pub(super) cramped: AtomicBool,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self {
            bell: Bell::new(),
            tally: Tally(AtomicU32::new(0)),
            hold: Hold(AtomicU32::new(0)),
            cramped: AtomicBool::new(false),
        }
    }
}

/// How many parcels of a sender are not settled. Receivers count it down, each once its copy is done.
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
