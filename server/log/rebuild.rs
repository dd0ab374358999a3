//! Rows made anew from the log, by the fold that makes them with every append; and the rows that
//! differ from the log.

use std::collections::BTreeMap;

use super::change::Project;
use super::head::Position;
use super::projections;
use super::rows::Rows;
use super::table::{Key, Row, Table};
use super::terms;
use super::upkeep::Rebuilt;
use thinkd_event::envelope::Event;
use thinkd_words::id::{Seq, Space};

/// Events read at a time.
pub(super) const PAGE: i64 = 1000;
/// Differences that are named.
const NAMED: usize = 20;

/// The rows as the log says, or as the tables say.
#[derive(Default)]
pub(super) struct Derived {
    pub heads: BTreeMap<Space, Position>,
    pub rows: Rows,
    pub mail: i64,
    pub terms: i64,
    /// The position that the index has reached, by space.
    pub indexed: BTreeMap<Space, Seq>,
    pub events: u64,
}

impl Derived {
    /// One more event.
    pub fn take(&mut self, space: &Space, event: &Event, project: Project) {
        self.events += 1;
        self.heads.insert(space.clone(), Position::of(event));
        let reached = self.indexed.get(space);
        if reached.is_some_and(|reached| event.seq <= *reached) {
            let terms = terms::of_event(event).len();
            self.terms += i64::try_from(terms).unwrap_or(i64::MAX);
        }
        self.mail += i64::from(event.wakes());
        self.rows.apply(space, event, project);
    }

    /// Returns the differences of these tables from the log.
    pub fn against(self, log: Self) -> Rebuilt {
        let pair = |(space, id): &(Space, _)| format!("{space}/{id}");
        let root = |(space, root): &(Space, Seq)| format!("{space}/{root}");
        let mut differences = differ("spaces", &self.heads, &log.heads, Space::to_string);
        let tables = &self.rows;
        let threads = &log.rows.threads;
        differences.extend(differ("threads", &tables.threads, threads, pair));
        for table in projections::all().map(|projection| projection.table) {
            let rows = there(&tables.single, table);
            let expected = there(&log.rows.single, table);
            differences.extend(differ(table.name, &rows, &expected, |(_, cells)| {
                Vec::from_iter(cells.iter().map(ToString::to_string)).join("/")
            }));
        }
        differences.extend(differ("roots", &tables.roots, &log.rows.roots, root));
        for (table, rows, expected) in [
            ("mailboxes", self.mail, log.mail),
            ("marks", self.terms, log.terms),
        ] {
            if rows != expected {
                differences.push(format!("{table}: {rows} rows instead of {expected}"));
            }
        }
        differences.truncate(NAMED);
        Rebuilt {
            events: log.events,
            differences,
            unreadable: log.rows.unreadable,
        }
    }
}

fn there(rows: &BTreeMap<Key, Option<Row>>, table: &Table) -> BTreeMap<Key, Row> {
    // What was altered and is not there is not there.
    let of_table = rows.iter().filter(|(key, _)| key.0 == table);
    let whole = of_table.filter_map(|(key, row)| {
        let row = row.as_ref().filter(|row| table.is_whole(row))?;
        Some((key.clone(), row.clone()))
    });
    whole.collect()
}

/// Returns the first differences of a table, named.
fn differ<K: Ord, V: PartialEq>(
    table: &str,
    tables: &BTreeMap<K, V>,
    log: &BTreeMap<K, V>,
    name: impl Fn(&K) -> String,
) -> Vec<String> {
    let extra = tables.keys().filter(|key| !log.contains_key(key));
    let extra = extra.map(|key| ("is not in the log", key));
    let other = log.iter().filter_map(|(key, row)| match tables.get(key) {
        None => Some(("is missing", key)),
        Some(found) if found != row => Some(("differs", key)),
        Some(_) => None,
    });
    let all = extra.chain(other).take(NAMED);
    all.map(|(what, key)| format!("{table} {}: {what}", name(key)))
        .collect()
}

