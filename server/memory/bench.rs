//! The bench of the trials of a space: a statement on trial, and the words on it. They are written
//! under the lease of the trials, behind the records of the calls that were made for it.

use tokio::sync::Mutex;

use super::journal::{Journal, Stored, TRIES, is_overtaken};
use super::trials::Trials;
use thinkd_event::draft::Draft;
use thinkd_event::statement::Judged;
use thinkd_event::trial::{News, Trial};
use thinkd_log::projections::statements::StatementRow;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::stop::Stop;
use thinkd_mind::turn_writer::{Lost, TurnWriter};
use thinkd_thread::quota::Purse;
use thinkd_words::id::Seq;

/// See the module.
pub(super) struct Bench<'a> {
    pub trials: &'a Trials,
    pub journal: Journal<'a>,
    pub writer: TurnWriter,
    /// The row of the thread of the trials.
    pub row: ThreadRow,
    pub stop: &'a Stop,
    /// Held while something is settled: contradictions between statements must not change
    /// meanwhile.
    pub settling: Mutex<()>,
    /// Held while people are asked something: no more questions are open than may be.
    pub asking: Mutex<()>,
}

/// A statement on trial, with the records and readings that are not stored yet.
pub(super) struct OnTrial<'a> {
    pub bench: &'a Bench<'a>,
    pub row: StatementRow,
    pub trial: Trial,
    /// Records of calls that were made for it and are not stored yet: the next thing that is said
    /// of it takes them along.
    pub records: Vec<Draft>,
    /// The calls for it draw on this.
    pub purse: Purse,
}

impl<'a> OnTrial<'a> {
    /// Returns a statement without any call yet, and with no account that pays for calls.
    pub async fn of(bench: &'a Bench<'a>, row: StatementRow) -> Stored<Self> {
        Ok(Self {
            bench,
            trial: bench.journal.folded(&row.id).await?,
            row,
            records: Vec::new(),
            purse: Purse::default(),
        })
    }
}

/// Appends something about a statement, and takes it into its fold. A change meanwhile that leaves
/// its trial as it was, such as another source, does not stop it.
pub(super) async fn say(on: &mut OnTrial<'_>, before: Vec<Draft>, news: News) -> Result<(), Lost> {
    let mut tries = 0;
    loop {
        let said = Draft::statement(&on.row.thread, &on.row.id, news.clone());
        let said = said.only_if(on.row.stands());
        let drafts = before.iter().cloned().chain([said]);
        match write(on, drafts.collect()).await {
            Ok(last) => {
                on.row.changed = last.unwrap_or(on.row.changed);
                on.trial.apply(news);
                return Ok(());
            }
            Err(lost) => look_again(on, lost, &mut tries).await?,
        }
    }
}

/// Has a statement tried again, unless something became of it meanwhile.
pub(super) async fn begin_again(mut on: OnTrial<'_>, judged: Judged) -> Result<(), Lost> {
    match say(&mut on, vec![], News::Judged(judged)).await {
        Err(lost) if is_overtaken(&lost) => Ok(()),
        said => said,
    }
}

/// Appends behind the records of the calls for a statement. Returns the last event.
pub(super) async fn write(on: &mut OnTrial<'_>, drafts: Vec<Draft>) -> Result<Option<Seq>, Lost> {
    let records = on.records.iter().cloned();
    let stored = on
        .bench
        .writer
        .write(records.chain(drafts).collect())
        .await?;
    on.records.clear();
    Ok(stored.last().map(|last| last.event.seq))
}

/// Looks at a statement anew of which something was not stored. An error: it is not to be written
/// again, as the statement is gone, something became of its trial, or it was tried too often.
pub(super) async fn look_again(
    on: &mut OnTrial<'_>,
    lost: Lost,
    tries: &mut usize,
) -> Result<(), Lost> {
    *tries += 1;
    if is_overtaken(&lost) && *tries < TRIES {
        let journal = on.bench.journal;
        // The row before the fold: what is said between the two is in the way again.
        if let Some(row) = journal.statement(&on.row.id).await? {
            on.row = row;
            if journal.folded(&on.row.id).await? == on.trial {
                return Ok(());
            }
        }
    }
    Err(lost)
}
