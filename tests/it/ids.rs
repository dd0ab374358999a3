//! Ids that the server makes: no client can take one before it is used, with any knowledge of the
//! log. And rounds that serve all spaces: a failure in one of them costs the others nothing.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};
use uuid::Uuid;

use kit::*;

/// Two minds on one server.
const TENANTS: &str = "[[keys]]\nkey = \"key-of-mind-a-0123456789\"\nspace = \"a\"\nrole = \"operator\"\n\
                       [[keys]]\nkey = \"key-of-mind-b-0123456789\"\nspace = \"b\"\nrole = \"operator\"\n";

fn asleep() -> Answer {
    call("wait", json!({ "from": null, "timeout_s": null }))
}

fn timer(seconds: f64) -> Answer {
    call("set_timer", json!({ "after_s": seconds, "note": "tea" }))
        .and("wait", json!({ "from": null, "timeout_s": null }))
}

/// The id that anybody can make of public words.
fn made_of(words: &str) -> String {
    Uuid::new_v5(&Uuid::nil(), words.as_bytes()).to_string()
}

/// A client's message with an id of its choice, in a thread of its own.
fn taking(id: &str) -> Value {
    json!({ "type": "message", "thread": "elsewhere", "event_id": id, "text": "mine" })
}

/// Runs statements on the database of a running server.
async fn on_database(app: &App, sqlite: &[&str], postgres: &[&str]) {
    for text in if app.is_postgres() { postgres } else { sqlite } {
        stored::execute(app.database(), text).await;
    }
}

// The id of the event that fires a timer was once made of what everybody can read.
on_sqlite!(
    a_client_that_posts_the_id_of_a_coming_timer_stops_nobodys_timers,
    |medium| {
        let stub = Stub::start().await;
        stub.script(at("p"), [timer(1.5), asleep()]);
        stub.script(at("q"), [timer(1.5), asleep()]);
        stub.on(Request::is_decision, asleep());
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_BUDGET__TIMER_MS", 1)
            .start()
            .await;
        let mut socket = app.socket().await;
        for thread in ["p", "q"] {
            app.process(thread, json!({})).await;
            app.say_in(thread, "go").await;
        }
        let set = socket
            .event("the timer of p", |e| {
                e["thread"] == "p" && has(e, "timer-set")
            })
            .await;
        let id = set["payload"]["id"].as_str().unwrap();
        let due = set["payload"]["due"].as_str().unwrap();
        socket
            .ask(taking(&made_of(&format!("timer p {id} {due}"))))
            .await;
        for thread in ["p", "q"] {
            let fired = socket
                .event("the timer", |e| e["thread"] == thread && has(e, "timer"))
                .await;
            assert_eq!(fired["payload"]["content"], "tea", "{fired}");
            socket
                .event("the turn it leads to", |e| {
                    e["thread"] == thread && e["payload"]["turn"] == 2 && has(e, "ended")
                })
                .await;
        }
        let log = app.public_log().await;
        assert_eq!(
            with(&log, &["thread", "timer"]).len(),
            2,
            "each once: {}",
            story(&log)
        );
    }
);

// The same for the beginning of a subthread: whoever took its id suppressed the spawn, at the price of five decisions.
on_sqlite!(
    a_client_that_posts_the_id_of_a_coming_subthread_suppresses_no_spawn,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let spawn = call(
            "spawn_thread",
            json!({ "label": "research", "prompt": null, "payload": "begin" }),
        );
        stub.script(
            at("p"),
            [
                spawn,
                call("wait", json!({ "from": "research", "timeout_s": null })),
                asleep(),
            ],
        );
        stub.on(
            at("p.research"),
            call("terminate", json!({ "reason": "found it" })).held(&gate),
        );
        stub.on(Request::is_decision, asleep());
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        app.process("p", json!({})).await;
        let namespace = Uuid::new_v5(&Uuid::nil(), b"0");
        let taken = Uuid::new_v5(&namespace, b"thread default p.research").to_string();
        socket.ask(taking(&taken)).await;
        app.say_in("p", "go").await;
        // Not before its parent waits for it: a contact that has ended is none any more.
        socket
            .event("the wait", |e| {
                e["thread"] == "p" && e["payload"]["turn"] == 1 && has(e, "ended")
            })
            .await;
        gate.open();
        let woken = socket
            .event("word of the end, to who waits for it", |e| {
                e["thread"] == "p" && has(e, "thread-ended")
            })
            .await;
        assert_eq!(woken["payload"]["id"], "p.research", "{woken}");
        socket
            .event("the parent's next turn", |e| {
                e["thread"] == "p" && e["payload"]["turn"] == 2 && has(e, "ended")
            })
            .await;
        let log = app.public_log().await;
        assert_eq!(with(&log, &["failure"]).len(), 0, "{}", story(&log));
        assert_eq!(
            stub.count(at("p")),
            3,
            "two calls in the first turn, one in the second"
        );
    }
);

