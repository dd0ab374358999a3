//! Starts servers as processes: thinkd, and the floor where there is one.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use thinkd::event::draft::Draft;
use thinkd::log::appended::Append;
use thinkd::log::kernel::Store;
use thinkd::log::options::Options;
use thinkd::log::query::Query;
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::words::id::{Space, ThreadId};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::stub::Stub;

/// A connection to either.
pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The floor's program: the least code that does a durable turn (`floor`, in the folder that THINKD_YARDSTICK names).
pub fn floor() -> Option<PathBuf> {
    let folder = std::env::var_os("THINKD_YARDSTICK")?;
    Some(Path::new(&folder).join("floor")).filter(|path| path.exists())
}

/// The thinkd that is measured: this tree's, or the one that THINKD_BINARY names.
pub fn program() -> PathBuf {
    std::env::var_os("THINKD_BINARY")
        .map_or_else(|| env!("CARGO_BIN_EXE_thinkd").into(), PathBuf::from)
}

/// A folder that goes when this does.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        // Beside the build, not in /tmp: that may be memory, and a commit is to reach a disk.
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("bench-{}", thinkd::words::id::fresh()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The kind of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Thinkd,
    Floor,
}

/// The size of a turn: one call, or three voices and then a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    A,
    B,
}

impl Shape {
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }
}

/// A server that runs.
pub struct Server {
    pub kind: Kind,
    pub shape: Shape,
    /// `127.0.0.1:<port>`.
    pub address: String,
    child: Child,
}

/// Settings of thinkd here: the stub's models; no follow-ups, which the floor has not; no limits in
/// the way.
const SETTINGS: [&str; 11] = [
    "models.low.model=stub-text",
    "models.modules.decision.model=stub-tool",
    "turn.follow_up=false",
    "runtime.default_submodules=false",
    "limits.frames_per_second=100000",
    "limits.sockets=100000",
    "limits.sockets_per_key=100000",
    "THINKD_TEST_BUDGET__SENDS=1000000000",
    "budget.self_messages=1000000000",
    "log.level=warn",
    "log.format=json",
];

impl Server {
    /// Starts thinkd on a file, and returns at once.
    pub fn spawn_thinkd(file: &Path, stub: &Stub, shape: Shape) -> Self {
        Self::spawn_on(
            &format!("sqlite://{}", file.display()),
            file.parent().unwrap(),
            &stub.url(),
            shape,
            &[],
        )
    }

    /// thinkd on a file, ready, with a model elsewhere and settings of its own, and without voices.
    pub async fn thinkd_asking(file: &Path, model: &str, settings: &[&str]) -> Self {
        let database = format!("sqlite://{}", file.display());
        let server = Self::spawn_on(&database, file.parent().unwrap(), model, Shape::A, settings);
        server.ready().await;
        server
    }

    /// thinkd on a file, ready, with nothing configured: the offline model, the voices that it comes with.
    pub async fn thinkd_as_it_comes(file: &Path) -> Self {
        let address = free_address();
        let mut command = Command::new(program());
        command.env_clear().current_dir(file.parent().unwrap());
        command.args(["--listen", &address, "--database", &on(file)]);
        let server = Self::spawn(Kind::Thinkd, Shape::A, address, command);
        server.ready().await;
        server
    }

    /// Starts thinkd on a database, in a folder, and returns at once.
    fn spawn_on(
        database: &str,
        folder: &Path,
        model: &str,
        shape: Shape,
        settings: &[&str],
    ) -> Self {
        let address = free_address();
        let mut command = Command::new(program());
        command
            .env_clear()
            .env("OPENAI_BASE_URL", model)
            .env("OPENAI_API_KEY", "stub");
        // A slower disk (slow_flush.c) is for both.
        let slow = ["LD_PRELOAD", "SLOW_FLUSH_US"];
        command.envs(
            slow.iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        command.current_dir(folder);
        command.args(["--listen", &address, "--database", database]);
        for setting in SETTINGS.iter().chain(settings) {
            match setting.split_once('=') {
                Some((name, value)) if name.starts_with("THINKD_") => command.env(name, value),
                _ => command.args(["--set", setting]),
            };
        }
        Self::spawn(Kind::Thinkd, shape, address, command)
    }

    /// Starts the floor on a file, and returns at once.
    pub fn spawn_floor(program: &Path, file: &Path, stub: &Stub, shape: Shape) -> Self {
        let address = free_address();
        let port = address.rsplit(':').next().unwrap().to_owned();
        let mut command = Command::new(program);
        command
            .args([
                "--port",
                &port,
                "--llm",
                &stub.url(),
                "--sync",
                "FULL",
                "--db",
            ])
            .arg(file);
        Self::spawn(Kind::Floor, shape, address, command)
    }

    fn spawn(kind: Kind, shape: Shape, address: String, mut command: Command) -> Self {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            kind,
            shape,
            address,
            child,
        }
    }

    /// thinkd, ready, with the voices of the shape.
    pub async fn thinkd(file: &Path, stub: &Stub, shape: Shape) -> Self {
        let server = Self::spawn_thinkd(file, stub, shape);
        server.begin().await;
        server
    }

    /// The same on a database, in a folder.
    pub async fn thinkd_on(database: &str, folder: &Path, stub: &Stub, shape: Shape) -> Self {
        let server = Self::spawn_on(database, folder, &stub.url(), shape, &[]);
        server.begin().await;
        server
    }

