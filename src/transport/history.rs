//! Compares what the members of a context have called when they leave it.
//!
//! A rank that only sends, such as the root of a broadcast, waits for no other rank and examines no
//! message. So if two ranks both act as the root, both continue. If they await nothing from each
//! other later, no message shows the disagreement. But each says what it has called when it leaves,
//! and a rank that leaves later compares. Correct programs pay no message and no wait for that.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Cause, Failure};
use crate::ids::Rank;

/// Summary of the calls of one member of a context. In a correct program it is equal on all members
/// when they leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct History {
    /// Number of calls.
    pub calls: u64,
    /// Hash of their fingerprints, in order.
    pub digest: u64,
}

impl History {
    /// Adds a call with this [fingerprint](super::Signature::fingerprint).
    #[inline]
    pub fn add(&mut self, fingerprint: u64) {
        self.calls += 1;
        // Multiplication by an odd number is invertible, and the rotation makes the order matter.
        self.digest = (self.digest.rotate_left(23) ^ fingerprint).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// The report of one member about its calls.
pub(crate) struct MemberHistory<'a> {
    pub(crate) rank: Rank,
    pub(crate) history: History,
    /// The last changes of its fingerprint: the first call with it, and the fingerprint.
    pub(crate) changes: &'a [(u64, u64)],
    /// Describes a call, if it is known.
    pub(crate) describe: &'a dyn Fn(u64) -> Option<Arc<str>>,
}

impl MemberHistory<'_> {
    fn fingerprint(&self, call: u64) -> Option<u64> {
        let begun = self.changes.iter().filter(|(first, _)| *first <= call);
        begun.max_by_key(|(first, _)| *first).map(|(_, fingerprint)| *fingerprint)
    }

    fn description(&self, call: u64) -> Arc<str> {
        (self.describe)(call).unwrap_or_else(|| "something else".into())
    }
}

/// Returns the failure of two members that have left a context after different calls, or `None` if
/// their calls are equal.
pub(crate) fn disagreement(mine: &MemberHistory<'_>, theirs: &MemberHistory<'_>) -> Option<Failure> {
    if mine.history == theirs.history {
        return None;
    }
    let common = mine.history.calls.min(theirs.history.calls);
    let failure = |call, description, culprit, cause| {
        Some(Failure { call, description, round: 0, observer: mine.rank, culprit, cause })
    };
    let disagree = |call_a, call_b| Cause::Disagree { rank_a: mine.rank, call_a, rank_b: theirs.rank, call_b };
    // The first call in which they differ, of those that both remember.
    let differs = |call: &u64| match (mine.fingerprint(*call), theirs.fingerprint(*call)) {
        (Some(mine), Some(theirs)) => *call < common && mine != theirs,
        _ => false,
    };
    let changed = mine.changes.iter().chain(theirs.changes).map(|(first, _)| *first);
    if let Some(call) = changed.filter(differs).min() {
        return failure(call, mine.description(call), None, disagree(mine.description(call), theirs.description(call)));
    }
    if mine.history.calls == theirs.history.calls {
        let calls: Arc<str> = format!("{common} times").into();
        let cause = disagree(calls.clone(), format!("{common} times, and not the same").into());
        return failure(common.saturating_sub(1), mine.description(common.saturating_sub(1)), None, cause);
    }
    let (early, late) = if mine.history.calls < theirs.history.calls { (mine, theirs) } else { (theirs, mine) };
    let cause = Cause::Gone { rank: early.rank, how: "returned before the call".into() };
    failure(common, late.description(common), Some(early.rank), cause)
}

/// Describes a message of call `theirs` to a rank that is in call `mine`, though both have called
/// the same so far: they have disagreed on whether there is a message.
pub(crate) fn out_of_step(mine: u64, theirs: u64) -> &'static str {
    match theirs.cmp(&mine) {
        Ordering::Less => ", with a message that is not expected in that call",
        Ordering::Equal => "",
        Ordering::Greater => ", and goes on without the message that is expected before",
    }
}

/// A failure of a context of this process: members have left it after different calls, or a call
/// failed before a panic.
#[cfg_attr(
    not(any(feature = "local", feature = "mpi", feature = "tcp")),
    allow(dead_code, reason = "launchers report it")
)]
#[derive(Clone, Debug)]
pub(crate) struct Disagreement {
    pub(crate) failure: Failure,
    /// The rank in the context that has found it.
    pub(crate) rank: Rank,
    /// All members, by their ranks in the job.
    pub(crate) members: Arc<[Rank]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes to `then` the history of a rank that has made these calls and remembers the last
    /// changes.
    fn with<R>(rank: usize, calls: &[u64], remembered: usize, then: impl FnOnce(&MemberHistory<'_>) -> R) -> R {
        let mut history = History::default();
        calls.iter().for_each(|call| history.add(*call));
        let changed = |at: &usize| *at == 0 || calls[*at] != calls[*at - 1];
        let mut changes: Vec<_> = (0..calls.len()).filter(changed).map(|at| (at as u64, calls[at])).collect();
        changes.drain(..changes.len().saturating_sub(remembered));
        let describe = |call: u64| calls.get(call as usize).map(|call| format!("call of kind {call}").into());
        then(&MemberHistory { rank: Rank::new(rank), history, changes: &changes, describe: &describe })
    }

    fn compared(one: &[u64], other: &[u64], remembered: usize) -> Option<Failure> {
        with(1, one, remembered, |one| with(2, other, remembered, |other| disagreement(one, other)))
    }

    #[test]
    fn equal_histories_do_not_disagree() {
        for calls in [&[][..], &[3], &[3, 3, 4]] {
            assert_eq!(compared(calls, calls, 8), None);
        }
    }

    #[test]
    fn first_remembered_different_call_is_named() {
        let failure = compared(&[7, 1, 1, 5, 6], &[7, 1, 2, 5, 6], 8).unwrap();
        let (rank_a, rank_b) = (Rank::new(1), Rank::new(2));
        let cause =
            Cause::Disagree { rank_a, call_a: "call of kind 1".into(), rank_b, call_b: "call of kind 2".into() };
        assert_eq!((failure.call, failure.culprit, failure.cause), (2, None, cause));
    }

    #[test]
    fn member_that_stopped_earlier_is_the_culprit_for_both() {
        for (one, other, early) in [(&[4, 4, 5][..], &[4, 4][..], 2), (&[4], &[4, 5], 1)] {
            let failure = compared(one, other, 8).unwrap();
            let rank = Rank::new(early);
            let cause = Cause::Gone { rank, how: "returned before the call".into() };
            assert_eq!((failure.culprit, failure.cause), (Some(rank), cause));
            assert_eq!((failure.call as usize, &*failure.description), (one.len().min(other.len()), "call of kind 5"));
        }
    }

    #[test]
    fn histories_that_differ_in_order_or_early_are_found() {
        for (one, other) in [(&[1, 2, 9][..], &[2, 1, 9][..]), (&[1, 9, 9, 9], &[2, 9, 9, 9])] {
            assert!(matches!(compared(one, other, 1).unwrap().cause, Cause::Disagree { .. }), "{one:?} {other:?}");
        }
    }
}
