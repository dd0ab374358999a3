//! Recall among many statements, as the first time (all are loaded) and warm: how long a question takes, beside the least that could answer it, and what a
//! statement takes of memory. In this process: what a request costs besides is in `doors.rs`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use thinkd::event::draft::Draft;
use thinkd::event::statement::{Claim, Claimant, Derived, Instrument, Judged, Outcome, Source, Status, Triple, Valid};
use thinkd::event::trial::News;
use thinkd::log::appended::Append;
use thinkd::log::kernel::Store;
use thinkd::log::options::Options;
use thinkd::log::store;
use thinkd::recall::finder::{self, Question, Recall};
use thinkd::thread::projection;
use thinkd::words::id::{self, Space, ThreadId};

use crate::figures::{Arguments, Usage, at, ms};
use crate::planted::{Said, world};
use crate::process::Folder;

/// Questions of each size.
const ASKED: usize = 1000;
/// Statements of one append.
const TOGETHER: usize = 500;
/// How many statements, and what 99 of 100 warm questions are to take at most.
const SIZES: [(usize, f64); 2] = [(10_000, 15.0), (100_000, 60.0)];

pub fn run(_: &Arguments) {
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let folder = Folder::new();
    for (count, goal) in SIZES {
        let file = folder.file(&format!("{count}.db"));
        threads.block_on(on(&format!("sqlite://{}", file.display()), &format!("SQLite, {count}"), count, goal));
    }
    let Ok(url) = std::env::var("BENCH_POSTGRES_URL") else { return };
    for (count, goal) in SIZES {
        threads.block_on(on(&url, &format!("Postgres, {count}"), count, goal));
    }
}

async fn on(url: &str, what: &str, count: usize, goal: f64) {
    let store = store::open(url, Options::default(), projection::project).await.unwrap();
    let space = Space::parse(&format!("recall-{count}")).unwrap();
    let (said, questions) = world(1, count, ASKED);
    fill(&store, &space, &said).await;
    let recall = Recall::new(store.clone(), finder::Options { bytes: 4 << 30, ..finder::Options::default() }, 1.0);
    let ask = async |text: &str| {
        let begin = Instant::now();
        let question = Question { text: text.to_owned(), limit: 8, ..Question::default() };
        let found = recall.recall(&space, &question).await.unwrap();
        (begin.elapsed(), found.hits.len())
    };
    let before = Usage::of(std::process::id()).kib;
    let (first, _) = ask(&questions[0].text).await;
    let grown = (Usage::of(std::process::id()).kib - before).max(0.0) * 1024.0 / count as f64;
    let (mut warm, mut plain, mut hits) = (Vec::new(), Vec::new(), 0);
    for question in &questions {
        let (took, found) = ask(&question.text).await;
        warm.push(ms(took));
        hits += found;
        plain.push(ms(scanned(&said, &question.text)));
    }
    let (half, most) = (at(&mut warm, 0.5), at(&mut warm, 0.99));
    println!("  {what:<18} first {:>8.0} ms   warm p50 {half:>6.2} ms, p99 {most:>6.2} ms (goal {goal})", ms(first));
    println!(
        "    {:.1} hits a question; a plain look for one word in all texts takes {:.2} ms",
        hits as f64 / ASKED as f64,
        at(&mut plain, 0.5)
    );
    println!("    memory a statement {grown:.0} bytes");
    store.close().await;
}

/// The least that could answer: a look through all texts for the longest word of a question.
fn scanned(said: &[Said], question: &str) -> Duration {
    let begin = Instant::now();
    let word = question.split(' ').max_by_key(|word| word.len()).unwrap_or_default();
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
    let (thread, statement) = (ThreadId::default(), id::fresh());
    let source = Source { by: Claimant::User { name: None }, seqs: Vec::new(), quote: None };
    let claim = Claim { text: said.text.clone(), source, premises: Vec::new() };
    let [subject, relation, object] = said.edge.clone();
    let triple = Some(Triple { subject, relation, object, single: true });
    let derived = Derived { triple, valid: Valid::default(), predictions: Vec::new(), rejected: Vec::new() };
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
    let news = news.into_iter().map(|news| Draft::statement(&thread, &statement.to_string(), news));
    std::iter::once(claimed).chain(news).collect()
}
