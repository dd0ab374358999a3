//! Tenants: the wait of B for its acks and replies while A hangs, floods, searches, uploads, spawns
//! and catches up, beside its wait alone. As a control, A does the same to another server on this
//! machine. A is a process of its own (this program, started anew) at the lowest priority: it gets
//! only idle processor time.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use thinkd::event::draft::Draft;
use thinkd::log::appended::Append;
use thinkd::log::options::Options;
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::words::id::{Space, ThreadId};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::figures::{Arguments, Usage, at, client, median, since};
use crate::postgres::Database;
use crate::process::{self, Folder, Server, Socket};
use crate::stub::Stub;

/// The attacks of A on B; the last one is all of them at the same time.
const ATTACKS: [&str; 7] = [
    "hang", "flood", "search", "upload", "spawn", "readers", "all",
];
const A: &str = "Bearer the-key-of-tenant-a";
const B: &str = "Bearer the-key-of-tenant-b";
const KEYS: &str = "[[keys]]\nkey = \"the-key-of-tenant-a\"\nspace = \"a\"\n\
    [[keys]]\nkey = \"the-key-of-tenant-b\"\nspace = \"b\"\n";
/// The default limits, and fewer places for turns, so that the hanging turns could take them all.
const SETTINGS: [&str; 3] = [
    "limits.frames_per_second=200",
    "limits.sockets=10000",
    "THINKD_TEST_RUNTIME__WORKERS=16",
];
/// The log of A before it begins: 5,000 events, 3 MB.
const LOG: usize = 5000;
const HANGING: usize = 64;
const SOCKETS: usize = 32;
const SEARCHERS: usize = 16;
const UPLOADERS: usize = 4;
const UPLOAD: usize = 49 << 20;
const NESTS: usize = 16;
const READERS: usize = 1000;
/// Between two messages of B.
const EVERY: Duration = Duration::from_millis(20);
/// When B is not answered at all, that is the end of its block, and counts as this long.
const PATIENCE: Duration = Duration::from_secs(20);
/// Seconds of B's block, at least: a 99th percentile has to be of something.
const SECS: f64 = 8.0;

pub fn run(arguments: &Arguments) {
    let stub = Stub::start();
    let client = client();
    let postgres = std::env::var("BENCH_POSTGRES_URL").ok();
    if postgres.is_none() {
        println!("SQLite alone: BENCH_POSTGRES_URL names no server");
    }
    let wanted = |name: &str| arguments.case.as_ref().is_none_or(|case| case == name);
    for url in [None, postgres.as_deref()]
        .into_iter()
        .take(1 + usize::from(postgres.is_some()))
    {
        for attack in ATTACKS.into_iter().filter(|attack| wanted(attack)) {
            client.block_on(compare(arguments, &stub, url, attack));
        }
    }
}

/// Waits of B, in milliseconds.
#[derive(Clone, Copy)]
struct Waited {
    ack: [f64; 2],
    reply: [f64; 2],
}

/// B's three blocks of a round, each on the same server of its.
struct Round {
    alone: Waited,
    /// A is a tenant of another server, with a database of its own: B then waits for the machine
    /// only.
    apart: Waited,
    beside: Waited,
    /// MiB.
    grown: f64,
}

async fn compare(arguments: &Arguments, stub: &Stub, postgres: Option<&str>, attack: &str) {
    let mut rounds = Vec::new();
    for _ in 0..arguments.rounds {
        rounds.push(round(arguments, stub, postgres, attack).await);
    }
    let store = if postgres.is_some() {
        "Postgres"
    } else {
        "SQLite"
    };
    for (name, of) in [
        ("ack", (|waited| waited.ack) as fn(&Waited) -> [f64; 2]),
        ("reply", |waited| waited.reply),
    ] {
        for (at, share) in ["p50", "p99"].into_iter().enumerate() {
            let waited = |which: fn(&Round) -> &Waited| {
                median(rounds.iter().map(|round| of(which(round))[at]))
            };
            let ratio = |which: fn(&Round) -> &Waited, to: fn(&Round) -> &Waited| {
                median(
                    rounds
                        .iter()
                        .map(|round| of(which(round))[at] / of(to(round))[at]),
                )
            };
            println!(
                "{store:<8} {attack:<8} {name:<5} {share} {:7.2} ms alone, {:7.2} with A: {:5.2} (goal 2 of p99)   \
                 {:7.2} with A elsewhere: {:5.2}   with A to that: {:5.2}",
                waited(|round| &round.alone),
                waited(|round| &round.beside),
                ratio(|round| &round.beside, |round| &round.alone),
                waited(|round| &round.apart),
                ratio(|round| &round.apart, |round| &round.alone),
                ratio(|round| &round.beside, |round| &round.apart),
            );
        }
    }
    println!(
        "{store:<8} {attack:<8} the server grew by {:.1} MiB",
        median(rounds.iter().map(|round| round.grown))
    );
}

