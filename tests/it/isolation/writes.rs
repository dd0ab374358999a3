//! Writes: uploads and floods of one space cost an append of another one a commit more.

#![expect(clippy::disallowed_types, reason = "nothing is awaited beside them")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use sqlx::{Connection, Executor as _, PgConnection, SqliteConnection};
use thinkd_event::draft::{Draft, InputKind, Part};
use thinkd_log::appended::Append;
use thinkd_log::backup;
use thinkd_log::blob::Blob;
use thinkd_log::kernel::Store;
use thinkd_log::options::Options;
use thinkd_log::query::Query;
use thinkd_log::store;
use thinkd_log::thread_row::ThreadRow;
use thinkd_words::id::{Space, ThreadId};
use tokio::sync::watch;

use super::*;

fn space(name: &str) -> Space {
    Space::parse(name).unwrap()
}

async fn open(medium: &Medium) -> Arc<dyn Store> {
    store::open(medium.url(), Options::default(), ThreadRow::apply)
        .await
        .unwrap()
}

fn said_in(space: &Space) -> Append {
    let parts = vec![Part::Text("hello".into())];
    Append::free(
        space,
        Draft::input(
            &ThreadId::default(),
            InputKind::Message,
            parts,
            None,
            thinkd_words::id::fresh(),
        ),
    )
}

async fn head(store: &Arc<dyn Store>, space: &Space) -> i64 {
    store.head(space).await.unwrap().seq
}

fn large(mebibytes: usize, salt: u8) -> Blob {
    let bytes: Vec<u8> = (0..mebibytes << 20)
        .map(|at| (at >> 10) as u8 ^ (at % 251) as u8 ^ salt)
        .collect();
    Blob {
        mime: "application/octet-stream".into(),
        bytes: bytes.into(),
    }
}

/// Between the parts of a large upload others are acknowledged: they wait for one part, not for the
/// whole upload.
#[tokio::test]
async fn a_tenant_is_acknowledged_between_the_parts_of_another_ones_upload() {
    let medium = Medium::sqlite();
    let store = open(&medium).await;
    let one = space("a");
    let other = space("b");
    let mut looking = SqliteConnection::connect(medium.url()).await.unwrap();
    let mut stages = BTreeSet::new();
    let acks = async {
        loop {
            store.append(said_in(&other)).await.unwrap();
            let text = "select count(*) from blob_parts";
            stages.insert(
                sqlx::query_scalar::<_, i64>(text)
                    .fetch_one(&mut looking)
                    .await
                    .unwrap(),
            );
        }
    };
    tokio::select! {
        never = acks => match never {},
        hash = store.put_blob(&one, large(32, 1)) => drop(hash.unwrap()),
    }
    assert!(
        stages.len() > 8,
        "B was acknowledged when A had so many parts of 128: {stages:?}"
    );
    store.close().await;
}

/// A small upload goes between the parts of a large one.
#[tokio::test]
async fn a_small_upload_comes_before_the_end_of_another_ones_large_one() {
    let medium = Medium::sqlite();
    let store = open(&medium).await;
    let one = space("a");
    let other = space("b");
    let mut large_one = std::pin::pin!(store.put_blob(&one, large(32, 1)));
    tokio::select! {
        stored = &mut large_one => panic!("it was there at once: {stored:?}"),
        () = async { while count(&medium, "blob_parts").await == 0 { tokio::task::yield_now().await } } => {}
    }
    let small = Blob {
        mime: "text/plain".into(),
        bytes: vec![b'x'; 200 << 10].into(),
    };
    tokio::select! {
        biased;
        stored = &mut large_one => panic!("32 MiB of A came before 200 KiB of B: {stored:?}"),
        stored = store.put_blob(&other, small) => drop(stored.unwrap()),
    }
    large_one.await.unwrap();
    store.close().await;
}

