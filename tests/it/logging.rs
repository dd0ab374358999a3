//! The log of the program on standard error: whatever becomes of it, the work goes on. Every `on_both!` is two `#[tokio::test]`s, one
//! a database.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::store_faults::{can_fail, fail, mend, until_ready};
use crate::support::*;

/// Standard error on a disk that is full.
fn full_disk() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// A pipe whose reader is gone.
fn closed_pipe() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

/// A pipe that nobody reads.
fn stuck_pipe() -> Stdio {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // As much as a pipe holds on Linux: the first line does not fit.
    writer.write_all(&[0; 64 << 10]).unwrap();
    // Open for as long as the tests run.
    std::mem::forget(reader);
    writer.into()
}

/// What a server does whose log goes there: a call is retried, the database fails and comes back, and it answers.
async fn works(medium: Medium, stderr: fn() -> Stdio) {
    if !can_fail(&medium) {
        return;
    }
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).env("THINKD_LOG__LEVEL", "trace").stderr(stderr).start().await;
    stub.script(decision, [status(500)]);
    assert_eq!(said(&app.tell("a call that is retried").await[0]), "ok: a call that is retried");
    fail(&app).await;
    app.post("/threads/main/messages", json!({ "text": "not now" })).await.expect_problem(503, "unavailable");
    until_ready(&app, 503).await;
    mend(&app).await;
    until_ready(&app, 200).await;
    for number in 0..20 {
        let text = format!("and again {number}");
        assert_eq!(said(&app.tell(&text).await[0]), format!("ok: {text}"));
    }
    let log = app.public_log().await;
    assert!(with(&log, &["failure", "internal"]).is_empty(), "{}", story(&log));
    envelope::check_turns(&log, "main");
}

on_both!(d4_57_a_log_on_a_full_disk_harms_nothing, |medium| {
    works(medium, full_disk).await;
});

on_both!(d4_57_a_log_whose_reader_is_gone_harms_nothing, |medium| {
    works(medium, closed_pipe).await;
});

on_both!(d4_57_a_log_that_nobody_reads_harms_nothing, |medium| {
    works(medium, stuck_pipe).await;
});
