//! Opens spaces: an unused one gets its first submodules, once, before anything else is stored in
//! it.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::{Change, Submodule};
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::unserved::Work;
use thinkd_model::prompt::FirstSubmodule;
use thinkd_words::id::{Space, ThreadId};

/// See the module.
pub struct Opening {
    store: Arc<dyn Store>,
    /// The first submodules.
    submodules: Vec<FirstSubmodule>,
    // A plain mutex: held for look-ups, never across an await.
    opened: Mutex<HashSet<Space>>,
}

impl Opening {
    /// With these submodules in a new space.
    pub fn new(store: Arc<dyn Store>, submodules: Vec<FirstSubmodule>) -> Self {
        Self {
            store,
            submodules,
            opened: Mutex::default(),
        }
    }

    /// Gives a new space its first submodules, once. To be called before anything else is done for
    /// a space: events that are appended before make it look old.
    pub async fn open(&self, space: &Space) -> Result<(), StoreError> {
        if self.opened.lock().contains(space) {
            return Ok(());
        }
        let opened = self.create_first(space).await;
        self.store.unserved().note(space, Work::Opening, &opened);
        opened?;
        self.opened.lock().insert(space.clone());
        Ok(())
    }

    async fn create_first(&self, space: &Space) -> Result<(), StoreError> {
        // Not "an empty log": a refused frame may have been noted in it before.
        if self.submodules.is_empty() || self.store.ever(space, "set:submodule").await? {
            return Ok(());
        }
        let thread = ThreadId::default();
        let create = |first: &FirstSubmodule| {
            let submodule = Submodule {
                prompt: first.prompt.clone(),
                follow_up: first.follow_up,
            };
            let change = Change::Submodule(Some(submodule));
            let draft = Draft::set(&thread, first.name.as_str(), change);
            draft.only_if(Condition::NewSubmodule {
                name: first.name.clone(),
                most: usize::MAX,
            })
        };
        match self
            .store
            .append(Append::free(
                space,
                self.submodules.iter().map(create).collect(),
            ))
            .await
        {
            // Unmet: another server opened the space at the same time.
            Ok(_) | Err(StoreError::Unmet(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
