//! Which call of a library's a context is in.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::limits::REMEMBERED;
use crate::transport::{Signature, Timeouts};

/// Which call of a library's a context is in. The thread in the call writes it, without the
/// engine's lock.
#[derive(Debug, Default)]
pub(crate) struct CallTracker {
    /// Twice the call, and one more if it is over; 0 before the first, which is call 1 here.
    at: AtomicU64,
    /// The fingerprint and the timeouts, in nanoseconds, of what was said last.
    last: [AtomicU64; 3],
    log: Mutex<CallLog>,
}

/// What a context has been calling, and how long its last call may take.
#[derive(Debug, Default)]
struct CallLog {
    last: VecDeque<(u64, Signature)>,
    timeouts: Option<Timeouts>,
}

impl CallTracker {
    /// Begins a call.
    #[inline]
    #[cfg(any(feature = "mpi", test))]
    pub(crate) fn enter(&self, call: u64, signature: &Signature, timeouts: Timeouts) {
        // 584 years and more are as good as any.
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

    /// Ends it.
    #[cfg(any(feature = "mpi", test))]
    pub(crate) fn leave(&self) {
        // Only the thread in the call writes it.
        self.at.store(self.at.load(Ordering::Relaxed) | 1, Ordering::Release);
    }

    /// The call that is under way.
    pub(crate) fn current(&self) -> Option<u64> {
        let at = self.at.load(Ordering::Acquire);
        (at > 0 && at.is_multiple_of(2)).then(|| at / 2 - 1)
    }

    /// The call that is under way, or was last.
    pub(crate) fn latest(&self) -> Option<u64> {
        (self.at.load(Ordering::Acquire) / 2).checked_sub(1)
    }

    /// Remembers what a call is, of whatever kind.
    pub(crate) fn record(&self, call: u64, signature: &Signature) {
        self.last[0].store(signature.fingerprint, Ordering::Relaxed);
        let last = &mut self.log().last;
        if last.front().is_none_or(|(_, before)| before.fingerprint != signature.fingerprint) {
            last.push_front((call, signature.clone()));
            last.truncate(REMEMBERED);
        }
    }

    /// What was called in that call, if it is remembered.
    pub(crate) fn called(&self, call: u64) -> Option<Signature> {
        self.log().last.iter().find(|(first, _)| *first <= call).map(|(_, signature)| signature.clone())
    }

    /// The last changes of what was called: from which call on, and the fingerprint.
    pub(crate) fn changes(&self) -> Vec<(u64, u64)> {
        self.log().last.iter().map(|(first, signature)| (*first, signature.fingerprint)).collect()
    }

    /// Returns how long its last call may wait.
    pub(super) fn timeouts(&self) -> Timeouts {
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
        Signature { fingerprint, description: format!("call of kind {fingerprint}").into() }
    }

    #[test]
    fn a_call_is_under_way_from_its_beginning_to_its_end() {
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
    fn what_was_called_last_is_remembered_by_when_it_changed() {
        let tracker = CallTracker::default();
        assert_eq!(tracker.called(0), None);
        // By messages, by the library, and by messages again.
        tracker.record(3, &signature(1));
        tracker.enter(4, &signature(2), LONG.into());
        tracker.enter(5, &signature(2), LONG.into());
        tracker.record(6, &signature(1));
        let known = [None, None, None, Some(1), Some(2), Some(2), Some(1), Some(1)];
        for (call, fingerprint) in (0..).zip(known) {
            assert_eq!(tracker.called(call), fingerprint.map(signature), "{call}");
        }
        // The same again, after something else of which this does not know, is said again.
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
