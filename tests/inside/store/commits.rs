//! Commits of several servers on one Postgres: the number of their trips. Events written at once,
//! or by turns, are neither lost nor break a condition.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::sync::Arc;

use futures_util::future::join_all;
use futures_util::poll;
use serde_json::{Value, json};
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use thinkd::event::condition::Condition;
use thinkd::event::draft::Draft;
use thinkd::log::appended::Append;
use thinkd::log::error::StoreError;
use thinkd::log::kernel::Store;
use thinkd::log::query::{Query, Show};
use thinkd::words::id::fresh;
use thinkd::words::time::Timestamp;

use super::servers::two;
use super::{append, claimed, draft, input, judged, log, open, space, thread};
use kit::within;

/// Each server knows its own last writes, and the writes of another one in between count
/// nonetheless. On any server, and with any plan on it, rows and pages agree with the log.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_knows_is_never_older_than_what_another_has_written() {
    let Some((_medium, a, b)) = two().await else {
        return;
    };
    let mut random = 11_u32;
    let threads = ["main", "x", "y"];
    let mut counts = [0_i64; 3];
    let mut last = [0_i64; 3];
    for _ in 0..120 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let store = if random >> 30 == 0 { &b } else { &a };
        let at = (random >> 20) as usize % 3;
        let drafts = vec![input(threads[at], "x"); 1 + (random >> 16) as usize % 2];
        let placed = append(store, drafts).await;
        counts[at] += placed.len() as i64;
        last[at] = placed.last().unwrap().shown.event.seq;
        for asked in [&a, &b] {
            let row = asked
                .thread(&space(), &thread(threads[at]))
                .await
                .unwrap()
                .unwrap();
            assert_eq!((row.head, row.visible as i64), (last[at], counts[at]));
            let query = Query {
                thread: Some(thread(threads[at])),
                show: Show::Heard,
                limit: 5,
                ..Query::default()
            };
            let page = asked.events(&space(), &query).await.unwrap();
            assert_eq!(page[0].seq, last[at]);
            assert_eq!(page.len() as i64, counts[at].min(5));
        }
    }
    assert_eq!(
        a.rebuild(true).await.unwrap().differences,
        Vec::<String>::new()
    );
    a.close().await;
    b.close().await;
}

