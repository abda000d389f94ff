//! Events in the order of their times, of equal times in the order in which they were put in.
//!
//! A radix heap: times never go back, so an event waits in the bucket of the highest bit in which its time differs from the
//! present, and is moved to a lower one each time that the present comes nearer. Events are moved in order, so that those
//! of one time stay in the order in which they came. A binary heap keeps no such order by itself, and misses the cache
//! for each event.

use std::collections::VecDeque;

pub(super) struct Queue<E> {
    /// The time of what was taken out last.
    now: u64,
    /// What is to happen now.
    due: VecDeque<E>,
    /// By the number of bits, less one, in which times may differ from the present.
    later: Vec<Vec<(u64, E)>>,
}

impl<E> Queue<E> {
    pub(super) fn new() -> Self {
        Self { now: 0, due: VecDeque::new(), later: (0..u64::BITS).map(|_| Vec::new()).collect() }
    }

    /// Puts in what happens at a time; in the past is now.
    pub(super) fn push(&mut self, time: u64, event: E) {
        let differing = time.max(self.now) ^ self.now;
        match differing.checked_ilog2() {
            None => self.due.push_back(event),
            Some(bit) => self.later[bit as usize].push((time, event)),
        }
    }

    /// What happens next, and when.
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
    fn events_come_in_the_order_of_times_and_of_equal_times_as_they_were_put_in() {
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
