//! `/world-model`: what is held to be so, what was claimed, and the trials of both.
//! Long because a resource is one file: its shapes, what is wrong with them, and its operations.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use super::needs::{Needs, Read, Speak};
use super::params::Params;
use super::path::Path;
use super::{Json, Page, Resource, bounds, cursor, params};
use crate::edge::ids;
use crate::edge::json::Body;
use crate::edge::problem::{Problem, Slug, Wrongs};
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::statement::Said;
use crate::event::statement::{
    Instrument, Judged, Outcome, PREMISES_MAX, Prediction, SENTENCE_MAX, STATEMENT_MAX, Status,
    Triple,
};
use crate::event::trial::News;
use crate::event::word::label;
use crate::log::projections::statements::StatementRow;
use crate::session::world_model::{NewClaim, Shown, Wanted};
use crate::words::id::{INTEGER_MAX, Seq};
use crate::words::time::Timestamp;

#[derive(OpenApi)]
#[openapi(paths(list, remember, one, retract),
    tags((name = "world-model", description = "What is held to be so, and how it was tested")))]
struct Document;

/// See the module.
pub const RESOURCE: Resource = Resource {
    routes: || {
        Router::new()
            .route("/world-model", get(list).post(remember))
            .route("/world-model/{id}", get(one))
            .route("/world-model/{id}/retract", post(retract))
    },
    document: Document::openapi,
    bounds: draw_bounds,
};

/// A statement. Nothing is ever proven: what survives is a hypothesis that no test has refuted yet.
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
    /// What it says.
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
    /// What it is.
    pub status: Status,
    /// The same in words.
    #[schema(example = "a hypothesis that no test has refuted so far")]
    pub label: String,
    /// Why it is that.
    pub reason: Option<String>,
    /// The person on whose word alone it is held, or recalled while it is `proposed`; null: it is on no word.
    #[schema(example = "clara")]
    pub said_by: Option<String>,
    /// The instruments that carried it.
    pub tested_by: Vec<Instrument>,
    /// Nothing but reflection has tested it.
    pub reflection_only: bool,
    /// How many trials it has survived.
    pub survived: u64,
    /// When it was tried last.
    #[schema(value_type = Option<String>)]
    pub tested_at: Option<Timestamp>,
    /// When it is tried, or tried again; null: it is not.
    #[schema(value_type = Option<String>)]
    pub due_at: Option<Timestamp>,
    /// The statements that contradict it, where it is contested: the first 8.
    pub contested_by: Vec<String>,
    /// How many contradict it, counted up to 1000.
    pub contested_by_count: usize,
    /// The statements that it is derived from.
    pub derived_from: Vec<String>,
    /// Where it comes from: `by`, `seqs` of events, `quote`, `word`: it counts as the person's own.
    #[schema(value_type = Vec<Object>)]
    pub sources: Vec<Value>,
    /// When it was claimed.
    #[schema(value_type = String)]
    pub claimed_at: Timestamp,
    /// The event that changed it last.
    #[schema(value_type = i64)]
    pub changed: Seq,
}

impl From<Shown> for Statement {
    fn from(
        Shown {
            row,
            against,
            against_count,
            carried: tested_by,
            said_by,
        }: Shown,
    ) -> Self {
        let StatementRow {
            id,
            number,
            thread,
            text,
            triple,
            valid,
            status,
            judged,
            due,
            tested,
            ..
        } = row;
        let reflection_only = status.is_held() && tested_by == [Instrument::Reflection];
        Self {
            id,
            seq: number,
            thread: thread.to_string(),
            text,
            triple,
            valid_from: valid.from,
            valid_to: valid.to,
            status,
            label: label(status, reflection_only, said_by.as_deref()),
            reason: judged.as_ref().map(|judged| judged.reason.clone()),
            said_by,
            tested_by,
            reflection_only,
            survived: judged.as_ref().map_or(0, |judged| judged.survived),
            tested_at: tested,
            due_at: due,
            contested_by: against,
            contested_by_count: against_count,
            derived_from: row.premises,
            sources: row.sources.iter().map(|source| json!(source)).collect(),
            claimed_at: row.claimed,
            changed: row.changed,
        }
    }
}

/// A statement with its whole trial.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatementTrial {
    /// The statement.
    #[serde(flatten)]
    pub statement: Statement,
    /// What follows from it, and how that was tested.
    pub predictions: Vec<Tested>,
    /// Predictions that were not taken, and why.
    pub rejected: Vec<String>,
    /// What became of it, the oldest first: `seq`, `at`, and what the event says.
    #[schema(value_type = Vec<Object>)]
    pub verdicts: Vec<Value>,
}

