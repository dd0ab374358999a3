//! `/schedules`: schedules fire triggers by the clock.
//! Long because a resource is one file: its shapes, their validation, and its operations.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::cursor::Part;
use super::needs::{Needs, Read, Shape};
use super::params::{NoParams, Params};
use super::path::Path;
use super::{Answer, Only, Page, bounds, made};
use crate::ack::Ack;
use crate::frame::check_text;
use crate::ids;
use crate::json::Body;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_event::envelope::Payload;
use thinkd_event::schedule::{self, CATCH_UP_S, Overlap, ScheduleChange as Change};
use thinkd_log::projections::schedules::ScheduleRow;
use thinkd_words::id::{Name, Seq, ThreadId};
use thinkd_words::recurrence::When;
use thinkd_words::time::Timestamp;

/// Most characters of a note.
const NOTE_MAX: usize = 1000;
/// Most bytes of a trigger's payload, as JSON: it is stored with every run.
const PAYLOAD_MAX: usize = 16 << 10;
/// The shortest and the longest time for which runs may be caught up with, in seconds: up to a
/// year.
const CATCH_UP: std::ops::RangeInclusive<f64> = 1.0..=31_622_400.0;

resource! {
    /// See the module.
    RESOURCE tagged "schedules": "What fires triggers by the clock";
    "/schedules" => get(list) post(create);
    "/schedules/{name}" => get(one) patch(change) delete(remove);
    "/schedules/{name}/run" => post(run);
    bounds: draw_bounds;
}

/// A schedule: at some times it fires a trigger into a thread.
#[derive(Debug, Serialize, ToSchema)]
pub struct Schedule {
    /// Its name.
    #[schema(value_type = String, example = "morning")]
    pub name: Name,
    /// The thread that the trigger goes to.
    #[schema(value_type = String, example = "main")]
    pub thread: ThreadId,
    /// The trigger's name.
    #[schema(value_type = String, example = "daily_review")]
    pub event: Name,
    /// The payload of the trigger.
    #[schema(value_type = Object)]
    pub payload: Payload,
    /// When.
    pub when: When,
    /// The treatment of a due time while an earlier run waits or has its turn. `skip`: it is left
    /// out, with an event that says so. `queue`: it waits, too.
    pub overlap: Overlap,
    /// The number of seconds after a due time in which it is caught up with. All due times that
    /// were missed within them come to one run, older ones to none, with an event that says so.
    #[schema(example = 86400)]
    pub catch_up_s: f64,
    /// Its purpose, or why it is paused.
    pub note: String,
    /// True if it is paused.
    pub paused: bool,
    /// When it is due next; null: it is paused.
    #[schema(value_type = Option<String>, example = "2026-11-21T08:00:00.000000Z")]
    pub next: Option<Timestamp>,
    /// The event of its last run; null: there was none.
    #[schema(value_type = Option<i64>)]
    pub last: Option<Seq>,
    /// When it was last set.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub updated_at: Timestamp,
}

impl From<ScheduleRow> for Schedule {
    fn from(row: ScheduleRow) -> Self {
        let schedule = row.schedule;
        Self {
            name: row.name,
            thread: schedule.thread,
            event: schedule.event,
            payload: schedule.payload,
            when: schedule.when,
            overlap: schedule.overlap,
            catch_up_s: schedule.catch_up_s,
            note: schedule.note,
            paused: schedule.paused,
            next: schedule.due,
            last: schedule.last,
            updated_at: row.updated,
        }
    }
}

/// A schedule to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSchedule {
    /// Its name: 1 to 32 of a-z, 0-9, _ and -.
    #[schema(example = "morning")]
    pub name: String,
    /// The thread that the trigger goes to; `main` when absent. An unused id becomes a conversation with the first run.
    #[schema(example = "main")]
    pub thread: Option<String>,
    /// The trigger's name; that of the schedule when absent.
    #[schema(example = "daily_review")]
    pub event: Option<String>,
    /// The payload of the trigger. Its `text`, if any, is the text that the mind reads; the member
    /// `schedule` is added with every run.
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Payload>,
    /// When.
    pub when: When,
    /// `skip` when absent.
    pub overlap: Option<Overlap>,
    /// A day when absent.
    #[schema(example = 86400)]
    pub catch_up_s: Option<f64>,
    /// Its purpose.
    pub note: Option<String>,
    /// True if it is not to begin yet.
    pub paused: Option<bool>,
}

/// The changes to a schedule; absent members stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleChange {
    /// The thread that the trigger goes to.
    pub thread: Option<String>,
    /// The trigger's name.
    pub event: Option<String>,
    /// The payload of the trigger.
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Payload>,
    /// When: it is due next at the first of these times that is to come.
    pub when: Option<When>,
    /// The treatment of a due time while an earlier run waits or has its turn.
    pub overlap: Option<Overlap>,
    /// The number of seconds after a due time in which it is caught up with.
    #[schema(example = 86400)]
    pub catch_up_s: Option<f64>,
    /// Its purpose, or why it is paused.
    pub note: Option<String>,
    /// `true` pauses it: due times meanwhile are left out. `false`: it goes on with the first due
    /// time that is to come.
    pub paused: Option<bool>,
}

