//! Agreements of the members on calls of the backend's library.

use std::collections::VecDeque;

/// The latest calls that the members have agreed on, by fingerprint.
///
/// Only a further agreement changes this list, and every member takes part in that. So the list is
/// the same on every member, and all members repeat an agreement if one has to.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    last: VecDeque<u64>,
    /// The number of agreements so far. Agreements are numbered from 0.
    count: u64,
}

impl Agreed {
    /// The number of agreements that are remembered.
    const MOST: usize = 1024;

    /// Tells whether the agreement with this number is remembered.
    pub(super) fn has(&self, number: u64) -> bool {
        number.saturating_add(Self::MOST as u64) >= self.count
    }

    /// Returns the number of the agreement on a call, if it is remembered.
    pub(super) fn find(&self, fingerprint: u64) -> Option<u64> {
        let back = self.last.iter().rev().position(|other| *other == fingerprint)?;
        self.count.checked_sub(back as u64 + 1)
    }

    /// Adds an agreement and returns its number.
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
    fn only_the_latest_agreements_are_remembered() {
        let mut agreed = Agreed::default();
        let most = Agreed::MOST as u64;
        for number in 0..3 * most {
            assert_eq!(agreed.find(1000 + number), None);
            assert_eq!(agreed.add(1000 + number), number);
            // The first one, the latest, and those at the limit.
            let shown = |earlier: &u64| *earlier == 0 || number - earlier < 3 || (number - earlier).abs_diff(most) < 3;
            for earlier in (0..=number).filter(shown) {
                let kept = earlier + most > number;
                assert_eq!(agreed.find(1000 + earlier), kept.then_some(earlier), "{earlier} after {number}");
                assert_eq!(agreed.has(earlier), kept, "{earlier} after {number}");
            }
        }
        assert_eq!(agreed.last.len(), Agreed::MOST);
    }
}
