//! Changes in the log that this build cannot read, as a newer one may have written them: never taken for a removal, always said.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::stored::execute;
use kit::*;

/// Runs a command of the program on a database; returns its success, and its output.
async fn command(app: &App, database: &str, arguments: &[&str]) -> (bool, String) {
    let (code, said) = app::ran(&app.folder(), &[("DATABASE_URL", database)], arguments).await;
    (code == Some(0), said)
}

/// Stores event `seq` as a newer server would have, after the event `seq - 1`.
async fn newer(app: &App, seq: i64, thread: &str, kind: &str, key: &str, change: &Value) {
    let payload = json!({ "text": "newer", "kind": kind, "key": key, "change": change });
    let is_sqlite = app.database().starts_with("sqlite");
    let id = if is_sqlite {
        "randomblob(16)"
    } else {
        "gen_random_uuid()"
    };
    let insert = format!(
        "insert into events (space, seq, event_id, ts, thread, source, modality, payload, tags, visibility) \
         select space, {seq}, {id}, ts, '{thread}', 'internal', 'state', '{payload}', '[\"state\",\"set:{kind}\"]', 1 \
         from events where seq = {seq} - 1"
    );
    execute(app.database(), &insert).await;
    if !is_sqlite {
        execute(app.database(), &format!("update spaces set head = {seq}")).await;
    }
}