fn check_payload(payload: &Payload, wrongs: &mut Wrongs) {
    check_text(payload, wrongs);
    if payload.contains_key(schedule::MEMBER) {
        let place = format!("/payload/{}", schedule::MEMBER);
        let detail = "this member is the server's: it says for which due times a run is";
        wrongs.add(Slug::InvalidFrame, place, detail);
    }
    let bytes = serde_json::to_string(payload).map_or(0, |text| text.len());
    if bytes > PAYLOAD_MAX {
        let detail = format!(
            "a payload has at most {PAYLOAD_MAX} bytes, for every run stores it; this one has {bytes}"
        );
        wrongs.add(Slug::TooLarge, "/payload", detail);
    }
}

impl Body for NewSchedule {
    fn check(&self, wrongs: &mut Wrongs) {
        wrongs.note("/name", Name::parse(&self.name));
        let common = ScheduleChange {
            thread: self.thread.clone(),
            event: self.event.clone(),
            payload: self.payload.clone(),
            when: Some(self.when.clone()),
            overlap: self.overlap,
            catch_up_s: self.catch_up_s,
            note: self.note.clone(),
            paused: self.paused,
        };
        common.check(wrongs);
    }
}

impl Body for ScheduleChange {
    fn check(&self, wrongs: &mut Wrongs) {
        ids::check_place(self.thread.as_deref(), None, wrongs);
        let event = self.event.as_deref();
        event.map(|event| wrongs.note("/event", Name::parse(event)));
        let when = self.when.as_ref().and_then(|when| when.read().err());
        for wrong in when.into_iter().flatten() {
            let slug = match wrong.of_form {
                true => Slug::InvalidFrame,
                false => Slug::Unprocessable,
            };
            wrongs.add(slug, format!("/when/{}", wrong.member), wrong.detail);
        }
        if let Some(payload) = &self.payload {
            check_payload(payload, wrongs);
        }
        if (self.catch_up_s).is_some_and(|seconds| !CATCH_UP.contains(&seconds)) {
            let least = CATCH_UP.start();
            let most = CATCH_UP.end();
            let detail = format!("a number of seconds from {least} to {most}");
            wrongs.add(Slug::InvalidFrame, "/catch_up_s", detail);
        }
        let note = self.note.as_deref().unwrap_or_default();
        if note.chars().count() > NOTE_MAX {
            let detail = format!("a note has at most {NOTE_MAX} characters");
            wrongs.add(Slug::TextTooLarge, "/note", detail);
        }
    }
}

/// The name of a trigger, where one is given.
fn event(text: Option<&str>) -> Result<Option<Name>, Problem> {
    let name = text.map(Name::parse).transpose();
    name.map_err(ids::at("/event"))
}

impl NewSchedule {
    fn read(self) -> Result<(Name, schedule::Schedule), Problem> {
        let name = Name::parse(&self.name).map_err(ids::at("/name"))?;
        let schedule = schedule::Schedule {
            event: event(self.event.as_deref())?.unwrap_or_else(|| name.clone()),
            thread: ids::thread(self.thread.as_deref())?,
            payload: self.payload.unwrap_or_default(),
            when: self.when,
            overlap: self.overlap.unwrap_or(Overlap::Skip),
            catch_up_s: self.catch_up_s.unwrap_or(CATCH_UP_S),
            note: self.note.unwrap_or_default(),
            paused: self.paused.unwrap_or_default(),
            due: None,
            through: None,
            last: None,
            set: None,
            root: None,
        };
        Ok((name, schedule))
    }
}

impl ScheduleChange {
    fn read(self) -> Result<Change, Problem> {
        let thread = self.thread.as_deref().map(ThreadId::parse).transpose();
        Ok(Change {
            thread: thread.map_err(ids::at("/thread"))?,
            event: event(self.event.as_deref())?,
            payload: self.payload,
            when: self.when,
            overlap: self.overlap,
            catch_up_s: self.catch_up_s,
            note: self.note,
            paused: self.paused,
        })
    }
}

/// The schedules by name.
#[utoipa::path(get, path = "/schedules", operation_id = "list_schedules", tag = "schedules",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("thread" = Option<String>, Query, description = "only those of this thread"),),
    responses((status = 200, body = Page<Schedule>)))]
pub async fn list(session: Needs<Read>, mut params: Params) -> Answer<Page<Schedule>> {
    let part = Part::take(&mut params)?;
    let thread = params.thread()?;
    params.end()?;
    let of = thread.as_ref().map_or("", ThreadId::as_str);
    let part = part.of(format!("schedules {} {of}", session.space()))?;
    let after = part.at.as_deref().map(Name::parse).transpose()?;
    let rows = session.schedules(thread.as_ref(), after.as_ref(), part.limit + 1);
    Ok(axum::Json(part.page(rows.await?, |row| row.name.clone())))
}

/// Creates a schedule.
#[utoipa::path(post, path = "/schedules", operation_id = "create_schedule", tag = "schedules",
    request_body = NewSchedule, responses((status = 201, body = Schedule)))]
