//! What must not happen: events that change, two processes on one file, rows that differ from the log, a lost backup.

use sqlx::{Connection, SqliteConnection};
use thinkd::store::{self, Blob, Error, Options};

use super::{append, draft, id, input, log, media, note, open, project, space};
use crate::support::Medium;

/// D4.23: what was read is read again, after a restart, too.
#[tokio::test]
async fn d4_23_events_stay_as_they_are() {
    for medium in media().await {
        let store = open(&medium).await;
        append(&store, vec![input("main", "hi").with_id(id(5).unwrap()), note("k", "v", &[])]).await;
        let before = log(&store, &space()).await;
        let head = store.head(&space()).await.unwrap();
        append(&store, vec![input("main", "more")]).await;
        assert_eq!(log(&store, &space()).await[..2], before[..]);
        store.close().await;
        assert!(matches!(store.head(&space()).await, Err(Error::Unavailable(_))), "closed is closed");
        let late = store.append(store::Append::free(&space(), vec![input("main", "late")])).await;
        assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
        drop(store);
        let store = open(&medium).await;
        assert_eq!(log(&store, &space()).await[..2], before[..]);
        assert_eq!(store.head(&space()).await.unwrap().epoch, head.epoch, "the same incarnation after a restart");
        assert_eq!(store.event(&space(), id(5).unwrap()).await.unwrap().as_ref(), Some(&before[0]));
        store.close().await;
    }
}

/// D4.23: there is no way to change or remove an event, not even past the store.
#[tokio::test]
async fn d4_23_the_database_itself_refuses_to_change_events() {
    for medium in media().await {
        let store = open(&medium).await;
        append(&store, vec![draft("main", "x", &[])]).await;
        for text in ["update events set payload = '{}'", "delete from events"] {
            let refused = if medium.is_postgres() {
                let mut connection = sqlx::PgConnection::connect(medium.url()).await.unwrap();
                sqlx::query(text).execute(&mut connection).await.map(|_| ()).unwrap_err()
            } else {
                let mut connection = SqliteConnection::connect(medium.url()).await.unwrap();
                sqlx::query(text).execute(&mut connection).await.map(|_| ()).unwrap_err()
            };
            assert!(refused.to_string().contains("append-only"), "{refused}");
        }
        store.close().await;
    }
}

#[tokio::test]
async fn a_second_store_on_one_file_is_refused() {
    let medium = Medium::sqlite();
    let store = open(&medium).await;
    let second = store::open(medium.url(), Options::default(), project).await.err().unwrap();
    assert!(matches!(&second, Error::Unavailable(why) if why.contains("thinkd.db")), "{second}");
    store.close().await;
    drop(store);
    open(&medium).await.close().await;
}

#[tokio::test]
async fn what_cannot_be_opened_says_why() {
    for (url, says) in [
        ("mysql://x", "sqlite://FILE"),
        ("thinkd.db", "sqlite://FILE"),
        ("sqlite::memory:", "names no file"),
        ("sqlite:///nowhere/at/all/thinkd.db", "/nowhere/at/all/thinkd.db"),
        ("postgres://nobody@127.0.0.1:1/none", "127.0.0.1:1"),
    ] {
        let error = store::open(url, Options::default(), project).await.err().unwrap().to_string();
        assert!(error.contains(says), "{url}: {error}");
    }
}

/// Blobs are found by their hash, by the space that stored them.
#[tokio::test]
async fn blobs_are_kept_by_hash() {
    for medium in media().await {
        let store = open(&medium).await;
        let blob = Blob { mime: "image/png".into(), bytes: vec![0, 159, 146, 150].into() };
        let hash = store.put_blob(&space(), blob.clone()).await.unwrap();
        assert_eq!(store.put_blob(&space(), blob.clone()).await.unwrap(), hash);
        assert_eq!(hash.len(), 64);
        assert_eq!(store.blob(&space(), &hash).await.unwrap(), Some(blob));
        assert_eq!(store.blob(&thinkd::id::Space::parse("other").unwrap(), &hash).await.unwrap(), None);
        let empty = Blob { mime: "text/plain".into(), bytes: Default::default() };
        let hash = store.put_blob(&space(), empty).await.unwrap();
        assert_eq!(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        store.close().await;
    }
}
