//! The log over HTTP: its contents, their order and the filters; and no request can change it.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::collections::{BTreeSet, HashSet};

use base64::Engine;
use serde_json::{Value, json};

use kit::*;

async fn items(app: &App, query: &str) -> Vec<Value> {
    let page = app.get(&format!("/events?{query}")).await.expect(200);
    page["items"]
        .as_array()
        .unwrap_or_else(|| panic!("no items: {page}"))
        .clone()
}

/// A mind in which some conversations took place.
async fn lived(medium: Medium, stub: &Stub, voices: &[&str], texts: &[&str]) -> App {
    let app = Setup::new(medium, stub).voices(voices).start().await;
    for text in texts {
        app.tell(text).await;
    }
    app
}

// T4.17 D4.24
on_both!(
    t4_17_d4_24_the_newest_fifty_come_first_without_debug,
    |medium| {
        let stub = Stub::start().await;
        let texts: Vec<String> = (0..12).map(|n| format!("number {n}")).collect();
        let app = lived(
            medium,
            &stub,
            &["a"],
            &texts.iter().map(String::as_str).collect::<Vec<_>>(),
        )
        .await;
        let all: Vec<i64> = app
            .log()
            .await
            .iter()
            .filter(|event| !has(event, "debug"))
            .map(seq)
            .collect();
        assert!(all.len() > 60, "too few events to tell: {}", all.len());
        let shown = items(&app, "").await;
        let newest: Vec<i64> = all.iter().rev().take(50).copied().collect();
        assert_eq!(shown.iter().map(seq).collect::<Vec<_>>(), newest);
        for n in [1, 2, 7, 49, 500] {
            let shown: Vec<i64> = items(&app, &format!("limit={n}"))
                .await
                .iter()
                .map(seq)
                .collect();
            assert_eq!(
                shown,
                all.iter().rev().take(n).copied().collect::<Vec<_>>(),
                "exactly the newest {n}"
            );
        }
    }
);

// T4.16
on_both!(
    t4_16_parameters_out_of_range_are_refused_by_name,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        for bad in [
            "limit=0",
            "limit=501",
            "limit=-1",
            "limit=x",
            "limit=",
            "before_ts=yesterday",
            "since=2026-13-01T00:00:00Z",
            "order=up",
            "before=x",
            "after=-1",
            "source=nobody",
            "modality=video",
            "nonsense=1",
            "subtree=maybe",
            "limit=5&limit=6",
        ] {
            let problem = app
                .get(&format!("/events?{bad}"))
                .await
                .expect_problem(400, "invalid-parameter");
            let name = bad.split('=').next().unwrap();
            assert!(
                problem.to_string().contains(name),
                "it names {name}: {problem}"
            );
        }
        app.get("/events?thread=No!")
            .await
            .expect_problem(400, "invalid-id");
        app.get("/events?cursor=garbage")
            .await
            .expect_problem(400, "invalid-cursor");
    }
);

// T4.18 T4.19
on_both!(
    t4_18_t4_19_tags_are_any_of_and_case_does_not_matter,
    |medium| {
        let stub = Stub::start().await;
        let app = lived(medium, &stub, &["a"], &["one", "two"]).await;
        let both = items(&app, "tags=input&tags=response&limit=500").await;
        assert_eq!(both.len(), 4);
        assert!(
            both.iter()
                .all(|event| has(event, "input") || has(event, "response"))
        );
        for same in [
            "tags=INPUT&tags=Response",
            "tags=input&tags=input&tags=response&tags=",
            "tags=response&tags=%20&tags=input",
        ] {
            assert_eq!(
                items(&app, &format!("{same}&limit=500")).await,
                both,
                "{same}"
            );
        }
        assert!(items(&app, "tags=none-has-this").await.is_empty());
        // All of them, where that is asked for.
        let told = items(&app, "tags=INPUT&tags=input&all_tags=true&limit=500").await;
        assert_eq!(told, items(&app, "tags=input&limit=500").await);
        let none = items(&app, "tags=input&tags=response&all_tags=true&limit=500").await;
        assert!(none.is_empty(), "{none:?}");
        let first = both[0]["meta"]["tags"].as_array().unwrap();
        let first: Vec<&str> = first.iter().map(|tag| tag.as_str().unwrap()).collect();
        let first = first.join("&tags=");
        let alike = items(&app, &format!("tags={first}&all_tags=true&limit=500")).await;
        assert!(
            alike.contains(&both[0]) && alike.len() <= both.len(),
            "{alike:?}"
        );
        let all = items(&app, "limit=500").await;
        let bracketed = app.get("/events?tags[]=input&limit=500").await;
        assert!(
            bracketed.status == 400 || bracketed.body["items"] == Value::from(all),
            "taken for a filter: {}",
            bracketed.text
        );
    }
);

