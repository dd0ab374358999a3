//! Commits with an unknown outcome: the disk, the database or the process stood still in the middle
//! of one. A follower of the live log is told all its events, once and in order; the log alone is
//! not asked.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::process::Command;

use serde_json::{Value, json};
use sqlx::{Connection, Executor, PgConnection};

use kit::faults::{self, Hanging};
use kit::followers::telling;
use kit::*;

/// Returns a server with commits of so many milliseconds. It does not look for waiting threads, so
/// that a thread that is not woken sleeps.
async fn start(medium: Medium, stub: &Stub, commit_ms: u64) -> Option<App> {
    let setup = Setup::new(medium, stub)
        .env("THINKD_TEST_RUNTIME__COMMIT_MS", commit_ms)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 600_000)
        .env("THINKD_LIMITS__FRAMES_PER_SECOND", 100_000);
    Some(faults::with_slow_commits(setup)?.start().await)
}

on_both!(
    d4_57_followers_are_told_of_a_commit_that_was_made_and_timed_out,
    |medium| {
        let stub = Stub::start().await;
        let Some(app) = start(medium, &stub, 1000).await else {
            return;
        };
        let mut followers = Followers::start(&app).await;
        let mut socket = app.socket().await;
        assert_eq!(socket.say("before").await["status"], "started");
        assert_eq!(
            said(&socket.response().await),
            "ok: before",
            "control: nothing is slow"
        );
        followers.have_seen_all(&app).await;

        faults::slow_commits(&app, ms(1600)).await;
        let id = thinkd_words::id::fresh().to_string();
        let frame = json!({ "type": "message", "thread": "main", "event_id": id, "text": "slow" });
        let ack = socket.ask(frame.clone()).await;
        assert_eq!(
            (&ack["type"], &ack["status"]),
            (&json!("ack"), &json!("started")),
            "its own second try: {ack}"
        );
        assert_eq!(
            said(&socket.response().await),
            "ok: slow",
            "the thread was woken"
        );
        assert_eq!(
            socket.ask(frame).await["status"],
            "duplicate",
            "control: a client that says it again"
        );
        let created = app.conversation(json!({ "label": "once" })).await;
        assert_eq!(created, "once");
        let told = telling(&app, "main", "and over HTTP")
            .await
            .unwrap()
            .expect(200);
        assert_eq!(
            said(&told["responses"][0]),
            "ok: and over HTTP",
            "who waits is told"
        );
        faults::fast_commits(&app).await;

        let threads = app.pages("/threads?").await;
        assert!(
            threads.iter().all(|row| row["id"] != "once-2"),
            "one was asked for: {threads:?}"
        );
        assert_eq!(said(&app.tell("after").await[0]), "ok: after");
        followers.have_seen_all(&app).await;
        let mut late = app.socket().await;
        late.say("to who comes late").await;
        assert_eq!(
            said(&late.response().await),
            "ok: to who comes late",
            "who comes new sees what is said now"
        );
        followers.have_seen_all(&app).await;
        envelope::check_turns(&app.public_log().await, "main");
        envelope::check_log(&app.log().await);
    }
);

// Both tries run out of time, so that the sender is refused; what is in the log all the same is told, though nothing comes after it.
on_both!(
    d4_57_followers_are_told_of_what_was_refused_and_stored,
    |medium| {
        let stub = Stub::start().await;
        let Some(app) = start(medium, &stub, 700).await else {
            return;
        };
        let mut followers = Followers::start(&app).await;
        let mut socket = app.socket().await;
        socket.chat("before").await;
        faults::slow_commits(&app, ms(3200)).await;
        let id = thinkd_words::id::fresh().to_string();
        let frame = json!({ "type": "message", "thread": "main", "event_id": id, "text": "slow" });
        let refused = socket.ask(frame.clone()).await;
        assert_eq!(
            refused["problem"]["type"], "/problems/unavailable",
            "{refused}"
        );
        let stored = socket
            .event("what was refused", |event| event["event_id"] == json!(id))
            .await;
        assert_eq!(said(&stored), "slow");
        faults::fast_commits(&app).await;
        followers.have_seen_all(&app).await;
        // What was slow comes to its end first.
        let again = async {
            loop {
                let answer = socket.ask(frame.clone()).await;
                if answer["type"] == "ack" {
                    return answer;
                }
            }
        };
        assert_eq!(within("an ack", again).await["status"], "duplicate");
        assert_eq!(
            said(&socket.response().await),
            "ok: slow",
            "whoever says it again wakes the thread"
        );
        followers.have_seen_all(&app).await;
        envelope::check_log(&app.log().await);
    }
);

