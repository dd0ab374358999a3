//! What people do to frameworks: create, change, remove, and tell what came of a like task
//! (`runtime/framework_acts.rs`). Which one a task is like is found in `recall/frameworks.rs`.

use super::framework_acts::{TRIES, create, is_at, known, overtaken, set, stored, tell_outcome};
use super::handle::Runtime;
use super::refused::Refused;
use crate::event::draft::Draft;
use crate::event::fact::set::Change;
use crate::event::framework::{Framework, FrameworkChange, Outcome};
use crate::log::error::StoreError;
use crate::log::projections::frameworks::FrameworkRow;
use crate::words::id::{self, Seq, Space, ThreadId};

impl Runtime {
    /// Creates a framework. Nothing is known of it: it is on probation.
    pub async fn create_framework(
        &self,
        space: &Space,
        new: Framework,
    ) -> Result<FrameworkRow, Refused> {
        self.open(space).await?;
        let limit = self.0.ground.options.tool_limits.frameworks;
        let id = id::fresh().to_string();
        create(&**self.store(), space, (&id, new), limit).await
    }

    /// Changes a framework, as it is expected to be.
    pub async fn change_framework(
        &self,
        space: &Space,
        id: &str,
        change: FrameworkChange,
    ) -> Result<FrameworkRow, Refused> {
        for _ in 0..TRIES {
            let row = self.framework_at(space, id, change.expected_seq).await?;
            let new = (id, row.framework.with(change.clone()));
            match set(&**self.store(), space, new, is_at(&row)).await {
                Err(Refused::Store(StoreError::Unmet(_))) => {}
                set => return set,
            }
        }
        Err(overtaken(id))
    }

    /// Removes a framework.
    pub async fn remove_framework(
        &self,
        space: &Space,
        id: &str,
        expected: Option<Seq>,
    ) -> Result<(), Refused> {
        for _ in 0..TRIES {
            let row = self.framework_at(space, id, expected).await?;
            let gone = Draft::set(&ThreadId::default(), id, Change::Framework(None));
            match stored(&**self.store(), space, gone.only_if(is_at(&row))).await {
                Err(Refused::Store(StoreError::Unmet(_))) => {}
                done => return done.map(drop),
            }
        }
        Err(overtaken(id))
    }

    /// Tells what came of a task that a framework is for, and how the framework stands then.
    pub async fn framework_outcome(
        &self,
        space: &Space,
        id: &str,
        came: &Outcome,
    ) -> Result<FrameworkRow, Refused> {
        tell_outcome(&**self.store(), space, id, (came, id::fresh())).await
    }

    /// Returns a framework as the caller expects it to be.
    async fn framework_at(
        &self,
        space: &Space,
        id: &str,
        expected: Option<Seq>,
    ) -> Result<FrameworkRow, Refused> {
        let row = known(&**self.store(), space, id).await?;
        let last = row.changed;
        match expected.filter(|expected| *expected != last) {
            Some(expected) => Err(Refused::FrameworkChanged { expected, last }),
            None => Ok(row),
        }
    }
}
