//! A fresh database for every test: a SQLite file always, and a Postgres database where there is a Postgres: `TEST_DATABASE_URL` (a
//! server where databases may be created), or server binaries in `THINKD_TEST_PG_BIN`, `/usr/lib/postgresql/*/bin` or the path. From
//! these the run makes one cluster and deletes it at its end. Its `fsync` is off: the tests kill thinkd, not the database.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, OnceLock};

use sqlx::{Connection, Executor, PgConnection};
use thinkd_log::memory::Disk;
use tokio::sync::OnceCell;

use super::pooler::{self, IGNORES, Pooler};
use super::{app, polled, watchdog};

/// A folder that is removed when the value is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// A fresh, empty folder.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("thinkd-test-{}-{number}", std::process::id()));
        // A killed run with the same process id may have left one.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A folder and an empty database, both gone when the value is dropped.
pub struct Medium {
    folder: Folder,
    url: String,
    drop_on: Option<(String, String)>,
    disk: Option<Disk>,
    /// The address of the same database through a pooler.
    pooler: Option<String>,
}

impl Medium {
    /// An empty SQLite file (not yet made).
    pub fn sqlite() -> Self {
        let folder = Folder::new();
        let url = format!("sqlite://{}/thinkd.db", folder.path().display());
        let mut medium = Self::of(url);
        medium.folder = folder;
        medium
    }

    /// An empty database on Postgres; `None` (said once) where there is no Postgres.
    pub async fn postgres() -> Option<Self> {
        Some(Self::created(server().await?, "template1").await)
    }

    /// A database on Postgres with tables and no log, as `thinkd migrate` leaves it: a copy of one
    /// that the run makes. On a server that the run did not start it is empty: no copy is left there.
    pub async fn migrated() -> Option<Self> {
        static TEMPLATE: OnceCell<Option<Medium>> = OnceCell::const_new();
        if std::env::var_os("TEST_DATABASE_URL").is_some() {
            return Self::postgres().await;
        }
        let make = || async {
            let medium = Self::postgres().await?;
            let env = [("DATABASE_URL", medium.url())];
            let (code, said) = app::ran(medium.folder(), &env, &["migrate"]).await;
            assert_eq!(code, Some(0), "{said}");
            Some(medium)
        };
        let (_, template) = TEMPLATE.get_or_init(make).await.as_ref()?.admin()?;
        Some(Self::created(server().await?, template).await)
    }

    /// A database that is a copy of this one.
    async fn created(server: &Server, template: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "thinkd_test_{}_{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let create = format!("CREATE DATABASE {name} TEMPLATE {template}");
        let admin = server.url("postgres");
        let mut connection = PgConnection::connect(&admin).await.unwrap();
        connection
            .execute(sqlx::AssertSqlSafe(create))
            .await
            .unwrap();
        connection.close().await.unwrap();
        let mut medium = Self::of(server.url(&name));
        medium.drop_on = Some((admin, name));
        medium
    }

    /// The same behind PgBouncer: by transaction where it keeps prepared statements, else by session.
    pub async fn pooled() -> Option<Self> {
        static POOLER: OnceCell<Option<Pooler>> = OnceCell::const_new();
        let mut medium = Self::postgres().await?;
        let start = || async {
            let Some((_, socket)) = medium.url.split_once("?host=") else {
                say("no socket of Postgres here: tests of the store behind PgBouncer did not run");
                return None;
            };
            let mode = match pooler::keeps_statements() {
                true => "transaction",
                false => "session",
            };
            say(&format!("the store is tested behind PgBouncer, by {mode}"));
            let lines = format!("pool_mode = {mode}\ndefault_pool_size = 100\n{IGNORES}");
            Pooler::start(Path::new(socket), &lines).await
        };
        let pooler = POOLER.get_or_init(start).await.as_ref()?;
        let (_, name) = medium.admin().unwrap();
        medium.pooler = Some(pooler.url(name));
        Some(medium)
    }