// T4.20 T4.21
on_both!(
    t4_20_t4_21_debug_is_hidden_unless_asked_for_and_does_not_count,
    |medium| {
        let stub = Stub::start().await;
        let names: Vec<String> = (0..32).map(|n| format!("v{n}")).collect();
        stub.on(Request::is_voice, text("PASS"));
        let setup = Setup::new(medium, &stub).env("THINKD_BUDGET__MODEL_CALLS", 100);
        let app = setup
            .voices(&names.iter().map(String::as_str).collect::<Vec<_>>())
            .start()
            .await;
        // A thousand on SQLite; the question is the same to Postgres, and its answer.
        let (turns, wanted) = if app.database().starts_with("postgres") {
            (6, 200)
        } else {
            (17, 1000)
        };
        for n in 0..turns {
            app.tell(&format!("number {n}")).await;
        }
        // Each turn leaves a record for each of 32 comments, 32 follow-ups and a decision; follow-ups run beside it.
        let mut debug = 0;
        within("a thousand debug events", async {
            while debug < wanted {
                debug = app.pages("/events?tags=debug&").await.len();
            }
        })
        .await;
        let shown = items(&app, "limit=20").await;
        assert_eq!(
            shown.len(),
            20,
            "20 visible ones between {debug} debug events"
        );
        assert!(shown.iter().all(|event| !has(event, "debug")));
        assert!(
            seq(&shown[0]) - seq(&shown[19]) > 100,
            "they do not lie next to each other"
        );
        let hidden = items(&app, "tags=call:decision").await;
        assert!(
            hidden.is_empty(),
            "debug events shown without being asked for: {}",
            hidden.len()
        );
        let asked = items(&app, "tags=call:decision&tags=debug&limit=500").await;
        assert!(asked.iter().any(|event| has(event, "call:decision")));
    }
);

// T4.26 D4.25: `since` is at or after, `before_ts` strictly older: together they split the log at any event.
on_both!(t4_26_d4_25_since_includes_and_before_excludes, |medium| {
    let stub = Stub::start().await;
    let app = lived(medium, &stub, &["a"], &["one", "two", "three"]).await;
    let all = items(&app, "order=asc&limit=500").await;
    for event in &all {
        let ts = event["ts"].as_str().unwrap();
        let since = items(&app, &format!("since={ts}&order=asc&limit=500")).await;
        let before = items(&app, &format!("before_ts={ts}&order=asc&limit=500")).await;
        assert!(
            since.iter().all(|e| e["ts"].as_str().unwrap() >= ts) && since.contains(event),
            "since {ts}"
        );
        assert!(before.iter().all(|e| e["ts"].as_str().unwrap() < ts));
        assert_eq!(
            [before, since].concat(),
            all,
            "nothing twice, nothing missing at {ts}"
        );
    }
    // The same moment in another zone.
    let first = all[0]["ts"].as_str().unwrap();
    let shifted = first.replace('Z', "%2B00:00");
    assert_eq!(
        items(&app, &format!("since={shifted}&order=asc&limit=500")).await,
        all
    );
});

// D4.14 D4.24: pages are exact in both directions, and by every filter.
on_both!(
    d4_14_pages_neither_repeat_nor_miss_events_also_at_equal_times,
    |medium| {
        let stub = Stub::start().await;
        let app = lived(medium, &stub, &["a", "b"], &["one", "two", "three", "four"]).await;
        let times: HashSet<String> = app
            .log()
            .await
            .iter()
            .map(|event| event["ts"].to_string())
            .collect();
        assert!(
            times.len() < app.log().await.len(),
            "no equal times: this test shows nothing"
        );
        let all: Vec<i64> = items(&app, "order=asc&limit=500")
            .await
            .iter()
            .map(seq)
            .collect();
        for (order, limit) in [("asc", 1), ("asc", 3), ("desc", 2), ("desc", 7)] {
            let mut seen = Vec::new();
            let mut path = format!("/events?order={order}&limit={limit}");
            loop {
                let page = app.get(&path).await.expect(200);
                seen.extend(page["items"].as_array().unwrap().iter().map(seq));
                assert!(seen.len() <= all.len(), "endless pages");
                match page["next"].as_str() {
                    Some(next) => {
                        path = format!("/events?order={order}&limit={limit}&cursor={next}")
                    }
                    None => break,
                }
            }
            if order == "desc" {
                seen.reverse();
            }
            assert_eq!(seen, all, "{order} by {limit}");
        }
        let middle = all[all.len() / 2];
        let after: Vec<i64> = items(&app, &format!("order=asc&after={middle}&limit=500"))
            .await
            .iter()
            .map(seq)
            .collect();
        let before: Vec<i64> = items(&app, &format!("order=asc&before={middle}&limit=500"))
            .await
            .iter()
            .map(seq)
            .collect();
        assert_eq!([before, vec![middle], after].concat(), all);
    }
);

