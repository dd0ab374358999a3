//! `kill -9` at random moments: acknowledged inputs are in the log once, every input has one turn,
//! and recorded calls are not made again.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use kit::*;

const KILLS: usize = 20;

/// A small random number generator (xorshift), seeded, so that a run can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A client that keeps its inputs until they are acknowledged.
#[derive(Default)]
struct Sender {
    pending: Vec<Value>,
    acked: HashMap<String, (i64, String)>,
    duplicates: usize,
    number: usize,
}

impl Sender {
    /// Sends and reads until something is acknowledged, and so long after that.
    async fn run(&mut self, app: &App, time: Duration) {
        let mut socket = app.socket().await;
        for frame in &self.pending {
            socket.send(frame.clone()).await;
        }
        self.fill(&mut socket).await;
        self.acknowledge(&mut socket).await;
        let work = async {
            loop {
                self.fill(&mut socket).await;
                self.acknowledge(&mut socket).await;
            }
        };
        let _ = tokio::time::timeout(time, work).await;
    }

    /// Keeps a few inputs under way.
    async fn fill(&mut self, socket: &mut Socket) {
        while self.pending.len() < 3 {
            let frame = self.next();
            self.pending.push(frame.clone());
            socket.send(frame).await;
        }
    }

    async fn acknowledge(&mut self, socket: &mut Socket) {
        let ack = socket
            .wait("an ack", |f| f["type"] == "ack" || f["type"] == "problem")
            .await;
        self.acknowledged(&ack);
    }

    fn next(&mut self) -> Value {
        self.number += 1;
        let id = thinkd_words::id::fresh().to_string();
        let thread = format!("t{}", self.number % 3);
        let text = format!("input {}", self.number);
        json!({ "type": "message", "thread": thread, "id": id, "event_id": id, "text": text })
    }

    fn acknowledged(&mut self, ack: &Value) {
        assert_eq!(ack["type"], "ack", "{ack}");
        let id = ack["id"].as_str().unwrap().to_owned();
        let at = self
            .pending
            .iter()
            .position(|frame| frame["id"] == ack["id"])
            .unwrap();
        let frame = self.pending.remove(at);
        self.duplicates += usize::from(ack["status"] == "duplicate");
        self.acked.insert(
            id,
            (
                seq(&ack["events"][0]),
                frame["text"].as_str().unwrap().to_owned(),
            ),
        );
    }

    /// Sends the pending inputs until all are acknowledged.
    async fn finish(&mut self, app: &App) {
        let mut socket = app.socket().await;
        for frame in &self.pending {
            socket.send(frame.clone()).await;
        }
        while !self.pending.is_empty() {
            self.acknowledge(&mut socket).await;
        }
    }
}

/// Waits until no thread has anything to do.
pub async fn idle(app: &App) {
    app.until("idle threads", async || {
        !app.pages("/threads?")
            .await
            .iter()
            .any(|row| row["status"] != "idle")
    })
    .await;
}

/// A model's answer that is in the log already is not asked for again: of requests for the same thing, each repeated one came before
/// anything was recorded. Returns how many were repeated.
fn check_not_asked_again(stub: &Stub, log: &[Value]) -> usize {
    let mut first: HashMap<(String, String), bool> = HashMap::new();
    let mut repeated = 0;
    for request in stub.all(|request| request.is_decision() || request.is_comment()) {
        // "To be decided now: #7, #9." names the batch, and so the turn.
        let batch: Vec<i64> = request.batch();
        let of_batch =
            |event: &&Value| event["payload"]["batch"] == json!(batch) && has(event, "started");
        let turn = log
            .iter()
            .find(of_batch)
            .map(|event| (event["thread"].clone(), event["payload"]["turn"].clone()));
        if first
            .insert((request.module.clone(), format!("{batch:?}")), true)
            .is_none()
        {
            continue;
        }
        repeated += 1;
        let Some((thread, turn)) = turn else { continue };
        let tag = if request.is_decision() {
            "action"
        } else {
            &request.module
        };
        let recorded = log.iter().find(|e| {
            e["thread"] == thread
                && e["payload"]["turn"] == turn
                && has(e, tag)
                && !has(e, "failure")
        });
        if let Some(event) = recorded {
            let at = thinkd_words::time::Timestamp::parse(event["ts"].as_str().unwrap()).unwrap();
            assert!(
                at > request.wall,
                "{} was asked again about {batch:?} although #{} was recorded",
                request.module,
                seq(event)
            );
        }
    }
    repeated
}

