//! Tables of projections: the list of them, and questions to them.

use std::collections::BTreeMap;

use serde_json::json;
use sqlx::{Connection, PgConnection, SqliteConnection};
use thinkd::event::draft::Draft;
use thinkd::log::projections::{self, contacts, timers};
use thinkd::log::table::{Kind, Table};

use super::{append, media, open, space, thread};
use crate::support::Medium;

/// Tables that are the store's own: the log, what is written with it in bulk, the index, blobs, leases, migrations.
const OWN: [&str; 10] =
    ["_sqlx_migrations", "blob_parts", "blobs", "events", "leases", "log", "mailboxes", "roots", "spaces", "threads"];
/// The index, which on SQLite has a file of its own; and what is written there besides.
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
        sqlx::query_as(text).fetch_all(&mut connection).await.unwrap()
    } else {
        // Where the primary key is a number, the key is that of the unique constraint.
        let text = "select t.name, c.name, c.type, c.pk > 0 and c.name <> 'number' or exists (select 1 from pragma_index_list(t.name) i \
             join pragma_index_info(i.name) k where i.origin = 'u' and k.name = c.name) \
             from sqlite_master t join pragma_table_info(t.name) c where t.type = 'table' and t.sql not like 'create virtual%'";
        let mut connection = SqliteConnection::connect(medium.url()).await.unwrap();
        sqlx::query_as(text).fetch_all(&mut connection).await.unwrap()
    };
    let mut all = Columns::new();
    for (table, column, kind, in_key) in rows {
        let is_number = ["integer", "bigint"].contains(&kind.to_lowercase().as_str());
        all.entry(table).or_default().insert(column, (is_number, in_key));
    }
    all
}

fn declared(table: &Table) -> BTreeMap<String, (bool, bool)> {
    let column =
        |column: &thinkd::log::table::Column, in_key| (column.name.to_owned(), (column.kind != Kind::Text, in_key));
    table.key.iter().map(|it| column(it, true)).chain(table.rest.iter().map(|it| column(it, false))).collect()
}

/// The list of projections names the tables that the migrations made, with their columns and keys, and no other.
#[tokio::test]
async fn every_table_of_a_projection_is_what_the_migrations_made() {
    for medium in Medium::each().await {
        open(&medium).await.close().await;
        let mut there = there(&medium).await;
        let words: Vec<&str> = projections::ALL.iter().filter_map(|it| Some(it.table.words.as_ref()?.table)).collect();
        let is_of_words = |name: &str| words.iter().any(|words| name.starts_with(words));
        there.retain(|name, _| !OWN.contains(&name.as_str()) && !INDEX.contains(&name.as_str()) && !is_of_words(name));
        let mut listed = Columns::new();
        for projection in projections::ALL {
            let table = projection.table;
            if table.words.is_some() {
                // How a database finds words: a row's number, or a vector of them.
                there.get_mut(table.name).unwrap().retain(|column, _| !["number", "words"].contains(&column.as_str()));
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
        for projection in projections::ALL {
            let (name, aside) = (projection.table.name, format!("{}_aside", projection.table.name));
            crate::support::stored::execute(medium.url(), &format!("alter table {name} rename to {aside}")).await;
            let said = store.ping().await.unwrap_err().to_string();
            assert!(said.contains(name), "{said}");
            crate::support::stored::execute(medium.url(), &format!("alter table {aside} rename to {name}")).await;
            store.ping().await.unwrap();
        }
        store.close().await;
    }
}

/// What the rows mean is read by column name: contacts and timers come back as they were set.
#[tokio::test]
async fn rows_are_read_by_the_names_of_their_columns() {
    for medium in media().await {
        let store = open(&medium).await;
        let due = thinkd::words::time::Timestamp::from_micros(1_763_698_300_000_000);
        let (a, b, name) = (thread("a"), thread("b"), thinkd::words::id::Name::parse("b").unwrap());
        let timer = Draft::changed(&a, "timer", "t", json!({ "due": due, "note": "nul \0" }));
        let mut timer = timer;
        timer.payload.insert("root".into(), 7.into());
        append(&store, vec![Draft::contact(&a, &name, &b, "helps"), timer]).await;
        let contact = contacts::ContactRow { name, target: b.clone(), description: "helps".into() };
        assert_eq!(store.contacts(&space(), &a).await.unwrap(), [contact]);
        assert_eq!(store.holders(&space(), &a..=&b, "", 9).await.unwrap(), [(b, a.clone())]);
        let note = "nul \u{fffd}".to_owned();
        let timer = timers::TimerRow { space: space(), thread: a, name: "t".into(), due, note, root: Some(7) };
        assert_eq!(store.due(&space(), due, 9).await.unwrap(), [timer]);
        assert_eq!(store.spaces_due(due).await.unwrap(), [space()]);
        let before = thinkd::words::time::Timestamp::from_micros(due.micros() - 1);
        assert_eq!((store.next_due(before).await.unwrap(), store.next_due(due).await.unwrap()), (Some(due), None));
        assert_eq!(store.spaces_due(before).await.unwrap(), []);
        store.close().await;
    }
}
