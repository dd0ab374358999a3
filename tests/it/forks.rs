//! Forks: a thread with the past of another up to the end of a turn, by reference. People edit a
//! message, ask again for an answer, and go on from any point, as with branches of a chat.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};
use thinkd_words::id::fresh;

use kit::*;

mod failures;
mod left;
mod views;

/// The outcome of a fork.
struct Forked {
    thread: String,
    from: String,
    at: i64,
}

async fn fork(app: &App, thread: &str, body: Value) -> Forked {
    let path = format!("/threads/{thread}/fork");
    let made = app.post(&path, body).await.expect(201);
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    Forked {
        thread: text("thread"),
        from: text("from"),
        at: made["at"].as_i64().unwrap(),
    }
}

/// The words of a thread's chat, as a page that is loaded anew shows it.
async fn chat(app: &App, thread: &str) -> Vec<String> {
    let path = format!("/messages?thread={thread}&n=500");
    let all = app.get(&path).await.expect(200);
    let words = |it: &Value| it["chat"][0].as_str().unwrap().to_owned();
    all.as_array().unwrap().iter().map(words).collect()
}

/// The events of a thread, in order.
async fn events(app: &App, thread: &str) -> Vec<Value> {
    app.pages(&format!("/events?thread={thread}&order=asc&"))
        .await
}

/// The seqs of the ends of a thread's turns.
async fn ends(app: &App, thread: &str) -> Vec<i64> {
    let ended = |event: &&Value| has(event, "turn") && has(event, "ended");
    let events = events(app, thread).await;
    events.iter().filter(ended).map(seq).collect()
}

/// The message with these words.
async fn message(app: &App, thread: &str, words: &str) -> Value {
    let events = events(app, thread).await;
    let says = |event: &&Value| has(event, "input") && event["payload"]["text"] == words;
    events.iter().find(says).unwrap().clone()
}

/// A process waits for anybody.
fn asleep() -> Answer {
    call("wait", json!({ "from": null, "timeout_s": null }))
}

/// A server with three turns in `main`; its decision repeats the last message.
async fn spoken(medium: Medium) -> (Stub, App) {
    spoken_until(medium, &Gate::new()).await
}

/// The same; the answer to "four" waits for the gate.
async fn spoken_until(medium: Medium, gate: &Gate) -> (Stub, App) {
    let stub = Stub::start().await;
    let gate = gate.clone();
    stub.on_each(decision, move |request| {
        let answer = reply(&format!("ok: {}", request.last_user()));
        match request.last_user().as_str() {
            "four" => answer.held(&gate),
            _ => answer,
        }
    });
    let app = App::start(medium, &stub).await;
    for words in ["one", "two", "three"] {
        app.tell(words).await;
    }
    (stub, app)
}

