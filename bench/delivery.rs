//! Delivery: the time from a commit to a socket, the fan-out to many sockets, and many frames in a row.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use thinkd::edge::auth::Authority;
use thinkd::edge::context::{Options, Parts};
use thinkd::edge::keys::Keys;
use thinkd::edge::server;
use thinkd::event::draft::{Draft, When};
use thinkd::log::appended::Append;
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::model::offline::Offline;
use thinkd::model::prompt;
use thinkd::program::telemetry;
use thinkd::recall::{finder::Recall, options as recall_options};
use thinkd::runtime::ground::Ground;
use thinkd::runtime::handle::Runtime;
use thinkd::runtime::options;
use thinkd::session::handle::Sessions;
use thinkd::session::kinds::Kinds;
use thinkd::thread::history;
use thinkd::tools::catalogue;
use thinkd::tools::catalogue::Chosen;
use thinkd::tools::supplies::Supplies;
use thinkd::words::id::{Name, Space, ThreadId};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use crate::figures::{Arguments, client, median, ms, since};
use crate::process::{Folder, Server, Shape, Socket, connect, http, until};
use crate::stub::Stub;

/// Appends, echoes and rows of frames a round.
const TIMES: usize = 100;
/// Sockets that hear the same.
const FAN: usize = 1000;
/// Frames sent without waiting.
const ROW: usize = 16;

pub fn run(arguments: &Arguments) {
    let stub = Stub::start();
    let folder = Folder::new();
    commit_to_socket(arguments, &stub, &folder);
    let client = client();
    client.block_on(async {
        let server = Server::thinkd(&folder.file("thinkd.db"), &stub, Shape::B).await;
        row(arguments, &stub, &server).await;
        fan(arguments, &stub, &server).await;
    });
}

