//! Programs of two versions on one database: additions of a newer one bother none, and its removals are refused. Every `on_both!`
//! is two `#[tokio::test]`s, one a database.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::failover::Load;
use kit::stored::made;
use kit::*;

/// Runs a command with the database of a server that has ended; returns its exit code, and its
/// output.
async fn command(app: &App, arguments: &[&str]) -> (Option<i32>, String) {
    let env = [
        ("DATABASE_URL", app.database()),
        ("THINKD_LISTEN", "127.0.0.1:0"),
    ];
    app::ran(&app.folder(), &env, arguments).await
}

on_both!(what_a_newer_program_added_bothers_no_older_one, |medium| {
    let stub = Stub::start().await;
    stub.on(any, reply("hm"));
    let mut app = App::start(medium, &stub).await;
    app.tell("before").await;
    assert!(app.stop().await.success());
    made(&app, 8001, "a table more").await;
    made(&app, 8002, "what needs 0001").await;
    for text in [
        "create table later (space text not null, what text not null)",
        "insert into later values ('default', 'something')",
        "alter table threads add column later text",
        "alter table entries add column later text default 'x'",
        "create index events_later on events (space, source)",
    ] {
        stored::execute(app.database(), text).await;
    }
    app.start_again().await;
    assert_eq!(said(&app.tell("after").await[0]), "hm");
    assert!(app.stop().await.success());
    let file = app.folder().join("made").to_str().unwrap().to_owned();
    for arguments in [
        &["migrate"][..],
        &["rebuild"],
        &["rebuild", "--check"],
        &["backup", &file],
    ] {
        let (code, said) = command(&app, arguments).await;
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
    }
    let (_, doctor) = command(&app, &["doctor", "--wait-ms", "5000"]).await;
    let database = doctor.lines().find(|line| line.contains("database"));
    assert!(
        database.is_some_and(|line| line.starts_with("ok")),
        "{doctor}"
    );
    app.start_again().await;
    envelope::check_log(&app.log().await);
    assert!(app.stop().await.success());
});

on_both!(
    what_a_newer_program_took_away_is_refused_in_a_sentence,
    |medium| {
        let stub = Stub::start().await;
        stub.on(any, reply("hm"));
        let mut app = App::start(medium, &stub).await;
        app.tell("before").await;
        let file = app.folder().join("made").to_str().unwrap().to_owned();
        let (code, said) = command(&app, &["backup", &file]).await;
        assert_eq!(code, Some(0), "control: {said}");
        assert!(app.stop().await.success());
        made(&app, 8001, "names are gone needs 8000").await;
        let other = format!("{file}-2");
        for arguments in [
            &["serve"][..],
            &["migrate"],
            &["rebuild"],
            &["rebuild", "--check"],
            &["backup", &other],
            &["restore", &file],
            &["doctor", "--wait-ms", "5000"],
        ] {
            let (code, said) = command(&app, arguments).await;
            assert_ne!(code, Some(0), "{arguments:?}: {said}");
            for words in [
                "a newer thinkd made this database",
                "migration 8001 (names are gone needs 8000)",
                "has migration 8000",
                "restore a backup",
            ] {
                assert!(said.contains(words), "{arguments:?}: {said}");
            }
        }
        stored::execute(
            app.database(),
            "delete from _sqlx_migrations where version = 8001",
        )
        .await;
        app.start_again().await;
        assert_eq!(said_text(&app.tell("after").await), "hm");
    }
);

fn said_text(replies: &[serde_json::Value]) -> &str {
    said(&replies[0])
}

on_both!(a_migration_that_is_another_one_is_refused, |medium| {
    let stub = Stub::start().await;
    let mut app = App::start(medium, &stub).await;
    assert!(app.stop().await.success());
    let bytes = if app.is_postgres() {
        "decode('00', 'hex')"
    } else {
        "x'00'"
    };
    let text = format!("update _sqlx_migrations set checksum = {bytes} where version = 13");
    stored::execute(app.database(), &text).await;
    let (code, said) = command(&app, &["serve"]).await;
    assert_ne!(code, Some(0), "{said}");
    assert!(
        said.contains("migration 13 of this database is another one"),
        "{said}"
    );
});

