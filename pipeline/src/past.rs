//! The past of a node: the names that the graph keeps once the node's value is there and its parents are released.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

/// As many as a node commonly has arguments take no memory block of their own.
pub(crate) type Few<T> = SmallVec<[T; 2]>;

/// Longest past, in arguments. Beyond, it begins anew: a loop of a million rounds has the memory of
/// a short one.
const PAST_MAX: usize = 1000;

/// A node without its value.
pub(crate) struct Past {
    pub(crate) name: Cow<'static, str>,
    /// True if the value was given, not computed.
    pub(crate) is_given: bool,
    made: OnceLock<Made>,
}

/// The origin of a made value.
struct Made {
    of: Few<Arc<Past>>,
    /// Number of arguments on the longest way to here.
    length: usize,
}

impl Past {
    pub(crate) fn of(name: Cow<'static, str>, is_given: bool) -> Arc<Self> {
        Arc::new(Past {
            name,
            is_given,
            made: OnceLock::new(),
        })
    }

    /// Returns true if the value was made.
    pub(crate) fn is_made(&self) -> bool {
        self.made.get().is_some()
    }

    /// Returns its parents, as far as they are remembered.
    pub(crate) fn made_of(&self) -> &[Arc<Past>] {
        self.made.get().map_or(&[], |made| &made.of)
    }

    pub(crate) fn remember<'a>(
        &self,
        parents: impl ExactSizeIterator<Item = &'a Arc<Past>> + Clone,
    ) {
        self.made.get_or_init(|| {
            let before = parents
                .clone()
                .filter_map(|parent| Some(parent.made.get()?.length))
                .max();
            let length = before.unwrap_or(0) + parents.len();
            match length {
                0..=PAST_MAX => Made {
                    of: parents.cloned().collect(),
                    length,
                },
                _ => Made {
                    of: Few::new(),
                    length: 0,
                },
            }
        });
    }
}

/// Not by nested drops, like a node.
impl Drop for Past {
    fn drop(&mut self) {
        let mut falling = self.made.take().map_or(Few::new(), |made| made.of);
        while let Some(past) = falling.pop() {
            if let Some(made) = Arc::into_inner(past).and_then(|mut past| past.made.take()) {
                falling.extend(made.of);
            }
        }
    }
}