// D4.06 D4.11: every filter says what it means.
on_both!(
    d4_06_a_client_that_comes_later_reads_everything_that_happened,
    |medium| {
        let stub = Stub::start().await;
        let app = lived(
            medium,
            &stub,
            &["a"],
            &[
                "the quick brown fox",
                "jumps over the lazy dog",
                "schnelle Füchse 狐狸跳过",
            ],
        )
        .await;
        app.tell_in("other", "elsewhere").await;
        let all = app.public_log().await;
        assert_eq!(with(&all, &["input"]).len(), 4);
        let filtered =
            |keep: fn(&Value) -> bool| all.iter().filter(|e| keep(e)).cloned().collect::<Vec<_>>();
        for (query, keep) in [
            (
                "source=user",
                (|e| e["source"] == "user") as fn(&Value) -> bool,
            ),
            ("source=internal&modality=text", |e| {
                e["source"] == "internal" && e["modality"] == "text"
            }),
            ("modality=state", |e| e["modality"] == "state"),
            ("thread=other", |e| e["thread"] == "other"),
            ("thread=main&tags=response", |e| {
                e["thread"] == "main" && has(e, "response")
            }),
            ("tags=input&q=lazy%20DOG", |e| {
                said(e).contains("lazy dog") && has(e, "input")
            }),
            ("tags=input&q=dog%20jumps", |e| {
                said(e).contains("lazy dog") && has(e, "input")
            }),
            ("tags=input&q=f%C3%BCchse", |e| {
                said(e).contains("Füchse") && has(e, "input")
            }),
            ("tags=input&q=%E7%8B%90%E7%8B%B8", |e| {
                said(e).contains("狐狸") && has(e, "input")
            }),
            ("q=nowhere-to-be-found", |_| false),
        ] {
            assert_eq!(
                items(&app, &format!("{query}&order=asc&limit=500")).await,
                filtered(keep),
                "{query}"
            );
        }
        for event in &all {
            assert_eq!(&app.event(event["event_id"].as_str().unwrap()).await, event);
        }
        app.get(&format!("/events/{}", uuid::Uuid::nil()))
            .await
            .expect_problem(404, "not-found");
        app.get("/events/not-a-uuid")
            .await
            .expect_problem(400, "invalid-id");
    }
);

// T4.30 D4.23
on_both!(
    t4_30_d4_23_nothing_changes_or_removes_an_event_not_even_a_restart,
    |medium| {
        let stub = Stub::start().await;
        let mut app = lived(medium, &stub, &["a"], &["one", "two"]).await;
        // Follow-ups run beside the turns: wait until the log is at rest.
        stub.some(2, Request::is_follow_up).await;
        let mut before = app.log().await;
        within("a log at rest", async {
            loop {
                let now = app.log().await;
                if with(&now, &["call:submodule:a"]).len() == 4 {
                    before = now;
                    break;
                }
            }
        })
        .await;
        let id = before[0]["event_id"].as_str().unwrap().to_owned();
        for method in ["PUT", "PATCH", "DELETE", "POST"] {
            for path in [format!("/events/{id}"), "/events".to_owned()] {
                let answer = http::send(
                    app.request(method, &path)
                        .json(&json!({ "text": "forged" })),
                )
                .await;
                assert!(
                    answer.status == 405 || answer.status == 404,
                    "{method} {path}: {} {}",
                    answer.status,
                    answer.text
                );
            }
        }
        assert_eq!(app.log().await, before);
        app.stop().await;
        app.start_again().await;
        assert_eq!(app.log().await, before, "after a restart");
        app.restart().await;
        assert_eq!(app.log().await, before, "after kill -9");
    }
);

