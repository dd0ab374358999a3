//! `/frameworks`: the ways in which kinds of tasks are solved, each a hypothesis on probation.
//! Long because a resource is one file: its shapes, their validation, and its operations.

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::cursor::Part;
use super::needs::{Needs, Read, Shape, Speak};
use super::params::Params;
use super::path::Path;
use super::world_model::{name, too_long, words};
use super::{Answer, Only, Page, bounds, made};
use crate::ids;
use crate::json::Body;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_event::framework::{
    self, CODE_MAX, FrameworkChange, ITEMS_MAX, NAME_MAX, Outcome, Recipe, Standing, TEXT_MAX,
    Tally,
};
use thinkd_log::projections::frameworks::FrameworkRow;
use thinkd_recall::frameworks::Likely;
use thinkd_words::id::{INTEGER_MAX, Seq};
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "frameworks": "How kinds of tasks are solved, each a hypothesis on probation";
    "/frameworks" => get(list) post(create);
    "/frameworks/{id}" => get(one) patch(change) delete(remove);
    "/frameworks/{id}/outcomes" => post(outcome);
    bounds: draw_bounds;
}

/// A framework: how a kind of task is solved. It is a hypothesis: like tasks are tried with it and without it, and it is used only while it is better.
#[derive(Debug, Serialize, ToSchema)]
pub struct Framework {
    /// Its id.
    #[schema(format = "uuid")]
    pub id: String,
    /// Its name.
    #[schema(example = "appointments")]
    pub name: String,
    /// For which tasks it is; by this and its name it is found.
    #[schema(example = "putting appointments in an order in which none collide")]
    pub purpose: String,
    /// Knowledge and instructions in natural language.
    pub knowledge: Vec<String>,
    /// The way it works.
    pub recipe: Recipe,
    /// Its standing.
    pub standing: Standing,
    /// The outcomes of like tasks, with it and without it, since it has been as it is.
    pub tally: Tally,
    /// The text that a model is told of it.
    pub rendered: String,
    /// The name of its maker, where it was said.
    pub by: Option<String>,
    /// The event that said something of it last. Sent as `expected_seq`, it has a change refused if
    /// something has been said of the framework since.
    #[schema(value_type = i64, example = 41)]
    pub seq: Seq,
    /// When it was last set.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub updated_at: Timestamp,
    /// Of the frameworks that a task is like: how like, whether the task is to be solved with it, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
}

/// The choice to solve a task with a framework or without it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Choice {
    /// True if the task is to be solved with the framework; else it is solved without it, to
    /// compare, and its outcome is told, too.
    pub with: bool,
    /// The likeness of the task to those that the framework is for, 0 to 1.
    pub score: f64,
    /// Why.
    pub reason: String,
}

impl From<FrameworkRow> for Framework {
    fn from(row: FrameworkRow) -> Self {
        let it = row.framework;
        Self {
            rendered: it.rendered(),
            id: row.id,
            name: it.name,
            purpose: it.purpose,
            knowledge: it.knowledge,
            recipe: it.recipe,
            standing: it.tally.standing(),
            tally: it.tally,
            by: it.by,
            seq: row.changed,
            updated_at: row.updated,
            choice: None,
        }
    }
}

impl From<Likely> for Framework {
    fn from(likely: Likely) -> Self {
        let choice = Choice {
            with: likely.chosen.with(),
            score: likely.score,
            reason: likely.reason,
        };
        Self {
            choice: Some(choice),
            ..likely.row.into()
        }
    }
}

/// The members that `fields` may name, as a pattern has them.
const FIELDS: &str = "by|id|knowledge|name|purpose|recipe|rendered|seq|standing|tally|updated_at";

/// Of a framework the members that are asked for; all of them where none is named.
fn shown(of: impl Into<Framework>, fields: Option<&[String]>) -> Value {
    let mut whole = json!(of.into());
    if let (Some(fields), Value::Object(members)) = (fields, &mut whole) {
        members.retain(|member, _| fields.contains(member));
    }
    whole
}

