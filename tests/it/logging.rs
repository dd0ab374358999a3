//! The log of the program on standard error: the work goes on even where that log fails.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use kit::store_faults::{can_fail, fail, mend, until_ready};
use kit::*;

/// Standard error on a disk that is full.
fn full_disk() -> Stdio {
    File::options()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

/// Returns a pipe with no reader left.
fn closed_pipe() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

/// Returns a pipe that is never read.
fn stuck_pipe() -> Stdio {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // As much as a pipe holds on Linux: the first line does not fit.
    writer.write_all(&[0; 64 << 10]).unwrap();
    // Open for as long as the tests run.
    std::mem::forget(reader);
    writer.into()
}

/// Tests a server with its log there: a call is retried, the database fails and comes back, and it
/// answers.
async fn works(medium: Medium, stderr: fn() -> Stdio) {
    if !can_fail(&medium) {
        return;
    }
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .env("THINKD_LOG__LEVEL", "trace")
        .stderr(stderr)
        .start()
        .await;
    stub.script(decision, [status(500)]);
    assert_eq!(
        said(&app.tell("a call that is retried").await[0]),
        "ok: a call that is retried"
    );
    fail(&app).await;
    app.post("/threads/main/messages", json!({ "text": "not now" }))
        .await
        .expect_problem(503, "unavailable");
    until_ready(&app, 503).await;
    mend(&app).await;
    until_ready(&app, 200).await;
    for number in 0..20 {
        let text = format!("and again {number}");
        assert_eq!(said(&app.tell(&text).await[0]), format!("ok: {text}"));
    }
    let log = app.public_log().await;
    assert!(
        with(&log, &["failure", "internal"]).is_empty(),
        "{}",
        story(&log)
    );
    envelope::check_turns(&log, "main");
}

on_sqlite!(d4_57_a_log_on_a_full_disk_harms_nothing, |medium| {
    works(medium, full_disk).await;
});

on_sqlite!(d4_57_a_log_whose_reader_is_gone_harms_nothing, |medium| {
    works(medium, closed_pipe).await;
});

on_sqlite!(d4_57_a_log_that_nobody_reads_harms_nothing, |medium| {
    works(medium, stuck_pipe).await;
});

/// A key with quotes, backslashes and characters beyond ASCII, repeated by a provider, stands in no
/// line in any escaped form.
#[tokio::test]
async fn a_secret_is_left_out_of_the_log_however_the_log_escapes_it() {
    let secret = "can\"ary\\é\u{7}-nightingale";
    let stub = Stub::start().await;
    // The second is as an encoder writes it that keeps to ASCII, inside of another text.
    let quoted = r#"{"key": "can\"ary\\\u00e9\u0007-nightingale"}"#;
    for format in ["pretty", "json"] {
        let keys = format!(
            "[[keys]]\nkey = {}\nspace = \"a\"\nrole = \"admin\"\n",
            json!(secret)
        );
        let keys =
            keys + "[[keys]]\nkey = \"another-key-0123456789\"\nspace = \"b\"\nrole = \"admin\"\n";
        let setup = Setup::new(Medium::sqlite(), &stub).file("thinkd.toml", &keys);
        let mut app = setup.env("THINKD_LOG__FORMAT", format).start_bare().await;
        app.authorize("Bearer another-key-0123456789");
        let repeats = |words: &str| {
            let body = json!({ "error": { "message": format!("no key {words} here") } });
            raw(body.to_string().into_bytes()).with_status(500)
        };
        stub.script(
            decision,
            [repeats(secret), repeats(quoted), reply("At last.")],
        );
        assert_eq!(said(&app.tell("hello").await[0]), "At last.");
        let logged = |output: &str| -> Vec<String> {
            let lines = output.lines().filter(|line| line.contains("no key"));
            lines.map(str::to_owned).collect()
        };
        app.until_output("two such lines", |output| logged(output).len() == 2)
            .await;
        for line in logged(&app.output()) {
            assert!(
                !line.contains("nightingale") && line.contains("no key"),
                "{format}: {line}"
            );
            assert!(line.contains("(redacted)"), "{format}: {line}");
            if format == "json" {
                serde_json::from_str::<serde_json::Value>(&line).unwrap();
            }
        }
    }
}

/// Returns the number of lines with these words, and the number of further lines reported as left
/// out.
fn said_so(output: &str, words: &str) -> (usize, usize) {
    let lines: Vec<&str> = output.lines().filter(|line| line.contains(words)).collect();
    let left_out = |line: &&str| {
        let (before, _) = line.split_once(" more like this")?;
        before.rsplit('(').next()?.parse::<usize>().ok()
    };
    let in_json =
        |line: &&str| serde_json::from_str::<serde_json::Value>(line).ok()?["left_out"].as_u64();
    let more = |line: &&str| {
        left_out(line).or_else(|| in_json(line).and_then(|n| usize::try_from(n).ok()))
    };
    let counts: Vec<usize> = lines.iter().filter_map(more).collect();
    (lines.len(), counts.iter().sum())
}

// A full disk under many clients: the log says why once, and how often more, instead of filling what is left.
on_sqlite!(
    d4_57_what_fails_for_one_reason_is_a_line_and_a_count,
    |medium| {
        if !can_fail(&medium) {
            return;
        }
        const REFUSED: usize = 200;
        const WORDS: &str = "a request met a store that fails";
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        assert!(app.stop().await.success());
        for format in ["pretty", "json"] {
            app.set_env("THINKD_LOG__FORMAT", format);
            app.start_again().await;
            app.tell("before").await;
            fail(&app).await;
            for _ in 0..REFUSED {
                app.post("/threads/main/messages", json!({ "text": "not now" }))
                    .await
                    .expect_problem(503, "unavailable");
            }
            let (lines, _) = said_so(&app.output(), WORDS);
            assert!(
                (1..20).contains(&lines),
                "{format}: {lines} lines for {REFUSED} refusals"
            );
            mend(&app).await;
            until_ready(&app, 200).await;
            assert!(app.stop().await.success());
            let (lines, left_out) = said_so(&app.output(), WORDS);
            assert!(
                lines < 40 && lines + left_out >= REFUSED,
                "{format}: {lines} lines, {left_out} left out"
            );
        }
    }
);
