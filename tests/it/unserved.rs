//! Any stored event can be indexed, rebuilt and restored; and a space with an index that cannot be
//! gone on with is open, and shown.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::sync::Arc;

use serde_json::{Value, json};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_log::backup;
use thinkd_log::kernel::Store;
use thinkd_log::query::Query;
use thinkd_log::thread_row::ThreadRow;
use thinkd_words::id::{Space, ThreadId};

use kit::stored::{append, draft, execute, open};
use kit::*;

async fn tagged(store: &Arc<dyn Store>, tag: &str) -> Vec<Event> {
    let query = Query {
        tags: vec![tag.to_owned()],
        limit: 10,
        ..Query::default()
    };
    within("a page by tag", store.events(&Space::default(), &query))
        .await
        .unwrap()
}

/// Letters and digits that no database makes shorter.
fn noise(length: usize) -> String {
    let mut state = 1_u64;
    let letter = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b"abcdefghijklmnopqrstuvwxyz0123456789"[(state >> 33) as usize % 36])
    };
    (0..length).map(letter).collect()
}

// A tag or a text with a NUL, a tag longer than an index takes: stored is indexed.
on_both!(
    whatever_can_be_stored_is_found_rebuilt_and_restored,
    |medium| {
        let store = open(&medium).await;
        let long = format!("tool:{}", noise(9000));
        append(&store, draft("main", "before", &["before"])).await;
        append(
            &store,
            draft("main", "nul \0 in a text", &["tool:a\0b", "nul"]),
        )
        .await;
        append(&store, draft("main", "a long tag", &[&long, "long"])).await;
        append(
            &store,
            Draft::changed(
                &ThreadId::default(),
                "submodule",
                "a",
                json!({ "prompt": "nul \0 in a prompt" }),
            ),
        )
        .await;
        append(&store, draft("main", "after", &["after"])).await;
        for tag in ["before", "nul", "long", "after", &long] {
            assert_eq!(
                tagged(&store, tag).await.len(),
                1,
                "{}",
                &tag[..tag.len().min(20)]
            );
        }
        let nul = tagged(&store, "nul").await;
        assert_eq!(
            (nul[0].text(), nul[0].meta.tags[0].as_str()),
            ("nul \u{fffd} in a text", "tool:a\u{fffd}b")
        );
        store.close().await;
        drop(store);
        // An older server on SQLite took NULs as they were.
        let insert = format!(
            "insert into events (space, seq, event_id, ts, thread, source, modality, payload, tags, visibility) select space, 6, {}, \
         ts, 'main', 'internal', 'state', {payload}, '[\"state\",\"set:contact\",\"x\\u0000y\"]', 1 \
         from events where seq = 5",
            if medium.is_postgres() {
                "gen_random_uuid()"
            } else {
                "randomblob(16)"
            },
            payload = "'{\"kind\":\"contact\",\"key\":\"c\",\"change\":{\"thread\":\"main\",\"description\":\"nul \\u0000\"}}'",
        );
        execute(medium.url(), &insert).await;
        if medium.is_postgres() {
            execute(medium.url(), "update spaces set head = 6").await;
        }
        let store = open(&medium).await;
        assert_eq!(tagged(&store, "set:contact").await.len(), 1);
        let rebuilt = store.rebuild(false).await.unwrap();
        assert_eq!(rebuilt.events, 6);
        assert_eq!(
            store.rebuild(true).await.unwrap().differences,
            Vec::<String>::new()
        );
        assert_eq!(
            store
                .contacts(&Space::default(), &ThreadId::default())
                .await
                .unwrap()[0]
                .description,
            "nul \u{fffd}"
        );
        store.close().await;
        drop(store);
        let copy = medium.folder().join("copy");
        thinkd_log::backup::backup(medium.url(), &copy)
            .await
            .unwrap();
        for target in Medium::each().await {
            assert_eq!(
                backup::restore(target.url(), &copy, ThreadRow::apply)
                    .await
                    .unwrap()
                    .events,
                6
            );
            let store = open(&target).await;
            assert_eq!(tagged(&store, "after").await.len(), 1);
            assert_eq!(
                store.rebuild(true).await.unwrap().differences,
                Vec::<String>::new()
            );
            store.close().await;
            drop(store);
        }
    }
);

/// From now on nothing can be added to the index of the space `default`.
async fn refuse_index(app: &App, refuse: bool) {
    if app.database().starts_with("sqlite") {
        let index = format!("{}.index", app.database());
        let text = match refuse {
            true => {
                "create trigger refuse before insert on marks when new.space = 'default' begin select raise(abort, 'refused'); end"
            }
            false => "drop trigger refuse",
        };
        execute(&index, text).await;
        return;
    }
    let texts = match refuse {
        true => vec![
            "create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$",
            "create trigger refuse before insert on marks for each row when (new.space = 'default') execute function refuse()",
        ],
        false => vec!["drop trigger refuse on marks"],
    };
    for text in texts {
        execute(app.database(), text).await;
    }
}

async fn unserved(app: &App) -> Value {
    app.get("/readyz?full=true").await.expect(200)["unserved"].clone()
}

