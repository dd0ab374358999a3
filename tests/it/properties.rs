//! Random interleavings of everything clients can do: in any order, the log keeps its promises.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use kit::*;

/// The next act of a client. Numbers choose a socket, a thread, or an earlier input.
#[derive(Debug, Clone)]
enum Act {
    Say {
        socket: usize,
        thread: usize,
    },
    SayMany {
        socket: usize,
        thread: usize,
        parts: usize,
    },
    Again {
        socket: usize,
        which: usize,
    },
    Conflict {
        socket: usize,
        which: usize,
    },
    Trigger {
        socket: usize,
        thread: usize,
    },
    Cancel {
        socket: usize,
        thread: usize,
    },
    Bad {
        socket: usize,
    },
    Reconnect {
        socket: usize,
    },
    Await,
}

fn act() -> impl Strategy<Value = Act> {
    let s = 0..2_usize;
    let t = 0..3_usize;
    prop_oneof![
        5 => (s.clone(), t.clone()).prop_map(|(socket, thread)| Act::Say { socket, thread }),
        1 => (s.clone(), t.clone(), 2..4_usize).prop_map(|(socket, thread, parts)| Act::SayMany { socket, thread, parts }),
        2 => (s.clone(), 0..8_usize).prop_map(|(socket, which)| Act::Again { socket, which }),
        1 => (s.clone(), 0..8_usize).prop_map(|(socket, which)| Act::Conflict { socket, which }),
        1 => (s.clone(), t.clone()).prop_map(|(socket, thread)| Act::Trigger { socket, thread }),
        1 => (s.clone(), t).prop_map(|(socket, thread)| Act::Cancel { socket, thread }),
        1 => s.clone().prop_map(|socket| Act::Bad { socket }),
        1 => s.prop_map(|socket| Act::Reconnect { socket }),
        2 => Just(Act::Await),
    ]
}

/// One case: its acts on threads of its own.
struct Case<'a> {
    app: &'a App,
    prefix: String,
    sockets: Vec<Socket>,
    sent: Vec<(Value, Value)>,
}

