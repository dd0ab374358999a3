//! The end of a thread and those below it: they end with it, or live on below another one.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::collections::BTreeMap;

use thinkd_event::draft::Draft;
use thinkd_words::id::ThreadId;

use super::*;

async fn tree(app: &App, children: &[(&str, &str)]) {
    for (parent, label) in children {
        app.post(
            "/threads",
            json!({ "label": label, "parent": parent, "kind": "process" }),
        )
        .await
        .expect(201);
    }
}

async fn states(app: &App) -> Vec<[Value; 4]> {
    let row = |row: &Value| {
        [&row["id"], &row["parent"], &row["status"], &row["reason"]].map(Clone::clone)
    };
    app.pages("/threads?").await.iter().map(row).collect()
}

// Whoever ends a thread ends what works for it: turns are stopped down to the provider, and who knew one of them is told.
on_sqlite!(an_end_takes_the_subtree_with_it, |medium| {
    let stub = Stub::start().await;
    stub.on(at("p.a.deep"), asleep().never());
    stub.on(at("p.b"), asleep());
    stub.on(at("friend"), asleep());
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["p", "p-other"]).await;
    tree(&app, &[("p", "a"), ("p.a", "deep"), ("p", "b")]).await;
    app.process(
        "friend",
        json!({ "contacts": [{ "name": "deep", "thread": "p.a.deep", "description": "" }] }),
    )
    .await;
    app.say_in("p.b", "go").await;
    turn_over(&mut socket, "p.b", 1).await;
    app.say_in("p.a.deep", "go").await;
    let running = stub.request(at("p.a.deep")).await;
    app.post("/threads/p/end", json!({})).await.expect(200);
    running.closed().await;
    turn_over(&mut socket, "friend", 1).await;
    let stopped = |id: &str, parent: Value, reason: &str| {
        [json!(id), parent, json!("stopped"), json!(reason)]
    };
    let all = states(&app).await;
    assert!(
        all.contains(&stopped("p", Value::Null, "ended from outside")),
        "{all:?}"
    );
    for (id, parent) in [("p.a", "p"), ("p.a.deep", "p.a"), ("p.b", "p")] {
        assert!(
            all.contains(&stopped(id, json!(parent), "parent-ended")),
            "{all:?}"
        );
    }
    assert_eq!(
        app.get("/threads/p-other").await.expect(200)["status"],
        "idle",
        "the control"
    );
    app.post("/threads/p.b/messages", json!({ "text": "hello" }))
        .await
        .expect_problem(409, "thread-ended");
    let log = app.public_log().await;
    let told = told(&log, "friend", &["thread-ended"]);
    assert_eq!(
        (told.len(), &told[0]["payload"]["reason"]),
        (1, &json!("parent-ended")),
        "{}",
        story(&log)
    );
    let word = with(&log, &["thread-ended"]);
    assert_eq!(
        word.len(),
        1,
        "none is told that is gone itself: {}",
        story(&log)
    );
    rows_are_what_the_log_says(&mut app).await;
});

// A thread that ends itself takes those below along, also those that it made in the same step.
on_sqlite!(
    a_thread_that_ends_itself_takes_its_subtree_along,
    |medium| {
        let stub = Stub::start().await;
        let spawn = json!({ "label": "new", "prompt": null, "payload": "begin" });
        let ends = call("spawn_thread", spawn).and("terminate", json!({ "reason": "enough" }));
        stub.script(
            at("p"),
            [ends, call("do_nothing", json!({ "reason": "all said" }))],
        );
        stub.on(at("p.new"), asleep().never());
        stub.on(at("p.old"), asleep().never());
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        tree(&app, &[("p", "old")]).await;
        app.say_in("p.old", "work").await;
        let running = stub.request(at("p.old")).await;
        app.say_in("p", "go").await;
        turn_over(&mut socket, "p", 1).await;
        running.closed().await;
        assert_eq!(app.get("/threads/p").await.expect(200)["status"], "done");
        for child in ["p.old", "p.new"] {
            let row = app.get(&format!("/threads/{child}")).await.expect(200);
            assert_eq!(
                (&row["status"], &row["reason"]),
                (&json!("stopped"), &json!("parent-ended")),
                "{row}"
            );
        }
        rows_are_what_the_log_says(&mut app).await;
    }
);

