//! A session reads the world model, claims something for it, and withdraws what is in it.

use std::collections::HashMap;

use super::handle::{Error, Session};
use super::right::Right;
use crate::event::entity::{Names, normal};
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::statement::{Said, StatementFact};
use crate::event::method::{Value, current};
use crate::event::statement::{
    AGAINST_MAX, Claim, Claimant, Instrument, Judged, Outcome, Source, Status, Triple, Valid,
    folded,
};
use crate::event::trial::News;
use crate::event::word::{is_of_self, word_of};
use crate::log::projections::statements::{Asked, StatementRow};
use crate::log::words;
use crate::runtime::refused::Refused;
use crate::tools::word::counts;
use crate::words::id::{Seq, ThreadId};
use crate::words::time::Timestamp;

/// How many statements are looked at at once, and how often, for one page: others stand between those that are asked for.
const SCAN: u32 = 500;
const SCANS_MAX: usize = 20;
/// Statements about the same that are looked at for what contradicts one.
const RIVALS: u32 = 1000;

/// Which statements are asked for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Of this status.
    pub status: Option<Status>,
    /// About this, or with this as their object.
    pub entity: Option<String>,
    /// Of this relation.
    pub relation: Option<String>,
    /// With these words.
    pub text: Option<String>,
    /// What held at this time, as far as it is held.
    pub at: Option<Timestamp>,
    /// As they were when this event was the last one.
    pub as_of: Option<Seq>,
}

/// A statement as it is shown.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The statement.
    pub row: StatementRow,
    /// The first of those that contradict it and are held, too.
    pub against: Vec<String>,
    /// How many there are, counted up to 1000.
    pub against_count: usize,
    /// The instruments that carried it.
    pub carried: Vec<Instrument>,
    /// The person on whose word alone it is recalled.
    pub said_by: Option<String>,
}

impl Shown {
    /// One that nothing contradicts.
    pub fn alone(row: StatementRow) -> Self {
        let said_by = row.word().map(|by| by.shown().to_owned());
        let carried = row
            .judged
            .as_ref()
            .map(|judged| judged.carried.clone())
            .unwrap_or_default();
        Self {
            row,
            against: Vec::new(),
            against_count: 0,
            carried,
            said_by,
        }
    }
}

/// Something to be claimed.
#[derive(Debug, Clone)]
pub struct NewClaim {
    /// The statement.
    pub text: String,
    /// The thread that it belongs to.
    pub thread: ThreadId,
    /// The words that it rests on.
    pub quote: Option<String>,
    /// The statements that it is derived from.
    pub premises: Vec<String>,
}

impl Session {
    /// Claims something: it is tried, beside everything else, or held on its claimant's word. Returns its id and its status.
    pub async fn claim(&self, new: NewClaim) -> Result<(String, Status), Error> {
        let trials = &self.kinds(Right::Speak)?.trials;
        let NewClaim {
            text,
            thread,
            quote,
            premises,
        } = new;
        let store = self.store(Right::Read)?;
        if !thread.is_main() && store.thread(self.space(), &thread).await?.is_none() {
            return Err(Refused::NotFound(format!("thread {thread}")).into());
        }
        for id in &premises {
            if store.statement(self.space(), id).await?.is_none() {
                return Err(Refused::NotFound(format!("statement {id}")).into());
            }
        }
        let by = Claimant::User {
            name: self.user().map(str::to_owned),
        };
        let word = premises.is_empty()
            && is_of_self(&text, &by, true)
            && counts(&**store, self.space(), &by).await?;
        let source = Source {
            by,
            seqs: Vec::new(),
            quote,
            word,
        };
        Ok(trials
            .claim(
                self.space(),
                &thread,
                Claim {
                    text,
                    source,
                    premises,
                    root: None,
                },
            )
            .await?)
    }

    /// Withdraws a statement without a trial. Members withdraw their own word.
    pub async fn retract(&self, id: &str, reason: String) -> Result<StatementRow, Error> {
        let trials = &self.kinds(Right::Speak)?.trials;
        let row = self.store(Right::Read)?.statement(self.space(), id).await?;
        let name = self.user().map(str::to_owned);
        let own = Claimant::User { name };
        let is_own =
            |row: &StatementRow| row.word() == Some(&own) && is_of_self(&row.text, &own, true);
        if row.is_some_and(|row| !is_own(&row)) {
            self.require(Right::Shape)?;
        }
        let by = self.user().unwrap_or(self.principal().role.as_str());
        Ok(trials.retract(self.space(), id, reason, by).await?)
    }

    /// One statement, and what the log has of it.
    pub async fn statement(&self, id: &str) -> Result<Option<(StatementRow, Vec<Event>)>, Error> {
        let Some(row) = self.store(Right::Read)?.statement(self.space(), id).await? else {
            return Ok(None);
        };
        let events = self
            .kinds(Right::Read)?
            .trials
            .events(self.space(), id)
            .await?;
        Ok(Some((row, events)))
    }

