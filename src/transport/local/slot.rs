//! Publication slots: where a rank publishes what others may copy from its memory, and how both
//! sides know when that memory is the rank's own again.
//!
//! ```text
//!   sender                                      receiver
//!   publish the descriptor
//!   set its flag to message n   ------------->  see flag n
//!                                               enter an access epoch, look again, copy
//!   all leases released:        <-------------  taken := n + 1, release the lease
//!   the memory is its own
//! ```
//!
//! A sender has one descriptor at a time, and for each receiver a flag that says whether the
//! descriptor concerns it. A flag holds a message number. Messages are counted for each pair, those
//! in the [mailbox](super::mailbox) included, so a receiver that has taken n messages awaits number
//! n and takes no other message for it. What a rank publishes lies on a few cache lines that only
//! it writes. What a receiver reports lies on lines that only the receiver writes. The exception is
//! the sender's [`ReleaseCount`], which counts the released leases: once it equals the number of
//! flags set in all, no other rank accesses the sender's memory.
//!
//! A receiver first enters its [access epoch](AccessEpoch), which announces that it is about to
//! access the memory of others, and then looks whether the flag is still set. A sender that gives
//! up first revokes its flags, and then looks which receivers are in an epoch. Between the two
//! steps stands a sequentially consistent fence, on both sides, so that at least one of them sees
//! the other: either the receiver does not access the memory, or the sender waits until the
//! receiver's epoch ends. A receiver takes all leases that it finds in one epoch, and so pays for
//! one fence. A sender that revokes has failed: its slot and its release count are of no use after
//! that.
//!
//! A descriptor is a few words that say where the bytes are. Small messages go through the
//! [mailbox](super::mailbox) instead.

use std::mem::MaybeUninit;

use super::parker::Parker;
use super::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, UnsafeCell, fence};

/// One sender's publication slot. See the [module](self).
///
/// The order of the fields matters. The descriptor shares a cache line with the flag for the rank
/// after the sender, which spares two ranks a second line. Fields that are only read are on another
/// line.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct PublicationSlot<T> {
    /// The flag for the receiver `next`: a message number plus one, or 0.
    flag: AtomicU64,
    descriptor: UnsafeCell<MaybeUninit<T>>,
    /// The flags for the other receivers, by rank.
    flags: CacheLines,
    next: usize,
}

// SAFETY: the sender writes the descriptor while no lease is outstanding, and receivers read it
// under leases. These never overlap, by the protocol and by the obligations of `publish`. The
// descriptor moves from one thread to others, hence `Send`.
unsafe impl<T: Send> Sync for PublicationSlot<T> {}

impl<T: Copy> PublicationSlot<T> {
    /// Creates the slot of rank `me`, for this number of receivers.
    pub(super) fn new(me: usize, receivers: usize) -> Self {
        Self {
            flag: AtomicU64::new(0),
            descriptor: UnsafeCell::new(MaybeUninit::uninit()),
            flags: CacheLines::new(receivers),
            next: (me + 1) % receivers.max(1),
        }
    }

    /// Returns the flag for a receiver.
    #[inline]
    fn at(&self, to: usize) -> &AtomicU64 {
        if to == self.next { &self.flag } else { self.flags.at(to) }
    }

    /// Stores a descriptor, before any receiver's flag is set for it.
    ///
    /// # Safety
    ///
    /// The caller is the slot's only sender. All leases on what it has published here before are
    /// released, and it has revoked nothing. What the descriptor points to stays valid until all
    /// leases by the flags that it sets next are released.
    #[inline]
    pub(super) unsafe fn publish(&self, descriptor: T) {
        self.descriptor.with_mut(|cell| {
            // SAFETY: no lease by an earlier flag is outstanding, so no other thread reads or
            // writes the cell. The last reader's access happened before this, by the release count.
            unsafe { cell.write(MaybeUninit::new(descriptor)) };
        });
    }

    /// Tells a receiver that the published descriptor has the message of this number for it. (The
    /// sender passes the number because it knows it. To read the last flag just after it has
    /// written on the same cache line would be to wait for the line.)
    #[inline]
    pub(super) fn set_flag(&self, to: usize, number: u64) {
        self.at(to).store(number + 1, Ordering::Release);
    }

    /// Whether a receiver that has taken this number of messages has not taken the one it was
    /// flagged last.
    pub(super) fn is_untaken(&self, to: usize, taken: u64) -> bool {
        taken < self.at(to).load(Ordering::Relaxed)
    }

    /// Revokes the flag for a receiver. Only the sender does this, and sets no flag after it. After
    /// [`AccessEpoch::fence_after_revoke`], no rank accesses what was published once the receiver's
    /// current epoch has ended.
    pub(super) fn revoke(&self, to: usize) {
        self.at(to).store(0, Ordering::Relaxed);
    }

    /// Whether the flag for a receiver names the message of this number.
    #[inline]
    pub(super) fn is_flagged(&self, to: usize, number: u64) -> bool {
        self.at(to).load(Ordering::Relaxed) == number + 1
    }
}

/// Whether a rank accesses the memory of others: a counter that is odd while it does.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct AccessEpoch(AtomicU32);

