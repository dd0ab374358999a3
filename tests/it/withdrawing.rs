//! Taking back an input that waits, or with its turn: no turn is about it and no model reads it. Of
//! a turn and a withdrawal, one is first.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::sync::Arc;

use serde_json::{Value, json};
use thinkd_event::condition::Condition;
use thinkd_event::draft::{Draft, InputKind, Part};
use thinkd_event::fact::Fact;
use thinkd_event::fact::withdrawn::Withdrawn;
use thinkd_log::appended::{Append, Appended};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_words::id::{Seq, Space, ThreadId, fresh};

use kit::media::PNG;
use kit::*;

/// Says something that waits, with an image where one is wanted; its id.
async fn wait_with(app: &App, text: &str, image: Option<Value>) -> String {
    let id = fresh().to_string();
    let mut said = json!({ "text": text, "event_id": id });
    if let Some(image) = image {
        said["images"] = json!([image]);
    }
    app.post("/threads/main/messages", said).await.expect(202);
    id
}

async fn back(app: &App, id: &str) -> http::Reply {
    app.delete(&format!("/threads/main/inputs/{id}")).await
}

async fn queued(app: &App) -> Value {
    app.get("/threads/main").await.expect(200)["queued"].clone()
}

on_both!(
    an_input_that_waits_is_taken_back_and_no_model_reads_it,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(decision, [reply("First.").held(&gate), reply("Second.")]);
        let mut app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        let first = wait_with(&app, "one", None).await;
        stub.request(decision).await;
        back(&app, &first).await.expect_problem(409, "input-taken");
        let second = wait_with(
            &app,
            "the password is swordfish",
            Some(json!({ "data": PNG, "mimeType": "image/png" })),
        )
        .await;
        wait_with(&app, "three", None).await;
        assert_eq!(queued(&app).await, 2);
        for _ in 0..2 {
            back(&app, &second).await.expect(204);
        }
        assert_eq!(queued(&app).await, 1);
        back(&app, &fresh().to_string())
            .await
            .expect_problem(404, "not-found");
        app.delete("/threads/main/inputs/none")
            .await
            .expect_problem(400, "invalid-id");
        gate.open();
        socket.turn_ended().await;
        socket.turn_ended().await;
        let asked = stub.nth(1, decision).await;
        assert!(
            asked.says("three") && asked.says("was taken back"),
            "{}",
            asked.text()
        );
        assert!(
            !asked.says("swordfish") && !asked.prompt_bytes().contains("data:image"),
            "{}",
            asked.text()
        );
        back(&app, &first).await.expect_problem(409, "input-taken");
        assert_eq!(chat(&app).await, ["one", "three", "First.", "Second."]);

        let log = app.log().await;
        let withdrawn = with(&log, &["withdrawn"]);
        assert_eq!(withdrawn.len(), 1, "{}", story(&log));
        let taken_back = &withdrawn[0]["payload"];
        assert_eq!(
            taken_back["input"].as_i64().unwrap() - taken_back["from"].as_i64().unwrap(),
            1,
            "both parts"
        );
        envelope::check_log(&log);
        envelope::check_turns(&log, "main");
        // What the model was shown is made again, byte for byte, and has no section for what was taken back.
        let call = with(&log, &["call:decision"]).last().unwrap()["event_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let view = app.get(&format!("/prompt-views/{call}")).await.expect(200);
        assert_eq!(view["exact"], true, "{view}");
        let sections = view["sections"].as_array().unwrap();
        assert!(
            sections
                .iter()
                .all(|section| section["seq"] != taken_back["input"]),
            "{view}"
        );
        // What is derived from the log says the same once more.
        app.stop().await;
        let (code, words) = app::ran(
            &app.folder(),
            &[("DATABASE_URL", app.database())],
            &["rebuild", "--check"],
        )
        .await;
        assert_eq!(code, Some(0), "{words}");
    }
);

/// The words of the chat, as a page that is loaded anew shows it.
async fn chat(app: &App) -> Vec<String> {
    let all = app.get("/messages").await.expect(200);
    let words = |it: &Value| it["chat"][0].as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(words).collect()
}

