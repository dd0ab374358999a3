//! Postgres servers of one test, which it may promote, stop and make read-only; and a relay before them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{Connection, Executor, PgConnection};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use super::db::{as_owner, binaries, initdb, owned};
use super::{ms, watchdog, within};

/// A Postgres server; it ends, folder and all, when this is dropped.
pub struct Cluster {
    bin: PathBuf,
    folder: PathBuf,
    _shell: Child,
}

impl Cluster {
    /// An empty one with the database `thinkd`; none where Postgres is not installed.
    pub async fn start() -> Option<Self> {
        let bin = binaries()?;
        let folder = folder();
        owned(&folder);
        initdb(&bin, &folder);
        let cluster = Self::run(bin, folder);
        cluster.answers().await;
        let mut admin = PgConnection::connect(&cluster.url("postgres"))
            .await
            .unwrap();
        admin.execute("create database thinkd").await.unwrap();
        Some(cluster)
    }

    /// A standby of it: what is acknowledged from now on is on both.
    pub async fn standby(&self) -> Self {
        let folder = folder();
        owned(&folder);
        let copied = as_owner(&mut Command::new(self.bin.join("pg_basebackup")))
            .args(["-R", "-c", "fast", "-U", "thinkd", "-h"])
            .arg(&self.folder)
            .arg("-D")
            .arg(folder.join("data"))
            .current_dir(&folder)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&copied.stderr);
        assert!(copied.status.success(), "pg_basebackup failed: {said}");
        let standby = Self::run(self.bin.clone(), folder);
        standby.answers().await;
        self.sets("synchronous_standby_names = '*'").await;
        standby
    }

    /// Makes a standby the primary.
    pub async fn promote(&self) {
        let mut admin = PgConnection::connect(&self.url("postgres")).await.unwrap();
        admin.execute("select pg_promote()").await.unwrap();
    }

    /// Changes a setting of the server, for the sessions that there are, too.
    pub async fn sets(&self, setting: &str) {
        let mut admin = PgConnection::connect(&self.url("postgres")).await.unwrap();
        let text = format!("set default_transaction_read_only = off; alter system set {setting}");
        for text in text.split("; ") {
            admin
                .execute(sqlx::AssertSqlSafe(text.to_owned()))
                .await
                .unwrap();
        }
        admin.execute("select pg_reload_conf()").await.unwrap();
    }

    /// The folder of its socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn url(&self, database: &str) -> String {
        format!(
            "postgres://thinkd@localhost/{database}?host={}",
            self.folder.display()
        )
    }

    fn run(bin: PathBuf, folder: PathBuf) -> Self {
        let script = r#"
            "$1" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c full_page_writes=off \
                -c shared_buffers=16MB >"$2/log" 2>&1 </dev/null &
            postgres=$!
            cat >/dev/null
            kill -QUIT $postgres; wait $postgres; rm -rf "$2"
        "#;
        let mut shell = Command::new("sh");
        as_owner(&mut shell)
            .args(["-c", script, "sh"])
            .arg(bin.join("postgres"))
            .arg(&folder)
            .current_dir(&folder);
        let shell = watchdog::guarded(&mut shell);
        Self {
            bin,
            folder,
            _shell: shell,
        }
    }

    async fn answers(&self) {
        let log = self.folder.join("log");
        within(&format!("Postgres (its log: {})", log.display()), async {
            while PgConnection::connect(&self.url("postgres")).await.is_err() {
                tokio::time::sleep(ms(20)).await;
            }
        })
        .await;
    }
}

fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("thinkd-pg-{}-{number}", std::process::id()))
}

/// The course of a relay.
#[derive(Clone)]
enum Course {
    /// New connections lead there; those that are open stay.
    To(PathBuf),
    /// No byte passes any more, and no new connection is let in.
    Silent,
}

/// A TCP address before a Postgres, as a load balancer is one.
pub struct Relay {
    port: u16,
    course: watch::Sender<Course>,
}

impl Relay {
    /// A relay to a server. It has a thread of its own: the log is read through it when the test is
    /// over.
    pub fn to(cluster: &Cluster) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        let course = watch::Sender::new(Course::To(cluster.folder().to_owned()));
        let heard = course.subscribe();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(relay(listener, heard));
        });
        Self { port, course }
    }

    /// Leads new connections to another server.
    pub fn leads_to(&self, cluster: &Cluster) {
        self.course
            .send_replace(Course::To(cluster.folder().to_owned()));
    }

    /// Stands still.
    pub fn falls_silent(&self) {
        self.course.send_replace(Course::Silent);
    }

    /// The address of the database behind it.
    pub fn url(&self) -> String {
        format!(
            "postgres://thinkd@127.0.0.1:{}/thinkd?sslmode=disable",
            self.port
        )
    }
}

/// Relays until nobody changes its course any more.
async fn relay(listener: std::net::TcpListener, mut heard: watch::Receiver<Course>) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            changed = heard.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let Course::To(folder) = heard.borrow().clone() else {
            continue;
        };
        if let Ok((from, _)) = accepted {
            tokio::spawn(pass(from, folder, heard.clone()));
        }
    }
}

/// Passes on all bytes, until the relay falls silent.
async fn pass(mut from: TcpStream, folder: PathBuf, mut heard: watch::Receiver<Course>) {
    let Ok(mut to) = UnixStream::connect(folder.join(".s.PGSQL.5432")).await else {
        return;
    };
    let silent = heard.wait_for(|course| matches!(course, Course::Silent));
    let is_silent = tokio::select! {
        _ = copy_bidirectional(&mut from, &mut to) => false,
        silent = silent => silent.is_ok(),
    };
    if is_silent {
        // Both ends stay open.
        std::future::pending::<()>().await;
    }
}