pub async fn create(
    session: Needs<Shape>,
    Only(body): Only<NewSchedule>,
) -> Result<Response, Problem> {
    let (name, schedule) = body.read()?;
    let row = session.create_schedule(&name, schedule).await?;
    let place = format!("/schedules/{name}");
    Ok(made(StatusCode::CREATED, place, Schedule::from(row)))
}

/// One schedule.
#[utoipa::path(get, path = "/schedules/{name}", operation_id = "get_schedule", tag = "schedules",
    params(("name" = String, Path, description = "its name")),
    responses((status = 200, body = Schedule)))]
pub async fn one(session: Needs<Read>, Path(name): Path<Name>, _: NoParams) -> Answer<Schedule> {
    let row = session.schedule(&name).await?;
    let row = row.ok_or_else(|| Problem::not_found(format!("there is no schedule {name}")))?;
    Ok(axum::Json(row.into()))
}

/// Changes a schedule, pauses or resumes it.
#[utoipa::path(patch, path = "/schedules/{name}", operation_id = "change_schedule", tag = "schedules",
    params(("name" = String, Path, description = "its name")),
    request_body = ScheduleChange, responses((status = 200, body = Schedule)))]
pub async fn change(
    session: Needs<Shape>,
    Path(name): Path<Name>,
    Only(body): Only<ScheduleChange>,
) -> Answer<Schedule> {
    let changed = session.change_schedule(&name, body.read()?).await?;
    Ok(axum::Json(changed.into()))
}

/// Removes a schedule.
#[utoipa::path(delete, path = "/schedules/{name}", operation_id = "remove_schedule", tag = "schedules",
    params(("name" = String, Path, description = "its name")),
    responses((status = 204, description = "it is gone")))]
pub async fn remove(
    session: Needs<Shape>,
    Path(name): Path<Name>,
    _: NoParams,
) -> Result<StatusCode, Problem> {
    session.remove_schedule(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Fires a schedule now, paused or not. When it is due stays as it is.
#[utoipa::path(post, path = "/schedules/{name}/run", operation_id = "run_schedule", tag = "schedules",
    params(("name" = String, Path, description = "its name")),
    responses((status = 202, body = Ack)))]
pub async fn run(
    session: Needs<Shape>,
    Path(name): Path<Name>,
    _: NoParams,
) -> Result<Response, Problem> {
    let (received, placed) = session.run_schedule(&name).await?;
    let ack = Ack::stored(None, received, &placed);
    Ok((StatusCode::ACCEPTED, axum::Json(ack)).into_response())
}

/// Writes the bounds of the members into the document; of `when` each kind has its own.
fn draw_bounds(document: &mut Value) {
    let name = || ("name", bounds::name());
    let common = || {
        let catch_up = json!({ "minimum": CATCH_UP.start(), "maximum": CATCH_UP.end() });
        let note = json!({ "pattern": bounds::TEXT, "maxLength": NOTE_MAX });
        let payload =
            json!({ "properties": { "text": { "type": "string" }, schedule::MEMBER: false } });
        [
            ("thread", bounds::thread()),
            ("event", bounds::name()),
            ("catch_up_s", catch_up),
            ("note", note),
            ("payload", payload),
        ]
    };
    bounds::of_body(document, "NewSchedule", [name()]);
    bounds::of_body(document, "NewSchedule", common());
    bounds::of_body(document, "ScheduleChange", common());
    let moment = json!({ "type": "string", "format": "date-time" });
    let seconds = json!({ "type": "number", "minimum": 0.001, "maximum": 3_155_760_000.0_f64 });
    let time =
        json!({ "type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$" });
    let zone = json!({ "type": "string" });
    let days = json!({ "type": "array", "minItems": 1 });
    let day = json!({ "oneOf": [{ "type": "integer", "minimum": 1, "maximum": 28 }, { "const": "last" }] });
    let form = |kind: &str, members: &[(&str, &Value)], optional: &[&str]| {
        let mut properties = json!({ "kind": { "const": kind } });
        for other in ["at", "seconds", "start", "time", "zone", "days", "day"] {
            properties[other] = json!({ "type": "null" });
        }
        for (name, schema) in members {
            properties[*name] = (*schema).clone();
        }
        let needed = members.iter().map(|it| it.0);
        let needed = needed.filter(|name| !optional.contains(name));
        json!({ "properties": properties, "required": Vec::from_iter(needed) })
    };
    let forms = json!({ "oneOf": [
        form("once", &[("at", &moment)], &[]),
        form("every", &[("seconds", &seconds), ("start", &json!({ "type": ["string", "null"], "format": "date-time" }))], &["start"]),
        form("daily", &[("time", &time), ("zone", &zone)], &[]),
        form("weekly", &[("time", &time), ("zone", &zone), ("days", &days)], &[]),
        form("monthly", &[("time", &time), ("zone", &zone), ("day", &day)], &[]),
    ] });
    bounds::put(&mut document["components"]["schemas"]["When"], forms);
}
