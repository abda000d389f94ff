//! The allocator of the scratch buffer.

use std::collections::BTreeMap;

/// First fit over free gaps. Adjacent gaps are merged.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    gaps: BTreeMap<u64, u64>,
    len: u64,
}

impl Scratch {
    /// Takes a place of `bytes` bytes. Returns its offset.
    pub(super) fn take(&mut self, bytes: u64) -> u64 {
        if let Some((&at, &len)) = self.gaps.iter().find(|(_, len)| **len >= bytes) {
            self.gaps.remove(&at);
            if len > bytes {
                self.gaps.insert(at + bytes, len - bytes);
            }
            return at;
        }
        // A gap at the end is extended.
        let at = match self.gaps.last_key_value() {
            Some((&at, &len)) if at + len == self.len => {
                self.gaps.remove(&at);
                at
            }
            _ => self.len,
        };
        self.len = at + bytes;
        at
    }

    /// Frees a place.
    pub(super) fn give(&mut self, mut at: u64, mut bytes: u64) {
        if bytes == 0 {
            return;
        }
        if let Some(after) = self.gaps.remove(&(at + bytes)) {
            bytes += after;
        }
        if let Some((&before, &len)) = self.gaps.range(..at).next_back()
            && before + len == at
        {
            self.gaps.remove(&before);
            (at, bytes) = (before, len + bytes);
        }
        self.gaps.insert(at, bytes);
    }

    /// Returns the length that the buffer needs.
    pub(super) fn len(&self) -> u64 {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn places_in_use_never_overlap(steps: Vec<(bool, u8)>) -> bool {
            let (mut scratch, mut used): (Scratch, Vec<(u64, u64)>) = Default::default();
            steps.iter().all(|&(take, n)| {
                if take {
                    let bytes = u64::from(n) + 1;
                    let at = scratch.take(bytes);
                    let apart = used.iter().all(|&(other, len)| at + bytes <= other || other + len <= at);
                    used.push((at, bytes));
                    apart && at + bytes <= scratch.len()
                } else {
                    if !used.is_empty() {
                        let (at, bytes) = used.swap_remove(n as usize % used.len());
                        scratch.give(at, bytes);
                    }
                    true
                }
            })
        }
    }

    #[test]
    fn freed_places_are_reused() {
        let mut scratch = Scratch::default();
        let places: Vec<u64> = (0..8).map(|_| scratch.take(16)).collect();
        places.iter().for_each(|&at| scratch.give(at, 16));
        assert_eq!((scratch.take(128), scratch.len()), (0, 128));
    }
}
