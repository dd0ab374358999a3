//! Words of another version of the tokenizer are made anew when a store is opened: an old index finds
//! nothing of a query that is cut in another way. Stamped for a database.

/// Stamps `reword`. `$lock` keeps other writers out; `$empty` removes the words that this database
/// has beside the rows of projections, and the index of events makes them again.
macro_rules! reword {
    ($Connection:ty, $lock:expr, $empty:expr) => {
        /// Makes the words by which rows are found anew, unless they are of this version.
        pub(super) async fn reword(connection: &mut $Connection) -> Result<(), StoreError> {
            use sqlx::Connection as _;
            const VERSION: i64 = crate::words::VERSION;
            const STORED: &str = "select words from log";
            let stored = sqlx::query_scalar(STORED);
            let stored: i64 = stored.fetch_one(&mut *connection).await?;
            if stored == VERSION {
                return Ok(());
            }
            let mut all = connection.begin().await?;
            let locked = sqlx::raw_sql($lock).execute(&mut *all).await;
            locked?;
            // Another server may have been first.
            let stored = sqlx::query_scalar(STORED);
            let stored: i64 = stored.fetch_one(&mut *all).await?;
            if stored == VERSION {
                return Ok(all.rollback().await?);
            }
            let first = sqlx::query_scalar("select seq from events limit 1");
            let first: Option<i64> = first.fetch_optional(&mut *all).await?;
            if first.is_some() {
                tracing::info!("the words that find events and notes are made anew");
            }
            let emptied = sqlx::raw_sql($empty).execute(&mut *all).await;
            emptied?;
            let mut rows = crate::rows::Rows::default();
            for projection in crate::projections::all() {
                let table = projection.table;
                if table.words.is_none() {
                    continue;
                }
                let every = crate::select::Select::of_all_spaces(table);
                let found = select_rows(&mut all, &every).await?;
                let found = found.into_iter().map(|row| (table.key_of(&row), Some(row)));
                rows.single.extend(found);
            }
            put_rest(&mut all, &rows).await?;
            sqlx::query("update log set words = $1")
                .bind(VERSION)
                .execute(&mut *all)
                .await?;
            Ok(all.commit().await?)
        }
    };
}
pub(crate) use reword;
