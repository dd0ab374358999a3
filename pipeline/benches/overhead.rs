//! The cost of the library, beside code written by hand: `cargo bench -p unhurried`.
//!
//! Each pair is measured in turns within one run, and the medians are compared: on a shared machine only ratios mean
//! anything.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that prints figures"
)]

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;
use std::task::{Context as Task, Poll};
use std::time::{Duration, Instant};

use bytes::{Buf, BufMut, Bytes};
use futures_util::future::{BoxFuture, join_all};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::{Service, http};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};
use unhurried::{Config, Context, Manager, Replica, ReplicaServer, node, replica};

/// Many short ones: on a shared machine a block should fit between two interruptions.
const ROUNDS: usize = 101;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        chain().await;
        fan_out().await;
        fan_in().await;
        long_loop().await;
        local_call().await;
        grpc_call().await;
    });
}

/// Runs both in turns, and prints the medians per operation and their ratio.
async fn compare(
    title: &str,
    goal: &str,
    per: usize,
    ours: impl AsyncFn(),
    theirs: (&str, impl AsyncFn()),
) -> f64 {
    let mut a = Vec::new();
    let mut b = Vec::new();
    for _ in 0..ROUNDS {
        a.push(timed(&ours).await);
        b.push(timed(&theirs.1).await);
    }
    let a = median(a) / per as f64;
    let b = median(b) / per as f64;
    println!(
        "{title}: {a:.0} ns, {}: {b:.0} ns, ratio {:.2} ({goal})",
        theirs.0,
        a / b
    );
    a / b
}

async fn timed(work: &impl AsyncFn()) -> f64 {
    let begun = Instant::now();
    work().await;
    begun.elapsed().as_nanos() as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[node]
async fn add_one(n: u64) -> u64 {
    n + 1
}

fn chain_of(n: usize) -> Context<u64> {
    (0..n).fold(Context::new(0), |context, _| add_one(context))
}

/// A chain of nodes that are ready at once, beside the time that tokio takes to switch to a task.
async fn chain() {
    const NODES: usize = 1000;
    // Spawned, as a pipeline would be: the benchmark's own thread is no worker.
    let read = async || {
        assert_eq!(
            tokio::spawn(async { chain_of(NODES).await })
                .await
                .unwrap()
                .unwrap(),
            NODES as u64
        )
    };
    let spawn = async || {
        let spawned = async {
            for n in 0..NODES {
                black_box(tokio::spawn(async move { n + 1 }).await.unwrap());
            }
        };
        tokio::spawn(spawned).await.unwrap();
    };
    compare(
        "ready chain, call and read, per node",
        "goal below 1000 ns",
        NODES,
        read,
        ("a tokio task each", spawn),
    )
    .await;
    let switch = async || {
        let switched = async {
            for _ in 0..NODES {
                tokio::task::yield_now().await;
            }
        };
        tokio::spawn(switched).await.unwrap();
    };
    let build = async || drop(black_box(chain_of(NODES)));
    compare(
        "  of which calling and dropping",
        "no goal",
        NODES,
        build,
        ("a tokio task switch", switch),
    )
    .await;
}

/// Some fifty microseconds of a processor.
fn work(seed: u64) -> u64 {
    (0..40_000).fold(seed, |n, i| black_box(n.rotate_left(5) ^ i))
}

#[node]
async fn branch(n: u64, seed: u64) -> u64 {
    work(n + seed)
}

#[node]
async fn add(n: u64, seed: u64) -> u64 {
    n + seed
}

#[node]
async fn both(a: u64, b: u64) -> u64 {
    a ^ b
}

async fn fan_out() {
    const WIDTH: u64 = 64;
    let ours = async || {
        let fanned = async {
            let root = Context::new(1);
            let branches = (0..WIDTH).map(|seed| branch(&root, seed));
            branches.reduce(both).unwrap().await.unwrap()
        };
        black_box(tokio::spawn(fanned).await.unwrap());
    };
    let by_hand = async || {
        let fanned = async {
            let branches = (0..WIDTH).map(|seed| tokio::spawn(async move { work(1 + seed) }));
            let done = join_all(branches.collect::<Vec<_>>()).await;
            done.into_iter()
                .map(Result::unwrap)
                .reduce(|a, b| a ^ b)
                .unwrap()
        };
        black_box(tokio::spawn(fanned).await.unwrap());
    };
    compare(
        "fan-out, 64 wide, per branch",
        "goal 1.3",
        WIDTH as usize,
        ours,
        ("join_all by hand", by_hand),
    )
    .await;
}

#[node]
async fn reduce(values: &[u64]) -> u64 {
    values.iter().fold(0, |a, b| a ^ b)
}

/// A thousand branches and their fan-in: of some fifty microseconds each, and of nothing, where
/// there is only overhead.
async fn fan_in() {
    const WIDTH: u64 = 1000;
    for (each, heavy) in [
        ("of 50 µs, per branch", true),
        ("of nothing, per branch", false),
    ] {
        let ours = async || {
            let gathered = async move {
                let root = Context::new(1);
                let branches = (0..WIDTH).map(|seed| {
                    if heavy {
                        branch(&root, seed)
                    } else {
                        add(&root, seed)
                    }
                });
                reduce(branches.collect::<Vec<_>>()).await.unwrap()
            };
            black_box(tokio::spawn(gathered).await.unwrap());
        };
        let by_hand = async || {
            let gathered = async move {
                let branches = (0..WIDTH).map(|seed| async move {
                    if heavy {
                        work(1 + seed)
                    } else {
                        black_box(1 + seed)
                    }
                });
                let done = join_all(branches.map(tokio::spawn).collect::<Vec<_>>()).await;
                done.into_iter().map(Result::unwrap).fold(0, |a, b| a ^ b)
            };
            black_box(tokio::spawn(gathered).await.unwrap());
        };
        let goal = if heavy { "goal 1.3" } else { "no goal" };
        compare(
            &format!("fan-in of 1000 {each}"),
            goal,
            WIDTH as usize,
            ours,
            ("join_all by hand", by_hand),
        )
        .await;
    }
}

#[node]
async fn refine(draft: &[u8]) -> Vec<u8> {
    let mut better = draft.to_vec();
    better[0] = better[0].wrapping_add(1);
    better
}

/// A loop that reads each round, over a value of ten kilobytes: the memory of the process after the
/// first thousand rounds, and at the end.
async fn long_loop() {
    let mut draft = Context::new(vec![0_u8; 10_000]);
    let mut at_first = 0;
    for round in 1..=100_000 {
        draft = refine(draft);
        let _ = draft.run().await.unwrap();
        if round == 1_000 {
            at_first = resident();
        }
    }
    let now = resident();
    let each = 100_000 * 10_000_u64;
    println!(
        "loop of 100000 rounds: {} KiB after 1000 rounds, {} KiB at the end (goal: flat; the values were {} KiB)",
        at_first / 1024,
        now / 1024,
        each / 1024
    );
}

/// The memory of this process, where the system says it in a file.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0)
        * 4096
}

