//! A feature of one's own, as any user of thinkd as a library adds it. The server is this test
//! binary, started once more with the program of `examples/own_feature.rs`.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::Path;
use axum::routing::{any, get, post, put};
use serde_json::{Value, json};
use thinkd::edge::http::needs::{Needs, Read, Speak};
use thinkd::edge::problem::Problem;
use thinkd::event::catalogue::Facts;
use thinkd::event::draft::Draft;
use thinkd::event::envelope::{Modality, Source};
use thinkd::event::fact::{Fact, set};
use thinkd::log::migrations::Migration;
use thinkd::log::projections::{self, Change, Projection};
use thinkd::log::select::Select;
use thinkd::log::table::{Row, Table, text};
use thinkd::program::feature::{Feature, Parts};
use thinkd::words::id::ThreadId;

use kit::stored::made;
use kit::*;

#[path = "../../examples/own_feature.rs"]
#[expect(dead_code, reason = "its `main` is the server's below")]
pub mod own_feature;

const NAME: &str = "own_features::a_program_with_a_feature_of_its_own";

/// Passes when it is run as a test; is the program when it is started as one.
#[test]
fn a_program_with_a_feature_of_its_own() {
    let Ok(line) = std::env::var("THINKD_TEST_LINE") else {
        return;
    };
    let line = std::iter::once("thinkd").chain(line.split_whitespace());
    let program = match std::env::var("THINKD_TEST_NAME") {
        Ok(name) => own_feature::program().with(Feature {
            name: name.leak(),
            ..own_feature::REMINDERS
        }),
        Err(_) => own_feature::program().with(MARKS),
    };
    let code = program.run_line(line.map(Into::into));
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
}

/// A feature with the other parts: a table of keys alone, an address that takes
/// every method, acts that are not a feature's, settings of any form.
const MARKS: Feature = Feature {
    name: "stars",
    facts: Facts::default,
    projections: &[&STARS],
    parts: |options| {
        options.read::<BTreeMap<String, Value>>()?;
        let routes = Router::new()
            .route(
                "/",
                any(async || metrics::counter!("stars_total").increment(1)),
            )
            .route("/{id}", put(star))
            .route("/rows", get(rows_of_all))
            .route("/state", post(state));
        Ok(Parts {
            routes,
            ..Parts::default()
        })
    },
    command: None,
};

static TABLE: Table = Table {
    name: "stars",
    key: &[text("space"), text("id")],
    rest: &[],
    words: None,
};

static STARS: Projection = Projection {
    table: &TABLE,
    kind: None,
    migrations: &[Migration {
        file: "9002_stars",
        sqlite: "create table stars (space text not null, id text not null, primary key (space, id))",
        postgres: "create table stars (space text collate \"C\" not null, \
                   id text collate \"C\" not null, primary key (space, id))",
    }],
    fold: |space, _, fact| match fact {
        Fact::Unknown(raw) if raw.tags.first().is_some_and(|it| it == "stars") => {
            let id = raw.text("id")?;
            Some(Change::Put(Row::from([
                ("space", space.into()),
                ("id", id.into()),
            ])))
        }
        _ => None,
    },
};

async fn star(session: Needs<Speak>, Path(id): Path<String>) -> Result<(), Problem> {
    let thread = ThreadId::default();
    let draft = Draft::empty(&thread, Source::User, Modality::State, vec!["stars".into()]);
    session.append(vec![draft.payload("id", id)]).await?;
    Ok(())
}

async fn rows_of_all(session: Needs<Read>) -> Result<(), Problem> {
    session
        .rows(&TABLE, |_| Select::of_all_spaces(&TABLE))
        .await?;
    Ok(())
}

async fn state(session: Needs<Speak>) -> Result<(), Problem> {
    let draft = Draft::set(&ThreadId::default(), "mine", set::Change::Framework(None));
    session.append(vec![draft]).await?;
    Ok(())
}