on_both!(
    a_thread_whose_whole_mailbox_is_taken_back_sleeps_and_who_waited_is_told,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(decision, reply("First.").held(&gate));
        let app = Setup::new(medium, &stub).start().await;
        wait_with(&app, "one", None).await;
        stub.request(decision).await;
        let id = fresh().to_string();
        let two = json!({ "text": "two", "event_id": id });
        let waits = app.post("/threads/main/messages?wait=30", two);
        let takes = async {
            within("the input in the mailbox", async {
                while queued(&app).await != 1 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            back(&app, &id).await.expect(204);
            gate.open();
        };
        let (waited, ()) = tokio::join!(waits, takes);
        let waited = waited.expect(200);
        assert_eq!(
            (&waited["outcome"], &waited["responses"]),
            (&json!("withdrawn"), &json!([])),
            "{waited}"
        );
        let thread = app.get("/threads/main").await.expect(200);
        assert_eq!(
            (&thread["status"], &thread["queued"]),
            (&json!("idle"), &json!(0)),
            "{thread}"
        );
        assert_eq!(stub.count(decision), 1, "nobody asks a model about nothing");
        // It is awake for what comes next.
        assert_eq!(said(&app.tell("three").await[0]), "First.");
    }
);

on_both!(
    members_take_back_what_they_said_and_operators_what_anybody_said,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(decision, reply("First.").held(&gate));
        let key = |name: &str, role: &str| {
            format!(
                "[[keys]]\nkey = \"the-key-of-{name}\"\nspace = \"default\"\nrole = \"{role}\"\n"
            )
        };
        let keys = [
            key("members", "member"),
            key("operators", "operator"),
            key("viewers", "viewer"),
        ]
        .concat();
        let mut app = Setup::new(medium, &stub)
            .file("thinkd.toml", &keys)
            .start_bare()
            .await;
        app.authorize("ann:the-key-of-members");
        wait_with(&app, "one", None).await;
        stub.request(decision).await;
        let [of_ann, of_ann_too] = [
            wait_with(&app, "two", None).await,
            wait_with(&app, "three", None).await,
        ];
        for other in [
            "ben:the-key-of-members",
            "Bearer the-key-of-members",
            "ann:the-key-of-viewers",
        ] {
            app.authorize(other);
            back(&app, &of_ann).await.expect_problem(403, "forbidden");
        }
        app.authorize("ann:the-key-of-members");
        back(&app, &of_ann).await.expect(204);
        app.authorize("ben:the-key-of-operators");
        back(&app, &of_ann_too).await.expect(204);
        let log = app.log().await;
        let users: Vec<&Value> = with(&log, &["withdrawn"])
            .iter()
            .map(|event| &event["payload"]["user"])
            .collect();
        assert_eq!(users, ["ann", "ben"]);
        gate.open();
    }
);

// Where the turn runs elsewhere and nothing of it is in the log, who takes back is first; once its beginning is there, the turn is.
#[tokio::test]
async fn of_a_turn_at_another_server_and_who_takes_back_the_first_in_the_log_wins_postgres() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let gate = Gate::new();
    let later = Gate::new();
    stub.script(voice("a"), [text("in vain").held(&gate), text("in time")]);
    stub.on(at("main"), reply("Said.").held(&later));
    let a = Setup::new(medium, &stub).voices(&["a"]).start().await;
    let b = a.beside().await;
    let first = wait_with(&a, "one", None).await;
    stub.request(voice("a")).await;
    back(&a, &first).await.expect_problem(409, "input-taken");
    back(&b, &first).await.expect(204);
    gate.open();
    let asleep = async {
        while b.get("/threads/main").await.expect(200)["status"] != "idle" {
            tokio::task::yield_now().await;
        }
    };
    within("the thread at rest", asleep).await;
    let log = b.log().await;
    assert_eq!(with(&log, &["submodule:a"]).len(), 0, "{}", story(&log));
    envelope::check_turns(&log, "main");

    let mut socket = b.socket().await;
    let second = wait_with(&a, "two", None).await;
    stub.request(at("main")).await;
    back(&b, &second).await.expect_problem(409, "input-taken");
    later.open();
    socket.turn_ended().await;
    let log = b.log().await;
    assert_eq!(with(&log, &["response"]).len(), 1, "{}", story(&log));
    envelope::check_turns(&log, "main");
}

