//! Cases for the operator of a database and its servers: a restore under a server that runs, a
//! database that became another one, and the message where Postgres refuses connections.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::process::Stdio;
use std::time::Instant;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use kit::pooler::{IGNORES, Pooler};
use kit::*;

/// Runs a command with this database, and no other environment; returns its exit code, and its
/// output.
async fn command(app: &App, database: &str, arguments: &[&str]) -> (Option<i32>, String) {
    app::ran(
        &app.folder(),
        &[("DATABASE_URL", database), ("THINKD_LISTEN", "127.0.0.1:0")],
        arguments,
    )
    .await
}

/// A backup of a log with a reply, and how many events it has.
async fn backup(stub: &Stub) -> (App, String, usize) {
    let app = App::start(Medium::sqlite(), stub).await;
    app.tell("hello").await;
    let file = app.folder().join("made").to_str().unwrap().to_owned();
    let (code, said) = command(&app, app.database(), &["backup", &file]).await;
    assert_eq!(code, Some(0), "{said}");
    let events = app.log().await.len();
    (app, file, events)
}

async fn admin(url: &str, text: impl Into<String>) {
    PgConnection::connect(url)
        .await
        .unwrap()
        .execute(sqlx::raw_sql(AssertSqlSafe(text.into())))
        .await
        .unwrap();
}

/// Waits for the end of a server that goes on with nothing.
async fn ended(app: &mut App, says: &str) {
    let status = app.ended().await;
    assert!(!status.success(), "{status}");
    app.until_says(says).await;
}

on_both!(
    a_backup_is_not_restored_under_a_server_that_runs,
    |medium| {
        let stub = Stub::start().await;
        let (_copied, file, events) = backup(&stub).await;
        let mut app = App::start(medium, &stub).await;
        let epoch = app.get("/metadata").await.expect(200)["epoch"].clone();
        let (code, said) = command(&app, app.database(), &["restore", &file]).await;
        assert_eq!(code, Some(1), "{said}");
        let why = if app.is_postgres() {
            "stop all its servers"
        } else {
            "another thinkd has this database open"
        };
        assert!(said.contains(why), "{said}");
        assert_eq!(
            app.get("/metadata").await.expect(200)["epoch"],
            epoch,
            "nothing is changed"
        );
        assert_eq!(app.log().await.len(), 0);
        assert!(app.stop().await.success());
        let (code, said) = command(&app, app.database(), &["restore", &file]).await;
        assert_eq!(code, Some(0), "control: {said}");
        app.start_again().await;
        assert_ne!(app.get("/metadata").await.expect(200)["epoch"], epoch);
        assert_eq!(app.log().await.len(), events);
    }
);

// The end of a server reaches Postgres a moment later than the operator.
#[tokio::test]
async fn a_restore_waits_for_the_last_connection_of_a_server_that_has_ended() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let (copied, file, _) = backup(&stub).await;
    let url = medium.url().to_owned();
    let mut leaving = PgConnection::connect(&url).await.unwrap();
    let lock = "select pg_advisory_lock_shared(x'7468696e6b64'::bigint)";
    leaving.execute(lock).await.unwrap();
    let restoring = tokio::spawn(async move {
        app::ran(
            &copied.folder(),
            &[("DATABASE_URL", &url)],
            &["restore", &file],
        )
        .await
    });
    polled("a restore that asks for the lock", async || {
        let text = "select count(*) from pg_stat_activity \
             where datname = current_database() and query like '%pg_try_advisory_lock(%' and pid != pg_backend_pid()";
        let asking = sqlx::query_scalar::<_, i64>(text);
        asking.fetch_one(&mut leaving).await.unwrap() > 0
    })
    .await;
    leaving.close().await.unwrap();
    let (code, said) = restoring.await.unwrap();
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test]
async fn a_server_does_not_start_while_a_backup_is_restored() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let (copied, file, events) = backup(&stub).await;
    let url = medium.url().to_owned();
    let mut app = App::start(medium, &stub).await;
    assert!(app.stop().await.success());
    // Holds the restore up in the middle of its work.
    let mut other = PgConnection::connect(&url).await.unwrap();
    other
        .execute(sqlx::raw_sql("begin; lock table events in share mode"))
        .await
        .unwrap();
    let restoring = {
        let folder = copied.folder();
        let url = url.clone();
        tokio::spawn(async move {
            app::ran(&folder, &[("DATABASE_URL", &url)], &["restore", &file]).await
        })
    };
    polled("a restore that waits", async || {
        let text =
            "select count(*) from pg_locks where not granted and relation = 'events'::regclass";
        sqlx::query_scalar::<_, i64>(text)
            .fetch_one(&mut other)
            .await
            .unwrap()
            != 0
    })
    .await;
    let (code, said) = command(&copied, &url, &["serve"]).await;
    assert!(
        code == Some(1) && said.contains("a backup is being restored into this database"),
        "{said}"
    );
    other.execute("rollback").await.unwrap();
    let (code, said) = restoring.await.unwrap();
    assert_eq!(code, Some(0), "{said}");
    app.start_again().await;
    assert_eq!(
        app.log().await.len(),
        events,
        "what is served is what was restored"
    );
}

