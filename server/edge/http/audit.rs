//! `/world-model/audit`: the wrong and the doubtful in the memory of a space.

use serde_json::{Value, json};

use super::cursor::Part;
use super::needs::{Needs, Read};
use super::params::Params;
use super::{Answer, bounds};
use thinkd_event::doubt::Doubt;
use thinkd_session::audit::Audit;
use thinkd_words::time::{self, Timestamp};

resource! {
    /// See the module.
    RESOURCE;
    "/world-model/audit" => get(audit);
    bounds: draw_bounds;
}

/// Most statements that a page looks at: each is held beside all others.
const LIMIT_MAX: i64 = 100;
/// Statements that a page looks at when the request gives no number.
const LIMIT: i64 = 50;
/// Days without a test after which a statement is overdue, when the request gives no number.
const OVERDUE_DAYS: i64 = 90;
/// Most days: a hundred years.
const DAYS_MAX: i64 = 36_500;
const DAY: i64 = 86_400_000_000;

/// Returns the statements of the memory that are wrong or doubtful. A statement is doubtful if
/// others say the same or look alike, if no mind recalled it, or if one instrument or reflection
/// alone has tested it. It is also doubtful if it was not tested for long, is contested, waits or
/// has no outcome. Nothing is changed.
#[utoipa::path(get, path = "/world-model/audit", operation_id = "audit_statements", tag = "world-model",
    params(("limit" = Option<u32>, Query, description = "so many statements are looked at; 50 when absent. Those without a doubt are left out of the page"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("doubt" = Option<String>, Query, description = "only this one: `duplicate`, `near`, `never-recalled`, `one-instrument`, `reflection-only`, `overdue`, `contested`, `waiting`, `undecided` or `untested`"),
        ("overdue_days" = Option<u32>, Query, description = "after so many days without a test a statement is overdue; 90 when absent"),),
    responses((status = 200, body = Audit)))]
pub async fn audit(session: Needs<Read>, mut query: Params) -> Answer<Audit> {
    let limit = query.integer("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT);
    let part = Part::of_at_most(u32::try_from(limit).unwrap_or(1), &mut query)?;
    let known = Doubt::ALL.map(Doubt::as_str).join(", ");
    let only = query.word("doubt", &known, Doubt::parse)?;
    let days = query.integer("overdue_days", 1..=DAYS_MAX)?;
    let days = days.unwrap_or(OVERDUE_DAYS);
    query.end()?;
    let part = part.of(format!("audit {} {only:?} {days}", session.space()))?;
    let old = Timestamp::from_micros(time::now().micros().saturating_sub(days * DAY));
    let place = (part.behind().unwrap_or(0), part.limit);
    let (audit, next) = session.audit(only, old, place).await?;
    let next = next.map(|seq| part.next(seq));
    Ok(axum::Json(Audit { next, ..audit }))
}

/// Writes the bounds of the parameters into the document.
fn draw_bounds(document: &mut Value) {
    let bounds = [
        ("limit", json!({ "minimum": 1, "maximum": LIMIT_MAX })),
        ("overdue_days", json!({ "minimum": 1, "maximum": DAYS_MAX })),
        ("doubt", json!({ "enum": Doubt::ALL.map(Doubt::as_str) })),
    ];
    bounds::of_query(document, "/world-model/audit", bounds);
}
