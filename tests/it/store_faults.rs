//! The database fails while a mind thinks: a full disk, a server that is away, a row that is
//! refused. Nothing acknowledged is lost, a waiting client is told, the turn goes on where it was.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};
use sqlx::{Connection, Executor, PgConnection, SqliteConnection};

use kit::store_faults::*;
use kit::*;

on_both!(
    d4_57_a_store_that_fails_in_the_middle_of_a_turn_is_said_and_the_turn_goes_on,
    |medium| {
        if !can_fail(&medium) {
            return;
        }
        let stub = Stub::start().await;
        let held = Gate::new();
        stub.script(decision, [reply("lost on the way").held(&held)]);
        let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        let mut socket = app.socket().await;
        let acknowledged = socket.say("go").await["events"][0].clone();
        stub.request(decision).await;
        assert_eq!(ready(&app).await, 200, "control: so far all is well");
        let waiting = app
            .request("POST", "/threads/other/messages?wait=15")
            .json(&json!({ "text": "and you?" }));
        let waiting = tokio::spawn(http::send(waiting));
        socket
            .event("the other's reply", |e| {
                e["thread"] == "other" && has(e, "response")
            })
            .await;
        waiting.await.unwrap().expect(200);

        fail(&app).await;
        held.open();
        let told = socket.problem().await;
        assert!(
            told["type"] == "/problems/unavailable" && told["detail"].to_string().contains("main"),
            "{told}"
        );
        until_ready(&app, 503).await;
        app.post("/threads/main/messages", json!({ "text": "not now" }))
            .await
            .expect_problem(503, "unavailable");
        let refused = socket
            .ask(json!({ "type": "message", "text": "nor on a socket" }))
            .await;
        assert_eq!(
            refused["problem"]["type"], "/problems/unavailable",
            "{refused}"
        );
        // Tried again several times (nothing tells of it), but no model is asked before the log can take its answer.
        tokio::time::sleep(ms(1000)).await;
        assert_eq!(stub.count(|r| r.thread == "main" && r.is_decision()), 1);
        assert_eq!(ready(&app).await, 503, "as long as it lasts");

        mend(&app).await;
        let response = socket.response().await;
        assert_eq!(said(&response), "ok: go");
        until_ready(&app, 200).await;
        let log = app.public_log().await;
        let of_main: Vec<Value> = log
            .iter()
            .filter(|e| e["thread"] == "main")
            .cloned()
            .collect();
        assert_eq!(
            one(&of_main, &["input"])["event_id"],
            acknowledged["event_id"],
            "what was refused is not there"
        );
        let failure = one(&of_main, &["failure"]);
        assert!(has(failure, "store") && has(failure, "core"), "{failure}");
        assert_eq!(
            (
                &failure["payload"]["kind"],
                &failure["payload"]["retryable"]
            ),
            (&json!("store"), &json!(true))
        );
        one(&of_main, &["turn", "started"]);
        socket.turn_ended().await;
        assert_eq!(
            stub.count(|r| r.thread == "main" && r.is_comment()),
            1,
            "what is recorded is not asked again"
        );
        assert_eq!(stub.count(|r| r.thread == "main" && r.is_decision()), 2);
        assert_eq!(said(&app.tell("again").await[0]), "ok: again");
        envelope::check_turns(&app.public_log().await, "main");
        envelope::check_log(&app.log().await);
    }
);

// What is in the log and not in its index is found once the disk has room again, and so is what comes later.
on_both!(
    d4_57_queries_by_tag_miss_nothing_after_a_full_disk,
    |medium| {
        if !can_fail(&medium) {
            return;
        }
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).start().await;
        for text in ["one", "two", "three"] {
            app.tell(text).await;
        }
        fail(&app).await;
        for _ in 0..4 {
            let status = app.get("/events?tags=input").await.status;
            assert!(status == 200 || status == 503, "{status}");
        }
        app.post("/threads/main/messages", json!({ "text": "not now" }))
            .await
            .expect_problem(503, "unavailable");
        mend(&app).await;
        until_ready(&app, 200).await;
        for inputs in 3..6 {
            let found = app.get("/events?tags=input&limit=100").await.expect(200);
            let found = found["items"].as_array().unwrap().len();
            assert_eq!(found, inputs, "inputs by tag");
            app.tell("and on").await;
        }
    }
);

// A reader who waits over HTTP is told that the input is stored, not that it failed.
on_both!(
    d4_57_who_waits_for_an_answer_keeps_the_ack_when_the_store_fails,
    |medium| {
        if !can_fail(&medium) {
            return;
        }
        let stub = Stub::start().await;
        let held = Gate::new();
        stub.script(decision, [reply("lost on the way").held(&held)]);
        let app = Setup::new(medium, &stub).start().await;
        let waiting = app
            .request("POST", "/threads/main/messages?wait=3")
            .json(&json!({ "text": "go" }));
        let waiting = tokio::spawn(http::send(waiting));
        stub.request(decision).await;
        fail(&app).await;
        held.open();
        let answer = waiting.await.unwrap().expect(202);
        mend(&app).await;
        let id = answer["events"][0]["event_id"].as_str().unwrap().to_owned();
        until_ready(&app, 200).await;
        assert_eq!(said(&app.event(&id).await), "go");
    }
);

