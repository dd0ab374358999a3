//! `run_code`: code that a model writes runs in a worker process, and its result is in the log.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::process::Command;

use serde_json::{Value, json};
use thinkd_words::time;

use kit::*;

mod cage;
#[cfg(feature = "python")]
mod python;
mod replica;

fn javascript(code: &str) -> Value {
    json!({ "language": "javascript", "code": code, "input": null })
}

fn runs(code: &str) -> Answer {
    call("run_code", javascript(code))
}

/// The results of `run_code`, in order.
fn results(log: &[Value]) -> Vec<&Value> {
    with(log, &["result", "tool:run_code"])
}

fn output(result: &Value) -> &Value {
    &result["payload"]["output"]
}

/// Why code was stopped or not run, of a result that is a failure.
fn reason(result: &Value) -> &str {
    assert!(has(result, "failure"), "{result}");
    result["payload"]["problem"]["detail"]["reason"]
        .as_str()
        .unwrap_or_else(|| panic!("no reason: {result}"))
}

/// Returns the fields of `/proc/PID/stat` behind the process's name, which may hold anything: the
/// state, the parent, …
fn stat(pid: u32) -> Vec<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// The worker processes of a server that have not ended.
fn workers(server: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| matches!(&stat(*pid)[..], [state, parent, ..] if state != "Z" && *parent == server.to_string());
    pids.filter(is_child).collect()
}

/// The only worker, once it has computed for a while.
async fn busy_worker(server: u32) -> u32 {
    let has_computed = |pid| {
        stat(pid)
            .get(11)
            .and_then(|ticks| ticks.parse().ok())
            .unwrap_or(0)
            >= 5
    };
    polled_some(
        "a worker that computes",
        async || match workers(server)[..] {
            [pid] if has_computed(pid) => Some(pid),
            _ => None,
        },
    )
    .await
}

/// Sends a signal by its name.
fn signal(name: &str, pid: u32) {
    assert!(
        Command::new("sh")
            .args(["-c", &format!("kill -{name} {pid}")])
            .status()
            .unwrap()
            .success()
    );
}

// D1.47: code is an instrument whose output is in the record.
on_sqlite!(
    d1_47_code_runs_and_code_input_and_output_are_in_the_log,
    |medium| {
        let stub = Stub::start().await;
        let code = "const sum = input.numbers.reduce((a, b) => a + b, 0);\nprint('adding', input.numbers);\nsum * 2";
        let arguments =
            json!({ "language": "javascript", "code": code, "input": "{\"numbers\":[1,2,18]}" });
        stub.script(
            decision,
            [call("run_code", arguments.clone()), reply("42.")],
        );
        let app = App::start(medium, &stub).await;
        assert_eq!(said(&app.tell("what is twice the sum?").await[0]), "42.");
        let log = app.public_log().await;
        assert_eq!(
            one(&log, &["action", "tool:run_code"])["payload"]["arguments"],
            arguments
        );
        let result = one(&log, &["result", "tool:run_code"]);
        assert_eq!(
            *output(result),
            json!({ "value": 42, "printed": "adding [1,2,18]\n" }),
            "{}",
            story(&log)
        );
        let second = stub.nth(1, decision).await;
        assert!(
            second.says("adding [1,2,18]") && second.seqs().contains(&seq(result)),
            "the decision reads it: {second:?}"
        );
        envelope::check_log(&app.log().await);
    }
);

on_sqlite!(
    t1_01_code_that_prints_a_greeting_succeeds_with_exactly_that,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [runs("console.log('Hello, World!')"), reply("It greets.")],
        );
        let app = App::start(medium, &stub).await;
        app.tell("greet").await;
        let log = app.public_log().await;
        assert_eq!(
            *output(results(&log)[0]),
            json!({ "value": null, "printed": "Hello, World!\n" })
        );
        assert!(with(&log, &["failure"]).is_empty(), "{}", story(&log));
    }
);

on_sqlite!(
    t1_02_an_error_of_the_code_is_its_result_with_its_line,
    |medium| {
        let stub = Stub::start().await;
        let broken = [
            "let a = 1;\nlet b = nothing;\n",
            "let a = 1;\nlet = ;",
            "throw 'a plain text'",
            "print(1);\nreturn x.y",
        ];
        let calls = broken
            .iter()
            .map(|code| runs(code))
            .chain([reply("I see.")]);
        stub.script(decision, calls.collect::<Vec<_>>());
        let app = App::start(medium, &stub).await;
        assert_eq!(said(&app.tell("try it").await[0]), "I see.");
        let log = app.public_log().await;
        let lines = [json!(2), json!(2), json!(null), json!(2)];
        let words = [
            "ReferenceError: nothing is not defined",
            "SyntaxError",
            "a plain text",
            "ReferenceError: x",
        ];
        for ((result, line), word) in results(&log).into_iter().zip(lines).zip(words) {
            let error = &output(result)["error"];
            assert_eq!(error["line"], line, "{result}");
            assert!(
                error["message"].as_str().unwrap().contains(word),
                "{result}"
            );
            assert!(
                !has(result, "failure"),
                "an error of the code is no failure of the tool: {result}"
            );
        }
        assert_eq!(
            output(results(&log)[3])["printed"],
            "1\n",
            "what it printed before is there"
        );
    }
);

