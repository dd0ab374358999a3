//! The bench of the trials of a space: what trying a statement takes, and writing what is said of it under the lease of the trials.

use tokio::sync::Mutex;

use super::asking::Asker;
use super::journal::{Journal, is_overtaken};
use super::on_trial::OnTrial;
use super::{TRIES, Trials};
use crate::event::draft::Draft;
use crate::event::statement::Instrument;
use crate::event::trial::{News, Rules};
use crate::log::error::StoreError;
use crate::mind::turn_writer::{Lost, TurnWriter};

/// See the module.
pub(super) struct Bench<'a> {
    pub trials: &'a Trials,
    pub journal: Journal<'a>,
    pub writer: TurnWriter,
    pub asker: Asker<'a>,
    /// Held while something is settled: what contradicts what must not change meanwhile.
    pub settling: Mutex<()>,
    /// Held while people are asked something: no more questions are open than may be.
    pub asking: Mutex<()>,
}

impl Bench<'_> {
    /// The rules, with the instruments that there are for this statement.
    pub async fn rules(&self, on: &OnTrial) -> Result<Rules, StoreError> {
        let mut rules = self.trials.rules();
        // People are not asked of the server's own accord.
        if !on.trial.is_retest && self.has_people_for(&on.row).await? {
            rules.available.insert(Instrument::User);
        }
        Ok(rules)
    }

    /// Appends something about a statement with the records of the calls for it, and takes it into its fold. What changed a statement meanwhile and
    /// leaves its trial as it was, as another source does, is in nobody's way.
    pub async fn say(&self, on: &mut OnTrial, before: Vec<Draft>, news: News) -> Result<(), Lost> {
        for _ in 1..TRIES {
            match self.say_once(on, before.clone(), news.clone()).await {
                Err(lost) if is_overtaken(&lost) && self.is_as_before(on).await? => {}
                said => return said,
            }
        }
        self.say_once(on, before, news).await
    }

    /// The same, if nothing changed the statement meanwhile.
    pub async fn say_once(
        &self,
        on: &mut OnTrial,
        before: Vec<Draft>,
        news: News,
    ) -> Result<(), Lost> {
        let draft = Draft::statement(&on.row.thread, &on.row.id, news.clone());
        let draft = draft.only_if(on.row.stands());
        let records = on.records.iter().cloned();
        let drafts = records.chain(before).chain([draft]).collect();
        let stored = self.writer.write(drafts).await?;
        on.records.clear();
        if let Some(last) = stored.last() {
            on.row.changed = last.event.seq;
        }
        on.trial.apply(news);
        Ok(())
    }

    /// Looks at a statement anew. Whether it is there, and nothing has become of its trial.
    pub async fn is_as_before(&self, on: &mut OnTrial) -> Result<bool, StoreError> {
        // The row before the fold: what is said between the two is in the way again.
        let Some(row) = self.journal.statement(&on.row.id).await? else {
            return Ok(false);
        };
        on.row = row;
        Ok(self.journal.folded(&on.row.id).await? == on.trial)
    }
}