// What the database refuses for good ends the turn; it is not asked for again and again.
on_both!(
    d4_57_what_the_database_refuses_ends_the_turn_visibly,
    |medium| {
        let stub = Stub::start().await;
        stub.on(|r| r.says("poison"), reply("poison"));
        let app = Setup::new(medium, &stub).start().await;
        assert_eq!(
            said(&app.tell("hello").await[0]),
            "ok: hello",
            "control: nothing is refused"
        );
        if app.database().starts_with("sqlite") {
            let mut connection = SqliteConnection::connect(app.database()).await.unwrap();
            let text = "create trigger refuse before insert on events when new.payload like '%\"call_id\"%poison%' \
                    begin select raise(abort, 'refused'); end";
            connection.execute(text).await.unwrap();
        } else {
            let mut connection = PgConnection::connect(app.database()).await.unwrap();
            connection
            .execute("create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$")
            .await
            .unwrap();
            let text = "create trigger refuse before insert on events for each row \
                    when (new.payload like '%\"call_id\"%poison%') execute function refuse()";
            connection.execute(text).await.unwrap();
        }
        assert!(app.tell("drink the poison").await.is_empty());
        let log = app.public_log().await;
        let end = *with(&log, &["turn", "ended"]).last().unwrap();
        assert_eq!(end["payload"]["outcome"], "failed", "{}", story(&log));
        assert!(
            with(&log, &["failure", "store"])
                .iter()
                .any(|e| said(e).contains("given up")),
            "{}",
            story(&log)
        );
        let asked = stub.count(|r| r.is_decision() && r.says("poison"));
        assert!(asked <= 2, "the decision was asked {asked} times");
        assert!(
            with(&log, &["response"])
                .iter()
                .all(|event| said(event) != "poison")
        );
        stub.clear();
        assert_eq!(
            said(&app.tell("water").await[0]),
            "ok: water",
            "the mind goes on"
        );
        assert_eq!(ready(&app).await, 200);
        envelope::check_turns(&app.public_log().await, "main");
    }
);

/// SQLite: the log may grow by so many bytes more. Postgres: nothing larger than these is taken.
async fn leave_room(app: &App, bytes: u64) {
    if app.is_postgres() {
        let text = format!(
            "create function no_room() returns trigger language plpgsql as $$ begin raise 'full' using errcode = '53100'; end $$; \
             create trigger no_room before insert on events for each row when (octet_length(new.payload) > {bytes}) \
             execute function no_room(); \
             create trigger no_room before update on log for each row when (octet_length(new.probe) > {bytes}) \
             execute function no_room()"
        );
        return faults::execute(app, &text).await;
    }
    let grown = std::fs::metadata(app.folder().join("thinkd.db-wal"))
        .unwrap()
        .len();
    limit_files(app, &format!("{}:", grown + bytes)).await;
}

async fn make_room(app: &App) {
    if app.is_postgres() {
        return faults::execute(
            app,
            "drop trigger no_room on events; drop trigger no_room on log",
        )
        .await;
    }
    limit_files(app, "unlimited:").await;
}

// A disk with room for a few bytes, but not for a message: nothing is served there.
on_both!(
    d4_57_a_server_that_refuses_messages_is_not_ready,
    |medium| {
        if !can_fail(&medium) {
            return;
        }
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        app.tell("before").await;
        leave_room(&app, 48 << 10).await;
        let large = "x".repeat(60 << 10);
        for _ in 0..3 {
            app.post("/threads/main/messages", json!({ "text": large }))
                .await
                .expect_problem(503, "unavailable");
            assert_eq!(
                ready(&app).await,
                503,
                "what it was asked to store it cannot"
            );
        }
        // That a small one is taken says nothing about the others.
        app.post("/threads/main/messages", json!({ "text": "small" }))
            .await;
        assert_eq!(ready(&app).await, 503);
        make_room(&app).await;
        until_ready(&app, 200).await;
        app.post("/threads/main/messages", json!({ "text": large }))
            .await
            .expect(202);
        assert_eq!(ready(&app).await, 200);
    }
);

// A disk that has room for what is small, but not for the reply: that is not the turn's fault, and no model is asked in vain.
on_both!(a_turn_is_not_given_up_for_a_full_disk, |medium| {
    if !can_fail(&medium) {
        return;
    }
    let stub = Stub::start().await;
    let held = Gate::new();
    let large = "x".repeat(60 << 10);
    // In one piece: a large answer takes its time otherwise.
    let setup = Setup::new(medium, &stub).env("THINKD_MODELS__LOW__STREAM", false);
    stub.script(decision, [reply(&large).held(&held)]);
    stub.on(decision, reply(&large));
    let app = setup.start().await;
    let mut socket = app.socket().await;
    socket.say("go").await;
    stub.request(decision).await;
    leave_room(&app, 48 << 10).await;
    held.open();
    socket.problem().await;
    until_ready(&app, 503).await;
    // Time for several tries, of which nothing tells.
    tokio::time::sleep(ms(3000)).await;
    assert!(
        stub.count(decision) <= 2,
        "{} were asked in vain",
        stub.count(decision)
    );
    make_room(&app).await;
    assert_eq!(said(&socket.response().await), large);
    let ended = socket.turn_ended().await;
    assert_eq!(ended["payload"]["outcome"], "done", "{ended}");
    envelope::check_turns(&app.public_log().await, "main");
});

