//! A letterbox: where others write to a rank, which takes out what they wrote when it likes.
//!
//! ```text
//!   sender                              receiver
//!   write letter n into cell n % 2      see number n there
//!   number := n, answer  ------------>  copy it out
//!                                       taken := n + 1
//!   letter n + 2 may be written  <----  (here, or told in a letter the other way)
//! ```
//!
//! A small message costs less to be copied twice than to be waited for: its sender goes on as soon as it has written it.
//! With two cells a sender, ranks that exchange letter for letter find a free one each time, and both know it from what
//! they were sent: in a letter stands how many of the other's its writer has taken. Only who sends without being sent
//! anything looks at `taken`, on whose cache lines the receiver is otherwise alone.
//!
//! A receiver's cells lie side by side, so that processors fetch the next ones ahead.
//!
//! Nothing in a letter points to the sender's memory, so nothing need be taken back, and a letter outlives its writer.

use std::mem::MaybeUninit;

use super::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell};

/// How many letters of one sender may lie in a letterbox.
pub(super) const CELLS: u32 = 2;

/// See the [module](self). A sender's letters are counted from 0, round the clock.
#[derive(Debug)]
pub(super) struct Letterbox<T> {
    /// By sender, then parity.
    cells: Box<[Cell<T>]>,
    /// How many letters of each sender the receiver has taken.
    taken: Box<[AtomicU32]>,
}

/// Laid out in this order, so that the number and the beginning of the letter come on one cache line.
#[derive(Debug)]
#[repr(C, align(128))]
struct Cell<T> {
    /// One more than the number of the letter here; above it, how many of the receiver's letters its sender has taken. One
    /// word, since a processor holds only so many stores back.
    word: AtomicU64,
    letter: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a letter is written by the sender when the one before it in its cell is taken, and read by the receiver from when
// its number is there until it counts it as taken; it moves from one thread to the other, hence `Send`.
unsafe impl<T: Send> Sync for Letterbox<T> {}

impl<T> Letterbox<T> {
    /// For so many senders.
    pub(super) fn new(senders: usize) -> Self {
        let cell = |_| Cell { word: AtomicU64::new(0), letter: UnsafeCell::new(MaybeUninit::uninit()) };
        Self {
            cells: (0..CELLS as usize * senders).map(cell).collect(),
            taken: (0..senders).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// The cell of a letter. The clock of numbers goes round evenly.
    #[inline]
    fn cell(&self, from: usize, number: u32) -> &Cell<T> {
        &self.cells[from * CELLS as usize + (number % CELLS) as usize]
    }

    /// Writes a letter, with the `answer` that so many of the receiver's are taken; `write` initialises it.
    ///
    /// # Safety
    ///
    /// The caller is the only one that writes as `from`, `number` is how many letters it has written, and it knows from
    /// [`taken`](Self::taken), or from what the receiver answered after it had taken it, that there is room: that letter
    /// `number - CELLS` is taken.
    #[inline(always)]
    pub(super) unsafe fn write(&self, from: usize, number: u32, answer: u32, write: impl FnOnce(*mut T)) {
        let cell = self.cell(from, number);
        cell.letter.with_mut(|letter| write(letter.cast()));
        cell.word.store(u64::from(answer) << 32 | u64::from(number.wrapping_add(1)), Ordering::Release);
    }

    /// Whether that letter lies here.
    #[inline(always)]
    pub(super) fn has(&self, from: usize, number: u32) -> bool {
        self.cell(from, number).word.load(Ordering::Relaxed) as u32 == number.wrapping_add(1)
    }

    /// Has the second cache line of a letter that lies here fetched while others are looked at, where there is a word for
    /// that.
    #[inline(always)]
    pub(super) fn fetch(&self, from: usize, number: u32) {
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

    /// The letter and its answer, if it lies here, for `read` to copy; then it counts as taken.
    ///
    /// # Safety
    ///
    /// The caller is the only receiver, and `number` is how many letters of `from` it has taken.
    #[inline(always)]
    pub(super) unsafe fn take<R>(&self, from: usize, number: u32, read: impl FnOnce(&T) -> R) -> Option<(R, u32)> {
        let cell = self.cell(from, number);
        let word = cell.word.load(Ordering::Acquire);
        if word as u32 != number.wrapping_add(1) {
            return None;
        }
        let result = cell.letter.with(|letter| {
            // SAFETY: the sender has initialised it before it wrote the number, and leaves it alone until it is taken.
            read(unsafe { (*letter).assume_init_ref() })
        });
        self.taken[from].store(number.wrapping_add(1), Ordering::Release);
        Some((result, (word >> 32) as u32))
    }

    /// How many letters of a sender are taken.
    #[inline]
    pub(super) fn taken(&self, from: usize) -> u32 {
        self.taken[from].load(Ordering::Acquire)
    }
}
