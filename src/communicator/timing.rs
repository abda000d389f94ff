//! The measured times of a planned call.

use std::time::Instant;

use crate::select::Measured;

/// Times the executions of a call: the first `FIRST`, then one of `EVERY`, since to read the clock
/// twice takes as long as a part of a short call.
const FIRST: u64 = 16;
const EVERY: u64 = 64;

#[derive(Debug, Default)]
pub(super) struct Timing {
    /// The executions so far.
    calls: u64,
    measured: Option<Measured>,
}

impl Timing {
    /// Counts an execution. Returns its start if it is to be timed.
    #[inline]
    pub(super) fn start(&mut self) -> Option<Instant> {
        let is_timed = self.calls < FIRST || self.calls.is_multiple_of(EVERY);
        self.calls += 1;
        is_timed.then(Instant::now)
    }

    /// Records an execution that has succeeded.
    #[inline]
    pub(super) fn end(&mut self, start: Option<Instant>) {
        if let Some(start) = start {
            let now = Measured { shortest: start.elapsed(), calls: 1 };
            self.measured = Some(self.measured.map_or(now, |before| before.with(now)));
        }
    }

    pub(super) fn measured(&self) -> Option<Measured> {
        self.measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_calls_are_timed_and_then_few() {
        let mut timing = Timing::default();
        assert_eq!(timing.measured(), None);
        let timed = (0..1000).filter(|_| timing.start().is_some()).count();
        assert_eq!((timed, timing.measured()), (16 + 15, None), "calls that fail are not recorded");
        timing.end(None);
        assert_eq!(timing.measured(), None);
        for calls in 1..4 {
            let start = Instant::now();
            timing.end(Some(start));
            assert!(timing.measured().is_some_and(|all| all.calls == calls && all.shortest <= start.elapsed()));
        }
    }
}
