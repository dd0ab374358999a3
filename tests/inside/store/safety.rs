//! Accidents that must not happen: events that change, two processes on one file, rows that differ
//! from the log, a lost backup.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use thinkd::event::envelope::Event;
use thinkd::event::fact::Fact;
use thinkd::log::appended::Append;
use thinkd::log::blob::Blob;
use thinkd::log::change::Applied;
use thinkd::log::error::StoreError;
use thinkd::log::kernel::Store;
use thinkd::log::options::Options;
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::log::{backup, query};

use super::{append, databases, draft, id, input, log, media, note, open, project, space};
use kit::Medium;

/// D4.23: events once read are read again the same, after a restart, too.
#[tokio::test]
async fn d4_23_events_stay_as_they_are() {
    for medium in media().await {
        let store = open(&medium).await;
        append(
            &store,
            vec![
                input("main", "hi").with_id(id(5).unwrap()),
                note("k", "v", &[]),
            ],
        )
        .await;
        let before = log(&store, &space()).await;
        let head = store.head(&space()).await.unwrap();
        append(&store, vec![input("main", "more")]).await;
        assert_eq!(log(&store, &space()).await[..2], before[..]);
        store.close().await;
        assert!(
            matches!(store.head(&space()).await, Err(StoreError::Unavailable(_))),
            "closed is closed"
        );
        let late = store
            .append(Append::free(&space(), vec![input("main", "late")]))
            .await;
        assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
        drop(store);
        let store = open(&medium).await;
        assert_eq!(log(&store, &space()).await[..2], before[..]);
        assert_eq!(
            store.head(&space()).await.unwrap().epoch,
            head.epoch,
            "the same incarnation after a restart"
        );
        assert_eq!(
            store
                .event(&space(), id(5).unwrap())
                .await
                .unwrap()
                .as_ref(),
            Some(&before[0])
        );
        store.close().await;
    }
}

