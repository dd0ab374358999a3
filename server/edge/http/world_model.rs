//! `/world-model`: the statements that are held to be so, the claims, and the trials of both.
//! Long because a resource is one file: its shapes, their validation, and its operations.

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::cursor::Part;
use super::needs::{Needs, Read, Speak};
use super::params::{NoParams, Params};
use super::path::Path;
use super::{Answer, Only, Page, bounds, made};
use crate::ids;
use crate::json::Body;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_event::envelope::Event;
use thinkd_event::statement::{
    Instrument, Outcome, PREMISES_MAX, Prediction, SENTENCE_MAX, STATEMENT_MAX, Status,
};
use thinkd_event::trial::News;
use thinkd_session::statement::Statement;
use thinkd_session::world_model::{Quote, Wanted};
use thinkd_words::id::{INTEGER_MAX, Seq};

resource! {
    /// See the module.
    RESOURCE tagged "world-model": "What is held to be so, and how it was tested";
    "/world-model" => get(list) post(remember);
    "/world-model/{id}" => get(one);
    "/world-model/{id}/retract" => post(retract);
    bounds: draw_bounds;
}

/// A statement with its whole trial.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatementTrial {
    /// The statement.
    #[serde(flatten)]
    pub statement: Statement,
    /// The predictions that follow from it, and how they were tested.
    pub predictions: Vec<Tested>,
    /// Predictions that were not taken, and why.
    pub rejected: Vec<String>,
    /// The verdicts on it, the oldest first: `seq`, `at`, and the content of the event.
    #[schema(value_type = Vec<Object>)]
    pub verdicts: Vec<Value>,
}

/// A prediction and its readings.
#[derive(Debug, Serialize, ToSchema)]
pub struct Tested {
    /// The observation that is to be made if the statement is so.
    pub text: String,
    /// The observation that would be made if it is not.
    pub fails_if: String,
    /// The instrument that was chosen.
    pub instrument: Instrument,
    /// Why this one.
    pub reason: String,
    /// Its readings, the oldest first: `seq`, `at`, and the content of the event.
    #[schema(value_type = Vec<Object>)]
    pub readings: Vec<Value>,
}

impl From<Prediction> for Tested {
    fn from(it: Prediction) -> Self {
        Self {
            text: it.text,
            fails_if: it.fails_if,
            instrument: it.instrument,
            reason: it.reason,
            readings: Vec::new(),
        }
    }
}

impl StatementTrial {
    fn of(statement: Statement, events: &[Event]) -> Self {
        let mut trial = Self {
            statement,
            predictions: Vec::new(),
            rejected: Vec::new(),
            verdicts: Vec::new(),
        };
        for event in events {
            let fact = event.fact();
            let Some((_, news)) = fact.news() else {
                continue;
            };
            match news {
                News::Derived(derived) => {
                    let predictions = derived.predictions.iter().cloned();
                    trial.predictions = predictions.map(Tested::from).collect();
                    trial.rejected.clone_from(&derived.rejected);
                }
                News::Read(reading) => {
                    if let Some(of) = trial.predictions.get_mut(reading.prediction) {
                        of.readings.push(told(event, json!(reading)));
                    }
                }
                News::Judged(judged) => trial.verdicts.push(told(event, json!(judged))),
                News::Claimed(_) => {}
            }
        }
        trial
    }
}

/// Returns the content of an event, with its place and time.
fn told(event: &Event, mut of: Value) -> Value {
    of["seq"] = event.seq.into();
    of["at"] = json!(event.ts);
    of
}

/// Something to be remembered, if it survives a trial.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStatement {
    /// The statement: one that could be true or false.
    #[schema(example = "The library opens at nine.")]
    pub statement: String,
    /// The words that it rests on.
    pub quote: Option<String>,
    /// The event in which the quote stands, as a person or a tool said it. Without it, the quote is not checked.
    #[schema(example = 5, value_type = Option<i64>)]
    pub seq: Option<Seq>,
    /// The thread that it belongs to; `main` when absent.
    #[schema(example = "main")]
    pub thread: Option<String>,
    /// The ids of the statements that it is derived from: when one of them is withdrawn, it has lost its ground.
    pub derived_from: Option<Vec<String>>,
}