on_both!(
    a_fork_has_the_past_up_to_the_end_of_a_turn_and_goes_on_for_itself,
    |medium| {
        let gate = Gate::new();
        gate.open();
        let (stub, mut app) = spoken_until(medium, &gate).await;
        let before = app.log().await;
        let second = ends(&app, "main").await[1];
        let made = fork(&app, "main", json!({ "at": second })).await;
        assert_eq!((made.from.as_str(), made.at), ("main", second));
        let copied: Vec<Value> = app.log().await.split_off(before.len());
        assert_eq!(copied.len(), 1, "one event makes it: {}", story(&copied));

        // The past is the same events, and its own are added.
        let past: Vec<Value> = events(&app, "main").await;
        let past: Vec<&Value> = past.iter().filter(|it| seq(it) <= second).collect();
        let whole = events(&app, &made.thread).await;
        assert_eq!(whole[..past.len()].iter().collect::<Vec<_>>(), past);
        assert_eq!(whole.len(), past.len() + 1);
        let told = ["one", "ok: one", "two", "ok: two"];
        assert_eq!(chat(&app, &made.thread).await, told);

        app.tell_in(&made.thread, "another three").await;
        app.tell("four").await;
        let asked = stub.nth(3, decision).await;
        assert!(asked.says("two") && asked.says("another three"));
        assert!(!asked.says("ok: three"), "{}", asked.text());
        let asked = stub.nth(4, decision).await;
        assert!(asked.says("ok: three") && !asked.says("another three"));
        let branch = [&told[..], &["another three", "ok: another three"]].concat();
        assert_eq!(chat(&app, &made.thread).await, branch);
        let main = ["three", "ok: three", "four", "ok: four"];
        assert_eq!(chat(&app, "main").await[4..], main);

        // Both say how they belong together; the counters of the fork are its own.
        let child = app
            .get(&format!("/threads/{}", made.thread))
            .await
            .expect(200);
        let place = json!({ "thread": "main", "at": second });
        assert_eq!(child["forked_from"], place, "{child}");
        assert_eq!(child["budget"]["model_calls"], 1, "{child}");
        let parent = app.get("/threads/main").await.expect(200);
        let branch_of = json!([{ "thread": made.thread, "at": second }]);
        assert_eq!(parent["forks"], branch_of, "{parent}");
        let forks = app.get("/threads?forked_from=main").await.expect(200);
        assert_eq!(forks["items"].as_array().unwrap().len(), 1);
        assert_eq!(forks["items"][0]["id"], made.thread.as_str());

        // The search and the views read it as one thread.
        let found = app
            .get(&format!("/events?thread={}&q=three", made.thread))
            .await
            .expect(200);
        let found = found["items"].as_array().unwrap();
        assert!(!found.is_empty() && found.iter().all(|it| it["thread"] == made.thread.as_str()));
        for call in with(&app.log().await, &["call:decision"]) {
            let id = call["event_id"].as_str().unwrap();
            let view = app.get(&format!("/prompt-views/{id}")).await.expect(200);
            assert_eq!(view["exact"], true, "{view}");
        }
        let turns = app
            .get(&format!("/threads/{}/turns", made.thread))
            .await
            .expect(200);
        assert_eq!(turns["items"].as_array().unwrap().len(), 3, "{turns}");
        envelope::check_log(&app.log().await);

        // The same after a restart, and from the log alone.
        app.restart().await;
        assert_eq!(chat(&app, &made.thread).await, branch);
        app.stop().await;
        let env = [("DATABASE_URL", app.database())];
        let (code, words) = app::ran(&app.folder(), &env, &["rebuild", "--check"]).await;
        assert_eq!(code, Some(0), "{words}");
        let (code, words) = app::ran(&app.folder(), &env, &["rebuild"]).await;
        assert_eq!(code, Some(0), "{words}");
        app.start_again().await;
        assert_eq!(chat(&app, &made.thread).await, branch);
    }
);

on_both!(
    a_prompt_of_a_fork_is_the_one_that_its_parent_would_have_sent,
    |medium| {
        let (stub, app) = spoken(medium).await;
        let last = *ends(&app, "main").await.last().unwrap();
        let made = fork(&app, "main", json!({})).await;
        assert_eq!(made.at, last);
        app.tell("the same").await;
        app.tell_in(&made.thread, "the same").await;
        let of_parent = stub.nth(3, decision).await;
        let of_fork = stub.nth(4, decision).await;
        // All but the place and the time of the new input is the same, byte for byte.
        let parts = |request: &Request| {
            let text = request.prompt_bytes();
            let last = *request.seqs().last().unwrap();
            let (before, input) = text.split_once(&format!("#{last} [")).unwrap();
            let (_, behind) = input.split_once("] ").unwrap();
            let behind = behind.replace(&format!("#{last}"), "#n");
            (before.to_owned(), behind)
        };
        let ((before, behind), (of_fork, behind_fork)) = (parts(&of_parent), parts(&of_fork));
        assert_eq!(before, of_fork);
        assert_eq!(behind, behind_fork.replace(&made.thread, "main"));
    }
);

