//! A least-recently-used cache of plans, bounded in number and memory.

/// The memory of a value in a cache.
pub(super) trait Footprint {
    /// Returns the bytes that the value occupies; small parts need not count.
    fn footprint(&self) -> usize;
}

/// A cache that drops its least recently used entries first.
#[derive(Debug)]
pub(super) struct Cache<K, V> {
    /// In the order of their last use.
    entries: Vec<(K, V)>,
    plans: usize,
    bytes: usize,
}

impl<K, V: Footprint> Cache<K, V> {
    /// Makes a cache of at most `plans` plans and `bytes` bytes. It always keeps one plan.
    pub(super) fn new(plans: usize, bytes: usize) -> Self {
        Self { entries: Vec::new(), plans: plans.max(1), bytes }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Drops the plans whose keys do not satisfy `stays`.
    pub(super) fn retain(&mut self, stays: impl Fn(&K) -> bool) {
        self.entries.retain(|(key, _)| stays(key));
    }

    /// Looks for a key that satisfies `is`, and makes its plan the last used. Returns whether there
    /// is one.
    #[inline]
    pub(super) fn find_by(&mut self, is: impl Fn(&K) -> bool) -> bool {
        self.is_last(&is) || self.find_before(is)
    }

    /// Whether the key of the plan that was used last satisfies `is`, as it does in most calls.
    #[inline(always)]
    pub(super) fn is_last(&self, is: impl Fn(&K) -> bool) -> bool {
        self.entries.last().is_some_and(|(last, _)| is(last))
    }

    /// Does the same among all plans but the last.
    fn find_before(&mut self, is: impl Fn(&K) -> bool) -> bool {
        let Some(found) = self.entries.iter().rposition(|(known, _)| is(known)) else { return false };
        self.entries[found..].rotate_left(1);
        true
    }

    /// Iterates over the plans, the least recently used first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.entries.iter()
    }

    /// Returns the plan that was found or inserted last.
    pub(super) fn last(&mut self) -> Option<&mut V> {
        self.entries.last_mut().map(|(_, kept)| kept)
    }

    /// Inserts a plan, and drops the least recently used ones while the cache exceeds its limits.
    pub(super) fn insert(&mut self, key: K, kept: V) {
        self.entries.push((key, kept));
        let mut held: usize = self.entries.iter().map(|(_, kept)| kept.footprint()).sum();
        while self.entries.len() > 1 && (self.entries.len() > self.plans || held > self.bytes) {
            held -= self.entries.remove(0).1.footprint();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Collective;
    use crate::communicator::element::Element;
    use crate::communicator::planned_call::{Executor, PlanKey, PlannedCall};
    use crate::plan::Plan;
    use crate::transport::Signature;
    use crate::transport::native::{Operation, Predefined, Primitive};

    fn key(elements: usize) -> PlanKey {
        PlanKey {
            collective: Collective::Alltoall,
            element: Element::of::<u64>(),
            lengths: (elements, elements),
            elements,
            in_place: false,
            purpose: "".into(),
            predefined: None,
            commutes: true,
        }
    }

    fn planned(bytes: usize) -> PlannedCall {
        let executor = Executor::Plan { plan: Plan::default(), scratch: vec![0; bytes / size_of::<u128>()] };
        PlannedCall::by(executor, Signature::new(0, ""))
    }

    #[test]
    fn least_recently_used_plan_is_dropped_first() {
        let mut cache = Cache::new(2, usize::MAX);
        cache.insert(key(1), planned(0));
        cache.insert(key(2), planned(0));
        assert!(cache.find_by(|known| *known == key(1)));
        cache.insert(key(3), planned(0));
        assert!(
            cache.find_by(|known| *known == key(1))
                && !cache.find_by(|known| *known == key(2))
                && cache.find_by(|known| *known == key(3))
        );
    }

    #[test]
    fn found_plan_becomes_the_last() {
        let mut cache = Cache::new(3, usize::MAX);
        (1..=3).for_each(|i| cache.insert(key(i), planned(16 * i)));
        for i in [2, 1, 1, 3] {
            assert!(cache.find_by(|known| *known == key(i)));
            assert_eq!(cache.last().map(|planned| planned.footprint()), Some(16 * i));
        }
    }

    #[test]
    fn keys_compare_every_field() {
        let other = [
            PlanKey { collective: Collective::Allgather, ..key(1) },
            PlanKey { element: Element::of::<f64>(), ..key(1) },
            key(2),
            PlanKey { in_place: true, ..key(1) },
            PlanKey { purpose: "sum".into(), ..key(1) },
            PlanKey { commutes: false, ..key(1) },
        ];
        let known = Some(Predefined { operation: Operation::Sum, number: Primitive::U64 });
        let reduction = |predefined| PlanKey { purpose: "sum".into(), predefined, ..key(1) };
        assert!(reduction(None) != reduction(known) && reduction(known) == reduction(known));
        assert!(key(1) == key(1) && other.iter().all(|other| key(1) != *other && *other == other.clone()));
    }

    #[test]
    fn cache_over_its_bytes_keeps_one_plan() {
        let mut cache = Cache::new(8, 1000);
        cache.insert(key(1), planned(640));
        cache.insert(key(2), planned(640));
        assert!(!cache.find_by(|known| *known == key(1)) && cache.find_by(|known| *known == key(2)));
        cache.insert(key(3), planned(64_000));
        assert!(!cache.find_by(|known| *known == key(2)) && cache.find_by(|known| *known == key(3)));
    }
}