#[tokio::test]
async fn a_server_whose_database_became_another_one_ends() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let mut app = App::start(medium, &stub).await;
    app.tell("hello").await;
    let (url, name) = app
        .admin()
        .map(|(url, name)| (url.to_owned(), name.to_owned()))
        .unwrap();
    // Control: a connection that is lost ends nobody.
    let lost =
        format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'");
    admin(&url, lost.clone()).await;
    app.tell("again").await;
    // What a restore from elsewhere comes to, while the server cannot be met.
    admin(
        &url,
        format!("alter database {name} allow_connections false; {lost}"),
    )
    .await;
    admin(
        &url,
        format!("alter database {name} allow_connections true"),
    )
    .await;
    faults::execute(&app, "update log set epoch = gen_random_uuid()").await;
    admin(&url, lost).await;
    ended(&mut app, "another log than the one this server began with").await;
}

on_both!(a_server_without_its_tables_is_not_ready, |medium| {
    let stub = Stub::start().await;
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TOKEN", "token-of-an-admin")
        .start_bare()
        .await;
    app.authorize("Bearer token-of-an-admin");
    app.get("/readyz").await.expect(200);
    if app.is_postgres() {
        // Control: a table that somebody has locked is there.
        let mut other = PgConnection::connect(app.database()).await.unwrap();
        other
            .execute(sqlx::raw_sql(
                "begin; lock table mailboxes in access exclusive mode",
            ))
            .await
            .unwrap();
        app.get("/readyz").await.expect(200);
        other.execute("rollback").await.unwrap();
    }
    faults::execute(&app, "drop table mailboxes").await;
    assert_eq!(app.get("/readyz").await.status, 503);
    let full = app
        .get("/readyz?full=true")
        .await
        .expect_problem(503, "unavailable");
    assert!(full["detail"].to_string().contains("mailboxes"), "{full}");
});

#[tokio::test]
async fn a_server_whose_database_was_made_anew_without_tables_is_not_ready() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    app.tell("hello").await;
    let (url, name) = app.admin().unwrap();
    admin(url, format!("drop database {name} with (force)")).await;
    admin(url, format!("create database {name}")).await;
    for _ in 0..10 {
        assert_eq!(app.get("/readyz").await.status, 503);
        // For a second, over more than one look of the server at its database, of which nothing tells.
        tokio::time::sleep(ms(100)).await;
    }
}

/// Returns the URL with another role, a password that must not be told, and another database, or
/// the same for `None`.
fn named(url: &str, role: &str, database: Option<&str>) -> String {
    let (address, query) = url
        .split_once('?')
        .map_or((url, String::new()), |(address, query)| {
            (address, format!("?{query}"))
        });
    let (server, own) = address.rsplit_once('/').unwrap();
    let (scheme, host) = server.split_once("://").unwrap();
    let host = host.rsplit('@').next().unwrap();
    format!(
        "{scheme}://{role}:canary@{host}/{}{query}",
        database.unwrap_or(own)
    )
}

