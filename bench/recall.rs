//! Recall among many statements, as the first time (all are loaded) and warm. Measures the time of a
//! question, beside the least code that could answer it, and the memory of a statement. In this
//! process; then the same questions to a server over HTTP, and the time until it acknowledges a
//! claim, beside a message.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thinkd::event::draft::Draft;
use thinkd::event::statement::{
    Claim, Claimant, Derived, Instrument, Judged, Outcome, Source, Status, Triple, Valid,
};
use thinkd::event::trial::News;
use thinkd::log::appended::Append;
use thinkd::log::kernel::Store;
use thinkd::log::options::Options;
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::recall::finder::{Question, Recall};
use thinkd::recall::options;
use thinkd::words::id::{self, Space, ThreadId};

use crate::figures::{Arguments, Usage, at, ms, since};
use crate::planted::{Question as Planted, Said, world};
use crate::postgres::Database;
use crate::process::{self, Folder, Server};
use crate::stub::Stub;

/// Questions of each size.
const ASKED: usize = 1000;
/// Statements of one append.
const TOGETHER: usize = 500;
/// Statements, and the goal for 99 of 100 warm questions.
const SIZES: [(usize, f64); 2] = [(10_000, 15.0), (100_000, 60.0)];

/// Claims and messages that are timed until their acknowledgement, one after the other.
const CLAIMED: usize = 1000;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(10);

pub fn run(_: &Arguments) {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let folder = Folder::new();
    let stub = Stub::start();
    for (count, goal) in SIZES {
        let url = process::on(&folder.file(&format!("{count}.db")));
        threads.block_on(on(
            &url,
            &folder,
            &stub,
            (&format!("SQLite, {count}"), count, goal),
        ));
    }
    let Ok(server) = std::env::var("BENCH_POSTGRES_URL") else {
        return;
    };
    for (count, goal) in SIZES {
        threads.block_on(async {
            let database = Database::new(&server, true).await;
            on(
                &database.url,
                &folder,
                &stub,
                (&format!("Postgres, {count}"), count, goal),
            )
            .await;
            database.drop().await;
        });
    }
}

async fn on(url: &str, folder: &Folder, stub: &Stub, (what, count, goal): (&str, usize, f64)) {
    let store = store::open(url, Options::default(), ThreadRow::apply)
        .await
        .unwrap();
    let space = Space::default();
    let (said, questions) = world(1, count, ASKED);
    fill(&store, &space, &said).await;
    let recall = Recall::new(
        store.clone(),
        options::Options {
            bytes: 4 << 30,
            ..options::Options::default()
        },
        1.0,
    );
    let ask = async |text: &str| {
        let begin = Instant::now();
        let question = Question {
            text: text.to_owned(),
            limit: 8,
            ..Question::default()
        };
        let found = recall.recall(&space, &question).await.unwrap();
        (begin.elapsed(), found.hits.len())
    };
    let before = Usage::of(std::process::id()).kib;
    let (first, _) = ask(&questions[0].text).await;
    let grown = (Usage::of(std::process::id()).kib - before).max(0.0) * 1024.0 / count as f64;
    let mut warm = Vec::new();
    let mut plain = Vec::new();
    let mut hits = 0;
    for question in &questions {
        let (took, found) = ask(&question.text).await;
        warm.push(ms(took));
        hits += found;
        plain.push(ms(scanned(&said, &question.text)));
    }
    let half = at(&mut warm, 0.5);
    let most = at(&mut warm, 0.99);
    println!(
        "  {what:<18} first {:>8.0} ms   warm p50 {half:>6.2} ms, p99 {most:>6.2} ms (goal {goal})",
        ms(first)
    );
    println!(
        "    {:.1} hits a question; a plain look for one word in all texts takes {:.2} ms",
        hits as f64 / ASKED as f64,
        at(&mut plain, 0.5)
    );
    println!("    memory a statement {grown:.0} bytes");
    drop(recall);
    store.close().await;
    drop(store);
    over_http(url, folder, stub, &questions, goal).await;
}