/// Runs on servers of its own: the remains of A are not in B's "alone" of the next round.
async fn round(arguments: &Arguments, stub: &Stub, postgres: Option<&str>, attack: &str) -> Round {
    let secs = arguments.secs.max(SECS);
    let home = Home::new(postgres, stub).await;
    let mut socket = talk(&home.server).await;
    block(&mut socket, 1.0).await;
    let alone = block(&mut socket, secs).await;
    let elsewhere = Home::new(postgres, stub).await;
    let attacker = Attacker::start(attack, &elsewhere.server.address);
    let apart = block(&mut socket, secs).await;
    drop(attacker);
    elsewhere.close().await;
    let before = Usage::of(home.server.pid()).kib;
    let attacker = Attacker::start(attack, &home.server.address);
    let beside = block(&mut socket, secs).await;
    let grown = (Usage::of(home.server.pid()).kib - before) / 1024.0;
    drop((attacker, socket));
    home.close().await;
    Round {
        alone,
        apart,
        beside,
        grown,
    }
}

/// A server and its database, in which A has a log.
struct Home {
    server: Server,
    database: Option<Database>,
    _folder: Folder,
}

impl Home {
    async fn new(postgres: Option<&str>, stub: &Stub) -> Self {
        let folder = Folder::new();
        let database = match postgres {
            Some(url) => Some(Database::new(url, true).await),
            None => None,
        };
        let file = format!("sqlite://{}", folder.file("tenants.db").display());
        let url = database
            .as_ref()
            .map_or(file.as_str(), |database| &database.url);
        fill(url).await;
        let server = start(url, &folder.0, stub).await;
        Self {
            server,
            database,
            _folder: folder,
        }
    }

    async fn close(self) {
        self.server.stop();
        if let Some(database) = self.database {
            database.drop().await;
        }
    }
}

async fn start(database: &str, folder: &Path, stub: &Stub) -> Server {
    std::fs::write(folder.join("thinkd.toml"), KEYS).unwrap();
    let server = Server::thinkd_with(database, folder, stub, &SETTINGS);
    server.ready().await;
    server
}

/// Fills A's log, for searches and catching up.
async fn fill(url: &str) {
    let log = store::open(url, Options::default(), ThreadRow::apply)
        .await
        .unwrap();
    let space = Space::parse("a").unwrap();
    let words = "this is what the plan says about it ".repeat(12);
    for part in 0..LOG / 250 {
        let reply = |n: usize| {
            Draft::reply(
                &ThreadId::default(),
                1,
                &format!("c{n}"),
                &format!("{words}{n}"),
                false,
            )
        };
        log.append(Append::free(
            &space,
            (part * 250..(part + 1) * 250).map(reply).collect(),
        ))
        .await
        .unwrap();
    }
    log.close().await;
}

/// A socket of B that hears the replies in its thread.
async fn talk(server: &Server) -> Socket {
    let mut socket = connect(&server.address, B).await;
    server.listen(&mut socket, "talk").await;
    socket
}

async fn connect(address: &str, key: &str) -> Socket {
    let mut request = format!("ws://{address}/ws").into_client_request().unwrap();
    request
        .headers_mut()
        .insert("authorization", key.parse().unwrap());
    tokio_tungstenite::connect_async_with_config(request, None, true)
        .await
        .unwrap()
        .0
}