// D4.03 D4.13 D4.16 D4.17 D4.18 D4.19 D4.20 D4.21 D4.22: a whole session with everything in it.
on_both!(
    d4_22_every_event_of_a_whole_session_has_the_one_envelope,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            voice("a"),
            [
                call(
                    "state_put",
                    json!({ "key": "k", "content": "c", "related_keys": [] }),
                ),
                text("said"),
            ],
        );
        stub.script(voice("b"), [status(500)]);
        stub.script(
            decision,
            [
                call("no_such_tool", json!({})).saying("Trying."),
                call("state_get", json!({ "key": "k" })),
                call("ask", json!({ "submodule": "a", "question": "Well?" })),
                reply("first"),
                call("think", json!({ "thought": "More." })),
                call("do_nothing", json!({ "reason": "Enough." })),
            ],
        );
        let setup = Setup::new(medium, &stub).voices(&["a", "b"]);
        let mut app = setup
            .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 5000)
            .start()
            .await;
        let mut socket = app.socket().await;
        socket.send_text("not json").await;
        socket.problem().await;
        app.tell("one").await;
        let media = json!({ "text": "two", "images": [{ "data": kit::media::PNG, "mimeType": "image/png" }], "audio": [{ "data": kit::media::WAV, "mimeType": "audio/wav" }] });
        app.post("/threads/main/messages?wait=15", media)
            .await
            .expect(200);
        socket
            .ask(json!({ "type": "trigger", "event": "tick", "payload": { "n": 1 } }))
            .await;
        app.tell_in("other", "three").await;
        app.restart().await;
        app.tell("four").await;
        let log = app.log().await;
        envelope::check_log(&log);
        let kinds: BTreeSet<String> = log
            .iter()
            .map(|e| format!("{}/{}", e["source"], e["modality"]).replace('"', ""))
            .collect();
        for kind in [
            "user/text",
            "user/image",
            "user/audio",
            "tool/text",
            "system/text",
            "internal/text",
            "internal/state",
        ] {
            assert!(kinds.contains(kind), "the session has no {kind}: {kinds:?}");
        }
        for event in with(&log, &["action"]) {
            assert!(
                tags(event)
                    .iter()
                    .any(|tag| *tag == "decision" || tag.starts_with("submodule:")),
                "{event}"
            );
        }
        envelope::check_turns(&log, "main");
        envelope::check_turns(&log, "other");
    }
);

// D4.16 D4.14 D4.17: ten thousand events, from many clients at once.
on_both!(
    d4_16_ten_thousand_events_have_ten_thousand_ids_and_no_gap,
    |medium| {
        const CLIENTS: usize = 20;
        const INPUTS: usize = 50;
        const PARTS: usize = 10;
        let stub = Stub::start().await;
        // Turns are held, so that inputs alone fill the log.
        stub.on(decision, reply("never").never());
        let app = App::start(medium, &stub).await;
        let image = base64::engine::general_purpose::STANDARD
            .decode(kit::media::PNG)
            .unwrap();
        let stored = http::send(
            app.request("POST", "/blobs")
                .header("content-type", "image/png")
                .body(image),
        )
        .await;
        let images = vec![json!({ "blob": stored.expect(201)["blob"] }); PARTS - 1];
        let client = |n: usize| {
            let app = &app;
            let images = &images;
            async move {
                let mut socket = app.socket().await;
                socket.ask(json!({ "type": "unsubscribe" })).await;
                let frame = |i: usize| {
                    let id = format!("{n}.{i}");
                    let event_id = uuid::Uuid::new_v5(&uuid::Uuid::nil(), id.as_bytes());
                    json!({ "id": id, "event_id": event_id, "thread": format!("t{n}-{}", i % 2), "text": id, "images": images })
                };
                for i in 0..INPUTS {
                    socket.send(frame(i)).await;
                }
                let mut seqs = Vec::new();
                let mut retried = false;
                while seqs.len() < INPUTS * PARTS {
                    let ack = socket
                        .wait("an ack", |frame| {
                            frame["type"] == "ack" || frame["type"] == "problem"
                        })
                        .await;
                    if ack["type"] == "ack" {
                        seqs.extend(ack["events"].as_array().unwrap().iter().map(seq));
                    } else {
                        // A store that is overloaded says so; the client sends again.
                        assert_eq!(ack["problem"]["type"], "/problems/unavailable", "{ack}");
                        retried = true;
                        let i = ack["id"]
                            .as_str()
                            .unwrap()
                            .split('.')
                            .next_back()
                            .unwrap()
                            .parse()
                            .unwrap();
                        socket.send(frame(i)).await;
                    }
                }
                assert!(
                    retried || seqs.is_sorted(),
                    "a client's inputs are in the order in which it sent them"
                );
                seqs
            }
        };
        let acked: Vec<Vec<i64>> = futures_util::future::join_all((0..CLIENTS).map(client)).await;
        let log = app.log().await;
        assert!(log.len() >= CLIENTS * INPUTS * PARTS, "{}", log.len());
        envelope::check_log(&log);
        let unique: HashSet<i64> = acked.into_iter().flatten().collect();
        assert_eq!(unique.len(), CLIENTS * INPUTS * PARTS);
        let inputs = with(&log, &["input"]);
        assert_eq!(inputs.len(), unique.len());
        assert!(
            inputs.iter().all(|event| unique.contains(&seq(event))),
            "acknowledged under another address"
        );
    }
);

