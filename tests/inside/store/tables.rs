//! Tables of projections: the list of them, and questions to them.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, SqliteConnection};
use thinkd::event::draft::Draft;
use thinkd::log::projections::{self, contacts, timers};
use thinkd::log::select::Select;
use thinkd::log::table::{Cell, Kind, Row, Table};

use super::{append, media, open, space, thread};
use kit::Medium;

/// Tables that are the store's own: the log, the data written with it in bulk, the index, blobs,
/// leases, servers, migrations.
const OWN: [&str; 12] = [
    "_sqlx_migrations",
    "blob_parts",
    "blobs",
    "events",
    "leases",
    "log",
    "mailboxes",
    "roots",
    "servers",
    "spaces",
    "threads",
    "vectors",
];
/// The index, which on SQLite has a file of its own; and the tables beside it there.
const INDEX: [&str; 4] = ["event_words", "indexed", "marks", "uploads"];

/// Columns by table: whether each is a number, and its place in the key.
type Columns = BTreeMap<String, BTreeMap<String, (bool, bool)>>;

async fn there(medium: &Medium) -> Columns {
    let rows: Vec<(String, String, String, bool)> = if medium.is_postgres() {
        let text = "select c.table_name::text, c.column_name::text, c.data_type::text, exists (select 1 \
             from information_schema.table_constraints k join information_schema.key_column_usage u using (constraint_name) \
             where k.constraint_type = 'PRIMARY KEY' and u.table_name = c.table_name and u.column_name = c.column_name) \
             from information_schema.columns c where c.table_schema = 'public'";
        let mut connection = PgConnection::connect(medium.url()).await.unwrap();
        sqlx::query_as(text)
            .fetch_all(&mut connection)
            .await
            .unwrap()
    } else {
        // Where the primary key is a number, the key is that of the unique constraint.
        let text = "select t.name, c.name, c.type, c.pk > 0 and c.name <> 'number' or exists (select 1 from pragma_index_list(t.name) i \
             join pragma_index_info(i.name) k where i.origin = 'u' and k.name = c.name) \
             from sqlite_master t join pragma_table_info(t.name) c where t.type = 'table' and t.sql not like 'create virtual%'";
        let mut connection = SqliteConnection::connect(medium.url()).await.unwrap();
        sqlx::query_as(text)
            .fetch_all(&mut connection)
            .await
            .unwrap()
    };
    let mut all = Columns::new();
    for (table, column, kind, in_key) in rows {
        let is_number = ["integer", "bigint"].contains(&kind.to_lowercase().as_str());
        all.entry(table)
            .or_default()
            .insert(column, (is_number, in_key));
    }
    all
}

fn declared(table: &Table) -> BTreeMap<String, (bool, bool)> {
    let column = |column: &thinkd::log::table::Column, in_key| {
        (column.name.to_owned(), (column.kind != Kind::Text, in_key))
    };
    table
        .key
        .iter()
        .map(|it| column(it, true))
        .chain(table.rest.iter().map(|it| column(it, false)))
        .collect()
}

/// The list of projections names the tables that the migrations made, with their columns and keys, and no other.
#[tokio::test]
async fn every_table_of_a_projection_is_what_the_migrations_made() {
    for medium in Medium::each().await {
        open(&medium).await.close().await;
        let mut there = there(&medium).await;
        let words: Vec<&str> = projections::all()
            .filter_map(|it| Some(it.table.words.as_ref()?.table))
            .collect();
        let is_of_words = |name: &str| words.iter().any(|words| name.starts_with(words));
        there.retain(|name, _| {
            !OWN.contains(&name.as_str()) && !INDEX.contains(&name.as_str()) && !is_of_words(name)
        });
        let mut listed = Columns::new();
        for projection in projections::all() {
            let table = projection.table;
            if table.words.is_some() {
                // How a database finds words: a row's number, or a vector of them.
                there
                    .get_mut(table.name)
                    .unwrap()
                    .retain(|column, _| !["number", "words"].contains(&column.as_str()));
            }
            listed.insert(table.name.to_owned(), declared(table));
        }
        assert_eq!(there, listed, "{}", medium.url());
    }
}

