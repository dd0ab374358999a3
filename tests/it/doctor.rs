//! `thinkd doctor`: its checks, and the changes that it proposes.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection};

use kit::*;

mod speed;

/// The exit code of the program, and its output.
struct Found {
    code: Option<i32>,
    said: String,
}

impl Found {
    /// Asserts that the run found no fault, and that its output has all these texts.
    #[track_caller]
    fn fine(&self, says: &[&str]) {
        self.says(says);
        assert_eq!(self.code, Some(0), "{}", self.said);
    }

    /// Something is to be changed, and it says all of this.
    #[track_caller]
    fn wrong(&self, says: &[&str]) {
        self.says(says);
        assert_eq!(self.code, Some(1), "{}", self.said);
    }

    #[track_caller]
    fn says(&self, all: &[&str]) {
        for found in all {
            assert!(
                self.said.contains(found),
                "{found:?} is not in {}",
                self.said
            );
        }
        assert!(
            !self.said.contains("canary"),
            "a secret is told: {}",
            self.said
        );
    }

    /// Returns the output's line of one check.
    fn line(&self, check: &str) -> &str {
        let is_of = |line: &&str| line[5.min(line.len())..].trim_start().starts_with(check);
        self.said
            .lines()
            .find(is_of)
            .unwrap_or_else(|| panic!("nothing of {check}: {}", self.said))
    }
}

/// Runs the command at an address that no server listens on.
async fn doctor(setup: &Setup, more: &[&str]) -> Found {
    let listen = ("THINKD_LISTEN", "127.0.0.1:1");
    let env: Vec<(&str, &str)> = setup
        .environment()
        .filter(|(name, _)| *name != listen.0)
        .chain([listen])
        .collect();
    let (code, said) = app::ran(setup.folder(), &env, &[&["doctor"], more].concat()).await;
    Found { code, said }
}