/// Events of a server-sent stream, as they come, each with the seq in its id.
async fn sse(response: &mut reqwest::Response, buffer: &mut String) -> (i64, Value) {
    let (id, event) = sse_with_id(response, buffer).await;
    (
        id.split_once('@')
            .expect("an id without an epoch")
            .0
            .parse()
            .unwrap(),
        event,
    )
}

async fn sse_with_id(response: &mut reqwest::Response, buffer: &mut String) -> (String, Value) {
    loop {
        if let Some((block, rest)) = buffer.split_once("\n\n") {
            let field = |name: &str| {
                block
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .map(|v| v.trim().to_owned())
            };
            let found = field("id:").zip(field("data:"));
            *buffer = rest.to_owned();
            if let Some((id, data)) = found {
                return (id, serde_json::from_str(&data).unwrap());
            }
            continue;
        }
        let chunk = within("a server-sent event", response.chunk())
            .await
            .unwrap()
            .unwrap();
        buffer.push_str(&String::from_utf8_lossy(&chunk));
    }
}

// D4.26
on_both!(
    d4_26_the_log_can_be_followed_live_over_plain_http,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        let begin = seq(app.public_log().await.last().unwrap());
        let mut stream = app.request("GET", "/events/stream").send().await.unwrap();
        assert!(
            stream.headers()["content-type"]
                .to_str()
                .unwrap()
                .starts_with("text/event-stream")
        );
        app.tell("hello").await;
        let mut buffer = String::new();
        let mut seen = Vec::new();
        while !seen.last().is_some_and(|event| has(event, "ended")) {
            let (id, event) = sse(&mut stream, &mut buffer).await;
            assert_eq!(id, seq(&event));
            seen.push(event);
        }
        let log = app.since(begin).await;
        assert_eq!(seen, log[..seen.len()], "live is what is stored, in order");
        // Resumed where it broke off.
        let middle = seq(&seen[2]);
        let request = app
            .request("GET", "/events/stream")
            .header("last-event-id", middle.to_string());
        let mut stream = request.send().await.unwrap();
        let mut buffer = String::new();
        for expected in &seen[3..] {
            assert_eq!(
                sse(&mut stream, &mut buffer).await,
                (seq(expected), expected.clone())
            );
        }
        // Filtered.
        let mut stream = app
            .request("GET", "/events/stream?tags=response")
            .send()
            .await
            .unwrap();
        app.tell("again").await;
        assert_eq!(
            said(&sse(&mut stream, &mut String::new()).await.1),
            "ok: again"
        );
    }
);