/// On Postgres an upload is one statement, beside the appends: while it stands still, B's are
/// acknowledged. (SQLite has one writer, which takes an upload part by part: see above.)
#[tokio::test]
async fn a_tenant_is_acknowledged_while_another_uploads() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let store = open(&medium).await;
    let one = space("a");
    let other = space("b");
    store.append(said_in(&other)).await.unwrap();
    let mut holding = PgConnection::connect(medium.url()).await.unwrap();
    let mut looking = PgConnection::connect(medium.url()).await.unwrap();
    holding
        .execute("begin; lock table blobs in share mode")
        .await
        .unwrap();
    let blob = large(8, 1);
    let mut upload = std::pin::pin!(store.put_blob(&one, blob.clone()));
    let stands_still = async {
        let text =
            "select count(*) from pg_locks where relation = 'blobs'::regclass and not granted";
        while sqlx::query_scalar::<_, i64>(text)
            .fetch_one(&mut looking)
            .await
            .unwrap()
            == 0
        {
            tokio::task::yield_now().await;
        }
        for _ in 0..8 {
            store.append(said_in(&other)).await.unwrap();
        }
    };
    tokio::select! {
        stored = &mut upload => panic!("it was stored while the table was locked: {stored:?}"),
        () = within("acknowledgements of B", stands_still) => {}
    }
    holding.execute("commit").await.unwrap();
    let hash = upload.await.unwrap();
    assert_eq!(store.blob(&one, &hash).await.unwrap(), Some(blob));
    // Control: where what appends write is locked, none is acknowledged.
    holding
        .execute("begin; lock table events in share mode")
        .await
        .unwrap();
    let mut append = std::pin::pin!(store.append(said_in(&other)));
    assert!(tokio::time::timeout(ms(200), &mut append).await.is_err());
    holding.execute("commit").await.unwrap();
    append.await.unwrap();
    store.close().await;
}

// Uploads that come later do not wait for all of another space.
on_both!(uploads_of_two_spaces_go_side_by_side, |medium| {
    let store = open(&medium).await;
    let one = space("a");
    let other = space("b");
    let mut many: FuturesUnordered<_> = (0..8)
        .map(|salt| store.put_blob(&one, large(8, salt)))
        .collect();
    many.next().await.unwrap().unwrap();
    let few = store.put_blob(&other, large(1, 9));
    let mut few = std::pin::pin!(few);
    let mut left = 7;
    while left > 0 {
        tokio::select! {
            biased;
            stored = &mut few => {
                stored.unwrap();
                assert!(left > 0);
                while let Some(stored) = many.next().await {
                    stored.unwrap();
                }
                store.close().await;
                return;
            }
            Some(stored) = many.next() => {
                stored.unwrap();
                left -= 1;
            }
        }
    }
    panic!("1 MiB of B came after 64 MiB of A");
});