#[tokio::test]
async fn what_postgres_refuses_is_said_with_where_and_what_to_do() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let (url, name) = medium
        .admin()
        .map(|(url, name)| (url.to_owned(), name.to_owned()))
        .unwrap();
    let role = |of: &str| format!("{name}_{of}");
    admin(
        &url,
        format!(
            "create role {name}_plain login password 'canary'; create role {name}_none login password 'canary' connection limit 0; \
             create role {name}_still login password 'canary'; alter role {name}_still set default_transaction_read_only = on; \
             grant all on database {name} to {name}_still"
        ),
    )
    .await;
    stored::execute(
        medium.url(),
        &format!(
            "revoke create on schema public from public; grant all on schema public to {name}_still"
        ),
    )
    .await;
    let tls = if medium.url().contains('?') {
        "&sslmode=require"
    } else {
        "?sslmode=require"
    };
    let cases: &[(String, &[&str])] = &[
        (
            named(medium.url(), &role("plain"), None),
            &[
                "permission denied for schema public",
                "grant all on schema",
                &name,
            ],
        ),
        (
            named(medium.url(), &role("plain"), Some("no_such_one")),
            &["\"no_such_one\" does not exist", "createdb"],
        ),
        (
            named(medium.url(), &role("nobody"), None),
            &["_nobody", "DATABASE_URL", "password"],
        ),
        (
            named(medium.url(), &role("none"), None),
            &[
                "too many connections for role",
                "max_connections",
                "connection limit",
            ],
        ),
        (
            named(medium.url(), &role("still"), None),
            &[
                "read-only transaction",
                "standby",
                "default_transaction_read_only",
            ],
        ),
        (
            named("postgres://x@127.0.0.1:1/x", "who", None),
            &["127.0.0.1:1", "database x, role who", "see that it runs"],
        ),
        (
            named(medium.url(), &role("plain"), None) + tls,
            &["TLS", "sslmode"],
        ),
    ];
    for (url, says) in cases {
        for arguments in [&["serve"][..], &["doctor"]] {
            let (code, said) = command(&app, url, arguments).await;
            assert_eq!(code, Some(1), "{url}: {said}");
            for words in says.iter().chain(&["role ", "database "]) {
                assert!(
                    said.contains(words),
                    "{arguments:?} {url}: {words:?} is not in {said}"
                );
            }
            assert!(
                !said.contains("at line") && !said.contains("canary"),
                "{said}"
            );
        }
    }
    let roles = ["plain", "none", "still"].map(role).join(", ");
    stored::execute(medium.url(), &format!("drop owned by {roles}")).await;
    admin(&url, format!("drop owned by {roles}; drop role {roles}")).await;
}

/// A role that may have so many connections, and owns this database: the URL for it.
async fn few(medium: &Medium, limit: u32) -> Option<(String, String)> {
    let (url, name) = medium.admin()?;
    let role = format!("{name}_few");
    let text = format!(
        "create role {role} login password 'canary' connection limit {limit}; alter database {name} owner to {role}; \
         grant all on database {name} to {role}"
    );
    admin(url, text).await;
    stored::execute(
        medium.url(),
        &format!("grant all on schema public to {role}"),
    )
    .await;
    Some((named(medium.url(), &role, None), role))
}

/// Messages to many threads of these servers at once, again and again: every one has its reply.
async fn all_answered(apps: &[&App]) {
    for round in 0..3 {
        let asked = apps.iter().enumerate().flat_map(|(at, app)| {
            (0..6).map(move |thread| {
                let path = format!("/threads/t{at}-{thread}/messages?wait=20");
                app.request("POST", &path)
                    .json(&serde_json::json!({ "text": format!("round {round}") }))
            })
        });
        let asked: Vec<_> = asked
            .map(|request| tokio::spawn(http::send(request)))
            .collect();
        for answer in asked {
            let answer = answer.await.unwrap().expect(200);
            assert_eq!(
                answer["responses"][0]["payload"]["text"],
                format!("ok: round {round}"),
                "{answer}"
            );
        }
    }
    for app in apps {
        assert_eq!(app.get("/readyz").await.status, 200);
    }
}

