//! A board: where a rank lays out what others may copy, and how both sides know when its memory is its own again.
//!
//! ```text
//!   sender                                      receiver
//!   lay out the offer
//!   note n for this receiver    ------------->  see note n
//!                                               hold, look again, copy
//!   all settled: the offer is over  <---------  claimed n, settle
//! ```
//!
//! A sender has one offer at a time, and a note for each receiver that says that it concerns it. Notes are counted for each
//! pair: a receiver that has claimed n awaits note n + 1. So whatever a rank lays out lies on a few cache lines that
//! only it writes, and what a receiver says of it on lines that only the receiver writes, but for the
//! sender's [`Tally`], which counts the claims that are settled: when it has come to as many as were noted in all, nobody
//! touches the sender's memory.
//!
//! A receiver that claims first says that it is about to touch others' memory (its [`Hold`]), then looks whether the note is
//! still there; a sender that gives up first takes its notes back, then looks who holds. A sequentially consistent fence
//! stands between the two halves on both sides, so that at least one of them sees the other: either the receiver
//! leaves the memory alone, or the sender waits until it lets go. A receiver holds for all that it finds at once, so that
//! it pays for one fence. Who takes back has failed: its tally is of no use any more, nor is its board.
//!
//! What is offered are a few words that say where the bytes are. Small messages go by [`mail`](super::mail) instead.

use std::mem::MaybeUninit;

use super::bell::Bell;
use super::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, UnsafeCell, fence};

/// See the [module](self). Laid out in this order, so that the offer comes on one cache line with the note for the rank
/// after the sender, which spares two ranks a second one, and what is only read is on another.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct Board<T> {
    /// For the receiver `next`.
    note: AtomicU64,
    offer: UnsafeCell<MaybeUninit<T>>,
    /// By receiver, for the others.
    notes: Lines<AtomicU64, 16>,
    next: usize,
}

// SAFETY: the offer is written by the sender while nothing is under way, and read by receivers under claims, never by both
// at once, as the protocol and `lay_out`'s obligation say; it moves from one thread to others, hence `Send`.
unsafe impl<T: Send> Sync for Board<T> {}

impl<T: Copy> Board<T> {
    /// That of rank `me`, for so many receivers.
    pub(super) fn new(me: usize, receivers: usize) -> Self {
        Self {
            note: AtomicU64::new(0),
            offer: UnsafeCell::new(MaybeUninit::uninit()),
            notes: Lines::new(receivers, || AtomicU64::new(0)),
            next: (me + 1) % receivers.max(1),
        }
    }

    /// The note for a receiver.
    #[inline]
    fn at(&self, to: usize) -> &AtomicU64 {
        if to == self.next { &self.note } else { self.notes.at(to) }
    }

    /// Lays out an offer, of which nobody knows yet.
    ///
    /// # Safety
    ///
    /// The caller is the board's only sender, the tally of all that it put on it before is settled, and nothing was taken
    /// back. What the offer points to stays valid until the sender's tally of what it notes next is settled.
    #[inline]
    pub(super) unsafe fn lay_out(&self, offer: T) {
        self.offer.with_mut(|cell| {
            // SAFETY: nothing that was noted before is under way: nobody else reads or writes the cell; that the last
            // reader is through happened before this, by the tally.
            unsafe { cell.write(MaybeUninit::new(offer)) };
        });
    }

    /// Tells a receiver of the offer that is laid out, and which `part` of it is the receiver's; `number` is how many notes
    /// for it there have been with this one. (The sender counts them: to read the last one, when it has just written on its
    /// cache line, would be to wait for the line.)
    #[inline]
    pub(super) fn note(&self, to: usize, number: u32, part: u32) {
        self.at(to).store(word(number, part), Ordering::Release);
    }

    /// How many notes there have been for a receiver; the sender asks.
    #[inline]
    pub(super) fn noted(&self, to: usize) -> u32 {
        self.at(to).load(Ordering::Relaxed) as u32
    }

    /// Takes back the note for a receiver, if that has not claimed it. Only the sender does, and notes nothing more. After
    /// a [`Hold::settle_taken_back`], nobody touches what was laid out once the receiver has let go.
    pub(super) fn take_back(&self, to: usize) {
        self.at(to).store(word(self.noted(to).wrapping_sub(1), 0), Ordering::Relaxed);
    }

    /// Whether a note for that receiver lies here that it has not claimed; it has claimed so many.
    #[inline]
    pub(super) fn has_note(&self, to: usize, claimed: u32) -> bool {
        self.at(to).load(Ordering::Relaxed) as u32 == claimed.wrapping_add(1)
    }
}

/// A note: its number, of all for its receiver, round the clock; and which part of the offer it is about.
#[inline]
fn word(number: u32, part: u32) -> u64 {
    u64::from(part) << 32 | u64::from(number)
}

/// Whether a rank touches the memory of others: odd while it does.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Hold(AtomicU32);