impl Case<'_> {
    fn thread(&self, thread: usize) -> String {
        format!("{}-{thread}", self.prefix)
    }

    async fn input(&mut self, socket: usize, frame: Value) {
        let ack = self.sockets[socket].ask(frame.clone()).await;
        assert_eq!(ack["type"], "ack", "{ack}");
        assert_ne!(ack["status"], "duplicate", "{ack}");
        self.sent.push((frame, ack));
    }

    async fn act(&mut self, act: &Act) {
        let id = thinkd_words::id::fresh().to_string();
        match act {
            Act::Say { socket, thread } => {
                let text = format!("say {}", self.sent.len());
                self.input(
                    *socket,
                    json!({ "thread": self.thread(*thread), "event_id": id, "text": text }),
                )
                .await;
            }
            Act::SayMany {
                socket,
                thread,
                parts,
            } => {
                let images: Vec<Value> = [kit::media::PNG, kit::media::PNG_2, kit::media::PNG]
                    .iter()
                    .take(*parts - 1)
                    .map(|data| json!({ "data": data, "mimeType": "image/png" }))
                    .collect();
                self.input(
                    *socket,
                    json!({ "thread": self.thread(*thread), "event_id": id, "text": "look", "images": images }),
                )
                .await;
            }
            Act::Trigger { socket, thread } => {
                self.input(
                    *socket,
                    json!({ "type": "trigger", "event": "tick", "payload": {}, "thread": self.thread(*thread) }),
                )
                .await;
            }
            Act::Again { socket, which } => {
                let messages: Vec<&(Value, Value)> = self
                    .sent
                    .iter()
                    .filter(|(frame, _)| frame["event_id"].is_string())
                    .collect();
                let Some((frame, first)) = messages
                    .get(which % messages.len().max(1))
                    .copied()
                    .cloned()
                else {
                    return;
                };
                let again = self.sockets[*socket].ask(frame).await;
                assert_eq!(
                    (&again["status"], &again["events"]),
                    (&json!("duplicate"), &first["events"]),
                    "{again}"
                );
            }
            Act::Conflict { socket, which } => {
                let messages: Vec<&(Value, Value)> = self
                    .sent
                    .iter()
                    .filter(|(frame, _)| frame["event_id"].is_string())
                    .collect();
                let Some((frame, _)) = messages.get(which % messages.len().max(1)).copied() else {
                    return;
                };
                let mut other = frame.clone();
                other["text"] = json!("something else");
                let refused = self.sockets[*socket].ask(other).await;
                assert_eq!(
                    refused["problem"]["type"], "/problems/event-conflict",
                    "{refused}"
                );
            }
            Act::Cancel { socket, thread } => {
                let thread = self.thread(*thread);
                // Where nothing was said yet there is no thread to cancel in: either answer is one.
                self.sockets[*socket]
                    .ask(json!({ "type": "cancel", "thread": thread }))
                    .await;
            }
            Act::Bad { socket } => {
                let refused = self.sockets[*socket]
                    .ask(json!({ "type": "message", "text": "" }))
                    .await;
                assert_eq!(refused["type"], "problem", "{refused}");
            }
            Act::Reconnect { socket } => self.sockets[*socket] = self.app.socket().await,
            Act::Await => {
                let turns = self.log().await.len();
                let _ = turns;
            }
        }
    }

    async fn log(&self) -> Vec<Value> {
        let mut log = Vec::new();
        for thread in 0..3 {
            log.extend(
                self.app
                    .pages(&format!(
                        "/events?order=asc&thread={}&",
                        self.thread(thread)
                    ))
                    .await,
            );
        }
        log.sort_by_key(seq);
        log
    }

    async fn check(&self) {
        for thread in 0..3 {
            let path = format!("/threads/{}", self.thread(thread));
            self.app
                .until("an idle thread", async || {
                    self.app.get(&path).await.body["status"] != "thinking"
                })
                .await;
        }
        let log = self.log().await;
        let acked: Vec<i64> = self
            .sent
            .iter()
            .flat_map(|(_, ack)| ack["events"].as_array().unwrap().iter().map(seq))
            .collect();
        assert!(acked.is_sorted(), "acknowledged out of order");
        assert_eq!(
            with(&log, &["input"])
                .into_iter()
                .map(seq)
                .collect::<Vec<_>>(),
            acked,
            "\n{}",
            story(&log)
        );
        for thread in 0..3 {
            envelope::check_turns(&log, &self.thread(thread));
        }
        for event in &log {
            assert_eq!(envelope::faults(event), Vec::<String>::new(), "{event}");
        }
    }
}

fn explore(medium: impl Future<Output = Option<Medium>>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let Some(medium) = runtime.block_on(medium) else {
        return;
    };
    let (stub, app) = runtime.block_on(async {
        let stub = Stub::start().await;
        stub.on_each(kit::any, |request| {
            let answer = if request.is_decision() {
                reply("yes")
            } else {
                text("PASS")
            };
            answer.after(ms(request.index as u64 * 7 % 23))
        });
        let app = Setup::new(medium, &stub).voices(&["a", "b"]).start().await;
        (stub, app)
    });
    let mut number = 0;
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(8);
    let config = Config {
        cases,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..Config::default()
    };
    let number = std::cell::RefCell::new(&mut number);
    let outcome = TestRunner::new(config).run(&proptest::collection::vec(act(), 1..14), |acts| {
        **number.borrow_mut() += 1;
        let prefix = format!("case-{}", **number.borrow());
        runtime.block_on(async {
            let sockets = vec![app.socket().await, app.socket().await];
            let mut case = Case {
                app: &app,
                prefix,
                sockets,
                sent: Vec::new(),
            };
            for act in &acts {
                case.act(act).await;
            }
            case.check().await;
        });
        Ok(())
    });
    runtime.block_on(async { envelope::check_log(&app.log().await) });
    drop((app, stub));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

// D4.14 D4.15 D4.16 D4.61
#[test]
fn d4_15_any_interleaving_of_inputs_leaves_a_log_that_keeps_its_promises_sqlite() {
    explore(async { Some(Medium::sqlite()) });
}

#[test]
fn d4_15_any_interleaving_of_inputs_leaves_a_log_that_keeps_its_promises_postgres() {
    explore(Medium::postgres());
}