fn setup(medium: Medium, stub: &Stub) -> Setup {
    kit::facts::ADDED.get_or_init(own_feature::REMINDERS.facts);
    let setup = Setup::new(medium, stub).env("THINKD_TEST_LINE", "serve");
    setup
        .program(std::env::current_exe().unwrap())
        .arguments(&[NAME, "--exact", "--nocapture"])
}

/// Runs a line of the program with the feature, beside its server.
async fn ran(app: &App, line: &str) -> String {
    ran_with(app, line, &[]).await
}

/// The same, with more in its environment.
async fn ran_with(app: &App, line: &str, more: &[(&str, &str)]) -> String {
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command
        .args([NAME, "--exact", "--nocapture"])
        .env_clear()
        .envs([("THINKD_TEST_LINE", line), ("DATABASE_URL", app.database())])
        .envs(more.iter().copied())
        .current_dir(app.folder())
        .kill_on_drop(true);
    let output = within("the end of a command", command.output()).await;
    let output = output.unwrap();
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).into_owned()
}

/// The words of the reminders of a server.
async fn reminders(app: &App) -> Vec<String> {
    let list = app.get("/reminders").await.expect(200);
    let says = |reminder: &Value| reminder["says"].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(says).collect()
}

async fn add(app: &App, says: &str) {
    let added = app.post("/reminders", json!({ "says": says })).await;
    assert_eq!(added.status, 201, "{}", added.text);
}

on_sqlite!(
    a_feature_brings_events_a_table_addresses_a_tool_a_command_and_a_metric,
    |medium| {
        let stub = Stub::start().await;
        let asked = call("remind", json!({ "says": "ring Clara" }));
        stub.script(decision, [asked, reply("I shall.")]);
        let mut app = setup(medium, &stub).start().await;
        add(&app, "water the plants").await;
        assert_eq!(said(&app.tell("remind me").await[0]), "I shall.");
        let both = ["water the plants", "ring Clara"];
        assert_eq!(reminders(&app).await, both);
        let log = app.log().await;
        let added = with(&log, &["reminders", "added"]);
        assert_eq!(added.len(), 2, "{}", story(&log));
        assert_eq!(said(added[0]), "to do: water the plants");
        let listed = ran(&app, &format!("reminders --url http://{}", app.address)).await;
        assert!(both.iter().all(|it| listed.contains(it)), "{listed}");
        let metrics = app.get("/metrics").await.text;
        assert!(metrics.contains("reminders_added_total 2"), "{metrics}");
        let contract: Value = app.get("/openapi.json").await.body;
        assert!(contract["paths"]["/reminders"]["post"].is_object());
        assert!(contract["components"]["schemas"]["Reminder"].is_object());

        app.restart().await;
        assert_eq!(reminders(&app).await, both);
        let id = tags(added[0])[2].strip_prefix("reminder:").unwrap();
        let which = json!({ "id": id });
        let done = app.request("DELETE", "/reminders").json(&which).send();
        assert_eq!(done.await.unwrap().status(), 204);
        assert_eq!(reminders(&app).await, both[1..]);

        app.stop().await;
        let checked = ran(&app, "rebuild --check").await;
        assert!(
            checked.contains("everything was what the log says"),
            "{checked}"
        );
    }
);

on_sqlite!(
    a_server_without_the_feature_keeps_its_events_and_one_with_it_has_its_rows_again,
    |medium| {
        let stub = Stub::start().await;
        let mut app = setup(medium, &stub).start().await;
        add(&app, "water the plants").await;
        app.stop().await;
        app.set_program(kit::program().into(), &[]);
        app.start_again().await;
        let log = app.log().await;
        assert_eq!(with(&log, &["reminders", "added"]).len(), 1);
        assert_eq!(app.get("/reminders").await.status, 404);
        app.stop().await;
        let own = std::env::current_exe().unwrap();
        app.set_program(own, &[NAME, "--exact", "--nocapture"]);
        app.start_again().await;
        assert_eq!(reminders(&app).await, ["water the plants"]);
    }
);

