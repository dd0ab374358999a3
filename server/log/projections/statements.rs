//! Statements of the world model, as they stand now. There is no other way into this table than the events of trials.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use super::{Change, Projection};
use crate::columns::unreadable;
use crate::error::{StoreError, Stored};
use crate::kernel::Store;
use crate::migrations::{Migration, migration};
use crate::seen::Seen;
use crate::select::Select;
use crate::shown::json;
use crate::table::{Cell, Row, Table, integer, integer_or_null, text};
use thinkd_event::condition::{Condition, Room};
use thinkd_event::draft::Draft;
use thinkd_event::entity::{Names, normal};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::statement::Said;
use thinkd_event::statement::{
    Claimant, Instrument, Judged, Outcome, Source, Status, Triple, Valid, cut, folded,
};
use thinkd_event::trial::News;
use thinkd_event::word::word_of;
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::text::sha256;
use thinkd_words::time::Timestamp;

/// Characters of a name by which it is compared: an index has room for these.
const KEY_MAX: usize = 200;

/// Statements by the time of their trial.
mod due;
pub mod grounds;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementRow {
    /// Its id: that of the event that claimed it.
    pub id: String,
    /// The position of that event.
    pub number: Seq,
    /// The thread that claimed it.
    pub thread: ThreadId,
    /// Its text.
    pub text: String,
    /// The same as an edge of a graph, if it is one.
    pub triple: Option<Triple>,
    /// When it is said to hold.
    pub valid: Valid,
    /// Its status.
    pub status: Status,
    /// The last word on it; none: there was none yet.
    pub judged: Option<Judged>,
    /// When it is tried; none: it is not.
    pub due: Option<Timestamp>,
    /// When it was tried last.
    pub tested: Option<Timestamp>,
    /// The statements that it is derived from.
    pub premises: Vec<String>,
    /// Its sources.
    pub sources: Vec<Source>,
    /// When it was claimed.
    pub claimed: Timestamp,
    /// The event that changed it last.
    pub changed: Seq,
}

impl StatementRow {
    /// Returns the person with the word on which it is held, or recalled without being held; others
    /// may have said it, too. None: it is on no word, or an instrument carries it.
    pub fn word(&self) -> Option<&Claimant> {
        let judged = self.judged.as_ref().map(|judged| judged.carried.as_slice());
        let carried = judged.or_else(|| (!self.status.is_held()).then_some([].as_slice()))?;
        word_of(self.status, carried, &self.sources)
    }

    /// Returns true if it is held, or recalled, on the word of this person, perhaps among others.
    pub fn is_word_of(&self, by: &Claimant) -> bool {
        let said = || self.sources.iter().any(|it| it.word && it.by == *by);
        self.word().is_some_and(|first| first == by || said())
    }

    /// Returns true if it is held, or recalled, on the word of this person alone.
    pub fn is_word_of_none_but(&self, by: &Claimant) -> bool {
        let of_others = |it: &Source| it.word && it.by != *by;
        self.word() == Some(by) && !self.sources.iter().any(of_others)
    }

    /// Returns the condition that it is as it was looked at.
    pub fn stands(&self) -> Condition {
        Condition::StatementAt {
            id: self.id.clone(),
            changed: self.changed,
        }
    }

    /// Returns a word on it, stored if it is as it was looked at.
    pub fn becomes(&self, judged: Judged) -> Draft {
        let word = Draft::statement(&self.thread, &self.id, News::Judged(judged));
        word.only_if(self.stands())
    }

    /// Returns true if a person's word alone holds it: such a statement is no ground for others.
    pub fn is_held_on_word(&self) -> bool {
        self.status.is_held() && self.word().is_some()
    }
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: None,
    migrations: &MIGRATIONS,
    fold,
};

static MIGRATIONS: [Migration; 4] = [
    migration!("0016_statements"),
    migration!("0017_recall"),
    migration!("0022_retests"),
    migration!("0024_ground"),
];