// The id of a reply is public while it arrives. It is the reply's, at whichever server a client tries to take it.
on_sqlite!(
    a_reply_keeps_the_id_that_its_deltas_announced_whatever_a_client_posts,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(
            decision,
            [reply("a long answer, bit by bit").paused(6, &gate)],
        );
        let shared = medium.is_shared();
        let app = App::start(medium, &stub).await;
        let beside = if shared {
            Some(app.beside().await)
        } else {
            None
        };
        let other = beside.as_ref().unwrap_or(&app);
        let mut follower = app.socket().await;
        follower.say("go").await;
        let announced = follower.of_type("delta").await["event_id"]
            .as_str()
            .unwrap()
            .to_owned();
        // Every door takes a client's id.
        let mut thief = other.socket().await;
        assert_eq!(
            thief.ask(taking(&announced)).await["problem"]["type"],
            "/problems/event-conflict"
        );
        let trigger = json!({ "type": "trigger", "event": "x", "payload": {}, "thread": "elsewhere", "event_id": announced });
        assert_eq!(
            thief.ask(trigger).await["problem"]["type"],
            "/problems/event-conflict"
        );
        let body = json!({ "event_id": announced, "text": "mine" });
        other
            .post("/threads/elsewhere/messages", body)
            .await
            .expect_problem(409, "event-conflict");
        gate.open();
        let response = follower.response().await;
        assert_eq!(
            (&response["event_id"], said(&response)),
            (&json!(announced), "a long answer, bit by bit")
        );
        let end = follower.of_type("delta_end").await;
        assert_eq!(
            (&end["event_id"], &end["outcome"]),
            (&json!(announced), &json!("stored"))
        );
        follower.turn_ended().await;
        assert_eq!(stub.count(decision), 1, "no model is asked again");
        assert_eq!(app.event(&announced).await, response);
        // Control: any other id is a client's to choose.
        let own = "0193b6c2-7c2e-7aaa-8000-0123456789ab".to_owned();
        let ack = thief.ask(taking(&own)).await;
        assert_eq!(
            (&ack["type"], &ack["events"][0]["event_id"]),
            (&json!("ack"), &json!(own)),
            "{ack}"
        );
    }
);