on_sqlite!(a_restored_log_fills_the_table_of_a_feature, |medium| {
    let stub = Stub::start().await;
    let mut app = setup(medium, &stub).start().await;
    add(&app, "water the plants").await;
    app.stop().await;
    let file = app.folder().join("log.backup");
    let backup = ran(&app, &format!("backup {}", file.display())).await;
    assert!(file.exists(), "{backup}");
    let other = app.folder().join("other.db");
    let url = format!("sqlite://{}", other.display());
    let restored = ran(
        &app,
        &format!("restore {} --database {url}", file.display()),
    )
    .await;
    let rows = ran(&app, &format!("rebuild --check --database {url}")).await;
    assert!(
        rows.contains("everything was what the log says"),
        "{restored}{rows}"
    );
});

#[tokio::test]
async fn settings_of_a_feature_have_defaults_are_read_from_all_sources_and_refused_where_wrong() {
    let stub = Stub::start().await;
    let app = setup(Medium::sqlite(), &stub)
        .file("thinkd.toml", "[features.reminders]\nbytes = 500\n")
        .env("THINKD_FEATURES__REMINDERS__BYTES", 5)
        .start()
        .await;
    add(&app, "short").await;
    let refused = app.post("/reminders", json!({ "says": "longer" })).await;
    refused.expect_problem(400, "invalid-frame");
    let refused = app.post("/reminders", json!({ "says": " " })).await;
    refused.expect_problem(400, "invalid-frame");
    for (key, named) in [
        (
            "features.reminders.byte=1",
            "there is no setting features.reminders.byte",
        ),
        ("features.reminders.bytes=x", "features.reminders.bytes"),
        ("features.calendar.on=1", "it has reminders"),
    ] {
        let refused = ran(&app, &format!("config --set {key}")).await;
        assert!(refused.contains(named), "{key}: {refused}");
    }
}

#[tokio::test]
async fn a_program_without_features_refuses_settings_of_one() {
    let folder = Medium::sqlite();
    let set = ["config", "--set", "features.reminders.bytes=1"];
    let (code, said) = app::ran(folder.folder(), &[], &set).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("features.reminders: this program has no such feature"),
        "{said}"
    );
}

#[tokio::test]
async fn the_catalogue_of_a_program_has_the_events_of_its_features() {
    let stub = Stub::start().await;
    let app = setup(Medium::sqlite(), &stub).start().await;
    let page = ran(&app, "facts").await;
    assert!(page.contains("## reminder-added"), "{page}");
    assert!(page.contains("\"text\":\"to do: water the plants\""));
    let types = ran(&app, "facts --typescript").await;
    assert!(types.contains("| ReminderDone"), "{types}");
}

#[tokio::test]
async fn a_secret_of_a_feature_is_never_shown() {
    const SECRET: &str = "a-secret-of-mine";
    let stub = Stub::start().await;
    let app = setup(Medium::sqlite(), &stub).start().await;
    let refused = ran(
        &app,
        &format!("config --set features.reminders.token={SECRET}"),
    )
    .await;
    assert!(refused.contains("there is no setting"), "{refused}");
    assert!(!refused.contains(SECRET), "{refused}");
    for value in [
        format!("token={SECRET}"),
        format!("password={SECRET}"),
        format!("deep.api_key={SECRET}"),
        format!("key=[\"{SECRET}\"]"),
        format!("token={{value=\"{SECRET}\"}}"),
        format!("list=[{{token=\"{SECRET}\"}}]"),
    ] {
        let shown = ran(&app, &format!("config --set features.stars.{value}")).await;
        assert!(shown.contains("(redacted)"), "{value}: {shown}");
        assert!(!shown.contains(SECRET), "{value}: {shown}");
    }
    let plain = ran(&app, "config --set features.stars.colour=blue").await;
    assert!(plain.contains("colour = \"blue\""), "{plain}");
}