on_sqlite!(
    t1_03_an_endless_loop_ends_at_its_limit_and_a_follower_sees_why,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [
                runs("for (;;) {}"),
                runs("1 + 1"),
                reply("It does not end."),
            ],
        );
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_TOOLS__CODE__TIME_MS", 300)
            .start()
            .await;
        let mut follower = app.socket().await;
        follower.follow(0, json!({})).await;
        app.say_in("main", "loop").await;
        let failure = follower
            .event("the failure", |event| {
                has(event, "failure") && has(event, "tool:run_code")
            })
            .await;
        assert_eq!(reason(&failure), "time", "{failure}");
        assert!(
            said(&failure).contains("computed for more than 300 ms"),
            "{failure}"
        );
        assert!(
            has(&failure, "timeout") && has(&failure, "result"),
            "{failure}"
        );
        let stopped = workers(app.pid());
        follower
            .event("the reply", |event| has(event, "response"))
            .await;
        let log = app.public_log().await;
        assert_eq!(
            *output(results(&log)[1]),
            json!({ "value": 2, "printed": "" }),
            "a fresh worker works"
        );
        assert_eq!(
            workers(app.pid()).len(),
            1,
            "the one that looped is gone, of {stopped:?}"
        );
    }
);

// The scheduler's idle class is 5, that of the server 0.
on_sqlite!(code_computes_in_the_background, |medium| {
    assert_eq!(class_of_a_worker(medium, true).await, "5");
});

on_sqlite!(
    code_competes_with_the_server_where_that_is_wanted,
    |medium| {
        assert_eq!(class_of_a_worker(medium, false).await, "0");
    }
);

async fn class_of_a_worker(medium: Medium, background: bool) -> String {
    let stub = Stub::start().await;
    stub.script(decision, [runs("1 + 1"), reply("Two.")]);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TOOLS__CODE__BACKGROUND", background)
        .start()
        .await;
    app.tell("count").await;
    let [pid] = workers(app.pid())[..] else {
        panic!("one worker")
    };
    stat(pid).swap_remove(38)
}

on_sqlite!(
    t1_04_code_that_is_not_there_or_in_no_language_is_refused_unlike_an_error_of_the_code,
    |medium| {
        let stub = Stub::start().await;
        let cobol = json!({ "language": "cobol", "code": "DISPLAY 'HI'", "input": null });
        stub.script(
            decision,
            [runs(" \n"), call("run_code", cobol), reply("No.")],
        );
        let app = App::start(medium, &stub).await;
        app.tell("run nothing").await;
        let log = app.public_log().await;
        assert_eq!(
            results(&log).into_iter().map(reason).collect::<Vec<_>>(),
            ["invalid_arguments"; 2],
            "{}",
            story(&log)
        );
        assert_eq!(workers(app.pid()), [0; 0], "no worker was started for it");
    }
);

// Each way of being stopped has its reason, and the next call works.
on_sqlite!(
    code_that_was_stopped_says_why_and_the_next_call_works,
    |medium| {
        let stub = Stub::start().await;
        let codes = [
            (
                "let all = []; for (;;) all.push('x'.repeat(1e5) + all.length)",
                "memory",
            ),
            ("for (;;) print('x'.repeat(1000))", "output"),
            ("'x'.repeat(1e5)", "output"),
            ("new Array(4294967295).indexOf(1)", "time"),
        ];
        let calls = codes
            .iter()
            .flat_map(|(code, _)| [runs(code), runs("'well'")])
            .chain([reply("All stopped.")]);
        stub.script(decision, calls.collect::<Vec<_>>());
        let limits = [
            ("THINKD_TEST_TOOLS__CODE__TIME_MS", 1000),
            ("THINKD_TEST_TOOLS__CODE__MEMORY_BYTES", 16 << 20),
            ("THINKD_TEST_TOOLS__CODE__OUTPUT_BYTES", 50_000),
        ];
        let setup = Setup::new(medium, &stub).env("THINKD_TURN__MAX_ROUNDS", 20);
        let setup = limits
            .iter()
            .fold(setup, |setup, (key, value)| setup.env(key, value));
        let app = setup.start().await;
        app.tell("try all").await;
        let log = app.public_log().await;
        let results = results(&log);
        for (pair, (code, expected)) in results.chunks(2).zip(codes) {
            assert_eq!(reason(pair[0]), expected, "{code}: {}", story(&log));
            assert_eq!(output(pair[1])["value"], "well", "after {code}");
            assert_eq!(
                said(pair[0]).contains("It had printed: xxx"),
                code.contains("print("),
                "{}",
                pair[0]
            );
        }
        assert_eq!(results.len(), 2 * codes.len());
    }
);

