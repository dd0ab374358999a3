//! The index that finds events: it trails the log, no append waits for it, and it is made of the log again when it has to be.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, PgConnection, SqliteConnection};
use thinkd::event::draft::Draft;
use thinkd::event::envelope::Event;
use thinkd::log::appended::Append;
use thinkd::log::kernel::Store;
use thinkd::log::query::{Order, Query, Show};
use thinkd::words::id::Space;
use tokio::time::timeout;

use super::{append, databases, draft, id, log, open, space, thread};
use kit::Medium;
use kit::stored::execute;

/// Another writer of the index, which so keeps everybody else from it.
enum Other {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Other {
    async fn takes(medium: &Medium) -> Self {
        if medium.is_postgres() {
            let mut connection = PgConnection::connect(medium.url()).await.unwrap();
            sqlx::raw_sql("begin; lock table indexed in exclusive mode")
                .execute(&mut connection)
                .await
                .unwrap();
            return Self::Postgres(connection);
        }
        let file = format!(
            "sqlite://{}",
            medium.folder().join("thinkd.db.index").display()
        );
        let mut connection = SqliteConnection::connect(&file).await.unwrap();
        sqlx::raw_sql("begin immediate")
            .execute(&mut connection)
            .await
            .unwrap();
        Self::Sqlite(connection)
    }

