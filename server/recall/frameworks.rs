//! Which frameworks a task is like: found by words and vectors as statements are, above the same
//! threshold. Each comes with whether the task is to be solved with it or without it, to compare,
//! and why.

use super::choices::Chosen;
use super::finder::{Error, Recall, apart};
use super::held::Held;
use super::hit::Hit;
use super::meant::Meant;
use super::view::View;
use crate::event::framework::{Framework, PER_TASK};
use crate::log::projections::frameworks::FrameworkRow;
use crate::words::id::Space;

/// Most characters of a task that are compared: its beginning says what it is.
const TASK_MAX: usize = 1024;

/// A framework that a task is like.
#[derive(Debug)]
pub struct Likely {
    /// The framework.
    pub row: FrameworkRow,
    /// Whether the task is to be solved with it; else it is solved without it, to compare, and its
    /// outcome is told, too. Kept until that is told, so that choices beside it count it.
    pub chosen: Chosen,
    /// Why it is, or is not, in a sentence: how like the task is, and how the framework stands.
    pub reason: String,
    /// How like the task is, in thousandths.
    pub score: i64,
}

impl Recall {
    /// Returns the frameworks that a task is like, the likest first: at most two, and none that was
    /// dropped or never worked.
    ///
    /// Whoever solves the task records the choice (`Draft::framework_chosen`), and what came of it
    /// (`Runtime::framework_outcome`), with each of them.
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
            let (score, words) = (hit.score, hit.words.join(" "));
            #[expect(clippy::cast_precision_loss, reason = "at most 1000")]
            let like = score as f64 / 1000.0;
            likely.push(Likely {
                row,
                chosen,
                reason: format!("like the task by {like:.2} ({words}); {why}"),
                score,
            });
            if likely.len() == PER_TASK {
                break;
            }
        }
        Ok(likely)
    }

    /// Returns the frameworks that a text is like, whatever came of them.
    pub(super) async fn frameworks(&self, space: &Space, text: &str) -> Result<Vec<Hit>, Error> {
        let text: String = text.chars().take(TASK_MAX).collect();
        let _place = self.places.take(space).await;
        let slot = self.frameworks.of(space);
        {
            let _turn = slot.turn.lock().await;
            let rows = self.store.framework_names(space).await?;
            let is_empty = rows.is_empty();
            let held = rows.into_iter().map(|row| {
                let text = Framework::found_by(&row.name, &row.purpose);
                Held::plain(row.id, row.changed, text)
            });
            slot.write(|view| view.hold(held.collect()));
            if is_empty {
                return Ok(Vec::new());
            }
            let bytes = slot.read(View::bytes);
            if !self.frameworks.holds(space, &slot, bytes) {
                let most = self.frameworks.most();
                return Err(Error::TooLarge { most });
            }
        }
        let meant = match &self.meaning {
            Some(meaning) => meaning.of(&slot, &text).await,
            None => Meant::default(),
        };
        apart(move || slot.read(|view| view.find_meant(&text, &meant, usize::MAX))).await
    }
}
