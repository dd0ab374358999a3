//! A database that fails while the server runs: a full disk, a server that is away.

use std::process::Command;

use sqlx::{Connection, Executor, PgConnection};

use crate::{App, Medium, polled};

/// From now on nothing can be written: no file may grow, or no connection is taken.
pub async fn fail(app: &App) {
    limit_files(app, "0:").await;
    connections(app, false).await;
}

/// As it was.
pub async fn mend(app: &App) {
    limit_files(app, "unlimited:").await;
    connections(app, true).await;
}

/// SQLite: the effect of a full disk on a program, for this one alone, and as often as a test
/// likes.
pub async fn limit_files(app: &App, limit: &str) {
    if app.database().starts_with("sqlite") {
        let pid = app.pid().to_string();
        let limit = format!("--fsize={limit}");
        assert!(
            Command::new("prlimit")
                .args(["--pid", &pid, &limit])
                .status()
                .unwrap()
                .success()
        );
    }
}

/// Postgres: the server refuses new connections, and drops the open ones.
async fn connections(app: &App, allowed: bool) {
    let Some((admin, name)) = app.admin() else {
        return;
    };
    let mut admin = PgConnection::connect(admin).await.unwrap();
    let texts = [
        format!("alter database {name} allow_connections {allowed}"),
        format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"),
    ];
    for text in &texts[..if allowed { 1 } else { 2 }] {
        admin
            .execute(sqlx::AssertSqlSafe(text.clone()))
            .await
            .unwrap();
    }
}

/// Not everywhere is there a program that sets another one's limits.
pub fn can_fail(medium: &Medium) -> bool {
    let can = medium.is_postgres() || Command::new("prlimit").output().is_ok();
    if !can {
        eprintln!("no prlimit here (Debian: util-linux): tests with a full disk did not run");
    }
    can
}

/// Returns the status of `/readyz`.
pub async fn ready(app: &App) -> u16 {
    app.get("/readyz").await.status
}

/// Waits for it.
pub async fn until_ready(app: &App, status: u16) {
    polled(&format!("readiness {status}"), async || {
        ready(app).await == status
    })
    .await;
}
