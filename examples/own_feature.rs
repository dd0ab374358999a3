//! thinkd with a feature of one's own: a list of reminders. How to add one: `docs/add-a-feature.md`.

use std::io::Write as _;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::routing::get;
use axum::{Extension, Router};
use clap::{Args as _, FromArgMatches as _};
use futures_util::FutureExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thinkd::edge::http::needs::{Needs, Read, Speak};
use thinkd::edge::http::{Answer, Json};
use thinkd::edge::json::Body;
use thinkd::edge::problem::{Problem, Slug};
use thinkd::event::catalogue::Facts;
use thinkd::event::draft::Draft;
use thinkd::event::envelope::Event;
use thinkd::event::fact::Fact;
use thinkd::facts::Fact;
use thinkd::log::migrations::Migration;
use thinkd::log::projections::{Change, Projection};
use thinkd::log::table::{Row, Table, integer, text};
use thinkd::pipelines::registry;
use thinkd::program::command::{Program, client::Target};
use thinkd::program::feature::{Command, Feature, Options, Parts};
use thinkd::tools::catalogue::{self, Catalogue, DECISIONS};
use thinkd::tools::tool::{CallSite, Effect, Output, Typed};
use thinkd::words::failure::{Failure, FailureKind};
use thinkd::words::id::{Space, ThreadId, fresh};
use utoipa::{OpenApi as _, ToSchema};

/// The feature, as one value.
pub const REMINDERS: Feature = Feature {
    name: "reminders",
    facts,
    projections: &[&PROJECTION],
    parts,
    command: Some(Command {
        options: |command| Target::augment_args(command.about("List what a server reminds of")),
        run: |options, settings| {
            async move {
                let server = Target::from_arg_matches(&options)?.server(&settings);
                let client = reqwest::Client::new();
                let all: Vec<Reminder> = server.ask(&client, "/reminders", &[]).await?;
                for Reminder { id, says } in all {
                    writeln!(std::io::stdout(), "{id}  {says}")?;
                }
                Ok(())
            }
            .boxed()
        },
    }),
};

// --- its events

/// A reminder is put on the list.
#[derive(Fact)]
#[fact(crate = thinkd, name = "reminder-added",
       tags("reminders", "added", "reminder:<id>" = id), text = format!("to do: {says}"))]
struct Added<'a> {
    /// The reminder.
    #[fact(tag = "reminder:")]
    id: &'a str,
    /// The words of it.
    says: &'a str,
    /// The tool call that made it.
    call_id: Option<&'a str>,
}

/// A reminder is taken off the list.
#[derive(Fact)]
#[fact(crate = thinkd, name = "reminder-done",
       tags("reminders", "done", "reminder:<id>" = id), text = format!("done: {id}"))]
struct Done<'a> {
    /// The reminder.
    #[fact(tag = "reminder:")]
    id: &'a str,
}

fn facts() -> Facts {
    let thread = ThreadId::default();
    let id = "0193b6c2";
    let added = Added {
        id,
        says: "water the plants",
        call_id: None,
    };
    Facts {
        specs: [Added::specs(), Done::specs()].concat(),
        examples: vec![added.encode(&thread), Done { id }.encode(&thread)],
    }
}

// --- its table

static TABLE: Table = Table {
    name: "reminders",
    key: &[text("space"), text("id")],
    rest: &[text("says"), integer("since")],
    words: None,
};

static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: None,
    migrations: &[Migration {
        file: "9001_reminders",
        sqlite: "create table reminders (space text not null, id text not null, says text not null, \
                 since integer not null, primary key (space, id))",
        postgres: "create table reminders (space text collate \"C\" not null, \
                   id text collate \"C\" not null, says text not null, since bigint not null, \
                   primary key (space, id))",
    }],
    fold,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    // The kernel does not know it.
    let Fact::Unknown(raw) = *fact else {
        return None;
    };
    let key = |id: &str| Row::from([("space", space.into()), ("id", id.into())]);
    match raw.tags {
        [feature, kind, ..] if feature == "reminders" && kind == "added" => {
            let Added { id, says, .. } = Added::decode(raw)?;
            let rest = [("says", says.into()), ("since", event.seq.into())];
            Some(Change::Put(key(id).with(rest)))
        }
        [feature, kind, ..] if feature == "reminders" && kind == "done" => {
            Some(Change::Remove(key(Done::decode(raw)?.id)))
        }
        _ => None,
    }
}

