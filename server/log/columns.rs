//! The meaning of the databases' columns: from rows to values and back.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use uuid::Uuid;

use super::change::Spent;
use super::error::StoreError;
use super::shown::{Parts, Written};
use super::status::Status;
use super::thread_row::{ThreadRow, Wait};
use super::thread_state::ThreadState;
use thinkd_event::envelope::{Event, Meta, Modality, Source};
use thinkd_words::id::{Name, Seq, Space, ThreadId};
use thinkd_words::time::Timestamp;

macro_rules! event_columns {
    () => {
        "e.seq, e.event_id, e.ts, e.thread, e.source, e.modality, e.payload, e.tags"
    };
}
macro_rules! thread_columns {
    () => {
        "thread, settings, status, head, woken, handled, turn, visible, heard, self_messages, model_calls, tokens, \
         standing, created, updated"
    };
}
/// Selects the rows of threads, with their spaces.
macro_rules! select_threads {
    ($where:literal) => {
        concat!(
            "select space, ",
            crate::columns::thread_columns!(),
            " from threads ",
            $where
        )
    };
}
pub(super) use {event_columns, select_threads, thread_columns};

pub(super) type EventColumns = (i64, Uuid, i64, String, String, String, String, String);
/// An event's columns after its space.
pub(super) type PlacedColumns = (
    String,
    i64,
    Uuid,
    i64,
    String,
    String,
    String,
    String,
    String,
);
pub(super) type SpentColumns = (i64, i64, i64);

/// A thread's columns. They are read by name (a row of a database), or by their order (an array that Postgres made of them).
#[derive(Debug, serde::Deserialize)]
pub(super) struct ThreadColumns {
    pub space: String,
    pub thread: String,
    settings: String,
    status: String,
    head: i64,
    woken: i64,
    handled: i64,
    turn: i64,
    visible: i64,
    heard: i64,
    self_messages: i64,
    model_calls: i64,
    tokens: i64,
    standing: String,
    created: i64,
    updated: i64,
}

impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for ThreadColumns
where
    &'static str: sqlx::ColumnIndex<R>,
    String: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
    i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        Ok(Self {
            space: row.try_get("space")?,
            thread: row.try_get("thread")?,
            settings: row.try_get("settings")?,
            status: row.try_get("status")?,
            head: row.try_get("head")?,
            woken: row.try_get("woken")?,
            handled: row.try_get("handled")?,
            turn: row.try_get("turn")?,
            visible: row.try_get("visible")?,
            heard: row.try_get("heard")?,
            self_messages: row.try_get("self_messages")?,
            model_calls: row.try_get("model_calls")?,
            tokens: row.try_get("tokens")?,
            standing: row.try_get("standing")?,
            created: row.try_get("created")?,
            updated: row.try_get("updated")?,
        })
    }
}

pub(super) fn unreadable(what: impl std::fmt::Display) -> StoreError {
    StoreError::Broken(format!("what is stored cannot be read: {what}"))
}

/// Returns the rows that can be read; the others are logged. For rounds that serve all spaces: bad
/// rows of one space cost the others nothing.
pub(super) fn readable<T>(rows: impl Iterator<Item = Result<T, StoreError>>) -> Vec<T> {
    rows.filter_map(|row| {
        row.inspect_err(|error| tracing::warn!(%error, "a row is left out"))
            .ok()
    })
    .collect()
}

pub(super) fn parse<'a, T: serde::Deserialize<'a>>(json: &'a str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(unreadable)
}

/// Rows that Postgres has put into JSON, each an array of its columns.
pub(super) fn from_json<T: serde::de::DeserializeOwned>(
    rows: Option<String>,
) -> Result<Vec<T>, StoreError> {
    rows.map_or(Ok(Vec::new()), |rows| parse(&rows))
}

fn count<T: TryFrom<i64>>(number: i64) -> Result<T, StoreError> {
    T::try_from(number).map_err(|_| unreadable(format_args!("{number} where a count belongs")))
}

/// A count as the databases keep it.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn space(text: impl AsRef<str>) -> Result<Space, StoreError> {
    Space::parse(text.as_ref()).map_err(unreadable)
}

pub(super) fn name(text: impl AsRef<str>) -> Result<Name, StoreError> {
    Name::parse(text.as_ref()).map_err(unreadable)
}

pub(super) fn thread_id(text: impl AsRef<str>) -> Result<ThreadId, StoreError> {
    ThreadId::parse(text.as_ref()).map_err(unreadable)
}

