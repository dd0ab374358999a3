//! A call that is ready to be made, and the event that records it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Ended, TurnPlace, Working};
use thinkd_event::draft::Draft;
use thinkd_log::kernel::Store;
use thinkd_model::provider::{Prepared, ToolSpec};
use thinkd_words::failure::{FailureKind, Who};

/// A call ready to be made, with the known part of its record.
#[derive(Debug, Clone)]
pub struct Ready {
    pub(super) prepared: Prepared,
    pub(super) place: TurnPlace,
    pub(super) who: Who,
    pub(super) purpose: String,
    pub(super) round: u64,
    pub(super) record: Map<String, Value>,
    pub(super) begin: Instant,
    /// When the first piece of the answer came.
    pub(super) first_piece: OnceLock<Instant>,
    /// Records and failures of the calls in its place that were refused.
    pub(super) before: Vec<Draft>,
    /// The tools that the model may call.
    pub(super) offered: Arc<[ToolSpec]>,
}

impl Ready {
    /// Returns a call that is sent as prepared, by its asker, which runs nothing of its answer.
    /// `view` describes the part of the log that it sees, for its record.
    pub(super) fn new(
        prepared: Prepared,
        place: &TurnPlace,
        (purpose, round): (&str, u64),
        view: Value,
    ) -> Self {
        let record = Map::from_iter([
            ("purpose".to_owned(), purpose.into()),
            ("round".to_owned(), round.into()),
            ("model".to_owned(), prepared.model.as_str().into()),
            ("parameters".to_owned(), prepared.parameters.clone()),
            ("request_sha256".to_owned(), prepared.sha256().into()),
            ("view".to_owned(), view),
        ]);
        Self {
            who: prepared.module.clone(),
            prepared,
            purpose: purpose.to_owned(),
            round,
            place: place.clone(),
            record,
            begin: Instant::now(),
            first_piece: OnceLock::new(),
            before: Vec::new(),
            offered: Vec::new().into(),
        }
    }

    /// Bytes of the request.
    pub fn size(&self) -> usize {
        self.prepared.body.as_str().len()
    }

    /// The tools that the model may call.
    pub fn offered(&self) -> &[ToolSpec] {
        &self.offered
    }

    /// The model's name at the provider.
    pub fn model(&self) -> &str {
        &self.prepared.model
    }

    /// Says that the call is under way, until the returned value is dropped.
    pub(super) fn working(&self, store: &Arc<dyn Store>, limit_ms: u64) -> Working {
        let call = (self.who.to_string(), self.purpose.clone(), self.round);
        Working::begin(store, &self.place, Some(call), Some(limit_ms))
    }

    /// Returns the record of the call, after the records and failures of the refused calls in its
    /// place.
    pub fn records(&self, place: &TurnPlace, ended: &Ended, more: Value) -> Vec<Draft> {
        let mut records = self.before.clone();
        records.push(self.record(place, ended, more));
        records
    }

    /// Returns the event that records the call: its view, its cost, and `more` of its outcome.
    pub fn record(&self, place: &TurnPlace, ended: &Ended, more: Value) -> Draft {
        let mut record = self.record.clone();
        let ms = |took: Duration| u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        record.insert("duration_ms".into(), ms(self.begin.elapsed()).into());
        if let Some(at) = self.first_piece.get() {
            let first = ms(at.duration_since(self.begin));
            record.insert("first_piece_ms".into(), first.into());
        }
        match ended {
            Ended::Answered(answer) => {
                let usage = answer.usage;
                record.insert("outcome".into(), "answered".into());
                record.insert("finish".into(), answer.finish.as_str().into());
                let usage = json!({
                    "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
                    "cached_tokens": usage.cached_tokens,
                });
                record.insert("usage".into(), usage);
                if !answer.adjusted.is_empty() {
                    record.insert("adjusted".into(), json!(answer.adjusted));
                }
            }
            Ended::Failed(failure) => {
                // What a budget refuses was not asked.
                let outcome = match failure.kind {
                    FailureKind::Budget => "refused",
                    _ => "failed",
                };
                record.insert("outcome".into(), outcome.into());
                record.insert("failure".into(), failure.text.as_str().into());
            }
            Ended::Stopped => {
                record.insert("outcome".into(), "stopped".into());
            }
        }
        if let Value::Object(more) = more {
            record.extend(more);
        }
        Draft::call_record(&place.thread, place.turn, &self.who, Value::Object(record))
    }
}