/// Two servers that write to the same threads at the same time neither lose nor double anything.
#[tokio::test(flavor = "multi_thread")]
async fn servers_that_write_to_the_same_threads_at_once_agree() {
    let Some((_medium, a, b)) = two().await else {
        return;
    };
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let store = if writer % 2 == 0 {
                a.clone()
            } else {
                b.clone()
            };
            tokio::spawn(async move {
                for n in 0..25_u128 {
                    let id = uuid::Uuid::from_u128((u128::from(writer / 2_u32) << 64) + n + 1);
                    let thread = ["main", "x", "y"][(n % 3) as usize];
                    append(
                        &store,
                        vec![input(thread, "x").with_id(id), draft(thread, "y", &[])],
                    )
                    .await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    // Every id was sent by two of the writers.
    assert_eq!(log(&a, &space()).await.len(), 8 * 25 + 4 * 25);
    assert_eq!(
        b.rebuild(true).await.unwrap().differences,
        Vec::<String>::new()
    );
    a.close().await;
    b.close().await;
}

/// Appends of several servers wait for one another where the log ends. An append that has waited
/// plans on the events that the others have stored meanwhile. These are rows of threads it knows,
/// of threads that have only just begun, and events with the same id.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_had_to_wait_sees_what_was_stored_meanwhile() {
    let Some((medium, a, b)) = two().await else {
        return;
    };
    let c = open(&medium).await;
    let stores = [a, b, c];
    // Each has met the others, so that none takes itself to be alone; the last one knows nothing of the thread.
    for store in [0, 1, 0, 1] {
        append(&stores[store], vec![input("main", "x")]).await;
    }
    let mut raw = PgConnection::connect(medium.url()).await.unwrap();
    let mut looking = PgConnection::connect(medium.url()).await.unwrap();
    for round in 0..5_u128 {
        sqlx::raw_sql("begin; select 1 from spaces for update")
            .execute(&mut raw)
            .await
            .unwrap();
        let new = format!("new-{round}");
        let appends = Vec::from_iter(stores.iter().cloned().map(|store| {
            let drafts = vec![
                input("main", "on"),
                input(&new, "first"),
                input("twice", "once").with_id(uuid::Uuid::from_u128(round + 1)),
            ];
            tokio::spawn(async move {
                append(&store, drafts)
                    .await
                    .iter()
                    .filter(|it| it.duplicate)
                    .count()
            })
        }));
        within("all of them to wait", waiting(&mut looking, 3)).await;
        sqlx::raw_sql("commit").execute(&mut raw).await.unwrap();
        let mut duplicates = 0;
        for append in appends {
            duplicates += append.await.unwrap();
        }
        assert_eq!(duplicates, 2, "one of three was first");
    }
    let row = stores[2]
        .thread(&space(), &thread("main"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.visible, 4 + 5 * 3);
    assert_eq!(
        stores[0].rebuild(true).await.unwrap().differences,
        Vec::<String>::new()
    );
    for store in stores {
        store.close().await;
    }
}

/// An append at a server that waits for another one's commit is in its next commit: it does not
/// wait for one more.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_while_a_server_waits_for_another_is_in_its_next_commit() {
    let Some((medium, a, b)) = two().await else {
        return;
    };
    let mut raw = PgConnection::connect(medium.url()).await.unwrap();
    let mut looking = PgConnection::connect(medium.url()).await.unwrap();
    append(&a, vec![draft("main", "x", &[])]).await;
    append(&b, vec![draft("main", "x", &[])]).await;
    sqlx::raw_sql("begin; select 1 from spaces for update")
        .execute(&mut raw)
        .await
        .unwrap();
    let append_one = || Box::pin(append(&a, vec![draft("main", "y", &[])]));
    let mut first = append_one();
    assert!(poll!(&mut first).is_pending());
    within("the first to wait", waiting(&mut looking, 1)).await;
    let mut more = Vec::from_iter(std::iter::repeat_with(append_one).take(20));
    for append in &mut more {
        assert!(poll!(append).is_pending(), "it is queued, and waits");
    }
    sqlx::raw_sql("commit").execute(&mut raw).await.unwrap();
    first.await;
    join_all(more).await;
    let text = "select count(*), count(distinct xmin::text) from events where seq > 2";
    let commits: (i64, i64) = sqlx::query_as(text).fetch_one(&mut raw).await.unwrap();
    assert_eq!(commits, (21, 1), "events, and commits that stored them");
    a.close().await;
    b.close().await;
}

/// Returns when so many connections wait for a lock.
pub(super) async fn waiting(looking: &mut PgConnection, count: i64) {
    let text = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(text)
        .fetch_one(&mut *looking)
        .await
        .unwrap()
        < count
    {
        tokio::task::yield_now().await;
    }
}

/// Rows that another program makes anew while servers run are not written over with the servers'
/// memory of them.
#[tokio::test(flavor = "multi_thread")]
async fn rows_made_anew_beside_a_server_stay_as_they_were_made() {
    let Some((medium, a, b)) = two().await else {
        return;
    };
    for _ in 0..3 {
        append(&a, vec![input("main", "x")]).await;
    }
    let mut raw = PgConnection::connect(medium.url()).await.unwrap();
    sqlx::raw_sql("update threads set visible = 70")
        .execute(&mut raw)
        .await
        .unwrap();
    // A server takes over what it finds: the control.
    let c = open(&medium).await;
    append(&c, vec![input("main", "x")]).await;
    assert_eq!(
        c.thread(&space(), &thread("main"))
            .await
            .unwrap()
            .unwrap()
            .visible,
        71
    );
    append(&c, vec![input("main", "x")]).await;
    assert!(!b.rebuild(false).await.unwrap().differences.is_empty());
    append(&c, vec![input("main", "x")]).await;
    assert_eq!(
        c.thread(&space(), &thread("main"))
            .await
            .unwrap()
            .unwrap()
            .visible,
        6
    );
    assert_eq!(
        b.rebuild(true).await.unwrap().differences,
        Vec::<String>::new()
    );
    for store in [a, b, c] {
        store.close().await;
    }
}

/// The writes of one server alone cost a trip to the database, not one for every question of a
/// transaction. Rows of projections that are put, altered and removed go along.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_a_server_that_writes_alone_is_one_statement() {
    let Some((medium, a, b)) = two().await else {
        return;
    };
    let mut raw = PgConnection::connect(medium.url()).await.unwrap();
    let id = fresh();
    let text = || vec![draft("main", "x", &[])];
    let timer = |change| vec![Draft::changed(&thread("main"), "timer", "tea", change)];
    append(&a, text()).await;
    append(&a, text()).await;
    let due = json!({ "due": Timestamp::from_micros(1_763_698_300_000_000), "note": "tea" });
    let several = [
        timer(due),
        claimed(fresh(), "Both are put.", 9),
        vec![judged(id, "falsified")],
    ];
    let kinds = [
        text(),
        claimed(id, "Tea is hot.", 9),
        vec![judged(id, "surviving")],
        several.concat(),
        timer(Value::Null),
    ];
    for drafts in kinds.iter().chain(&kinds[..1]) {
        let last = commit(&mut raw, &a, drafts.clone()).await;
        assert!(last.starts_with("with ends"), "{last}: {drafts:?}");
    }
    append(&b, text()).await;
    assert_eq!(
        commit(&mut raw, &a, text()).await,
        "commit",
        "another server has written: the control"
    );
    assert_eq!(
        a.rebuild(true).await.unwrap().differences,
        Vec::<String>::new()
    );
    a.close().await;
    b.close().await;
}

/// The last statement of the connection that writes, after an append.
async fn commit(raw: &mut PgConnection, store: &Arc<dyn Store>, drafts: Vec<Draft>) -> String {
    append(store, drafts).await;
    let text = "select query from pg_stat_activity where datname = current_database() \
         and (query = 'commit' or query like 'with ends%') order by state_change desc limit 1";
    sqlx::query_scalar(text).fetch_one(raw).await.unwrap()
}

/// Servers that write rows of projections of one space at once agree on them, and a condition on
/// them holds. Of claims that come at both, as many wait as may.
#[tokio::test(flavor = "multi_thread")]
async fn servers_that_write_the_same_rows_at_once_agree() {
    const MOST: u32 = 20;
    let Some((_medium, a, b)) = two().await else {
        return;
    };
    let writers: Vec<_> = (0..6_i64)
        .map(|writer| {
            let store = if writer % 2 == 0 {
                a.clone()
            } else {
                b.clone()
            };
            tokio::spawn(async move {
                let mut stored = 0;
                for n in 0..20_i64 {
                    let id = fresh();
                    let name = ["tea", "egg", "cake"][(n % 3) as usize];
                    let due =
                        json!({ "due": Timestamp::from_micros(n), "note": writer.to_string() });
                    let change = if n % 5 == 4 { Value::Null } else { due };
                    append(
                        &store,
                        vec![Draft::changed(&thread("main"), "timer", name, change)],
                    )
                    .await;
                    let claim = store
                        .append(Append::free(
                            &space(),
                            claimed(id, &format!("{writer} {n}"), MOST),
                        ))
                        .await;
                    match claim {
                        Ok(_) if n % 4 == 0 => {
                            append(&store, vec![judged(id, "surviving")]).await;
                        }
                        Ok(_) => stored += 1,
                        Err(StoreError::Unmet(Condition::FewerWaiting(MOST))) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                stored
            })
        })
        .collect();
    let stored: u32 = join_all(writers)
        .await
        .into_iter()
        .map(|stored| stored.unwrap())
        .sum();
    assert_eq!(
        stored, MOST,
        "none more, and none was refused while there was room"
    );
    assert_eq!(
        b.rebuild(true).await.unwrap().differences,
        Vec::<String>::new()
    );
    a.close().await;
    b.close().await;
}
