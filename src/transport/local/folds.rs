//! Messages that are combined as they arrive, straight from the sender's memory: each byte of a
//! contribution is read once, and written nowhere.
//!
//! They are taken in the order in which they are to be combined, whatever the order in which they
//! are published, so a result has the same bits as one that the execution combines after the round.

use std::fmt;

use super::active_round::{ActiveRound, Membership};
use super::peer_messages::{PeerMessages, Protocol};
use crate::plan::{Fold, Message, Piece, Reduction, Run};
use crate::transport::bases::Bases;

/// The combinations of a round.
pub(super) struct Folds<'a> {
    reduction: &'a dyn Reduction,
    folds: &'a [Fold],
    /// How many are done.
    done: usize,
}

impl<'a> Folds<'a> {
    pub(super) fn new(reduction: &'a dyn Reduction, folds: &'a [Fold]) -> Self {
        Self { reduction, folds, done: 0 }
    }

    /// Whether the message of this index may be taken now: it is the next to combine, or none of
    /// those still to combine.
    #[inline]
    fn is_due(&self, message: u32) -> bool {
        match self.folds[self.done..].split_first() {
            Some((next, later)) => next.message == message || later.iter().all(|fold| fold.message != message),
            None => true,
        }
    }

    /// Returns the combination of this message, if it is the next one, and counts it as done.
    #[inline]
    fn next(&mut self, message: u32) -> Option<&'a Fold> {
        let next = self.folds.get(self.done).filter(|fold| fold.message == message)?;
        self.done += 1;
        Some(next)
    }

    /// Combines a message, from the sender's memory or from its own place in this rank's. Returns
    /// false if it is not to be combined.
    ///
    /// # Safety
    ///
    /// The message is a piece inside the buffers of `from`, as long as the combination's places,
    /// which lie inside this rank's buffers. Until this returns, no thread writes the piece, and
    /// no other thread accesses the result's place.
    #[inline]
    pub(super) unsafe fn combine(&mut self, message: u32, from: (&Piece, Bases), own: Bases) -> bool {
        let Some(Fold { into, held, is_left, .. }) = self.next(message) else { return false };
        let at = |run: &Run| {
            // SAFETY: the place lies inside this rank's buffers.
            unsafe { own.at(run.buffer, run.offset as usize) }
        };
        let bytes = from.0.bytes;
        // SAFETY: the piece lies inside the buffers.
        let arrived = unsafe { from.1.at(from.0.buffer, from.0.offset) };
        let slice = |start: *mut u8| {
            // SAFETY: these bytes are the message, or what it is combined with. Both lie inside
            // their buffers, and no thread writes them while the slice is used: the only one that
            // this rank writes is the result, which equals neither of the operands used as slices.
            unsafe { std::slice::from_raw_parts(start.cast_const(), bytes) }
        };
        // SAFETY: the result's place is this rank's alone, and none of the round's other messages
        // is there.
        let target = unsafe { std::slice::from_raw_parts_mut(at(into), bytes) };
        let reduction = self.reduction;
        if held == into {
            let apply = if *is_left { Reduction::prepend } else { Reduction::append };
            apply(reduction, target, slice(arrived));
        } else if arrived == at(into) {
            let apply = if *is_left { Reduction::append } else { Reduction::prepend };
            apply(reduction, target, slice(at(held)));
        } else {
            let (left, right) = if *is_left { (arrived, at(held)) } else { (at(held), arrived) };
            reduction.merge(target, slice(left), slice(right));
        }
        true
    }
}

impl ActiveRound<'_> {
    /// Whether a message may be taken now, or has to wait for others to be combined.
    #[inline]
    pub(super) fn is_due(&self, part: PeerMessages) -> bool {
        self.folds.as_ref().is_none_or(|folds| folds.is_due(part.first))
    }
}

impl fmt::Debug for Folds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folds").field("folds", &self.folds).field("done", &self.done).finish_non_exhaustive()
    }
}

impl Membership {
    /// Moves the messages to combine to the front of those to take, in their order. Returns false if
    /// one of them does not come straight from the sender's memory, so that none is combined.
    #[inline]
    pub(super) fn fold_first(&self, pending: &mut [PeerMessages], folds: &[Fold], receives: &[Message]) -> bool {
        let is_rendezvous = |fold: &Fold| {
            let message = fold.message as usize;
            receives.get(message..message + 1).is_some_and(|message| !self.group.is_eager(message))
        };
        if folds.is_empty() || !folds.iter().all(is_rendezvous) {
            return false;
        }
        for (at, fold) in folds.iter().enumerate() {
            let is = |part: &PeerMessages| part.first == fold.message && part.protocol == Protocol::Rendezvous;
            match pending[at..].iter().position(is) {
                Some(found) => pending.swap(at, at + found),
                None => return false,
            }
        }
        true
    }
}