on_both!(
    a_message_is_edited_and_its_answer_asked_for_again,
    |medium| {
        let gate = Gate::new();
        let (stub, app) = spoken_until(medium, &gate).await;
        let two = message(&app, "main", "two").await;
        // As the seq says: before the message.
        let at = json!({ "at": seq(&two) - 1, "message": { "text": "two, edited" } });
        let edited = fork(&app, "main", at).await;
        app.until("the answer in the fork", async || {
            chat(&app, &edited.thread).await.len() >= 4
        })
        .await;
        let told = ["one", "ok: one", "two, edited", "ok: two, edited"];
        assert_eq!(chat(&app, &edited.thread).await, told);
        // As its id says: in the place of the message. Its turn had it together with another one.
        app.say_in("main", "four").await;
        stub.nth(4, decision).await;
        let five = fresh().to_string();
        let six = fresh().to_string();
        for (id, words) in [(&five, "five"), (&six, "six")] {
            let said = json!({ "text": words, "event_id": id });
            app.post("/threads/main/messages", said).await.expect(202);
        }
        gate.open();
        stub.nth(5, decision).await;
        app.until("the end of the turn", async || {
            ends(&app, "main").await.len() >= 5
        })
        .await;
        let again = json!({ "instead_of": six, "message": { "text": "six, edited" } });
        let again = fork(&app, "main", again).await;
        let asked = stub.nth(6, decision).await;
        assert_eq!(asked.last_user(), "six, edited");
        let says = ["five", "ok: four", "ok: six"].map(|it| asked.says(it));
        assert_eq!(says, [true, true, false], "{}", asked.text());
        assert!(
            !asked.entries().iter().any(|it| it.text == "six"),
            "{}",
            asked.text()
        );
        assert_eq!(again.at, ends(&app, "main").await[3]);
        // Edited once more, in the branch: what was replaced first does not come back.
        let events = events(&app, &again.thread).await;
        let edited_six = events.iter().rfind(|it| has(it, "input")).unwrap();
        let more =
            json!({ "instead_of": edited_six["event_id"], "message": { "text": "six, anew" } });
        let more = fork(&app, &again.thread, more).await;
        let asked = stub.nth(7, decision).await;
        assert_eq!(
            (more.at, asked.last_user().as_str()),
            (again.at, "six, anew")
        );
        let inputs = asked.entries().into_iter().filter(|it| it.who == "user");
        let inputs: Vec<String> = inputs.map(|it| it.text).collect();
        let told = ["one", "two", "three", "four", "five", "six, anew"];
        assert_eq!(inputs, told, "{}", asked.text());
        let twice = json!({ "instead_of": two["event_id"], "message": { "text": "two" } });
        let twice = fork(&app, "main", twice).await;
        let asked = stub.nth(8, decision).await;
        assert_eq!(asked.last_user(), "two");
        assert!(!asked.says("ok: two"), "{}", asked.text());
        assert_eq!(twice.at, edited.at);
    }
);

