//! Requests to people: tool calls that wait for a verdict, those that were granted and have no
//! result yet, and questions that are open; and the calls that wait for their client. A settled
//! request has no row; the log has it.

use serde_json::Value;

use super::{Change, Projection};
use crate::columns::unreadable;
use crate::error::StoreError;
use crate::kernel::Store;
use crate::migrations::migration;
use crate::seen::Seen;
use crate::select::Select;
use crate::table::{Cell, Row, Table, integer, text};
use thinkd_event::condition::RequestState;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::approval::Ruling;
use thinkd_words::id::{Seq, Space, ThreadId};

/// A request to people.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRow {
    /// Its id: that of the event that asked.
    pub id: String,
    /// The thread that asked.
    pub thread: ThreadId,
    /// The seq of the event that brought it where it is: of the request, or of the verdict.
    pub seq: Seq,
    /// Its kind, and its progress.
    pub state: RequestState,
    /// The payload of the event that asked, a JSON object as it is stored; no text when it is
    /// granted. It stays unparsed, so that a list or a count of requests does not read it.
    pub json: String,
}

/// The event that asked, for a list of waiting requests: its id stands in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The thread that asked.
    pub thread: ThreadId,
    /// The seq of the event that asked.
    pub seq: Seq,
    /// See [`RequestRow::json`].
    pub json: String,
}

impl From<RequestRow> for Asked {
    fn from(row: RequestRow) -> Self {
        Self {
            thread: row.thread,
            seq: row.seq,
            json: row.json,
        }
    }
}

impl RequestRow {
    /// The payload of the event that asked; null when it is granted.
    pub fn asked(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_default()
    }

    /// Returns true if a trial asks: a trial is beside the turns of the thread, and goes on when
    /// the thread has ended.
    pub fn is_of_trial(&self) -> bool {
        self.asked().get("statement").is_some()
    }
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: None,
    migrations: &[migration!("0012_requests")],
    fold,
};

static TABLE: Table = Table {
    name: "requests",
    key: &[text("space"), text("id")],
    rest: &[text("thread"), integer("seq"), text("state"), text("asked")],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let key = |id: &str| TABLE.keyed(space, &event.thread, id);
    let put = |id: &str, seq: Seq, state: RequestState, asked: String| {
        Some(Change::Put(key(id).with([
            ("thread", (&event.thread).into()),
            ("seq", seq.into()),
            ("state", state.as_str().into()),
            ("asked", asked.into()),
        ])))
    };
    let asked = || Value::Object(event.payload.clone()).to_string();
    let over = |id: &str| Some(Change::Remove(key(id)));
    match fact {
        Fact::ApprovalPending(it) => put(it.approval, event.seq, RequestState::Approval, asked()),
        Fact::ApprovalVerdict(it) => match it.ruling {
            Ruling::Granted(_) => put(it.approval, event.seq, RequestState::Granted, String::new()),
            _ => over(it.approval),
        },
        Fact::ApprovalStarted(it) => put(
            it.approval,
            it.verdict,
            RequestState::Started,
            String::new(),
        ),
        Fact::Result(it) => over(it.approval?),
        Fact::ClientCall(it) => put(it.request, event.seq, RequestState::Client, asked()),
        Fact::Question(it) => put(it.question, event.seq, RequestState::Question, asked()),
        Fact::Answer(it) => over(it.question),
        Fact::Input(it) => over(it.answers?),
        _ => None,
    }
}

fn read(row: &Row) -> Result<RequestRow, StoreError> {
    let state = row.text("state")?;
    let known = RequestState::parse(state);
    Ok(RequestRow {
        id: row.text("id")?.to_owned(),
        thread: row.thread("thread")?,
        seq: row.integer("seq")?,
        state: known.ok_or_else(|| unreadable(format!("{state:?} is no state of a request")))?,
        json: row.text("asked")?.to_owned(),
    })
}

fn in_state(space: &Space, state: RequestState, after: Seq) -> Select {
    Select::of(&TABLE, space)
        .equal("state", state.as_str())
        .after("seq", after)
        .order_by(&["seq"])
}

/// Returns the rows that an append has to read to know the state of a request.
pub(crate) fn of_id(space: &Space, id: &str) -> Select {
    Select::of(&TABLE, space).equal("id", id)
}

/// Returns true if a request is there, in this state.
pub(crate) fn is_in(seen: Seen<'_>, space: &Space, id: &str, state: RequestState) -> bool {
    let row = seen.row(&(&TABLE, vec![Cell::from(space), Cell::from(id)]));
    row.is_some_and(|row| *row.cell("state") == Cell::from(state.as_str()))
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// A request, unless it is settled.
    pub async fn request(&self, space: &Space, id: &str) -> Result<Option<RequestRow>, StoreError> {
        self.read_first(of_id(space, id), read).await
    }

    /// Requests in this state, the oldest first, those behind `after`; at most `limit`.
    pub async fn requests(
        &self,
        space: &Space,
        state: RequestState,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<RequestRow>, StoreError> {
        let page = in_state(space, state, after).first(limit);
        self.read(page, read).await
    }

    /// Returns the events that asked, of one thread or all.
    pub async fn asked(
        &self,
        space: &Space,
        state: RequestState,
        thread: Option<&ThreadId>,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<Asked>, StoreError> {
        let mut select = in_state(space, state, after);
        if let Some(thread) = thread {
            select = select.equal("thread", thread);
        }
        let page = select.only(&["thread", "seq", "asked"]).first(limit);
        let rows = self.select(page).await?;
        let asked = |mut row: Row| {
            Ok(Asked {
                thread: row.thread("thread")?,
                seq: row.integer("seq")?,
                json: row.take_text("asked")?,
            })
        };
        rows.into_iter().map(asked).collect()
    }

    /// The requests of a thread in any state, the oldest first.
    pub async fn requests_of(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<Vec<RequestRow>, StoreError> {
        let of_thread = Select::of(&TABLE, space).equal("thread", thread);
        self.read(of_thread.order_by(&["seq"]), read).await
    }

    /// The threads of a space that have requests.
    pub async fn threads_with_requests(&self, space: &Space) -> Result<Vec<ThreadId>, StoreError> {
        let threads = Select::of(&TABLE, space).distinct(&["thread"]);
        self.read(threads, |row| row.thread("thread")).await
    }

    /// The spaces that have requests.
    pub async fn spaces_with_requests(&self) -> Result<Vec<Space>, StoreError> {
        let spaces = Select::of_all_spaces(&TABLE).distinct(&["space"]);
        self.read(spaces, |row| row.space("space")).await
    }
}
