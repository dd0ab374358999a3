//! Any interleaving of sends, turns, kills and restarts delivers each message to exactly one batch, in order.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

const THREADS: usize = 4;
/// Messages to this one join its running turn.
const STEERED: usize = 1;
/// This one takes new input at once: it is interrupted.
const INTERRUPTED: usize = 2;
/// This one may be ended from outside.
const MORTAL: usize = 3;

/// The next act from outside. The acts of the threads meanwhile are drawn by their model.
#[derive(Debug, Clone)]
enum Act {
    Say(usize),
    Cancel(usize),
    End,
    Kill,
    Stop,
    Pause(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..THREADS).prop_map(Act::Say),
        1 => (0..THREADS).prop_map(Act::Cancel),
        1 => Just(Act::End),
        2 => Just(Act::Kill),
        1 => Just(Act::Stop),
        4 => (1..80_u64).prop_map(Act::Pause),
    ]
}

/// Numbers that look drawn, the same ones for the same request.
fn drawn(index: usize, salt: u64) -> u64 {
    let mut x = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ salt.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 29;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 32)
}

/// Returns the answer of a thread's model. The model writes to others now and then, fewer for
/// messages than for input from outside, so that it ends. And it waits for anybody, for one, looks
/// first, goes on, or fails.
fn mind(request: &Request) -> Answer {
    let lot = |salt: u64, of: u64| drawn(request.index, salt) % of;
    let Some((case, _)) = request.thread.rsplit_once('-') else {
        return asleep();
    };
    if lot(1, 15) == 0 {
        return status(400);
    }
    let batch = request.batch();
    let outside = request
        .entries()
        .iter()
        .any(|entry| batch.contains(&entry.seq) && entry.who.starts_with("user"));
    let sends = if outside {
        lot(2, 3)
    } else {
        u64::from(lot(2, 4) == 0)
    };
    let whom = |salt| format!("{case}-{}", lot(salt, THREADS as u64));
    let mut answer = text(if lot(3, 3) == 0 { "Let me see." } else { "" });
    for number in 0..sends {
        let to = whom(10 + number);
        answer = answer
            .and(
                "connect",
                json!({ "name": to, "thread": to, "description": "a friend" }),
            )
            .and(
                "send",
                json!({ "to": [to], "text": format!("m{}.{number}", request.index) }),
            );
    }
    let from = whom(20);
    let answer = match lot(4, 8) {
        0 | 1 => answer.and("view_contacts", json!({})),
        2 => answer
            .and(
                "connect",
                json!({ "name": from, "thread": from, "description": "a friend" }),
            )
            .and("wait", json!({ "from": from, "timeout_s": 0.05 })),
        3 => answer.and("think", json!({ "thought": "on" })),
        _ => answer.and("wait", json!({ "from": null, "timeout_s": null })),
    };
    answer.after(ms(lot(5, 25)))
}

struct Case {
    prefix: String,
}

impl Case {
    fn thread(&self, number: usize) -> String {
        format!("{}-{number}", self.prefix)
    }

    async fn create(&self, app: &App) {
        for number in 0..THREADS {
            let policy = match number {
                STEERED => "steer",
                INTERRUPTED => "interrupt",
                _ => "enqueue",
            };
            app.process(&self.thread(number), json!({ "policy": policy }))
                .await;
        }
    }

    async fn act(&self, app: &mut App, act: &Act) {
        match act {
            Act::Say(number) => {
                let path = format!("/threads/{}/messages", self.thread(*number));
                let answer = app.post(&path, json!({ "text": "outside" })).await;
                assert!(
                    answer.status == 202 || answer.slug() == "thread-ended",
                    "{}",
                    answer.text
                );
            }
            Act::Cancel(number) => drop(
                app.post(
                    &format!("/threads/{}/cancel", self.thread(*number)),
                    json!({}),
                )
                .await,
            ),
            Act::End => drop(
                app.post(&format!("/threads/{}/end", self.thread(MORTAL)), json!({}))
                    .await,
            ),
            Act::Kill => app.restart().await,
            Act::Stop => {
                assert!(app.stop().await.success());
                app.start_again().await;
            }
            Act::Pause(time) => faults::sometime(ms(*time)).await,
        }
    }