// The first voices of a space were given under ids that are public, too: who took one shut the space.
on_sqlite!(
    a_client_that_posts_the_id_of_a_first_voice_shuts_no_space,
    |medium| {
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        let names: Vec<String> = std::fs::read_dir(format!("{}/prompts/submodules", kit::ROOT))
            .unwrap()
            .map(|file| {
                file.unwrap()
                    .path()
                    .file_stem()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        let mut socket = app.socket().await;
        for name in &names {
            socket
                .ask(taking(&made_of(&format!("submodule default {name}"))))
                .await;
        }
        app.set_env("THINKD_RUNTIME__DEFAULT_SUBMODULES", "true");
        app.restart().await;
        let voices = app.get("/submodules").await.expect(200);
        assert_eq!(
            voices["items"].as_array().unwrap().len(),
            names.len(),
            "{voices}"
        );
    }
);

/// Returns two minds, each with a process and its timer that is about to be due; a socket for each.
async fn two_minds(medium: Medium, stub: &Stub) -> (App, Socket, Socket) {
    stub.on(Request::is_decision, asleep());
    let mut app = Setup::new(medium, stub)
        .file("thinkd.toml", TENANTS)
        .env("THINKD_TEST_BUDGET__TIMER_MS", 1)
        .start()
        .await;
    let mut sockets = Vec::new();
    for space in ["b", "a"] {
        app.authorize(&format!("Bearer key-of-mind-{space}-0123456789"));
        let socket = app.socket().await;
        app.process("p", json!({})).await;
        sockets.push(socket);
    }
    let a = sockets.pop().unwrap();
    let b = sockets.pop().unwrap();
    (app, a, b)
}

// The log of one space refuses what is appended (here: its rows do): the timers of the others go on.
on_sqlite!(
    a_space_whose_log_takes_nothing_stops_no_other_spaces_timers,
    |medium| {
        let stub = Stub::start().await;
        stub.script(at("p"), [timer(0.8), timer(0.8)]);
        let (app, mut a, mut b) = two_minds(medium, &stub).await;
        a.say_in("p", "go").await;
        a.event("a's timer", |e| has(e, "timer-set")).await;
        on_database(
        &app,
        &["create trigger refuse before insert on events when new.space = 'a' begin select raise(abort, 'refused'); end"],
        &[
            "create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$",
            "create trigger refuse before insert on events for each row when (new.space = 'a') execute function refuse()",
        ],
    )
    .await;
        b.say_in("p", "go").await;
        b.event("b's timer", |e| has(e, "thread") && has(e, "timer"))
            .await;
        // And when the space can be written again, its timer is fired, once.
        on_database(
            &app,
            &["drop trigger refuse"],
            &["drop trigger refuse on events"],
        )
        .await;
        a.event("a's timer", |e| has(e, "thread") && has(e, "timer"))
            .await;
    }
);

// A row that cannot be read is its space's affair.
on_sqlite!(
    a_timer_that_cannot_be_read_stops_no_other_timers,
    |medium| {
        let stub = Stub::start().await;
        stub.script(at("p"), [timer(0.8)]);
        let (app, _a, mut b) = two_minds(medium, &stub).await;
        let row = [
            "insert into timers (space, thread, name, due, note) values ('a', 'NO THREAD', 'x', 1, 'x')",
        ];
        on_database(&app, &row, &row).await;
        b.say_in("p", "go").await;
        b.event("b's timer", |e| has(e, "thread") && has(e, "timer"))
            .await;
        let row = [
            "insert into threads (space, thread, settings, status, head, woken, handled, turn, visible, heard, \
                self_messages, model_calls, tokens, created, updated) \
                values ('a', 'NO THREAD', '{}', 'idle', 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1)",
        ];
        // What waits and nobody runs is found by the same kind of round.
        on_database(&app, &row, &row).await;
        let waiting = [
            "insert into threads (space, thread, settings, status, head, woken, handled, turn, visible, heard, \
                    self_messages, model_calls, tokens, created, updated) select space, 'q', settings, 'idle', head, 1, 0, \
                    turn, visible, heard, 0, 0, 0, created, updated from threads where space = 'b' and thread = 'p'",
        ];
        on_database(&app, &waiting, &waiting).await;
        b.event("a look at the thread that waits", |e| e["thread"] == "q")
            .await;
    }
);

// Somebody takes the ids that a turn's calls have just found free: the calls take others, and no model is asked again.
on_sqlite!(
    subthreads_whose_ids_are_taken_meanwhile_get_others_without_asking_the_model_again,
    |medium| {
        const MANY: usize = 24;
        let stub = Stub::start().await;
        let one = || json!({ "label": "x", "prompt": null, "payload": null });
        let all = (1..MANY).fold(call("spawn_thread", one()), |answer, _| {
            answer.and("spawn_thread", one())
        });
        stub.script(at("p"), [all, asleep()]);
        let setup = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__SUBTHREADS", 500)
            .env("THINKD_TURN__MAX_TOOL_CALLS", 100);
        let mut app = setup.start().await;
        let mut socket = app.socket().await;
        app.process("p", json!({})).await;
        app.say_in("p", "make them").await;
        stub.request(at("p")).await;
        let mut taken = Vec::new();
        for _ in 0..30 {
            let made = app
                .post(
                    "/threads",
                    json!({ "label": "x", "parent": "p", "kind": "process" }),
                )
                .await
                .expect(201);
            taken.push(made["id"].as_str().unwrap().to_owned());
        }
        let over = |e: &Value| e["thread"] == "p" && has(e, "ended") && e["payload"]["turn"] == 1;
        let over = socket.event("the end of the turn", over).await;
        assert_eq!(over["payload"]["outcome"], "done", "{over}");
        assert_eq!(
            stub.count(at("p")),
            2,
            "one round with spawns, one with what they brought"
        );
        let log = app.public_log().await;
        let told = with(&log, &["thread-spawned"]);
        let mut ids: Vec<&str> = told
            .iter()
            .map(|e| e["payload"]["assigned_id"].as_str().unwrap())
            .collect();
        assert_eq!(ids.len(), MANY + taken.len(), "{}", story(&log));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), MANY + taken.len(), "no id twice");
        assert_eq!(with(&log, &["failure"]).len(), 0, "{}", story(&log));
        let by_turn = told
            .iter()
            .filter(|e| e["payload"]["turn"] == 1)
            .map(|e| e["payload"]["assigned_id"].as_str().unwrap());
        assert!(
            by_turn
                .into_iter()
                .all(|id| !taken.iter().any(|taken| taken == id)),
            "nobody's thread became another's"
        );
        assert!(app.stop().await.success());
    }
);