/// Without a table the store is not ready, and says which it misses.
#[tokio::test]
async fn a_table_that_is_missing_is_named() {
    for medium in Medium::each().await {
        let store = open(&medium).await;
        store.ping().await.unwrap();
        for projection in projections::all() {
            let name = projection.table.name;
            let aside = format!("{}_aside", projection.table.name);
            kit::stored::execute(
                medium.url(),
                &format!("alter table {name} rename to {aside}"),
            )
            .await;
            let said = store.ping().await.unwrap_err().to_string();
            assert!(said.contains(name), "{said}");
            kit::stored::execute(
                medium.url(),
                &format!("alter table {aside} rename to {name}"),
            )
            .await;
            store.ping().await.unwrap();
        }
        store.close().await;
    }
}

fn drawn<T: std::fmt::Debug>(runner: &mut TestRunner, strategy: impl Strategy<Value = T>) -> T {
    strategy.new_tree(runner).unwrap().current()
}

/// Contacts and timers of a few threads, some set again, some gone.
fn changes(runner: &mut TestRunner) -> Vec<Draft> {
    let id = prop::sample::select(vec!["a", "a.b", "a-b", "b"]);
    let name = prop::sample::select(vec!["x", "y", "z_1"]);
    let contact = (
        id.clone(),
        name.clone(),
        prop::option::weighted(0.8, id.clone()),
    )
        .prop_map(|(of, name, target)| {
            let change = target.map_or(
                Value::Null,
                |target| json!({ "thread": target, "description": target }),
            );
            Draft::changed(&thread(of), "contact", name, change)
        });
    let due = prop::option::weighted(0.8, (0..40_i64, prop::option::of(1..9_i64)));
    let timer = (id, name, due).prop_map(|(of, name, due)| {
        let at = |due: i64| thinkd::words::time::Timestamp::from_micros(due);
        let change = due.map_or(
            Value::Null,
            |(due, _)| json!({ "due": at(due), "note": "ring" }),
        );
        let mut draft = Draft::changed(&thread(of), "timer", name, change);
        if let Some((_, Some(root))) = due {
            draft.payload.insert("root".into(), root.into());
        }
        draft
    });
    drawn(
        runner,
        prop::collection::vec(prop_oneof![contact, timer], 60..90),
    )
}

fn table(name: &str) -> &'static Table {
    projections::all()
        .find(|it| it.table.name == name)
        .unwrap()
        .table
}

/// Returns a question with one order of its answer.
fn question(runner: &mut TestRunner) -> Select {
    let (of_timers, of_space) = drawn(runner, (any::<bool>(), any::<bool>()));
    let table = table(if of_timers { "timers" } else { "contacts" });
    let mut select = if of_space {
        Select::of(table, &space())
    } else {
        Select::of_all_spaces(table)
    };
    for column in table.columns() {
        let (is, text, number) = drawn(
            runner,
            (
                0..12_u8,
                prop::sample::select(vec!["a", "a.b", "x", "y"]),
                0..40_i64,
            ),
        );
        let value = || {
            if column.kind == Kind::Text {
                Cell::from(text)
            } else {
                number.into()
            }
        };
        select = match is {
            0 => select.equal(column.name, value()),
            1 => select.at_least(column.name, value()),
            2 => select.at_most(column.name, value()),
            3 => select.after(column.name, value()),
            _ => select,
        };
    }
    let names = prop::collection::vec(prop::sample::select(vec!["x", "y", "none"]), 1..4);
    if let Some(names) = drawn(runner, prop::option::weighted(0.2, names)) {
        select = select.one_of("name", names.into_iter().map(Cell::from));
    }
    select = match (of_timers, drawn(runner, 0..3_u8)) {
        (true, 0) => select.order_by(&["due", "thread", "name"]),
        (true, 1) => select
            .distinct(&["note", "thread"])
            .order_by(&["note", "thread"]),
        (false, 0) => select
            .distinct(&["target", "thread"])
            .order_by(&["target", "thread"]),
        _ => select.order_by(&["thread", "name"]),
    };
    if drawn(runner, any::<bool>()) {
        select.first(drawn(runner, 0..9_u32))
    } else {
        select
    }
}

