//! A walk goes back from nodes to their parents, over a way of any length.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

/// Nodes and some of those beneath them: every parent before its children, arguments in their
/// order.
pub(crate) struct Walk<N> {
    pub(crate) order: Vec<N>,
    /// Position of each in that order, by its [key](Walked::key).
    pub(crate) places: Places,
}

pub(crate) type Places = HashMap<usize, usize, BuildHasherDefault<Spread>>;

/// A thing that a walk visits, told apart by a key.
pub(crate) trait Walked: Clone {
    /// The same for the same node.
    fn key(&self) -> usize;
}

/// Hashes an address: no attacker chooses it, so nothing slower is needed.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, n: usize) {
        self.0 = (self.0 ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

impl<N: Walked> Walk<N> {
    /// Goes back from the `targets`. `before` adds the parents of a node, and returns true if the
    /// node is wanted.
    pub(crate) fn of(targets: &[N], before: impl Fn(&N, &mut Vec<N>) -> bool) -> Self {
        let mut walk = Walk {
            order: Vec::new(),
            places: HashMap::default(),
        };
        // By hand, for chains longer than a stack is deep: a node is met before its parents and once more after them.
        let mut stack = targets
            .iter()
            .rev()
            .map(|target| (target.clone(), false))
            .collect::<Vec<_>>();
        let mut parents = Vec::new();
        while let Some((node, parents_done)) = stack.pop() {
            if parents_done {
                walk.places.insert(node.key(), walk.order.len());
                walk.order.push(node);
            } else if let Entry::Vacant(new) = walk.places.entry(node.key())
                && before(&node, &mut parents)
            {
                new.insert(usize::MAX);
                stack.push((node, true));
                stack.extend(parents.drain(..).rev().map(|parent| (parent, false)));
            }
        }
        walk
    }
}
