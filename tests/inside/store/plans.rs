//! The rows that Postgres reads for a page, counted by Postgres itself. A plan must not depend on
//! statistics, which a database that grew quickly does not have yet.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use thinkd::event::envelope::Source;
use thinkd::log::appended::Append;
use thinkd::log::kernel::Store;
use thinkd::log::query::{Order, Query, Show};
use thinkd::words::id::{ThreadId, fresh};
use uuid::Uuid;

use super::{append, claimed, draft, input, judged, open, space, thread};
use kit::{Medium, polled};

/// Events in the log; every third in `main`.
const EVENTS: usize = 2400;
/// Events in the log when its statements are prepared: a plan that is good for them may be bad for many.
const FIRST: usize = 30;
/// Often enough that a statement which is prepared once has got its general plan.
const TIMES: u64 = 12;
/// The number of times a question is asked when the log is long. The reads of the index while it is
/// filled differ from one log to the next, and weigh nothing at this number.
const ASKED: u64 = 60;
/// Statements that are held where few wait.
const HELD: usize = 2000;
/// The tables with plans that could go wrong.
const TABLES: [&str; 8] = [
    "events",
    "marks",
    "event_words",
    "indexed",
    "threads",
    "leases",
    "mailboxes",
    "contacts",
];

type Asked = Pin<Box<dyn Future<Output = usize> + Send>>;
/// A question to a store, and how many rows it brought.
type Ask = Arc<dyn Fn(Arc<dyn Store>) -> Asked + Send + Sync>;

fn ask<F: Future<Output = usize> + Send + 'static>(
    ask: impl Fn(Arc<dyn Store>) -> F + Send + Sync + 'static,
) -> Ask {
    Arc::new(move |store| Box::pin(ask(store)))
}

fn page(query: &Query) -> Ask {
    let query = query.clone();
    ask(move |store| {
        let query = query.clone();
        async move { store.events(&space(), &query).await.unwrap().len() }
    })
}

async fn fill(store: &Arc<dyn Store>, places: Range<usize>) {
    for first in places.clone().step_by(400) {
        let drafts = (first..places.end.min(first + 400)).map(|n| match n % 3 {
            0 => input("main", &format!("word{n} all")),
            1 => draft(&format!("talk-{}", n % 1000), "said", &["decision"]),
            _ => draft(
                &format!("main.sub-{}", n % 100),
                "thought",
                &["submodule:critic"],
            ),
        });
        store
            .append(Append::free(&space(), drafts.collect()))
            .await
            .unwrap();
    }
    // A question by tag waits for the index.
    let tagged = Query {
        tags: vec!["input".into()],
        limit: 1,
        ..Query::default()
    };
    assert_eq!(store.events(&space(), &tagged).await.unwrap().len(), 1);
}

async fn execute(medium: &Medium, text: &str) {
    let mut connection = PgConnection::connect(medium.url()).await.unwrap();
    connection
        .execute(AssertSqlSafe(text.to_owned()))
        .await
        .unwrap();
    connection.close().await.unwrap();
}

/// Rows and index entries that all connections, which are closed now, read in these tables.
async fn read_in_all(medium: &Medium, tables: &[&str]) -> u64 {
    let mut connection = PgConnection::connect(medium.url()).await.unwrap();
    // A connection that is gone has said before what it read.
    let busy = "select count(*) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()";
    polled("the end of all other connections", async || {
        let count = sqlx::query_scalar::<_, i64>(busy).fetch_one(&mut connection);
        count.await.unwrap() == 0
    })
    .await;
    let text = "select (coalesce((select sum(seq_tup_read) from pg_stat_user_tables where relname = any($1)), 0) \
         + coalesce((select sum(idx_tup_read) from pg_stat_user_indexes where relname = any($1)), 0))::bigint";
    let read: i64 = sqlx::query_scalar(text)
        .bind(tables)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    read.unsigned_abs()
}

/// Returns the rows read in the whole life of a log, and the rows that the question brought. The
/// log's statements were prepared while it was short, and it was asked `times` times when it was
/// long.
async fn life(ask: Ask, statistics: bool, times: u64) -> (u64, u64) {
    let medium = Medium::postgres().await.unwrap();
    let store = open(&medium).await;
    for table in TABLES {
        execute(
            &medium,
            &format!("alter table {table} set (autovacuum_enabled = off)"),
        )
        .await;
    }
    fill(&store, 0..FIRST).await;
    for _ in 0..TIMES {
        ask(store.clone()).await;
    }
    fill(&store, FIRST..EVENTS).await;
    if statistics {
        execute(&medium, "analyze").await;
    }
    let mut rows = 0;
    for _ in 0..times {
        rows = ask(store.clone()).await;
    }
    store.close().await;
    (read_in_all(&medium, &TABLES).await, rows as u64)
}

/// Returns the questions that read more than they need: four times the rows they bring and 64, or
/// the cost of a search for a word besides.
async fn wasteful(questions: Vec<(&'static str, Ask, u64)>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, ask, besides) in questions {
        // One after the other: a database that goes away blocks a thread of the runtime meanwhile.
        let base = life(ask.clone(), false, 0).await;
        let with = life(ask.clone(), true, ASKED).await;
        let without = life(ask.clone(), false, ASKED).await;
        for (known, (read, rows)) in [("with", with), ("without", without)] {
            let read = read.saturating_sub(base.0) / ASKED;
            if read > 4 * rows + 64 + besides {
                wrong.push(format!(
                    "{name}: {read} read for {rows} rows {known} statistics"
                ));
            }
        }
    }
    wrong
}

