//! `/world-model/audit`: what is wrong or doubtful in the memory of a space.

use std::collections::BTreeMap;

use axum::Router;
use axum::routing::get;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::{OpenApi, ToSchema};

use super::needs::{Needs, Read};
use super::params::Params;
use super::world_model::Statement;
use super::{Resource, bounds, cursor};
use crate::edge::problem::Problem;
use crate::event::doubt::Doubt;
use crate::recall::audit::Alike;
use crate::session::audit::Doubtful;
use crate::words::time::{self, Timestamp};

#[derive(OpenApi)]
#[openapi(paths(audit))]
struct Document;

/// See the module.
pub const RESOURCE: Resource = Resource {
    routes: || Router::new().route("/world-model/audit", get(audit)),
    document: Document::openapi,
    bounds: draw_bounds,
};

/// Most statements that a page looks at: each is held beside all others.
const LIMIT_MAX: i64 = 100;
/// How many it looks at where nobody says.
const LIMIT: i64 = 50;
/// After so many days without a test a statement is overdue, where nobody says.
const OVERDUE_DAYS: i64 = 90;
/// Most days: a hundred years.
const DAYS_MAX: i64 = 36_500;
const DAY: i64 = 86_400_000_000;

/// A part of an audit.
#[derive(Debug, Serialize, ToSchema)]
pub struct Audit {
    /// The statements of this page about which there is a doubt, in the order in which they were claimed.
    pub items: Vec<DoubtfulStatement>,
    /// How many statements this page looked at, by their status.
    #[schema(value_type = Object)]
    pub looked_at: BTreeMap<&'static str, u64>,
    /// How many recalls by minds were looked at, the newest ones: at most 2000.
    pub recalls: usize,
    /// Why vectors said nothing, or not of all statements; null: they did.
    pub without_vectors: Option<String>,
    /// The cursor of the next page; null on the last one.
    pub next: Option<String>,
}

/// A statement about which there is a doubt.
#[derive(Debug, Serialize, ToSchema)]
pub struct DoubtfulStatement {
    /// The statement.
    #[serde(flatten)]
    pub statement: Statement,
    /// The doubts.
    pub doubts: Vec<Doubt>,
    /// How many of the recalls that were looked at returned it.
    pub recalled: u32,
    /// The ids of others that are held and say the same of the same time, at most five.
    pub same: Vec<String>,
    /// Others that are held and look alike, the nearest first, at most five: candidates, which nothing merges.
    pub near: Vec<Near>,
}

/// A statement that looks like another one.
#[derive(Debug, Serialize, ToSchema)]
pub struct Near {
    /// Its id.
    #[schema(format = "uuid")]
    pub id: String,
    /// What it says.
    pub text: String,
    /// How alike the two are: the cosine of their vectors.
    pub likeness: f64,
}

impl From<Alike> for Near {
    fn from(alike: Alike) -> Self {
        let likeness = (f64::from(alike.likeness) * 1000.0).round() / 1000.0;
        Self {
            id: alike.held.id,
            text: alike.held.text,
            likeness,
        }
    }
}

impl From<Doubtful> for DoubtfulStatement {
    fn from(doubtful: Doubtful) -> Self {
        let Doubtful {
            shown,
            doubts,
            same,
            near,
            recalled,
        } = doubtful;
        Self {
            statement: shown.into(),
            doubts,
            recalled,
            same,
            near: near.into_iter().map(Near::from).collect(),
        }
    }
}

/// What is wrong or doubtful in the memory: statements that say the same or look alike, that no mind recalled, that one instrument or reflection
/// alone has tested, that were not tested for long, that are contested, that wait or have no outcome. Nothing is changed.
#[utoipa::path(get, path = "/world-model/audit", operation_id = "audit_statements", tag = "world-model",
    params(("limit" = Option<u32>, Query, description = "so many statements are looked at; 50 when absent. Those without a doubt are left out of the page"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("doubt" = Option<String>, Query, description = "only this one: `duplicate`, `near`, `never-recalled`, `one-instrument`, `reflection-only`, `overdue`, `contested`, `waiting`, `undecided` or `untested`"),
        ("overdue_days" = Option<u32>, Query, description = "after so many days without a test a statement is overdue; 90 when absent"),),
    responses((status = 200, body = Audit)))]
pub async fn audit(session: Needs<Read>, mut query: Params) -> Result<axum::Json<Audit>, Problem> {
    let limit = query.integer("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT);
    let place = query.one("cursor")?;
    let known = Doubt::ALL.map(Doubt::as_str).join(", ");
    let only = query.word("doubt", &known, Doubt::parse)?;
    let days = query
        .integer("overdue_days", 1..=DAYS_MAX)?
        .unwrap_or(OVERDUE_DAYS);
    query.end()?;
    let bound = format!("audit {} {only:?} {days}", session.space());
    let after = place
        .map(|place| cursor::read(&bound, &place))
        .transpose()?;
    let after = after.and_then(|seq| seq.parse().ok()).unwrap_or(0);
    let old = Timestamp::from_micros(time::now().micros().saturating_sub(days * DAY));
    let audited = session
        .audit(only, old, (after, u32::try_from(limit).unwrap_or(1)))
        .await?;
    Ok(axum::Json(Audit {
        items: audited
            .doubtful
            .into_iter()
            .map(DoubtfulStatement::from)
            .collect(),
        looked_at: audited.looked_at,
        recalls: audited.recalls,
        without_vectors: audited.without_vectors,
        next: audited
            .next
            .map(|seq| cursor::write(&bound, &seq.to_string())),
    }))
}

/// What the parameters may be.
fn draw_bounds(document: &mut Value) {
    let parameters = document["paths"]["/world-model/audit"]["get"]["parameters"].as_array_mut();
    for parameter in parameters.into_iter().flatten() {
        let bound = match parameter["name"].as_str() {
            Some("limit") => json!({ "minimum": 1, "maximum": LIMIT_MAX }),
            Some("overdue_days") => json!({ "minimum": 1, "maximum": DAYS_MAX }),
            Some("doubt") => json!({ "enum": Doubt::ALL.map(Doubt::as_str) }),
            _ => continue,
        };
        bounds::put(&mut parameter["schema"], bound);
    }
}
