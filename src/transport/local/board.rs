//! A board: where a rank lays out what others may copy, and how both sides know when its memory is
//! its own again.
//!
//! ```text
//!   sender                                      receiver
//!   lay out the offer
//!   note message n for it       ------------->  see note n
//!                                               hold, look again, copy
//!   all settled: the offer is over  <---------  taken := n + 1, settle
//! ```
//!
//! A sender has one offer at a time, and a note for each receiver that says that it concerns it. A
//! note is a number: messages are counted for each pair, those by [`mail`](super::mail) too, so
//! that a receiver that has taken n awaits number n and takes nothing else for it. Whatever a rank
//! lays out lies on a few cache lines that only it writes, and what a receiver says of it on lines
//! that only the receiver writes, but for the sender's [`Tally`], which counts the claims that are
//! settled: when it has come to as many as were noted in all, nobody touches the sender's memory.
//!
//! A receiver that claims first says that it is about to touch others' memory (its [`Hold`]), then
//! looks whether the note is still there; a sender that gives up first takes its notes back, then
//! looks who holds. A sequentially consistent fence stands between the two halves on both sides, so
//! that at least one of them sees the other: either the receiver leaves the memory alone, or the
//! sender waits until it lets go. A receiver holds for all that it finds at once, so that it pays
//! for one fence. Who takes back has failed: its tally is of no use any more, nor is its board.
//!
//! What is offered are a few words that say where the bytes are. Small messages go by
//! [`mail`](super::mail) instead.

use std::mem::MaybeUninit;

use super::bell::Bell;
use super::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, UnsafeCell, fence};

/// See the [module](self). Laid out in this order, so that the offer comes on one cache line with
/// the note for the rank after the sender, which spares two ranks a second one, and what is only
/// read is on another.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct Board<T> {
    /// For the receiver `next`.
    note: AtomicU64,
    offer: UnsafeCell<MaybeUninit<T>>,
    /// By receiver, for the others.
    notes: Lines,
    next: usize,
}

// SAFETY: the offer is written by the sender while nothing is under way, and read by receivers
// under claims, never by both at once, as the protocol and `lay_out`'s obligation say; it moves
// from one thread to others, hence `Send`.
unsafe impl<T: Send> Sync for Board<T> {}

impl<T: Copy> Board<T> {
    /// That of rank `me`, for so many receivers.
    pub(super) fn new(me: usize, receivers: usize) -> Self {
        Self {
            note: AtomicU64::new(0),
            offer: UnsafeCell::new(MaybeUninit::uninit()),
            notes: Lines::new(receivers),
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
    /// The caller is the board's only sender, the tally of all that it put on it before is settled,
    /// and nothing was taken back. What the offer points to stays valid until the sender's tally of
    /// what it notes next is settled.
    #[inline]
    pub(super) unsafe fn lay_out(&self, offer: T) {
        self.offer.with_mut(|cell| {
            // SAFETY: nothing that was noted before is under way: nobody else reads or writes the
            // cell; that the last reader is through happened before this, by the tally.
            unsafe { cell.write(MaybeUninit::new(offer)) };
        });
    }

    /// Tells a receiver that what is laid out has for it the message of that number. (Its sender
    /// knows it: to read the last note, when it has just written on its cache line, would be to
    /// wait for the line.)
    #[inline]
    pub(super) fn note(&self, to: usize, number: u64) {
        self.at(to).store(number + 1, Ordering::Release);
    }

    /// Whether a receiver that has taken so many messages has not come for what it was noted last.
    pub(super) fn is_open(&self, to: usize, taken: u64) -> bool {
        taken < self.at(to).load(Ordering::Relaxed)
    }

    /// Takes back the note for a receiver. Only the sender does, and notes nothing more. After a
    /// [`Hold::settle_taken_back`], nobody touches what was laid out once the receiver has let go.
    pub(super) fn take_back(&self, to: usize) {
        self.at(to).store(0, Ordering::Relaxed);
    }

    /// Whether the message of that number is noted for a receiver.
    #[inline]
    pub(super) fn has_note(&self, to: usize, number: u64) -> bool {
        self.at(to).load(Ordering::Relaxed) == number + 1
    }
}

/// Whether a rank touches the memory of others: odd while it does.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Hold(AtomicU32);

impl Hold {
    /// From here until what it returns is dropped, this rank may claim. Only the desk's owner
    /// holds, once at a time. It is a [`Bell::announce`] too.
    #[inline]
    pub(super) fn take(&self) -> Holding<'_> {
        // Whatever a sender reads here that takes back, what the holder did before that has
        // happened: all stores release.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        fence(Ordering::SeqCst);
        Holding(self)
    }

    /// Between all that a sender [takes back](Board::take_back) and looking at the
    /// [holds](Self::now) of its receivers: who holds nothing then, or lets go once, comes on the
    /// sender's memory no more.
    pub(super) fn settle_taken_back() {
        fence(Ordering::SeqCst);
    }

    /// A number that changes when the rank lets go; none if it holds nothing.
    pub(super) fn now(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Acquire)).filter(|active| active % 2 == 1)
    }
}