async fn connections(url: &str, role: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let text = "select count(*) from pg_stat_activity where usename = $1";
    sqlx::query_scalar(text)
        .bind(role)
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

/// The role goes when nothing is its own any more.
async fn forget(medium: &Medium, role: &str) {
    let (url, name) = medium.admin().unwrap();
    let to = "select current_user";
    let owner: String = sqlx::query_scalar(to)
        .fetch_one(&mut PgConnection::connect(url).await.unwrap())
        .await
        .unwrap();
    let end = format!(
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = '{role}'"
    );
    admin(
        url,
        format!("alter role {role} nologin; {end}; alter database {name} owner to {owner}"),
    )
    .await;
    stored::execute(
        medium.url(),
        &format!("reassign owned by {role} to {owner}; drop owned by {role}"),
    )
    .await;
    admin(url, format!("drop owned by {role}; drop role {role}")).await;
}

#[tokio::test]
async fn servers_work_with_the_connections_that_postgres_gives() {
    // A server alone with a third of what it wants; and two that share what is too little for either.
    for (limit, servers) in [(7, 1), (13, 2)] {
        let Some(medium) = Medium::postgres().await else {
            return;
        };
        let (url, role) = few(&medium, limit).await.unwrap();
        let stub = Stub::start().await;
        let setup = Setup::new(medium.again(), &stub)
            .env("DATABASE_URL", &url)
            .voices(&["a", "b", "c"]);
        let app = setup.start().await;
        let beside = if servers == 2 {
            Some(app.beside().await)
        } else {
            None
        };
        let apps: Vec<&App> = [Some(&app), beside.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        all_answered(&apps).await;
        let log = app.public_log().await;
        assert_eq!(with(&log, &["failure"]).len(), 0, "{}", story(&log));
        app.until_says("up to 21 connections to Postgres are wanted (runtime.connections), and")
            .await;
        app.until_says("it goes on with fewer").await;
        drop((app, beside));
        forget(&medium, &role).await;
    }
}

#[tokio::test]
async fn a_server_has_no_more_connections_than_it_may() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let (url, role) = few(&medium, 100).await.unwrap();
    let stub = Stub::start().await;
    let app = Setup::new(medium.again(), &stub)
        .env("DATABASE_URL", &url)
        .env("THINKD_RUNTIME__CONNECTIONS", 6)
        .voices(&["a", "b", "c"])
        .start()
        .await;
    all_answered(&[&app]).await;
    assert_eq!(connections(medium.url(), &role).await, 6);
    assert!(
        !app.output().contains("it goes on with fewer"),
        "{}",
        app.output()
    );
    let setup = Setup::new(medium.again(), &stub).env("THINKD_RUNTIME__CONNECTIONS", 5);
    let env: Vec<(&str, &str)> = setup.environment().collect();
    let (code, said) = app::ran(setup.folder(), &env, &["serve"]).await;
    assert!(
        code == Some(2) && said.contains("runtime.connections = 5"),
        "{said}"
    );
    drop(app);
    forget(&medium, &role).await;
}

#[tokio::test]
async fn a_server_that_postgres_gives_no_connections_is_not_ready_and_goes_on_when_it_does() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let (url, role) = few(&medium, 100).await.unwrap();
    let stub = Stub::start().await;
    let mut app = Setup::new(medium.again(), &stub)
        .env("DATABASE_URL", &url)
        .env("THINKD_TOKEN", "token-of-an-admin")
        .start_bare()
        .await;
    app.authorize("Bearer token-of-an-admin");
    app.tell("before").await;
    let end = format!(
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = '{role}'"
    );
    for limit in [0, 2, 3] {
        admin(
            medium.url(),
            format!("alter role {role} connection limit {limit}"),
        )
        .await;
        admin(medium.url(), end.clone()).await;
        let full = app.get("/readyz?full=true").await;
        if limit == 0 {
            let full = full.expect_problem(503, "unavailable");
            assert!(full["detail"].to_string().contains("connection"), "{full}");
        }
        let ready = app.get("/readyz").await.status;
        let taken = app
            .post(
                "/threads/main/messages?wait=15",
                serde_json::json!({ "text": "now?" }),
            )
            .await;
        assert!(
            ready == 503 || taken.status == 200,
            "ready means that turns go on: {ready}, {}",
            taken.status
        );
    }
    admin(
        medium.url(),
        format!("alter role {role} connection limit 100"),
    )
    .await;
    kit::store_faults::until_ready(&app, 200).await;
    assert_eq!(said(&app.tell("again").await[0]), "ok: again");
    drop(app);
    forget(&medium, &role).await;
}

