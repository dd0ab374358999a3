//! `/frameworks`: how kinds of tasks are solved, each a hypothesis on probation.
//! Long because a resource is one file: its shapes, what is wrong with them, and its operations.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use super::needs::{Needs, Read, Shape, Speak};
use super::params::{self, Params};
use super::path::Path;
use super::world_model::{name, too_long};
use super::{Json, Page, Resource, bounds, cursor};
use crate::edge::ids;
use crate::edge::json::Body;
use crate::edge::problem::{Problem, Slug, Wrongs};
use crate::event::framework::{
    self, CODE_MAX, FrameworkChange as Change, ITEMS_MAX, NAME_MAX, Outcome, Recipe, Standing,
    TEXT_MAX, Tally,
};
use crate::log::projections::frameworks::FrameworkRow;
use crate::recall::frameworks::Likely;
use crate::words::id::{INTEGER_MAX, Seq};
use crate::words::time::Timestamp;

#[derive(OpenApi)]
#[openapi(paths(list, create, one, change, remove, outcome),
    tags((name = "frameworks", description = "How kinds of tasks are solved, each a hypothesis on probation")))]
struct Document;

/// See the module.
pub const RESOURCE: Resource = Resource {
    routes: || {
        Router::new()
            .route("/frameworks", get(list).post(create))
            .route("/frameworks/{id}", get(one).patch(change).delete(remove))
            .route("/frameworks/{id}/outcomes", post(outcome))
    },
    document: Document::openapi,
    bounds: draw_bounds,
};

/// A framework: how a kind of task is solved. It is a hypothesis: like tasks are tried with it and without it, and it is used only while it is better.
#[derive(Debug, Serialize, ToSchema)]
pub struct Framework {
    /// Its id.
    #[schema(format = "uuid")]
    pub id: String,
    /// What it is called.
    #[schema(example = "appointments")]
    pub name: String,
    /// For which tasks it is; by this and its name it is found.
    #[schema(example = "putting appointments in an order in which none collide")]
    pub purpose: String,
    /// Knowledge and instructions in natural language.
    pub knowledge: Vec<String>,
    /// How it works.
    pub recipe: Recipe,
    /// How it stands.
    pub standing: Standing,
    /// What came of like tasks, with it and without it, since it has been as it is.
    pub tally: Tally,
    /// What a model is told of it.
    pub rendered: String,
    /// The name of who made it, where it was said.
    pub by: Option<String>,
    /// The event that said something of it last. Sent as `expected_seq`, it refuses a change of what is not known.
    #[schema(value_type = i64, example = 41)]
    pub seq: Seq,
    /// When it was last set.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub updated_at: Timestamp,
    /// Of the frameworks that a task is like: how like, whether the task is to be solved with it, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
}

/// Whether a task is to be solved with a framework.
#[derive(Debug, Serialize, ToSchema)]
pub struct Choice {
    /// Whether it is; else it is solved without it, to compare, and its outcome is told, too.
    pub with: bool,
    /// How like the task is, 0 to 1.
    pub score: f64,
    /// Why.
    pub reason: String,
}

impl From<FrameworkRow> for Framework {
    fn from(row: FrameworkRow) -> Self {
        let FrameworkRow {
            id,
            framework,
            changed: seq,
            updated: updated_at,
        } = row;
        let (rendered, standing) = (framework.rendered(), framework.tally.standing());
        let framework::Framework {
            name,
            purpose,
            knowledge,
            recipe,
            by,
            tally,
        } = framework;
        Self {
            id,
            name,
            purpose,
            knowledge,
            recipe,
            standing,
            tally,
            rendered,
            by,
            seq,
            updated_at,
            choice: None,
        }
    }
}

impl From<Likely> for Framework {
    fn from(
        Likely {
            row,
            chosen,
            reason,
            score,
        }: Likely,
    ) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "at most 1000")]
        let choice = Choice {
            with: chosen.with(),
            score: score as f64 / 1000.0,
            reason,
        };
        Self {
            choice: Some(choice),
            ..row.into()
        }
    }
}

/// The members that `fields` may name.
const FIELDS: [&str; 11] = [
    "by",
    "id",
    "knowledge",
    "name",
    "purpose",
    "recipe",
    "rendered",
    "seq",
    "standing",
    "tally",
    "updated_at",
];