pub(super) fn event(columns: EventColumns) -> Result<Event, StoreError> {
    let (seq, event_id, ts, thread, source, modality, payload, tags) = columns;
    Ok(Event {
        event_id,
        ts: Timestamp::from_micros(ts),
        source: Source::parse(&source).ok_or_else(|| unreadable(source))?,
        modality: Modality::parse(&modality).ok_or_else(|| unreadable(modality))?,
        payload: parse(&payload)?,
        meta: Meta {
            tags: parse(&tags)?,
        },
        thread: thread_id(thread)?,
        seq,
    })
}

/// An event that this build cannot read: where it stands, its thread if that can be read, and why.
pub(super) struct Unreadable {
    pub seq: Seq,
    pub thread: ThreadId,
    pub why: StoreError,
}

/// Seqs and threads, until a thread's name cannot be read.
pub(super) fn threads(rows: Vec<(i64, String)>) -> Vec<(Seq, ThreadId)> {
    rows.into_iter()
        .map_while(|(seq, thread)| Some((seq, ThreadId::parse(&thread).ok()?)))
        .collect()
}

/// Returns an event, or the reason why it cannot be read.
pub(super) fn event_or_why(columns: EventColumns) -> Result<Event, Unreadable> {
    let seq = columns.0;
    let thread = ThreadId::parse(&columns.3).unwrap_or_default();
    event(columns).map_err(|why| Unreadable { seq, thread, why })
}

/// Returns an event's JSON, if it can be read: an event that cannot be read does not hide those
/// behind it.
pub(super) fn written(columns: EventColumns) -> Written {
    let seq = columns.0;
    let json = written_json(columns)
        .inspect_err(|error| tracing::warn!(%error, seq, "an event is left out of a page"));
    Written {
        seq,
        json: json.ok(),
    }
}

/// Returns an event's JSON; the parts that are stored as JSON are taken over as they are.
fn written_json(columns: EventColumns) -> Result<Box<RawValue>, StoreError> {
    let (seq, event_id, ts, thread, source, modality, payload, tags) = columns;
    let source = Source::parse(&source).ok_or_else(|| unreadable(source))?;
    let modality = Modality::parse(&modality).ok_or_else(|| unreadable(modality))?;
    let payload = parse::<&RawValue>(&payload)?;
    let tags = parse::<&RawValue>(&tags)?;
    let ts = Timestamp::from_micros(ts);
    let thread = &thread_id(thread)?;
    let parts = Parts {
        event_id,
        ts,
        source,
        modality,
        payload,
        meta: Tags { tags },
        thread,
        seq,
    };
    to_raw_value(&parts).map_err(unreadable)
}

/// An event's tags, written already.
#[derive(serde::Serialize)]
struct Tags<'a> {
    tags: &'a RawValue,
}

pub(super) fn thread(columns: ThreadColumns) -> Result<ThreadRow, StoreError> {
    Ok(ThreadRow {
        thread: thread_id(&columns.thread)?,
        settings: parse::<Value>(&columns.settings)?,
        status: Status::parse(&columns.status).ok_or_else(|| unreadable(&columns.status))?,
        head: columns.head,
        woken: columns.woken,
        handled: columns.handled,
        turn: count(columns.turn)?,
        visible: count(columns.visible)?,
        heard: count(columns.heard)?,
        self_messages: count(columns.self_messages)?,
        model_calls: count(columns.model_calls)?,
        tokens: count(columns.tokens)?,
        state: ThreadState::from_column(&columns.standing).map_err(unreadable)?,
        created: Timestamp::from_micros(columns.created),
        updated: Timestamp::from_micros(columns.updated),
    })
}

/// A thread with its space.
pub(super) fn placed_thread(
    columns: ThreadColumns,
) -> Result<((Space, ThreadId), ThreadRow), StoreError> {
    let space = space(&columns.space)?;
    let row = thread(columns)?;
    Ok(((space, row.thread.clone()), row))
}

pub(super) fn placed_event(columns: PlacedColumns) -> Result<(Space, Event), StoreError> {
    let (space, seq, id, ts, thread, source, modality, payload, tags) = columns;
    let event = event((seq, id, ts, thread, source, modality, payload, tags))?;
    Ok((self::space(space)?, event))
}

pub(super) fn wait((space, target, thread): (String, String, String)) -> Result<Wait, StoreError> {
    Ok(Wait {
        space: self::space(space)?,
        target: thread_id(target)?,
        thread: thread_id(thread)?,
    })
}

pub(super) fn two_threads(
    (one, other): (String, String),
) -> Result<(ThreadId, ThreadId), StoreError> {
    Ok((thread_id(one)?, thread_id(other)?))
}

pub(super) fn spent((calls, tokens, threads): SpentColumns) -> Result<Spent, StoreError> {
    Ok(Spent {
        calls: count(calls)?,
        tokens: count(tokens)?,
        threads: count(threads)?,
    })
}