/// The one figure that cannot be seen from outside: here the server is in this process, so that the clock starts at the commit.
fn commit_to_socket(arguments: &Arguments, stub: &Stub, folder: &Folder) {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let url = format!("sqlite://{}", folder.file("inside.db").display());
    let (log, address) = threads.block_on(async {
        let log = store::open(
            &url,
            thinkd::log::options::Options::default(),
            ThreadRow::apply,
        )
        .await
        .unwrap();
        let prompts = Arc::new(prompt::Prompts::load(None).unwrap());
        let model = Arc::new(Offline::new());
        let options = options::Options::default();
        let supplies = Supplies {
            mission: thinkd::runtime::mission::Options::default().budget(),
            store: log.clone(),
            prompts,
            budget: Arc::new(options.budget.clone()),
            approvals: Arc::default(),
            limits: options.tool_limits,
            recall: Arc::new(Recall::new(
                log.clone(),
                recall_options::Options::default(),
                1.0,
            )),
            code: Arc::default(),
        };
        let tools = Arc::new(
            catalogue::built_in()
                .tools(&supplies, &Chosen::default())
                .unwrap(),
        );
        let ground = Ground::new(supplies, tools, model, history::Options::default(), options);
        let kinds = Kinds::new(&ground);
        let runtime = Runtime::start(ground, kinds.all());
        let metrics = telemetry::start_metrics().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let authority = Authority {
            keys: Arc::new(Keys::new(None, &[]).unwrap()),
            tokens: None,
        };
        let parts = Parts {
            sessions: Sessions::new(runtime, kinds, 1.0),
            authority,
            metrics,
            about: Vec::new(),
            routes: axum::Router::new(),
        };
        tokio::spawn(server::serve(
            listener,
            Options::default(),
            parts,
            CancellationToken::new(),
        ));
        (log, address)
    });
    let mut ours = Vec::new();
    let mut raw = Vec::new();
    client().block_on(async {
        let mut socket = connect(&format!("ws://{address}/ws")).await;
        until(&mut socket, "hello").await;
        let mut plain = connect(&format!("ws://{}/echo", stub.address)).await;
        for _ in 0..arguments.rounds {
            let mut took = Vec::new();
            for _ in 0..TIMES {
                let append = log.clone();
                let committed = threads.spawn(async move {
                    append
                        .append(Append::free(&Space::default(), vec![said()]))
                        .await
                        .unwrap();
                    Instant::now()
                });
                until(&mut socket, r#""type":"event""#).await;
                let arrived = Instant::now();
                let committed = committed.await.unwrap();
                // Less than nothing where the socket is served before the appender.
                took.push(
                    ms(arrived.saturating_duration_since(committed))
                        - ms(committed.saturating_duration_since(arrived)),
                );
            }
            ours.push(median(took));
            raw.push(echo(&mut plain, 1).await);
        }
    });
    println!(
        "commit to socket  p50 {:+.3} ms from when the appender hears of it  (raw echo, there and back, {:.3} ms)",
        median(ours),
        median(raw)
    );
    threads.shutdown_background();
}

fn said() -> Draft {
    let name = Name::parse("one").unwrap();
    Draft::submodule_said(
        &ThreadId::default(),
        1,
        &name,
        When::InTime,
        "what a voice has to say about the plan",
    )
}

/// Frames there and back without waiting in between: ping and pong at thinkd, an echo beside it.
async fn row(arguments: &Arguments, stub: &Stub, server: &Server) {
    let mut socket = connect(&format!("ws://{}/ws", server.address)).await;
    until(&mut socket, "hello").await;
    let mut plain = connect(&format!("ws://{}/echo", stub.address)).await;
    let mut ours = Vec::new();
    let mut raw = Vec::new();
    for _ in 0..arguments.rounds {
        let mut took = Vec::new();
        for _ in 0..TIMES {
            took.push(there_and_back(&mut socket, r#"{"type":"ping"}"#, ROW).await);
        }
        ours.push(median(took));
        raw.push(echo(&mut plain, ROW).await);
    }
    let ratio = median(ours.iter().zip(&raw).map(|(a, b)| a / b));
    println!(
        "{ROW} frames in a row  {:.3} ms  (raw echo {:.3} ms; ratio {ratio:.2})",
        median(ours),
        median(raw)
    );
}

async fn echo(socket: &mut Socket, depth: usize) -> f64 {
    let mut took = Vec::new();
    for _ in 0..TIMES {
        took.push(there_and_back(socket, &"x".repeat(256), depth).await);
    }
    median(took)
}

async fn there_and_back(socket: &mut Socket, text: &str, depth: usize) -> f64 {
    let begin = Instant::now();
    for _ in 0..depth {
        socket.feed(Message::text(text)).await.unwrap();
    }
    socket.flush().await.unwrap();
    for _ in 0..depth {
        socket.next().await.unwrap().unwrap();
    }
    since(begin)
}

/// One log, a thousand sockets that follow it. The appended events, changes of a voice's prompt,
/// wake no thread.
async fn fan(arguments: &Arguments, stub: &Stub, server: &Server) {
    let mut ours = Vec::new();
    for _ in 0..FAN {
        let mut socket = connect(&format!("ws://{}/ws", server.address)).await;
        until(&mut socket, "hello").await;
        ours.push(socket);
    }
    let mut raw = Vec::new();
    for _ in 0..FAN {
        raw.push(connect(&format!("ws://{}/fan", stub.address)).await);
    }
    let bytes = change(server, 0, &mut ours).await;
    let text = "y".repeat(bytes);
    let mut deliveries = Vec::new();
    let mut plain = Vec::new();
    for round in 0..arguments.rounds {
        let begin = Instant::now();
        let events = 50;
        let writers = (0..events).map(|event| change_one(server, round * events + event + 1));
        let write = futures_util::future::join_all(writers);
        let heard =
            futures_util::future::join_all(ours.iter_mut().map(|socket| hear(socket, events)));
        tokio::join!(write, heard);
        deliveries.push((events * FAN) as f64 / begin.elapsed().as_secs_f64());
        plain.push(fan_plain(&text, events, &mut raw).await);
    }
    let ratio = median(deliveries.iter().zip(&plain).map(|(a, b)| a / b));
    println!(
        "fan-out to {FAN} sockets  {:.0} deliveries/s of {bytes} bytes, appends included  (raw {:.0}/s; ratio {ratio:.2})",
        median(deliveries),
        median(plain)
    );
}

async fn change_one(server: &Server, number: usize) {
    let change = json!({ "prompt": format!("{number:>8} {}", "what a voice is told ".repeat(5)) });
    let answer = http()
        .patch(server.url("/submodules/one"))
        .json(&change)
        .send()
        .await
        .unwrap();
    assert!(answer.status().is_success());
}

/// One change, heard by all; how large its frame is.
async fn change(server: &Server, number: usize, sockets: &mut [Socket]) -> usize {
    change_one(server, number).await;
    let mut bytes = 0;
    for socket in sockets {
        bytes = socket.next().await.unwrap().unwrap().len();
    }
    bytes
}

async fn hear(socket: &mut Socket, events: usize) {
    let mut heard = 0;
    while heard < events {
        let frame = tokio::time::timeout(Duration::from_secs(60), socket.next())
            .await
            .expect("an event within a minute");
        heard += usize::from(frame.unwrap().unwrap().is_text());
    }
}

async fn fan_plain(text: &str, events: usize, sockets: &mut [Socket]) -> f64 {
    let begin = Instant::now();
    for _ in 0..events {
        sockets[0].feed(Message::text(text)).await.unwrap();
    }
    sockets[0].flush().await.unwrap();
    let all = sockets.len() * events;
    futures_util::future::join_all(sockets.iter_mut().map(|socket| hear(socket, events))).await;
    all as f64 / begin.elapsed().as_secs_f64()
}