async fn count(medium: &Medium, table: &str) -> i64 {
    let text = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
    if medium.is_shared() {
        let mut connection = PgConnection::connect(medium.url()).await.unwrap();
        return sqlx::query_scalar(text)
            .fetch_one(&mut connection)
            .await
            .unwrap();
    }
    let mut connection = SqliteConnection::connect(medium.url()).await.unwrap();
    sqlx::query_scalar(text)
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

/// An upload that is cut off leaves nothing: neither half a blob that is shown, nor parts that are
/// kept.
#[tokio::test]
async fn an_upload_that_is_cut_off_leaves_nothing() {
    let medium = Medium::sqlite();
    let store = open(&medium).await;
    let one = space("a");
    let blob = large(24, 3);
    let hash = thinkd_words::text::sha256(&blob.bytes);
    // Nobody waits for it any more.
    tokio::select! {
        _ = store.put_blob(&one, blob.clone()) => panic!("it was faster than the first part"),
        () = async { while count(&medium, "blob_parts").await == 0 { tokio::task::yield_now().await } } => {}
    }
    assert_eq!(
        store.blob(&one, &hash).await.unwrap(),
        None,
        "not whole, so not there"
    );
    polled("the removal of its parts", async || {
        count(&medium, "blob_parts").await + count(&medium, "uploads").await == 0
    })
    .await;
    // A life that ends in the middle.
    store.close().await;
    drop(store);
    let mut connection = SqliteConnection::connect(medium.url()).await.unwrap();
    let text = "insert into uploads values (x'00112233445566778899aabbccddeeff'); \
         insert into blob_parts values (x'00112233445566778899aabbccddeeff', 0, x'01')";
    sqlx::raw_sql(text).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let store = open(&medium).await;
    assert_eq!(
        (
            count(&medium, "blob_parts").await,
            count(&medium, "uploads").await
        ),
        (0, 0)
    );
    // Once more, from the beginning; and the same again changes nothing.
    for _ in 0..2 {
        assert_eq!(store.put_blob(&one, blob.clone()).await.unwrap(), hash);
        assert_eq!(store.blob(&one, &hash).await.unwrap(), Some(blob.clone()));
        assert_eq!(
            (
                count(&medium, "blob_parts").await,
                count(&medium, "uploads").await
            ),
            (96, 0)
        );
    }
    let other = space("b");
    let twice = tokio::join!(
        store.put_blob(&other, blob.clone()),
        store.put_blob(&other, blob.clone())
    );
    assert_eq!(twice.0.unwrap(), twice.1.unwrap());
    assert_eq!(
        (
            count(&medium, "blob_parts").await,
            count(&medium, "uploads").await
        ),
        (192, 0)
    );
    assert_eq!(
        store.check(ms(0)).await.unwrap().faults,
        Vec::<String>::new()
    );
    store.close().await;
}

on_both!(
    a_large_blob_is_whole_in_a_backup_and_what_is_restored_from_it,
    |medium| {
        let store = open(&medium).await;
        let one = space("a");
        let blob = large(3, 5);
        store.append(said_in(&one)).await.unwrap();
        let hash = store.put_blob(&one, blob.clone()).await.unwrap();
        // The control: on SQLite it is there in parts.
        assert!(medium.is_shared() || count(&medium, "blob_parts").await > 1);
        let file = medium.folder().join("backup.db");
        thinkd_log::backup::backup(medium.url(), &file)
            .await
            .unwrap();
        for target in Medium::each().await {
            backup::restore(target.url(), &file, ThreadRow::apply)
                .await
                .unwrap();
            let restored = open(&target).await;
            assert_eq!(
                restored.blob(&one, &hash).await.unwrap(),
                Some(blob.clone())
            );
            assert_eq!(
                restored.check(ms(0)).await.unwrap().faults,
                Vec::<String>::new()
            );
            restored.close().await;
        }
        store.close().await;
    }
);

/// A commit that would copy many megabytes from the journal into the file keeps everybody waiting for that long.
#[tokio::test]
async fn a_large_blob_is_copied_into_the_file_little_by_little() {
    let medium = Medium::sqlite();
    let store = open(&medium).await;
    store.put_blob(&space("a"), large(8, 1)).await.unwrap();
    let journal = medium
        .folder()
        .join("thinkd.db-wal")
        .metadata()
        .unwrap()
        .len();
    assert!(
        journal < 4 << 20,
        "{journal} bytes of eight million wait to be copied"
    );
    store.close().await;
}

/// Events of one tenant that are acknowledged while another one waits for its own: a queue
/// in order of arrival would answer it after all of them.
const FLOOD: usize = 6000;

on_both!(a_tenant_is_acknowledged_while_another_floods, |medium| {
    let store = open(&medium).await;
    let one = space("a");
    let other = space("b");
    store.append(said_in(&other)).await.unwrap();
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let flood: Vec<_> = (0..FLOOD)
        .map(|_| {
            let store = store.clone();
            let append = said_in(&one);
            let count = acknowledged.clone();
            tokio::spawn(async move {
                store.append(append).await.unwrap();
                count.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    while acknowledged.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    // The first one is asked while nearly all of the flood waits: later ones may meet its end.
    let before = acknowledged.load(Ordering::Relaxed);
    store.append(said_in(&other)).await.unwrap();
    let passed = acknowledged.load(Ordering::Relaxed) - before;
    for append in flood {
        append.await.unwrap();
    }
    assert!(
        passed < FLOOD / 2,
        "{passed} of {FLOOD} events of A went before one of B, after {before}"
    );
    let stored = usize::try_from(head(&store, &one).await).unwrap();
    assert_eq!(stored, FLOOD, "control: all were stored");
    store.close().await;
});

/// Stores something with a tag in a space, and finds all that has it.
async fn finds(store: &Arc<dyn Store>, space: &Space) -> usize {
    // Much to be added to the index: it takes longer than the append.
    let text: String = (0..200).map(|number| format!("word{number} ")).collect();
    let mut drafts = vec![stored::draft("main", &text, &[]); 15];
    drafts.push(stored::draft("main", "look", &["rare"]));
    store.append(Append::free(space, drafts)).await.unwrap();
    let query = Query {
        tags: vec!["rare".into()],
        limit: 500,
        ..Query::default()
    };
    store.events(space, &query).await.unwrap().len()
}

// The index is gone on with for all in turn, whatever their names are.
on_both!(
    a_tenant_finds_what_it_stored_while_many_others_store_and_search,
    |medium| {
        let store = open(&medium).await;
        let found = watch::Sender::new(0);
        let crowd: Vec<_> = (0..100)
            .map(|number| {
                let (store, found, space) =
                    (store.clone(), found.clone(), space(&format!("a{number}")));
                tokio::spawn(async move {
                    loop {
                        finds(&store, &space).await;
                        found.send_modify(|found| *found += 1);
                    }
                })
            })
            .collect();
        let until = async |count: usize| {
            let mut found = found.subscribe();
            found
                .wait_for(|found| *found >= count)
                .await
                .map(drop)
                .unwrap();
        };
        within("searches of the others", until(100)).await;
        let before = *found.borrow();
        let other = space("z");
        tokio::select! {
            biased;
            count = finds(&store, &other) => assert_eq!(count, 1),
            () = until(before + 500) => panic!("500 searches of 100 others went before the one of Z"),
        }
        crowd.iter().for_each(tokio::task::JoinHandle::abort);
        store.close().await;
    }
);