// A worker that dies is a failure with its reason, not the end of anything else.
on_sqlite!(a_worker_that_dies_is_a_failure_and_is_replaced, |medium| {
    let stub = Stub::start().await;
    let endless = || runs("for (;;) {}");
    stub.script(
        decision,
        [
            runs("1"),
            endless(),
            endless(),
            runs("'well'"),
            reply("It broke."),
        ],
    );
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_TOOLS__CODE__TIME_MS", 30_000)
        .start()
        .await;
    let mut socket = app.socket().await;
    socket.follow(0, json!({})).await;
    socket.say("go").await;
    for (name, expected) in [("ABRT", "crash"), ("KILL", "memory")] {
        let action = |event: &Value| {
            has(event, "action") && event["payload"]["arguments"] == javascript("for (;;) {}")
        };
        socket.event("the call", action).await;
        let pid = busy_worker(app.pid()).await;
        signal(name, pid);
        let failure = socket
            .event("the failure", |event| has(event, "failure"))
            .await;
        assert_eq!(reason(&failure), expected, "{failure}");
    }
    assert_eq!(said(&socket.response().await), "It broke.");
    assert_eq!(output(results(&app.public_log().await)[3])["value"], "well");
});

// Code has no effect outside: a crash in the middle has it run again.
on_sqlite!(code_that_a_crash_cut_off_runs_again, |medium| {
    let stub = Stub::start().await;
    let code = "const end = Date.now() + 1500; while (Date.now() < end); Date.now()";
    stub.script(decision, [runs(code), reply("Done.")]);
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    socket.say("compute").await;
    socket
        .event("the call", |event| {
            has(event, "action") && has(event, "tool:run_code")
        })
        .await;
    app.kill();
    let killed = time::now().micros() / 1000;
    app.start_again().await;
    let mut socket = app.socket().await;
    socket.follow(0, json!({})).await;
    socket
        .event("the reply", |event| has(event, "response"))
        .await;
    let log = app.public_log().await;
    let result = one(&log, &["result", "tool:run_code"]);
    let ended = output(result)["value"]
        .as_i64()
        .unwrap_or_else(|| panic!("{}", story(&log)));
    // It began after the crash, or it would have ended earlier.
    assert!(ended >= killed + 1500, "{ended} {killed} {}", story(&log));
    one(&log, &["action", "tool:run_code"]);
    assert!(with(&log, &["failure"]).is_empty(), "{}", story(&log));
});

// One worker serves run after run, and no run finds what an earlier one left.
on_sqlite!(
    nothing_of_a_run_is_left_for_the_next_one_in_the_same_worker,
    |medium| {
        let stub = Stub::start().await;
        let pollutes = "globalThis.left = 1; Array.prototype.map = () => 'mine'; Object.prototype.admin = true; print = null; 'done'";
        let looks = "[typeof left, [1].map(x => x + 1)[0], ({}).admin === undefined, typeof print]";
        stub.script(
            decision,
            [runs("1"), runs(pollutes), runs(looks), reply("Clean.")],
        );
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        socket.say("go").await;
        socket
            .event("the first result", |event| {
                has(event, "result") && has(event, "tool:run_code")
            })
            .await;
        let first = workers(app.pid());
        socket.response().await;
        let log = app.public_log().await;
        assert_eq!(
            output(results(&log)[2])["value"],
            json!(["undefined", 2, true, "function"]),
            "{}",
            story(&log)
        );
        assert_eq!(
            (workers(app.pid()), first.len()),
            (first, 1),
            "the control: it was the same worker"
        );
    }
);

// What does not fit into an event is whole as a blob.
on_sqlite!(a_long_output_of_code_is_whole_as_a_blob, |medium| {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [runs("'begin ' + 'ä'.repeat(5000) + ' end'"), reply("Read.")],
    );
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_LIMITS__TOOL_OUTPUT_BYTES", 1000)
        .start()
        .await;
    app.tell("go").await;
    let log = app.public_log().await;
    let long = output(results(&log)[0]);
    assert!(
        long["truncated"].as_str().unwrap().contains("begin"),
        "{long}"
    );
    let whole = app
        .get(&format!("/blobs/{}", long["blob"].as_str().unwrap()))
        .await
        .text;
    assert!(
        whole.contains(" end") && long["bytes"] == whole.len(),
        "{whole}"
    );
});

// Switched off, the tool is not there, for models and for those who name tools.
#[tokio::test]
async fn without_tools_code_enabled_there_is_no_such_tool() {
    let stub = Stub::start().await;
    stub.script(decision, [runs("1"), reply("No.")]);
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TOOLS__CODE__ENABLED", false)
        .start()
        .await;
    app.tell("go").await;
    let log = app.public_log().await;
    assert!(
        said(one(&log, &["result", "failure"])).contains("there is no tool \"run_code\""),
        "{}",
        story(&log)
    );
    assert!(
        !stub
            .request(decision)
            .await
            .body
            .to_string()
            .contains("run_code")
    );
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    app.tell("go").await;
    assert!(
        stub.request(decision)
            .await
            .body
            .to_string()
            .contains("run_code"),
        "the control"
    );
}
