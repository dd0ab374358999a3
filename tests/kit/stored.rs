//! A store without a server: tests open it and call it directly. Also statements in the database of a running server.

use std::sync::Arc;

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row, SqliteConnection};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Modality, Payload, Source};
use thinkd_log::appended::Append;
use thinkd_log::kernel::Store;
use thinkd_log::options::Options;
use thinkd_log::store;
use thinkd_log::thread_row::ThreadRow;
use thinkd_words::id::{Space, ThreadId};

use super::{App, Medium};

/// A store on this database, with the rows that the server makes.
pub async fn open(medium: &Medium) -> Arc<dyn Store> {
    open_at(medium.url()).await
}

/// The same, on the database at a URL.
pub async fn open_at(url: &str) -> Arc<dyn Store> {
    store::open(url, Options::default(), ThreadRow::apply)
        .await
        .unwrap()
}

/// A text of the mind itself in a thread, with tags.
pub fn draft(thread: &str, text: &str, tags: &[&str]) -> Draft {
    Draft {
        event_id: None,
        thread: ThreadId::parse(thread).unwrap(),
        source: Source::Internal,
        modality: Modality::Text,
        payload: Payload::from_iter([("text".to_owned(), json!(text))]),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        conditions: Vec::new(),
    }
}

/// Stores it in the space `default`.
pub async fn append(store: &Arc<dyn Store>, draft: Draft) {
    store
        .append(Append::free(&Space::default(), vec![draft]))
        .await
        .unwrap();
}

/// Makes these processes in the space `default`, before a server is there.
pub async fn processes(medium: &Medium, ids: impl IntoIterator<Item = String>) {
    let store = open(medium).await;
    let settings = json!({ "kind": "process" });
    let made = ids
        .into_iter()
        .map(|id| Draft::created(&ThreadId::parse(&id).unwrap(), &settings));
    for drafts in made.collect::<Vec<_>>().chunks(200) {
        store
            .append(Append::free(&Space::default(), drafts.to_vec()))
            .await
            .unwrap();
    }
    store.close().await;
}

/// Returns the text that a statement gives on the Postgres at a URL.
pub async fn text(url: &str, text: &str) -> String {
    let mut connection = PgConnection::connect(url).await.unwrap();
    // Not prepared: a pooler may give the statement to another connection.
    let query = sqlx::raw_sql(AssertSqlSafe(text.to_owned()));
    connection.fetch_one(query).await.unwrap().get(0)
}

/// Runs statements on the database at a URL, or on the SQLite file of that name.
pub async fn execute(url: &str, text: &str) {
    let text = AssertSqlSafe(text.to_owned());
    if url.starts_with("postgres") {
        PgConnection::connect(url)
            .await
            .unwrap()
            .execute(sqlx::raw_sql(text))
            .await
            .unwrap();
    } else {
        SqliteConnection::connect(url)
            .await
            .unwrap()
            .execute(sqlx::raw_sql(text))
            .await
            .unwrap();
    }
}

/// The row of a migration that this program does not have.
pub async fn made(app: &App, number: u32, name: &str) {
    let bytes = if app.is_postgres() {
        "decode('00', 'hex')"
    } else {
        "x'00'"
    };
    let text = format!(
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
         values ({number}, '{name}', true, {bytes}, 0)"
    );
    execute(app.database(), &text).await;
}