on_both!(
    positions_that_are_no_end_of_a_turn_become_the_last_one_before_or_are_refused,
    |medium| {
        let (_stub, app) = spoken(medium).await;
        app.tell_in("aside", "elsewhere").await;
        let of_main = events(&app, "main").await;
        let of_aside = events(&app, "aside").await;
        let ends = ends(&app, "main").await;
        let last = |at: i64| ends.iter().rev().copied().find(|end| *end <= at);
        for event in &of_main {
            let at = seq(event);
            let made = fork(&app, "main", json!({ "at": at })).await;
            assert_eq!(made.at, last(at).unwrap_or(0), "at {at}");
        }
        let empty = fork(&app, "main", json!({ "at": 0 })).await;
        assert_eq!((empty.at, empty.from.as_str()), (0, "main"));
        assert_eq!(chat(&app, &empty.thread).await, Vec::<String>::new());
        let before = seq(&of_aside[0]) - 1;
        let nothing = fork(&app, "aside", json!({ "at": before })).await;
        assert_eq!(nothing.at, 0);
        let refused = async |thread: &str, body: Value, status: u16, slug: &str| {
            let path = format!("/threads/{thread}/fork");
            app.post(&path, body).await.expect_problem(status, slug);
        };
        refused("main", json!({ "at": 1_000_000 }), 409, "cursor-ahead").await;
        refused(
            "main",
            json!({ "at": seq(&of_aside[0]) }),
            400,
            "invalid-cursor",
        )
        .await;
        refused("main", json!({ "at": -1 }), 400, "invalid-frame").await;
        refused("main", json!({ "at": "1" }), 400, "invalid-frame").await;
        let both = json!({ "at": 1, "instead_of": fresh() });
        refused("main", both, 400, "invalid-frame").await;
        refused("main", json!({ "more": 1 }), 400, "unknown-member").await;
        refused("nobody", json!({}), 404, "not-found").await;
        refused("main", json!({ "thread": "Main!" }), 400, "invalid-id").await;
        refused(
            "main",
            json!({ "thread": "a".repeat(300) }),
            400,
            "invalid-id",
        )
        .await;
        refused("main", json!({ "thread": "main" }), 422, "unprocessable").await;
        refused("main", json!({ "thread": "nobody.x" }), 404, "not-found").await;
        refused("main", json!({ "thread": "runs.x" }), 422, "unprocessable").await;
        refused("main", json!({ "message": {} }), 400, "empty-input").await;
        refused(
            "main",
            json!({ "message": { "text": "  " } }),
            400,
            "empty-input",
        )
        .await;
        let elsewhere = json!({ "message": { "text": "x", "thread": "aside" } });
        refused("main", elsewhere, 400, "invalid-frame").await;
        let other = json!({ "instead_of": of_aside[0]["event_id"] });
        refused("main", other, 404, "not-found").await;
        refused("main", json!({ "instead_of": "x" }), 400, "invalid-id").await;
        let below = fork(&app, "main", json!({ "thread": "main.below" })).await;
        assert_eq!(below.thread, "main.below");
        app.post("/threads/aside/end", json!({})).await.expect(200);
        refused("aside", json!({}), 409, "thread-ended").await;
    }
);

on_both!(
    forks_of_forks_are_as_deep_as_one_likes_up_to_64_ranges,
    |medium| {
        let (_stub, app) = spoken(medium).await;
        let mut thread = "main".to_owned();
        let mut told = chat(&app, "main").await;
        for depth in 1..=64 {
            let made = fork(&app, &thread, json!({})).await;
            assert_eq!(made.from, thread);
            thread = made.thread;
            let words = format!("at {depth}");
            app.tell_in(&thread, &words).await;
            told.extend([words.clone(), format!("ok: {words}")]);
        }
        assert_eq!(chat(&app, &thread).await, told);
        let path = format!("/threads/{thread}/fork");
        let refused = app.post(&path, json!({})).await;
        let refused = refused.expect_problem(422, "unprocessable");
        assert!(
            refused["detail"].as_str().unwrap().contains("at most 64"),
            "{refused}"
        );
        // A fork where nothing was said since is one of the thread that it came from.
        let first = ends(&app, "main").await[0];
        let early = fork(&app, &thread, json!({ "at": first })).await;
        assert_eq!((early.from.as_str(), early.at), ("main", first));
        assert_eq!(chat(&app, &early.thread).await, ["one", "ok: one"]);
    }
);