/// Stamps, for a connection: `read_events`, `remake`, and the store's `rebuild_rows`. The
/// connection has `select_rows`, `put`, `put_rest`, `put_index`, `clear`, and `HEADS`, which
/// selects the ends of the logs of the spaces that have rows. `rebuild_rows` needs `alone`: a
/// connection inside a transaction that sees one state, and, to change it, shares it with no other.
macro_rules! rebuild {
    ($Store:ident, $Connection:ty) => {
        impl $Store {
            async fn rebuild_rows(
                &self,
                check: bool,
            ) -> Result<crate::upkeep::Rebuilt, StoreError> {
                let mut connection = self.alone(check).await?;
                let rebuilt = remake(&mut connection, self.project, check).await?;
                sqlx::query("commit").execute(&mut connection).await?;
                self.renewed();
                // What was to be done is done; how the connection ends changes nothing.
                let _ = connection.close().await;
                Ok(rebuilt)
            }
        }

        /// Events of all spaces after a position, with their payloads as stored.
        pub(super) async fn read_events(
            connection: &mut $Connection,
            after: &(String, i64),
        ) -> Result<Vec<(Space, Event, String)>, StoreError> {
            let text = concat!(
                "select e.space, ",
                sql::event_columns!(),
                " from events e where (e.space, e.seq) > ($1, $2) order by e.space, e.seq limit $3"
            );
            let rows: Vec<sql::PlacedColumns> = sqlx::query_as(text)
                .bind(&after.0)
                .bind(after.1)
                .bind(super::rebuild::PAGE)
                .fetch_all(connection)
                .await?;
            let read = |row: sql::PlacedColumns| {
                let payload = row.7.clone();
                sql::placed_event(row).map(|(space, event)| (space, event, payload))
            };
            rows.into_iter().map(read).collect()
        }

        /// Folds the log and compares; without `check`, puts the rows it makes in place of those that are there.
        pub(super) async fn remake(
            connection: &mut $Connection,
            project: crate::change::Project,
            check: bool,
        ) -> Result<crate::upkeep::Rebuilt, StoreError> {
            let tables = read_derived(connection).await?;
            if !check {
                clear(connection).await?;
            }
            let indexed = tables.indexed.clone();
            let mut log = super::rebuild::Derived {
                indexed,
                ..Default::default()
            };
            let mut after = (String::new(), 0);
            loop {
                let page = read_events(connection, &after).await?;
                let Some((space, event, _)) = page.last() else {
                    break;
                };
                after = (space.to_string(), event.seq);
                for (space, event, _) in &page {
                    log.take(space, event, project);
                }
                if !check {
                    let mut writes = sql::Writes::default();
                    writes.post(page.iter().map(|(space, event, _)| (space, event)));
                    put(connection, &writes).await?;
                    for part in page.chunk_by(|one, next| one.0 == next.0) {
                        let events = part.iter();
                        let events = events.map(|it| super::indexed::Indexed::of(&it.1));
                        put_index(connection, &part[0].0, &Vec::from_iter(events)).await?;
                    }
                }
            }
            log.rows.keep(&tables.rows);
            if !check {
                put(connection, &sql::Writes::of(&log.heads, &log.rows)).await?;
                put_rest(connection, &log.rows).await?;
            }
            Ok(tables.against(log))
        }

        async fn read_derived(
            connection: &mut $Connection,
        ) -> Result<super::rebuild::Derived, StoreError> {
            let mut derived = super::rebuild::Derived::default();
            // First: where the index has its own file, its state is seen from here on, and what is in it is in the log.
            let rows: Vec<(String, i64)> = sqlx::query_as("select space, seq from indexed")
                .fetch_all(&mut *connection)
                .await?;
            for (space, seq) in rows {
                derived.indexed.insert(sql::space(space)?, seq);
            }
            let count =
                sqlx::query_scalar("select count(*) from marks").fetch_one(&mut *connection);
            derived.terms = count.await?;
            let count =
                sqlx::query_scalar("select count(*) from mailboxes").fetch_one(&mut *connection);
            derived.mail = count.await?;
            let rows: Vec<(String, i64, i64)> =
                sqlx::query_as(HEADS).fetch_all(&mut *connection).await?;
            for (space, seq, ts) in rows {
                let head = Position::stored((seq, ts));
                derived.heads.insert(sql::space(space)?, head);
            }
            let query = sqlx::query_as(sql::select_threads!(""));
            let rows: Vec<sql::ThreadColumns> = query.fetch_all(&mut *connection).await?;
            for row in rows {
                let (key, row) = sql::placed_thread(row)?;
                derived.rows.threads.insert(key, row);
            }
            for projection in super::projections::all() {
                let all = super::select::Select::of_all_spaces(projection.table);
                let rows = select_rows(connection, &all).await?;
                for row in rows {
                    let key = projection.table.key_of(&row);
                    derived.rows.single.insert(key, Some(row));
                }
            }
            let rows: Vec<(String, i64, i64, i64, i64)> =
                sqlx::query_as("select space, root, calls, tokens, threads from roots")
                    .fetch_all(&mut *connection)
                    .await?;
            for (space, root, calls, tokens, threads) in rows {
                let spent = sql::spent((calls, tokens, threads))?;
                derived.rows.roots.insert((sql::space(space)?, root), spent);
            }
            Ok(derived)
        }
    };
}
pub(super) use rebuild;