// A load balancer asks whether a server is alive by an address of its own.
#[tokio::test]
async fn health_is_told_to_whoever_asks_by_any_name() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let asked = async |path: &str| {
        let request = app.request("GET", path).header("host", "10.1.2.3:30080");
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(asked("/readyz").await, 200);
    assert_eq!(asked("/livez").await, 200);
    for path in ["/", "/metadata", "/events", "/console/", "/readyz/x"] {
        assert_eq!(asked(path).await, 421, "{path}");
    }
}

#[tokio::test]
async fn a_database_that_lacks_characters_is_refused_at_the_start() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let (server, name) = medium.admin().unwrap();
    let other = format!("{name}_latin");
    let text = format!(
        "create database {other} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0"
    );
    admin(server, text).await;
    let url = medium.url().replace(name, &other);
    for arguments in [&["serve"][..], &["doctor"]] {
        let env = [("DATABASE_URL", &*url), ("THINKD_LISTEN", "127.0.0.1:0")];
        let (code, said) = app::ran(medium.folder(), &env, arguments).await;
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(
            said.contains("LATIN1") && said.contains("encoding 'UTF8'"),
            "{said}"
        );
    }
    admin(server, format!("drop database {other}")).await;
}

// Tables are the owner's; the server's role reads and writes rows.
#[tokio::test]
async fn a_role_that_may_not_change_tables_starts_where_they_are_up_to_date() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let name = medium.admin().unwrap().1.to_owned();
    let role = format!("role_{name}");
    admin(
        medium.url(),
        format!("create role {role} login; grant usage on schema public to {role}"),
    )
    .await;
    let url = medium.url().replace("thinkd@", &format!("{role}@"));
    let env = [("DATABASE_URL", &*url), ("THINKD_LISTEN", "127.0.0.1:0")];
    let (code, said) = app::ran(medium.folder(), &env, &["serve"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("thinkd migrate"), "{said}");
    let owner = [("DATABASE_URL", medium.url())];
    let (code, said) = app::ran(medium.folder(), &owner, &["migrate"]).await;
    assert_eq!(
        (code, said.contains("of this version")),
        (Some(0), true),
        "{said}"
    );
    let text = format!(
        "grant select, insert, update, delete on all tables in schema public to {role}; \
         grant usage on all sequences in schema public to {role}"
    );
    admin(medium.url(), text).await;
    let stub = Stub::start().await;
    let app = Setup::new(Medium::of(url), &stub).start().await;
    assert_eq!(said_of(&app.tell("hello").await), "ok: hello");
    drop(app);
    admin(
        medium.url(),
        format!("drop owned by {role}; drop role {role}"),
    )
    .await;
}

fn said_of(replies: &[serde_json::Value]) -> &str {
    said(&replies[0])
}

/// A program that runs the server with a limit of open files, as `ulimit` sets it.
fn with_files(folder: &std::path::Path, ulimit: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("limited");
    let program = kit::program();
    let text = format!("#!/bin/sh\nulimit {ulimit}\nexec {program} \"$@\"\n");
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}