on_both!(
    a_space_whose_index_cannot_go_on_is_open_and_shown,
    |medium| {
        let stub = Stub::start().await;
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_RUNTIME__DEFAULT_SUBMODULES", "true")
            .start_bare()
            .await;
        assert!(
            !app.get("/submodules").await.expect(200)["items"]
                .as_array()
                .unwrap()
                .is_empty()
        );
        app.get("/events?tags=set:submodule").await.expect(200);
        assert_eq!(unserved(&app).await, json!([]), "control: all is well");
        refuse_index(&app, true).await;
        app.say_in("main", "hello").await;
        polled("word of the index", async || {
            unserved(&app).await != json!([])
        })
        .await;
        app.restart().await;
        // Neither its voices nor its threads need the index.
        let voices = app.get("/submodules").await.expect(200);
        assert!(!voices["items"].as_array().unwrap().is_empty(), "{voices}");
        let mut socket = app.socket().await;
        socket.say_in("other", "still there?").await;
        let response = socket
            .event("the reply", |e| {
                e["thread"] == "other" && has(e, "response")
            })
            .await;
        assert_eq!(said(&response), "ok: still there?");
        polled("word of the index after a start", async || {
            unserved(&app).await != json!([])
        })
        .await;
        let shown = unserved(&app).await;
        assert_eq!(
            (&shown[0]["space"], &shown[0]["work"]),
            (&json!("default"), &json!("index")),
            "{shown}"
        );
        assert!(
            shown[0]["reason"].as_str().unwrap().contains("refused"),
            "{shown}"
        );
        assert!(
            app.get("/metrics")
                .await
                .text
                .contains("thinkd_spaces_unserved 1")
        );
        assert_eq!(
            app.get("/readyz").await.text,
            "ok\n",
            "the others are served"
        );
        refuse_index(&app, false).await;
        socket.say_in("other", "and now?").await;
        socket
            .event("the reply", |e| {
                e["thread"] == "other" && has(e, "response")
            })
            .await;
        app.get("/events?tags=set:submodule").await.expect(200);
        assert_eq!(unserved(&app).await, json!([]));
    }
);

#[tokio::test]
async fn what_is_not_served_is_told_to_nobody_who_has_one_space() {
    let stub = Stub::start().await;
    let keys = "[[keys]]\nkey = \"key-of-mind-a-0123456789\"\nspace = \"a\"\nrole = \"operator\"\n\
                [[keys]]\nkey = \"key-of-an-admin-0123456789\"\nspace = \"b\"\nrole = \"admin\"\n";
    let mut app = Setup::new(Medium::sqlite(), &stub)
        .file("thinkd.toml", keys)
        .start_bare()
        .await;
    app.get("/readyz?full=true")
        .await
        .expect_problem(401, "unauthenticated");
    app.get("/readyz").await.expect(200);
    app.authorize("Bearer key-of-mind-a-0123456789");
    app.get("/readyz?full=true")
        .await
        .expect_problem(403, "forbidden");
    app.get("/metrics").await.expect_problem(403, "forbidden");
    assert!(
        app.get("/metadata")
            .await
            .expect(200)
            .get("database")
            .is_none(),
        "totals and places are for an admin"
    );
    app.authorize("Bearer key-of-an-admin-0123456789");
    assert_eq!(
        app.get("/readyz?full=true").await.expect(200)["unserved"],
        json!([])
    );
    app.get("/metrics").await.expect(200);
    assert!(
        app.get("/metadata").await.expect(200)["database"]
            .as_str()
            .unwrap()
            .starts_with("sqlite://")
    );
    let token = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TOKEN", "correct-horse-battery")
        .start_bare()
        .await;
    token
        .get("/readyz?full=true")
        .await
        .expect_problem(401, "unauthenticated");
    let asked = token
        .request("GET", "/readyz?full=true")
        .header("authorization", "Bearer correct-horse-battery");
    let full = http::send(asked).await.expect(200);
    assert_eq!(
        (&full["status"], &full["unserved"]),
        (&json!("ok"), &json!([]))
    );
}

// One thread of a space that is run says nothing about another one that cannot be.
on_both!(
    a_thread_that_cannot_be_run_is_shown_for_as_long_as_it_cannot,
    |medium| {
        let stub = Stub::start().await;
        stub.script(at("torn"), [reply("too late").never()]);
        let mut app = App::start(medium, &stub).await;
        app.say_in("torn", "hello").await;
        stub.request(at("torn")).await;
        app.kill();
        execute(
            app.database(),
            "update threads set settings = '{' where thread = 'torn'",
        )
        .await;
        app.start_again().await;
        let is_shown = async || {
            unserved(&app)
                .await
                .as_array()
                .unwrap()
                .iter()
                .any(|it| it["work"] == "threads")
        };
        polled("word of it", async || is_shown().await).await;
        // Said again and again, over many looks of the server at its threads.
        let begun = std::time::Instant::now();
        while begun.elapsed() < ms(700) {
            assert_eq!(said(&app.tell("still there?").await[0]), "ok: still there?");
            assert!(is_shown().await, "not after {:?}", begun.elapsed());
        }
        let shown = unserved(&app).await;
        assert!(
            shown[0]["reason"].as_str().unwrap().starts_with("torn: "),
            "{shown}"
        );
        execute(
            app.database(),
            "update threads set settings = '{}' where thread = 'torn'",
        )
        .await;
        stub.on(at("torn"), reply("At last."));
        polled("the end of it", async || !is_shown().await).await;
    }
);
