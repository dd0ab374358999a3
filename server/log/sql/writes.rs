//! What an append asks about and writes beside its events, in the words that both databases understand.

/// Stamps `renew_epoch`: gives an empty database the epoch of its restored log; one with events is refused.
macro_rules! renew_epoch {
    ($Connection:ty) => {
        pub(super) async fn renew_epoch(connection: &mut $Connection) -> Result<(), crate::log::backup::NotCopied> {
            let taken: Option<i64> = sqlx::query_scalar("select seq from events limit 1")
                .fetch_optional(&mut *connection)
                .await
                .map_err(sql::error)?;
            if taken.is_some() {
                return Err(crate::log::backup::NotCopied::refused(
                    "the database has events already; a backup is restored into an empty one: name another database with \
                     DATABASE_URL or --database, or move this one away",
                ));
            }
            let renewed = sqlx::query("update log set epoch = $1").bind(crate::words::id::fresh());
            renewed.execute(connection).await.map_err(sql::error)?;
            Ok(())
        }
    };
}
pub(in crate::log) use renew_epoch;

/// Writes a submodule's row, or removes it.
macro_rules! put_submodule {
    ($connection:expr, $space:expr, $name:expr, $row:expr) => {{
        let query = match $row {
            Some(row) => sqlx::query(
                "insert into submodules (space, name, prompt, updated) values ($1, $2, $3, $4) \
                 on conflict (space, name) do update set prompt = excluded.prompt, updated = excluded.updated",
            )
            .bind($space.as_str())
            .bind($name.as_str())
            .bind(&row.prompt)
            .bind(row.updated.micros()),
            None => sqlx::query("delete from submodules where space = $1 and name = $2")
                .bind($space.as_str())
                .bind($name.as_str()),
        };
        query.execute(&mut *$connection).await.map_err(sql::error)?;
    }};
}
pub(in crate::log) use put_submodule;

/// Writes the rows that threads have of their own, contacts and timers, or removes them.
macro_rules! put_own {
    ($connection:expr, $rows:expr) => {{
        for ((space, thread, name), row) in &$rows.contacts {
            let query = match row {
                Some(row) => sqlx::query(
                    "insert into contacts (space, thread, name, target, description) values ($1, $2, $3, $4, $5) \
                     on conflict (space, thread, name) do update \
                     set target = excluded.target, description = excluded.description",
                )
                .bind(space.as_str())
                .bind(thread.as_str())
                .bind(name.as_str())
                .bind(row.target.as_str())
                .bind(&row.description),
                None => sqlx::query("delete from contacts where space = $1 and thread = $2 and name = $3")
                    .bind(space.as_str())
                    .bind(thread.as_str())
                    .bind(name.as_str()),
            };
            query.execute(&mut *$connection).await.map_err(sql::error)?;
        }
        for ((space, thread, name), row) in &$rows.timers {
            let query = match row {
                Some(row) => sqlx::query(
                    "insert into timers (space, thread, name, due, note, root) values ($1, $2, $3, $4, $5, $6) \
                     on conflict (space, thread, name) do update \
                     set due = excluded.due, note = excluded.note, root = excluded.root",
                )
                .bind(space.as_str())
                .bind(thread.as_str())
                .bind(name.as_str())
                .bind(row.due.micros())
                .bind(&row.note)
                .bind(row.root),
                None => sqlx::query("delete from timers where space = $1 and thread = $2 and name = $3")
                    .bind(space.as_str())
                    .bind(thread.as_str())
                    .bind(name.as_str()),
            };
            query.execute(&mut *$connection).await.map_err(sql::error)?;
        }
    }};
}
pub(in crate::log) use put_own;

/// Reads what the conditions of an append ask about.
macro_rules! read_asked {
    ($connection:expr, $asked:expr) => {{
        let mut before = crate::log::append::Before::default();
        for (space, due) in &$asked.timers {
            let text = "select thread, name, due from timers where space = $1 and due <= $2";
            let rows: Vec<(String, String, i64)> = sqlx::query_as(text)
                .bind(space.as_str())
                .bind(due.micros())
                .fetch_all(&mut *$connection)
                .await
                .map_err(sql::error)?;
            let timer =
                |(thread, name, due)| Ok(((space.clone(), sql::thread_id(thread)?, name), Timestamp::from_micros(due)));
            before.timers.extend(sql::readable(rows.into_iter().map(timer)));
        }
        for space in &$asked.submodules {
            let rows: Vec<String> = sqlx::query_scalar("select name from submodules where space = $1")
                .bind(space.as_str())
                .fetch_all(&mut *$connection)
                .await
                .map_err(sql::error)?;
            before.submodules.entry(space.clone()).or_default().extend(rows);
        }
        for space in &$asked.threads {
            let threads: i64 = sqlx::query_scalar(sql::THREADS)
                .bind(space.as_str())
                .fetch_one(&mut *$connection)
                .await
                .map_err(sql::error)?;
            before.threads.insert(space.clone(), u64::try_from(threads).unwrap_or_default());
        }
        before
    }};
}
pub(in crate::log) use read_asked;