/// A prediction and its readings.
#[derive(Debug, Serialize, ToSchema)]
pub struct Tested {
    /// What is to be seen if the statement is so.
    pub text: String,
    /// What would be seen if it is not.
    pub fails_if: String,
    /// The instrument that was chosen.
    pub instrument: Instrument,
    /// Why this one.
    pub reason: String,
    /// Its readings, the oldest first: `seq`, `at`, and what the event says.
    #[schema(value_type = Vec<Object>)]
    pub readings: Vec<Value>,
}

impl StatementTrial {
    fn of(shown: Shown, events: &[Event]) -> Self {
        let mut trial = Self {
            statement: shown.into(),
            predictions: Vec::new(),
            rejected: Vec::new(),
            verdicts: Vec::new(),
        };
        for event in events {
            let Fact::Statement(fact) = event.fact() else {
                continue;
            };
            let Said::News(news) = fact.what else {
                continue;
            };
            let told = |of: Value| told(event, of);
            match *news {
                News::Derived(derived) => {
                    let tested = |it: Prediction| {
                        let Prediction {
                            text,
                            fails_if,
                            instrument,
                            reason,
                            ..
                        } = it;
                        Tested {
                            text,
                            fails_if,
                            instrument,
                            reason,
                            readings: Vec::new(),
                        }
                    };
                    trial.predictions = derived.predictions.into_iter().map(tested).collect();
                    trial.rejected = derived.rejected;
                }
                News::Read(reading) => {
                    let of = trial.predictions.get_mut(reading.prediction);
                    of.into_iter()
                        .for_each(|it| it.readings.push(told(json!(reading))));
                }
                News::Judged(judged) => trial.verdicts.push(told(json!(judged))),
                News::Claimed(_) => {}
            }
        }
        trial
    }
}

/// What an event says, with its place and time.
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
    /// The thread that it belongs to; `main` when absent.
    #[schema(example = "main")]
    pub thread: Option<String>,
    /// The ids of the statements that it is derived from: when one of them is withdrawn, it has lost its ground.
    pub derived_from: Option<Vec<String>>,
}

impl Body for NewStatement {
    fn check(&self, wrongs: &mut Wrongs) {
        ids::check_place(self.thread.as_deref(), None, wrongs);
        if self.statement.trim().is_empty() {
            wrongs.add(Slug::EmptyInput, "/statement", "a statement says something");
        }
        too_long("/statement", &self.statement, STATEMENT_MAX, wrongs);
        too_long(
            "/quote",
            self.quote.as_deref().unwrap_or_default(),
            SENTENCE_MAX,
            wrongs,
        );
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
        wrongs.add(
            Slug::TextTooLarge,
            pointer,
            format!("at most {most} characters; here are {count}"),
        );
    }
}

/// Where a claim is to be found.
#[derive(Debug, Serialize, ToSchema)]
pub struct Remembered {
    /// The statement's id.
    #[schema(format = "uuid")]
    pub id: String,
    /// `proposed`: its trial has not begun. `surviving`: it is held on its claimant's word.
    pub status: Status,
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
        if self.reason.trim().is_empty() {
            wrongs.add(
                Slug::EmptyInput,
                "/reason",
                "whoever withdraws a statement says why",
            );
        }
        too_long("/reason", &self.reason, SENTENCE_MAX, wrongs);
    }
}

/// Statements in the order in which they were claimed. With `at`, what is held of that time; with `entity`, `relation` and `at`, of a relation that
/// has one value at a time the newest.
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
pub async fn list(
    session: Needs<Read>,
    mut query: Params,
) -> Result<axum::Json<Page<Statement>>, Problem> {
    let (limit, place) = (query.limit()?, query.one("cursor")?);
    let wanted = Wanted {
        status: query.word(
            "status",
            "proposed, surviving, contested, untested, falsified, ended, retracted",
            Status::parse,
        )?,
        entity: name(&mut query, "entity")?,
        relation: name(&mut query, "relation")?,
        text: name(&mut query, "text")?,
        at: query.moment("at")?,
        as_of: query.seq("as_of")?,
    };
    query.end()?;
    let bound = format!("world-model {} {wanted:?}", session.space());
    let after = place
        .map(|place| cursor::read(&bound, &place))
        .transpose()?;
    let after = after.and_then(|seq| seq.parse().ok()).unwrap_or(0);
    let (rows, next) = session.statements(&wanted, after, limit as usize).await?;
    let next = next.map(|seq| cursor::write(&bound, &seq.to_string()));
    let rows = session.shown(rows, wanted.as_of).await?;
    Ok(axum::Json(Page {
        items: rows.into_iter().map(Statement::from).collect(),
        next,
    }))
}

