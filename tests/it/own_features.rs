//! A feature of one's own, as any user of thinkd as a library adds it. The server is this test
//! binary, started once more with the program of `examples/own_feature.rs`.

use serde_json::{Value, json};

use thinkd::program::feature::Feature;

use crate::support::*;

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
        Err(_) => own_feature::program(),
    };
    let code = program.run_line(line.map(Into::into));
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
}

fn setup(medium: Medium, stub: &Stub) -> Setup {
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

on_both!(
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

on_both!(
    a_server_without_the_feature_keeps_its_events_and_one_with_it_has_its_rows_again,
    |medium| {
        let stub = Stub::start().await;
        let mut app = setup(medium, &stub).start().await;
        add(&app, "water the plants").await;
        app.stop().await;
        app.set_program(env!("CARGO_BIN_EXE_thinkd").into(), &[]);
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

on_both!(a_restored_log_fills_the_table_of_a_feature, |medium| {
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
    let stub = Stub::start().await;
    let app = setup(Medium::sqlite(), &stub).start().await;
    for key in ["token", "deep.api_key"] {
        let set = format!("config --set features.reminders.{key}=a-secret-of-mine");
        let shown = ran(&app, &set).await;
        assert!(shown.contains("there is no setting"), "{shown}");
        assert!(!shown.contains("a-secret-of-mine"), "{shown}");
    }
    let set = "config --set features.reminders.bytes={api_key=\"a-secret-of-mine\"}";
    let shown = ran(&app, set).await;
    assert!(!shown.contains("a-secret-of-mine"), "{shown}");
}

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
