//! A priority queue of events: by time, and at equal times first in, first out.
//!
//! It is a radix heap (Ahuja et al., 1990): time never goes back, so an event is in the bucket of
//! the highest bit in which its time differs from the current time, and moves to a lower bucket as
//! the current time approaches. Moves keep the order, so that events of equal time stay first in,
//! first out. A binary heap does not keep that order, and has a cache miss for each event.

use std::collections::VecDeque;

pub(super) struct Queue<E> {
    /// The time of the event that was taken out last.
    now: u64,
    /// The events of the current time.
    due: VecDeque<E>,
    /// Later events, by the highest bit in which their time differs from the current time.
    later: Vec<Vec<(u64, E)>>,
}

impl<E> Queue<E> {
    pub(super) fn new() -> Self {
        Self { now: 0, due: VecDeque::new(), later: (0..u64::BITS).map(|_| Vec::new()).collect() }
    }

    /// Adds an event. A time in the past counts as the current time.
    pub(super) fn push(&mut self, time: u64, event: E) {
        let differing = time.max(self.now) ^ self.now;
        match differing.checked_ilog2() {
            None => self.due.push_back(event),
            Some(bit) => self.later[bit as usize].push((time, event)),
        }
    }

    /// Takes out the next event, with its time.
    pub(super) fn pop(&mut self) -> Option<(u64, E)> {
        if self.due.is_empty() {
            let bucket = self.later.iter_mut().find(|bucket| !bucket.is_empty())?;
            let events = std::mem::take(bucket);
            self.now = events.iter().map(|(time, _)| *time).min()?;
            for (time, event) in events {
                self.push(time, event);
            }
        }
        self.due.pop_front().map(|event| (self.now, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_ordered_by_time_then_insertion() {
        fn sorted(times: Vec<(u64, bool)>) {
            let (mut queue, mut expected, mut found) = (Queue::new(), Vec::new(), Vec::new());
            let mut now = 0;
            for (number, (time, take)) in times.into_iter().enumerate() {
                // Mostly near, sometimes far.
                let time = now + if number % 7 == 0 { time } else { time % 4 };
                queue.push(time, number);
                expected.push((time, number));
                if take {
                    let next = queue.pop().unwrap();
                    now = next.0;
                    found.push(next);
                    let at = expected.iter().enumerate().min_by_key(|(_, event)| **event).unwrap().0;
                    assert_eq!(expected.remove(at), next);
                }
            }
            expected.sort_unstable();
            assert_eq!(std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>(), expected);
        }
        let bounded = |times: Vec<(u32, bool)>| sorted(times.into_iter().map(|(t, b)| (t.into(), b)).collect());
        quickcheck::QuickCheck::new().tests(300).quickcheck(bounded as fn(Vec<(u32, bool)>));
    }
}