impl Body for NewStatement {
    fn check(&self, wrongs: &mut Wrongs) {
        ids::check_place(self.thread.as_deref(), None, wrongs);
        let said = (STATEMENT_MAX, "a statement says something");
        words("/statement", &self.statement, said, wrongs);
        let quote = self.quote.as_deref().unwrap_or_default();
        too_long("/quote", quote, SENTENCE_MAX, wrongs);
        if self
            .seq
            .is_some_and(|seq| !(1..=INTEGER_MAX).contains(&seq))
        {
            wrongs.add(Slug::InvalidFrame, "/seq", "must be a seq, 1 or more");
        }
        if self.seq.is_some() && quote.trim().is_empty() {
            let detail = "needs a quote, which stands in that event";
            wrongs.add(Slug::InvalidFrame, "/seq", detail);
        }
        let count = self.derived_from.as_ref().map_or(0, Vec::len);
        if count > PREMISES_MAX {
            let detail = format!(
                "a statement is derived from {PREMISES_MAX} others at most; here are {count}"
            );
            wrongs.add(Slug::InvalidFrame, "/derived_from", detail);
        }
    }
}

/// Says of a text that it is too long, where it is.
pub(super) fn too_long(pointer: &str, text: &str, most: usize, wrongs: &mut Wrongs) {
    let count = text.chars().count();
    if count > most {
        let detail = format!("at most {most} characters; here are {count}");
        wrongs.add(Slug::TextTooLarge, pointer, detail);
    }
}

/// Says of a text that it says nothing, in these words, or is too long.
pub(super) fn words(pointer: &str, text: &str, (most, why): (usize, &str), wrongs: &mut Wrongs) {
    wrongs.unsaid(pointer, text, why);
    too_long(pointer, text, most, wrongs);
}

/// The place of a claim.
#[derive(Debug, Serialize, ToSchema)]
pub struct Remembered {
    /// The statement's id.
    #[schema(format = "uuid")]
    pub id: String,
    /// `proposed`: its trial has not begun. `surviving`: it is held on its claimant's word.
    pub status: Status,
    /// Absent without a quote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<Checked>,
}

/// Result of the check of a quote.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Checked {
    /// Its words stand in the event that was named.
    Checked,
    /// No event was named: it was not looked up.
    Unchecked,
}

/// Why a statement is withdrawn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Retraction {
    /// Why.
    #[schema(example = "It was said in jest.")]
    pub reason: String,
}

impl Body for Retraction {
    fn check(&self, wrongs: &mut Wrongs) {
        let why = "whoever withdraws a statement says why";
        words("/reason", &self.reason, (SENTENCE_MAX, why), wrongs);
    }
}

/// Statements in the order in which they were claimed. With `at`, those that are held of that time;
/// with `entity`, `relation` and `at`, of a relation that has one value at a time the newest.
#[utoipa::path(get, path = "/world-model", operation_id = "list_statements", tag = "world-model",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("status" = Option<String>, Query, description = "only of this status: `proposed`, `surviving`, `contested`, `untested`, `falsified`, `ended` or `retracted`"),
        ("entity" = Option<String>, Query, description = "only with this subject or object, by any of its names"),
        ("relation" = Option<String>, Query, description = "only of this relation"),
        ("text" = Option<String>, Query, description = "only with all of these words"),
        ("at" = Option<String>, Query, description = "only what is held to have been so at this time"),
        ("as_of" = Option<i64>, Query, minimum = 0, description = "as it was when the event of this seq was the last one"),),
    responses((status = 200, body = Page<Statement>)))]
pub async fn list(session: Needs<Read>, mut query: Params) -> Answer<Page<Statement>> {
    let part = Part::take(&mut query)?;
    let known = "proposed, surviving, contested, untested, falsified, ended, retracted";
    let wanted = Wanted {
        status: query.word("status", known, Status::parse)?,
        entity: name(&mut query, "entity")?,
        relation: name(&mut query, "relation")?,
        text: name(&mut query, "text")?,
        at: query.moment("at")?,
        as_of: query.seq("as_of")?,
    };
    query.end()?;
    let part = part.of(format!("world-model {} {wanted:?}", session.space()))?;
    let after = part.behind().unwrap_or(0);
    let limit = part.limit as usize;
    let (items, next) = session.statements(&wanted, after, limit).await?;
    let next = next.map(|seq| part.next(seq));
    Ok(axum::Json(Page { items, next }))
}