/// The store works for everything but this turn, and says that it is full: it may be better soon, and the turn is not given up.
#[tokio::test]
async fn a_turn_is_not_given_up_however_often_the_store_is_full() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    stub.on(decision, reply("poison"));
    let app = App::start(medium, &stub).await;
    faults::execute(
        &app,
        "create function no_room() returns trigger language plpgsql as $$ begin raise 'full' using errcode = '53100'; end $$; \
         create trigger no_room before insert on events for each row when (new.payload like '%poison%') execute function no_room()",
    )
    .await;
    let mut socket = app.socket().await;
    socket.say("go").await;
    // More tries than a turn has.
    stub.some(7, decision).await;
    faults::execute(&app, "drop trigger no_room on events").await;
    assert_eq!(said(&socket.response().await), "poison");
    let ended = socket.turn_ended().await;
    assert_eq!(ended["payload"]["outcome"], "done", "{ended}");
    let log = app.public_log().await;
    assert!(
        with(&log, &["failure"]).len() <= 6,
        "the log is not filled with it: {}",
        story(&log)
    );
    envelope::check_turns(&log, "main");
}

/// A file is removed under a server that runs: SQLite would go on writing to a file that no later
/// start finds.
#[tokio::test]
async fn a_file_that_goes_while_it_is_in_use_stops_appends_and_nothing_is_lost() {
    for (gone, moved) in [("thinkd.db-wal", false), ("thinkd.db", true)] {
        let stub = Stub::start().await;
        let mut app = App::start(Medium::sqlite(), &stub).await;
        app.tell("one").await;
        let file = app.folder().join(gone);
        let aside = app.folder().join("aside");
        if moved {
            std::fs::rename(&file, &aside).unwrap();
        } else {
            std::fs::remove_file(&file).unwrap();
        }
        let refused = app
            .post("/threads/main/messages", json!({ "text": "two" }))
            .await;
        assert_eq!(refused.status, 503, "{gone}: it is not acknowledged");
        assert_eq!(ready(&app).await, 503, "{gone}");
        app.until_says(&format!("{gone} was removed, moved or replaced"))
            .await;
        app.stop().await;
        if moved {
            std::fs::rename(&aside, &file).unwrap();
        }
        app.start_again().await;
        let said: Vec<String> = app
            .log()
            .await
            .iter()
            .map(|event| event["payload"]["text"].to_string())
            .collect();
        assert!(said.contains(&"\"one\"".to_owned()), "{gone}: {said:?}");
        app.tell("three").await;
    }
}

// Whoever has the server in hand is told why it takes nothing; everybody else only that it does not.
on_both!(an_admin_is_told_why_a_server_is_not_ready, |medium| {
    if !can_fail(&medium) {
        return;
    }
    let stub = Stub::start().await;
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TOKEN", "token-of-an-admin")
        .start_bare()
        .await;
    app.authorize("Bearer token-of-an-admin");
    app.tell("before").await;
    app.get("/readyz?full=true").await.expect(200);
    fail(&app).await;
    app.post("/threads/main/messages", json!({ "text": "not now" }))
        .await
        .expect_problem(503, "unavailable");
    until_ready(&app, 503).await;
    let why = if app.is_postgres() { "connect" } else { "disk" };
    let detail = |problem: Value| problem["detail"].as_str().unwrap().to_owned();
    let told = detail(
        app.get("/readyz?full=true")
            .await
            .expect_problem(503, "unavailable"),
    );
    assert!(told.contains(why), "{why:?} is not in {told}");
    let public = detail(app.get("/readyz").await.expect_problem(503, "unavailable"));
    assert!(
        !public.contains(why),
        "what the database says is not for everybody: {public}"
    );
    if !app.is_postgres() {
        let url = format!("http://{}", app.address);
        let env = [
            ("DATABASE_URL", app.database()),
            ("THINKD_LISTEN", "127.0.0.1:1"),
        ];
        let doctor = async |more: &[&str]| {
            app::ran(
                &app.folder(),
                &env,
                &[&["doctor", "--url", &url], more].concat(),
            )
            .await
        };
        let (code, said) = doctor(&["--token", "token-of-an-admin"]).await;
        assert!(code == Some(1) && said.contains(why), "{said}");
        let (code, said) = doctor(&[]).await;
        assert!(code == Some(1) && said.contains("--token"), "{said}");
    }
    mend(&app).await;
    until_ready(&app, 200).await;
});
