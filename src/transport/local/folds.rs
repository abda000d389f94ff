//! Messages that are combined as they arrive, straight from the sender's memory: each byte of a
//! contribution is read once, and written nowhere.
//!
//! They are taken in the order in which they are to be combined, whatever the order in which they
//! are published, so a result has the same bits as one that the execution combines after the round.

use std::fmt;

use crate::plan::{Fold, Piece, Reduction, Run};
use crate::transport::bases::Bases;

/// The combinations of a round.
pub(super) struct Folds<'a> {
    reduction: &'a dyn Reduction,
    folds: &'a [Fold],
    /// The number of combinations that are done.
    done: usize,
}

impl<'a> Folds<'a> {
    pub(super) fn new(reduction: &'a dyn Reduction, folds: &'a [Fold]) -> Self {
        Self { reduction, folds, done: 0 }
    }

    /// Whether the message of this index may be taken now: it is the next one, or none of those
    /// whose order matters.
    #[inline]
    pub(super) fn is_due(&self, message: u32) -> bool {
        let mut left = self.folds[self.done..].iter().filter_map(Fold::message);
        left.next().is_none_or(|next| next == message || left.all(|later| later != message))
    }

    /// Combines a message, from the sender's memory or from its own place in this rank's. Returns
    /// false if it is not to be combined.
    ///
    /// # Safety
    ///
    /// The message is a piece inside the buffers of `from`, and `own` are this rank's buffers, of
    /// the plan of these combinations. Until this returns, no thread writes the piece, and no other
    /// thread accesses the results' places.
    #[inline]
    pub(super) unsafe fn combine(&mut self, message: u32, from: (&Piece, Bases), own: Bases) -> bool {
        let Some(fold) = self.folds.get(self.done).filter(|fold| fold.message() == Some(message)) else { return false };
        self.done += 1;
        let Fold::Combine { into, held, is_left, .. } = fold else { return false };
        // SAFETY: the piece and the places lie inside their buffers.
        let [arrived, held, into] = unsafe {
            let at = |run: &Run| own.at(run.buffer, run.offset as usize);
            [from.1.at(from.0.buffer, from.0.offset), at(held), at(into)]
        };
        let (left, right) = if *is_left { (arrived, held) } else { (held, arrived) };
        // SAFETY: the message is as long as the places. As the caller promises.
        unsafe { self.merge(into, (left, right), from.0.bytes) };
        while let Some(Fold::Merge { into, left, right }) = self.folds.get(self.done) {
            self.done += 1;
            // SAFETY: the places lie inside this rank's buffers, and are equally long.
            unsafe {
                let at = |run: &Run| own.at(run.buffer, run.offset as usize);
                self.merge(at(into), (at(left), at(right)), into.len as usize);
            }
        }
        true
    }

    /// Stores the combination of two operands.
    ///
    /// # Safety
    ///
    /// There are as many bytes at all three places, inside their buffers. `into` equals an operand
    /// or overlaps neither. Until this returns, no other thread writes the operands or accesses
    /// `into`.
    unsafe fn merge(&self, into: *mut u8, (left, right): (*mut u8, *mut u8), bytes: usize) {
        let slice = |start: *mut u8| {
            // SAFETY: as the caller promises. Only operands other than `into` are used as slices.
            unsafe { std::slice::from_raw_parts(start.cast_const(), bytes) }
        };
        // SAFETY: as the caller promises.
        let target = unsafe { std::slice::from_raw_parts_mut(into, bytes) };
        if left == into {
            self.reduction.append(target, slice(right));
        } else if right == into {
            self.reduction.prepend(target, slice(left));
        } else {
            self.reduction.merge(target, slice(left), slice(right));
        }
    }
}

impl fmt::Debug for Folds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folds").field("folds", &self.folds).field("done", &self.done).finish_non_exhaustive()
    }
}