/// A rank's permission to claim.
#[derive(Debug)]
pub(super) struct Holding<'a>(&'a Hold);

impl Holding<'_> {
    /// Takes the message of that number for `to`, the holder, if a board has it; `sender` is the
    /// desk of the board's rank, and `due` how many notes it has made with those of the offer.
    /// Until the claim is dropped, what the offer points to stays valid.
    #[inline]
    pub(super) fn claim<'a, T: Copy>(
        &'a self,
        board: &'a Board<T>,
        to: usize,
        number: u64,
        sender: &'a Desk,
        due: impl FnOnce(&T) -> u32,
    ) -> Option<Claim<'a, T>> {
        if board.at(to).load(Ordering::Acquire) != number + 1 {
            return None;
        }
        let offer = board.offer.with(|cell| {
            // SAFETY: the sender initialised the cell before it put up the note, and does not touch
            // it before the claim is dropped: it lays out no more before its tally is settled.
            unsafe { cell.read().assume_init() }
        });
        Some(Claim { sender, due: due(&offer), offer })
    }
}

impl Drop for Holding<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.0.store(self.0.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }
}

/// A receiver's claim on an offer; dropping it gives the memory back to the sender, and tells it if
/// it was the last.
#[derive(Debug)]
pub(super) struct Claim<'a, T> {
    sender: &'a Desk,
    due: u32,
    /// What is laid out.
    pub(super) offer: T,
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

/// What a rank has that others touch: its bell, which they mostly read, the count of its parcels
/// that are under way, which they write, and what it writes itself and hardly anybody reads; on
/// lines of their own.
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
    /// How many messages of each sender it has taken: for those who need room for a letter, or
    /// wonder for whom they wait.
    taken: Lines,
}

impl Desk {
    /// With so many senders.
    pub(super) fn new(senders: usize) -> Self {
        Self {
            bell: Bell::new(),
            tally: Tally(AtomicU32::new(0)),
            hold: Hold(AtomicU32::new(0)),
            cramped: AtomicBool::new(false),
            taken: Lines::new(senders),
        }
    }

    /// How many of a sender's messages the rank has taken; it has copied them.
    #[inline]
    pub(super) fn taken(&self, from: usize) -> u64 {
        self.taken.at(from).load(Ordering::Acquire)
    }

    /// It has taken so many. Only its owner says so.
    #[inline]
    pub(super) fn set_taken(&self, from: usize, taken: u64) {
        self.taken.at(from).store(taken, Ordering::Release);
    }
}

/// How many claims on what a sender has laid out are settled, of all there have been, round the
/// clock. Receivers count, each once its copy is done; the sender knows how many are due, and does
/// not write here.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally(AtomicU32);

impl Tally {
    /// How many are missing of so many. Once none is, all that receivers did with the memory has
    /// happened before.
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

/// Numbers of one writer, on cache lines that they share with nobody else's.
#[derive(Debug)]
struct Lines(Box<[Line]>);

/// Two cache lines, since processors fetch lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Line([AtomicU64; Line::NUMBERS]);

impl Line {
    const NUMBERS: usize = 16;
}

impl Lines {
    fn new(len: usize) -> Self {
        Self((0..len.div_ceil(Line::NUMBERS)).map(|_| Line(std::array::from_fn(|_| AtomicU64::new(0)))).collect())
    }

    #[inline]
    fn at(&self, i: usize) -> &AtomicU64 {
        &self.0[i / Line::NUMBERS].0[i % Line::NUMBERS]
    }
}