on_both!(
    a_fork_of_a_process_has_its_contacts_plan_and_tools_and_leaves_the_rest_behind,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        app.process("friend", json!({})).await;
        let settings = json!({ "title": "Errands", "prompt": "Run errands." });
        app.process("errands", settings).await;
        let contact = json!({ "name": "pal", "thread": "friend", "description": "Knows prices." });
        let steps = json!([{ "text": "look", "done": false }]);
        let steps = json!({ "condition": "all is bought", "steps": steps });
        let open = json!({ "names": ["connect", "plan", "set_timer", "watch"] });
        stub.script(
            at("errands"),
            [
                call("more_tools", open),
                call("connect", contact)
                    .and("plan", steps)
                    .and("set_timer", json!({ "after_s": 3600, "note": "later" })),
                asleep(),
            ],
        );
        let gate = Gate::new();
        stub.on(at("errands"), asleep().held(&gate));
        app.tell_in("errands", "begin").await;
        // Its turn runs: nothing of it comes along.
        app.say_in("errands", "and eggs").await;
        stub.nth(3, at("errands")).await;
        let last = ends(&app, "errands").await.pop();
        let made = fork(&app, "errands", json!({ "thread": "again" })).await;
        gate.open();
        assert_eq!(Some(made.at), last);
        let child = app.get("/threads/again").await.expect(200);
        for (member, value) in [
            ("kind", json!("process")),
            ("title", json!("Errands")),
            ("status", json!("idle")),
            ("queued", json!(0)),
            ("timers", json!([])),
        ] {
            assert_eq!(child[member], value, "{member} of {child}");
        }
        let parent = app.get("/threads/errands").await.expect(200);
        assert_eq!(child["contacts"], parent["contacts"]);
        assert_eq!(child["contacts"].as_array().unwrap().len(), 1, "{child}");
        assert_eq!(child["plan"], parent["plan"]);
        assert!(
            !child["plan"].is_null() && parent["timers"] != json!([]),
            "{parent}"
        );
        // Its decision is offered the opened tools, and can write to the contact.
        stub.script(
            at("again"),
            [call(
                "send",
                json!({ "to": "pal", "text": "What is bread?" }),
            )],
        );
        stub.on(at("friend"), asleep());
        app.say_in("again", "go on").await;
        let asked = stub.nth(0, at("again")).await;
        assert!(
            asked.tools().contains(&"set_timer".to_owned()),
            "{:?}",
            asked.tools()
        );
        assert!(asked.says("Run errands.") && asked.says("begin") && !asked.says("eggs"));
        let left = "left with the other thread, and not yours any more: timers";
        assert!(asked.says(left), "{}", asked.text());
        let heard = stub.nth(0, at("friend")).await;
        assert!(heard.says("What is bread?"));
        envelope::check_log(&app.log().await);
    }
);

on_both!(a_thread_forks_itself_by_a_tool, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    app.process("errands", json!({ "prompt": "Run errands." }))
        .await;
    let fork = json!({ "label": "other-way", "payload": "Try the other way." });
    stub.script(
        at("errands"),
        [
            asleep(),
            call("more_tools", json!({ "names": ["fork_thread"] })),
            call("fork_thread", fork),
            asleep(),
        ],
    );
    stub.on(at("errands.other-way"), asleep());
    app.tell_in("errands", "begin").await;
    app.tell_in("errands", "and now both ways").await;
    let asked = stub.nth(0, at("errands.other-way")).await;
    assert!(asked.says("begin") && asked.says("Try the other way."));
    assert!(!asked.says("both ways"), "{}", asked.text());
    let child = app.get("/threads/errands.other-way").await.expect(200);
    assert_eq!(child["forked_from"]["thread"], "errands");
    assert_eq!(child["parent"], "errands");
    let parent = app.get("/threads/errands").await.expect(200);
    assert_eq!(parent["contacts"][0]["name"], "other-way", "{parent}");
    assert_eq!(parent["budget"]["subthreads"], 1, "{parent}");
});

on_both!(
    a_socket_forks_a_thread_and_follows_the_fork_as_one_thread,
    |medium| {
        let (_stub, app) = spoken(medium).await;
        let two = message(&app, "main", "two").await;
        let mut socket = app.socket().await;
        let frame = json!({
            "type": "fork", "of": "main", "thread": "branch", "instead_of": two["event_id"],
            "message": { "text": "two, edited" },
        });
        let forked = socket.ask(frame).await;
        assert_eq!(
            (&forked["type"], &forked["thread"]),
            (&json!("forked"), &json!("branch"))
        );
        assert_eq!(forked["from"], "main", "{forked}");
        let followed = socket.follow(0, json!({ "thread": "branch" })).await;
        // A quick turn is over before the replay is.
        let is_reply = |event: &Value| has(event, "response") && said(event) == "ok: two, edited";
        if !followed.iter().any(is_reply) {
            assert!(is_reply(&socket.response().await));
        }
        let seqs: Vec<i64> = followed.iter().map(seq).collect();
        assert!(
            seqs.is_sorted() && followed.len() > 3,
            "{}",
            story(&followed)
        );
        let all = events(&app, "branch").await;
        assert_eq!(followed[..], all[..followed.len()]);
        let other = json!({ "type": "fork", "of": "nobody" });
        assert_eq!(socket.ask(other).await["type"], "problem");
        let wrong = json!({ "type": "fork", "at": -1 });
        let wrong = socket.ask(wrong).await;
        assert_eq!(wrong["problem"]["errors"][0]["pointer"], "/at", "{wrong}");
    }
);

