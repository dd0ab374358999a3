//! The bench of the trials of a space: all that is due is tried, some statements at a time, until
//! nothing is. Then what is held is looked through, threads are told, and the trials rest. What is
//! said of a statement is written under the lease of the trials.

use std::collections::HashMap;

use tokio::sync::Mutex;

use super::journal::{Journal, Stored, is_overtaken};
use super::{REACH, TRIES, Trials, allowance};
use crate::event::draft::Draft;
use crate::event::fact::set::{Change, Timer};
use crate::event::fact::statement::Trials as Said;
use crate::event::statement::Instrument;
use crate::event::trial::{News, Rules, Trial};
use crate::log::projections::statements::StatementRow;
use crate::log::status::Status;
use crate::log::thread_row::ThreadRow;
use crate::mind::turn::stop::Stop;
use crate::mind::turn_writer::{Lost, TurnWriter};
use crate::tasks::under_way::UnderWay;
use crate::thread::quota::Purse;
use crate::words::id::Seq;
use crate::words::time;

/// So often is a statement begun in one go that is overtaken each time.
const OVERTAKEN_MAX: u32 = 5;
/// The timer of the trials.
const RETRY: &str = "retry";

/// See the module.
pub(super) struct Bench<'a> {
    pub trials: &'a Trials,
    pub journal: Journal<'a>,
    pub writer: TurnWriter,
    /// The row of the thread of the trials.
    pub row: ThreadRow,
    pub stop: &'a Stop,
    /// Held while something is settled: what contradicts what must not change meanwhile.
    pub settling: Mutex<()>,
    /// Held while people are asked something: no more questions are open than may be.
    pub asking: Mutex<()>,
}

/// A statement on trial, with what was asked about it and is not stored yet.
pub(super) struct OnTrial {
    pub row: StatementRow,
    pub trial: Trial,
    /// Records of calls that were made for it and are not stored yet: the next thing that is said
    /// of it takes them along.
    pub records: Vec<Draft>,
    /// The calls for it draw on this.
    pub purse: Purse,
}

impl OnTrial {
    /// Returns a statement of which nothing is asked yet, and for which nobody pays.
    pub async fn of(journal: Journal<'_>, row: StatementRow) -> Stored<Self> {
        Ok(Self {
            trial: journal.folded(&row.id).await?,
            row,
            records: Vec::new(),
            purse: Purse::default(),
        })
    }
}

/// A look at the log before something is begun.
struct Seen {
    /// Up to where the thread of the trials was woken.
    woken: Seq,
    /// Up to where threads are told what became of statements.
    told: Seq,
    due: Vec<StatementRow>,
}

