//! Values that take long to make, which the ranks of a process share.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The values that were asked for last, by key.
pub(crate) struct Kept<K, V> {
    most: usize,
    values: Mutex<Vec<(K, Arc<OnceLock<V>>)>>,
}

impl<K: PartialEq, V: Clone> Kept<K, V> {
    /// Returns a store of at most this many values.
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, values: Mutex::new(vec![]) }
    }

    /// Returns the value of a key, and makes it if it is not kept. Ranks that ask at the same time
    /// wait for the one that makes it.
    pub(crate) fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        let value = {
            let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
            let at = values.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                values.insert(0, (key, Arc::default()));
                values.truncate(self.most);
                0
            });
            Arc::clone(&values[at].1)
        };
        value.get_or_init(make).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn value_is_made_once_and_the_oldest_are_dropped() {
        let (kept, made) = (Kept::new(2), AtomicUsize::new(0));
        let get = |key: usize| {
            kept.get(key, || {
                made.fetch_add(1, Ordering::Relaxed);
                10 * key
            })
        };
        thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(|| assert_eq!(get(1), 10))));
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
        assert_eq!([get(2), get(1), get(3), get(1)], [20, 10, 30, 10]);
        assert_eq!(made.load(Ordering::Relaxed), 4);
    }
}
