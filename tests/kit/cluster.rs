//! Postgres servers of one test, which it may promote, stop and make read-only; and a relay before them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{Connection, Executor, PgConnection};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use super::db::{as_owner, binaries, initdb, owned};
use super::{polled, watchdog};

/// A Postgres server; it ends, folder and all, when this is dropped.
pub struct Cluster {
    bin: PathBuf,
    folder: PathBuf,
    /// Its port for TLS, if it has one.
    port: Option<u16>,
    _shell: Child,
}

impl Cluster {
    /// An empty one with the database `thinkd`; none where Postgres is not installed.
    pub async fn start() -> Option<Self> {
        Self::begin(None).await
    }

    /// The same with TLS on a port of this machine; none where there is no `openssl`, either.
    pub async fn start_with_tls() -> Option<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        Self::begin(Some(port)).await
    }

    async fn begin(port: Option<u16>) -> Option<Self> {
        let bin = binaries()?;
        let folder = folder();
        owned(&folder);
        initdb(&bin, &folder);
        if port.is_some() && !certified(&folder) {
            eprintln!("no openssl here: Postgres with TLS was not tried");
            return None;
        }
        let cluster = Self::run(bin, folder, port);
        cluster.answers().await;
        let mut admin = PgConnection::connect(&cluster.url("postgres"))
            .await
            .unwrap();
        admin.execute("create database thinkd").await.unwrap();
        Some(cluster)
    }

    /// A standby of it: every write that is acknowledged from now on is on both.
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
        let standby = Self::run(self.bin.clone(), folder, None);
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

    /// The address of its database `thinkd`.
    pub fn address(&self) -> String {
        self.url("thinkd")
    }

    fn url(&self, database: &str) -> String {
        format!(
            "postgres://thinkd@localhost:{}/{database}?host={}",
            self.port.unwrap_or(PORT),
            self.folder.display()
        )
    }

    fn run(bin: PathBuf, folder: PathBuf, port: Option<u16>) -> Self {
        let (address, tls) = match port {
            Some(_) => ("127.0.0.1", "on"),
            None => ("", "off"),
        };
        let script = r#"
            "$1" -D "$2/data" -k "$2" -c listen_addresses=$3 -c ssl=$4 -c port=$5 -c fsync=off \
                -c full_page_writes=off -c shared_buffers=16MB >"$2/log" 2>&1 </dev/null &
            postgres=$!
            cat >/dev/null
            kill -QUIT $postgres; wait $postgres; rm -rf "$2"
        "#;
        let mut shell = Command::new("sh");
        as_owner(&mut shell)
            .args(["-c", script, "sh"])
            .arg(bin.join("postgres"))
            .arg(&folder)
            .args([address, tls, &port.unwrap_or(PORT).to_string()])
            .current_dir(&folder);
        let shell = watchdog::guarded(&mut shell);
        Self {
            bin,
            folder,
            port,
            _shell: shell,
        }
    }

    async fn answers(&self) {
        let log = self.folder.join("log");
        polled(
            &format!("Postgres (its log: {})", log.display()),
            async || PgConnection::connect(&self.url("postgres")).await.is_ok(),
        )
        .await;
    }
}

/// The port of those that are reached by their sockets alone.
const PORT: u16 = 5432;

/// Makes a certificate for a cluster; false where that cannot be done.
fn certified(folder: &Path) -> bool {
    let data = folder.join("data");
    let made = as_owner(&mut Command::new("openssl"))
        .args([
            "req",
            "-new",
            "-x509",
            "-days",
            "2",
            "-nodes",
            "-subj",
            "/CN=localhost",
        ])
        .arg("-keyout")
        .arg(data.join("server.key"))
        .arg("-out")
        .arg(data.join("server.crt"))
        .current_dir(folder)
        .output();
    made.is_ok_and(|made| made.status.success())
}

fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("thinkd-pg-{}-{number}", std::process::id()))
}

/// The address of a cluster.
#[derive(Clone)]
enum Place {
    Port(u16),
    Socket(PathBuf),
}

impl Cluster {
    fn place(&self) -> Place {
        match self.port {
            Some(port) => Place::Port(port),
            None => Place::Socket(self.folder.join(format!(".s.PGSQL.{PORT}"))),
        }
    }
}

/// The course of a relay.
#[derive(Clone)]
enum Course {
    /// New connections lead there, to a port or a socket; those that are open stay, unless the number
    /// is another one.
    To(Place, u32),
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
        let course = watch::Sender::new(Course::To(cluster.place(), 0));
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
        self.course.send_replace(Course::To(cluster.place(), 0));
    }

    /// Leads to another server, and closes the connections that are open.
    pub fn moves_to(&self, cluster: &Cluster) {
        self.course.send_replace(Course::To(cluster.place(), 1));
    }

    /// Stands still.
    pub fn falls_silent(&self) {
        self.course.send_replace(Course::Silent);
    }

    /// The address of the database behind it.
    pub fn url(&self) -> String {
        self.url_with("disable")
    }

    /// The same with this `sslmode`.
    pub fn url_with(&self, sslmode: &str) -> String {
        let port = self.port;
        format!("postgres://thinkd@127.0.0.1:{port}/thinkd?sslmode={sslmode}")
    }
}

/// Relays until the sender of its course is gone.
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
        let Course::To(place, number) = heard.borrow().clone() else {
            continue;
        };
        if let Ok((from, _)) = accepted {
            tokio::spawn(pass(from, (place, number), heard.clone()));
        }
    }
}

/// Passes on all bytes, until the relay falls silent or closes its open connections.
async fn pass(
    mut from: TcpStream,
    (place, number): (Place, u32),
    mut heard: watch::Receiver<Course>,
) {
    let over = heard.wait_for(|course| match course {
        Course::Silent => true,
        Course::To(_, now) => *now != number,
    });
    let passed = async {
        match place {
            Place::Port(port) => {
                let mut to = TcpStream::connect(("127.0.0.1", port)).await?;
                copy_bidirectional(&mut from, &mut to).await
            }
            Place::Socket(path) => {
                let mut to = UnixStream::connect(path).await?;
                copy_bidirectional(&mut from, &mut to).await
            }
        }
    };
    tokio::pin!(passed);
    let is_silent = tokio::select! {
        _ = &mut passed => false,
        over = over => over.is_ok_and(|course| matches!(*course, Course::Silent)),
    };
    if is_silent {
        // Both ends stay open.
        std::future::pending::<()>().await;
    }
}