static TABLE: Table = Table {
    name: "statements",
    key: &[text("space"), text("id")],
    rest: &[
        integer("number"),
        text("thread"),
        text("claim"),
        text("folded"),
        text("subject"),
        text("relation"),
        text("object"),
        text("triple"),
        integer_or_null("single"),
        integer_or_null("valid_from"),
        integer_or_null("valid_to"),
        text("status"),
        text("judged"),
        integer_or_null("due"),
        integer_or_null("tested"),
        text("premises"),
        integer_or_null("derived"),
        text("sources"),
        integer("claimed"),
        integer("changed"),
    ],
    words: None,
};

type Cells = Vec<(&'static str, Cell)>;

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let Fact::Statement(fact) = fact else {
        return None;
    };
    let row = |cells: Cells| -> Row {
        let key = [("space", Cell::from(space)), ("id", fact.statement.into())];
        key.into_iter()
            .chain(cells)
            .chain([("changed", event.seq.into())])
            .collect()
    };
    let alter = |cells: Cells| Change::Alter(row(cells));
    let news = match &fact.what {
        Said::Sourced(sources) => return Some(alter(vec![("sources", list(sources))])),
        Said::Grounded(premises) => return Some(alter(ground(premises, event.seq).into())),
        Said::News(news) => &**news,
    };
    Some(match news {
        News::Claimed(claim) => {
            let mut cells: Cells = vec![
                ("number", event.seq.into()),
                ("thread", (&event.thread).into()),
                ("claim", claim.text.clone().into()),
                ("folded", saying(&claim.text).into()),
                ("status", Status::Proposed.as_str().into()),
                ("judged", "".into()),
                ("due", event.ts.into()),
                ("tested", Cell::Null),
                ("sources", list(&[&claim.source])),
                ("claimed", event.ts.into()),
            ];
            cells.extend(ground(&claim.premises, event.seq));
            cells.extend(edge(None).into_iter().chain(times(Valid::default())));
            Change::Put(row(cells))
        }
        News::Derived(derived) => {
            let edge = edge(derived.triple.as_ref()).into_iter();
            alter(edge.chain(times(derived.valid)).collect())
        }
        // Until somebody has answered there is nothing to do, and then at once.
        News::Read(reading) => {
            let answered = (reading.instrument == Instrument::User).then_some(event.ts);
            let due = reading.until.or(answered).into_iter();
            alter(due.map(|due| ("due", due.into())).collect())
        }
        News::Judged(judged) => match judged.outcome {
            Outcome::Refused | Outcome::Joined => Change::Remove(row(Vec::new())),
            Outcome::Is(status) => {
                let mut cells: Cells = vec![
                    ("status", status.as_str().into()),
                    ("judged", json(judged).unwrap_or_default().into()),
                    ("due", judged.due.map(Timestamp::micros).into()),
                ];
                cells.extend(times(judged.valid));
                cells.extend(judged.tried.then(|| ("tested", event.ts.into())));
                alter(cells)
            }
        },
    })
}

fn list<T: serde::Serialize>(of: &[T]) -> Cell {
    json(&of).unwrap_or_default().into()
}