    /// An empty store in memory: no server can be started on it.
    pub fn memory() -> Self {
        let mut medium = Self::of("memory".into());
        medium.disk = Some(Disk::default());
        medium
    }

    /// Returns the disk of a store in memory; none for any other.
    pub fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()
    }

    /// The same database, for another server, which the first one outlives.
    pub fn beside(&self) -> Self {
        Self::of(self.url.clone())
    }

    /// Returns whether several servers can share it.
    pub fn is_shared(&self) -> bool {
        self.url.starts_with("postgres")
    }

    /// A database that the test itself made.
    pub fn of(url: String) -> Self {
        Self {
            folder: Folder::new(),
            url,
            drop_on: None,
            disk: None,
            pooler: None,
        }
    }

    /// All there are here, each empty.
    pub async fn each() -> Vec<Self> {
        [Some(Self::sqlite()), Self::postgres().await]
            .into_iter()
            .flatten()
            .collect()
    }

    /// The same database for another server, which has a folder of its own. It goes with the first one.
    pub fn again(&self) -> Self {
        Self::of(self.url.clone())
    }

    /// The address of the same database through a pooler, if there is one before it.
    pub fn pooler(&self) -> Option<&str> {
        self.pooler.as_deref()
    }

    /// Returns the value for `DATABASE_URL`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A folder for the test's other files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Postgres: the URL of another database on the same server, and this one's name.
    pub fn admin(&self) -> Option<(&str, &str)> {
        self.drop_on
            .as_ref()
            .map(|(admin, name)| (admin.as_str(), name.as_str()))
    }

    /// Returns whether it is Postgres.
    pub fn is_postgres(&self) -> bool {
        self.drop_on.is_some()
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        let Some((admin, name)) = self.drop_on.take() else {
            return;
        };
        let drop = async move {
            let mut admin = PgConnection::connect(&admin).await?;
            admin
                .execute(sqlx::AssertSqlSafe(format!(
                    "DROP DATABASE IF EXISTS {name} WITH (FORCE)"
                )))
                .await
        };
        // A runtime of its own: this may run inside one, which must not be blocked on itself.
        let _ = std::thread::spawn(|| {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
                .block_on(drop)
        })
        .join();
    }
}

/// A Postgres server: the two halves of its URLs, around the database's name.
struct Server {
    before: String,
    after: String,
}

impl Server {
    fn url(&self, database: &str) -> String {
        format!("{}{database}{}", self.before, self.after)
    }
}

async fn server() -> Option<&'static Server> {
    static SERVER: OnceCell<Option<Server>> = OnceCell::const_new();
    let found = SERVER.get_or_init(|| async {
        if let Ok(url) = std::env::var("TEST_DATABASE_URL") {
            return Some(given(&url));
        }
        match binaries() {
            Some(bin) => Some(start(&bin).await),
            None => {
                say("no Postgres here (TEST_DATABASE_URL, THINKD_TEST_PG_BIN, /usr/lib/postgresql): tests on it did not run");
                None
            }
        }
    });
    found.await.as_ref()
}

fn given(url: &str) -> Server {
    let (address, query) = url
        .split_once('?')
        .map_or((url, String::new()), |(a, q)| (a, format!("?{q}")));
    let scheme = address.find("://").map_or(0, |at| at + 3);
    let end = address[scheme..]
        .find('/')
        .map_or(address.len(), |at| scheme + at);
    Server {
        before: format!("{}/", &address[..end]),
        after: query,
    }
}

/// A line that is seen although the test passes.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The folder with the programs of Postgres; none where it is not installed.
pub fn binaries() -> Option<PathBuf> {
    let complete = |bin: &PathBuf| bin.join("postgres").is_file() && bin.join("initdb").is_file();
    if let Some(bin) = std::env::var_os("THINKD_TEST_PG_BIN") {
        return Some(PathBuf::from(bin)).filter(complete);
    }
    let version = |bin: &PathBuf| bin.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    let installed = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let newest = installed
        .map(|entry| entry.path().join("bin"))
        .filter(complete)
        .max_by_key(version);
    newest.or_else(|| std::env::split_paths(&std::env::var_os("PATH")?).find(complete))
}

