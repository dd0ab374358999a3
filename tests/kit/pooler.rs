//! PgBouncer before a Postgres of the tests: `THINKD_TEST_PGBOUNCER`, or the one of the path.

use std::path::Path;
use std::process::{Child, Command};

use super::db::as_owner;
use super::{db, polled, watchdog};

/// Lets sqlx and thinkd send parameters that PgBouncer does not know.
pub const IGNORES: &str = "ignore_startup_parameters = extra_float_digits,options";

/// A pooler, ended when this is dropped.
pub struct Pooler {
    shell: Child,
    port: u16,
    /// Its settings lie there.
    _folder: db::Folder,
}

impl Pooler {
    /// Starts one with these lines of settings, before the Postgres of a socket; none where PgBouncer is
    /// not installed.
    pub async fn start(socket: &Path, lines: &str) -> Option<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        Self::start_at(port, socket, lines).await
    }

    /// The same at a port.
    pub async fn start_at(port: u16, socket: &Path, lines: &str) -> Option<Self> {
        version()?;
        let folder = db::Folder::new();
        db::owned(folder.path());
        let ini = format!(
            "[databases]\n* = host={} user=thinkd\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             auth_type = any\nunix_socket_dir =\nmax_client_conn = 2000\n{lines}\n",
            socket.display()
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, ini).unwrap();
        // Its input stays open until this process ends.
        let script = r#""$1" -q "$2" 2>"$2.log" </dev/null &
            cat >/dev/null; kill -KILL $!; wait $!"#;
        let mut shell = Command::new("sh");
        as_owner(&mut shell)
            .args(["-c", script, "sh"])
            .args([program().as_str()])
            .arg(&file)
            .current_dir(folder.path());
        let shell = watchdog::guarded(&mut shell);
        let pooler = Self {
            shell,
            port,
            _folder: folder,
        };
        polled("PgBouncer", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_ok()
        })
        .await;
        Some(pooler)
    }

    /// The address of a database through it.
    pub fn url(&self, database: &str) -> String {
        let port = self.port;
        format!("postgres://thinkd@127.0.0.1:{port}/{database}?sslmode=disable")
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

fn program() -> String {
    std::env::var("THINKD_TEST_PGBOUNCER").unwrap_or_else(|_| "pgbouncer".into())
}

/// Returns the version of PgBouncer, such as `(1, 18)`; none where it is not installed.
pub fn version() -> Option<(u32, u32)> {
    let said = Command::new(program()).arg("--version").output().ok();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let version = said.as_deref().and_then(|said| {
        let number = said.split_whitespace().nth(1)?;
        let mut parts = number.split('.').map_while(|part| part.parse().ok());
        Some((parts.next()?, parts.next()?))
    });
    if version.is_none() {
        eprintln!("no PgBouncer here: tests with it did not run");
    }
    version
}

/// Returns whether this PgBouncer keeps prepared statements in transaction mode.
pub fn keeps_statements() -> bool {
    version().is_some_and(|version| version >= (1, 21))
}

/// The statements that a refusal asks for.
pub fn advised(refusal: &str) -> Vec<String> {
    let (_, statements) = refusal.split_once("connect anew: ").unwrap_or_default();
    let statements = statements.lines().next().unwrap_or_default().split("; ");
    statements.map(str::to_owned).collect()
}