impl Bench<'_> {
    /// Tries all that is due. Returns the status of the thread of the trials, whose lease is given
    /// back.
    pub async fn try_all(&self) -> Result<Status, Lost> {
        let (Journal { store, space, .. }, row) = (self.journal, &self.row);
        let named = row.state.told.unwrap_or(row.handled);
        let mut told = named;
        let mut follower = store.feed().follow(space, Some(&row.thread));
        let (mut under_way, mut begun) = (UnderWay::default(), HashMap::<String, u32>::new());
        let mut busy: Vec<String> = Vec::new();
        let at_once = self.trials.memory().trials_at_once as usize;
        loop {
            let look = self.look(told, at_once + begun.len());
            let seen = under_way.beside(look).await?;
            told = seen.told;
            // What was begun and is due no more has come to its end.
            begun.retain(|id, _| busy.contains(id) || seen.due.iter().any(|row| row.id == *id));
            for row in seen.due {
                let times = begun.get(&row.id).copied().unwrap_or(0);
                let may_begin = busy.len() < at_once && !busy.contains(&row.id);
                if may_begin && times < OVERTAKEN_MAX && self.is_free() {
                    begun.insert(row.id.clone(), times + 1);
                    busy.push(row.id.clone());
                    under_way.push(async move { (row.id.clone(), self.try_one(row).await) });
                }
            }
            if under_way.is_empty() {
                if self.is_free() && (self.renew().await? || self.retest().await?) {
                    continue;
                }
                let told = self.tell_late(told, named).await?;
                let rest = self.rest(seen.woken, told).await?;
                return self.writer.close(rest).await.map(|_| Status::Idle);
            }
            tokio::select! {
                biased;
                // The lease is left as it is.
                _ = self.stop.stopped() => return Err(Lost::Stale),
                ended = under_way.next() => {
                    if let Some((id, ended)) = ended {
                        busy.retain(|it| *it != id);
                        ended?;
                    }
                }
                () = follower.changed(), if busy.len() < at_once => {}
            }
        }
    }

    /// Returns true if calls to models are left.
    fn is_free(&self) -> bool {
        let (allowance, now) = (&self.trials.allowance, time::now());
        allowance.free_at(self.journal.space, now).is_none()
    }

    /// Tells threads what became of statements, and reads what is due; at most so many.
    async fn look(&self, told: Seq, most: usize) -> Result<Seen, Lost> {
        let Journal { store, space, .. } = self.journal;
        // Read before the rows: what is claimed behind it wakes the thread again.
        let thread = store.thread(space, &self.row.thread).await?;
        let limit = u32::try_from(most).unwrap_or(u32::MAX).min(REACH);
        Ok(Seen {
            woken: thread.map_or(0, |row| row.woken),
            told: self.tell(told).await?,
            due: store.statements_due(space, time::now(), limit).await?,
        })
    }

    /// Returns the events of a rest: up to where all is done, and when something is due again.
    async fn rest(&self, woken: Seq, told: Seq) -> Stored<Vec<Draft>> {
        let (Journal { store, space, .. }, now) = (self.journal, time::now());
        let soon = now.after(self.trials.rules().retry_micros.max(1_000_000));
        let free = self.trials.allowance.free_at(space, now);
        // What is due and was overtaken again and again waits, too.
        let is_overtaken = !store.statements_due(space, now, 1).await?.is_empty();
        let next = match free {
            Some(free) => Some(free),
            None if is_overtaken => Some(soon),
            None => {
                let retest = self.trials.kept(space, |kept| kept.next_retest);
                let due = store.next_statement_due(space, now).await?.into_iter();
                due.chain(retest.filter(|next| *next > now)).min()
            }
        };
        let timer = next.map(|due| {
            let timer = Timer {
                due,
                note: "statements are to be tried again".to_owned(),
                set: Some(now),
            };
            Draft::set(&self.row.thread, RETRY, Change::Timer(Some(timer)))
        });
        let spent = match free {
            Some(until) if !allowance::is_said(self.journal, now).await? => {
                Some(Draft::trials(Said::Spent(until)))
            }
            _ => None,
        };
        let told = Some(told);
        let rested = Draft::trials(Said::Rested {
            handled: woken,
            told,
        });
        Ok(timer.into_iter().chain(spent).chain([rested]).collect())
    }

    /// The rules, with the instruments that there are for this statement.
    pub async fn rules(&self, on: &OnTrial) -> Stored<Rules> {
        let mut rules = self.trials.rules();
        // People are not asked of the server's own accord.
        if !on.trial.is_retest && self.has_people_for(&on.row).await? {
            rules.available.insert(Instrument::User);
        }
        Ok(rules)
    }

    /// Appends something about a statement with the records of the calls for it, and takes it into
    /// its fold. What changed a statement meanwhile and leaves its trial as it was, as another
    /// source does, is in nobody's way.
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
    pub async fn is_as_before(&self, on: &mut OnTrial) -> Stored<bool> {
        // The row before the fold: what is said between the two is in the way again.
        let Some(row) = self.journal.statement(&on.row.id).await? else {
            return Ok(false);
        };
        on.row = row;
        Ok(self.journal.folded(&on.row.id).await? == on.trial)
    }
}