static BENCH: Manager = Manager::new();

struct Tool;

#[replica(n = 2, manager = &BENCH)]
impl Tool {
    pub fn new() -> Self {
        Tool
    }

    pub async fn answer(&self, prompt: &str) -> String {
        format!("You asked: {prompt}")
    }

    pub async fn echo(&self, text: String) -> String {
        text
    }
}

async fn local_call() {
    const CALLS: usize = 10_000;
    let proxy = Tool::get().await.unwrap();
    let plain = Arc::new(Tool);
    let ours = async || {
        for _ in 0..CALLS {
            black_box(proxy.answer(black_box("why?")).await.unwrap());
        }
    };
    let direct = async || {
        for _ in 0..CALLS {
            black_box(plain.answer(black_box("why?")).await);
        }
    };
    compare(
        "local replica call",
        "goal 2",
        CALLS,
        ours,
        ("plain method call", direct),
    )
    .await;
    Tool::shutdown().await.unwrap();
}

/// One call after the other, and 32 at a time.
async fn grpc_call() {
    let server = ReplicaServer::of(&BENCH).bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", server.address());
    tokio::spawn(server.serve(std::future::pending()));
    BENCH
        .configure(Config::new("grpc").option("url", url))
        .unwrap();
    let proxy = Arc::new(Tool::get().await.unwrap());
    let text = "x".repeat(1000);

    // The same bytes, as the library puts them on the wire.
    let session = "0123456789abcdef0123456789abcdef";
    let payload = Bytes::from(format!(
        r#"{{"call":{{"session":"{session}","replica":"overhead::Tool","instance":0,"method":"echo","arguments":["{text}"]}}}}"#
    ));
    let bare = bare_server().await;

    for at_once in [1, 32] {
        const CALLS: usize = 320;
        let ours = async || {
            each(at_once, CALLS, || {
                let proxy = proxy.clone();
                let text = text.clone();
                async move { drop(black_box(proxy.echo(text).await.unwrap())) }
            })
            .await
        };
        let theirs = async || {
            each(at_once, CALLS, || {
                let bare = bare.clone();
                let payload = payload.clone();
                async move { drop(black_box(call_bare(bare, payload).await)) }
            })
            .await
        };
        let title = format!("gRPC call, {at_once} at a time");
        compare(&title, "goal 1.2", CALLS, ours, ("bare tonic", theirs)).await;
    }
}

/// Calls in as many tasks as there are to be at once.
async fn each<F: Future<Output = ()> + Send + 'static>(
    at_once: usize,
    calls: usize,
    call: impl Fn() -> F,
) {
    let tasks = (0..at_once).map(|_| {
        let calls = (0..calls / at_once).map(|_| call()).collect::<Vec<_>>();
        tokio::spawn(async move {
            for call in calls {
                call.await;
            }
        })
    });
    join_all(tasks.collect::<Vec<_>>()).await;
}

async fn call_bare(channel: Channel, payload: Bytes) -> Bytes {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.unwrap();
    let mut request = Request::new(payload);
    request.set_timeout(Duration::from_secs(60));
    let path = http::uri::PathAndQuery::from_static("/bare.Echo/Echo");
    grpc.unary(request, path, Raw).await.unwrap().into_inner()
}

async fn bare_server() -> Channel {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tokio::spawn(tonic::transport::Server::builder().serve_with_incoming(Echo, incoming));
    Endpoint::from_shared(format!("http://{address}"))
        .unwrap()
        .connect_lazy()
}

#[derive(Clone)]
struct Echo;

impl Service<http::Request<tonic::body::Body>> for Echo {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Task<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        Box::pin(async move { Ok(tonic::server::Grpc::new(Raw).unary(Echo, request).await) })
    }
}

impl tonic::server::UnaryService<Bytes> for Echo {
    type Response = Bytes;
    type Future = BoxFuture<'static, Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        Box::pin(async move { Ok(Response::new(request.into_inner())) })
    }
}

#[derive(Clone, Copy)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