on_both!(
    d4_23_nothing_acknowledged_is_lost_or_done_twice_over_twenty_kills,
    |medium| {
        let seed = 0x5eed_0000_0000_0001;
        let mut random = Random(seed);
        let stub = Stub::start().await;
        stub.on_each(Request::is_comment, |r| {
            text(&format!("{}: noted.", r.voice())).after(ms(r.index as u64 % 7))
        });
        stub.on_each(decision, |r| {
            reply(&format!("ok: {}", r.last_user())).after(ms(r.index as u64 % 11))
        });
        // On a fast machine more is acknowledged between the kills than turns come to.
        let setup = Setup::new(medium, &stub).env("THINKD_LIMITS__WAITING_INPUTS", 10_000);
        let mut app = setup.voices(&["a", "b"]).start().await;
        let mut sender = Sender::default();
        for _ in 0..KILLS {
            sender.run(&app, ms(random.below(60))).await;
            app.restart().await;
        }
        sender.finish(&app).await;
        idle(&app).await;
        let log = app.log().await;
        envelope::check_log(&log);
        for (id, (seq, text)) in &sender.acked {
            let found: Vec<&Value> = log
                .iter()
                .filter(|event| {
                    event["event_id"] == json!(id) || has(event, "input") && said(event) == text
                })
                .collect();
            assert_eq!(found.len(), 1, "{text} is in the log {} times", found.len());
            assert_eq!(
                (found[0]["seq"].as_i64(), found[0]["event_id"].as_str()),
                (Some(*seq), Some(id.as_str())),
                "acknowledged elsewhere"
            );
        }
        assert_eq!(
            with(&log, &["input"]).len(),
            sender.acked.len(),
            "what was never sent is in the log"
        );
        for thread in ["t0", "t1", "t2"] {
            envelope::check_turns(&log, thread);
            for end in log
                .iter()
                .filter(|e| e["thread"] == thread && has(e, "ended"))
            {
                let turn = &end["payload"]["turn"];
                let of_turn = |tag: &str| {
                    log.iter()
                        .filter(|e| {
                            e["thread"] == thread && &e["payload"]["turn"] == turn && has(e, tag)
                        })
                        .count()
                };
                assert_eq!(
                    of_turn("response"),
                    1,
                    "turn {turn} of {thread} was answered {} times:\n{}",
                    of_turn("response"),
                    story(&log)
                );
                for voice in ["submodule:a", "submodule:b"] {
                    let outputs = log
                        .iter()
                        .filter(|e| {
                            e["thread"] == thread
                                && &e["payload"]["turn"] == turn
                                && tags(e) == [voice]
                        })
                        .count();
                    assert!(
                        outputs <= 1,
                        "{voice} spoke {outputs} times in turn {turn} of {thread}"
                    );
                }
            }
        }
        let repeated = check_not_asked_again(&stub, &log);
        println!(
            "{KILLS} kills: {} inputs acknowledged, 0 lost, 0 twice; {} were stored but not yet acknowledged; {repeated} unrecorded model calls repeated",
            sender.acked.len(),
            sender.duplicates,
        );
        assert!(
            sender.acked.len() >= KILLS,
            "too little happened: {}",
            sender.acked.len()
        );
    }
);