/// A parameter that is a text, not longer than words may be.
pub(super) fn name(query: &mut Params, key: &str) -> Result<Option<String>, Problem> {
    let text = query.one(key)?;
    match &text {
        Some(text) if text.trim().is_empty() => Err(Problem::parameter(key, "is empty")),
        Some(text) if text.chars().count() > params::WORDS_MAX => Err(Problem::parameter(
            key,
            format!("has at most {} characters", params::WORDS_MAX),
        )),
        _ => Ok(text),
    }
}

/// Claims something. It is tried beside everything else, and held only if it survives. A statement that begins with the name of
/// its claimant (`The user`, in a space without names) is their word, and held at once.
#[utoipa::path(post, path = "/world-model", operation_id = "remember_statement", tag = "world-model",
    request_body = NewStatement, responses((status = 202, body = Remembered)))]
pub async fn remember(
    session: Needs<Speak>,
    params: Params,
    Json(body): Json<NewStatement>,
) -> Result<Response, Problem> {
    params.end()?;
    let NewStatement {
        statement,
        quote,
        thread,
        derived_from,
    } = body;
    let thread = ids::thread(thread.as_deref())?;
    let premises = derived_from.unwrap_or_default();
    let (id, status) = session
        .claim(NewClaim {
            text: statement.trim().to_owned(),
            thread,
            quote,
            premises,
        })
        .await?;
    let place = [(header::LOCATION, format!("/world-model/{id}"))];
    Ok((
        StatusCode::ACCEPTED,
        place,
        axum::Json(Remembered { id, status }),
    )
        .into_response())
}

/// One statement with its whole trial.
#[utoipa::path(get, path = "/world-model/{id}", operation_id = "get_statement", tag = "world-model",
    params(("id" = String, Path, description = "its id")),
    responses((status = 200, body = StatementTrial)))]
pub async fn one(
    session: Needs<Read>,
    Path(id): Path<Uuid>,
    params: Params,
) -> Result<axum::Json<StatementTrial>, Problem> {
    params.end()?;
    let id = id.to_string();
    let found = session.statement(&id).await?;
    let Some((row, events)) = found else {
        let detail = match session.fate(&id).await? {
            Some(Judged {
                outcome: Outcome::Joined,
                others,
                ..
            }) => {
                format!(
                    "there is no such statement any more: it says what {} says, and is a source of that one",
                    others.join(", ")
                )
            }
            Some(judged) => format!(
                "there is no such statement: the claim was refused. {}",
                judged.reason
            ),
            None => "there is no such statement, and never was".to_owned(),
        };
        return Err(Problem::new(Slug::NotFound, detail));
    };
    let shown = session
        .shown(vec![row.clone()], None)
        .await?
        .pop()
        .unwrap_or_else(|| Shown::alone(row));
    Ok(axum::Json(StatementTrial::of(shown, &events)))
}

/// Withdraws a statement, without a trial. Members withdraw a statement that is recalled on their own word alone, operators any.
#[utoipa::path(post, path = "/world-model/{id}/retract", operation_id = "retract_statement", tag = "world-model",
    params(("id" = String, Path, description = "its id")), request_body = Retraction,
    responses((status = 200, body = Statement)))]
pub async fn retract(
    session: Needs<Speak>,
    Path(id): Path<Uuid>,
    params: Params,
    Json(Retraction { reason }): Json<Retraction>,
) -> Result<axum::Json<Statement>, Problem> {
    params.end()?;
    Ok(axum::Json(
        Shown::alone(session.retract(&id.to_string(), reason).await?).into(),
    ))
}

/// What the members may be.
fn draw_bounds(document: &mut Value) {
    let text = |most: usize| json!({ "pattern": bounds::WORDS, "maxLength": most });
    let quote = json!({ "pattern": bounds::TEXT, "maxLength": SENTENCE_MAX });
    let premises = json!({ "maxItems": PREMISES_MAX });
    let members = [
        ("statement", text(STATEMENT_MAX)),
        ("quote", quote),
        ("thread", bounds::thread()),
        ("derived_from", premises),
    ];
    bounds::of_body(document, "NewStatement", members);
    bounds::of_body(document, "Retraction", [("reason", text(SENTENCE_MAX))]);
    let words = Status::ALL.map(Status::as_str);
    let name =
        || json!({ "pattern": bounds::WORDS, "minLength": 1, "maxLength": params::WORDS_MAX });
    let parameters = document["paths"]["/world-model"]["get"]["parameters"].as_array_mut();
    for parameter in parameters.into_iter().flatten() {
        let bound = match parameter["name"].as_str() {
            Some("status") => json!({ "enum": words }),
            Some("entity" | "relation" | "text") => name(),
            Some("at") => json!({ "format": "date-time" }),
            Some("as_of") => json!({ "maximum": INTEGER_MAX }),
            _ => continue,
        };
        bounds::put(&mut parameter["schema"], bound);
    }
}
