//! The plans that a communicator keeps: the last ones used, few enough, small enough.

use std::sync::Arc;

use super::native::Native;
use crate::collective::Collective;
use crate::error::Error;
use crate::plan::Plan;
use crate::select::Field;
use crate::transport::Signature;
use crate::transport::native::Predefined;

/// A call that can be made: what its members must agree on, and how it goes.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) signature: Signature,
    pub(super) way: Way,
}

/// How a call goes.
#[derive(Debug)]
pub(super) enum Way {
    /// By a schedule.
    Plan {
        plan: Plan,
        /// Aligned for every primitive type.
        scratch: Vec<u128>,
    },
    /// By the backend's own library.
    Native(Native),
}

impl Prepared {
    pub(super) fn new(plan: Plan, signature: Signature) -> Result<Self, Error> {
        let bytes = plan.program().sizes().scratch;
        let lack = || Error::Memory { words: Arc::clone(&signature.words), bytes };
        let words = usize::try_from(bytes.div_ceil(size_of::<u128>() as u64)).map_err(|_| lack())?;
        let mut scratch = Vec::new();
        scratch.try_reserve_exact(words).map_err(|_| lack())?;
        scratch.resize(words, 0);
        Ok(Self { signature, way: Way::Plan { plan, scratch } })
    }
}

/// What a cache keeps.
pub(super) trait Kept {
    /// Memory, as far as it is large.
    fn bytes(&self) -> usize;
}

impl Kept for Prepared {
    fn bytes(&self) -> usize {
        match &self.way {
            Way::Plan { plan, scratch } => plan.footprint() + size_of_val(&scratch[..]),
            // Those that are kept have no lists.
            Way::Native(_) => 0,
        }
    }
}

impl Kept for Field {
    fn bytes(&self) -> usize {
        0
    }
}

/// What a cached plan is for. The algorithm is not in it: a change of algorithm empties the cache.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) collective: Collective,
    /// Bytes of an element.
    pub(super) element: usize,
    /// Elements of a block.
    pub(super) elements: usize,
    pub(super) in_place: bool,
    /// What its elements are, where it matters: reductions combine them.
    pub(super) kind: &'static str,
    /// The operation's name, or what else sets the call apart.
    pub(super) purpose: std::borrow::Cow<'static, str>,
    /// What libraries call its operation.
    pub(super) predefined: Option<Predefined>,
}

impl Key {
    /// Whether it is a call of the communicator's own, which combines nothing but has a purpose. Such go by a schedule though the
    /// backend may have its own way: they are made where members may have agreed on nothing yet.
    pub(super) fn is_own(&self) -> bool {
        self.kind.is_empty() && !self.purpose.is_empty()
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let Self { collective, element, elements, in_place, kind, purpose, predefined } = self;
        // Mostly there are no words. Comparing none with none is not left to `memcmp`, which was measured to take 80 ns for
        // that with glibc's for AVX-512: more than an exchange does.
        let same = |a: &str, b: &str| a.len() == b.len() && (a.is_empty() || a == b);
        *elements == other.elements
            && *element == other.element
            && *in_place == other.in_place
            && *collective == other.collective
            && same(kind, other.kind)
            && (kind.is_empty() || *predefined == other.predefined)
            && same(purpose, &other.purpose)
    }
}

/// Least recently used goes first.
#[derive(Debug)]
pub(super) struct Cache<K = Key, V = Prepared> {
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

    /// Whether there is a plan for a key; it is then the last used. Mostly it is already.
    #[inline]
    pub(super) fn find(&mut self, key: &K) -> bool {
        self.find_by(|known| known == key)
    }

    /// The same of the key that is meant.
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
    use crate::transport::native::{Operation, Primitive};

    fn key(elements: usize) -> Key {
        Key {
            collective: Collective::Alltoall,
            element: 8,
            elements,
            in_place: false,
            kind: "",
            purpose: "".into(),
            predefined: None,
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
        assert!(cache.find(&key(1)));
        cache.insert(key(3), prepared(0));
        assert!(cache.find(&key(1)) && !cache.find(&key(2)) && cache.find(&key(3)));
    }

    #[test]
    fn what_is_used_last_is_the_last() {
        let mut cache = Cache::new(3, usize::MAX);
        (1..=3).for_each(|i| cache.insert(key(i), prepared(16 * i)));
        for i in [2, 1, 1, 3] {
            assert!(cache.find(&key(i)));
            assert_eq!(cache.last().map(|prepared| prepared.bytes()), Some(16 * i));
        }
    }

    #[test]
    fn keys_differ_in_every_part() {
        let other = [
            Key { collective: Collective::Allgather, ..key(1) },
            Key { element: 4, ..key(1) },
            key(2),
            Key { in_place: true, ..key(1) },
            Key { kind: "f64", ..key(1) },
            Key { purpose: "sum".into(), ..key(1) },
        ];
        let known = Some(Predefined { operation: Operation::Sum, number: Primitive::U64 });
        let reduction = |predefined| Key { kind: "u64", predefined, ..key(1) };
        assert!(reduction(None) != reduction(known) && reduction(known) == reduction(known));
        assert!(key(1) == key(1) && other.iter().all(|other| key(1) != *other && *other == other.clone()));
    }

    #[test]
    fn memory_is_bounded_but_one_plan_is_kept() {
        let mut cache = Cache::new(8, 1000);
        cache.insert(key(1), prepared(640));
        cache.insert(key(2), prepared(640));
        assert!(!cache.find(&key(1)) && cache.find(&key(2)));
        cache.insert(key(3), prepared(64_000));
        assert!(!cache.find(&key(2)) && cache.find(&key(3)));
    }
}