/// D4.23: there is no way to change or remove an event, not even past the store.
#[tokio::test]
async fn d4_23_the_database_itself_refuses_to_change_events() {
    for medium in databases().await {
        let store = open(&medium).await;
        append(&store, vec![draft("main", "x", &[])]).await;
        for text in ["update events set payload = '{}'", "delete from events"] {
            let refused = if medium.is_postgres() {
                let mut connection = sqlx::PgConnection::connect(medium.url()).await.unwrap();
                sqlx::query(text)
                    .execute(&mut connection)
                    .await
                    .map(|_| ())
                    .unwrap_err()
            } else {
                let mut connection = SqliteConnection::connect(medium.url()).await.unwrap();
                sqlx::query(text)
                    .execute(&mut connection)
                    .await
                    .map(|_| ())
                    .unwrap_err()
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
    let second = store::open(medium.url(), Options::default(), project)
        .await
        .err()
        .unwrap();
    assert!(
        matches!(&second, StoreError::Unavailable(why) if why.contains("thinkd.db")),
        "{second}"
    );
    store.close().await;
    drop(store);
    open(&medium).await.close().await;
}

/// One file is one database, under any name.
#[tokio::test]
async fn a_second_store_on_one_file_is_refused_under_any_name() {
    let medium = Medium::sqlite();
    let folder = medium.folder();
    let file = folder.join("thinkd.db");
    let soft = folder.join("soft.db");
    let hard = folder.join("hard.db");
    // Also before there is a file, and by a way that leads through another folder.
    std::os::unix::fs::symlink(&file, &soft).unwrap();
    let around = folder.join("around");
    std::os::unix::fs::symlink(folder, &around).unwrap();
    let store = open(&medium).await;
    std::fs::hard_link(&file, &hard).unwrap();
    for name in [&file, &soft, &hard, &around.join("thinkd.db")] {
        let url = format!("sqlite://{}", name.display());
        let second = store::open(&url, Options::default(), project).await.err();
        assert!(
            matches!(&second, Some(StoreError::Unavailable(_))),
            "{}: {second:?}",
            name.display()
        );
    }
    append(&store, vec![input("main", "still here")]).await;
    store.close().await;
    drop(store);
    let store = store::open(
        &format!("sqlite://{}", soft.display()),
        Options::default(),
        project,
    )
    .await
    .unwrap();
    assert_eq!(
        log(&store, &space()).await.len(),
        1,
        "control: by another name it is the same log"
    );
    let second = store::open(medium.url(), Options::default(), project)
        .await
        .err();
    assert!(
        matches!(&second, Some(StoreError::Unavailable(_))),
        "{second:?}"
    );
    store.close().await;
}

/// A defect met while one append is written refuses that one, and is not the end of all writing.
#[tokio::test]
async fn the_writer_survives_a_defect() {
    fn poisoned(row: &mut ThreadRow, event: &Event, fact: &Fact<'_>) -> Applied {
        assert!(event.text() != "poison", "this event cannot be projected");
        project(row, event, fact)
    }
    for medium in media().await {
        let supervisor = thinkd::tasks::supervisor::Supervisor::default();
        let options = Options {
            supervisor: supervisor.clone(),
            ..Options::default()
        };
        let store = super::opened(&medium, options, poisoned).await;
        append(&store, vec![input("main", "before")]).await;
        let space = space();
        let put = |text: &str| store.append(Append::free(&space, vec![input("main", text)]));
        let (poison, beside, besides) = tokio::join!(put("poison"), put("beside"), put("besides"));
        assert!(
            matches!(&poison, Err(StoreError::Broken(why)) if why.contains("cannot be projected")),
            "{poison:?}"
        );
        assert!(beside.is_ok() && besides.is_ok(), "{beside:?} {besides:?}");
        append(&store, vec![input("main", "after")]).await;
        let said: Vec<String> = log(&store, &space)
            .await
            .iter()
            .map(|event| event.text().to_owned())
            .collect();
        assert_eq!(
            (said.len(), said.contains(&"poison".to_owned())),
            (4, false),
            "{said:?}"
        );
        assert!(
            tokio::time::timeout(kit::ms(50), supervisor.ended())
                .await
                .is_err(),
            "nothing has ended"
        );
        store.close().await;
    }
}

#[tokio::test]
async fn what_cannot_be_opened_says_why() {
    for (url, says) in [
        ("mysql://x", "sqlite://FILE"),
        ("thinkd.db", "sqlite://FILE"),
        ("sqlite::memory:", "names no file"),
        (
            "sqlite:///nowhere/at/all/thinkd.db",
            "/nowhere/at/all/thinkd.db",
        ),
        ("postgres://nobody@127.0.0.1:1/none", "127.0.0.1:1"),
    ] {
        let error = store::open(url, Options::default(), project)
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(says), "{url}: {error}");
    }
}

/// Blobs are found by their hash, by the space that stored them.
#[tokio::test]
async fn blobs_are_kept_by_hash() {
    for medium in media().await {
        let store = open(&medium).await;
        let blob = Blob {
            mime: "image/png".into(),
            bytes: vec![0, 159, 146, 150].into(),
        };
        let hash = store.put_blob(&space(), blob.clone()).await.unwrap();
        assert_eq!(store.put_blob(&space(), blob.clone()).await.unwrap(), hash);
        assert_eq!(hash.len(), 64);
        assert_eq!(store.blob(&space(), &hash).await.unwrap(), Some(blob));
        assert_eq!(
            store
                .blob(&thinkd::words::id::Space::parse("other").unwrap(), &hash)
                .await
                .unwrap(),
            None
        );
        let empty = Blob {
            mime: "text/plain".into(),
            bytes: Default::default(),
        };
        let hash = store.put_blob(&space(), empty).await.unwrap();
        assert_eq!(
            hash,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        store.close().await;
    }
}

/// Blobs that come at once share a commit; one that the database refuses (Postgres: a NUL in its type) takes no other with it.
#[tokio::test]
async fn blobs_that_come_at_once_are_all_kept() {
    for medium in media().await {
        let store = open(&medium).await;
        let mime = |number: u8| {
            if number == 7 {
                "text/\0plain"
            } else {
                "text/plain"
            }
        };
        let blob = |number: u8| Blob {
            mime: mime(number).into(),
            bytes: vec![number; 10].into(),
        };
        let space = &space();
        let blob = &blob;
        let put = (0..20).map(|number| store.put_blob(space, blob(number)));
        let hashes = futures_util::future::join_all(put).await;
        assert_eq!(hashes[7].is_err(), medium.is_postgres());
        for (number, hash) in (0..20).zip(hashes).filter(|(number, _)| *number != 7) {
            assert_eq!(
                store.blob(space, &hash.unwrap()).await.unwrap(),
                Some(blob(number))
            );
        }
        store.close().await;
    }
}

async fn fill(store: &std::sync::Arc<dyn Store>) {
    append(
        store,
        vec![
            input("main", "hi"),
            draft("main.a", "voice", &["submodule:x"]),
            note("tea", "green", &[]),
        ],
    )
    .await;
    let set = thinkd::event::draft::Draft::changed(
        &Default::default(),
        "submodule",
        "critic",
        serde_json::json!({ "prompt": "Doubt." }),
    );
    append(
        store,
        vec![
            set,
            note("gone", "x", &[]),
            draft("main", "Grüße", &["decision", "thought"]),
        ],
    )
    .await;
    append(
        store,
        vec![thinkd::event::draft::Draft::changed(
            &Default::default(),
            "entry",
            "gone",
            serde_json::Value::Null,
        )],
    )
    .await;
    let other = thinkd::words::id::Space::parse("other").unwrap();
    store
        .append(Append::free(&other, vec![input("main", "elsewhere"); 3]))
        .await
        .unwrap();
}

async fn execute(medium: &Medium, text: &'static str) {
    if medium.is_postgres() {
        let mut connection = sqlx::PgConnection::connect(medium.url()).await.unwrap();
        sqlx::query(text).execute(&mut connection).await.unwrap();
    } else {
        let mut connection = SqliteConnection::connect(medium.url()).await.unwrap();
        let index = medium.folder().join("thinkd.db.index");
        sqlx::query("attach database $1 as found")
            .bind(index.to_str())
            .execute(&mut connection)
            .await
            .unwrap();
        sqlx::query(text).execute(&mut connection).await.unwrap();
    }
}

/// Rows agree with the log: rebuilding finds nothing, or finds the broken rows, and mends them.
#[tokio::test]
async fn rebuilding_makes_the_same_rows_from_the_log_alone() {
    for medium in databases().await {
        let store = open(&medium).await;
        fill(&store).await;
        let sound = store.rebuild(true).await.unwrap();
        assert_eq!((sound.events, sound.differences), (10, vec![]));
        let threads = store.threads(&space(), None, 100).await.unwrap();
        let tagged = query::Query {
            tags: vec!["thought".into()],
            limit: 5,
            ..query::Query::default()
        };
        assert_eq!(store.events(&space(), &tagged).await.unwrap().len(), 1);
        execute(
            &medium,
            "update threads set handled = 99 where thread = 'main.a'",
        )
        .await;
        execute(&medium, "delete from entries where key = 'tea'").await;
        execute(&medium, "delete from marks where mark = '#thought'").await;
        for check in [true, true, false] {
            let found = store.rebuild(check).await.unwrap().differences;
            let expected = [
                "threads default/main.a: differs",
                "entries default/tea: is missing",
                "marks",
            ];
            assert_eq!(found.len(), expected.len(), "{found:?}");
            assert_eq!(found[..2], expected[..2]);
            assert!(found[2].starts_with(expected[2]), "{found:?}");
        }
        assert_eq!(
            store.rebuild(true).await.unwrap().differences,
            Vec::<String>::new()
        );
        assert_eq!(store.threads(&space(), None, 100).await.unwrap(), threads);
        assert_eq!(
            store
                .search_entries(&space(), "green", 5)
                .await
                .unwrap()
                .len(),
            1
        );
        assert_eq!(store.events(&space(), &tagged).await.unwrap().len(), 1);
        let query = query::Query {
            text: Some("grüsse".into()),
            limit: 5,
            ..query::Query::default()
        };
        assert_eq!(
            store.events(&space(), &query).await.unwrap().len(),
            1,
            "the search index is made anew, too"
        );
        append(&store, vec![input("main", "on")]).await;
        store.close().await;
    }
}

/// Returns the schema of a SQLite file: every table, index and trigger, without the spaces of its
/// text.
async fn tables(connection: &mut SqliteConnection) -> Vec<(String, String)> {
    let text = "select name, coalesce(sql, '') from sqlite_master where name <> '_sqlx_migrations' \
         and tbl_name <> '_sqlx_migrations' order by name";
    let rows: Vec<(String, String)> = sqlx::query_as(text).fetch_all(connection).await.unwrap();
    rows.into_iter()
        .map(|(name, sql)| (name, sql.split_whitespace().collect()))
        .collect()
}

/// The tables of a new file are made at once: they are those that the migrations make, and no migration is left to be run.
#[tokio::test]
async fn a_new_file_has_the_tables_that_the_migrations_make() {
    let medium = Medium::sqlite();
    open(&medium).await.close().await;
    let mut new = SqliteConnection::connect(medium.url()).await.unwrap();
    let migrated = SqliteConnectOptions::new()
        .filename(medium.folder().join("migrated.db"))
        .create_if_missing(true);
    let mut migrated = migrated.connect().await.unwrap();
    let folder = std::path::Path::new(kit::ROOT).join("migrations/sqlite");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(text))
            .execute(&mut migrated)
            .await
            .unwrap();
    }
    assert_eq!(tables(&mut new).await, tables(&mut migrated).await);
    let run: i64 = sqlx::query_scalar("select count(*) from _sqlx_migrations")
        .fetch_one(&mut new)
        .await
        .unwrap();
    assert_eq!(run, i64::try_from(files.len()).unwrap());
}

/// A database of an earlier thinkd is brought up to date with its contents.
#[tokio::test]
async fn tables_of_an_earlier_version_are_brought_up_to_date() {
    for medium in databases().await {
        let store = open(&medium).await;
        fill(&store).await;
        append(
            &store,
            vec![
                input("late", "one"),
                input("late", "two"),
                note("tea", "green and strong", &[]),
            ],
        )
        .await;
        let before = log(&store, &space()).await;
        store.close().await;
        drop(store);
        // As the third version left them.
        if !medium.is_postgres() {
            execute(
                &medium,
                "alter table spaces add column head integer not null default 0",
            )
            .await;
            execute(
                &medium,
                "alter table spaces add column ts integer not null default 0",
            )
            .await;
            execute(
                &medium,
                "create table main.marks as select * from found.marks",
            )
            .await;
            execute(&medium, "create virtual table main.event_words using fts5 (words, content = '', detail = none)")
                .await;
            execute(
                &medium,
                "create table main.indexed as select * from found.indexed",
            )
            .await;
            execute(&medium, "drop table uploads").await;
            execute(&medium, "drop table blob_parts").await;
            execute(&medium, "alter table blobs drop column upload").await;
        } else {
            execute(
                &medium,
                "create unique index events_id on events (space, event_id)",
            )
            .await;
            execute(&medium, "drop index events_by_id").await;
            execute(
                &medium,
                "drop function take_lease, lock_logs, thread_columns",
            )
            .await;
            execute(&medium, "drop table servers").await;
            execute(&medium, "alter table log drop constraint log_pkey").await;
        }
        execute(
            &medium,
            "insert into marks select space, thread || '!', 3, seq from mailboxes",
        )
        .await;
        execute(&medium, "drop table mailboxes").await;
        execute(&medium, "create index events_ts on events (space, ts, seq)").await;
        execute(&medium, "drop index threads_cut_off").await;
        execute(&medium, "drop index threads_awaiting").await;
        execute(&medium, "alter table threads drop column awaits").await;
        execute(&medium, "alter table log drop column probe").await;
        execute(&medium, "alter table log drop column words").await;
        execute(&medium, "alter table submodules drop column follow_up").await;
        execute(&medium, "drop table roots").await;
        execute(&medium, "drop table schedules").await;
        execute(&medium, "drop table requests").await;
        execute(&medium, "drop table settings").await;
        execute(&medium, "drop table pins").await;
        execute(&medium, "drop table statements").await;
        execute(&medium, "drop table standings").await;
        execute(&medium, "drop table vectors").await;
        execute(&medium, "drop table merges").await;
        execute(&medium, "drop table tasks").await;
        execute(&medium, "drop table frameworks").await;
        execute(&medium, "drop table forks").await;
        execute(&medium, "alter table entries drop column seq").await;
        execute(&medium, "drop index timers_of").await;
        execute(&medium, "alter table timers drop column root").await;
        execute(&medium, "delete from _sqlx_migrations where version > 3").await;
        let store = open(&medium).await;
        assert_eq!(log(&store, &space()).await, before);
        let late = thinkd::words::id::ThreadId::parse("late").unwrap();
        assert_eq!(
            store.queued(&space(), &late, 0, 9).await.unwrap(),
            2,
            "what waited waits"
        );
        assert_eq!(
            store.living(&space()).await.unwrap(),
            3,
            "threads that were there are counted"
        );
        let notes = store.search_entries(&space(), "green", 5).await.unwrap();
        let notes: Vec<_> = notes
            .iter()
            .map(|note| (note.key.as_str(), note.seq))
            .collect();
        assert_eq!(
            notes,
            [("tea", 10)],
            "a note knows the event that wrote it last"
        );
        // By whom something was used nobody wrote down then.
        let differences = store.rebuild(true).await.unwrap().differences;
        assert!(
            differences.iter().all(|it| it.starts_with("roots ")),
            "{differences:?}"
        );
        let found = append(&store, vec![input("main", "on")]).await;
        assert_eq!(found[0].shown.event.seq, 11);
        let late = query::Query {
            since: Some(found[0].shown.event.ts),
            limit: 5,
            ..query::Query::default()
        };
        let late = store.events(&space(), &late).await.unwrap();
        assert_eq!(
            late.last().map(|event| event.seq),
            Some(11),
            "found by its time"
        );
        store.rebuild(false).await.unwrap();
        assert_eq!(
            store.rebuild(true).await.unwrap().differences,
            Vec::<String>::new()
        );
        store.close().await;
    }
}

/// A backup of a running server, restored: the same events, rows and blobs under a new epoch, on either database.
#[tokio::test]
async fn a_backup_restores_the_log_under_a_new_epoch() {
    for medium in databases().await {
        let store = open(&medium).await;
        fill(&store).await;
        let blob = Blob {
            mime: "image/png".into(),
            bytes: vec![1, 2, 3].into(),
        };
        let hash = store.put_blob(&space(), blob.clone()).await.unwrap();
        let file = medium.folder().join("backup.db");
        assert_eq!(
            thinkd::log::backup::backup(medium.url(), &file)
                .await
                .unwrap(),
            10
        );
        let again = thinkd::log::backup::backup(medium.url(), &file)
            .await
            .unwrap_err()
            .to_string();
        assert!(again.contains("exists already"), "{again}");
        let opened = store::open(
            &format!("sqlite://{}", file.display()),
            Options::default(),
            project,
        )
        .await;
        assert!(opened.err().unwrap().to_string().contains("thinkd restore"));
        for target in databases().await {
            assert_eq!(
                backup::restore(target.url(), &file, project)
                    .await
                    .unwrap()
                    .events,
                10
            );
            let twice = backup::restore(target.url(), &file, project)
                .await
                .unwrap_err()
                .to_string();
            assert!(twice.contains("empty"), "{twice}");
            let restored = open(&target).await;
            let before = store.head(&space()).await.unwrap();
            let after = restored.head(&space()).await.unwrap();
            assert_eq!(before.seq, after.seq);
            assert_ne!(before.epoch, after.epoch);
            assert_eq!(log(&store, &space()).await, log(&restored, &space()).await);
            assert_eq!(
                store.threads(&space(), None, 9).await.unwrap(),
                restored.threads(&space(), None, 9).await.unwrap()
            );
            assert_eq!(restored.submodules(&space()).await.unwrap().len(), 1);
            assert_eq!(
                restored.blob(&space(), &hash).await.unwrap(),
                Some(blob.clone())
            );
            assert_eq!(
                restored.rebuild(true).await.unwrap().differences,
                Vec::<String>::new()
            );
            append(&restored, vec![input("main", "on")]).await;
            restored.close().await;
        }
        store.close().await;
    }
    let nothing = std::path::Path::new("/nowhere/backup.db");
    assert!(
        backup::restore(Medium::sqlite().url(), nothing, project)
            .await
            .is_err()
    );
}