/// The program of an earlier commit, where one is named.
fn earlier() -> Option<PathBuf> {
    let named = std::env::var_os("THINKD_OLD_BINARY").map(PathBuf::from);
    if named.is_none() {
        eprintln!("THINKD_OLD_BINARY names no earlier program: it was not tried beside this one");
    }
    named
}

/// Something is said to both at the same time, all the time: nothing is lost, and followers of both
/// miss nothing.
async fn take_messages(one: &App, other: &App) {
    let followers = [Followers::start(one).await, Followers::start(other).await];
    let loads = [
        Load::start(one, "main"),
        Load::start(other, "main"),
        Load::start(one, "aside"),
        Load::start(other, "aside"),
    ];
    for load in &loads {
        load.has_said(20).await;
    }
    let mut taken = Vec::new();
    for load in loads {
        let said = load.end().await;
        taken.extend(said);
    }
    for app in [one, other] {
        let log = app.public_log().await;
        for said in &taken {
            let is_it = |event: &&Value| event["event_id"] == said.id.as_str();
            assert_eq!(log.iter().filter(is_it).count(), 1, "{} is lost", said.id);
        }
        envelope::check_log(&app.log().await);
    }
    let [mut of_one, mut of_other] = followers;
    of_one.have_seen_all(one).await;
    of_other.have_seen_all(other).await;
}

// The release before runs on what this one made of its database, beside this one and alone.
#[tokio::test]
async fn an_earlier_program_and_this_one_serve_one_database() {
    let Some(earlier) = earlier() else { return };
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let beside = medium.beside();
    let mut old = Setup::new(medium, &stub).program(earlier).start().await;
    assert_eq!(said_text(&old.tell("before").await), "ok: before");
    let mut new = App::start(beside, &stub).await;
    take_messages(&old, &new).await;
    assert!(new.stop().await.success());
    assert_eq!(said_text(&old.tell("alone").await), "ok: alone");
    old.restart().await;
    assert_eq!(said_text(&old.tell("again").await), "ok: again");
    new.start_again().await;
    take_messages(&new, &old).await;
    assert!(old.stop().await.success());
    assert_eq!(said_text(&new.tell("upgraded").await), "ok: upgraded");
    kit::app::rows_are_what_the_log_says(&mut new).await;
}

// A program from before forks refuses the threads that are forks, and serves all others.
#[tokio::test]
async fn an_earlier_program_does_not_misread_a_fork() {
    let Some(earlier) = earlier() else { return };
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let beside = medium.beside();
    let new = App::start(medium, &stub).await;
    let old = Setup::new(beside, &stub)
        .program(earlier)
        .start_bare()
        .await;
    new.tell("one").await;
    let wish = json!({ "thread": "branch", "message": { "text": "two" } });
    new.post("/threads/main/fork", wish).await.expect(201);
    new.tell_in("branch", "three").await;
    let asked = stub.nth(2, decision).await;
    assert!(asked.says("one") && asked.says("two") && asked.says("three"));
    let before = new.pages("/events?thread=branch&order=asc&").await;
    for path in ["/threads/branch", "/threads/branch/messages"] {
        let answer = match path.ends_with("messages") {
            true => old.post(path, json!({ "text": "four" })).await,
            false => old.get(path).await,
        };
        answer.expect_problem(503, "unavailable");
    }
    assert_eq!(new.pages("/events?thread=branch&order=asc&").await, before);
    assert_eq!(
        said_text(&old.tell("main goes on").await),
        "ok: main goes on"
    );
    assert_eq!(said_text(&new.tell_in("branch", "five").await), "ok: five");
}