// Clients who hold connections open leave room for the models that answer them.
on_both!(many_connections_leave_room_for_turns, |medium| {
    let stub = Stub::start().await;
    let folder = db::Folder::new();
    let program = with_files(folder.path(), "-n 256");
    let app = Setup::new(medium, &stub).program(program).start().await;
    app.until_says("may have 256 open files").await;
    let mut streams = Vec::new();
    for _ in 0..300 {
        let stream = app.request("GET", "/events/stream").send().await;
        streams.extend(stream.ok().filter(|it| it.status() == 200));
    }
    assert!(
        (40..128).contains(&streams.len()),
        "{} are open",
        streams.len()
    );
    assert_eq!(said_of(&app.tell("hello").await), "ok: hello");
    assert_eq!(app.get("/readyz").await.status, 200);
});

#[tokio::test]
async fn a_soft_limit_of_open_files_is_raised() {
    let stub = Stub::start().await;
    let folder = db::Folder::new();
    let program = with_files(folder.path(), "-Sn 256");
    let app = Setup::new(Medium::sqlite(), &stub)
        .program(program)
        .start()
        .await;
    assert!(!app.output().contains("open files"), "{}", app.output());
    let mut streams = Vec::new();
    for _ in 0..300 {
        let stream = app.request("GET", "/events/stream").send().await.unwrap();
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    assert_eq!(said_of(&app.tell("hello").await), "ok: hello");
}

// Messages are stored, and nobody can read: requests are for another server then.
#[tokio::test]
async fn a_server_whose_reads_fail_is_not_ready() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    app.tell("hello").await;
    for table in ["events", "threads", "submodules", "blobs"] {
        assert_eq!(app.get("/readyz").await.status, 200, "control");
        let mut admin = PgConnection::connect(app.database()).await.unwrap();
        let lock = format!("begin; lock table {table} in access exclusive mode");
        admin
            .execute(sqlx::raw_sql(AssertSqlSafe(lock)))
            .await
            .unwrap();
        assert_eq!(app.get("/readyz").await.status, 503, "{table} is locked");
        admin.execute("rollback").await.unwrap();
    }
    let rename = "alter table submodules rename to gone";
    stored::execute(app.database(), rename).await;
    assert_eq!(app.get("/readyz").await.status, 503);
    let full = app.get("/readyz?full=true").await.expect(503);
    let detail = full["detail"].as_str().unwrap();
    assert!(
        detail.contains("submodules") && detail.contains("restore"),
        "{detail}"
    );
    let rename = "alter table gone rename to submodules";
    stored::execute(app.database(), rename).await;
    assert_eq!(app.get("/readyz").await.status, 200);
}

// What fits is said before anybody is turned away.
#[tokio::test]
async fn the_doctor_says_how_many_clients_fit() {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let app = App::start(Medium::sqlite(), &stub).await;
    let folder = db::Folder::new();
    for (limit, wanted) in [
        (
            "-n 256",
            &[
                "may have 256 open files",
                "128 are kept",
                "96 sockets and 32 other connections fit, fewer than",
                "LimitNOFILE",
            ][..],
        ),
        ("-Sn 300", &["256 are kept", "fit, as limits.sockets says"]),
    ] {
        let program = with_files(folder.path(), limit);
        let said = std::process::Command::new(program)
            .args(["doctor", "--wait-ms", "5000", "--url"])
            .arg(app.url(""))
            .current_dir(folder.path())
            .env_clear()
            .envs([("THINKD_MODEL", "stub"), ("OPENAI_BASE_URL", &stub.url())])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let line = said
            .lines()
            .find(|line| line.contains("descriptors"))
            .unwrap_or(&said);
        for words in wanted {
            assert!(line.contains(words), "{words}: {line}");
        }
    }
}

// Words for people about addresses that the library misreads.
#[tokio::test]
async fn an_address_of_a_database_that_cannot_be_read_says_why() {
    let folder = db::Folder::new();
    for (url, wanted) in [
        ("postgres://ann:p@ss/w#rd?%@127.0.0.1:1/minds", "%40 %2F"),
        ("postgres://me@one,two:5432/minds", "several hosts"),
        ("postgres://me@one/minds?sslrootcert=system", "name a file"),
        ("postgres://me@[::1]:1/minds", "Postgres at ::1:1"),
    ] {
        let env = [("DATABASE_URL", url), ("THINKD_LISTEN", "127.0.0.1:0")];
        let (code, said) = app::ran(folder.path(), &env, &["serve"]).await;
        assert_ne!(code, Some(0), "{url}: {said}");
        assert!(said.contains(wanted), "{url}: {said}");
        assert!(!said.contains("ss:5432") && !said.contains("rd?"), "{said}");
        assert!(!said.contains("lookup"), "{said}");
    }
}