    /// What became of a claim that is no statement, if it was claimed.
    pub async fn fate(&self, id: &str) -> Result<Option<Judged>, Error> {
        let events = self
            .kinds(Right::Read)?
            .trials
            .events(self.space(), id)
            .await?;
        let judged = events.iter().rev().find_map(|event| match event.fact() {
            Fact::Statement(StatementFact {
                statement,
                what: Said::News(news),
            }) if statement == id => match *news {
                News::Judged(judged) => Some(judged),
                _ => None,
            },
            _ => None,
        });
        Ok(judged.filter(|judged| matches!(judged.outcome, Outcome::Refused | Outcome::Joined)))
    }

    /// Statements with what contradicts them, as it was when this event was the last one: it is found by structure, once for all about the same.
    pub async fn shown(
        &self,
        rows: Vec<StatementRow>,
        as_of: Option<Seq>,
    ) -> Result<Vec<Shown>, Error> {
        let mut known: HashMap<(String, String, bool), Vec<(String, Value)>> = HashMap::new();
        let names = match rows.iter().any(|row| row.status == Status::Contested) {
            true => self.store(Right::Read)?.names(self.space(), as_of).await?,
            false => Names::default(),
        };
        let mut all = Vec::new();
        for row in rows {
            let mut shown = Shown::alone(row);
            let row = &shown.row;
            if let Some(as_of) = as_of.filter(|as_of| row.changed > *as_of) {
                let standing = self
                    .store(Right::Read)?
                    .standing(self.space(), &row.id, as_of)
                    .await?;
                shown.carried = standing
                    .map(|standing| standing.carried)
                    .unwrap_or_default();
                let word = word_of(shown.row.status, &shown.carried, &shown.row.sources);
                shown.said_by = word.map(|by| by.shown().to_owned());
            }
            let row = &shown.row;
            let triple = row
                .triple
                .as_ref()
                .filter(|_| row.status == Status::Contested);
            let Some(triple) = triple else {
                all.push(shown);
                continue;
            };
            let about = (
                names.resolve(&triple.subject),
                folded(&triple.relation),
                triple.single,
            );
            if !known.contains_key(&about) {
                known.insert(about.clone(), self.held_about(triple, as_of, &names).await?);
            }
            let own = Value::of(triple, row.valid);
            let others = known.get(&about).into_iter().flatten();
            let against =
                others.filter(|(id, other)| *id != row.id && own.contradicts(other, &names));
            let first = against
                .clone()
                .take(AGAINST_MAX)
                .map(|(id, _)| id.clone())
                .collect();
            let count = against.count();
            (shown.against, shown.against_count) = (first, count);
            all.push(shown);
        }
        Ok(all)
    }

    /// What may contradict a triple and is held, or was then.
    async fn held_about(
        &self,
        triple: &Triple,
        as_of: Option<Seq>,
        names: &Names,
    ) -> Result<Vec<(String, Value)>, Error> {
        let (store, relation) = (self.store(Right::Read)?, Some(triple.relation.clone()));
        let (single, status) = (
            (!triple.single).then_some(true),
            as_of.is_none().then_some(Status::Contested),
        );
        let asked = Asked {
            relation,
            single,
            status,
            limit: RIVALS,
            ..Asked::default()
        };
        let (mut rows, mut held) = (Vec::new(), Vec::new());
        for form in names.forms(&triple.subject) {
            rows.extend(
                store
                    .statements(
                        self.space(),
                        &Asked {
                            subject: Some(form),
                            ..asked.clone()
                        },
                    )
                    .await?,
            );
        }
        rows.sort_by_key(|row| row.number);
        rows.truncate(RIVALS as usize);
        for row in rows {
            let Some(row) = self
                .then(row, as_of)
                .await?
                .filter(|row| row.status.is_held())
            else {
                continue;
            };
            let value = row
                .triple
                .as_ref()
                .map(|triple| Value::of(triple, row.valid));
            held.extend(value.map(|value| (row.id, value)));
        }
        Ok(held)
    }