// A log that was restored has other events under the same seqs: who followed its former life must not skip any of them.
on_both!(
    a_cursor_of_a_former_life_of_the_log_is_refused_on_every_door,
    |medium| {
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        app.tell("one").await;
        let mut stream = app
            .request("GET", "/events/stream?after=0")
            .send()
            .await
            .unwrap();
        let (id, event) = sse_with_id(&mut stream, &mut String::new()).await;
        drop(stream);
        let epoch = app.get("/metadata").await.expect(200)["epoch"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(id, format!("{}@{epoch}", seq(&event)));
        let resumed = |id: String| {
            app.request("GET", "/events/stream")
                .header("last-event-id", id)
        };
        let mut stream = resumed(id.clone()).send().await.unwrap();
        let mut buffer = String::new();
        assert_eq!(
            sse(&mut stream, &mut buffer).await.0,
            seq(&event) + 1,
            "the same life: goes on"
        );
        drop(stream);
        for bad in [
            "1@",
            "@",
            "1@x",
            "x@y",
            "1@@",
            &format!("@{epoch}"),
            &format!("1@{epoch}@{epoch}"),
            "9007199254740992",
        ] {
            http::send(resumed(bad.to_owned()))
                .await
                .expect_problem(400, "invalid-cursor");
        }
        http::send(resumed(format!("9007199254740991@{epoch}")))
            .await
            .expect_problem(409, "cursor-ahead");
        app.get("/events?epoch=x")
            .await
            .expect_problem(400, "invalid-parameter");
        for path in [
            "/events?after=1",
            "/events/stream?after=1",
            "/events?before=9",
            "/events?limit=1",
        ] {
            let answer = app
                .get(&format!("{path}&epoch={}", uuid::Uuid::nil()))
                .await;
            answer.expect_problem(409, "epoch-changed");
        }
        for path in ["/events?after=1", "/events?before=9", "/events?limit=1"] {
            app.get(&format!("{path}&epoch={epoch}")).await.expect(200);
        }
        let page = app
            .get(&format!("/events?limit=1&epoch={epoch}"))
            .await
            .expect(200);
        let next = format!(
            "/events?limit=1&epoch={epoch}&cursor={}",
            page["next"].as_str().unwrap()
        );
        assert_eq!(
            app.get(&next).await.expect(200)["items"]
                .as_array()
                .unwrap()
                .len(),
            1
        );

        restore(&mut app).await;
        app.tell("another life").await;
        app.tell("and more of it").await;
        let now = app.get("/metadata").await.expect(200)["epoch"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_ne!(now, epoch);
        let resumed = |id: String| {
            app.request("GET", "/events/stream")
                .header("last-event-id", id)
        };
        let refused = http::send(resumed(id))
            .await
            .expect_problem(409, "epoch-changed");
        assert!(
            refused["detail"].as_str().unwrap().contains(&now),
            "it says what it is now: {refused}"
        );
        app.get(&next).await.expect_problem(409, "epoch-changed");
        // A bare seq is taken as it always was.
        let (mut stream, mut buffer) =
            (resumed("1".to_owned()).send().await.unwrap(), String::new());
        assert_eq!(
            sse_with_id(&mut stream, &mut buffer).await.0,
            format!("2@{now}")
        );
    }
);

/// Puts a backup of the database in its place.
async fn restore(app: &mut App) {
    use sqlx::Connection as _;
    let thinkd = |app: &App, arguments: &[&str]| {
        let mut command = std::process::Command::new(kit::program());
        let command = command
            .args(arguments)
            .env_clear()
            .env("DATABASE_URL", app.database())
            .current_dir(app.folder());
        let run = command.output().unwrap();
        assert!(run.status.success(), "{run:?}");
    };
    assert!(app.stop().await.success());
    thinkd(app, &["backup", "copy"]);
    match app.admin() {
        Some(_) => {
            let mut connection = sqlx::PgConnection::connect(app.database()).await.unwrap();
            sqlx::raw_sql("drop schema public cascade; create schema public")
                .execute(&mut connection)
                .await
                .unwrap();
            connection.close().await.unwrap();
        }
        None => {
            for file in std::fs::read_dir(app.folder())
                .unwrap()
                .map(|file| file.unwrap().path())
            {
                if file
                    .file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .starts_with("thinkd.db")
                {
                    std::fs::remove_file(file).unwrap();
                }
            }
        }
    }
    thinkd(app, &["restore", "copy"]);
    app.start_again().await;
}

on_both!(the_chat_of_one_thread_can_be_read_alone, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    app.tell("in main").await;
    app.tell_in("other", "elsewhere").await;
    let chat = async |query: &str| {
        let lines = app.get(&format!("/messages{query}")).await.expect(200);
        lines
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line["chat"][0].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(chat("").await.len(), 4);
    assert_eq!(chat("?thread=other").await, ["elsewhere", "ok: elsewhere"]);
    assert_eq!(chat("?thread=main&n=1").await, ["ok: in main"]);
    assert!(chat("?thread=nobody").await.is_empty());
    app.get("/messages?thread=Not%20One")
        .await
        .expect_problem(400, "invalid-id");
});