/// A model server that is not the stub: where it is.
async fn serves(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

on_both!(the_doctor_finds_nothing_where_all_is_well, |medium| {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let setup = Setup::new(medium, &stub);
    let found = doctor(&setup, &[]).await;
    found.fine(&[
        "a durable write took",
        "was told of event 1 ",
        "calls tools",
        "all is well",
    ]);
    let mut checks = vec!["configuration", "database", "feed", "clock", "model"];
    if !setup.is_postgres() {
        checks.push("file");
    }
    for check in checks {
        assert!(found.line(check).starts_with("ok "), "{}", found.said);
    }
    assert!(
        found.line("configuration").contains("THINKD_MODEL"),
        "{}",
        found.said
    );
    assert!(
        found.line("clock").contains("the model server's"),
        "{}",
        found.said
    );
    assert_eq!(stub.count(any), 1, "one call");
    assert_eq!(stub.requests()[0].tools(), ["reply"]);
    // Each time it writes an event of its own, into a space of its own.
    doctor(&setup, &[]).await.fine(&["was told of event 2 "]);
    let app = setup
        .file(
            "thinkd.toml",
            "[[keys]]\nkey = \"a-key-of-a-mind\"\nspace = \"mine\"\n",
        )
        .start_bare()
        .await;
    let asked = app
        .request("GET", "/events")
        .header("authorization", "Bearer a-key-of-a-mind");
    assert_eq!(
        http::send(asked).await.expect(200)["items"],
        json!([]),
        "other spaces have nothing of it"
    );
});

#[tokio::test]
async fn the_doctor_names_the_file_and_says_what_is_wrong_in_it() {
    let setup = Setup::offline(Medium::sqlite()).file("thinkd.toml", "[turn]\nmax_rounds = 2\n");
    let found = doctor(&setup, &[]).await;
    found.fine(&["thinkd.toml"]);
    assert!(
        found.line("model").contains("THINKD_MODEL"),
        "how to have one is said: {}",
        found.said
    );
    let setup = setup.file("thinkd.toml", "[turn]\nrounds = 2\n");
    let found = doctor(&setup, &[]).await;
    found.wrong(&["there is no setting turn.rounds"]);
    assert!(
        found.line("configuration").starts_with("WRONG"),
        "{}",
        found.said
    );
    // What would not be served is said, and hides nothing else.
    let setup = setup
        .file("thinkd.toml", "")
        .env("THINKD_TOOLS__CONVERSATION", "think");
    let found = doctor(&setup, &[]).await;
    found.wrong(&["tools.conversation needs reply"]);
    assert!(found.line("database").starts_with("ok"), "{}", found.said);
}

#[tokio::test]
async fn the_doctor_says_what_to_change_where_a_model_calls_no_tools() {
    let stub = Stub::start().await;
    stub.on(
        |request| request.says("<reply>"),
        text("<reply>Good day.</reply>"),
    );
    stub.on(any, text("Hello there."));
    let setup = Setup::new(Medium::sqlite(), &stub);
    let found = doctor(&setup, &[]).await;
    found.wrong(&[
        "calls no tools",
        "“Hello there.”",
        "--enable-auto-tool-choice",
        "--jinja",
        "turn.language = \"auto\"",
    ]);
    assert!(
        found.line("database").starts_with("ok"),
        "one fault hides nothing else: {}",
        found.said
    );
    // Once that is done it tries what will be done.
    let setup = setup.env("THINKD_TURN__LANGUAGE", "auto");
    doctor(&setup, &[]).await.fine(&["acts by elements"]);
    let before = stub.count(any);
    let setup = setup.env("THINKD_TURN__LANGUAGE", "xml");
    doctor(&setup, &[]).await.fine(&["acts by elements"]);
    assert_eq!(stub.count(any), before + 1, "no tools were offered first");
    stub.clear();
    stub.on(any, text("Hello there."));
    doctor(&setup, &[])
        .await
        .wrong(&["writes no elements", "choose another model"]);
    stub.clear();
    stub.on(any, call("greet", json!({ "word": "hello" })));
    let setup = setup.env("THINKD_TURN__LANGUAGE", "tools");
    doctor(&setup, &[]).await.wrong(&["greet", "not the tool"]);
    // Calls that are written as text are read.
    stub.clear();
    let written = "{\"name\": \"reply\", \"arguments\": {\"text\": \"hello\"}}";
    stub.on(any, text(&format!("<tool_call>{written}</tool_call>")));
    doctor(&setup, &[])
        .await
        .fine(&["writes its tool calls as text"]);
}

// Advice names nothing that is set already.
#[tokio::test]
async fn the_doctor_looks_at_what_is_set() {
    let setup = Setup::offline(Medium::sqlite()).env("OPENAI_API_KEY", "canary");
    let found = doctor(&setup, &[]).await;
    found.fine(&["OPENAI_API_KEY is set, but no model", "THINKD_MODEL"]);
    let line = found.line("model");
    assert_eq!(line.matches("OPENAI_").count(), 1, "{line}");
    let stub = Stub::start().await;
    stub.on(
        any,
        raw("{\"error\": {\"message\": \"no tools here\"}}").with_status(400),
    );
    let setup = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TEST_MODELS__LOW__RETRIES", 0)
        .env("THINKD_TURN__LANGUAGE", "xml");
    let found = doctor(&setup, &[]).await;
    found.wrong(&["no tools here"]);
    assert!(!found.said.contains("set turn.language"), "{}", found.said);
}

#[tokio::test]
async fn the_doctor_explains_what_a_model_server_refuses() {
    let stub = Stub::start().await;
    let setup = Setup::new(Medium::sqlite(), &stub).env("THINKD_TEST_MODELS__LOW__RETRIES", 0);
    let refusal = |code: u16, message: &str| {
        raw(json!({ "error": { "message": message, "code": code } }).to_string()).with_status(code)
    };
    for (answer, key, says) in [
        (
            refusal(401, "Incorrect API key: canary-of-a-key"),
            "canary-of-a-key",
            &["401", "the key is refused"][..],
        ),
        (refusal(401, "Unauthorized"), "", &["401", "OPENAI_API_KEY"]),
        (
            refusal(404, "The model `stub` does not exist"),
            "k",
            &["404", "no model of that name", "THINKD_MODEL"],
        ),
        (
            raw("404 page not found").with_status(404),
            "k",
            &["404", "base_url", "/v1"],
        ),
        (
            refusal(400, "stub does not support tools"),
            "k",
            &["400", "refuses tools", "turn.language = \"xml\""],
        ),
        (
            refusal(500, "tools param requires --jinja flag"),
            "k",
            &["500", "refuses tools", "--jinja"],
        ),
        (
            refusal(429, "You exceeded your current quota: insufficient_quota"),
            "k",
            &["429", "quota"],
        ),
        (raw("<html>hello</html>"), "k", &["base_url"]),
    ] {
        stub.clear();
        stub.on(any, answer);
        let setup = Setup::new(Medium::sqlite(), &stub)
            .env("THINKD_TEST_MODELS__LOW__RETRIES", 0)
            .env("OPENAI_API_KEY", key);
        let found = doctor(&setup, &[]).await;
        found.wrong(says);
        assert!(found.line("model").starts_with("WRONG"), "{}", found.said);
    }
    // Nobody is there.
    let found = doctor(
        &setup.env("OPENAI_BASE_URL", "http://user:canary@127.0.0.1:9/v1"),
        &[],
    )
    .await;
    found.wrong(&["could not be reached", "base_url"]);
    // A server that says which models it has.
    let models = json!({ "data": [{ "id": "owl" }, { "id": "lark" }] });
    let unknown = json!({ "error": { "message": "not found" } });
    let url = serves(
        Router::new()
            .route("/v1/models", get(async move || Json(models)))
            .route(
                "/v1/chat/completions",
                post(async move || (axum::http::StatusCode::NOT_FOUND, Json(unknown))),
            ),
    )
    .await;
    let setup = Setup::new(Medium::sqlite(), &stub).env("OPENAI_BASE_URL", url);
    doctor(&setup, &[])
        .await
        .wrong(&["no model of that name", "owl, lark"]);
}

#[tokio::test]
async fn the_doctor_asks_every_model_that_is_configured() {
    let stub = Stub::start().await;
    stub.on(
        |request| request.model() == "speaker",
        text("A voice need not call tools."),
    );
    stub.on(|request| request.model() == "stub-high", text("Hello."));
    let setup = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_MODEL_HIGH", "stub-high")
        .file(
            "thinkd.toml",
            "[models.modules.\"submodule:critic\"]\nmodel = \"speaker\"\n",
        );
    let found = doctor(&setup, &[]).await;
    found.wrong(&["one thing is to be changed"]);
    assert!(found.line("model").starts_with("ok"), "{}", found.said);
    assert!(
        found.line("high model").starts_with("WRONG"),
        "{}",
        found.said
    );
    assert!(
        found.line("submodule:critic").starts_with("ok"),
        "{}",
        found.said
    );
}

#[tokio::test]
async fn the_doctor_asks_for_an_embedding_where_one_is_configured() {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let answers =
        |value: Value| Router::new().route("/v1/embeddings", post(async move || Json(value)));
    let parrot = async |headers: HeaderMap| {
        let words = headers["authorization"].to_str().unwrap().to_owned();
        (
            axum::http::StatusCode::UNAUTHORIZED,
            format!("refused: {words}"),
        )
    };
    for (router, says, code) in [
        (
            answers(json!({ "data": [{ "embedding": [0.5, 0.25, 1.0] }] })),
            "vectors of 3 numbers",
            0,
        ),
        (answers(json!({ "data": [] })), "without a vector", 1),
        (Router::new(), "404", 1),
        (
            Router::new().route("/v1/embeddings", post(parrot)),
            "the key is refused",
            1,
        ),
    ] {
        let setup = Setup::new(Medium::sqlite(), &stub)
            .env("THINKD_MODEL_EMBEDDING", "vectors")
            .env("THINKD_MODELS__EMBEDDING__BASE_URL", serves(router).await)
            .env("THINKD_MODELS__EMBEDDING__API_KEY", "canary-of-a-key");
        let found = doctor(&setup, &[]).await;
        found.says(&[says]);
        assert_eq!(found.code, Some(code), "{}", found.said);
    }
}

#[tokio::test]
async fn the_doctor_says_what_is_wrong_with_the_database() {
    let setup =
        Setup::offline(Medium::sqlite()).env("DATABASE_URL", "sqlite:///nowhere/at/all/thinkd.db");
    let found = doctor(&setup, &[]).await;
    found.wrong(&["/nowhere/at/all/thinkd.db"]);
    assert!(
        found.line("database").starts_with("WRONG"),
        "{}",
        found.said
    );
    let setup = setup.env("DATABASE_URL", "postgres://me:canary@127.0.0.1:1/thinkd");
    let found = doctor(&setup, &[]).await;
    found.wrong(&["postgres://me:(redacted)@127.0.0.1:1/thinkd"]);
}

/// A file with damage in a page that no start reads.
#[tokio::test]
async fn the_doctor_reads_the_whole_file() {
    let setup = Setup::offline(Medium::sqlite());
    let found = doctor(&setup, &[]).await;
    found.fine(&["pages"]);
    let url = format!("sqlite://{}/thinkd.db", setup.folder().display());
    stored::execute(
        &url,
        "insert into blobs (space, sha256, mime, bytes) values ('default', 'abc', 'image/png', x'00')",
    )
    .await;
    let found = doctor(&setup, &[]).await;
    found.wrong(&["the blob abc", "restore a backup"]);
    assert!(found.line("file").starts_with("WRONG"), "{}", found.said);
}

// The file is the server's then: it is asked. On Postgres there is room for both.
on_both!(the_doctor_asks_the_server_that_has_the_database, |medium| {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TOKEN", "canary-of-a-token")
        .start_bare()
        .await;
    app.authorize("Bearer canary-of-a-token");
    polled("a look through the whole file", async || {
        app.is_postgres() || !app.get("/readyz?full=true").await.expect(200)["checked"].is_null()
    })
    .await;
    let folder = app.folder();
    let database = app.database().to_owned();
    let env = [
        ("DATABASE_URL", &*database),
        ("THINKD_MODEL", "stub"),
        ("OPENAI_BASE_URL", &stub.url()),
        ("THINKD_LISTEN", "127.0.0.1:1"),
    ];
    let run = async |more: &[&str]| {
        let (code, said) = app::ran(&folder, &env, &[&["doctor"], more].concat()).await;
        Found { code, said }
    };
    if app.is_postgres() {
        run(&[])
            .await
            .fine(&["a durable write took", "was told of event 1 "]);
        return;
    }
    run(&[]).await.wrong(&[
        "another thinkd has",
        "none answers at http://127.0.0.1:1",
        "--url",
    ]);
    let url = format!("http://{}", app.address);
    let found = run(&["--url", &url]).await;
    found.fine(&["another thinkd has", "is ready", "--token"]);
    let found = run(&["--url", &url, "--token", "canary-of-a-token"]).await;
    found.fine(&["is ready", "pages"]);
    assert!(found.line("file").starts_with("ok"), "{}", found.said);
    // What the server has seen of damage is what the doctor says.
    stored::execute(
        app.database(),
        "insert into blobs (space, sha256, mime, bytes) values ('default', 'abc', 'image/png', x'00')",
    )
    .await;
    app.restart().await;
    polled("a look through the whole file", async || {
        !app.get("/readyz?full=true").await.expect(200)["checked"].is_null()
    })
    .await;
    let url = format!("http://{}", app.address);
    run(&["--url", &url, "--token", "canary-of-a-token"])
        .await
        .wrong(&["the blob abc"]);
});

#[tokio::test]
async fn the_doctor_compares_the_clock() {
    let late = [("date", "Wed, 21 Oct 2015 07:28:00 GMT")];
    let url = serves(Router::new().route(
        "/v1/models",
        get(async move || (late, Json(json!({ "data": [] })))),
    ))
    .await;
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let other = Setup::new(Medium::sqlite(), &stub).env("OPENAI_BASE_URL", url);
    let found = doctor(&other, &[]).await;
    assert!(
        found.line("clock").starts_with("WRONG") && found.line("clock").contains("model server"),
        "{}",
        found.said
    );
    // The log is ahead of it.
    let setup = Setup::offline(Medium::sqlite());
    doctor(&setup, &[]).await.fine(&[]);
    let url = format!("sqlite://{}/thinkd.db", setup.folder().display());
    stored::execute(
        &url,
        "drop trigger events_stay; update events set ts = ts + 3600 * 1000000",
    )
    .await;
    let found = doctor(&setup, &[]).await;
    found.wrong(&["the log"]);
    assert!(found.line("clock").starts_with("WRONG"), "{}", found.said);
    // A database whose clock is another one.
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let setup = Setup::offline(medium);
    doctor(&setup, &[]).await.fine(&["the database's"]);
    let database = setup
        .environment()
        .find(|(name, _)| *name == "DATABASE_URL")
        .unwrap()
        .1
        .to_owned();
    let ahead = "create function public.clock_timestamp() returns timestamptz language sql as \
                 $$ select pg_catalog.clock_timestamp() + interval '1 hour' $$; \
                 do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$";
    stored::execute(&database, ahead).await;
    let found = doctor(&setup, &[]).await;
    found.wrong(&["the database's"]);
    assert!(found.line("clock").starts_with("WRONG"), "{}", found.said);
}

#[tokio::test]
async fn the_doctor_waits_for_nothing_for_ever() {
    let stub = Stub::start().await;
    stub.on(any, reply("late").never());
    let setup = Setup::new(Medium::sqlite(), &stub);
    let found = doctor(&setup, &["--wait-ms", "700"]).await;
    found.wrong(&["--wait-ms"]);
    assert!(found.line("model").starts_with("WRONG"), "{}", found.said);
    // Somebody else writes, and does not come to an end.
    let url = format!("sqlite://{}/thinkd.db", setup.folder().display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    connection.execute("begin immediate").await.unwrap();
    let found = doctor(&setup, &["--wait-ms", "700"]).await;
    found.wrong(&["--wait-ms"]);
    assert!(
        found.line("database").starts_with("WRONG"),
        "{}",
        found.said
    );
}

#[tokio::test]
async fn the_doctor_speaks_json() {
    let stub = Stub::start().await;
    stub.on(any, text("Hello."));
    let setup = Setup::new(Medium::sqlite(), &stub);
    let found = doctor(&setup, &["--json"]).await;
    let document: Value = serde_json::from_str(found.said.lines().next().unwrap()).unwrap();
    assert_eq!(
        (found.code, &document["ok"]),
        (Some(1), &json!(false)),
        "{}",
        found.said
    );
    let checks = document["checks"].as_array().unwrap();
    let of = |name: &str| checks.iter().find(|check| check["check"] == name).unwrap();
    assert_eq!(
        (&of("database")["ok"], &of("model")["ok"]),
        (&json!(true), &json!(false))
    );
    assert!(
        of("model")["text"]
            .as_str()
            .unwrap()
            .contains("calls no tools"),
        "{document}"
    );
}