/// Of a framework the members that are asked for; all of them where none is named.
fn shown(framework: Framework, fields: Option<&[String]>) -> Result<Value, Problem> {
    let whole = serde_json::to_value(framework).map_err(|error| {
        Problem::new(
            Slug::Internal,
            format!("the framework cannot be written: {error}"),
        )
    })?;
    let (Some(fields), Value::Object(members)) = (fields, &whole) else {
        return Ok(whole);
    };
    let chosen = fields
        .iter()
        .filter_map(|field| Some((field.clone(), members.get(field)?.clone())));
    Ok(Value::Object(chosen.collect::<Map<String, Value>>()))
}

/// `fields`: names of members, between commas.
fn fields(params: &mut Params) -> Result<Option<Vec<String>>, Problem> {
    let Some(text) = params.one("fields")? else {
        return Ok(None);
    };
    let fields: Vec<String> = text.split(',').map(str::to_owned).collect();
    match fields
        .iter()
        .find(|field| !FIELDS.contains(&field.as_str()))
    {
        Some(_) => Err(Problem::parameter(
            "fields",
            format!("names of members between commas: {}", FIELDS.join(", ")),
        )),
        None => Ok(Some(fields)),
    }
}

/// A framework to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFramework {
    /// What it is called.
    #[schema(example = "appointments")]
    pub name: String,
    /// For which tasks it is.
    #[schema(example = "putting appointments in an order in which none collide")]
    pub purpose: String,
    /// Knowledge and instructions in natural language; none when absent.
    pub knowledge: Option<Vec<String>>,
    /// How it works; by its knowledge alone when absent.
    pub recipe: Option<Recipe>,
}

/// What is to be changed of a framework; what is absent stays as it is. Another purpose, knowledge or recipe begins its probation anew.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameworkChange {
    /// What it is called.
    pub name: Option<String>,
    /// For which tasks it is.
    pub purpose: Option<String>,
    /// Its knowledge, all of it.
    pub knowledge: Option<Vec<String>>,
    /// How it works.
    pub recipe: Option<Recipe>,
    /// The `seq` that was read before: if something has been said of it since, nothing is changed. Without it the last one wins.
    #[schema(value_type = Option<i64>, example = 41)]
    pub expected_seq: Option<Seq>,
}

/// What came of a task that a framework is for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameworkOutcome {
    /// Whether it was solved with the framework.
    pub with: bool,
    /// Whether it was solved.
    pub worked: bool,
    /// The task, in a few words.
    #[schema(example = "put the appointments of a week in order")]
    pub task: String,
    /// The thread of the task; `main` when absent.
    pub thread: Option<String>,
}

fn check_words(pointer: &str, text: &str, most: usize, wrongs: &mut Wrongs) {
    if text.trim().is_empty() {
        wrongs.add(Slug::EmptyInput, pointer, "it says something");
    }
    too_long(pointer, text, most, wrongs);
}

fn check_items(pointer: &str, items: &[String], wrongs: &mut Wrongs) {
    if items.len() > ITEMS_MAX {
        wrongs.add(
            Slug::InvalidFrame,
            pointer,
            format!("at most {ITEMS_MAX}; here are {}", items.len()),
        );
    }
    for (at, item) in items.iter().take(ITEMS_MAX).enumerate() {
        check_words(&format!("{pointer}/{at}"), item, TEXT_MAX, wrongs);
    }
}

fn check_recipe(recipe: &Recipe, wrongs: &mut Wrongs) {
    match recipe {
        Recipe::Text => {}
        Recipe::Program {
            language,
            code,
            guideline,
        } => {
            check_words("/recipe/language", language, NAME_MAX, wrongs);
            check_words("/recipe/code", code, CODE_MAX, wrongs);
            too_long("/recipe/guideline", guideline, TEXT_MAX, wrongs);
        }
        Recipe::ExternalTool { tool, steps } => {
            check_words("/recipe/tool", tool, NAME_MAX, wrongs);
            check_items("/recipe/steps", steps, wrongs);
        }
    }
}

impl Body for NewFramework {
    fn check(&self, wrongs: &mut Wrongs) {
        check_words("/name", &self.name, NAME_MAX, wrongs);
        check_words("/purpose", &self.purpose, TEXT_MAX, wrongs);
        check_items(
            "/knowledge",
            self.knowledge.as_deref().unwrap_or_default(),
            wrongs,
        );
        self.recipe
            .iter()
            .for_each(|recipe| check_recipe(recipe, wrongs));
    }
}