/// Databases answer a question as its own reading of all rows does.
#[tokio::test]
async fn a_question_has_the_same_answer_everywhere() {
    let mut runner = TestRunner::deterministic();
    let log = changes(&mut runner);
    let questions = Vec::from_iter((0..300).map(|_| question(&mut runner)));
    let mut answers: Vec<Vec<Vec<Row>>> = Vec::new();
    for medium in media().await {
        let store = open(&medium).await;
        append(&store, log.clone()).await;
        let mut rows: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
        for projection in projections::all() {
            rows.insert(
                projection.table.name,
                store
                    .all_rows(projection.table, &space())
                    .await
                    .unwrap()
                    .to_vec(),
            );
        }
        assert!(
            rows["contacts"].len() > 3 && rows["timers"].len() > 3,
            "{rows:?}"
        );
        let mut found = Vec::new();
        for select in &questions {
            let answer = store.select(select.clone()).await.unwrap();
            assert_eq!(
                answer,
                select.among(rows[select.table().name].iter()),
                "{}: {select:?}",
                medium.url()
            );
            found.push(answer);
        }
        assert!(
            found.iter().filter(|answer| answer.len() > 2).count() > 20,
            "control: questions find something"
        );
        assert!(
            found.iter().collect::<BTreeSet<_>>().len() > 20,
            "control: and not the same"
        );
        answers.push(found);
        store.close().await;
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
}

/// The columns of rows are read by name: contacts and timers come back as they were set.
#[tokio::test]
async fn rows_are_read_by_the_names_of_their_columns() {
    for medium in media().await {
        let store = open(&medium).await;
        let due = thinkd::words::time::Timestamp::from_micros(1_763_698_300_000_000);
        let a = thread("a");
        let b = thread("b");
        let name = thinkd::words::id::Name::parse("b").unwrap();
        let timer = Draft::changed(&a, "timer", "t", json!({ "due": due, "note": "nul \0" }));
        let mut timer = timer;
        timer.payload.insert("root".into(), 7.into());
        append(&store, vec![Draft::contact(&a, &name, &b, "helps"), timer]).await;
        let contact = contacts::ContactRow {
            name,
            target: b.clone(),
            description: "helps".into(),
        };
        assert_eq!(store.contacts(&space(), &a).await.unwrap(), [contact]);
        assert_eq!(
            store.referrers(&space(), &a..=&b, "", 9).await.unwrap(),
            [(b, a.clone())]
        );
        let note = "nul \u{fffd}".to_owned();
        let timer = timers::TimerRow {
            space: space(),
            thread: a,
            name: "t".into(),
            due,
            note,
            root: Some(7),
        };
        assert_eq!(store.due(&space(), due, 9).await.unwrap(), [timer]);
        assert_eq!(store.spaces_due(due).await.unwrap(), [space()]);
        let before = thinkd::words::time::Timestamp::from_micros(due.micros() - 1);
        assert_eq!(
            (
                store.next_due(before).await.unwrap(),
                store.next_due(due).await.unwrap()
            ),
            (Some(due), None)
        );
        assert_eq!(store.spaces_due(before).await.unwrap(), []);
        store.close().await;
    }
}

/// A store in memory is for one at a time, and its events are there when it is opened again.
#[tokio::test]
async fn a_disk_in_memory_outlives_its_store() {
    let medium = Medium::memory();
    let store = open(&medium).await;
    append(&store, vec![super::note("k", "v", &[])]).await;
    let disk = medium.disk().unwrap();
    assert!(
        thinkd::log::store::memory(disk, &Default::default(), super::project).is_err(),
        "one at a time"
    );
    let head = store.head(&space()).await.unwrap();
    drop(store);
    let store = open(&medium).await;
    assert_eq!(store.head(&space()).await.unwrap(), head);
    assert_eq!(
        store.entry(&space(), "k").await.unwrap().unwrap().content,
        "v"
    );
    let rebuilt = store.rebuild(false).await.unwrap();
    assert_eq!((rebuilt.events, rebuilt.differences), (1, vec![]));
    assert_eq!(
        store.entry(&space(), "k").await.unwrap().unwrap().content,
        "v"
    );
    store.close().await;
}

#[tokio::test]
async fn names_of_spaces_compare_byte_by_byte_and_every_table_has_a_key() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    open(&medium).await.close().await;
    let mut connection = PgConnection::connect(medium.url()).await.unwrap();
    let text = "select table_name::text from information_schema.columns where table_schema = 'public' \
         and column_name = 'space' and collation_name is distinct from 'C' order by 1";
    let other: Vec<String> = sqlx::query_scalar(text)
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert_eq!(other, [""; 0]);
    let text = "select c.relname::text from pg_class c where c.relkind = 'r' \
         and c.relnamespace = 'public'::regnamespace and not exists \
         (select from pg_index i where i.indrelid = c.oid and i.indisprimary) order by 1";
    let without: Vec<String> = sqlx::query_scalar(text)
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert_eq!(without, [""; 0]);
}