    /// Waits until no thread has anything to do or waits for another: seen at one moment, for the
    /// act of one may wake another.
    async fn rest(&self, app: &App) {
        let at_rest = |row: &Value| row["status"] != "thinking" && row["waiting_for"].is_null();
        app.until("rest", async || {
            app.pages("/threads?").await.iter().all(at_rest)
        })
        .await;
    }

    /// Asserts the properties that the log must have after any acts.
    fn check(&self, log: &[Value]) {
        let mine: Vec<&Value> = log
            .iter()
            .filter(|e| {
                e["thread"]
                    .as_str()
                    .is_some_and(|it| it.starts_with(&format!("{}-", self.prefix)))
            })
            .collect();
        let mut delivered: BTreeMap<(String, String), Vec<(usize, usize)>> = BTreeMap::new();
        for message in mine.iter().filter(|e| has(e, "message")) {
            let from = message["payload"]["from"].as_str().unwrap().to_owned();
            let to = message["thread"].as_str().unwrap().to_owned();
            let (index, number) = said(message)[1..].split_once('.').unwrap();
            delivered
                .entry((from, to))
                .or_default()
                .push((index.parse().unwrap(), number.parse().unwrap()));
        }
        for (pair, numbers) in &delivered {
            let distinct: HashSet<_> = numbers.iter().collect();
            assert_eq!(
                distinct.len(),
                numbers.len(),
                "{pair:?}: twice: {numbers:?}\n{}",
                story(log)
            );
            assert!(
                numbers.is_sorted(),
                "{pair:?}: in the order they were sent: {numbers:?}\n{}",
                story(log)
            );
        }
        for number in 0..THREADS {
            let thread = self.thread(number);
            let own: Vec<Value> = mine
                .iter()
                .filter(|e| e["thread"] == thread)
                .map(|e| (*e).clone())
                .collect();
            let ended = own
                .iter()
                .any(|e| has(e, "set:thread") && e["payload"]["change"]["status"].is_string());
            batches_hold_everything(&own, ended);
            let sent = committed(&own);
            let arrived: usize = delivered
                .iter()
                .filter(|((from, _), _)| *from == thread)
                .map(|(_, all)| all.len())
                .sum();
            let lost = own
                .iter()
                .filter(|e| e["payload"]["code"] == "undelivered")
                .count();
            assert_eq!(
                sent,
                arrived + lost,
                "{thread}: what a turn that was done sent\n{}",
                story(log)
            );
        }
    }
}

/// Returns the number of messages that the thread's turns with the outcome `done` were to send.
fn committed(own: &[Value]) -> usize {
    let done: HashSet<i64> = own
        .iter()
        .filter(|e| has(e, "turn") && has(e, "ended") && e["payload"]["outcome"] == "done")
        .map(|e| e["payload"]["turn"].as_i64().unwrap())
        .collect();
    let sends = own
        .iter()
        .filter(|e| has(e, "result") && done.contains(&e["payload"]["turn"].as_i64().unwrap_or(0)));
    let recipients = |e: &Value| match e["payload"]["intent"]["act"].as_str() {
        Some("send") => e["payload"]["intent"]["to"].as_array().unwrap().len(),
        _ => 0,
    };
    sends.map(recipients).sum()
}