impl Body for FrameworkChange {
    fn check(&self, wrongs: &mut Wrongs) {
        self.name
            .iter()
            .for_each(|name| check_words("/name", name, NAME_MAX, wrongs));
        self.purpose
            .iter()
            .for_each(|purpose| check_words("/purpose", purpose, TEXT_MAX, wrongs));
        check_items(
            "/knowledge",
            self.knowledge.as_deref().unwrap_or_default(),
            wrongs,
        );
        self.recipe
            .iter()
            .for_each(|recipe| check_recipe(recipe, wrongs));
        if self
            .expected_seq
            .is_some_and(|seq| !(0..=INTEGER_MAX).contains(&seq))
        {
            wrongs.add(Slug::InvalidFrame, "/expected_seq", "a seq");
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
pub async fn list(
    session: Needs<Read>,
    mut query: Params,
) -> Result<axum::Json<Page<Value>>, Problem> {
    let (limit, place, fields) = (query.limit()?, query.one("cursor")?, fields(&mut query)?);
    let kind = query.word("kind", "text, program, external_tool", |word| {
        Recipe::KINDS.into_iter().find(|kind| *kind == word)
    })?;
    let task = name(&mut query, "task")?;
    query.end()?;
    if let Some(task) = task {
        if place.is_some() || kind.is_some() {
            return Err(Problem::parameter(
                "task",
                "stands without cursor and kind: what a task is like is one page",
            ));
        }
        let likely = session.frameworks_for(&task).await?;
        let items = likely
            .into_iter()
            .map(|likely| shown(likely.into(), fields.as_deref()))
            .collect::<Result<_, _>>()?;
        return Ok(axum::Json(Page { items, next: None }));
    }
    let bound = format!("frameworks {} {kind:?}", session.space());
    let after = place
        .map(|place| cursor::read(&bound, &place))
        .transpose()?;
    let mut rows = session
        .frameworks(kind, after.as_deref(), limit + 1)
        .await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next = rows
        .last()
        .filter(|_| more)
        .map(|row| cursor::write(&bound, &row.id));
    let items = rows
        .into_iter()
        .map(|row| shown(row.into(), fields.as_deref()))
        .collect::<Result<_, _>>()?;
    Ok(axum::Json(Page { items, next }))
}

/// Creates a framework. Nothing is known of it: it is on probation.
#[utoipa::path(post, path = "/frameworks", operation_id = "create_framework", tag = "frameworks",
    request_body = NewFramework, responses((status = 201, body = Framework)))]
pub async fn create(
    session: Needs<Shape>,
    params: Params,
    Json(body): Json<NewFramework>,
) -> Result<Response, Problem> {
    params.end()?;
    let NewFramework {
        name,
        purpose,
        knowledge,
        recipe,
    } = body;
    let (knowledge, recipe) = (
        knowledge.unwrap_or_default(),
        recipe.unwrap_or(Recipe::Text),
    );
    let new = framework::Framework {
        name,
        purpose,
        knowledge,
        recipe,
        by: None,
        tally: Tally::default(),
    };
    let row = session.create_framework(new).await?;
    let place = format!("/frameworks/{}", row.id);
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, place)],
        axum::Json(Framework::from(row)),
    )
        .into_response())
}

/// One framework.
#[utoipa::path(get, path = "/frameworks/{id}", operation_id = "get_framework", tag = "frameworks",
    params(("id" = String, Path, description = "its id"),
        ("fields" = Option<String>, Query, description = "only these members, between commas"),),
    responses((status = 200, body = Framework)))]
pub async fn one(
    session: Needs<Read>,
    Path(id): Path<Uuid>,
    mut query: Params,
) -> Result<axum::Json<Value>, Problem> {
    let fields = fields(&mut query)?;
    query.end()?;
    let row = session.framework(&id.to_string()).await?;
    let row =
        row.ok_or_else(|| Problem::new(Slug::NotFound, "there is no framework of that id"))?;
    Ok(axum::Json(shown(row.into(), fields.as_deref())?))
}

/// Changes a framework.
#[utoipa::path(patch, path = "/frameworks/{id}", operation_id = "change_framework", tag = "frameworks",
    params(("id" = String, Path, description = "its id")),
    request_body = FrameworkChange, responses((status = 200, body = Framework)))]
