//! Rows of projections: how they are read and written, by texts that are made of a table or a question. Stamped for a database.

/// Stamps `bound` (arguments of a statement), `read_rows`, `select_rows`, `execute` and `read_asked`.
macro_rules! rows {
    ($Db:ty) => {
        /// Cells as the arguments of a statement.
        fn bound(
            cells: Vec<crate::table::Cell>,
        ) -> Result<<$Db as sqlx::Database>::Arguments, StoreError> {
            let mut arguments = <$Db as sqlx::Database>::Arguments::default();
            for cell in cells {
                sql::add_cell(&mut arguments, cell)?;
            }
            Ok(arguments)
        }

        /// Rows that have these columns, in this order.
        fn read_rows(
            rows: &[<$Db as sqlx::Database>::Row],
            columns: &[&'static crate::table::Column],
        ) -> Result<Vec<crate::table::Row>, StoreError> {
            use crate::table::{Cell, Kind};
            use sqlx::Row as _;
            let read = |row: &<$Db as sqlx::Database>::Row| {
                let cell = |(at, column): (usize, &&'static crate::table::Column)| {
                    let cell = match column.kind {
                        Kind::Text => Cell::Text(row.try_get(at)?),
                        Kind::Integer => Cell::Integer(row.try_get(at)?),
                        Kind::IntegerOrNull => row.try_get::<Option<i64>, _>(at)?.into(),
                    };
                    Ok((column.name, cell))
                };
                columns.iter().enumerate().map(cell).collect()
            };
            rows.iter().map(read).collect()
        }

        /// Returns the rows that a question finds.
        pub(super) async fn select_rows(
            connection: &mut <$Db as sqlx::Database>::Connection,
            select: &crate::select::Select,
        ) -> Result<Vec<crate::table::Row>, StoreError> {
            let text = sqlx::AssertSqlSafe(select.sql());
            let query = sqlx::query_with(text, bound(select.arguments())?);
            let rows = query.fetch_all(connection).await?;
            read_rows(&rows, &select.columns())
        }

        /// Runs a statement that writes.
        pub(super) async fn execute(
            connection: &mut <$Db as sqlx::Database>::Connection,
            text: String,
            cells: Vec<crate::table::Cell>,
        ) -> Result<(), StoreError> {
            let query = sqlx::query_with(sqlx::AssertSqlSafe(text), bound(cells)?);
            query.execute(connection).await?;
            Ok(())
        }

        /// Reads the rows that the conditions of an append ask about.
        async fn read_asked(
            connection: &mut <$Db as sqlx::Database>::Connection,
            asked: &crate::append::Asked,
        ) -> Result<crate::append::Before, StoreError> {
            let mut before = crate::append::Before::default();
            for select in &asked.rows {
                // Another question may have read other columns of the same row.
                for row in select_rows(connection, select).await? {
                    let key = select.table().key_of(&row);
                    before.rows.entry(key).or_default().alter(row);
                }
            }
            for space in &asked.threads {
                let threads: i64 = sqlx::query_scalar(sql::THREADS)
                    .bind(space.as_str())
                    .fetch_one(&mut *connection)
                    .await?;
                let threads = u64::try_from(threads).unwrap_or_default();
                before.threads.insert(space.clone(), threads);
            }
            Ok(before)
        }
    };
}
pub(crate) use rows;