fn pages() -> Vec<(&'static str, Query)> {
    let all = Query {
        limit: 50,
        ..Query::default()
    };
    let main = Query {
        thread: Some(thread("main")),
        ..all.clone()
    };
    let end = EVENTS as i64;
    vec![
        ("the newest", all.clone()),
        (
            "what follows a cursor",
            Query {
                after: Some(end / 2),
                order: Order::Ascending,
                show: Show::All,
                ..all.clone()
            },
        ),
        ("a thread", main.clone()),
        (
            "what a decision sees",
            Query {
                show: Show::Visible,
                before: Some(end - 100),
                ..main.clone()
            },
        ),
        (
            "a mailbox",
            Query {
                after: Some(end - 30),
                order: Order::Ascending,
                show: Show::Visible,
                ..main.clone()
            },
        ),
        (
            "a subtree",
            Query {
                subtree: true,
                ..main.clone()
            },
        ),
        (
            "a tag",
            Query {
                tags: vec!["input".into()],
                ..all.clone()
            },
        ),
        (
            "two tags",
            Query {
                tags: vec!["input".into(), "decision".into()],
                ..main.clone()
            },
        ),
        (
            "a tag from a source",
            Query {
                tags: vec!["input".into()],
                source: Some(Source::User),
                ..all.clone()
            },
        ),
        (
            "a rare word",
            Query {
                text: Some("word15".into()),
                ..all.clone()
            },
        ),
        (
            "a common word",
            Query {
                text: Some("all".into()),
                ..all
            },
        ),
    ]
}

/// With any knowledge of Postgres about its tables, a page reads little more than it brings.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_on_postgres_reads_no_more_than_it_needs_with_and_without_statistics() {
    if Medium::postgres().await.is_none() {
        return;
    }
    let besides = |name| if name == "a common word" { 1000 } else { 0 };
    let wrong = wasteful(
        pages()
            .into_iter()
            .map(|(name, query)| (name, page(&query), besides(name)))
            .collect(),
    )
    .await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The questions of a turn besides pages: a known id, a lease, an append under it, rows, the
/// mailbox.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_on_postgres_reads_only_what_it_changes() {
    if Medium::postgres().await.is_none() {
        return;
    }
    let turn = ask(|store| async move {
        let talk: ThreadId = thread("talk-1");
        let mut resent = input("talk-1", "again and again");
        resent.event_id = Some(Uuid::from_u128(7));
        store
            .append(Append::free(&space(), vec![resent]))
            .await
            .unwrap();
        let fence = store
            .lease(&space(), &talk, Duration::from_secs(9))
            .await
            .unwrap()
            .unwrap()
            .fence;
        let turn = draft("talk-1", "a turn", &["decision"]);
        store
            .append(Append {
                space: space(),
                drafts: vec![turn],
                fence: Some(fence),
                release: true,
            })
            .await
            .unwrap();
        store.thread(&space(), &talk).await.unwrap();
        store.queued(&space(), &talk, 0, 100).await.unwrap();
        store
            .referrers(&space(), &talk..=&talk, "a", 10)
            .await
            .unwrap();
        store.awaiting(&space(), &talk..=&talk, 10).await.unwrap();
        store.head(&space()).await.unwrap();
        // The answers: two events stored, a lease, two rows, four lists.
        8
    });
    let wrong = wasteful(vec![("an append", turn, 0)]).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Control: a question that reads everything is seen to.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_reads_the_whole_log_is_noticed() {
    if Medium::postgres().await.is_none() {
        return;
    }
    let all = Query {
        limit: 5000,
        show: Show::All,
        ..Query::default()
    };
    let whole = ask(move |store| {
        let all = all.clone();
        async move { store.events(&space(), &all).await.unwrap().len().min(50) }
    });
    assert_eq!(wasteful(vec![("everything", whole, 0)]).await.len(), 2);
}

/// Claims something where fewer than a thousand claims wait.
async fn claim(store: &Arc<dyn Store>, number: usize) {
    append(store, claimed(fresh(), &format!("Claim {number}."), 1000)).await;
}

/// Returns the rows read of the statements of a space that holds many, with few that wait, and in
/// which so many are claimed then.
async fn read_for_claims(claims: usize) -> u64 {
    let medium = Medium::postgres().await.unwrap();
    let store = open(&medium).await;
    execute(
        &medium,
        "alter table statements set (autovacuum_enabled = off)",
    )
    .await;
    for number in 0..TIMES as usize {
        claim(&store, number).await;
    }
    for first in (0..HELD).step_by(250) {
        let held = (first..first + 250).flat_map(|number| {
            let id = fresh();
            let mut drafts = claimed(id, &format!("Statement {number} is held."), u32::MAX);
            drafts.push(judged(id, "surviving"));
            drafts
        });
        append(&store, held.collect()).await;
    }
    for number in 0..claims {
        claim(&store, number + TIMES as usize).await;
    }
    store.close().await;
    read_in_all(&medium, &["statements"]).await
}

/// Waiting statements are counted without a look at the held ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_on_postgres_reads_what_waits_and_not_what_is_held() {
    if Medium::postgres().await.is_none() {
        return;
    }
    let none = read_for_claims(0).await;
    let some = read_for_claims(ASKED as usize).await;
    let each = some.saturating_sub(none) / ASKED;
    let waiting = TIMES + ASKED;
    assert!(
        each <= 4 * waiting + 64,
        "a claim reads {each} where {waiting} wait at most"
    );
}