/// Two servers, and a turn at the first without anything in the log yet. Inputs said behind an
/// input that is taken back at the second are answered.
#[tokio::test]
async fn what_was_said_behind_an_input_that_was_taken_back_is_answered_postgres() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(at("main"), [reply("To one.").held(&gate), reply("To two.")]);
    let a = Setup::new(medium, &stub).voices(&[]).start().await;
    let b = a.beside().await;
    let mut socket = b.socket().await;
    let first = wait_with(&a, "one", None).await;
    stub.request(at("main")).await;
    wait_with(&a, "two", None).await;
    back(&b, &first).await.expect(204);
    gate.open();
    socket.turn_ended().await;
    let log = b.log().await;
    let said: Vec<&Value> = with(&log, &["response"])
        .iter()
        .map(|it| &it["payload"]["text"])
        .collect();
    assert_eq!(said, ["To two."], "{}", story(&log));
    assert!(with(&log, &["failure"]).is_empty(), "{}", story(&log));
    envelope::check_turns(&log, "main");
}

/// Begins a turn and takes back its input at the same time; returns the outcome of each. Each is
/// asked for first every other time.
async fn race(
    store: &Arc<dyn Store>,
    round: usize,
    requires: bool,
) -> (ThreadId, Seq, [Result<Appended, StoreError>; 2]) {
    let space = Space::default();
    let thread = ThreadId::parse(&format!("t{round}")).unwrap();
    let said = Draft::input(
        &thread,
        InputKind::Message,
        vec![Part::Text("hm".into())],
        None,
        fresh(),
    );
    let Ok(Appended::Stored(placed)) = store.append(Append::free(&space, said)).await else {
        panic!("not said")
    };
    let seq = placed[0].shown.event.seq;
    let begins = Draft::turn_started(&thread, 1, &[seq], &[]);
    let back = Fact::Withdrawn(Withdrawn {
        from: seq,
        input: seq,
        user: None,
        turns: None,
    })
    .encode(&thread);
    let mut drafts = [begins, back];
    if round % 2 == 1 {
        drafts.reverse();
    }
    let [one, other] = drafts.map(|draft| {
        let draft = if requires {
            draft.only_if(Condition::Wait(vec![seq]))
        } else {
            draft
        };
        let store = store.clone();
        let space = space.clone();
        tokio::spawn(async move { store.append(Append::free(&space, vec![draft])).await })
    });
    (thread, seq, [one.await.unwrap(), other.await.unwrap()])
}

// The two appends themselves, at once, many times: exactly one of both is stored. Either can be.
on_both!(
    of_a_turn_and_who_takes_back_exactly_one_is_stored,
    |medium| {
        let store = stored::open(&medium).await;
        let count = |outcomes: &[Result<Appended, StoreError>]| {
            let stored = outcomes
                .iter()
                .filter(|it| matches!(it, Ok(Appended::Stored(_))))
                .count();
            let refused = outcomes
                .iter()
                .filter(|it| matches!(it, Err(StoreError::Unmet(Condition::Wait(_)))))
                .count();
            (stored, refused)
        };
        let mut begun = 0;
        for round in 0..200 {
            let (thread, seq, outcomes) = race(&store, round, true).await;
            assert_eq!(count(&outcomes), (1, 1), "{outcomes:?}");
            let row = store
                .thread(&Space::default(), &thread)
                .await
                .unwrap()
                .unwrap();
            begun += usize::from(row.state.taken == seq);
        }
        assert!((1..200).contains(&begun), "{begun} of 200 began");
        // Control: what keeps them apart is what they require.
        assert_eq!(count(&race(&store, 200, false).await.2), (2, 0));
        store.close().await;
    }
);

/// Says something, waits for its turn, and returns its id.
async fn told(app: &App, text: &str) -> String {
    let id = fresh().to_string();
    let said = json!({ "text": text, "event_id": id });
    app.post("/threads/main/messages?wait=15", said)
        .await
        .expect(200);
    id
}