on_both!(
    a_hundred_forks_of_one_point_at_once_are_a_hundred_threads,
    |medium| {
        let (stub, app) = spoken(medium).await;
        stub.on_each(decision, |request| reply(&request.last_user()));
        let all = (0..100).map(|number| {
            let message = json!({ "text": format!("way {number}") });
            fork(&app, "main", json!({ "message": message }))
        });
        let all = futures_util::future::join_all(all).await;
        let ids: std::collections::BTreeSet<&str> =
            all.iter().map(|it| it.thread.as_str()).collect();
        assert_eq!(ids.len(), 100);
        assert!(all.iter().all(|it| it.at == all[0].at));
        for (number, made) in all.iter().enumerate().step_by(9) {
            app.until("the answer", async || {
                chat(&app, &made.thread).await.len() >= 8
            })
            .await;
            let told = chat(&app, &made.thread).await;
            assert_eq!(told[6], format!("way {number}"));
        }
        // The answer was lost, and the client asks again.
        let key = fresh().to_string();
        for wish in [json!({ "thread": "sure" }), json!({}), json!({ "at": 1 })] {
            // The place has moved on meanwhile.
            app.tell("more").await;
            let mut wish = wish;
            wish["message"] = json!({ "text": "once", "event_id": key });
            let made = app.post("/threads/main/fork", wish).await.expect(201);
            assert_eq!(
                (&made["thread"], made["events"].as_array().unwrap().len()),
                (&json!("sure"), 1)
            );
        }
        let other = json!({ "message": { "text": "twice", "event_id": key } });
        let other = app.post("/threads/main/fork", other).await;
        other.expect_problem(409, "event-conflict");
        // Two that want one id: one has it.
        let wish = json!({ "thread": "only", "message": { "text": "mine" } });
        let both = [0, 1].map(|_| app.post("/threads/main/fork", wish.clone()));
        let both = futures_util::future::join_all(both).await;
        let mut statuses: Vec<u16> = both.iter().map(|it| it.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 422]);
    }
);

on_both!(
    a_fork_whose_server_dies_is_there_with_its_message_or_not_at_all,
    |medium| {
        let (_stub, mut app) = spoken(medium).await;
        for number in 0..4 {
            let id = format!("branch-{number}");
            let wish = json!({ "thread": id, "message": { "text": "go on" } });
            if number % 2 == 0 {
                app.post("/threads/main/fork", wish).await.expect(201);
            } else {
                app.post_raw("/threads/main/fork", wish).await;
            }
            app.kill();
            app.start_again().await;
            if app.get(&format!("/threads/{id}")).await.status == 404 {
                assert_eq!(number % 2, 1, "what was answered is stored");
                continue;
            }
            app.until("the answer", async || chat(&app, &id).await.len() >= 8)
                .await;
            assert_eq!(chat(&app, &id).await[6..], ["go on", "ok: go on"]);
        }
    }
);

