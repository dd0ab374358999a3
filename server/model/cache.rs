//! A cache in memory: a map with a limit, which begins anew where it is full.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use parking_lot::Mutex;

/// A map of at most `MAX` values; with one more, all are forgotten.
#[derive(Debug)]
pub struct Cache<K, V, const MAX: usize>(
    // Held for a look-up, never across an await.
    Mutex<HashMap<K, V>>,
);

impl<K, V, const MAX: usize> Default for Cache<K, V, MAX> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V, const MAX: usize> Cache<K, V, MAX> {
    /// The value of a key.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        V: Clone,
    {
        self.0.lock().get(key).cloned()
    }

    /// Keeps a value.
    pub fn insert(&self, key: K, value: V) {
        self.with(key, |entry| {
            entry.insert_entry(value);
        });
    }

    /// Changes a value, which begins as the default.
    pub fn change(&self, key: K, change: impl FnOnce(&mut V))
    where
        V: Default,
    {
        self.with(key, |entry| change(entry.or_default()));
    }

    fn with(&self, key: K, act: impl FnOnce(Entry<'_, K, V>)) {
        let mut map = self.0.lock();
        if map.len() >= MAX && !map.contains_key(&key) {
            map.clear();
        }
        act(map.entry(key));
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.0.lock().len()
    }
}

#[cfg(test)]
mod tests {
    use super::Cache;

    #[test]
    fn it_begins_anew_where_it_is_full() {
        let cache = Cache::<u32, u32, 2>::default();
        cache.insert(1, 1);
        cache.insert(2, 2);
        cache.change(2, |value| *value += 1);
        assert_eq!((cache.get(&1), cache.get(&2)), (Some(1), Some(3)));
        cache.change(3, |value| *value += 1);
        assert_eq!((cache.get(&1), cache.get(&3)), (None, Some(1)));
        cache.insert(4, 4);
        assert_eq!(cache.count(), 2);
    }
}