    async fn leaves(self) {
        match self {
            Self::Sqlite(connection) => connection.close().await.unwrap(),
            Self::Postgres(connection) => connection.close().await.unwrap(),
        }
    }
}

fn tagged() -> Query {
    Query {
        tags: vec!["rare".into()],
        limit: 500,
        order: Order::Ascending,
        ..Query::default()
    }
}

async fn texts(store: &Arc<dyn Store>, query: &Query) -> Vec<String> {
    store
        .events(&space(), query)
        .await
        .unwrap()
        .iter()
        .map(|event| event.text().to_owned())
        .collect()
}

/// Appends and questions by place do not wait for the index; a question by tag does, and is answered with all there is.
#[tokio::test]
async fn no_append_waits_for_the_index() {
    for medium in databases().await {
        let store = open(&medium).await;
        append(&store, vec![draft("main", "one", &["rare"])]).await;
        assert_eq!(texts(&store, &tagged()).await, ["one"]);
        let other = Other::takes(&medium).await;
        append(&store, vec![draft("main", "two", &["rare"])]).await;
        let here = Query {
            thread: Some(thread("main")),
            show: Show::All,
            ..tagged()
        };
        assert_eq!(
            texts(
                &store,
                &Query {
                    tags: Vec::new(),
                    ..here
                }
            )
            .await,
            ["one", "two"]
        );
        let query = tagged();
        let mut asked = Box::pin(texts(&store, &query));
        assert!(
            timeout(Duration::from_millis(200), &mut asked)
                .await
                .is_err(),
            "the index is not written yet"
        );
        other.leaves().await;
        assert_eq!(asked.await, ["one", "two"]);
        store.close().await;
    }
}

/// A door asks for its marks with each message: the end of the log is read for them as it is, as long as it is short.
#[tokio::test]
async fn marks_of_a_door_are_found_before_they_are_in_the_index() {
    for medium in databases().await {
        let store = open(&medium).await;
        append(&store, vec![draft("main", "one", &["door:a1", "rare"])]).await;
        assert_eq!(texts(&store, &tagged()).await, ["one"]);
        let other = Other::takes(&medium).await;
        for (thread, text, tags) in [
            ("main", "two", &["door:a1", "door-after:b"][..]),
            ("side", "three", &["door-after:b", "door:a12"][..]),
            ("main", "four", &["door-id:a1"][..]),
            ("main", "five", &["door:a1", "debug"][..]),
        ] {
            append(&store, vec![draft(thread, text, tags)]).await;
        }
        let asks = |tags: &[&str]| Query {
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..tagged()
        };
        let here = Query {
            thread: Some(thread("main")),
            ..asks(&["door-after:b"])
        };
        let newest = Query {
            order: Order::Descending,
            limit: 1,
            ..asks(&["door:a1", "door:a12"])
        };
        let both = Query {
            all_tags: true,
            ..asks(&["door:a1", "door-after:b"])
        };
        let all = Query {
            show: Show::All,
            ..asks(&["DOOR:A1"])
        };
        for (query, found) in [
            (asks(&["door:a1"]), &["one", "two"][..]),
            (asks(&["door:a1", "door-after:b"]), &["one", "two", "three"]),
            (asks(&["door:a"]), &[]),
            (here, &["two"]),
            (newest, &["three"]),
            (both, &["two"]),
            (all, &["one", "two", "five"]),
        ] {
            let asked = timeout(Duration::from_secs(30), texts(&store, &query)).await;
            assert_eq!(asked.unwrap(), found, "{query:?}");
        }
        // Beside another tag, and where much is not in the index, a reader waits.
        let beside = asks(&["door:a1", "rare"]);
        let mut asked = Box::pin(texts(&store, &beside));
        assert!(
            timeout(Duration::from_millis(200), &mut asked)
                .await
                .is_err()
        );
        let many = (0..200).map(|number| draft("main", &format!("{number}"), &["more"]));
        append(&store, many.collect()).await;
        let mark = asks(&["door:a1"]);
        let mut far = Box::pin(texts(&store, &mark));
        assert!(timeout(Duration::from_millis(200), &mut far).await.is_err());
        other.leaves().await;
        assert_eq!(asked.await, ["one", "two"]);
        assert_eq!(far.await, ["one", "two"]);
        store.close().await;
    }
}

/// The end of the log that is read event by event has its limit: when the index is that far behind, appends wait for it.
#[tokio::test]
async fn an_index_far_behind_is_waited_for() {
    for medium in databases().await {
        let store = open(&medium).await;
        append(&store, vec![draft("main", "one", &["rare"])]).await;
        assert_eq!(texts(&store, &tagged()).await, ["one"]);
        let other = Other::takes(&medium).await;
        let mut stored = 1;
        let mut held = loop {
            let drafts = vec![draft("main", "more", &[]); 500];
            let mut next = Box::pin(append(&store, drafts));
            match timeout(Duration::from_secs(3), &mut next).await {
                Ok(_) => stored += 500,
                Err(_) => break next,
            }
            assert!(stored < 10_000, "nobody was held");
        };
        assert!(stored >= 2_000, "{stored} events, and appends wait already");
        other.leaves().await;
        assert_eq!((&mut held).await.len(), 500);
        assert_eq!(store.head(&space()).await.unwrap().seq, stored + 500);
        drop(held);
        store.close().await;
    }
}

/// An index that is missing, cannot be read, is another log's, or knows more than its log does is made anew.
#[tokio::test]
async fn an_index_that_does_not_fit_is_made_anew() {
    let medium = Medium::sqlite();
    let file = medium.folder().join("thinkd.db");
    let index = medium.folder().join("thinkd.db.index");
    let copy = medium.folder().join("copy.db");
    let store = open(&medium).await;
    append(&store, vec![draft("main", "one", &["rare"])]).await;
    store.close().await;
    drop(store);
    assert!(
        !medium.folder().join("thinkd.db-wal").exists(),
        "a store that was closed is one file"
    );
    std::fs::copy(&file, &copy).unwrap();

    std::fs::remove_file(&index).unwrap();
    finds(&medium, "two", &["one", "two"]).await;
    std::fs::write(&index, "this is no database").unwrap();
    finds(&medium, "three", &["one", "two", "three"]).await;
    std::fs::write(&index, "").unwrap();
    finds(
        &medium,
        "three and a half",
        &["one", "two", "three", "three and a half"],
    )
    .await;
    let other = Medium::sqlite();
    finds(&other, "elsewhere", &["elsewhere"]).await;
    std::fs::copy(other.folder().join("thinkd.db.index"), &index).unwrap();
    finds(
        &medium,
        "four",
        &["one", "two", "three", "three and a half", "four"],
    )
    .await;
    // An older copy in the place of the log: what the index has of the other events is not true of these.
    std::fs::copy(&copy, &file).unwrap();
    finds(&medium, "another two", &["one", "another two"]).await;
    // And one that fits is kept. Held open: else a new file could get its number.
    let _held = std::fs::File::open(&index).unwrap();
    let before = inode(&index);
    finds(
        &medium,
        "another three",
        &["one", "another two", "another three"],
    )
    .await;
    assert_eq!(inode(&index), before);
}

/// A log without its end would give other events the seqs that a client has seen: it gets another
/// epoch, by which clients know.
#[tokio::test]
async fn a_log_that_has_lost_its_end_has_another_epoch() {
    let medium = Medium::sqlite();
    let file = medium.folder().join("thinkd.db");
    let copy = medium.folder().join("copy.db");
    let epoch = async || {
        let store = open(&medium).await;
        let epoch = store.head(&space()).await.unwrap().epoch;
        store.close().await;
        epoch
    };
    finds(&medium, "one", &["one"]).await;
    std::fs::copy(&file, &copy).unwrap();
    finds(&medium, "two", &["one", "two"]).await;
    let first = epoch().await;
    assert_eq!(epoch().await, first, "the control: a start changes nothing");
    std::fs::copy(&copy, &file).unwrap();
    let second = epoch().await;
    assert_ne!(second, first);
    assert_eq!(epoch().await, second, "it is another one once");
    finds(&medium, "another two", &["one", "another two"]).await;
}

/// Two copies of a log that went different ways, with events of the same ids under the same seqs:
/// the findings in one are not true of the other.
#[tokio::test]
async fn the_index_of_a_copy_that_went_another_way_is_made_anew() {
    let here = Medium::sqlite();
    let there = Medium::sqlite();
    let log = "thinkd.db";
    let index = "thinkd.db.index";
    finds(&here, "one", &["one"]).await;
    for file in [log, index] {
        std::fs::copy(here.folder().join(file), there.folder().join(file)).unwrap();
    }
    for (medium, first, second) in [(&here, "rare", "common"), (&there, "common", "rare")] {
        let store = open(medium).await;
        let again = |number, tag| Draft {
            event_id: id(number),
            ..draft("main", tag, &[tag])
        };
        append(&store, vec![again(7, first), again(8, second)]).await;
        assert_eq!(texts(&store, &tagged()).await, ["one", "rare"]);
        store.close().await;
    }
    // The control: its own index is kept.
    let _held = std::fs::File::open(here.folder().join(index)).unwrap();
    let before = inode(&here.folder().join(index));
    open(&here).await.close().await;
    assert_eq!(inode(&here.folder().join(index)), before);
    std::fs::copy(there.folder().join(index), here.folder().join(index)).unwrap();
    let store = open(&here).await;
    let found: Vec<_> = store
        .events(&space(), &tagged())
        .await
        .unwrap()
        .into_iter()
        .map(|event| event.seq)
        .collect();
    let rare = log_of(&store)
        .await
        .into_iter()
        .filter(|event| event.has("rare"))
        .map(|event| event.seq);
    assert_eq!(found, rare.collect::<Vec<_>>());
    store.close().await;
}

async fn log_of(store: &Arc<dyn Store>) -> Vec<Event> {
    log(store, &space()).await
}

fn inode(file: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(file).unwrap())
}