on_both!(
    a_change_that_cannot_be_read_is_no_removal_and_is_said_once,
    |medium| {
        let stub = Stub::start().await;
        let mut app = Setup::new(medium, &stub)
            .voices(&["a", "b", "c"])
            .start()
            .await;
        app.process("helper", json!({})).await;
        let contacts = json!([{ "name": "h", "thread": "helper", "description": "helps" }]);
        app.process("p", json!({ "contacts": contacts })).await;
        let last = seq(app.public_log().await.last().unwrap());
        assert!(app.stop().await.success());
        let (ok, said) = command(&app, app.database(), &["rebuild", "--check"]).await;
        assert!(ok, "control: all can be read: {said}");
        newer(
            &app,
            last + 1,
            "main",
            "submodule",
            "a",
            &json!({ "prompts": ["of", "a newer form"] }),
        )
        .await;
        newer(
            &app,
            last + 2,
            "p",
            "contact",
            "h",
            &json!({ "threads": ["helper"] }),
        )
        .await;
        newer(
            &app,
            last + 3,
            "main",
            "submodule",
            "b",
            &json!({ "prompts": [] }),
        )
        .await;
        newer(
            &app,
            last + 4,
            "main",
            "submodule",
            "b",
            &json!({ "prompt": "readable again" }),
        )
        .await;
        newer(&app, last + 5, "main", "submodule", "c", &Value::Null).await;
        newer(
            &app,
            last + 6,
            "main",
            "tools",
            "open",
            &json!({ "opened": "by a newer form" }),
        )
        .await;
        // What that server made of them.
        execute(
            app.database(),
            "update submodules set prompt = 'newer' where name = 'a'",
        )
        .await;
        execute(
            app.database(),
            "update contacts set description = 'newer' where name = 'h'",
        )
        .await;
        let (ok, said) = command(&app, app.database(), &["rebuild", "--check"]).await;
        let names = |seq: i64| said.contains(&format!("at seq {seq} "));
        assert!(
            !ok && names(last + 1) && names(last + 2) && !names(last + 3) && !names(last + 5),
            "{said}"
        );
        assert!(names(last + 6), "{said}");
        // Said in the log, once, however often the rows are made anew.
        for _ in 0..2 {
            let (ok, said) = command(&app, app.database(), &["rebuild"]).await;
            assert!(ok, "{said}");
        }
        let copy = app.folder().join("copy");
        let (ok, said) = command(&app, app.database(), &["backup", copy.to_str().unwrap()]).await;
        assert!(ok, "{said}");
        app.start_again().await;
        let voices = app.get("/submodules").await.expect(200);
        let voices: Vec<(&str, &str)> = voices["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|voice| {
                (
                    voice["name"].as_str().unwrap(),
                    voice["prompt"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(voices.len(), 2, "c is gone, a and b are not: {voices:?}");
        assert_eq!(
            voices,
            [("a", "newer"), ("b", "readable again")],
            "a row whose change cannot be read stays as it is"
        );
        let process = app.get("/threads/p").await.expect(200);
        assert_eq!(
            process["contacts"].as_array().unwrap().len(),
            1,
            "{process}"
        );
        assert_eq!(process["contacts"][0]["description"], "newer", "{process}");
        let log = app.public_log().await;
        let mut told: Vec<(&str, i64)> = with(&log, &["failure", "store"])
            .iter()
            .map(|e| {
                (
                    e["thread"].as_str().unwrap(),
                    e["payload"]["detail"]["seq"].as_i64().unwrap(),
                )
            })
            .collect();
        told.sort_unstable();
        assert_eq!(
            told,
            [("main", last + 1), ("main", last + 6), ("p", last + 2)],
            "{}",
            story(&log)
        );
        // Restored where there are no rows, it is said, too.
        for target in Medium::each().await {
            let (ok, said) =
                command(&app, target.url(), &["restore", copy.to_str().unwrap()]).await;
            assert!(
                ok && said.contains(&format!("at seq {} ", last + 1)),
                "{said}"
            );
            let (ok, _) = command(&app, target.url(), &["rebuild", "--check"]).await;
            assert!(!ok);
        }
    }
);

/// A newer server on the same database stores an event that this one cannot read. A follower here
/// is told that it is left out, and everything that comes after it; so is a later one.
#[tokio::test]
async fn followers_go_on_behind_an_event_that_cannot_be_read() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    assert_eq!(said(&app.tell("before").await[0]), "ok: before");
    socket.response().await;
    let last = seq(app.public_log().await.last().unwrap());
    let insert = format!(
        "insert into events (space, seq, event_id, ts, thread, source, modality, payload, tags, visibility) \
         select space, seq + 1, gen_random_uuid(), ts, 'elsewhere', 'internal', 'hologram', '{{}}', '[]', 1 from events \
         where seq = {last}; update spaces set head = {last} + 1"
    );
    execute(app.database(), &insert).await;
    let is_word = |frame: &Value| {
        let detail = frame["problem"]["detail"].as_str().unwrap_or_default();
        frame["type"] == "problem" && detail.contains(&format!("event {} ", last + 1))
    };
    socket.wait("word of what is left out", is_word).await;
    socket.say("after").await;
    assert_eq!(said(&socket.response().await), "ok: after");
    let mut late = app.socket().await;
    late.subscribe(json!({ "type": "subscribe", "after": 0 }))
        .await;
    late.wait("word of what is left out", is_word).await;
    late.event("what comes after it", |e| {
        has(e, "response") && said(e) == "ok: after"
    })
    .await;
    let words = socket.seen.iter().filter(|frame| is_word(frame)).count();
    assert_eq!(words, 1, "it is said once");
}

// A page goes on behind what it cannot read, as a follower does, and says which it is.
on_both!(
    a_page_of_history_goes_on_behind_an_event_that_cannot_be_read,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        app.tell("hello").await;
        let log = app.public_log().await;
        let last = seq(log.last().unwrap());
        assert_eq!(
            app.get("/events").await.expect(200)["unreadable"],
            Value::Null,
            "control: all can be read"
        );
        // Only read from here on: a server that has the file would not know that its log has grown.
        let id = if app.is_postgres() {
            "gen_random_uuid()"
        } else {
            "randomblob(16)"
        };
        let insert = format!(
            "insert into events (space, seq, event_id, ts, thread, source, modality, payload, tags, visibility) \
         select space, seq + 1, {id}, ts, thread, 'internal', 'hologram', payload, tags, 3 from events where seq = {last}"
        );
        execute(app.database(), &insert).await;
        if app.is_postgres() {
            execute(
                app.database(),
                &format!("update spaces set head = {last} + 1"),
            )
            .await;
        }
        for (order, newest_first) in [("asc", false), ("desc", true)] {
            let page = app
                .get(&format!("/events?order={order}&limit=500"))
                .await
                .expect(200);
            let mut expected = log.clone();
            if newest_first {
                expected.reverse();
            }
            assert_eq!(
                (&page["items"], &page["unreadable"]),
                (&json!(expected), &json!([last + 1])),
                "{order}"
            );
            // It counts as one of a page, and the cursor goes on behind it.
            let mut items = Vec::new();
            let mut unreadable = Vec::new();
            let mut cursor = String::new();
            loop {
                let page = app
                    .get(&format!("/events?order={order}&limit=1{cursor}"))
                    .await
                    .expect(200);
                items.extend(page["items"].as_array().unwrap().clone());
                unreadable.extend(page["unreadable"].as_array().cloned().unwrap_or_default());
                let Some(next) = page["next"].as_str() else {
                    break;
                };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(
                (items, unreadable),
                (expected, vec![json!(last + 1)]),
                "{order}"
            );
        }
    }
);

// Nor does it stop the index of its space, or the chat: what stands before and behind it is found, and shown.
on_both!(
    an_event_that_cannot_be_read_stops_neither_search_nor_chat,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let last = seq(&app.tell("hello").await[0]);
        let found = async |words: &str| app.get(&format!("/events?q={words}")).await.expect(200);
        let chat = app.get("/messages").await.expect(200);
        let before = found("hello").await;
        assert_eq!(
            (chat.as_array().unwrap().len(), before["unreadable"].clone()),
            (2, Value::Null),
            "control: all can be read"
        );
        let id = if app.is_postgres() {
            "gen_random_uuid()"
        } else {
            "randomblob(16)"
        };
        let head = seq(app.public_log().await.last().unwrap());
        let insert = format!(
            "insert into events (space, seq, event_id, ts, thread, source, modality, payload, tags, visibility) \
         select space, {head} + 1, {id}, ts, thread, source, 'hologram', payload, tags, visibility from events where seq = {last}"
        );
        execute(app.database(), &insert).await;
        if app.is_postgres() {
            execute(
                app.database(),
                &format!("update spaces set head = {head} + 1"),
            )
            .await;
        }
        assert_eq!(
            app.get("/messages").await.expect(200),
            chat,
            "it goes on behind it"
        );
        assert_eq!(
            app.get("/messages?n=1").await.expect(200),
            json!([chat[1]]),
            "and has as many as were asked for"
        );
        let page = found("hello").await;
        assert_eq!(
            (&page["items"], &page["unreadable"]),
            (&before["items"], &json!([head + 1])),
            "{page}"
        );
        if app.is_postgres() {
            // A server that has the file would not know that its log has grown.
            app.tell("afterwards").await;
            assert!(
                !with(
                    found("afterwards").await["items"].as_array().unwrap(),
                    &["response"]
                )
                .is_empty()
            );
            assert_eq!(
                app.get("/messages")
                    .await
                    .expect(200)
                    .as_array()
                    .unwrap()
                    .len(),
                4
            );
        }
        let metrics = app.get("/metrics").await.text;
        assert!(
            metrics.contains("thinkd_index_unreadable_events_total 1"),
            "{metrics}"
        );
        assert_eq!(
            app.get("/readyz?full=true").await.expect(200)["unserved"],
            json!([])
        );
    }
);