impl AccessEpoch {
    /// Begins an epoch, in which this rank may take leases until the returned guard is dropped.
    /// Only the owner does this, one epoch at a time. It is a [`Parker::fence`] too.
    #[inline]
    pub(super) fn enter(&self) -> AccessGuard<'_> {
        // Whichever value a revoking sender reads here, what the owner did before it stored that
        // value has happened before: all stores release.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        fence(Ordering::SeqCst);
        AccessGuard(self)
    }

    /// Fences a sender's [revocations](PublicationSlot::revoke) from its look at the
    /// [epochs](Self::active) of its receivers. A receiver that is in no epoch after the fence, or
    /// whose epoch ends once, does not access the sender's memory any more.
    pub(super) fn fence_after_revoke() {
        fence(Ordering::SeqCst);
    }

    /// Returns the number of the current epoch, or `None` outside of one. It changes when the epoch
    /// ends.
    pub(super) fn active(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Acquire)).filter(|epoch| epoch % 2 == 1)
    }
}

/// A rank's permission to take leases. Dropping it ends the access epoch.
#[derive(Debug)]
pub(super) struct AccessGuard<'a>(&'a AccessEpoch);

impl AccessGuard<'_> {
    /// Takes a lease on the message of this number, if the slot has it for `to`, the guard's owner.
    ///
    /// `sender` is the synchronisation state of the slot's rank. `due` returns from the descriptor
    /// how many flags the sender has set up to and including this descriptor's. Until the lease is
    /// dropped, what the descriptor points to stays valid.
    #[inline]
    pub(super) fn lease<'a, T: Copy>(
        &'a self,
        slot: &'a PublicationSlot<T>,
        to: usize,
        number: u64,
        sender: &'a SyncState,
        due: impl FnOnce(&T) -> u32,
    ) -> Option<Lease<'a, T>> {
        if slot.at(to).load(Ordering::Acquire) != number + 1 {
            return None;
        }
        let descriptor = slot.descriptor.with(|cell| {
            // SAFETY: the sender initialised the cell before it set the flag. It does not write the
            // cell before the lease is dropped, because it publishes no more while a lease is
            // outstanding.
            unsafe { cell.read().assume_init() }
        });
        Some(Lease { sender, due: due(&descriptor), descriptor })
    }
}

impl Drop for AccessGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.0.store(self.0.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }
}

/// A receiver's lease on the memory behind a descriptor. Dropping it returns the memory to the
/// sender, and unparks the sender if it was the last one.
#[derive(Debug)]
pub(super) struct Lease<'a, T> {
    sender: &'a SyncState,
    due: u32,
    /// The published descriptor.
    pub(super) descriptor: T,
}

impl<T> Drop for Lease<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.sender.releases.release() == self.due {
            Parker::fence();
            self.sender.parker.unpark_after_fence();
        }
    }
}

/// A rank's synchronisation state that other ranks access. Others mostly read the parker, and write
/// the release count. The rest is written by the rank itself and rarely read. Each part has cache
/// lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct SyncState {
    /// Unparked by whatever the rank may wait for.
    pub(super) parker: Parker,
    /// The number of released leases on the rank's memory.
    pub(super) releases: ReleaseCount,
    /// Whether the rank accesses the memory of others.
    pub(super) epoch: AccessEpoch,
    /// Whether the rank is parked until a mailbox that it writes to has room.
    pub(super) awaits_room: AtomicBool,
    /// The number of messages of each sender that the rank has taken. Read by senders that need
    /// room for an eager message, or look for the rank they wait for.
    taken: CacheLines,
}

impl SyncState {
    /// Creates the state of a rank with this number of senders.
    pub(super) fn new(senders: usize) -> Self {
        Self {
            parker: Parker::new(),
            releases: ReleaseCount(AtomicU32::new(0)),
            epoch: AccessEpoch(AtomicU32::new(0)),
            awaits_room: AtomicBool::new(false),
            taken: CacheLines::new(senders),
        }
    }

    /// Returns how many of a sender's messages the rank has taken, which means copied.
    #[inline]
    pub(super) fn taken(&self, from: usize) -> u64 {
        self.taken.at(from).load(Ordering::Acquire)
    }

    /// Sets how many of a sender's messages the rank has taken. Only the owner does this.
    #[inline]
    pub(super) fn set_taken(&self, from: usize, taken: u64) {
        self.taken.at(from).store(taken, Ordering::Release);
    }
}

/// Number of released leases on a sender's memory since the beginning, modulo 2^32. Each receiver
/// adds one when its copy is done. The sender knows how many are due, and does not write here.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct ReleaseCount(AtomicU32);

impl ReleaseCount {
    /// Returns how many releases are missing until there are `due`. Once it returns 0, all that
    /// receivers did with the memory has happened before.
    #[inline]
    pub(super) fn outstanding(&self, due: u32) -> u32 {
        due.wrapping_sub(self.0.load(Ordering::Acquire))
    }

    /// Adds one, and returns the new count.
    #[inline]
    fn release(&self) -> u32 {
        self.0.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }
}

/// Numbers that one rank writes, on cache lines that hold nothing else.
#[derive(Debug)]
struct CacheLines(Box<[CacheLine]>);

/// Two cache lines, since processors fetch lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct CacheLine([AtomicU64; CacheLine::NUMBERS]);

impl CacheLine {
    const NUMBERS: usize = 16;
}

impl CacheLines {
    fn new(len: usize) -> Self {
        let line = |_| CacheLine(std::array::from_fn(|_| AtomicU64::new(0)));
        Self((0..len.div_ceil(CacheLine::NUMBERS)).map(line).collect())
    }

    #[inline]
    fn at(&self, i: usize) -> &AtomicU64 {
        &self.0[i / CacheLine::NUMBERS].0[i % CacheLine::NUMBERS]
    }
}