/// Everything that woke a thread is in the batch of exactly one turn that was handled, in order, or joined one; a turn that was
/// interrupted leaves its batch to the next one.
fn batches_hold_everything(own: &[Value], has_ended: bool) {
    const WAKING: [&str; 7] = [
        "input",
        "thought",
        "message",
        "thread-ended",
        "thread-stuck",
        "timer",
        "overrules",
    ];
    let wakes = |e: &&Value| {
        e["modality"] != "state" && !has(e, "debug") && WAKING.iter().any(|tag| has(e, tag))
    };
    let woken: Vec<i64> = own.iter().filter(wakes).map(seq).collect();
    let mut handled = Vec::new();
    let mut left = Vec::new();
    let mut running = None;
    let mut turns = 0;
    let (mut joined, mut joining): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
    for event in own.iter().filter(|e| has(e, "turn")) {
        let number = event["payload"]["turn"].as_i64();
        if has(event, "started") {
            turns += 1;
            assert_eq!(
                (running, number),
                (None, Some(turns)),
                "one after the other:\n{}",
                story(own)
            );
            let batch: Vec<i64> = event["payload"]["batch"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_i64)
                .collect();
            assert!(
                batch.starts_with(&left),
                "what was interrupted is taken up: {left:?} in {batch:?}\n{}",
                story(own)
            );
            assert!(batch.iter().all(|at| *at < seq(event)), "{}", story(own));
            running = Some(batch);
        } else if has(event, "steered") {
            assert!(running.is_some() && number == Some(turns), "{}", story(own));
            let inputs = event["payload"]["inputs"].as_array().unwrap().iter();
            joining.extend(inputs.filter_map(|it| it[1].as_i64()));
        } else {
            let batch = running
                .take()
                .unwrap_or_else(|| panic!("an end without a beginning:\n{}", story(own)));
            assert_eq!(number, Some(turns));
            match event["payload"]["outcome"] == "interrupted" {
                true => left = batch,
                false => {
                    left.clear();
                    handled.extend(batch);
                    joined.append(&mut joining);
                }
            }
            joining.clear();
        }
    }
    let once: HashSet<&i64> = handled.iter().chain(&joined).collect();
    assert_eq!(once.len(), handled.len() + joined.len(), "{}", story(own));
    let woken: Vec<i64> = woken
        .into_iter()
        .filter(|it| !joined.contains(it))
        .collect();
    if has_ended {
        assert!(
            woken.starts_with(&handled),
            "{handled:?} of {woken:?}\n{}",
            story(own)
        );
    } else {
        assert_eq!(
            handled,
            woken,
            "each in one batch, in order:\n{}",
            story(own)
        );
        assert_eq!(running, None, "{}", story(own));
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
        stub.on_each(Request::is_decision, mind);
        let setup = Setup::new(medium, &stub)
            .env("THINKD_TEST_BUDGET__TIMER_MS", 1)
            .env("THINKD_BUDGET__SELF_MESSAGES", 5);
        let app = setup
            .env("THINKD_TEST_RUNTIME__LEASE_MS", 400)
            .env("THINKD_TEST_RUNTIME__SCAN_MS", 50)
            .start()
            .await;
        (stub, app)
    });
    let app = std::cell::RefCell::new(app);
    let number = Cell::new(0);
    let messages = Cell::new(0);
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(6);
    let config = Config {
        cases,
        max_shrink_iters: 20,
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&proptest::collection::vec(act(), 4..24), |acts| {
        number.set(number.get() + 1);
        let case = Case {
            prefix: format!("case{}", number.get()),
        };
        // One case at a time: nobody else borrows it.
        let mut app = app.borrow_mut();
        runtime.block_on(async {
            case.create(&app).await;
            for act in &acts {
                case.act(&mut app, act).await;
            }
            case.rest(&app).await;
            let log = app.public_log().await;
            case.check(&log);
            messages.set(with(&log, &["message"]).len());
        });
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let mut app = app.into_inner();
    runtime.block_on(async {
        envelope::check_log(&app.log().await);
        rows_are_what_the_log_says(&mut app).await;
    });
    println!(
        "{} cases, {} messages between threads, {} model calls",
        number.get(),
        messages.get(),
        stub.count(decision)
    );
    assert!(messages.get() > 0, "nothing happened");
}

// D0.16 D0.37 D0.38 D0.39 D3.27
#[test]
fn d0_16_every_message_is_in_one_batch_whatever_happens_sqlite() {
    explore(async { Some(Medium::sqlite()) });
}

#[test]
fn d0_16_every_message_is_in_one_batch_whatever_happens_postgres() {
    explore(Medium::postgres());
}
