//! A letterbox: where others write to a rank, which takes out what they wrote when it likes.
//!
//! ```text
//!   sender                              receiver
//!   write letter n into cell n % 2      see number n there
//!   number := n, answer  ------------>  copy it out
//!                                       taken := n + 1
//!   letter n + 2 may be written  <----  (at its desk, or told in a letter the other way)
//! ```
//!
//! A small message costs less to be copied twice than to be waited for: its sender goes on as soon
//! as it has written it. With two cells a sender, ranks that exchange letter for letter find a free
//! one each time, and both know it from what they were sent: a letter has an answer, how many of
//! the other's messages its writer has taken. Only who sends without being sent anything looks at
//! the receiver's [desk](super::board::Desk), on whose cache lines the receiver is otherwise alone.
//!
//! Letters are counted with the other messages of their pair ([`board`](super::board)), so that
//! none is taken for another. A receiver's cells lie side by side, so that processors fetch the
//! next ones ahead.
//!
//! Nothing in a letter points to the sender's memory, so nothing need be taken back, and a letter
//! outlives its writer.

use std::mem::MaybeUninit;

use super::sync::{AtomicU64, Ordering, UnsafeCell};

/// How many letters of one sender may lie in a letterbox.
pub(super) const CELLS: u64 = 2;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Letterbox<T> {
    /// By sender, then parity.
    cells: Box<[Cell<T>]>,
}

/// Laid out in this order, so that the number and the beginning of the letter come on one cache
/// line.
#[derive(Debug)]
#[repr(C, align(128))]
struct Cell<T> {
    /// One more than the number of the letter here, and below it the answer. One word, since a
    /// processor holds only so many stores back.
    word: AtomicU64,
    letter: UnsafeCell<MaybeUninit<T>>,
}

/// Bits of an answer.
const ANSWER: u32 = 16;

/// What says in a cell that a letter lies there. Numbers of 48 bits do not come again in a
/// machine's life.
#[inline(always)]
fn seal(number: u64) -> u64 {
    number.wrapping_add(1) << ANSWER
}

// SAFETY: a letter is written by the sender when the one before it in its cell is taken, and read
// by the receiver from when its number is there until it counts it as taken; it moves from one
// thread to the other, hence `Send`.
unsafe impl<T: Send> Sync for Letterbox<T> {}

impl<T> Letterbox<T> {
    /// For so many senders.
    pub(super) fn new(senders: usize) -> Self {
        let cell = |_| Cell { word: AtomicU64::new(0), letter: UnsafeCell::new(MaybeUninit::uninit()) };
        Self { cells: (0..CELLS as usize * senders).map(cell).collect() }
    }

    /// The cell of a letter.
    #[inline]
    fn cell(&self, from: usize, number: u64) -> &Cell<T> {
        &self.cells[from * CELLS as usize + (number % CELLS) as usize]
    }

    /// Writes a letter, with the `answer` that so many of the receiver's messages are taken;
    /// `write` initialises it.
    ///
    /// # Safety
    ///
    /// The caller is the only one that writes as `from`, `number` is how many messages it has sent
    /// the receiver, and it knows from the receiver's desk, or from what that answered, that there
    /// is room: that so many but one are taken.
    #[inline(always)]
    pub(super) unsafe fn write(&self, from: usize, number: u64, answer: u64, write: impl FnOnce(*mut T)) {
        let cell = self.cell(from, number);
        cell.letter.with_mut(|letter| write(letter.cast()));
        cell.word.store(seal(number) | (answer % (1 << ANSWER)), Ordering::Release);
    }

    /// Whether that letter lies here.
    #[inline(always)]
    pub(super) fn has(&self, from: usize, number: u64) -> bool {
        self.cell(from, number).word.load(Ordering::Relaxed) >> ANSWER == seal(number) >> ANSWER
    }

    /// Has the second cache line of a letter that lies here fetched while others are looked at,
    /// where there is a word for that.
    #[inline(always)]
    pub(super) fn fetch(&self, from: usize, number: u64) {
        let line = std::ptr::from_ref(self.cell(from, number)).cast::<i8>().wrapping_add(64);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: it touches nothing, and every processor of this kind has it.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }

    /// Has `read` look at that letter, if it lies here; its outcome, and how many messages the
    /// writer had taken, of those that had been sent to it so far. It has still to be counted as
    /// taken, at the receiver's desk.
    ///
    /// # Safety
    ///
    /// The caller is the only receiver, and has taken so many messages of `from`, no more.
    #[inline(always)]
    pub(super) unsafe fn read<R>(&self, from: usize, number: u64, read: impl FnOnce(&T) -> R) -> Option<(R, Answer)> {
        let cell = self.cell(from, number);
        let word = cell.word.load(Ordering::Acquire);
        if word >> ANSWER != seal(number) >> ANSWER {
            return None;
        }
        let result = cell.letter.with(|letter| {
            // SAFETY: the sender has initialised it before it wrote the number, and leaves it alone
            // until it is taken.
            read(unsafe { (*letter).assume_init_ref() })
        });
        Some((result, Answer(word as u16)))
    }
}

/// How many messages a rank had taken of another's when it wrote it a letter: the last bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer(u16);

impl Answer {
    /// The number, to a rank that has sent so many.
    ///
    /// Calls and rounds rise (`round` refuses others). Whoever wrote a letter of a round had taken
    /// what it was sent in earlier rounds, but for what it does not await; and of that there is no
    /// more than cells. So few are missing that the last bits tell.
    #[inline(always)]
    pub(super) fn of(self, sent: u64) -> u64 {
        sent.wrapping_sub(u64::from((sent as u16).wrapping_sub(self.0)))
    }
}