// A statement that hangs is not a commit: nothing of it is stored, the sender hears that in time, and all goes on after it.
on_both!(
    d4_57_a_statement_that_hangs_is_refused_in_time_and_leaves_nobody_deaf,
    |medium| {
        let stub = Stub::start().await;
        let Some(app) = start(medium, &stub, 800).await else {
            return;
        };
        let mut followers = Followers::start(&app).await;
        let mut socket = app.socket().await;
        socket.chat("before").await;
        let hanging = Hanging::begin(&app).await;
        let refused = socket
            .ask(json!({ "type": "message", "text": "hangs" }))
            .await;
        assert_eq!(
            refused["problem"]["type"], "/problems/unavailable",
            "{refused}"
        );
        assert_eq!(app.get("/readyz").await.status, 503);
        hanging.end().await;
        within("readiness", async {
            while app.get("/readyz").await.status != 200 {}
        })
        .await;
        assert_eq!(said(&app.tell("after").await[0]), "ok: after");
        followers.have_seen_all(&app).await;
        assert!(
            app.public_log()
                .await
                .iter()
                .all(|event| said(event) != "hangs")
        );
        envelope::check_log(&app.log().await);
    }
);

// As a container that is paused and goes on: again and again in the middle of commits.
on_both!(
    d4_57_a_process_that_is_paused_in_a_commit_leaves_nobody_deaf,
    |medium| {
        let stub = Stub::start().await;
        let Some(app) = start(medium, &stub, 800).await else {
            return;
        };
        let mut followers = Followers::start(&app).await;
        let mut socket = app.socket().await;
        socket.chat("before").await;
        let mut sent = 0;
        let mut waiting = Vec::<Value>::new();
        for round in 0..8_u64 {
            for _ in 0..8 {
                let id = thinkd_words::id::fresh().to_string();
                let thread = format!("t{}", sent % 4);
                let frame = json!({ "type": "message", "thread": thread, "id": id, "event_id": id, "text": "hi" });
                socket.send(frame.clone()).await;
                waiting.push(frame);
                sent += 1;
            }
            faults::sometime(ms(round % 5)).await;
            faults::pause(&app, ms(1000)).await;
        }
        while let Some(frame) = waiting.first().cloned() {
            let of_it = |f: &Value| {
                f["id"] == frame["id"] && (f["type"] == "ack" || f["type"] == "problem")
            };
            let answer = socket.wait("an answer", of_it).await;
            if answer["type"] == "ack" {
                waiting.remove(0);
            } else {
                socket.send(frame).await;
            }
        }
        assert_eq!(said(&app.tell("after").await[0]), "ok: after");
        app.until("all turns", async || {
            !app.pages("/threads?")
                .await
                .iter()
                .any(|row| row["status"] != "idle")
        })
        .await;
        followers.have_seen_all(&app).await;
        let log = app.public_log().await;
        assert_eq!(with(&log, &["input"]).len(), sent + 2, "each of them once");
        envelope::check_log(&app.log().await);
    }
);

// Whoever wrote it, and whatever became of the one who should have said so: the feed reads what it lacks.
on_both!(
    d4_57_a_feed_that_is_behind_its_log_reads_what_is_missing,
    |medium| {
        let stub = Stub::start().await;
        let Some(app) = start(medium, &stub, 30_000).await else {
            return;
        };
        let mut followers = Followers::start(&app).await;
        app.tell("before").await;
        followers.have_seen_all(&app).await;
        assert_eq!(
            metric(&app, "thinkd_feed_behind_events").await,
            0.0,
            "control"
        );
        let late = metric(&app, "thinkd_feed_late_events_total").await;
        // As an event that was committed some seconds ago, and that nobody was told of. It has the tags of another one, so that only a
        // newer build would know what it says.
        let (id, head) = if app.is_postgres() {
            ("gen_random_uuid()", "; update spaces set head = head + 1")
        } else {
            ("randomblob(16)", "")
        };
        let text = format!(
            "insert into events (space, seq, event_id, ts, thread, source, modality, payload, tags, visibility) \
         select space, seq + 1, {id}, ts - 5000000, thread, source, modality, '{{\"text\":\"newer\"}}', tags, visibility \
         from events where seq = (select max(seq) from events){head}"
        );
        faults::execute(&app, &text).await;
        followers.have_seen_all(&app).await;
        assert_eq!(said(app.public_log().await.last().unwrap()), "newer");
        assert_eq!(metric(&app, "thinkd_feed_behind_events").await, 0.0);
        assert_eq!(
            metric(&app, "thinkd_feed_late_events_total").await,
            late + 1.0,
            "and it is counted"
        );
        app.until_says("told late").await;
    }
);