/// B says something every now and then, for so many seconds: how long acks and replies take.
async fn block(socket: &mut Socket, secs: f64) -> Waited {
    let mut acks = Vec::new();
    let mut replies = Vec::new();
    let end = Instant::now() + Duration::from_secs_f64(secs);
    let mut next = Instant::now();
    while next < end {
        tokio::time::sleep_until(next.into()).await;
        let begin = Instant::now();
        let frame = json!({ "type": "message", "thread": "talk", "text": "what should I do next?", "id": "m" });
        socket.send(Message::text(frame.to_string())).await.unwrap();
        let answered = async {
            process::until(socket, r#""id":"m""#).await;
            acks.push(since(begin));
            process::until(socket, r#""type":"event""#).await;
        };
        let is_answered = tokio::time::timeout(PATIENCE, answered).await.is_ok();
        replies.push(since(begin));
        if !is_answered {
            println!("B was not answered within {PATIENCE:?}");
            break;
        }
        next = (next + EVERY).max(Instant::now());
    }
    let of = |values: &mut Vec<f64>| [at(values, 0.5), at(values, 0.99)];
    Waited {
        ack: of(&mut acks),
        reply: of(&mut replies),
    }
}

/// A as a process of its own; it ends with this value.
struct Attacker(Child);

impl Attacker {
    /// A begins; returns when it is in full swing.
    fn start(attack: &str, address: &str) -> Self {
        let mut command = Command::new("nice");
        command
            .args(["-n", "19"])
            .arg(std::env::current_exe().unwrap())
            .args(["attack", attack, address]);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n", "A could not begin to {attack}");
        Self(child)
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Runs the attack in the process of A, until it is killed.
pub fn attack(attack: &str, address: &str) {
    client().block_on(async {
        let all = attack == "all";
        let is = |one: &str| all || attack == one;
        let begin = |count: usize, wanted: bool| 0..if wanted { count } else { 0 };
        for n in begin(HANGING, is("hang")) {
            say(address, &format!("hang-{n}")).await;
        }
        for n in begin(NESTS, is("spawn")) {
            let label = format!("nest-{n}");
            post(address, "/threads")
                .json(&json!({ "label": label, "kind": "process" }))
                .send()
                .await
                .unwrap();
            say(address, &label).await;
        }
        let floods =
            begin(SOCKETS, is("flood")).map(|n| tokio::spawn(flood(address.to_owned(), n)));
        let posts =
            begin(SOCKETS, is("flood")).map(|n| tokio::spawn(post_on(address.to_owned(), n)));
        let searches =
            begin(SEARCHERS, is("search")).map(|n| tokio::spawn(search(address.to_owned(), n)));
        let uploads =
            begin(UPLOADERS, is("upload")).map(|n| tokio::spawn(upload(address.to_owned(), n)));
        let tasks: Vec<_> = floods.chain(posts).chain(searches).chain(uploads).collect();
        let readers =
            join_all(begin(READERS, is("readers")).map(|_| Reader::connect(address))).await;
        println!("ready");
        let reading = readers
            .into_iter()
            .enumerate()
            .map(|(n, reader)| reader.read(address, n % 3 > 0));
        join_all(reading).await;
        join_all(tasks).await;
        std::future::pending::<()>().await;
    });
}

fn post(address: &str, path: &str) -> reqwest::RequestBuilder {
    process::http()
        .post(format!("http://{address}{path}"))
        .header("authorization", A)
}

async fn say(address: &str, thread: &str) {
    let answer = post(address, &format!("/threads/{thread}/messages"))
        .json(&json!({ "text": "go" }))
        .send()
        .await;
    assert!(
        answer.unwrap().status().is_success(),
        "A cannot speak in {thread}"
    );
}

/// Messages over a socket, as fast as they are read.
async fn flood(address: String, n: usize) {
    let socket = connect(&address, A).await;
    let (mut out, mut incoming) = socket.split();
    let frame =
        json!({ "type": "message", "thread": format!("flood-{n}"), "text": "and another one" })
            .to_string();
    let send = async { while out.send(Message::text(frame.clone())).await.is_ok() {} };
    let read = async { while let Some(Ok(_)) = incoming.next().await {} };
    tokio::join!(send, read);
}

/// Posts messages over HTTP, one after the other, with any answer.
async fn post_on(address: String, n: usize) {
    let client = process::http();
    let url = format!("http://{address}/threads/post-{n}/messages");
    loop {
        let sent = client
            .post(&url)
            .header("authorization", A)
            .json(&json!({ "text": "and another one" }))
            .send()
            .await;
        if let Ok(answer) = sent {
            drop(answer.bytes().await);
        }
    }
}

/// Questions by word, by tag, and of notes, one after the other.
async fn search(address: String, n: usize) {
    let client = process::http();
    let questions = [
        "/events?limit=500&q=plan%20says",
        "/events?limit=500&tags=response&order=asc",
        "/state?q=plan",
    ];
    loop {
        for question in questions.iter().cycle().skip(n).take(questions.len()) {
            let sent = client
                .get(format!("http://{address}{question}"))
                .header("authorization", A)
                .send()
                .await;
            if let Ok(answer) = sent {
                drop(answer.bytes().await);
            }
        }
    }
}

/// Large blobs, one after the other, each another one.
async fn upload(address: String, n: usize) {
    let client = process::http();
    for round in 0_u64.. {
        let mut bytes = b"RIFF\0\0\0\0WAVEfmt ".to_vec();
        bytes.extend_from_slice(&(round * UPLOADERS as u64 + n as u64).to_le_bytes());
        bytes.resize(UPLOAD, 0);
        let request = client
            .post(format!("http://{address}/blobs"))
            .header("authorization", A);
        drop(
            request
                .header("content-type", "audio/wav")
                .body(bytes)
                .send()
                .await,
        );
    }
}

/// A follower of A's log from its beginning.
struct Reader(TcpStream);

impl Reader {
    async fn connect(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "GET /events/stream?after=0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: {A}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        Self(stream)
    }

    /// Reads to the end of the log, again and again; or nothing at all.
    async fn read(mut self, address: &str, reads: bool) {
        if !reads {
            std::future::pending::<()>().await;
        }
        let last = format!("id: {LOG}@");
        let mut bytes = vec![0; 64 << 10];
        loop {
            let count = self.0.read(&mut bytes).await.unwrap_or(0);
            let is_over = bytes[..count]
                .windows(last.len())
                .any(|window| window == last.as_bytes());
            if count == 0 || is_over {
                self = Self::connect(address).await;
            }
        }
    }
}