on_both!(a_backup_has_forks, |medium| {
    let (_stub, app) = spoken(medium).await;
    let first = ends(&app, "main").await[0];
    fork(&app, "main", json!({ "at": first, "thread": "branch" })).await;
    app.tell_in("branch", "else").await;
    let told = chat(&app, "branch").await;
    assert_eq!(told, ["one", "ok: one", "else", "ok: else"]);
    let folder = app.folder();
    let env = [("DATABASE_URL", app.database())];
    let (code, words) = app::ran(&folder, &env, &["backup", "made"]).await;
    assert_eq!(code, Some(0), "{words}");
    let url = format!("sqlite://{}", folder.join("restored.db").display());
    let env = [("DATABASE_URL", url.as_str())];
    let made = folder.join("made").display().to_string();
    let (code, words) = app::ran(&folder, &env, &["restore", &made]).await;
    assert_eq!(code, Some(0), "{words}");
    let restored = Setup::offline(Medium::of(url)).start_bare().await;
    assert_eq!(chat(&restored, "branch").await, told);
    let branch = restored.get("/threads/branch").await.expect(200);
    assert_eq!(branch["forked_from"]["at"], first, "{branch}");
});

on_both!(
    an_input_of_the_past_is_taken_back_in_its_own_thread_alone,
    |medium| {
        let (stub, app) = spoken(medium).await;
        let three = message(&app, "main", "three").await["event_id"].clone();
        let three = three.as_str().unwrap();
        fork(&app, "main", json!({ "thread": "branch" })).await;
        app.delete(&format!("/threads/branch/inputs/{three}"))
            .await
            .expect_problem(404, "not-found");
        app.delete(&format!("/threads/main/inputs/{three}"))
            .await
            .expect(204);
        assert_eq!(chat(&app, "branch").await.len(), 6, "the fork is as it was");
        assert_eq!(chat(&app, "main").await.len(), 4);
        // In a fork that is made now it stays taken back, for people and for models.
        fork(&app, "main", json!({ "thread": "after" })).await;
        assert_eq!(chat(&app, "after").await.len(), 4);
        app.tell_in("after", "go on").await;
        let asked = stub.nth(3, decision).await;
        let says = ["ok: two", "ok: three"].map(|it| asked.says(it));
        assert_eq!(says, [true, false], "{}", asked.text());
        assert!(!asked.entries().iter().any(|it| it.text == "three"));
        fork(&app, "after", json!({ "thread": "later" })).await;
        assert_eq!(chat(&app, "later").await.len(), 6);
    }
);

#[tokio::test]
async fn the_terminal_forks_a_thread() {
    let (_stub, app) = spoken(Medium::sqlite()).await;
    let url = app.url("");
    let env = [("THINKD_URL", url.as_str())];
    let line = [
        "fork",
        "main",
        "--at",
        "0",
        "--as",
        "branch",
        "--",
        "-1 degrees",
    ];
    let (code, words) = app::ran(&app.folder(), &env, &line).await;
    assert_eq!(code, Some(0), "{words}");
    assert!(words.contains("branch: an empty past"), "{words}");
    app.until("the answer", async || chat(&app, "branch").await.len() >= 2)
        .await;
    let (code, words) = app::ran(&app.folder(), &env, &["fork", "nobody"]).await;
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains("there is no thread nobody"), "{words}");
}

on_both!(
    forks_are_named_in_the_order_in_which_they_were_made,
    |medium| {
        let gate = Gate::new();
        gate.open();
        let (_stub, app) = spoken_until(medium, &gate).await;
        let ids = ["z", "a", "m"];
        for id in ids {
            fork(&app, "main", json!({ "thread": id })).await;
        }
        let row = app.get("/threads/main").await.expect(200);
        let named = row["forks"].as_array().unwrap().iter();
        assert!(named.map(|it| it["thread"].as_str().unwrap()).eq(ids));
        // An error in the first message names its place in the body.
        for (message, place) in [
            (
                json!({ "images": [{ "data": "AAAA" }] }),
                "/message/images/0",
            ),
            (json!({ "text": 4 }), "/message/text"),
            (
                json!({ "text": "x", "event_id": "none" }),
                "/message/event_id",
            ),
        ] {
            let body = json!({ "message": message });
            let refused = app.post("/threads/main/fork", body).await;
            assert!(
                refused.status == 400 || refused.status == 415,
                "{}",
                refused.text
            );
            let pointer = refused.body["errors"][0]["pointer"].as_str().unwrap();
            assert_eq!(pointer, place, "{}", refused.text);
        }
    }
);
