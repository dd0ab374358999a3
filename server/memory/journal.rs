//! The log of one space as its trials read and write it, and the words on statements that need no
//! trial.

use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::statement::{self, Said};
use thinkd_event::statement::{Judged, Outcome, Status};
use thinkd_event::trial::{News, Trial};
use thinkd_log::error::StoreError;
pub(super) use thinkd_log::error::Stored;
use thinkd_log::kernel::Store;
use thinkd_log::projections::statements::{Asked, StatementRow};
use thinkd_log::query::{Order, Query};
use thinkd_mind::turn_writer::Lost;
use thinkd_runtime::append::append_told;
use thinkd_runtime::ground::Ground;
use thinkd_runtime::memory;
use thinkd_words::id::{Seq, Space};
use thinkd_words::time;

/// Events, or statements, that are read at a time.
pub(super) const PAGE: u32 = 500;
/// Most events of one append, unless those about one statement are more.
pub(super) const APPEND_MAX: usize = 500;

/// The log of a space, and the ground that everything here stands on.
#[derive(Clone, Copy)]
pub struct Journal<'a> {
    pub(super) ground: &'a Ground,
    pub(super) space: &'a Space,
}

/// Words on others, and the conditions of these and of the word on the statement itself.
#[derive(Debug, Default)]
pub(super) struct Follow {
    /// The drafts, those on one statement together.
    pub drafts: Vec<Vec<Draft>>,
    pub conditions: Vec<Condition>,
}

impl<'a> Journal<'a> {
    /// Returns the store with the log.
    pub fn store(&self) -> &'a dyn Store {
        &*self.ground.store
    }

    /// Returns the options of the world model.
    pub fn memory(&self) -> &'a memory::Options {
        &self.ground.options.memory
    }

    /// Returns a statement.
    pub async fn statement(&self, id: &str) -> Stored<Option<StatementRow>> {
        self.store().statement(self.space, id).await
    }

    /// Returns those of some statements that are there.
    pub async fn statements(
        &self,
        ids: impl IntoIterator<Item = String>,
    ) -> Stored<Vec<StatementRow>> {
        let mut rows = Vec::new();
        for id in ids {
            rows.extend(self.statement(&id).await?);
        }
        Ok(rows)
    }

    /// Returns the statements that are asked for, one way of asking after the other, and wanted:
    /// all of the pages with the first `enough`.
    pub async fn found(
        &self,
        asked: Vec<Asked>,
        enough: usize,
        is_wanted: impl Fn(&StatementRow) -> bool,
    ) -> Stored<Vec<StatementRow>> {
        let mut found = Vec::new();
        for mut asked in asked {
            asked.limit = PAGE;
            while found.len() < enough {
                let rows = self.store().statements(self.space, &asked).await?;
                let is_full = rows.len() == PAGE as usize;
                asked.after = rows.last().map_or(0, |row| row.number);
                found.extend(rows.into_iter().filter(&is_wanted));
                if !is_full {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Has `take` look at the events of a query, a page after the other, until it returns false.
    pub async fn each(&self, mut query: Query, mut take: impl FnMut(Event) -> bool) -> Stored<()> {
        if query.limit == 0 {
            query.limit = PAGE;
        }
        loop {
            let page = self.store().events(self.space, &query).await?;
            let last = page.last().map(|event| event.seq);
            let is_last = page.len() < query.limit as usize;
            if !page.into_iter().all(&mut take) || is_last {
                return Ok(());
            }
            match query.order {
                Order::Ascending => query.after = last,
                Order::Descending => query.before = last,
            }
        }
    }

    /// Returns the event at a position.
    pub async fn at(&self, seq: Seq) -> Stored<Option<Event>> {
        Ok(self
            .store()
            .events(self.space, &Query::at(seq))
            .await?
            .pop())
    }

    /// Returns all events of a statement, the oldest first: its claim, its derivation, its readings
    /// and its verdicts.
    pub async fn story(&self, id: &str) -> Stored<Vec<Event>> {
        let query = Query {
            tags: vec![format!("{}:{id}", statement::TAG)],
            order: Order::Ascending,
            ..Query::default()
        };
        let mut all = Vec::new();
        let take = |event| {
            all.push(event);
            true
        };
        self.each(query, take).await?;
        Ok(all)
    }

    /// Returns the fold of a statement's events in the log.
    pub async fn folded(&self, id: &str) -> Stored<Trial> {
        let mut trial = Trial::default();
        for event in self.story(id).await? {
            if let Fact::Statement(fact) = event.fact()
                && fact.statement == id
            {
                match fact.what {
                    Said::News(news) => trial.apply(*news),
                    Said::Sourced(_) => trial.sourced(),
                    Said::Grounded(_) => {}
                }
            }
        }
        Ok(trial)
    }

    /// Appends under no lease.
    pub async fn append(&self, drafts: Vec<Draft>) -> Stored<()> {
        let on_stored = self.ground.waker.on_stored();
        let appended = append_told(self.store(), &on_stored, self.space, drafts);
        appended.await.map(drop)
    }

    /// Appends. Returns false if something became of a statement, or of names, meanwhile.
    pub async fn is_appended(&self, drafts: Vec<Draft>) -> Stored<bool> {
        match self.append(drafts).await {
            Ok(()) => Ok(true),
            Err(StoreError::Unmet(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Wakes the trials of the space.
    pub async fn wake(&self) -> Stored<()> {
        self.append(vec![Draft::trials(statement::Trials::Due)])
            .await
    }
}

/// Returns true if something became of a statement, or of names, before a word on it was stored.
pub(super) const fn is_overtaken(lost: &Lost) -> bool {
    matches!(lost, Lost::Store(StoreError::Unmet(_)))
}

/// Has an append stored under conditions: its first event carries them.
pub(super) fn under(drafts: &mut [Draft], conditions: impl IntoIterator<Item = Condition>) {
    if let Some(first) = drafts.first_mut() {
        first.conditions.extend(conditions);
    }
}

/// Returns the statement that an event judges, and the verdict.
pub(super) fn verdict(event: &Event) -> Option<(String, Judged)> {
    match event.fact().news()? {
        (statement, News::Judged(judged)) => Some((statement.to_owned(), judged.clone())),
        _ => None,
    }
}

/// Returns the word on a statement without a trial: all but this stays as it is.
pub(super) fn word(row: &StatementRow, outcome: Outcome, reason: String) -> Judged {
    let is_held = matches!(outcome, Outcome::Is(status) if status.is_held());
    let word = Judged {
        // A trial of what is held goes on beside it.
        due: row.due.filter(|_| is_held && row.status.is_held()),
        ..Judged::of(outcome, reason, row.valid)
    };
    let Some(before) = row.judged.clone() else {
        return word;
    };
    Judged {
        carried: if is_held { before.carried } else { Vec::new() },
        survived: before.survived,
        reopened: before.reopened,
        available: before.available,
        testable: before.testable,
        ..word
    }
}

/// Returns the word that has a statement tried again now.
pub(super) fn again(row: &StatementRow, reason: String) -> Judged {
    let word = word(row, Outcome::Is(row.status), reason);
    Judged {
        due: Some(time::now()),
        reopened: word.reopened + u64::from(row.status == Status::Falsified),
        ..word
    }
}

/// Most statements that are looked at for one question of the rules.
pub(super) const REACH: u32 = 1000;
/// So often is something tried again that was overtaken.
pub(super) const TRIES: usize = 16;