/// The same of a server: the time of questions over HTTP, and of acknowledgements of claims and
/// messages, in turn, each on a server that rests. A message wakes its turn, which is more than a
/// claim wakes, and neither is to be in the other's way. Its trials rest, too: their calls are used
/// up.
async fn over_http(url: &str, folder: &Folder, stub: &Stub, questions: &[Planted], goal: f64) {
    let settings = [
        "memory.calls_per_hour=1",
        "THINKD_TEST_MEMORY__WAITING=2000",
        "memory.recall_bytes=4294967296",
    ];
    let server = Server::thinkd_with(url, &folder.0, stub, &settings);
    let http = process::http();
    server.ready().await;
    let before = Usage::quiet(server.pid()).await.kib;
    let mut warm = Vec::new();
    for (at, question) in questions.iter().enumerate() {
        let begin = Instant::now();
        let answer = http
            .get(server.url("/recall"))
            .query(&[("q", &*question.text), ("limit", "8")])
            .send()
            .await
            .unwrap();
        assert!(
            answer.status().is_success(),
            "{}",
            answer.text().await.unwrap()
        );
        answer.bytes().await.unwrap();
        // The first one loads them all.
        warm.extend((at > 0).then(|| since(begin)));
    }
    let half = at(&mut warm, 0.5);
    let most = at(&mut warm, 0.99);
    let grown = (Usage::quiet(server.pid()).await.kib - before) / 1024.0;
    println!(
        "    over HTTP          warm p50 {half:>6.2} ms, p99 {most:>6.2} ms (goal {goal}); the server grew by {grown:.0} MiB"
    );
    let acknowledged = async |path: &str, body: Value| {
        let begin = Instant::now();
        let answer = http
            .post(server.url(path))
            .json(&body)
            .send()
            .await
            .unwrap();
        let took = since(begin);
        assert_eq!(answer.status(), 202, "{}", answer.text().await.unwrap());
        tokio::time::sleep(PAUSE).await;
        took
    };
    let mut claims = Vec::new();
    let mut messages = Vec::new();
    for at in 0..CLAIMED {
        claims.push(
            acknowledged(
                "/world-model",
                json!({ "statement": format!("The stone number {at} is grey.") }),
            )
            .await,
        );
        messages.push(
            acknowledged(
                "/threads/talk/messages",
                json!({ "text": format!("message {at}") }),
            )
            .await,
        );
    }
    let claim = at(&mut claims, 0.99);
    let message = at(&mut messages, 0.99);
    let half = at(&mut claims, 0.5);
    let other = at(&mut messages, 0.5);
    println!(
        "    acknowledged       a claim p50 {half:.2} ms, p99 {claim:.2} ms; a message p50 {other:.2} ms, p99 {message:.2} ms"
    );
    println!(
        "    a claim's p99 is {:.2} of a message's (goal 2)",
        claim / message
    );
}

/// The least that could answer: a look through all texts for the longest word of a question.
fn scanned(said: &[Said], question: &str) -> Duration {
    let begin = Instant::now();
    let word = question
        .split(' ')
        .max_by_key(|word| word.len())
        .unwrap_or_default();
    std::hint::black_box(said.iter().filter(|it| it.text.contains(word)).count());
    begin.elapsed()
}

/// Statements as trials leave them.
async fn fill(store: &Arc<dyn Store>, space: &Space, said: &[Said]) {
    for some in said.chunks(TOGETHER) {
        let drafts = some.iter().flat_map(drafts).collect();
        store.append(Append::free(space, drafts)).await.unwrap();
    }
}

fn drafts(said: &Said) -> Vec<Draft> {
    let thread = ThreadId::default();
    let statement = id::fresh();
    let source = Source {
        by: Claimant::User { name: None },
        seqs: Vec::new(),
        quote: None,
        word: false,
    };
    let claim = Claim {
        text: said.text.clone(),
        source,
        premises: Vec::new(),
        root: None,
    };
    let [subject, relation, object] = said.edge.clone();
    let triple = Some(Triple {
        subject,
        relation,
        object,
        single: true,
    });
    let derived = Derived {
        triple,
        valid: Valid::default(),
        predictions: Vec::new(),
        rejected: Vec::new(),
    };
    let judged = Judged {
        outcome: Outcome::Is(Status::Surviving),
        reason: "it is well known".to_owned(),
        valid: Valid::default(),
        carried: vec![Instrument::Knowledge],
        survived: 1,
        tries: 0,
        breaks: 0,
        reopened: 0,
        due: None,
        others: Vec::new(),
        by: None,
        tried: true,
        available: Vec::new(),
        testable: None,
        retest: 0,
    };
    let [claimed, _] = Draft::claimed(&thread, statement, claim);
    let news = [News::Derived(derived), News::Judged(judged)];
    let news = news
        .into_iter()
        .map(|news| Draft::statement(&thread, &statement.to_string(), news));
    std::iter::once(claimed).chain(news).collect()
}