// With `subtree=false` they live on below the nearest living thread above: they are told, can write to it, and it hears of them.
on_sqlite!(
    threads_whose_parent_ended_have_the_nearest_living_one_above,
    |medium| {
        let stub = Stub::start().await;
        let asks = call("send", json!({ "to": "parent", "text": "are you there" }));
        stub.script(
            at("p.a.b.c"),
            [
                asleep(),
                asks.and("wait", json!({ "from": "parent", "timeout_s": null })),
            ],
        );
        stub.on(at("p.a.b.c"), status(400));
        stub.on(Request::is_decision, asleep());
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        tree(
            &app,
            &[("p", "a"), ("p.a", "b"), ("p.a.b", "c"), ("p.a.b.c", "d")],
        )
        .await;
        app.post("/threads/p.a.b/end?subtree=false", json!({}))
            .await
            .expect(200);
        turn_over(&mut socket, "p.a.b.c", 1).await;
        assert_eq!(
            app.get("/threads/p.a.b.c").await.expect(200)["parent"],
            "p.a"
        );
        assert_eq!(
            app.get("/threads/p.a.b.c.d").await.expect(200)["parent"],
            "p.a.b.c",
            "it has its own still"
        );
        let below = async |parent: &str| {
            let rows = app.pages(&format!("/threads?parent={parent}&")).await;
            rows.iter()
                .map(|row| row["id"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (below("p.a").await, below("p.a.b").await),
            (vec!["p.a.b".to_owned(), "p.a.b.c".into()], vec![])
        );
        app.post("/threads/p.a/end?subtree=false", json!({}))
            .await
            .expect(200);
        turn_over(&mut socket, "p.a.b.c", 2).await;
        assert_eq!(app.get("/threads/p.a.b.c").await.expect(200)["parent"], "p");
        let log = app.public_log().await;
        let ended = told(&log, "p.a.b.c", &["thread-ended"]);
        assert_eq!(
            ended
                .iter()
                .map(|e| &e["payload"]["id"])
                .collect::<Vec<_>>(),
            ["p.a.b", "p.a"],
            "{}",
            story(&log)
        );
        let second = stub.nth(1, at("p.a.b.c")).await;
        assert!(second.last().contains("- parent (p)"), "{}", second.last());
        assert_eq!(mail(&log, "p"), [("p.a.b.c", "are you there")]);
        // It waits for its new parent, and that one waits for nobody: an end of that wakes it, and a failure of its own is told there.
        assert_eq!(
            app.get("/threads/p.a.b.c").await.expect(200)["waiting_for"],
            "p"
        );
        let answers = call(
            "connect",
            json!({ "name": "c", "thread": "p.a.b.c", "description": "" }),
        );
        stub.clear();
        stub.on(at("p.a.b.c"), status(400));
        stub.script(
            at("p"),
            [answers
                .and("send", json!({ "to": "c", "text": "yes" }))
                .and("wait", json!({ "from": "c", "timeout_s": null }))],
        );
        stub.on(Request::is_decision, asleep());
        app.say_in("p", "answer").await;
        socket
            .event("word of it", |e| {
                e["thread"] == "p" && has(e, "thread-stuck")
            })
            .await;
        app.post("/threads/p/end?subtree=false", json!({}))
            .await
            .expect(200);
        assert_eq!(
            app.get("/threads/p.a.b.c").await.expect(200)["parent"],
            Value::Null,
            "there is none any more"
        );
        app.post("/threads/p.a.b.c/end?subtree=maybe", json!({}))
            .await
            .expect_problem(400, "invalid-parameter");
        rows_are_what_the_log_says(&mut app).await;
    }
);

/// A thread `p` with so many directly below it, and as many below one of those.
async fn large(medium: &Medium, many: usize) {
    let below = |n: usize| [format!("p.c{n:04}"), format!("p.a.c{n:04}")];
    let top = ["p".to_owned(), "p.a".to_owned()];
    stored::processes(medium, top.into_iter().chain((0..many).flat_map(below))).await;
}

async fn living_below_p(app: &App) -> Vec<String> {
    let rows = app.pages("/threads?subtree=p&").await.into_iter();
    let living = rows.filter(|row| row["status"] != "stopped" && row["status"] != "done");
    living
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

async fn all_ended(app: &App) {
    app.until("the end of all", async || {
        living_below_p(app).await.is_empty()
    })
    .await;
}

/// The most events that one commit has: those of one commit have one time.
fn largest_commit(log: &[Value]) -> usize {
    let mut commits: BTreeMap<&str, usize> = BTreeMap::new();
    log.iter()
        .for_each(|event| *commits.entry(event["ts"].as_str().unwrap()).or_default() += 1);
    commits.into_values().max().unwrap()
}

fn ends(log: &[Value]) -> usize {
    with(log, &["set:thread"])
        .iter()
        .filter(|event| event["payload"]["change"]["status"] == "stopped")
        .count()
}

// Whoever ends many threads does it in short appends, so that others' are stored in between; and what is made meanwhile ends, too.
on_sqlite!(a_large_subtree_ends_append_by_append, |medium| {
    let stub = Stub::start().await;
    large(&medium, 300).await;
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_BUDGET__SUBTHREADS", 1000)
        .start()
        .await;
    let makes = |label: String| {
        let body = json!({ "label": label, "parent": "p.a", "kind": "process" });
        tokio::spawn(http::send(app.request("POST", "/threads").json(&body)))
    };
    let mut made: Vec<_> = (0..4).map(|n| makes(format!("m{n}"))).collect();
    let end = tokio::spawn(http::send(
        app.request("POST", "/threads/p/end").json(&json!({})),
    ));
    made.extend((4..12).map(|n| makes(format!("m{n}"))));
    end.await.unwrap().expect(200);
    let mut born = 0;
    for reply in made {
        born += usize::from(reply.await.unwrap().status == 201);
    }
    for [id, _, status, reason] in states(&app).await {
        let why = if id == "p" {
            "ended from outside"
        } else {
            "parent-ended"
        };
        assert_eq!((&status, &reason), (&json!("stopped"), &json!(why)), "{id}");
    }
    let log = app.public_log().await;
    assert_eq!(ends(&log), 602 + born, "each of them once");
    assert!(
        largest_commit(&log) <= 260,
        "{} events in a commit",
        largest_commit(&log)
    );
    assert_eq!(app.get("/threads/p").await.expect(200)["timers"], json!([]));
    assert_eq!(
        with(&log, &["set:timer"]).last().unwrap()["payload"]["change"],
        Value::Null,
        "nothing is left to do"
    );
    rows_are_what_the_log_says(&mut app).await;
});

// The same where a thread ends itself: its turn's end is one append, and the rest follow.
on_sqlite!(
    a_thread_that_ends_itself_ends_a_large_subtree_append_by_append,
    |medium| {
        let stub = Stub::start().await;
        stub.on(at("p"), call("terminate", json!({ "reason": "enough" })));
        large(&medium, 200).await;
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        app.say_in("p", "go").await;
        turn_over(&mut socket, "p", 1).await;
        assert_eq!(app.get("/threads/p").await.expect(200)["status"], "done");
        all_ended(&app).await;
        let through = |e: &Value| has(e, "set:timer") && e["payload"]["change"].is_null();
        socket.event("the end of it", through).await;
        let log = app.public_log().await;
        assert_eq!(ends(&log), 401);
        assert!(
            largest_commit(&log) <= 260,
            "{} events in a commit",
            largest_commit(&log)
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

/// From now on nothing is stored in this thread; or it is again.
pub(super) async fn refuse(app: &App, thread: Option<&str>) {
    let text = match (thread, app.is_postgres()) {
        (Some(thread), false) => format!(
            "create trigger refuse before insert on events when new.thread = '{thread}' \
             begin select raise(abort, 'refused'); end"
        ),
        (Some(thread), true) => format!(
            "create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$; \
             create trigger refuse before insert on events for each row when (new.thread = '{thread}') execute function refuse()"
        ),
        (None, false) => "drop trigger refuse".to_owned(),
        (None, true) => "drop trigger refuse on events; drop function refuse".to_owned(),
    };
    faults::execute(app, &text).await;
}

/// Makes a large subtree with an end that the store refuses in the middle, and a friend that waits
/// for one that still lives.
async fn half_ended(medium: Medium, stub: &Stub) -> App {
    large(&medium, 300).await;
    stub.script(
        at("friend"),
        [call("wait", json!({ "from": "late", "timeout_s": null }))],
    );
    stub.on(at("friend"), asleep());
    let app = Setup::new(medium, stub)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 100)
        .start()
        .await;
    let mut socket = app.socket().await;
    let late = json!({ "name": "late", "thread": "p.c0299", "description": "" });
    app.process("friend", json!({ "contacts": [late] })).await;
    app.say_in("friend", "go").await;
    turn_over(&mut socket, "friend", 1).await;
    refuse(&app, Some("p.c0200")).await;
    let refused = app.post("/threads/p/end", json!({})).await;
    assert!(refused.status >= 500, "{}", refused.text);
    let all = states(&app).await;
    let of = |id: &str| all.iter().find(|row| row[0] == id).unwrap()[2].clone();
    assert_eq!(
        (of("p"), of("p.a"), of("p.c0299")),
        (json!("stopped"), json!("stopped"), json!("idle"))
    );
    let more = json!({ "label": "more", "parent": "p", "kind": "process" });
    app.post("/threads", more)
        .await
        .expect_problem(409, "thread-ended");
    app
}

async fn the_friend_was_told(app: &App) {
    let mut socket = app.socket().await;
    socket
        .subscribe(json!({ "type": "subscribe", "after": 0 }))
        .await;
    let word = socket
        .event("word of the end", |e| {
            e["thread"] == "friend" && has(e, "thread-ended")
        })
        .await;
    assert_eq!(
        (&word["payload"]["id"], &word["payload"]["reason"]),
        (&json!("p.c0299"), &json!("parent-ended"))
    );
    turn_over(&mut socket, "friend", 2).await;
    let log = app.public_log().await;
    assert_eq!(
        (ends(&log), with(&log, &["thread-ended"]).len()),
        (602, 1),
        "each of them once"
    );
}

// A server that is gone between two of the appends leaves nothing that nobody would end: the next one goes on with it.
on_sqlite!(what_was_left_of_a_subtree_ends_after_a_restart, |medium| {
    let stub = Stub::start().await;
    let mut app = half_ended(medium, &stub).await;
    app.kill();
    refuse(&app, None).await;
    // Whoever was at it has been silent for long enough.
    stored::execute(app.database(), "update timers set due = 0").await;
    app.start_again().await;
    all_ended(&app).await;
    the_friend_was_told(&app).await;
});

// The same where another server lives on: it needs no restart.
#[tokio::test]
async fn what_was_left_of_a_subtree_is_ended_by_another_server_postgres() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let mut app = half_ended(medium, &stub).await;
    let other = app.beside().await;
    app.kill();
    refuse(&app, None).await;
    assert!(
        !living_below_p(&other).await.is_empty(),
        "control: whoever was at it may still be"
    );
    stored::execute(app.database(), "update timers set due = 0").await;
    all_ended(&other).await;
    the_friend_was_told(&other).await;
}

// Whoever asks for the end again has it finished.
on_sqlite!(
    what_was_left_of_a_subtree_ends_when_it_is_ended_again,
    |medium| {
        let stub = Stub::start().await;
        let mut app = half_ended(medium, &stub).await;
        refuse(&app, None).await;
        app.post("/threads/p/end", json!({}))
            .await
            .expect_problem(409, "thread-ended");
        assert_eq!(living_below_p(&app).await, Vec::<String>::new());
        the_friend_was_told(&app).await;
        rows_are_what_the_log_says(&mut app).await;
    }
);

// Who names no thread speaks to `main`: a space whose main thread had ended would be deaf for good.
on_sqlite!(the_main_thread_of_a_space_does_not_end, |medium| {
    let stub = Stub::start().await;
    let setup = Setup::new(medium, &stub).env("THINKD_TOOLS__CONVERSATION", "reply,terminate");
    let app = setup.start().await;
    app.tell("one").await;
    let refused = app
        .post("/threads/main/end", json!({}))
        .await
        .expect_problem(422, "unprocessable");
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("/threads/main/cancel"),
        "what to do instead: {refused}"
    );
    assert_eq!(said(&app.tell("two").await[0]), "ok: two");
    // Nor by its own decision.
    stub.script(
        at("main"),
        [
            call("terminate", json!({ "reason": "enough" })),
            reply("I stay."),
        ],
    );
    assert_eq!(said(&app.tell("three").await[0]), "I stay.");
    assert_eq!(app.get("/threads/main").await.expect(200)["status"], "idle");
    // Control: every other one does, and who speaks to it is told where else to.
    app.tell_in("other", "one").await;
    app.post("/threads/other/end", json!({})).await.expect(200);
    let ended = app
        .post("/threads/other/messages", json!({ "text": "two" }))
        .await
        .expect_problem(409, "thread-ended");
    assert!(
        ended["detail"].as_str().unwrap().contains("POST /threads"),
        "{ended}"
    );
});

// A process that writes what cannot be read fails for good; one that is the main thread waits, as a conversation does.
on_sqlite!(
    a_process_that_is_the_main_thread_outlives_answers_that_cannot_be_read,
    |medium| {
        let stub = Stub::start().await;
        stub.on(|r: &Request| !r.says("again"), text("<send to=\"nobody\""));
        stub.on(any, text("<wait/>"));
        // As an earlier version made it.
        let settings = json!({ "kind": "process", "language": "xml" });
        let store = stored::open(&medium).await;
        for thread in ["main", "other"] {
            stored::append(
                &store,
                Draft::created(&ThreadId::parse(thread).unwrap(), &settings),
            )
            .await;
        }
        store.close().await;
        drop(store);
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        for thread in ["main", "other"] {
            app.say_in(thread, "go").await;
            turn_over(&mut socket, thread, 1).await;
        }
        assert_eq!(
            app.get("/threads/other").await.expect(200)["status"],
            "failed",
            "control"
        );
        let main = app.get("/threads/main").await.expect(200);
        assert_eq!(main["status"], "waiting", "{main}");
        app.say_in("main", "again").await;
        turn_over(&mut socket, "main", 2).await;
        assert_eq!(
            app.get("/threads/main").await.expect(200)["status"],
            "waiting"
        );
    }
);

// Who names no thread speaks to `main`: as a process it would answer nobody. It is no label for one, whether or not it is there.
on_sqlite!(the_main_thread_is_no_process, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let process = json!({ "label": "main", "kind": "process" });
    for _ in 0..2 {
        let refused = app
            .post("/threads", process.clone())
            .await
            .expect_problem(422, "unprocessable");
        assert!(
            refused["detail"]
                .as_str()
                .unwrap()
                .contains("choose another label"),
            "{refused}"
        );
        assert_eq!(said(&app.tell("hello").await[0]), "ok: hello");
    }
    assert_eq!(
        app.get("/threads/main").await.expect(200)["kind"],
        "conversation"
    );
    // Control: below another thread it is a label like any, and so it is for a conversation.
    app.process("p", json!({})).await;
    let below = app
        .post(
            "/threads",
            json!({ "label": "main", "kind": "process", "parent": "p" }),
        )
        .await
        .expect(201);
    assert_eq!(below["id"], "p.main");
    assert_eq!(
        app.post("/threads", json!({ "label": "main" }))
            .await
            .expect(201)["id"],
        "main-2"
    );
});