/// `fields`: names of members, between commas.
fn fields(params: &mut Params) -> Result<Option<Vec<String>>, Problem> {
    let Some(text) = params.one("fields")? else {
        return Ok(None);
    };
    let fields: Vec<String> = text.split(',').map(str::to_owned).collect();
    let is_known = |field: &String| FIELDS.split('|').any(|it| it == field);
    if !fields.iter().all(is_known) {
        let names = FIELDS.replace('|', ", ");
        let detail = format!("names of members between commas: {names}");
        return Err(Problem::parameter("fields", detail));
    }
    Ok(Some(fields))
}

/// A framework to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFramework {
    /// Its name.
    #[schema(example = "appointments")]
    pub name: String,
    /// For which tasks it is.
    #[schema(example = "putting appointments in an order in which none collide")]
    pub purpose: String,
    /// Knowledge and instructions in natural language; none when absent.
    pub knowledge: Option<Vec<String>>,
    /// The way it works; by its knowledge alone when absent.
    pub recipe: Option<Recipe>,
}

/// The outcome of a task that a framework is for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameworkOutcome {
    /// True if the task was tried with the framework.
    pub with: bool,
    /// True if the task was solved.
    pub worked: bool,
    /// The task, in a few words.
    #[schema(example = "put the appointments of a week in order")]
    pub task: String,
    /// The thread of the task; `main` when absent.
    pub thread: Option<String>,
}

fn check_words(pointer: &str, text: &str, most: usize, wrongs: &mut Wrongs) {
    words(pointer, text, (most, "it says something"), wrongs);
}

fn check_items(pointer: &str, items: &[String], wrongs: &mut Wrongs) {
    if items.len() > ITEMS_MAX {
        let detail = format!("at most {ITEMS_MAX}; here are {}", items.len());
        wrongs.add(Slug::InvalidFrame, pointer, detail);
    }
    for (at, item) in items.iter().take(ITEMS_MAX).enumerate() {
        check_words(&format!("{pointer}/{at}"), item, TEXT_MAX, wrongs);
    }
}

impl Body for NewFramework {
    fn check(&self, wrongs: &mut Wrongs) {
        check_words("/name", &self.name, NAME_MAX, wrongs);
        check_words("/purpose", &self.purpose, TEXT_MAX, wrongs);
        check_content(self.knowledge.as_deref(), self.recipe.as_ref(), wrongs);
    }
}

impl Body for FrameworkChange {
    fn check(&self, wrongs: &mut Wrongs) {
        if let Some(name) = &self.name {
            check_words("/name", name, NAME_MAX, wrongs);
        }
        if let Some(purpose) = &self.purpose {
            check_words("/purpose", purpose, TEXT_MAX, wrongs);
        }
        check_content(self.knowledge.as_deref(), self.recipe.as_ref(), wrongs);
        let seqs = 0..=INTEGER_MAX;
        if self.expected_seq.is_some_and(|seq| !seqs.contains(&seq)) {
            wrongs.add(Slug::InvalidFrame, "/expected_seq", "a seq");
        }
    }
}

fn check_content(knowledge: Option<&[String]>, recipe: Option<&Recipe>, wrongs: &mut Wrongs) {
    check_items("/knowledge", knowledge.unwrap_or_default(), wrongs);
    match recipe {
        None | Some(Recipe::Text) => {}
        Some(Recipe::Program {
            language,
            code,
            guideline,
        }) => {
            check_words("/recipe/language", language, NAME_MAX, wrongs);
            check_words("/recipe/code", code, CODE_MAX, wrongs);
            too_long("/recipe/guideline", guideline, TEXT_MAX, wrongs);
        }
        Some(Recipe::ExternalTool { tool, steps }) => {
            check_words("/recipe/tool", tool, NAME_MAX, wrongs);
            check_items("/recipe/steps", steps, wrongs);
        }
    }
}

