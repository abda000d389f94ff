//! Mailboxes: where senders write eager messages for a rank, which copies them out later.
//!
//! ```text
//!   sender                              receiver
//!   write message n into cell n % r     see number n there
//!   number := n, acknowledge  ------->  copy it out
//!                                       taken := n + 1
//!   message n + r may be written <----  (in its sync state, or acknowledged in a message back)
//! ```
//!
//! For a small message, two copies cost less than a wait: its sender continues as soon as it has
//! written the message. There are r cells for each sender, two or more, so two ranks that exchange
//! message for message always find a free one. Both know that from the messages themselves: each
//! carries an acknowledgement, the number of messages of the other that its writer has taken. Only
//! a rank that sends without receiving reads the receiver's [state](super::slot::SyncState), whose
//! cache lines the receiver otherwise has to itself. The more cells there are, the further such a
//! rank gets ahead: if ranks share cores, the root of a broadcast then yields less often.
//!
//! Eager messages are numbered together with the other messages of their pair
//! ([`slot`](super::slot)), so that none is taken for another. The cells of a receiver are adjacent
//! in memory, so that processors prefetch the next ones.
//!
//! An eager message does not point to the sender's memory. It need not be revoked, and it outlives
//! its writer.

use std::mem::MaybeUninit;

use super::sync::{AtomicU64, Ordering, UnsafeCell};

/// One receiver's mailbox. See the [module](self).
#[derive(Debug)]
pub(super) struct Mailbox<T> {
    /// By sender, then by the low bits of the message number.
    cells: Box<[Cell<T>]>,
    /// The number of eager messages of one sender for which there is room, a power of two.
    room: u64,
}

/// Room for one message. In this order of fields, the number and the beginning of the message share
/// a cache line.
#[derive(Debug)]
#[repr(C, align(128))]
struct Cell<T> {
    /// The number of the message here plus one, and in the low bits the acknowledgement. One word,
    /// since the store buffer of a processor is small.
    word: AtomicU64,
    message: UnsafeCell<MaybeUninit<T>>,
}

/// Bits of an acknowledgement.
const ACK_BITS: u32 = 16;

/// Returns the word of a cell that holds the message of this number, with acknowledgement bits 0.
/// Numbers of 48 bits do not wrap around in the lifetime of a machine.
#[inline(always)]
fn sequence_word(number: u64) -> u64 {
    number.wrapping_add(1) << ACK_BITS
}

// SAFETY: the sender writes a message once the previous one in its cell is taken. The receiver
// reads it from the moment its number is there until it counts it as taken. The message moves from
// one thread to the other, hence `Send`.
unsafe impl<T: Send> Sync for Mailbox<T> {}

impl<T> Mailbox<T> {
    /// Creates a mailbox for this number of senders, with room for that many messages of each, a
    /// power of two of at least 2.
    pub(super) fn new(senders: usize, room: u64) -> Self {
        let cell = |_| Cell { word: AtomicU64::new(0), message: UnsafeCell::new(MaybeUninit::uninit()) };
        Self { cells: (0..room as usize * senders).map(cell).collect(), room }
    }

    /// Returns the cell of a message.
    #[inline]
    fn cell(&self, from: usize, number: u64) -> &Cell<T> {
        &self.cells[from * self.room as usize + (number & (self.room - 1)) as usize]
    }

    /// Writes a message, which `write` initialises, and acknowledges that `ack` messages of the
    /// receiver are taken.
    ///
    /// # Safety
    ///
    /// The caller is the only one that writes as `from`, and `number` is how many messages it has
    /// sent the receiver. It knows that there is room: the receiver has taken all of them but fewer
    /// than there are cells. It knows that from the receiver's state or acknowledgements.
    #[inline(always)]
    pub(super) unsafe fn write(&self, from: usize, number: u64, ack: u64, write: impl FnOnce(*mut T)) {
        let cell = self.cell(from, number);
        cell.message.with_mut(|message| write(message.cast()));
        cell.word.store(sequence_word(number) | (ack % (1 << ACK_BITS)), Ordering::Release);
    }

    /// Whether the message of this number is here.
    #[inline(always)]
    pub(super) fn has(&self, from: usize, number: u64) -> bool {
        self.cell(from, number).word.load(Ordering::Relaxed) >> ACK_BITS == sequence_word(number) >> ACK_BITS
    }

    /// Prefetches the second cache line of a message that is here, on processors that have an
    /// instruction for it.
    #[inline(always)]
    pub(super) fn prefetch(&self, from: usize, number: u64) {
        let line = std::ptr::from_ref(self.cell(from, number)).cast::<i8>().wrapping_add(64);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch accesses no memory, and every x86-64 processor has the instruction.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }

    /// Passes the message of this number to `read`, if it is here. Returns what `read` returns, and
    /// the writer's acknowledgement. The caller has still to count the message as taken, in its own
    /// state.
    ///
    /// # Safety
    ///
    /// The caller is the only receiver, and has taken exactly `number` messages of `from`.
    #[inline(always)]
    pub(super) unsafe fn read<R>(&self, from: usize, number: u64, read: impl FnOnce(&T) -> R) -> Option<(R, Ack)> {
        let cell = self.cell(from, number);
        let word = cell.word.load(Ordering::Acquire);
        if word >> ACK_BITS != sequence_word(number) >> ACK_BITS {
            return None;
        }
        let result = cell.message.with(|message| {
            // SAFETY: the sender has initialised the message before it wrote the number, and does
            // not write it until it is taken.
            read(unsafe { (*message).assume_init_ref() })
        });
        Some((result, Ack(word as u16)))
    }
}

/// An acknowledgement: the low bits of how many messages of the reader its writer had taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack(u16);

impl Ack {
    /// Returns the whole number, to a rank that has sent `sent` messages.
    ///
    /// Numbers of calls and rounds rise (`round` refuses others). The writer of a message of a
    /// round had taken all that was sent to it in earlier rounds, except what it does not await,
    /// and there are at most as many of those as cells. So few are missing that the low bits
    /// suffice.
    #[inline(always)]
    pub(super) fn expand(self, sent: u64) -> u64 {
        sent.wrapping_sub(u64::from((sent as u16).wrapping_sub(self.0)))
    }
}
