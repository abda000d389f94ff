//! The plans that a communicator keeps: the last ones used, few enough, small enough.

/// What a cache keeps.
pub(super) trait Kept {
    /// Memory, as far as it is large.
    fn bytes(&self) -> usize;
}

/// Least recently used goes first.
#[derive(Debug)]
pub(super) struct Cache<K, V> {
    /// The last used is the last.
    entries: Vec<(K, V)>,
    plans: usize,
    bytes: usize,
}

impl<K: PartialEq, V: Kept> Cache<K, V> {
    /// At most so many plans, of together at most so many bytes; one is kept in any case.
    pub(super) fn new(plans: usize, bytes: usize) -> Self {
        Self { entries: Vec::new(), plans: plans.max(1), bytes }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Lets go of plans whose keys are not such.
    pub(super) fn retain(&mut self, stays: impl Fn(&K) -> bool) {
        self.entries.retain(|(key, _)| stays(key));
    }

    /// Whether there is a plan for the key that is meant; it is then the last used. Mostly it is
    /// already.
    #[inline]
    pub(super) fn find_by(&mut self, is: impl Fn(&K) -> bool) -> bool {
        self.entries.last().is_some_and(|(last, _)| is(last)) || self.find_before(is)
    }

    /// The same of those before the last.
    fn find_before(&mut self, is: impl Fn(&K) -> bool) -> bool {
        let Some(found) = self.entries.iter().rposition(|(known, _)| is(known)) else { return false };
        self.entries[found..].rotate_left(1);
        true
    }

    /// The plan used or made last.
    pub(super) fn last(&mut self) -> Option<&mut V> {
        self.entries.last_mut().map(|(_, kept)| kept)
    }

    /// Keeps a plan, and lets go of the longest unused while there are too many.
    pub(super) fn insert(&mut self, key: K, kept: V) {
        self.entries.push((key, kept));
        let mut held: usize = self.entries.iter().map(|(_, kept)| kept.bytes()).sum();
        while self.entries.len() > 1 && (self.entries.len() > self.plans || held > self.bytes) {
            held -= self.entries.remove(0).1.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Collective;
    use crate::communicator::element::Element;
    use crate::communicator::prepared::{Key, Prepared, Way};
    use crate::plan::Plan;
    use crate::transport::Signature;
    use crate::transport::native::{Operation, Predefined, Primitive};

    fn key(elements: usize) -> Key {
        Key {
            collective: Collective::Alltoall,
            element: Element::of::<u64>(),
            elements,
            in_place: false,
            purpose: "".into(),
            predefined: None,
            commutes: true,
        }
    }

    fn prepared(bytes: usize) -> Prepared {
        let signature = Signature { fingerprint: 0, words: "".into() };
        let way = Way::Plan { plan: Plan::default(), scratch: vec![0; bytes / size_of::<u128>()] };
        Prepared { signature, way }
    }

    #[test]
    fn the_longest_unused_goes_first() {
        let mut cache = Cache::new(2, usize::MAX);
        cache.insert(key(1), prepared(0));
        cache.insert(key(2), prepared(0));
        assert!(cache.find_by(|known| *known == key(1)));
        cache.insert(key(3), prepared(0));
        assert!(
            cache.find_by(|known| *known == key(1))
                && !cache.find_by(|known| *known == key(2))
                && cache.find_by(|known| *known == key(3))
        );
    }

    #[test]
    fn what_is_used_last_is_the_last() {
        let mut cache = Cache::new(3, usize::MAX);
        (1..=3).for_each(|i| cache.insert(key(i), prepared(16 * i)));
        for i in [2, 1, 1, 3] {
            assert!(cache.find_by(|known| *known == key(i)));
            assert_eq!(cache.last().map(|prepared| prepared.bytes()), Some(16 * i));
        }
    }

    #[test]
    fn keys_differ_in_every_part() {
        let other = [
            Key { collective: Collective::Allgather, ..key(1) },
            Key { element: Element::of::<f64>(), ..key(1) },
            key(2),
            Key { in_place: true, ..key(1) },
            Key { purpose: "sum".into(), ..key(1) },
            Key { commutes: false, ..key(1) },
        ];
        let known = Some(Predefined { operation: Operation::Sum, number: Primitive::U64 });
        let reduction = |predefined| Key { purpose: "sum".into(), predefined, ..key(1) };
        assert!(reduction(None) != reduction(known) && reduction(known) == reduction(known));
        assert!(key(1) == key(1) && other.iter().all(|other| key(1) != *other && *other == other.clone()));
    }

    #[test]
    fn memory_is_bounded_but_one_plan_is_kept() {
        let mut cache = Cache::new(8, 1000);
        cache.insert(key(1), prepared(640));
        cache.insert(key(2), prepared(640));
        assert!(!cache.find_by(|known| *known == key(1)) && cache.find_by(|known| *known == key(2)));
        cache.insert(key(3), prepared(64_000));
        assert!(!cache.find_by(|known| *known == key(2)) && cache.find_by(|known| *known == key(3)));
    }
}