impl Body for FrameworkOutcome {
    fn check(&self, wrongs: &mut Wrongs) {
        check_words("/task", &self.task, TEXT_MAX, wrongs);
        ids::check_place(self.thread.as_deref(), None, wrongs);
    }
}

/// The frameworks in the order in which they were created; with `task`, those that the task is like, at most two, each with whether it is to be used and why.
#[utoipa::path(get, path = "/frameworks", operation_id = "list_frameworks", tag = "frameworks",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("kind" = Option<String>, Query, description = "only of this kind: `text`, `program` or `external_tool`"),
        ("task" = Option<String>, Query, description = "only those that this task is like and that may be of use, the likest first, on one page"),
        ("fields" = Option<String>, Query, description = "only these members, between commas"),),
    responses((status = 200, body = Page<Framework>)))]
pub async fn list(session: Needs<Read>, mut query: Params) -> Answer<Page<Value>> {
    let part = Part::take(&mut query)?;
    let fields = fields(&mut query)?;
    let fields = fields.as_deref();
    let kind = query.word("kind", "text, program, external_tool", |word| {
        Recipe::KINDS.into_iter().find(|kind| *kind == word)
    })?;
    let task = name(&mut query, "task")?;
    query.end()?;
    if let Some(task) = task {
        if part.is_later() || kind.is_some() {
            let detail = "stands without cursor and kind: what a task is like is one page";
            return Err(Problem::parameter("task", detail));
        }
        let likely = session.frameworks_for(&task).await?.into_iter();
        let items = likely.map(|it| shown(it, fields)).collect();
        return Ok(axum::Json(Page { items, next: None }));
    }
    let part = part.of(format!("frameworks {} {kind:?}", session.space()))?;
    let rows = session.frameworks(kind, part.at.as_deref(), part.limit + 1);
    let Page::<Framework> { items, next } = part.page(rows.await?, |row| row.id.clone());
    let items = items.into_iter().map(|it| shown(it, fields)).collect();
    Ok(axum::Json(Page { items, next }))
}

/// Creates a framework. Nothing is known of it: it is on probation.
#[utoipa::path(post, path = "/frameworks", operation_id = "create_framework", tag = "frameworks",
    request_body = NewFramework, responses((status = 201, body = Framework)))]
pub async fn create(
    session: Needs<Shape>,
    Only(body): Only<NewFramework>,
) -> Result<Response, Problem> {
    let new = framework::Framework {
        name: body.name,
        purpose: body.purpose,
        knowledge: body.knowledge.unwrap_or_default(),
        recipe: body.recipe.unwrap_or_default(),
        ..framework::Framework::default()
    };
    let new = Framework::from(session.create_framework(new).await?);
    let place = format!("/frameworks/{}", new.id);
    Ok(made(StatusCode::CREATED, place, new))
}

/// One framework.
#[utoipa::path(get, path = "/frameworks/{id}", operation_id = "get_framework", tag = "frameworks",
    params(("id" = String, Path, description = "its id"),
        ("fields" = Option<String>, Query, description = "only these members, between commas"),),
    responses((status = 200, body = Framework)))]
pub async fn one(session: Needs<Read>, Path(id): Path<Uuid>, mut query: Params) -> Answer<Value> {
    let fields = fields(&mut query)?;
    query.end()?;
    let row = session.framework(&id.to_string()).await?;
    let none = || Problem::not_found("there is no framework of that id");
    Ok(axum::Json(shown(row.ok_or_else(none)?, fields.as_deref())))
}

/// Changes a framework.
#[utoipa::path(patch, path = "/frameworks/{id}", operation_id = "change_framework", tag = "frameworks",
    params(("id" = String, Path, description = "its id")),
    request_body = FrameworkChange, responses((status = 200, body = Framework)))]