// How long the log takes is a figure of its own: it tells a slow disk from a slow model.
on_both!(how_long_appends_take_is_measured, |medium| {
    let stub = Stub::start().await;
    let Some(app) = start(medium, &stub, 30_000).await else {
        return;
    };
    app.tell("one").await;
    let count = metric(&app, "thinkd_append_seconds_count").await;
    let sum = metric(&app, "thinkd_append_seconds_sum").await;
    app.tell("another one").await;
    assert!(metric(&app, "thinkd_append_seconds_count").await > count);
    assert!(metric(&app, "thinkd_append_seconds_sum").await > sum);
    let text = app.get("/metrics").await.text;
    assert!(
        text.contains(r#"thinkd_append_seconds_bucket{le="0.5"}"#),
        "{text}"
    );
});

/// A metric without labels; 0 where it was never set.
async fn metric(app: &App, name: &str) -> f64 {
    let text = app.get("/metrics").await.text;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

// An upload is as safe as a message: where nobody heard what became of a write it is tried once more, and finds what is there.
on_both!(
    d4_57_an_upload_that_was_written_and_timed_out_is_stored,
    |medium| {
        let stub = Stub::start().await;
        let Some(app) = start(medium, &stub, 1000).await else {
            return;
        };
        let blob: Vec<u8> = b"ID3"
            .iter()
            .copied()
            .chain((0..600_u32 << 10).map(|at| (at % 251) as u8))
            .collect();
        let upload = async || http::send(app.request("POST", "/blobs").body(blob.clone())).await;
        if app.is_postgres() {
            // Once the connection is lost in the middle of it.
            let text = "create sequence lost; create function lose() returns trigger language plpgsql as $$ begin \
             if nextval('lost') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if; return null; end $$; \
             create trigger lose after insert on blobs for each statement execute function lose()";
            faults::execute(&app, text).await;
        } else {
            faults::slow_commits(&app, ms(1600)).await;
        }
        let stored = upload().await;
        assert_eq!(stored.status, 201, "{}", stored.text);
        if !app.is_postgres() {
            faults::fast_commits(&app).await;
        }
        let path = format!("/blobs/{}", thinkd_words::text::sha256(&blob));
        for _ in 0..2 {
            let kept = app
                .request("GET", &path)
                .send()
                .await
                .unwrap()
                .bytes()
                .await
                .unwrap();
            assert!(kept == blob, "{} bytes of {}", kept.len(), blob.len());
            assert!(
                upload().await.status < 300,
                "the same once more changes nothing"
            );
        }
    }
);

/// A backend of Postgres that stands still until this is dropped: it neither answers nor keeps to a limit of its own.
struct Frozen(i32);

impl Frozen {
    /// The one that waits for a lock with such a statement.
    async fn waiting(app: &App, like: &str) -> Self {
        let mut looking = PgConnection::connect(app.database()).await.unwrap();
        let text = "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' \
             and query like $1";
        let pid: i32 = polled_some("a statement that waits", async || {
            sqlx::query_scalar(text)
                .bind(like)
                .fetch_optional(&mut looking)
                .await
                .unwrap()
        })
        .await;
        signal("STOP", pid);
        Self(pid)
    }
}

fn signal(name: &str, pid: i32) {
    assert!(
        Command::new("sh")
            .args(["-c", &format!("kill -{name} {pid}")])
            .status()
            .unwrap()
            .success()
    );
}

impl Drop for Frozen {
    fn drop(&mut self) {
        signal("CONT", self.0);
    }
}

/// Blocks every reader of this table from now on.
async fn locked(app: &App, table: &str) -> PgConnection {
    let mut holder = PgConnection::connect(app.database()).await.unwrap();
    let text = format!("begin; lock table {table} in access exclusive mode");
    holder
        .execute(sqlx::raw_sql(sqlx::AssertSqlSafe(text)))
        .await
        .unwrap();
    holder
}

#[tokio::test]
async fn d4_57_a_read_that_is_never_answered_is_given_up_and_the_next_one_is_answered() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_LIMITS__READ_MS", 2000)
        .start()
        .await;
    app.conversation(json!({ "label": "here" })).await;
    let holder = locked(&app, "threads").await;
    let mut asked = std::pin::pin!(app.get("/threads"));
    let freezing = Frozen::waiting(&app, "%from threads where space = $1 and thread > $2%");
    let frozen = tokio::select! {
        answer = &mut asked => panic!("it is locked: {}", answer.text),
        frozen = freezing => frozen,
    };
    holder.close().await.unwrap();
    asked.await.expect_problem(503, "unavailable");
    for _ in 0..20 {
        app.get("/threads").await.expect(200);
    }
    drop(frozen);
}

#[tokio::test]
async fn d4_57_timers_are_fired_although_a_look_for_them_is_never_answered() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    stub.script(
        at("p"),
        [
            call("set_timer", json!({ "after_s": 1, "note": "tea" })),
            reply("I wait."),
        ],
    );
    stub.on(at("p"), reply("Tea."));
    let setup = Setup::new(medium, &stub).env("THINKD_TEST_LIMITS__READ_MS", 2000);
    let app = setup.env("THINKD_TEST_RUNTIME__SCAN_MS", 200).start().await;
    app.conversation(json!({ "label": "p" })).await;
    let holder = locked(&app, "timers").await;
    let frozen = Frozen::waiting(&app, "%from timers%").await;
    holder.close().await.unwrap();
    let mut socket = app.socket().await;
    app.say_in("p", "go").await;
    socket
        .event("the timer", |e| {
            e["thread"] == "p" && has(e, "timer") && !has(e, "set:timer")
        })
        .await;
    drop(frozen);
}
