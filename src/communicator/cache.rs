//! The plans that a communicator keeps: the last ones used, few enough, small enough.

use std::sync::Arc;

use crate::collective::Collective;
use crate::error::Error;
use crate::plan::Plan;
use crate::transport::Signature;

/// A compiled call: what it does, what its members must agree on, and its scratch.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) plan: Plan,
    pub(super) signature: Signature,
    /// Aligned for every primitive type.
    pub(super) scratch: Vec<u128>,
}

impl Prepared {
    pub(super) fn new(plan: Plan, signature: Signature) -> Result<Self, Error> {
        let bytes = plan.program().sizes().scratch;
        let lack = || Error::Memory { words: Arc::clone(&signature.words), bytes };
        let words = usize::try_from(bytes.div_ceil(size_of::<u128>() as u64)).map_err(|_| lack())?;
        let mut scratch = Vec::new();
        scratch.try_reserve_exact(words).map_err(|_| lack())?;
        scratch.resize(words, 0);
        Ok(Self { plan, signature, scratch })
    }

    fn bytes(&self) -> usize {
        self.plan.footprint() + size_of_val(&self.scratch[..])
    }
}

/// What a cached plan is for. The algorithm is not in it: a change of algorithm empties the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

/// Least recently used goes first.
#[derive(Debug)]
pub(super) struct Cache {
    /// The last used is the last.
    entries: Vec<(Key, Prepared)>,
    plans: usize,
    bytes: usize,
}

impl Cache {
    /// At most so many plans, of together at most so many bytes; one is kept in any case.
    pub(super) fn new(plans: usize, bytes: usize) -> Self {
        Self { entries: Vec::new(), plans: plans.max(1), bytes }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// The plan for a key, if it is there; it is then the last used.
    pub(super) fn get(&mut self, key: &Key) -> Option<&mut Prepared> {
        let found = self.entries.iter().rposition(|(k, _)| k == key)?;
        let last = self.entries.len() - 1;
        if found != last {
            self.entries[found..].rotate_left(1);
        }
        Some(&mut self.entries[last].1)
    }

    /// Keeps a plan, and lets go of the longest unused while there are too many.
    pub(super) fn insert(&mut self, key: Key, prepared: Prepared) {
        self.entries.push((key, prepared));
        let mut held: usize = self.entries.iter().map(|(_, p)| p.bytes()).sum();
        while self.entries.len() > 1 && (self.entries.len() > self.plans || held > self.bytes) {
            held -= self.entries.remove(0).1.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(elements: usize) -> Key {
        Key { collective: Collective::Alltoall, element: 8, elements, in_place: false, kind: "", purpose: "".into() }
    }

    fn prepared(bytes: usize) -> Prepared {
        let signature = Signature { fingerprint: 0, words: "".into() };
        Prepared { plan: Plan::default(), signature, scratch: vec![0; bytes / size_of::<u128>()] }
    }

    #[test]
    fn the_longest_unused_goes_first() {
        let mut cache = Cache::new(2, usize::MAX);
        cache.insert(key(1), prepared(0));
        cache.insert(key(2), prepared(0));
        assert!(cache.get(&key(1)).is_some());
        cache.insert(key(3), prepared(0));
        assert!(cache.get(&key(1)).is_some() && cache.get(&key(2)).is_none() && cache.get(&key(3)).is_some());
    }

    #[test]
    fn memory_is_bounded_but_one_plan_is_kept() {
        let mut cache = Cache::new(8, 1000);
        cache.insert(key(1), prepared(640));
        cache.insert(key(2), prepared(640));
        assert!(cache.get(&key(1)).is_none() && cache.get(&key(2)).is_some());
        cache.insert(key(3), prepared(64_000));
        assert!(cache.get(&key(2)).is_none() && cache.get(&key(3)).is_some());
    }
}
