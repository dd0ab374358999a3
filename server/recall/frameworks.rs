//! The frameworks that a task is like: found by words and vectors as statements are, above the same
//! threshold. Each comes with the choice to solve the task with it or without it, to compare, and
//! with the reason.

use super::choices::Chosen;
use super::finder::{Error, Recall, apart};
use super::held::Held;
use super::view::finding::Hit;
use thinkd_event::framework::{Framework, PER_TASK};
use thinkd_log::projections::frameworks::{FrameworkName, FrameworkRow};
use thinkd_words::id::Space;

/// Most characters of a task that are compared: its beginning tells its subject.
const TASK_MAX: usize = 1024;

/// A framework that a task is like.
#[derive(Debug)]
pub struct Likely {
    /// The framework.
    pub row: FrameworkRow,
    /// The choice for the task: with the framework, or without it, to compare. Its outcome is told
    /// either way. Kept until then, so that choices beside it count it.
    pub chosen: Chosen,
    /// Why it is, or is not, in a sentence: how like the task is, and how the framework stands.
    pub reason: String,
    /// Likeness of the task, from 0 to 1.
    pub score: f64,
}

impl Recall {
    /// Returns the frameworks that a task is like, the likest first: at most two, and none that was
    /// dropped or never worked.
    ///
    /// The solver of the task records the choice (`FrameworkFact`), and its outcome
    /// (`runtime/frameworks.rs`), with each of them.
    pub async fn frameworks_for(&self, space: &Space, task: &str) -> Result<Vec<Likely>, Error> {
        let mut likely = Vec::new();
        for hit in self.frameworks(space, task).await? {
            // Another may have removed or changed it meanwhile: it is what its row says.
            let Some(row) = self.store.framework(space, &hit.held.id).await? else {
                continue;
            };
            let choice = self.choices.choose(space, &row.id, row.framework.tally);
            let Some((chosen, why)) = choice else {
                continue;
            };
            let like = hit.score;
            let words = hit.why.matched.join(" ");
            likely.push(Likely {
                row,
                chosen,
                reason: format!("like the task by {like:.2} ({words}); {why}"),
                score: hit.score,
            });
            if likely.len() == PER_TASK {
                break;
            }
        }
        Ok(likely)
    }

    /// Returns the frameworks that a text is like, regardless of their outcomes.
    pub(super) async fn frameworks(&self, space: &Space, text: &str) -> Result<Vec<Hit>, Error> {
        let text: String = text.chars().take(TASK_MAX).collect();
        let _place = self.places.take(space).await;
        let slot = self.frameworks.of(space);
        {
            let _turn = slot.turn.lock().await;
            let rows = self.store.framework_names(space).await?.into_iter();
            let found_by = |row: &FrameworkName| Framework::found_by(&row.name, &row.purpose);
            let held = rows.map(|row| Held::plain(row.id.clone(), row.changed, found_by(&row)));
            let held: Vec<Held> = held.collect();
            let is_empty = held.is_empty();
            slot.write(|view| view.hold(held));
            if is_empty {
                return Ok(Vec::new());
            }
            self.frameworks.hold(space, &slot)?;
        }
        let meant = self.meant(&slot, &text).await;
        let find = move || slot.read(|it| it.find_meant(&text, meant.vector.as_ref(), usize::MAX));
        apart(find).await
    }
}