// A crash between the rounds of a decision: the rounds that are recorded are not asked again.
on_both!(a_turn_is_taken_up_where_it_was_after_a_crash, |medium| {
    let stub = Stub::start().await;
    let note = json!({ "key": "k", "content": "once", "related_keys": [] });
    stub.script(decision, [call("state_put", note), reply("never").never()]);
    let mut app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    let mut socket = app.socket().await;
    socket.say("go").await;
    stub.nth(1, decision).await;
    app.restart().await;
    idle(&app).await;
    let log = app.public_log().await;
    assert_eq!(said(one(&log, &["response"])), "ok: go");
    one(&log, &["action", "tool:state_put"]);
    one(&log, &["turn", "started"]);
    one(&log, &["turn", "ended"]);
    assert_eq!(
        (stub.count(Request::is_comment), stub.count(decision)),
        (1, 3),
        "only the round under way is asked again"
    );
    let resumed = stub.nth(2, decision).await;
    assert!(
        resumed.says("state_put"),
        "it sees the recorded round: {resumed:?}"
    );
    envelope::check_log(&app.log().await);
});

// A crash does not give a turn its tool calls anew.
on_both!(t4_49_the_limit_of_tool_calls_holds_over_a_crash, |medium| {
    let stub = Stub::start().await;
    let look = |n: u32| json!({ "key": format!("{n}") });
    let two = call("state_get", look(1)).and("state_get", look(2));
    stub.script(
        decision,
        [
            two.clone(),
            reply("never").never(),
            two.and("state_get", look(3)),
        ],
    );
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TURN__MAX_TOOL_CALLS", 3)
        .start()
        .await;
    let mut socket = app.socket().await;
    socket.say("go").await;
    stub.nth(1, decision).await;
    app.restart().await;
    idle(&app).await;
    let log = app.public_log().await;
    let results = with(&log, &["result", "tool:state_get"]);
    let refused: Vec<bool> = results
        .iter()
        .map(|event| said(event).contains("max_tool_calls"))
        .collect();
    assert_eq!(
        refused,
        [false, false, false, true],
        "two before the crash, one after it: {}",
        story(&log)
    );
    assert!(
        said(one(&log, &["failure", "budget", "core"])).contains("1 of them were left out"),
        "{}",
        story(&log)
    );
    let ended = one(&log, &["turn", "ended"]);
    assert_eq!(ended["payload"]["outcome"], "failed", "{}", story(&log));
    envelope::check_log(&app.log().await);
});

// A crash while the voices speak: those that have spoken are not asked again.
on_both!(
    voices_that_have_spoken_are_not_asked_again_after_a_crash,
    |medium| {
        let stub = Stub::start().await;
        stub.script(voice("slow"), [text("never").never()]);
        let setup = Setup::new(medium, &stub).voices(&["quick", "slow"]);
        let mut app = setup
            .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 60_000)
            .start()
            .await;
        let mut socket = app.socket().await;
        socket.say("go").await;
        socket.tagged("submodule:quick").await;
        stub.request(voice("slow")).await;
        app.restart().await;
        idle(&app).await;
        let log = app.public_log().await;
        assert_eq!(said(one(&log, &["submodule:quick"])), "quick: noted.");
        assert_eq!(said(one(&log, &["submodule:slow"])), "slow: noted.");
        assert_eq!(stub.count(|r| r.is_comment() && r.voice() == "quick"), 1);
        assert_eq!(stub.count(|r| r.is_comment() && r.voice() == "slow"), 2);
        assert_eq!(said(one(&log, &["response"])), "ok: go");
        envelope::check_turns(&log, "main");
    }
);

// What waits is taken up at start, without a new input.
on_both!(
    waiting_inputs_are_handled_after_a_crash_without_being_sent_again,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, reply("never").never());
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        for n in 0..3 {
            socket.say(&format!("input {n}")).await;
            socket.say_in("other", &format!("input {n}")).await;
        }
        stub.some(2, decision).await;
        app.kill();
        stub.clear();
        app.start_again().await;
        idle(&app).await;
        let log = app.public_log().await;
        assert_eq!(with(&log, &["input"]).len(), 6);
        for thread in ["main", "other"] {
            envelope::check_turns(&log, thread);
            assert!(
                log.iter()
                    .any(|event| event["thread"] == thread && said(event) == "ok: input 2"),
                "{}",
                story(&log)
            );
        }
    }
);