// Behind a pooler by session a server has the settings that its safety rests on.
#[tokio::test]
async fn a_pooler_by_session_is_used_and_one_by_transaction_is_refused() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let folder = db::Folder::new();
    let serve = async |url: &str| {
        let env = [("DATABASE_URL", url), ("THINKD_LISTEN", "127.0.0.1:0")];
        app::ran(folder.path(), &env, &["serve"]).await
    };
    let socket = cluster.folder();
    let Some(pooler) = Pooler::start(socket, "pool_mode = session").await else {
        return;
    };
    let (code, said) = serve(&pooler.url("thinkd")).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("ignore_startup_parameters"), "{said}");
    drop(pooler);

    let lines = format!("pool_mode = transaction\n{IGNORES}");
    let pooler = Pooler::start(socket, &lines).await.unwrap();
    for _ in 0..3 {
        let (code, said) = serve(&pooler.url("thinkd")).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("pool_mode = session"), "{said}");
        assert!(said.contains("DATABASE_DIRECT_URL"), "{said}");
    }
    // Clients that come next find the connections as they were.
    let url = pooler.url("thinkd");
    for setting in ["statement_timeout", "synchronous_commit", "enable_sort"] {
        let shown = stored::text(&url, &format!("show {setting}")).await;
        assert_eq!(
            shown,
            stored::text(&cluster.address(), &format!("show {setting}")).await
        );
    }
    drop(pooler);

    let lines = format!("pool_mode = session\ndefault_pool_size = 60\n{IGNORES}");
    let pooler = Pooler::start(socket, &lines).await.unwrap();
    let stub = Stub::start().await;
    let mut app = Setup::new(Medium::of(pooler.url("thinkd")), &stub)
        .start()
        .await;
    assert_eq!(said_of(&app.tell("hello").await), "ok: hello");
    app.kill();
    no_lock_is_held(&cluster.address()).await;
    app.start_again().await;
    assert_eq!(said_of(&app.tell("again").await), "ok: again");
    drop(app);
}

/// Waits until no advisory lock is held: one refuses a restore.
async fn no_lock_is_held(direct: &str) {
    let mut other = within("a connection", PgConnection::connect(direct))
        .await
        .unwrap();
    polled("a lock that is free after kill -9", async || {
        let text = "select count(*) from pg_locks where locktype = 'advisory'";
        let count = sqlx::query_scalar::<_, i64>(text).fetch_one(&mut other);
        count.await.unwrap() == 0
    })
    .await;
}

// Advice names the setting of the address that failed.
#[tokio::test]
async fn a_direct_address_that_leads_nowhere_is_named_as_such() {
    let folder = db::Folder::new();
    for wrong in ["postgres://thinkd:x@127.0.0.1:1/thinkd", "postgres://a b"] {
        let env = [
            ("DATABASE_URL", "postgres://thinkd@127.0.0.1:2/pooled"),
            ("DATABASE_DIRECT_URL", wrong),
            ("THINKD_LISTEN", "127.0.0.1:0"),
        ];
        let (code, said) = app::ran(folder.path(), &env, &["serve"]).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("DATABASE_DIRECT_URL"), "{said}");
        assert!(!said.contains("DATABASE_URL"), "{said}");
    }
}

