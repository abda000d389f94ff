//! Tracks the calls that MPI executes for a context.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::transport::engine::limits::REMEMBERED;
use crate::transport::{Signature, Timeouts};

/// The call of MPI that a context is in. The thread in the call updates it without the engine's
/// lock.
#[derive(Debug, Default)]
pub(crate) struct CallTracker {
    /// Twice the call's number, plus one if the call is over. Calls count from 1 here; 0 is before
    /// the first.
    at: AtomicU64,
    /// The fingerprint and the two timeouts, in nanoseconds, of the last recorded call.
    last: [AtomicU64; 3],
    log: Mutex<CallLog>,
}

/// The last changes of what a context calls, and the timeouts of its last call.
#[derive(Debug, Default)]
struct CallLog {
    last: VecDeque<(u64, Signature)>,
    timeouts: Option<Timeouts>,
}

impl CallTracker {
    /// Begins a call.
    #[inline]
    pub(crate) fn enter(&self, call: u64, signature: &Signature, timeouts: Timeouts) {
        // Timeouts of 584 years and more need not be told apart.
        let nanoseconds =
            |time: Duration| time.as_secs().wrapping_mul(1_000_000_000).wrapping_add(time.subsec_nanos().into());
        let (silence, arrival) = (nanoseconds(timeouts.silence), nanoseconds(timeouts.arrival));
        let before = self.last.each_ref().map(|last| last.load(Ordering::Relaxed));
        if before != [signature.fingerprint, silence, arrival] || self.latest().is_none() {
            self.record(call, signature);
            self.log().timeouts = Some(timeouts);
            self.last[1].store(silence, Ordering::Relaxed);
            self.last[2].store(arrival, Ordering::Relaxed);
        }
        self.at.store(2 * (call + 1), Ordering::Release);
    }

    /// Ends the call.
    pub(crate) fn leave(&self) {
        // Only the thread in the call writes this number.
        self.at.store(self.at.load(Ordering::Relaxed) | 1, Ordering::Release);
    }

    /// Returns the call under way, if there is one.
    pub(crate) fn current(&self) -> Option<u64> {
        let at = self.at.load(Ordering::Acquire);
        (at > 0 && at.is_multiple_of(2)).then(|| at / 2 - 1)
    }

    /// Returns the call under way, or the last one.
    pub(crate) fn latest(&self) -> Option<u64> {
        (self.at.load(Ordering::Acquire) / 2).checked_sub(1)
    }

    /// Records the signature of a call, whether the library or the engine executes it.
    pub(crate) fn record(&self, call: u64, signature: &Signature) {
        self.last[0].store(signature.fingerprint, Ordering::Relaxed);
        let last = &mut self.log().last;
        if last.front().is_none_or(|(_, before)| before.fingerprint != signature.fingerprint) {
            last.push_front((call, signature.clone()));
            last.truncate(REMEMBERED);
        }
    }

    /// Returns what was called in a call, if that is still recorded.
    pub(crate) fn called(&self, call: u64) -> Option<Signature> {
        self.log().last.iter().find(|(first, _)| *first <= call).map(|(_, signature)| signature.clone())
    }

    /// Returns the last changes of what was called: the number of the first call, and the
    /// fingerprint.
    pub(crate) fn changes(&self) -> Vec<(u64, u64)> {
        self.log().last.iter().map(|(first, signature)| (*first, signature.fingerprint)).collect()
    }

    /// Returns the timeouts of the last call.
    pub(crate) fn timeouts(&self) -> Timeouts {
        self.log().timeouts.unwrap_or(Timeouts::new(Duration::ZERO, Duration::ZERO))
    }

    fn log(&self) -> MutexGuard<'_, CallLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(7);

    fn signature(fingerprint: u64) -> Signature {
        Signature::new(fingerprint, format!("call of kind {fingerprint}"))
    }

    #[test]
    fn call_is_current_from_enter_to_leave() {
        let tracker = CallTracker::default();
        assert_eq!((tracker.current(), tracker.latest()), (None, None));
        for call in [0, 1, 5] {
            tracker.enter(call, &signature(1), LONG.into());
            assert_eq!((tracker.current(), tracker.latest()), (Some(call), Some(call)));
            tracker.leave();
            assert_eq!((tracker.current(), tracker.latest()), (None, Some(call)));
        }
    }

    #[test]
    fn signatures_are_recorded_when_they_change() {
        let tracker = CallTracker::default();
        assert_eq!(tracker.called(0), None);
        // Calls by messages, by the library, and by messages again.
        tracker.record(3, &signature(1));
        tracker.enter(4, &signature(2), LONG.into());
        tracker.enter(5, &signature(2), LONG.into());
        tracker.record(6, &signature(1));
        let known = [None, None, None, Some(1), Some(2), Some(2), Some(1), Some(1)];
        for (call, fingerprint) in (0..).zip(known) {
            assert_eq!(tracker.called(call), fingerprint.map(signature), "{call}");
        }
        // After another signature that the tracker does not know, an equal one is recorded again.
        tracker.enter(7, &signature(2), LONG.into());
        assert_eq!((tracker.called(6), tracker.called(7)), (Some(signature(1)), Some(signature(2))));
        for call in 8..40 {
            tracker.enter(call, &signature(call), LONG.into());
        }
        let remembered = (0..40).filter(|call| tracker.called(*call) == Some(signature(*call))).count();
        assert_eq!((remembered, tracker.called(7)), (REMEMBERED, None));
    }

    #[test]
    fn timeouts_are_those_of_the_last_call() {
        let tracker = CallTracker::default();
        for (silence, arrival) in [(LONG, LONG), (2 * LONG, LONG), (2 * LONG, 3 * LONG), (LONG, LONG)] {
            let timeouts = Timeouts::new(silence, arrival);
            tracker.enter(0, &signature(1), timeouts);
            assert_eq!(tracker.timeouts(), timeouts);
        }
    }
}