pub async fn change(
    session: Needs<Shape>,
    Path(id): Path<Uuid>,
    params: Params,
    Json(body): Json<FrameworkChange>,
) -> Result<axum::Json<Framework>, Problem> {
    params.end()?;
    let FrameworkChange {
        name,
        purpose,
        knowledge,
        recipe,
        expected_seq,
    } = body;
    let change = Change {
        name,
        purpose,
        knowledge,
        recipe,
    };
    Ok(axum::Json(
        session
            .change_framework(&id.to_string(), change, expected_seq)
            .await?
            .into(),
    ))
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

/// Tells what came of a task that a framework is for, with it or without it. By these it is used, dropped or unusable.
#[utoipa::path(post, path = "/frameworks/{id}/outcomes", operation_id = "tell_framework_outcome", tag = "frameworks",
    params(("id" = String, Path, description = "its id")),
    request_body = FrameworkOutcome, responses((status = 200, body = Framework)))]
pub async fn outcome(
    session: Needs<Speak>,
    Path(id): Path<Uuid>,
    params: Params,
    Json(body): Json<FrameworkOutcome>,
) -> Result<axum::Json<Framework>, Problem> {
    params.end()?;
    let FrameworkOutcome {
        with,
        worked,
        task,
        thread,
    } = body;
    let came = Outcome {
        thread: ids::thread(thread.as_deref())?,
        task,
        with,
        worked,
    };
    Ok(axum::Json(
        session
            .framework_outcome(&id.to_string(), &came)
            .await?
            .into(),
    ))
}

/// What the members may be.
fn draw_bounds(document: &mut Value) {
    let text = |most: usize| json!({ "pattern": bounds::WORDS, "maxLength": most });
    let items = || json!({ "maxItems": ITEMS_MAX, "items": { "type": "string", "pattern": bounds::WORDS, "maxLength": TEXT_MAX } });
    let common = || {
        [
            ("name", text(NAME_MAX)),
            ("purpose", text(TEXT_MAX)),
            ("knowledge", items()),
        ]
    };
    bounds::of_body(document, "NewFramework", common());
    bounds::of_body(document, "FrameworkChange", common());
    bounds::of_body(
        document,
        "FrameworkChange",
        [(
            "expected_seq",
            json!({ "minimum": 0, "maximum": INTEGER_MAX }),
        )],
    );
    bounds::of_body(
        document,
        "FrameworkOutcome",
        [("task", text(TEXT_MAX)), ("thread", bounds::thread())],
    );
    for recipe in document["components"]["schemas"]["Recipe"]["oneOf"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        for (member, bound) in [
            ("language", text(NAME_MAX)),
            ("code", text(CODE_MAX)),
            (
                "guideline",
                json!({ "pattern": bounds::TEXT, "maxLength": TEXT_MAX }),
            ),
            ("tool", text(NAME_MAX)),
            ("steps", items()),
        ] {
            if let Some(schema) = recipe["properties"].get_mut(member) {
                bounds::put(schema, bound);
            }
        }
    }
    // `fields` leaves members out.
    let schemas = &mut document["components"]["schemas"];
    let page = schemas["Page_Framework"]["properties"]["items"]["items"]
        .as_object_mut()
        .map(|it| it.remove("required"));
    let one = schemas["Framework"]
        .as_object_mut()
        .map(|it| it.remove("required"));
    drop((page, one));
    for path in ["/frameworks", "/frameworks/{id}"] {
        for operation in ["get", "delete"] {
            let parameters = document["paths"][path]
                .get_mut(operation)
                .and_then(|it| it["parameters"].as_array_mut());
            for parameter in parameters.into_iter().flatten() {
                let bound = match parameter["name"].as_str() {
                    Some("kind") => json!({ "enum": Recipe::KINDS }),
                    Some("task") => {
                        json!({ "pattern": bounds::WORDS, "minLength": 1, "maxLength": params::WORDS_MAX })
                    }
                    Some("fields") => {
                        let any = FIELDS.join("|");
                        json!({ "pattern": format!("^({any})(,({any}))*$") })
                    }
                    Some("expected_seq") => json!({ "maximum": INTEGER_MAX }),
                    _ => continue,
                };
                bounds::put(&mut parameter["schema"], bound);
            }
        }
    }
}