// Beside Postgres itself a pooler may share connections: nothing of a server stays on them.
#[tokio::test]
async fn a_pooler_beside_the_direct_address_has_no_session_of_a_server() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let stub = Stub::start().await;
    let socket = cluster.folder();
    let direct = cluster.address();
    let other = direct.replace("/thinkd?", "/postgres?");
    let folder = db::Folder::new();
    let serve = async |url: &str, direct: &str| {
        let env = [
            ("DATABASE_URL", url),
            ("DATABASE_DIRECT_URL", direct),
            ("THINKD_LISTEN", "127.0.0.1:0"),
        ];
        app::ran(folder.path(), &env, &["serve"]).await
    };
    for mode in ["session", "transaction"] {
        let lines = format!("pool_mode = {mode}\n{IGNORES}");
        let Some(mut pooler) = Pooler::start(socket, &lines).await else {
            return;
        };
        let url = pooler.url("thinkd");
        let port = pooler.port();
        if mode == "transaction" && !pooler::keeps_statements() {
            let (code, said) = serve(&url, &direct).await;
            assert_eq!(code, Some(1), "{said}");
            assert!(said.contains("PgBouncer from 1.21 on"), "{said}");
            eprintln!(
                "PgBouncer is older than 1.21: by transaction it is refused, as it should be"
            );
            return;
        }
        // Once, its role lacks settings; the words say how it gets them.
        if mode == "session" {
            let (code, said) = serve(&url, &direct).await;
            assert_eq!(code, Some(1), "{said}");
            for statement in pooler::advised(&said) {
                stored::execute(&direct, &statement).await;
            }
            drop(pooler);
            pooler = Pooler::start_at(port, socket, &lines).await.unwrap();
            let (code, said) = serve(&url, &other).await;
            assert_eq!(code, Some(1), "{said}");
            assert!(said.contains("lead to different databases"), "{said}");
        }
        let mut app = Setup::new(Medium::of(url.clone()), &stub)
            .env("DATABASE_DIRECT_URL", &direct)
            .start()
            .await;
        assert_eq!(said_of(&app.tell("hello").await), "ok: hello");
        // A pooler that was started again is used again.
        drop(pooler);
        polled("a server that is not ready", async || {
            app.get("/readyz").await.status == 503
        })
        .await;
        let pooler = Pooler::start_at(port, socket, &lines).await.unwrap();
        polled("a server that is ready", async || {
            app.get("/readyz").await.status == 200
        })
        .await;
        assert_eq!(said_of(&app.tell("again").await), "ok: again");
        app.kill();
        no_lock_is_held(&direct).await;
        drop((app, pooler));
        // A copy has the same epoch, and is another database all the same.
        let make = format!("create database copy_{mode} template thinkd");
        stored::execute(&other, &make).await;
        let _pooler = Pooler::start_at(port, socket, &lines).await.unwrap();
        let copy = direct.replace("/thinkd?", &format!("/copy_{mode}?"));
        let (code, said) = serve(&url, &copy).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("lead to different databases"), "{said}");
    }
}

// A start that waits for a lock says so, and a signal ends it.
#[tokio::test]
async fn a_start_that_waits_for_its_database_says_so_and_can_be_stopped() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let mut other = PgConnection::connect(app.database()).await.unwrap();
    other
        .execute("begin; lock table log in access exclusive mode")
        .await
        .unwrap();
    let folder = db::Folder::new();
    let mut command = tokio::process::Command::new("sh");
    command
        .args(["-c", "exec \"$0\" 2>&1", kit::program()])
        .env_clear()
        .env("DATABASE_URL", app.database())
        .env("THINKD_LISTEN", "127.0.0.1:0")
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut start = command.spawn().unwrap();
    let mut lines = BufReader::new(start.stdout.take().unwrap()).lines();
    within("the word that it waits", async {
        loop {
            let line = lines.next_line().await.unwrap().expect("it goes on");
            if line.contains("still opening the database") {
                return;
            }
        }
    })
    .await;
    let pid = start.id().unwrap();
    let begun = Instant::now();
    let sent = std::process::Command::new("sh")
        .args(["-c", &format!("kill -TERM {pid}")])
        .status();
    assert!(sent.unwrap().success());
    let status = within("the end of the start", start.wait()).await.unwrap();
    assert!(status.success(), "{status}");
    assert!(begun.elapsed() < ms(3000), "{:?}", begun.elapsed());
}