pub async fn change(
    session: Needs<Shape>,
    Path(id): Path<Uuid>,
    Only(body): Only<FrameworkChange>,
) -> Answer<Framework> {
    let row = session.change_framework(&id.to_string(), body).await?;
    Ok(axum::Json(row.into()))
}

/// Removes a framework.
#[utoipa::path(delete, path = "/frameworks/{id}", operation_id = "remove_framework", tag = "frameworks",
    params(("id" = String, Path, description = "its id"),
        ("expected_seq" = Option<i64>, Query, minimum = 0, description = "the `seq` that was read before: if something has been said of it since, it stays"),),
    responses((status = 204, description = "it is gone")))]
pub async fn remove(
    session: Needs<Shape>,
    Path(id): Path<Uuid>,
    mut query: Params,
) -> Result<StatusCode, Problem> {
    let expected = query.seq("expected_seq")?;
    query.end()?;
    session.remove_framework(&id.to_string(), expected).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Tells the outcome of a task that a framework is for, with it or without it. By these outcomes it
/// is used, dropped or unusable.
#[utoipa::path(post, path = "/frameworks/{id}/outcomes", operation_id = "tell_framework_outcome", tag = "frameworks",
    params(("id" = String, Path, description = "its id")),
    request_body = FrameworkOutcome, responses((status = 200, body = Framework)))]
pub async fn outcome(
    session: Needs<Speak>,
    Path(id): Path<Uuid>,
    Only(body): Only<FrameworkOutcome>,
) -> Answer<Framework> {
    let came = Outcome {
        thread: ids::thread(body.thread.as_deref())?,
        task: body.task,
        with: body.with,
        worked: body.worked,
    };
    let row = session.framework_outcome(&id.to_string(), &came).await?;
    Ok(axum::Json(row.into()))
}

/// Writes the bounds of the members into the document.
fn draw_bounds(document: &mut Value) {
    let text = bounds::words;
    let items = || json!({ "maxItems": ITEMS_MAX, "items": { "type": "string", "pattern": bounds::WORDS, "maxLength": TEXT_MAX } });
    for body in ["NewFramework", "FrameworkChange"] {
        let common = [
            ("name", text(NAME_MAX)),
            ("purpose", text(TEXT_MAX)),
            ("knowledge", items()),
        ];
        bounds::of_body(document, body, common);
    }
    let seq = json!({ "minimum": 0, "maximum": INTEGER_MAX });
    bounds::of_body(document, "FrameworkChange", [("expected_seq", seq)]);
    let outcome = [("task", text(TEXT_MAX)), ("thread", bounds::thread())];
    bounds::of_body(document, "FrameworkOutcome", outcome);
    let schemas = &mut document["components"]["schemas"];
    let recipes = schemas["Recipe"]["oneOf"].as_array_mut();
    for recipe in recipes.into_iter().flatten() {
        let guideline = json!({ "pattern": bounds::TEXT, "maxLength": TEXT_MAX });
        for (member, bound) in [
            ("language", text(NAME_MAX)),
            ("code", text(CODE_MAX)),
            ("guideline", guideline),
            ("tool", text(NAME_MAX)),
            ("steps", items()),
        ] {
            if let Some(schema) = recipe["properties"].get_mut(member) {
                bounds::put(schema, bound);
            }
        }
    }
    // `fields` leaves members out.
    for of in ["/Page_Framework/properties/items/items", "/Framework"] {
        if let Some(Value::Object(schema)) = schemas.pointer_mut(of) {
            schema.remove("required");
        }
    }
    let fields = json!({ "pattern": format!("^({FIELDS})(,({FIELDS}))*$") });
    bounds::of_query(document, "/frameworks/{id}", [("fields", fields.clone())]);
    let kind = json!({ "enum": Recipe::KINDS });
    let all = [
        ("kind", kind),
        ("task", bounds::asked()),
        ("fields", fields),
    ];
    bounds::of_query(document, "/frameworks", all);
}