on_both!(
    an_input_is_taken_back_with_its_turn_until_the_next_one_begins,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [reply("Hello."), reply("Your password is swordfish.")],
        );
        let mut app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        stub.on(
            |request| request.is_comment() && request.says("swordfish"),
            text("They said swordfish."),
        );
        let mut socket = app.socket().await;
        told(&app, "hello").await;
        let secret = told(&app, "the password is swordfish").await;
        // Its voice hears the decision beside, and is hidden, too.
        for _ in 0..2 {
            back(&app, &secret).await.expect(204);
        }
        let event = socket
            .event("the withdrawal", |event| has(event, "withdrawn"))
            .await;
        assert_eq!(event["payload"]["turns"], json!([2, 2]), "{event}");
        assert_eq!(chat(&app).await, ["hello", "Hello."]);
        stub.clear();
        stub.script(
            decision,
            [
                call(
                    "query_events",
                    json!({ "latest": null, "since": null, "tags": null, "text": "swordfish" }),
                ),
                reply("Nothing."),
            ],
        );
        let third = told(&app, "have I told you something?").await;
        let asked = stub.all(decision);
        for request in &asked[asked.len() - 2..] {
            assert!(
                request.says("was taken back, with what came of it"),
                "{}",
                request.text()
            );
            // The call of the tool itself has the word.
            let entries = request.entries();
            let mut entries = entries
                .iter()
                .filter(|entry| entry.text.contains("swordfish"));
            assert!(
                entries
                    .all(|entry| entry.text.contains("query_events")
                        || entry.text.contains("\"text\"")),
                "{}",
                request.text()
            );
            assert!(
                !request.says("password is swordfish") && !request.says("They said"),
                "{}",
                request.text()
            );
        }
        let log = app.log().await;
        assert!(
            with(&log, &["response"])
                .iter()
                .any(|it| said(it).contains("swordfish")),
            "the log keeps it"
        );
        envelope::check_log(&log);
        envelope::check_turns(&log, "main");
        for call in with(&log, &["call:decision"]) {
            let id = call["event_id"].as_str().unwrap();
            let view = app.get(&format!("/prompt-views/{id}")).await.expect(200);
            assert_eq!(view["exact"], true, "{view}");
        }
        // A later turn has begun.
        told(&app, "well").await;
        back(&app, &third).await.expect_problem(409, "input-taken");
        app.stop().await;
        let database = [("DATABASE_URL", app.database())];
        let (code, words) = app::ran(&app.folder(), &database, &["rebuild", "--check"]).await;
        assert_eq!(code, Some(0), "{words}");
    }
);

on_both!(an_input_whose_turn_did_something_outside_stays, |medium| {
    let server = ToolServer::start(vec![tool("say", "Say it.")]).await;
    server.does("say", Does::Answers(words("hello\n")));
    let stub = Stub::start().await;
    stub.script(
        decision,
        [
            call("mcp__it__say", json!({ "text": "hello" })),
            reply("It said hello."),
        ],
    );
    let settings = format!("[tools.mcp.it]\nurl = \"{}\"\n", server.url());
    let app = Setup::new(medium, &stub)
        .file("thinkd.toml", &settings)
        .start()
        .await;
    let id = told(&app, "greet").await;
    let problem = back(&app, &id).await;
    let words = problem.text.clone();
    problem.expect_problem(409, "input-taken");
    assert!(words.contains("mcp__it__say has run"), "{words}");
    assert!(with(&app.log().await, &["withdrawn"]).is_empty());
});

// The model invents a tool: nothing has run.
on_both!(
    an_input_whose_turn_called_no_tool_that_is_there_is_taken_back,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).start().await;
        stub.script(decision, [call("pay", json!({})), reply("I cannot.")]);
        let id = told(&app, "pay").await;
        let log = app.public_log().await;
        assert_eq!(
            with(&log, &["result", "failure"]).len(),
            1,
            "{}",
            story(&log)
        );
        back(&app, &id).await.expect(204);
    }
);

