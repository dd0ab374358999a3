//! The first step of a restore in an empty database, in the words that both databases understand.

/// Stamps `renew_epoch`: gives an empty database the epoch of its restored log; one with events is refused.
macro_rules! renew_epoch {
    ($Connection:ty) => {
        pub(super) async fn renew_epoch(connection: &mut $Connection) -> Result<(), crate::not_copied::NotCopied> {
            let taken: Option<i64> = sqlx::query_scalar("select seq from events limit 1")
                .fetch_optional(&mut *connection)
                .await?;
            if taken.is_some() {
                return Err(crate::not_copied::NotCopied::refused(
                    "the database has events already; a backup is restored into an empty one: name another database with \
                     DATABASE_URL or --database, or move this one away",
                ));
            }
            let renewed = sqlx::query("update log set epoch = $1").bind(thinkd_words::id::fresh());
            renewed.execute(connection).await?;
            Ok(())
        }
    };
}
pub(crate) use renew_epoch;
