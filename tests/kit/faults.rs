//! Injects faults into the store of a running server: commits that are answered too late, statements that hang, a paused process.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection, SqliteConnection};

use super::{App, Setup};

/// The library of a C file of this folder, to be loaded into one program; none where there is no C
/// compiler.
fn library(of: &str) -> Option<PathBuf> {
    let source = format!("{}/tests/kit/{of}.c", crate::ROOT);
    let library = std::env::temp_dir().join(format!("thinkd-{of}-{}.so", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .arg("-ldl");
    let made = compiler.status().is_ok_and(|status| status.success());
    made.then_some(library)
}

/// Makes a disk slow for one program.
fn slow_disk() -> Option<&'static PathBuf> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    LIBRARY.get_or_init(|| library("slow_disk")).as_ref()
}

/// A server with a clock that is so many seconds ahead as `WrongClock::is_ahead` says; none where
/// that cannot be had.
pub fn with_wrong_clock(setup: Setup) -> Option<(Setup, WrongClock)> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let Some(library) = LIBRARY.get_or_init(|| library("wrong_clock")) else {
        eprintln!("no C compiler here: tests with a wrong clock did not run");
        return None;
    };
    let control = setup.folder().join("wrong-clock");
    let setup = setup
        .env("LD_PRELOAD", library.display())
        .env("WRONG_CLOCK", control.display());
    Some((setup, WrongClock(control)))
}

/// The clock of one server.
pub struct WrongClock(PathBuf);

impl WrongClock {
    /// From now on it is so many seconds ahead.
    pub fn is_ahead(&self, seconds: i64) {
        // In one step: a reader meanwhile sees the one or the other.
        let next = self.0.with_extension("next");
        std::fs::write(&next, seconds.to_string()).unwrap();
        std::fs::rename(next, &self.0).unwrap();
    }
}

/// Lets commits of the server be slow later (`slow_commits`); none where that cannot be had.
pub fn with_slow_commits(setup: Setup) -> Option<Setup> {
    if setup.is_postgres() {
        return Some(setup);
    }
    let Some(library) = slow_disk() else {
        eprintln!("no C compiler here: tests with a slow disk did not run on SQLite");
        return None;
    };
    let control = setup.folder().join("slow-disk");
    Some(
        setup
            .env("LD_PRELOAD", library.display())
            .env("SLOW_DISK", control.display()),
    )
}

/// From now on a commit is made, and answered so much later.
pub async fn slow_commits(app: &App, time: Duration) {
    if !app.is_postgres() {
        std::fs::write(app.folder().join("slow-disk"), time.as_millis().to_string()).unwrap();
        return;
    }
    // Deferred, so that it is the commit that takes the time; once in a transaction.
    let text = format!(
        "create or replace function stall() returns trigger language plpgsql as $$ begin \
         if coalesce(current_setting('thinkd.stalled', true), '') = '' then \
         perform set_config('thinkd.stalled', 'yes', true); perform pg_sleep({}); end if; return null; end $$; \
         create constraint trigger stall after insert on events deferrable initially deferred \
         for each row execute function stall()",
        time.as_secs_f64()
    );
    execute(app, &text).await;
}

/// Commits are as fast as ever.
pub async fn fast_commits(app: &App) {
    if app.is_postgres() {
        execute(app, "drop trigger stall on events").await;
    } else {
        std::fs::remove_file(app.folder().join("slow-disk")).unwrap();
    }
}

/// Executes this text on the database, behind the server's back.
pub async fn execute(app: &App, text: &str) {
    super::stored::execute(app.database(), text).await;
}

/// While this lives, no statement of an append comes to its end: another connection has the lock
/// that it needs.
pub struct Hanging {
    postgres: Option<PgConnection>,
    sqlite: Option<SqliteConnection>,
}

impl Hanging {
    /// Takes the lock.
    pub async fn begin(app: &App) -> Self {
        if app.is_postgres() {
            let mut connection = PgConnection::connect(app.database()).await.unwrap();
            connection
                .execute(sqlx::raw_sql("begin; select * from spaces for update"))
                .await
                .unwrap();
            Self {
                postgres: Some(connection),
                sqlite: None,
            }
        } else {
            let mut connection = SqliteConnection::connect(app.database()).await.unwrap();
            connection.execute("begin immediate").await.unwrap();
            Self {
                postgres: None,
                sqlite: Some(connection),
            }
        }
    }

    /// Lets go.
    pub async fn end(self) {
        if let Some(mut connection) = self.postgres {
            connection.execute("rollback").await.unwrap();
            connection.close().await.unwrap();
        }
        if let Some(mut connection) = self.sqlite {
            connection.execute("rollback").await.unwrap();
            connection.close().await.unwrap();
        }
    }
}

/// Stops the process for so long, as a container that is paused.
pub async fn pause(app: &App, time: Duration) {
    let signal = |name: &str| {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -{name} {}", app.pid())])
            .status()
            .unwrap();
        assert!(sent.success());
    };
    signal("STOP");
    sometime(time).await;
    signal("CONT");
}

/// Lets so much time pass before a fault, which comes at any moment of a run: no event names that moment.
pub async fn sometime(time: Duration) {
    tokio::time::sleep(time).await;
}