/// A parameter that is a text, not longer than words may be.
pub(super) fn name(query: &mut Params, key: &str) -> Result<Option<String>, Problem> {
    query.text(key, "is empty")
}

/// Claims something. It is tried beside everything else, and held only if it survives. A statement that begins with the name of
/// its claimant (`The user`, in a space without names) is their word, and held at once.
#[utoipa::path(post, path = "/world-model", operation_id = "remember_statement", tag = "world-model",
    request_body = NewStatement, responses((status = 202, body = Remembered)))]
pub async fn remember(
    session: Needs<Speak>,
    Only(new): Only<NewStatement>,
) -> Result<Response, Problem> {
    let thread = ids::thread(new.thread.as_deref())?;
    let text = new.statement.trim().to_owned();
    let premises = new.derived_from.unwrap_or_default();
    let words = new.quote.filter(|words| !words.trim().is_empty());
    let quote = words.map(|words| Quote {
        words,
        seq: new.seq,
    });
    let checked = quote.as_ref().map(|quote| match quote.seq {
        Some(_) => Checked::Checked,
        None => Checked::Unchecked,
    });
    let (id, status) = session.claim(text, &thread, quote, premises).await?;
    let place = format!("/world-model/{id}");
    let remembered = Remembered {
        id,
        status,
        quote: checked,
    };
    Ok(made(StatusCode::ACCEPTED, place, remembered))
}

/// One statement with its whole trial.
#[utoipa::path(get, path = "/world-model/{id}", operation_id = "get_statement", tag = "world-model",
    params(("id" = String, Path, description = "its id")),
    responses((status = 200, body = StatementTrial)))]
pub async fn one(
    session: Needs<Read>,
    Path(id): Path<Uuid>,
    _: NoParams,
) -> Answer<StatementTrial> {
    let id = id.to_string();
    if let Some((statement, events)) = session.statement(&id).await? {
        return Ok(axum::Json(StatementTrial::of(statement, &events)));
    }
    let detail = match session.fate(&id).await? {
        Some(judged) if judged.outcome == Outcome::Joined => format!(
            "there is no such statement any more: it says what {} says, and is a source of that one",
            judged.others.join(", ")
        ),
        Some(judged) => format!(
            "there is no such statement: the claim was refused. {}",
            judged.reason
        ),
        None => "there is no such statement, and never was".to_owned(),
    };
    Err(Problem::new(Slug::NotFound, detail))
}

/// Withdraws a statement, without a trial. Members withdraw a statement that is recalled on their own word alone, operators any.
#[utoipa::path(post, path = "/world-model/{id}/retract", operation_id = "retract_statement", tag = "world-model",
    params(("id" = String, Path, description = "its id")), request_body = Retraction,
    responses((status = 200, body = Statement)))]
pub async fn retract(
    session: Needs<Speak>,
    Path(id): Path<Uuid>,
    Only(Retraction { reason }): Only<Retraction>,
) -> Answer<Statement> {
    let retracted = session.retract(&id.to_string(), reason).await?;
    Ok(axum::Json(retracted))
}

/// Writes the bounds of the members into the document.
fn draw_bounds(document: &mut Value) {
    let quote = json!({ "pattern": bounds::TEXT, "maxLength": SENTENCE_MAX });
    let members = [
        ("statement", bounds::words(STATEMENT_MAX)),
        ("quote", quote),
        ("seq", json!({ "minimum": 1, "maximum": INTEGER_MAX })),
        ("thread", bounds::thread()),
        ("derived_from", json!({ "maxItems": PREMISES_MAX })),
    ];
    bounds::of_body(document, "NewStatement", members);
    let reason = ("reason", bounds::words(SENTENCE_MAX));
    bounds::of_body(document, "Retraction", [reason]);
    let bounds = [
        ("status", json!({ "enum": Status::ALL.map(Status::as_str) })),
        ("entity", bounds::asked()),
        ("relation", bounds::asked()),
        ("text", bounds::asked()),
        ("at", json!({ "format": "date-time" })),
        ("as_of", json!({ "maximum": INTEGER_MAX })),
    ];
    bounds::of_query(document, "/world-model", bounds);
}