    /// Statements in the order in which they were claimed, from behind a position; and where the next ones would begin, if there may be any.
    pub async fn statements(
        &self,
        wanted: &Wanted,
        after: Seq,
        limit: usize,
    ) -> Result<(Vec<StatementRow>, Option<Seq>), Error> {
        let names = match wanted.entity {
            Some(_) => {
                self.store(Right::Read)?
                    .names(self.space(), wanted.as_of)
                    .await?
            }
            None => Names::default(),
        };
        if let (Some(at), Some(_), Some(_)) = (wanted.at, &wanted.entity, &wanted.relation) {
            return Ok((self.values(wanted, at, &names).await?, None));
        }
        let (mut found, mut after) = (Vec::new(), after);
        for _ in 0..SCANS_MAX {
            let rows = self.scanned(wanted, after, &names).await?;
            let full = rows.len() >= SCAN as usize;
            for row in rows {
                after = row.number;
                found.extend(self.as_wanted(wanted, row).await?);
                if found.len() == limit {
                    return Ok((found, Some(after)));
                }
            }
            if !full {
                return Ok((found, None));
            }
        }
        Ok((found, Some(after)))
    }

    /// The values that something has of a relation at a time: of a single-valued relation the newest.
    async fn values(
        &self,
        wanted: &Wanted,
        at: Timestamp,
        names: &Names,
    ) -> Result<Vec<StatementRow>, Error> {
        let (mut found, mut after) = (Vec::new(), 0);
        for _ in 0..SCANS_MAX {
            let rows = self.scanned(wanted, after, names).await?;
            let full = rows.len() >= SCAN as usize;
            for row in rows {
                after = row.number;
                found.extend(self.as_wanted(wanted, row).await?);
            }
            if !full {
                break;
            }
        }
        let is_single = |row: &StatementRow| {
            row.triple
                .as_ref()
                .is_some_and(|triple: &Triple| triple.single)
        };
        // What it is the object of is another question.
        let (mut subjects, objects): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|row| is_about(row, wanted, names));
        subjects = current(subjects, |row| (is_single(row), row.valid), at);
        subjects.extend(objects);
        subjects.sort_by_key(|row| row.number);
        Ok(subjects)
    }

    /// Statements that may be wanted, as they are now.
    async fn scanned(
        &self,
        wanted: &Wanted,
        after: Seq,
        names: &Names,
    ) -> Result<Vec<StatementRow>, Error> {
        let store = self.store(Right::Read)?;
        // What was of another status then may be of this one now, and the other way round.
        let status = wanted.status.filter(|_| wanted.as_of.is_none());
        let relation = wanted.relation.clone();
        let asked = Asked {
            status,
            relation,
            after,
            limit: SCAN,
            ..Asked::default()
        };
        let Some(entity) = &wanted.entity else {
            return Ok(store.statements(self.space(), &asked).await?);
        };
        let mut rows = Vec::new();
        for form in names.asked(entity) {
            let subject = Asked {
                subject: Some(form.clone()),
                ..asked.clone()
            };
            let object = Asked {
                object: Some(form),
                ..asked.clone()
            };
            rows.extend(store.statements(self.space(), &subject).await?);
            rows.extend(store.statements(self.space(), &object).await?);
        }
        rows.sort_by_key(|row| row.number);
        rows.dedup_by(|one, other| one.id == other.id);
        // Of lists that are cut only what all reach is whole.
        rows.truncate(SCAN as usize);
        Ok(rows)
    }

    /// A statement as it was then; none: it had not been claimed.
    async fn then(
        &self,
        mut row: StatementRow,
        as_of: Option<Seq>,
    ) -> Result<Option<StatementRow>, Error> {
        if let Some(as_of) = as_of.filter(|as_of| row.changed > *as_of) {
            let Some(standing) = self
                .store(Right::Read)?
                .standing(self.space(), &row.id, as_of)
                .await?
            else {
                return Ok(None);
            };
            // What was said of it later was not known then.
            (row.status, row.valid, row.judged, row.due) =
                (standing.status, standing.valid, None, None);
        }
        Ok(Some(row))
    }

    /// A statement as it was then, if it is wanted.
    async fn as_wanted(
        &self,
        wanted: &Wanted,
        row: StatementRow,
    ) -> Result<Option<StatementRow>, Error> {
        let Some(row) = self.then(row, wanted.as_of).await? else {
            return Ok(None);
        };
        let valid: &Valid = &row.valid;
        let is_wanted = wanted.status.is_none_or(|status| row.status == status)
            && wanted
                .at
                .is_none_or(|at| row.status.is_held() && valid.is_at(at) || is_past(&row, at))
            && wanted
                .text
                .as_ref()
                .is_none_or(|text| words::matches(text, &row.text));
        Ok(is_wanted.then_some(row))
    }
}

/// Whether a statement that is not so any more was so then.
fn is_past(row: &StatementRow, at: Timestamp) -> bool {
    row.status == Status::Ended && row.valid.is_at(at)
}

fn is_about(row: &StatementRow, wanted: &Wanted, names: &Names) -> bool {
    let forms = wanted
        .entity
        .as_deref()
        .map(|entity| names.asked(entity))
        .unwrap_or_default();
    row.triple
        .as_ref()
        .is_some_and(|it| forms.contains(&normal(&it.subject)))
}