/// A statement as an edge of a graph; empty: it is none.
fn edge(triple: Option<&Triple>) -> [(&'static str, Cell); 5] {
    let of = |key: fn(&Triple) -> String| Cell::from(triple.map(key).unwrap_or_default());
    [
        ("subject", of(|it| key(&normal(&it.subject)))),
        ("relation", of(|it| key(&folded(&it.relation)))),
        ("object", of(|it| key(&normal(&it.object)))),
        ("triple", of(|it| json(it).unwrap_or_default())),
        ("single", triple.map(|it| i64::from(it.single)).into()),
    ]
}

/// Returns the premises of a statement, and the event that named them; null: it has none.
fn ground(premises: &[String], said: Seq) -> [(&'static str, Cell); 2] {
    let is_derived = !premises.is_empty();
    let named = is_derived.then(|| list(premises));
    [
        ("premises", named.unwrap_or("".into())),
        ("derived", is_derived.then_some(said).into()),
    ]
}

pub(super) fn times(valid: Valid) -> [(&'static str, Cell); 2] {
    [
        ("valid_from", valid.from.map(Timestamp::micros).into()),
        ("valid_to", valid.to.map(Timestamp::micros).into()),
    ]
}

/// A name as it is compared in the table, by its normal form.
fn key(form: &str) -> String {
    cut(form, KEY_MAX)
}

/// A statement as it is compared in the table.
fn saying(text: &str) -> String {
    sha256(folded(text).as_bytes())
}

pub(super) fn status_of(row: &Row) -> Stored<Status> {
    let status = row.text("status")?;
    Status::parse(status)
        .ok_or_else(|| unreadable(format!("{status:?} is no status of a statement")))
}

/// When a row says that a statement holds.
pub(super) fn valid_of(row: &Row) -> Stored<Valid> {
    Ok(Valid {
        from: time(row, "valid_from")?,
        to: time(row, "valid_to")?,
    })
}

fn time(row: &Row, column: &str) -> Stored<Option<Timestamp>> {
    Ok(row.integer_or_null(column)?.map(Timestamp::from_micros))
}

/// Returns the value of a column with JSON, if it is not empty.
pub(super) fn filled<T: DeserializeOwned>(row: &Row, column: &str) -> Stored<Option<T>> {
    let is_empty = row.text(column)?.is_empty();
    (!is_empty).then(|| row.json(column)).transpose()
}

fn read(row: &Row) -> Stored<StatementRow> {
    Ok(StatementRow {
        id: row.text("id")?.to_owned(),
        number: row.integer("number")?,
        thread: row.thread("thread")?,
        text: row.text("claim")?.to_owned(),
        triple: filled(row, "triple")?,
        valid: valid_of(row)?,
        status: status_of(row)?,
        judged: filled(row, "judged")?,
        due: time(row, "due")?,
        tested: time(row, "tested")?,
        premises: filled(row, "premises")?.unwrap_or_default(),
        sources: row.json("sources")?,
        claimed: row.time("claimed")?,
        changed: row.integer("changed")?,
    })
}

/// Returns the rows that an append has to read to know the present state of a statement.
pub(crate) fn of_id(space: &Space, id: &str) -> Select {
    Select::of(&TABLE, space).equal("id", id)
}

/// Returns true if a statement is there, and nothing has become of it since that event.
pub(crate) fn is_at(seen: Seen<'_>, space: &Space, id: &str, changed: Seq) -> bool {
    let row = seen.row(&(&TABLE, vec![Cell::from(space), Cell::from(id)]));
    row.is_some_and(|row| *row.cell("changed") == Cell::from(changed))
}

/// Returns the rows that an append has to read to know whether a statement says this already.
pub(crate) fn saying_so(space: &Space, text: &str) -> Select {
    let columns = &["space", "id", "folded", "status", "changed"];
    Select::of(&TABLE, space)
        .equal("folded", saying(text))
        .distinct(columns)
}

/// Returns true if no statement of a space says this, save those that have ended.
pub(crate) fn is_first(seen: Seen<'_>, space: &Space, text: &str) -> bool {
    let folded = Cell::from(saying(text));
    let says_so = |row: Cow<'_, Row>| {
        row.has("folded")
            && *row.cell("folded") == folded
            && *row.cell("status") != Cell::from(Status::Ended.as_str())
    };
    !seen.rows(&TABLE, space).any(says_so)
}

/// Returns the rows that an append has to read to know whether so many statements are to be tried.
pub(crate) fn waiting(space: &Space, most: u32) -> Select {
    let columns = &["space", "id", "due", "status", "changed"];
    Select::of(&TABLE, space)
        .at_least("due", 0)
        .distinct(columns)
        .order_by(&["due"])
        .first(most)
}

/// Returns true if fewer than `most` are to be tried; one that is known in part counts.
pub(crate) fn has_room(seen: Seen<'_>, space: &Space, most: u32) -> bool {
    let is_waiting = |row: &Cow<'_, Row>| !row.has("due") || *row.cell("due") != Cell::Null;
    let waiting = seen.rows(&TABLE, space).filter(is_waiting);
    waiting.take(most as usize).count() < most as usize
}

/// A question for statements.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Of this status.
    pub status: Option<Status>,
    /// About this subject, in the normal form of a name (`event/entity.rs`).
    pub subject: Option<String>,
    /// Of this relation.
    pub relation: Option<String>,
    /// With this object, in the normal form of a name.
    pub object: Option<String>,
    /// Of a relation that has one object at a time, or of one that may have many.
    pub single: Option<bool>,
    /// Claimed behind this position.
    pub after: Seq,
    /// At most so many.
    pub limit: u32,
}

impl Asked {
    /// Returns the question for all of a status.
    pub fn of(status: Status) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    /// Returns the same question about the subject and the relation of a triple, by every name of
    /// the subject.
    pub fn about(&self, triple: &Triple, names: &Names) -> Vec<Self> {
        let about = |form| Self {
            subject: Some(form),
            relation: Some(triple.relation.clone()),
            ..self.clone()
        };
        let forms = names.forms(&triple.subject).into_iter();
        forms.map(about).collect()
    }
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// One statement.
    pub async fn statement(&self, space: &Space, id: &str) -> Stored<Option<StatementRow>> {
        self.read_first(of_id(space, id), read).await
    }

    /// Statements in the order in which they were claimed.
    pub async fn statements(&self, space: &Space, asked: &Asked) -> Stored<Vec<StatementRow>> {
        let relation = asked.relation.as_deref().map(folded);
        let name = |name: &Option<String>| name.as_deref().map(|name| Cell::from(key(name)));
        let equal = [
            ("subject", name(&asked.subject)),
            ("relation", name(&relation)),
            ("object", name(&asked.object)),
            ("single", asked.single.map(|it| i64::from(it).into())),
            ("status", asked.status.map(|it| it.as_str().into())),
        ];
        let mut select = Select::of(&TABLE, space);
        for (column, cell) in equal {
            if let Some(cell) = cell {
                select = select.equal(column, cell);
            }
        }
        let select = select.after("number", asked.after).order_by(&["number"]);
        self.read(select.first(asked.limit), read).await
    }

    /// Statements that changed behind a position, in the order in which they did; at most `limit`.
    pub async fn statements_changed(
        &self,
        space: &Space,
        after: Seq,
        limit: u32,
    ) -> Stored<Vec<StatementRow>> {
        let select = Select::of(&TABLE, space)
            .after("changed", after)
            .order_by(&["changed"])
            .first(limit);
        self.read(select, read).await
    }

    /// Statements with the same text, in the order in which they were claimed; at most `limit`.
    pub async fn statements_saying(
        &self,
        space: &Space,
        text: &str,
        limit: u32,
    ) -> Stored<Vec<StatementRow>> {
        let select = Select::of(&TABLE, space)
            .equal("folded", saying(text))
            .order_by(&["number"])
            .first(limit);
        self.read(select, read).await
    }

    /// Returns statements of a status that were tested at this time or later, the earliest test
    /// first; at most `limit`.
    pub async fn statements_by_age(
        &self,
        space: &Space,
        status: Status,
        since: Timestamp,
        limit: u32,
    ) -> Stored<Vec<StatementRow>> {
        let select = Select::of(&TABLE, space)
            .equal("status", status.as_str())
            .at_least("tested", since)
            .order_by(&["tested", "number"])
            .first(limit);
        self.read(select, read).await
    }

    /// Returns the room for one more claim where at most `most` wait, by two rows.
    pub async fn room_for_claim(&self, space: &Space, most: u32) -> Stored<Room> {
        let waiting = Select::of(&TABLE, space)
            .at_least("due", 0)
            .only(&["due"])
            .order_by(&["due"]);
        let wait = async |count: u32| {
            let Some(behind) = count.checked_sub(1) else {
                return Ok::<_, StoreError>(true);
            };
            let next = self.select(waiting.clone().behind(behind)).await?;
            Ok(!next.is_empty())
        };
        Ok(match wait(most.saturating_sub(Room::AMPLE)).await? {
            false => Room::Ample,
            true if wait(most).await? => Room::None,
            true => Room::Scarce,
        })
    }

    /// The spaces that have statements.
    pub async fn spaces_with_statements(&self) -> Stored<Vec<Space>> {
        let select = Select::of_all_spaces(&TABLE).distinct(&["space"]);
        self.read(select, |row| row.space("space")).await
    }
}