/// Opens, appends an event, and asks for all that have its tag.
async fn finds(medium: &Medium, text: &str, expected: &[&str]) {
    let store = open(medium).await;
    let plain = vec![draft("main", text, &[]), draft("main", text, &["rare"])];
    append(&store, plain).await;
    assert_eq!(texts(&store, &tagged()).await, expected);
    let rare = |event: &&Event| event.has("rare");
    assert_eq!(
        log(&store, &space()).await.iter().filter(rare).count(),
        expected.len()
    );
    let words = Query {
        text: Some("another".into()),
        limit: 9,
        ..Query::default()
    };
    let others = expected
        .iter()
        .filter(|text| text.starts_with("another"))
        .count();
    assert_eq!(texts(&store, &words).await.len(), 2 * others);
    assert_eq!(
        store.rebuild(true).await.unwrap().differences,
        Vec::<String>::new()
    );
    store.close().await;
}

/// A space with a refused index goes on growing, while the index of others changes.
#[tokio::test]
async fn a_space_whose_index_is_refused_grows_on_beside_others() {
    for medium in databases().await {
        let store = open(&medium).await;
        let texts: &[&str] = match medium.is_postgres() {
            false => &[
                "create trigger refuse before insert on marks when new.space = 'default' begin select raise(abort, 'no'); end",
            ],
            true => &[
                "create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$",
                "create trigger refuse before insert on marks for each row when (new.space = 'default') execute function refuse()",
            ],
        };
        let index = if medium.is_postgres() {
            medium.url().to_owned()
        } else {
            format!("{}.index", medium.url())
        };
        for text in texts {
            execute(&index, text).await;
        }
        let good = Space::parse("good").unwrap();
        for round in 0..12 {
            let more = timeout(
                Duration::from_secs(15),
                append(&store, vec![draft("main", "more", &[]); 500]),
            )
            .await;
            assert!(
                more.is_ok(),
                "after {} events an append is kept waiting",
                500 * round
            );
            store
                .events(&space(), &tagged())
                .await
                .expect_err("its index is refused");
            store
                .append(Append::free(&good, vec![draft("main", "fine", &["rare"])]))
                .await
                .unwrap();
            assert_eq!(
                store.events(&good, &tagged()).await.unwrap().len(),
                round + 1
            );
        }
        store.close().await;
    }
}