// One was taken back while it waited, the other with its turn.
#[tokio::test]
async fn inputs_that_were_taken_back_either_way_are_in_no_prompt() {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(decision, [reply("To one.").held(&gate)]);
    let app = App::start(Medium::sqlite(), &stub).await;
    let mut socket = app.socket().await;
    let first = wait_with(&app, "one", None).await;
    stub.request(decision).await;
    back(&app, &first).await.expect_problem(409, "input-taken");
    let second = wait_with(&app, "two", None).await;
    back(&app, &second).await.expect(204);
    gate.open();
    socket.turn_ended().await;
    let over = back(&app, &first).await;
    assert_eq!(over.status, 204, "{}", story(&app.log().await));
    assert_eq!(said(&app.tell("three").await[0]), "ok: three");
    let asked = stub.all(decision).pop().unwrap();
    let shown: Vec<String> = asked
        .entries()
        .into_iter()
        .map(|entry| entry.text)
        .collect();
    assert!(shown.contains(&"three".to_owned()), "{shown:?}");
    assert!(
        !shown
            .iter()
            .any(|text| text.contains("To one") || text == "one" || text == "two"),
        "{shown:?}"
    );
}

// A timer would wake the thread, and a plan stand in its prompts, as if nothing had been taken back.
on_both!(
    an_input_whose_turn_left_something_that_goes_on_stays,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).start().await;
        let kept = [
            (
                call(
                    "set_timer",
                    json!({ "after_s": 3600.0, "note": "swordfish" }),
                ),
                "set a timer",
            ),
            (
                call(
                    "plan",
                    json!({ "condition": "always", "steps": [{ "text": "swordfish", "done": false }] }),
                ),
                "made a plan",
            ),
        ];
        for (act, words) in kept {
            stub.clear();
            stub.script(decision, [act, reply("Done.")]);
            let id = told(&app, "later").await;
            let log = app.public_log().await;
            assert!(
                with(&log, &["result", "failure"]).is_empty(),
                "{}",
                story(&log)
            );
            let problem = back(&app, &id).await;
            assert!(problem.text.contains(words), "{}", problem.text);
            problem.expect_problem(409, "input-taken");
        }
    }
);

// What a turn wrote down, for later turns of any thread, goes with it. People read it as before.
on_both!(
    notes_of_a_turn_that_was_taken_back_are_in_no_prompt,
    |medium| {
        let stub = Stub::start().await;
        let note = |key: &str, content: &str| {
            call(
                "state_put",
                json!({ "key": key, "content": content, "related_keys": [] }),
            )
        };
        stub.script(
            decision,
            [
                note("lamp", "the lamp is in the attic"),
                reply("Noted."),
                note("password", "the password is swordfish"),
                reply("Noted, too."),
            ],
        );
        let app = Setup::new(medium, &stub).start().await;
        told(&app, "the lamp is in the attic").await;
        let secret = told(&app, "my password is swordfish").await;
        back(&app, &secret).await.expect(204);
        stub.clear();
        let recalled = json!({ "query": "the password and the lamp", "limit": 5, "in": ["notes"] });
        stub.script(
            decision,
            [
                call(
                    "state_search",
                    json!({ "query": "password lamp", "limit": 5 }),
                ),
                call("state_get", json!({ "key": "password" })),
                call("state_get", json!({ "key": "lamp" })),
                call("recall", recalled),
                reply("Nothing."),
            ],
        );
        told(&app, "what have you noted?").await;
        let log = app.public_log().await;
        let results: Vec<String> = with(&log, &["result"])
            .into_iter()
            .filter(|result| result["payload"]["turn"] == 3)
            .map(|result| result["payload"]["output"].to_string())
            .collect();
        assert_eq!(results.len(), 5, "{}", story(&log));
        assert!(
            results.iter().all(|it| !it.contains("swordfish")),
            "{results:?}"
        );
        for found in [&results[0], &results[2], &results[3]] {
            assert!(found.contains("in the attic"), "{results:?}");
        }
        assert!(results[1].contains("false"), "{results:?}");
        let note = app.get("/state/password").await.expect(200);
        assert_eq!(note["content"], "the password is swordfish");
    }
);
