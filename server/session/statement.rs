//! A statement as clients are shown it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use thinkd_event::statement::{Instrument, Status, Triple, Valid};
use thinkd_event::word::{label, word_of};
use thinkd_log::projections::standings::Standing;
use thinkd_log::projections::statements::StatementRow;
use thinkd_words::id::Seq;
use thinkd_words::time::Timestamp;

/// A statement. Nothing is ever proven: a statement that survives is a hypothesis that no test has
/// refuted yet.
#[derive(Debug, Serialize, ToSchema)]
pub struct Statement {
    /// Its id: that of the event that claimed it.
    #[schema(format = "uuid")]
    pub id: String,
    /// The position of that event.
    #[schema(value_type = i64)]
    pub seq: Seq,
    /// The thread that claimed it.
    #[schema(example = "main")]
    pub thread: String,
    /// The text of the statement.
    #[schema(example = "The library opens at nine.")]
    pub text: String,
    /// The same as an edge of a graph; null: it is none, or that is not known yet.
    pub triple: Option<Triple>,
    /// From when on it is said to hold; null: no beginning is known.
    #[schema(value_type = Option<String>)]
    pub valid_from: Option<Timestamp>,
    /// Until when it held; null: no end is known.
    #[schema(value_type = Option<String>)]
    pub valid_to: Option<Timestamp>,
    /// The status of the statement.
    pub status: Status,
    /// The same in words.
    #[schema(value_type = String, example = "a hypothesis that no test has refuted so far")]
    pub label: Cow<'static, str>,
    /// Why it is that.
    pub reason: Option<String>,
    /// The person, if the statement is held on their word alone, or recalled on that word alone
    /// while it is `proposed`; null: it is on no word.
    #[schema(example = "clara")]
    pub said_by: Option<String>,
    /// The instruments that carried it.
    pub tested_by: Vec<Instrument>,
    /// Nothing but reflection has tested it.
    pub reflection_only: bool,
    /// The number of trials it has survived.
    pub survived: u64,
    /// When it was tried last.
    #[schema(value_type = Option<String>)]
    pub tested_at: Option<Timestamp>,
    /// When it is tried, or tried again; null: it is not.
    #[schema(value_type = Option<String>)]
    pub due_at: Option<Timestamp>,
    /// The statements that contradict it, where it is contested: the first 8.
    pub contested_by: Vec<String>,
    /// The number of statements that contradict it, counted up to 1000.
    pub contested_by_count: usize,
    /// The statements that it is derived from.
    pub derived_from: Vec<String>,
    /// The sources: `by`, `seqs` of events, `quote`, `word`: it counts as the person's own.
    #[schema(value_type = Vec<Object>)]
    pub sources: Vec<Value>,
    /// When it was claimed.
    #[schema(value_type = String)]
    pub claimed_at: Timestamp,
    /// The event that changed it last.
    #[schema(value_type = i64)]
    pub changed: Seq,
}

impl Statement {
    /// One as it is now, which nothing contradicts.
    pub fn alone(row: StatementRow) -> Self {
        let said_by = row.word().map(|by| by.shown().to_owned());
        let judged = row.judged.as_ref();
        let carried = judged.map(|judged| judged.carried.clone());
        Self::new(row, carried.unwrap_or_default(), said_by)
    }

    /// Returns a statement as it stood then, without its later judgment, which was not known then.
    pub fn then(row: StatementRow, standing: Standing) -> Self {
        let word = word_of(standing.status, &standing.carried, &row.sources);
        let said_by = word.map(|by| by.shown().to_owned());
        let row = StatementRow {
            status: standing.status,
            valid: standing.valid,
            judged: None,
            due: None,
            ..row
        };
        Self::new(row, standing.carried, said_by)
    }

    fn new(row: StatementRow, tested_by: Vec<Instrument>, said_by: Option<String>) -> Self {
        let reflection_only = row.status.is_held() && tested_by == [Instrument::Reflection];
        let judged = row.judged.map(|judged| (judged.reason, judged.survived));
        let (reason, survived) = judged.unzip();
        Self {
            id: row.id,
            seq: row.number,
            thread: row.thread.to_string(),
            text: row.text,
            triple: row.triple,
            valid_from: row.valid.from,
            valid_to: row.valid.to,
            status: row.status,
            label: label(row.status, reflection_only, said_by.as_deref()),
            reason,
            said_by,
            tested_by,
            reflection_only,
            survived: survived.unwrap_or(0),
            tested_at: row.tested,
            due_at: row.due,
            contested_by: Vec::new(),
            contested_by_count: 0,
            derived_from: row.premises,
            sources: row.sources.iter().map(|source| json!(source)).collect(),
            claimed_at: row.claimed,
            changed: row.changed,
        }
    }

    /// When it is said to hold.
    pub fn valid(&self) -> Valid {
        Valid {
            from: self.valid_from,
            to: self.valid_to,
        }
    }
}
