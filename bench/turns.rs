//! Turns: the latency, the rate, and the CPU of each. Shape a is one call with the reply as its
//! answer; shape b is three voices at once and then a decision with the reply as its tool call.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::figures::{Arguments, Usage, at, client, median, since};
use crate::process::{self, Folder, Server, Shape};
use crate::stub::Stub;

/// Shape, conversations at a time, the model's time in ms.
const CASES: [(Shape, usize, u64); 12] = [
    (Shape::A, 1, 0),
    (Shape::B, 1, 0),
    (Shape::A, 16, 0),
    (Shape::A, 64, 0),
    (Shape::B, 16, 0),
    (Shape::B, 64, 0),
    (Shape::B, 256, 0),
    (Shape::B, 1, 50),
    (Shape::B, 16, 50),
    (Shape::A, 64, 50),
    (Shape::B, 64, 50),
    (Shape::B, 256, 50),
];

/// The figures of one block of turns.
#[derive(Clone, Copy)]
pub struct Block {
    pub per_second: f64,
    pub p50: f64,
    pub p99: f64,
    pub cpu: f64,
}

impl Block {
    /// The median of every figure.
    pub fn median(blocks: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(blocks.iter().map(figure));
        Self {
            per_second: of(|b| b.per_second),
            p50: of(|b| b.p50),
            p99: of(|b| b.p99),
            cpu: of(|b| b.cpu),
        }
    }
}

impl std::fmt::Display for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            per_second,
            p50,
            p99,
            cpu,
        } = self;
        write!(
            f,
            "{per_second:7.1}/s  p50 {p50:7.2} ms  p99 {p99:7.2} ms  CPU {cpu:6.3} ms"
        )
    }
}

pub fn run(arguments: &Arguments) {
    let stub = Stub::start();
    let folder = Folder::new();
    let client = client();
    for shape in [Shape::A, Shape::B] {
        let wanted = |(of, conversations, delay): &(Shape, usize, u64)| {
            let name = format!("{}-{conversations}-{delay}", of.name());
            *of == shape && arguments.case.as_ref().is_none_or(|case| *case == name)
        };
        if !CASES.iter().any(wanted) {
            continue;
        }
        let thinkd = client.block_on(Server::thinkd(
            &folder.file(&format!("{}.db", shape.name())),
            &stub,
            shape,
        ));
        let floor = process::floor().map(|program| {
            let file = folder.file(&format!("floor-{}.db", shape.name()));
            client.block_on(Server::floor(&program, &file, &stub, shape))
        });
        for (_, conversations, delay) in CASES.into_iter().filter(wanted) {
            stub.delay(delay);
            client.block_on(case(
                arguments,
                &stub,
                (&thinkd, floor.as_ref()),
                conversations,
                delay,
            ));
        }
        stub.delay(0);
    }
}

async fn case(
    arguments: &Arguments,
    stub: &Stub,
    (thinkd, floor): (&Server, Option<&Server>),
    conversations: usize,
    delay: u64,
) {
    // First, so that every thread has as much to remember as it will ever be shown.
    block(thinkd, conversations, arguments.secs).await;
    if let Some(floor) = floor {
        block(floor, conversations, arguments.secs).await;
    }
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    let mut alone = Vec::new();
    for _ in 0..arguments.rounds {
        ours.push(block(thinkd, conversations, arguments.secs).await);
        if let Some(floor) = floor {
            theirs.push(block(floor, conversations, arguments.secs).await);
        }
        if conversations == 1 {
            alone.push(model_alone(stub, thinkd.shape, arguments.secs / 4.0).await);
        }
    }
    let our = Block::median(&ours);
    let their = Block::median(&theirs);
    let name = format!("{} {conversations:>3} × {delay:>2} ms", thinkd.shape.name());
    println!("{name}  thinkd {our}");
    let model = median(alone);
    if !model.is_nan() {
        println!(
            "{name}  the model alone {model:.2} ms; thinkd adds {:.2} ms",
            our.p50 - model
        );
    }
    if theirs.is_empty() {
        return;
    }
    println!("{name}  floor  {their}");
    let ratio = |figure: fn(&Block) -> f64| {
        median(ours.iter().zip(&theirs).map(|(a, b)| figure(a) / figure(b)))
    };
    let n = ratio(|b| b.per_second);
    let p50 = ratio(|b| b.p50);
    let cpu = ratio(|b| b.cpu);
    print!("{name}  ratio  turns/s {n:.2}  p50 {p50:.2}  CPU {cpu:.2}");
    if model.is_nan() {
        println!();
    } else {
        let added = (our.p50 - model) / (their.p50 - model);
        println!("  latency added to the model's {added:.2}");
    }
}

/// Every conversation takes one turn after the other, for so many seconds.
pub async fn block(server: &Server, conversations: usize, secs: f64) -> Block {
    block_of(server, "talk", conversations, secs).await
}

/// The same, in threads of these names.
pub async fn block_of(server: &Server, names: &str, conversations: usize, secs: f64) -> Block {
    let mut sockets = Vec::new();
    for slot in 0..conversations {
        let thread = format!("{names}-{slot}");
        sockets.push((server.talk(&thread).await, thread));
    }
    let before = Usage::of(server.pid()).cpu_ms;
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(secs);
    let talks = sockets.into_iter().map(|(mut socket, thread)| async move {
        let mut took = Vec::new();
        while Instant::now() < end {
            let text = format!(
                "user message {} in {thread}: what should I do next about the plan?",
                took.len()
            );
            let begin = Instant::now();
            server.turn(&mut socket, &thread, &text).await;
            took.push(since(begin));
        }
        took
    });
    let mut took = futures_util::future::join_all(talks).await.concat();
    let elapsed = begin.elapsed().as_secs_f64();
    let turns = took.len() as f64;
    let cpu = (Usage::quiet(server.pid()).await.cpu_ms - before) / turns;
    Block {
        per_second: turns / elapsed,
        p50: at(&mut took, 0.5),
        p99: at(&mut took, 0.99),
        cpu,
    }
}

/// Returns the time of a turn's calls without any server in between: the median.
async fn model_alone(stub: &Stub, shape: Shape, secs: f64) -> f64 {
    let http = process::http();
    let call = || async {
        let message = json!({ "role": "user", "content": "what should I do next about the plan?" });
        let body = json!({ "model": "stub-text", "messages": [message] });
        let answer = http
            .post(format!("{}/chat/completions", stub.url()))
            .json(&body)
            .send()
            .await
            .unwrap();
        assert!(!answer.bytes().await.unwrap().is_empty());
    };
    let end = Instant::now() + Duration::from_secs_f64(secs);
    let mut took = Vec::new();
    while Instant::now() < end {
        let begin = Instant::now();
        if shape == Shape::B {
            tokio::join!(call(), call(), call());
        }
        call().await;
        took.push(since(begin));
    }
    median(took)
}
