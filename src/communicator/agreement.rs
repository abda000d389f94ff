//! Which calls of the backend's library the members have agreed on.

use std::collections::VecDeque;

/// The calls that the members have agreed on last, by fingerprint.
///
/// Nothing but a further agreement changes it, and in that all take part: so it is the same on
/// every member, and what one has to agree on once more all have.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    last: VecDeque<u64>,
    /// How many agreements there have been. They are numbered from 0.
    count: u64,
}

impl Agreed {
    /// How many are remembered.
    const MOST: usize = 256;

    /// Whether the agreement of that number is remembered.
    pub(super) fn has(&self, number: u64) -> bool {
        number.saturating_add(Self::MOST as u64) >= self.count
    }

    /// The number of the agreement on a call, if it is remembered.
    pub(super) fn find(&self, fingerprint: u64) -> Option<u64> {
        let back = self.last.iter().rev().position(|other| *other == fingerprint)?;
        self.count.checked_sub(back as u64 + 1)
    }

    /// Remembers an agreement; returns its number.
    pub(super) fn add(&mut self, fingerprint: u64) -> u64 {
        if self.last.len() == Self::MOST {
            self.last.pop_front();
        }
        self.last.push_back(fingerprint);
        self.count += 1;
        self.count - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_agreements_are_remembered_and_no_others() {
        let mut agreed = Agreed::default();
        let most = Agreed::MOST as u64;
        for number in 0..3 * most {
            assert_eq!(agreed.find(1000 + number), None);
            assert_eq!(agreed.add(1000 + number), number);
            for earlier in 0..=number {
                let kept = earlier + most > number;
                assert_eq!(agreed.find(1000 + earlier), kept.then_some(earlier), "{earlier} after {number}");
                assert_eq!(agreed.has(earlier), kept, "{earlier} after {number}");
            }
        }
        assert_eq!(agreed.last.len(), Agreed::MOST);
    }
}