on_sqlite!(a_table_of_a_feature_may_have_nothing_but_a_key, |medium| {
    let stub = Stub::start().await;
    let mut app = setup(medium, &stub).start().await;
    for id in ["sun", "sun", "moon"] {
        let put = app.request("PUT", &format!("/stars/{id}")).send().await;
        assert_eq!(put.unwrap().status(), 200, "{id}");
    }
    app.stop().await;
    let checked = ran(&app, "rebuild --check").await;
    assert!(
        checked.contains("everything was what the log says"),
        "{checked}"
    );
});

#[tokio::test]
async fn a_feature_reads_no_other_space_and_does_no_act_of_the_kernel() {
    let stub = Stub::start().await;
    let app = setup(Medium::sqlite(), &stub).start().await;
    let refused = app.get("/stars/rows").await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    let refused = app.post("/stars/state", json!({})).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
}

#[tokio::test]
async fn nothing_of_a_feature_runs_for_a_client_without_a_key() {
    let stub = Stub::start().await;
    let key = "the-token-0123456789";
    let app = setup(Medium::sqlite(), &stub)
        .env("THINKD_TOKEN", key)
        .start_bare()
        .await;
    for (method, status) in [("OPTIONS", 200), ("GET", 401), ("POST", 401)] {
        let sent = app.request(method, "/stars").send().await.unwrap();
        assert_eq!(sent.status(), status, "{method}");
    }
    let metrics = app.request("GET", "/metrics").bearer_auth(key).send();
    let metrics = metrics.await.unwrap().text().await.unwrap();
    assert!(!metrics.contains("stars_total"), "{metrics}");
}

#[test]
fn tables_of_features_have_names_numbers_and_keys_of_their_own() {
    static NO_SPACE: Table = Table {
        key: &[text("id")],
        words: None,
        ..TABLE
    };
    static OF_KERNEL: Table = Table {
        name: "leases",
        words: None,
        ..TABLE
    };
    static EARLY: [Migration; 1] = [Migration {
        file: "0099_stars",
        sqlite: "",
        postgres: "",
    }];
    let of = |table: &'static Table, migrations: &'static [Migration]| -> &'static Projection {
        Box::leak(Box::new(Projection {
            table,
            kind: None,
            migrations,
            fold: |_, _, _| None,
        }))
    };
    for (more, why) in [
        (vec![of(&NO_SPACE, &[])], "begins with `space`"),
        (vec![of(&OF_KERNEL, &[])], "is taken"),
        (vec![of(&TABLE, &[]), of(&TABLE, &[])], "is taken"),
        (vec![of(&TABLE, &EARLY)], "from 9000 on"),
    ] {
        let refused = projections::add(&more).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

on_sqlite!(
    a_newer_database_is_refused_by_a_program_with_features_too,
    |medium| {
        let stub = Stub::start().await;
        let mut app = setup(medium, &stub).start().await;
        app.stop().await;
        made(&app, 8001, "names are gone needs 8000").await;
        let refused = ran(&app, "migrate").await;
        assert!(
            refused.contains("needs a thinkd that has migration 8000"),
            "{refused}"
        );
    }
);

#[tokio::test]
async fn a_feature_takes_no_name_of_the_kernel_or_of_another_one() {
    let stub = Stub::start().await;
    let app = setup(Medium::sqlite(), &stub).start().await;
    for (name, why) in [
        ("reminders", "is taken"),
        ("events", "is taken"),
        ("serve", "is taken"),
        ("task", "is taken"),
        ("my__list", "is no name of a feature"),
        ("My list", "is no name of a feature"),
    ] {
        let refused = ran_with(&app, "config", &[("THINKD_TEST_NAME", name)]).await;
        assert!(refused.contains(why), "{name}: {refused}");
    }
}