/// Makes a cluster in a fresh folder and starts it under a shell that ends it, folder and all, when this process is gone.
async fn start(bin: &Path) -> Server {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder =
        FOLDER.get_or_init(|| of_clusters().join(format!("thinkd-pg-{}", std::process::id())));
    owned(folder);
    initdb(bin, folder);
    let script = r#"
        "$1" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=400 \
            -c shared_buffers=64MB >"$2/log" 2>&1 </dev/null &
        postgres=$!
        cat >/dev/null
        kill -QUIT $postgres; wait $postgres; rm -rf "$2"
    "#;
    let mut shell = Command::new("sh");
    as_owner(&mut shell)
        .args(["-c", script, "sh"])
        .arg(bin.join("postgres"))
        .arg(folder)
        .current_dir(folder);
    // Its input stays open until this process ends.
    std::mem::forget(watchdog::guarded(&mut shell));
    let server = Server {
        before: "postgres://thinkd@localhost/".into(),
        after: format!("?host={}", folder.display()),
    };
    polled(
        &format!("Postgres (its log: {}/log)", folder.display()),
        async || PgConnection::connect(&server.url("postgres")).await.is_ok(),
    )
    .await;
    server
}

/// The folder for clusters: in memory where there is room, since each test makes and drops a database
/// of a thousand files.
fn of_clusters() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let room = rustix::fs::statvfs(memory).map_or(0, |it| it.f_bavail.saturating_mul(it.f_frsize));
    match room >= 4 << 30 {
        true => memory.into(),
        false => std::env::temp_dir(),
    }
}

/// Makes an empty folder for the user of Postgres.
pub fn owned(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    if let Some((user, group)) = *OWNER {
        chown(folder, Some(user), Some(group)).unwrap();
    }
}

/// Makes a cluster in `data` below this folder.
pub fn initdb(bin: &Path, folder: &Path) {
    let made = as_owner(&mut Command::new(bin.join("initdb")))
        .arg("-D")
        .arg(folder.join("data"))
        .args([
            "-U",
            "thinkd",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ])
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "initdb failed: {said}");
}

/// Postgres does not run as root: the user it runs as then, `postgres` or else `nobody`.
static OWNER: LazyLock<Option<(u32, u32)>> = LazyLock::new(|| {
    let is_root = fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ids = |name: &str| {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    is_root.then(|| {
        ids("postgres")
            .or_else(|| ids("nobody"))
            .unwrap_or((65534, 65534))
    })
});

/// Lets a command run as the user of Postgres.
pub fn as_owner(command: &mut Command) -> &mut Command {
    if let Some((user, group)) = *OWNER {
        command.uid(user).gid(group);
    }
    command
}

/// Provisioning itself: databases are empty, distinct, and work.
#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_test_has_a_database_of_its_own() {
        let a = Medium::sqlite();
        let b = Medium::sqlite();
        assert_ne!(a.url(), b.url());
        let Some(first) = Medium::postgres().await else {
            return;
        };
        let second = Medium::postgres().await.unwrap();
        assert_ne!(first.url(), second.url());
        let mut connection = PgConnection::connect(first.url()).await.unwrap();
        connection.execute("CREATE TABLE t (n int)").await.unwrap();
        let mut connection = PgConnection::connect(second.url()).await.unwrap();
        assert!(
            connection.execute("SELECT * FROM t").await.is_err(),
            "the second database has the first one's table"
        );
    }

    #[test]
    fn a_given_url_keeps_its_parameters() {
        let server = given("postgres://me:pw@db.example:5433/postgres?sslmode=disable");
        assert_eq!(
            server.url("x"),
            "postgres://me:pw@db.example:5433/x?sslmode=disable"
        );
        assert_eq!(
            given("postgres://db.example").url("x"),
            "postgres://db.example/x"
        );
    }
}
