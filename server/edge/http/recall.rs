//! `/recall` and `/world-model/graph`: the memories that are held and relevant to a question, and
//! the graph around a name.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::needs::{Needs, Read};
use super::params::Params;
use super::world_model::name;
use super::{Answer, bounds};
use crate::problem::{Problem, Slug};
use thinkd_recall::finder::{
    DEPTH_MAX, EDGES_MAX, Found, GraphPart, HITS_MAX, Look, Question, TOKENS_MAX,
};
use thinkd_recall::held::Memory;
use thinkd_recall::memories::Other;
use thinkd_recall::view::finding::Hit;
use thinkd_words::id::INTEGER_MAX;

resource! {
    /// See the module.
    RESOURCE;
    "/recall" => get(recall);
    "/world-model/graph" => get(graph);
    bounds: draw_bounds;
}

/// Hits of a question that does not say how many.
const HITS: i64 = 8;
/// Steps and statements of a look at the graph that does not say how many.
const DEPTH: i64 = 1;
const EDGES: i64 = 50;

/// Statements that are held and relevant to a question.
#[derive(Debug, Serialize, ToSchema)]
pub struct Recollection {
    /// The statements: tested ones before those that only reflection has tested, then by score. Empty: nothing relevant is held.
    pub items: Vec<Hit>,
    /// The number of memories that are relevant, too, and have no room.
    pub left_out: usize,
    /// The notes, thoughts and frameworks that are relevant, by score; they claim nothing of the world. Empty where `in` does not ask for them.
    pub others: Vec<Other>,
    /// Why vectors said nothing, or not of all statements: it was answered by words and the graph; null: they did.
    pub without_vectors: Option<String>,
}

/// Returns the memories to look through: `in` names them between commas; statements when it is
/// absent.
fn among(query: &mut Params) -> Result<Vec<Memory>, Problem> {
    let Some(text) = query.one("in")? else {
        return Ok(vec![Memory::Statements]);
    };
    let read = |word: &str| serde_json::from_value(word.into());
    let read: Result<Vec<Memory>, _> = text.split(',').map(read).collect();
    let known = || format!("any of {} between commas", Memory::WORDS.join(", "));
    read.map_err(|_| Problem::parameter("in", known()))
}

/// Statements that are held and relevant to a question, best first: by its words, its meaning and the graph of names. Nothing relevant is an empty list.
#[utoipa::path(get, path = "/recall", operation_id = "recall", tag = "world-model",
    params(("q" = String, Query, description = "the question"),
        ("limit" = Option<u32>, Query, description = "8 when absent"),
        ("tokens" = Option<u32>, Query, description = "most tokens of all statements together, estimated; 1500 when absent"),
        ("at" = Option<String>, Query, description = "only what is held to have been so at this time; of a relation that has one value at a time the newest"),
        ("as_of" = Option<i64>, Query, description = "as it was when the event of this seq was the last one"),
        ("in" = Option<String>, Query, description = "what is looked through, between commas: `statements`, `notes`, `thoughts`, `frameworks`; statements alone when absent. `at` and `as_of` are of statements alone"),),
    responses((status = 200, body = Recollection)))]
pub async fn recall(session: Needs<Read>, mut query: Params) -> Answer<Recollection> {
    let text = query
        .question()?
        .ok_or_else(|| Problem::parameter("q", "is missing: what is to be recalled?"))?;
    let limit = query.integer("limit", 1..=HITS_MAX.into())?.unwrap_or(HITS);
    let tokens = query.integer("tokens", 1..=TOKENS_MAX.into())?;
    let question = Question {
        text,
        limit: whole(limit),
        tokens: tokens.and_then(|tokens| u32::try_from(tokens).ok()),
        at: query.moment("at")?,
        as_of: query.seq("as_of")?,
    };
    let among = among(&mut query)?;
    query.end()?;
    if (question.at.is_some() || question.as_of.is_some()) && among != [Memory::Statements] {
        return Err(Problem::parameter(
            "in",
            "only statements are recalled as they were at another time (at, as_of)",
        ));
    }
    let found = match among.contains(&Memory::Statements) {
        true => session.recall(&question).await?,
        false => Found::default(),
    };
    let (others, more) = session.recall_others(&question, &among).await?;
    Ok(axum::Json(Recollection {
        items: found.hits,
        others,
        left_out: found.left_out + more,
        without_vectors: found.without_vectors,
    }))
}

/// Returns the surroundings of a name, nearest first; with `to`, the shortest way between two.
#[utoipa::path(get, path = "/world-model/graph", operation_id = "look_at_graph", tag = "world-model",
    params(("entity" = String, Query, description = "the name: a subject or an object of statements that are held"),
        ("to" = Option<String>, Query, description = "another name: the statements along the shortest way to it; none: there is no way of that length"),
        ("depth" = Option<u32>, Query, description = "so many steps; 1 when absent, 4 with `to`"),
        ("limit" = Option<u32>, Query, description = "50 when absent"),),
    responses((status = 200, body = GraphPart)))]
pub async fn graph(session: Needs<Read>, mut query: Params) -> Answer<GraphPart> {
    let from = name(&mut query, "entity")?
        .ok_or_else(|| Problem::parameter("entity", "is missing: around which name?"))?;
    let to = name(&mut query, "to")?;
    let steps = to.as_ref().map_or(DEPTH, |_| DEPTH_MAX.into());
    let depth = query.integer("depth", 1..=DEPTH_MAX.into())?;
    let limit = query.integer("limit", 1..=EDGES_MAX.into())?;
    query.end()?;
    let look = Look {
        from,
        to,
        depth: whole(depth.unwrap_or(steps)),
        limit: whole(limit.unwrap_or(EDGES)),
    };
    let missing = || Problem::new(Slug::NotFound, "nothing that is held names this");
    let part = session.look(&look).await?.ok_or_else(missing)?;
    Ok(axum::Json(part))
}

fn whole(number: i64) -> usize {
    usize::try_from(number).unwrap_or_default()
}

/// Writes the bounds of the parameters into the document.
fn draw_bounds(document: &mut Value) {
    let limit = |most: u32| ("limit", json!({ "minimum": 1, "maximum": most }));
    let any = Memory::WORDS.join("|");
    let bounds = [
        limit(HITS_MAX),
        ("in", json!({ "pattern": format!("^({any})(,({any}))*$") })),
        ("tokens", json!({ "minimum": 1, "maximum": TOKENS_MAX })),
        ("at", json!({ "format": "date-time" })),
        ("as_of", json!({ "minimum": 0, "maximum": INTEGER_MAX })),
    ];
    bounds::of_query(document, "/recall", bounds);
    let bounds = [
        ("entity", bounds::asked()),
        ("to", bounds::asked()),
        limit(EDGES_MAX),
        ("depth", json!({ "minimum": 1, "maximum": DEPTH_MAX })),
    ];
    bounds::of_query(document, "/world-model/graph", bounds);
}