// --- its settings, and the parts that depend on them

/// `[features.reminders]`
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Limits {
    /// Most bytes of a reminder.
    bytes: usize,
}

impl Limits {
    fn check(&self, says: &str) -> Result<(), String> {
        match says.trim().len() {
            0 => Err("a reminder has words".to_owned()),
            bytes if bytes > self.bytes => {
                Err(format!("a reminder has at most {} bytes", self.bytes))
            }
            _ => Ok(()),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 1000 }
    }
}

fn parts(options: &Options<'_>) -> Result<Parts, String> {
    let limits = Arc::new(options.read::<Limits>()?);
    let list = get(list).post(add).delete(done);
    let routes = Router::new().route("/", list);
    let of_tools = limits.clone();
    Ok(Parts {
        tools: Catalogue::default().with(DECISIONS, move |_| Remind(of_tools.clone())),
        routes: routes.layer(Extension(limits)),
        document: Document::openapi(),
    })
}

// --- its addresses

/// Something to be done.
#[derive(Serialize, Deserialize, ToSchema)]
struct Reminder {
    /// Its id.
    id: String,
    /// Its words.
    says: String,
}

/// A new reminder.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewReminder)]
struct New {
    /// Its words.
    says: String,
}

impl Body for New {}

/// A reminder that is there.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WhichReminder)]
struct Which {
    /// The reminder's id.
    id: String,
}

impl Body for Which {}

#[derive(utoipa::OpenApi)]
#[openapi(paths(list, add, done))]
struct Document;

/// All that is to be done.
#[utoipa::path(get, path = "/reminders", responses((status = 200, body = [Reminder])))]
async fn list(session: Needs<Read>) -> Answer<Vec<Reminder>> {
    let rows = session.rows(&TABLE, |all| all.order_by(&["since"]).first(500));
    let reminder = |row: &Row| {
        let id = row.text("id")?.to_owned();
        let says = row.text("says")?.to_owned();
        Ok::<_, thinkd::session::handle::Error>(Reminder { id, says })
    };
    let all: Result<Vec<Reminder>, _> = rows.await?.iter().map(reminder).collect();
    Ok(axum::Json(all?))
}

/// Adds a reminder.
#[utoipa::path(post, path = "/reminders", request_body = New, responses((status = 201)))]
async fn add(
    session: Needs<Speak>,
    Extension(limits): Extension<Arc<Limits>>,
    Json(New { says }): Json<New>,
) -> Result<StatusCode, Problem> {
    let wrong = |detail: String| Problem::at(Slug::InvalidFrame, "/says", detail);
    limits.check(&says).map_err(wrong)?;
    session
        .append(vec![added(&ThreadId::default(), &says, None)])
        .await?;
    metrics::counter!("reminders_added_total").increment(1);
    Ok(StatusCode::CREATED)
}

/// Takes a reminder off the list.
#[utoipa::path(delete, path = "/reminders", request_body = Which, responses((status = 204)))]
async fn done(session: Needs<Speak>, Json(which): Json<Which>) -> Result<StatusCode, Problem> {
    let draft = Done { id: &which.id }.encode(&ThreadId::default());
    session.append(vec![draft]).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn added(thread: &ThreadId, says: &str, call_id: Option<&str>) -> Draft {
    let id = &fresh().to_string();
    Added { id, says, call_id }.encode(thread)
}

// --- its tool

struct Remind(Arc<Limits>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    says: String,
}

impl Typed for Remind {
    type Input = Input;
    const NAME: &'static str = "remind";
    const PROMPT: &'static str = "Put something on the list of things to be done.\n\n## says\n";
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let Self(limits) = self;
        let wrong = |text| Failure::new(FailureKind::Tool, text);
        limits.check(&input.says).map_err(wrong)?;
        let draft = added(&site.thread, &input.says, Some(&site.call_id));
        metrics::counter!("reminders_added_total").increment(1);
        Ok(Output::done(vec![draft], "it is on the list"))
    }
}

/// The server, with one feature more.
pub fn program() -> Program {
    Program::new(registry::built_in(), catalogue::built_in()).with(REMINDERS)
}

fn main() -> std::process::ExitCode {
    program().run()
}