impl Hold {
    /// From here until what it returns is dropped, this rank may claim. Only the desk's owner holds, once at a time. It is
    /// a [`Bell::announce`] too.
    #[inline]
    pub(super) fn take(&self) -> Holding<'_> {
        // Whatever a sender reads here that takes back, what the holder did before that has happened: all stores release.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        fence(Ordering::SeqCst);
        Holding(self)
    }

    /// Between all that a sender [takes back](Board::take_back) and looking at the [holds](Self::now) of its receivers:
    /// who holds nothing then, or lets go once, comes on the sender's memory no more.
    pub(super) fn settle_taken_back() {
        fence(Ordering::SeqCst);
    }

    /// A number that changes when the rank lets go; none if it holds nothing.
    pub(super) fn now(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Acquire)).filter(|turn| turn % 2 == 1)
    }
}

/// A rank's permission to claim.
#[derive(Debug)]
pub(super) struct Holding<'a>(&'a Hold);

impl Holding<'_> {
    /// Takes what `to` has been noted on a board, if it is there; `to` is the holder, has claimed so many of that board's
    /// notes, and counts this one. `sender` is the desk of the board's rank, and `due` how many of its notes there have been
    /// with those of the offer. Until the claim is dropped, what the offer points to stays valid.
    #[inline]
    pub(super) fn claim<'a, T: Copy>(
        &'a self,
        board: &'a Board<T>,
        to: usize,
        claimed: u32,
        sender: &'a Desk,
        due: impl FnOnce(&T) -> u32,
    ) -> Option<Claim<'a, T>> {
        let word = board.at(to).load(Ordering::Acquire);
        if word as u32 != claimed.wrapping_add(1) {
            return None;
        }
        let offer = board.offer.with(|cell| {
            // SAFETY: the sender initialised the cell before it put up the note, and does not touch it before the claim
            // is dropped: it lays out no more before its tally is settled.
            unsafe { cell.read().assume_init() }
        });
        Some(Claim { sender, due: due(&offer), offer, part: (word >> 32) as u32 })
    }
}

impl Drop for Holding<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.0.store(self.0.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }
}

/// A receiver's claim on an offer; dropping it gives the memory back to the sender, and tells it if it was the last.
#[derive(Debug)]
pub(super) struct Claim<'a, T> {
    sender: &'a Desk,
    due: u32,
    /// What is laid out.
    pub(super) offer: T,
    /// Which part of it is the receiver's.
    pub(super) part: u32,
}

impl<T> Drop for Claim<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.sender.tally.settle() == self.due {
            Bell::announce();
            self.sender.bell.ring_announced();
        }
    }
}

/// What a rank has that others touch: its bell, which they mostly read, the count of its parcels that are under way,
/// which they write, and what it writes itself and hardly anybody reads; on lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Desk {
    /// Rung for whatever the rank may wait for.
    pub(super) bell: Bell,
    /// What others are through with.
    pub(super) tally: Tally,
    /// Whether it touches others' memory.
    pub(super) hold: Hold,
    /// Whether it sleeps until a letterbox that it fills has room.
    pub(super) cramped: AtomicBool,
    /// How many notes of each sender it has claimed, for those who wonder for whom they wait.
    claimed: Lines<AtomicU32, 32>,
}

impl Desk {
    /// With so many senders.
    pub(super) fn new(senders: usize) -> Self {
        Self {
            bell: Bell::new(),
            tally: Tally(AtomicU32::new(0)),
            hold: Hold(AtomicU32::new(0)),
            cramped: AtomicBool::new(false),
            claimed: Lines::new(senders, || AtomicU32::new(0)),
        }
    }

    /// How many of a sender's notes the rank has claimed.
    pub(super) fn claimed(&self, from: usize) -> u32 {
        self.claimed.at(from).load(Ordering::Relaxed)
    }

    /// It has claimed so many. Only its owner says so.
    #[inline]
    pub(super) fn set_claimed(&self, from: usize, claimed: u32) {
        self.claimed.at(from).store(claimed, Ordering::Relaxed);
    }
}

/// How many claims on what a sender has laid out are settled, of all there have been, round the clock. Receivers count, each
/// once its copy is done; the sender knows how many are due, and does not write here.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally(AtomicU32);

impl Tally {
    /// How many are missing of so many. Once none is, all that receivers did with the memory has happened before.
    #[inline]
    pub(super) fn open(&self, due: u32) -> u32 {
        due.wrapping_sub(self.0.load(Ordering::Acquire))
    }

    /// One more; how many that makes.
    #[inline]
    fn settle(&self) -> u32 {
        self.0.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }
}

/// Numbers of one writer, so many on two cache lines, which they share with nobody else's.
#[derive(Debug)]
struct Lines<A, const N: usize>(Box<[Line<A, N>]>);

/// Two cache lines, since processors fetch lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Line<A, const N: usize>([A; N]);

impl<A, const N: usize> Lines<A, N> {
    fn new(len: usize, make: impl Fn() -> A) -> Self {
        Self((0..len.div_ceil(N)).map(|_| Line(std::array::from_fn(|_| make()))).collect())
    }

    #[inline]
    fn at(&self, i: usize) -> &A {
        &self.0[i / N].0[i % N]
    }
}