    /// Starts thinkd with other settings, too, on a database, in a folder, and returns at once.
    pub fn thinkd_with(database: &str, folder: &Path, stub: &Stub, settings: &[&str]) -> Self {
        Self::spawn_on(database, folder, &stub.url(), Shape::A, settings)
    }

    /// Waits until thinkd serves, and sees to the voices of the shape.
    async fn begin(&self) {
        self.ready().await;
        if self.shape == Shape::B
            && self.get("/submodules").await["items"]
                .as_array()
                .unwrap()
                .is_empty()
        {
            self.voices(&["one", "two", "three"]).await;
        }
    }

    /// Gives it these voices.
    pub async fn voices(&self, names: &[&str]) {
        for name in names {
            let voice = json!({ "name": name, "prompt": format!("You are submodule {name}. Say what matters.") });
            let answer = http()
                .post(self.url("/submodules"))
                .json(&voice)
                .send()
                .await
                .unwrap();
            assert!(
                answer.status().is_success(),
                "a voice was refused: {}",
                answer.text().await.unwrap()
            );
        }
    }

    /// The floor, ready.
    pub async fn floor(program: &Path, file: &Path, stub: &Stub, shape: Shape) -> Self {
        let server = Self::spawn_floor(program, file, stub, shape);
        server.ready().await;
        server
    }

    /// Waits until it serves.
    pub async fn ready(&self) {
        let begin = Instant::now();
        let path = if self.kind == Kind::Thinkd {
            "/readyz"
        } else {
            "/history?thread=none"
        };
        let client = http();
        while !client
            .get(self.url(path))
            .send()
            .await
            .is_ok_and(|answer| answer.status().is_success())
        {
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "{:?} is not ready after a minute",
                self.kind
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub async fn get(&self, path: &str) -> Value {
        http()
            .get(self.url(path))
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    }

    /// Returns a socket that takes turns in one thread. From thinkd it hears the events of the
    /// thread's chat, no more.
    pub async fn talk(&self, thread: &str) -> Socket {
        let path = match self.kind {
            Kind::Thinkd => "/ws".to_owned(),
            Kind::Floor => format!("/ws/{}/{thread}", self.shape.name()),
        };
        let mut socket = connect(&format!("ws://{}{path}", self.address)).await;
        if self.kind == Kind::Thinkd {
            self.listen(&mut socket, thread).await;
        }
        socket
    }

    /// From now on the socket hears the replies in this thread.
    pub async fn listen(&self, socket: &mut Socket, thread: &str) {
        let frame =
            json!({ "type": "subscribe", "thread": thread, "tags": ["response"], "id": "s" });
        socket.send(Message::text(frame.to_string())).await.unwrap();
        until(socket, r#""id":"s""#).await;
    }

    /// One turn: says something, returns when the reply is there.
    pub async fn turn(&self, socket: &mut Socket, thread: &str, text: &str) {
        let frame = json!({ "type": "message", "thread": thread, "text": text });
        socket.send(Message::text(frame.to_string())).await.unwrap();
        let reply = if self.kind == Kind::Thinkd {
            r#""type":"event""#
        } else {
            r#""type":"reply""#
        };
        until(socket, reply).await;
    }

    /// Stops it, and waits for its end.
    pub fn stop(mut self) {
        drop(
            Command::new("sh")
                .args(["-c", &format!("kill {}", self.pid())])
                .status(),
        );
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) && self.child.try_wait().unwrap().is_none()
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A log in this process: for filling it before a server opens it.
pub async fn log(file: &Path) -> Arc<dyn Store> {
    log_at(&on(file)).await
}

/// The address of a database in a file.
pub fn on(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

/// The log of a database.
pub async fn log_at(url: &str) -> Arc<dyn Store> {
    store::open(url, Options::default(), ThreadRow::apply)
        .await
        .unwrap()
}

/// Waits for the log's search index: appends a unique word, until it is found.
pub async fn indexed(log: &Arc<dyn Store>, word: &str) {
    let said = Draft::reply(&ThreadId::default(), 1, "c0.0", word, false);
    log.append(Append::free(&Space::default(), vec![said]))
        .await
        .unwrap();
    let query = Query {
        text: Some(word.to_owned()),
        limit: 1,
        ..Query::default()
    };
    // A log that was filled in a hurry is indexed for a while; until then it asks to be asked again.
    while log
        .events(&Space::default(), &query)
        .await
        .map_or(true, |found| found.is_empty())
    {}
}

/// An HTTP client; `get` on the same one reuses its connection.
pub fn http() -> reqwest::Client {
    // A server closes what was idle for ten seconds (limits.header_ms): a bench that was busy as long must not use it again.
    let kept = Duration::from_secs(5);
    reqwest::Client::builder()
        .no_proxy()
        .tcp_nodelay(true)
        .pool_idle_timeout(kept)
        .build()
        .unwrap()
}

/// A socket to any of them.
pub async fn connect(url: &str) -> Socket {
    tokio_tungstenite::connect_async_with_config(url, None, true)
        .await
        .unwrap()
        .0
}

/// Reads frames until one has these words.
pub async fn until(socket: &mut Socket, words: &str) -> String {
    let found = async {
        while let Some(frame) = socket.next().await {
            let frame = frame.unwrap();
            let text = frame.to_text().unwrap_or_default();
            assert!(!text.contains(r#""type":"problem""#), "refused: {text}");
            if text.contains(words) {
                return text.to_owned();
            }
        }
        panic!("the socket was closed");
    };
    tokio::time::timeout(Duration::from_secs(60), found)
        .await
        .expect("an answer within a minute")
}

fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}
