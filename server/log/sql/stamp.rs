//! The `Store` of a database: the part that both do in the same words, over their typed pools.

/// Stamps the `Store` for a database. The type has `SHARED`, `writer`, `index`, `feed`, `epoch`,
/// `project`. For the parts that differ it has `reader`, `waiting_threads`, `text_page`,
/// `known_thread`, `known_events`, `known_rows`, `renewed`; functions `by_key`, `all_of`,
/// `with_words` and `missing`; and the constant `MERGES_POSTINGS`.
macro_rules! store {
    ($Store:ident, $Db:ty) => {
        #[async_trait::async_trait]
        impl crate::kernel::EventLog for $Store {
            fn is_shared(&self) -> bool {
                Self::SHARED
            }

            fn feed(&self) -> &std::sync::Arc<crate::feed::Feed> {
                &self.feed
            }

            async fn append(&self, append: crate::appended::Append) -> Result<crate::appended::Appended, StoreError> {
                self.writer.append(append).await
            }

            async fn head(&self, space: &Space) -> Result<crate::head::Head, StoreError> {
                let seq: Option<i64> = sql::read!(self, Some(space), sqlx::query_scalar("select max(seq) from events where space = $1")
                    .bind(space.as_str()), fetch_one)?;
                Ok(crate::head::Head { seq: seq.unwrap_or(0), epoch: self.epoch })
            }

            async fn events(&self, space: &Space, query: &Query) -> Result<Vec<Event>, StoreError> {
                let mut pieces = self.pieces(space, query).await?;
                let mut page = Vec::new();
                while let Some(piece) = pieces.next(page.len()) {
                    match self.known_events(space, &piece).await? {
                        Some(events) => page.extend(events),
                        None => {
                            let rows = self.page(space, &piece).await?.into_iter();
                            page.extend(rows.map(sql::event).collect::<Result<Vec<_>, _>>()?);
                        }
                    }
                }
                Ok(page)
            }

            async fn written(&self, space: &Space, query: &Query) -> Result<Vec<crate::shown::Written>, StoreError> {
                let mut pieces = self.pieces(space, query).await?;
                let mut page = Vec::new();
                while let Some(piece) = pieces.next(page.len()) {
                    page.extend(self.page(space, &piece).await?.into_iter().map(sql::written));
                }
                Ok(page)
            }

            async fn count(&self, space: &Space, query: &Query) -> Result<crate::thread_state::Position, StoreError> {
                let mut pieces = self.pieces(space, query).await?;
                let mut sum = crate::thread_state::Position::default();
                while let Some(piece) = pieces.next(0) {
                    let piece = self.placed(space, &piece).await?;
                    let mut count = count_of(space, &piece);
                    let (told, heard): (i64, i64) = sql::search!(self, space, count.build_query_as(), fetch_one)?;
                    let heard = u64::try_from(heard).unwrap_or_default();
                    sum.visible += u64::try_from(told).unwrap_or_default() + heard;
                    sum.heard += heard;
                }
                Ok(sum)
            }

            async fn ever(&self, space: &Space, tag: &str) -> Result<bool, StoreError> {
                let text = "select exists (select 1 from marks where space = $1 and mark = $2) \
                     or exists (select 1 from events where space = $1 \
                     and seq > coalesce((select seq from indexed where space = $1), 0) and tags like $3)";
                sql::read!(self, Some(space), sqlx::query_scalar(text)
                    .bind(space.as_str())
                    .bind(crate::terms::term_of_tag(tag))
                    .bind(format!("%\"{tag}\"%")), fetch_one)
            }

            async fn event(&self, space: &Space, event_id: Uuid) -> Result<Option<Event>, StoreError> {
                let text =
                    concat!("select ", sql::event_columns!(), " from events e where space = $1 and event_id = $2");
                let row: Option<sql::EventColumns> = sql::read!(self, Some(space), sqlx::query_as(text)
                    .bind(space.as_str())
                    .bind(event_id), fetch_optional)?;
                row.map(sql::event).transpose()
            }
        }

        #[async_trait::async_trait]
        impl crate::kernel::Threads for $Store {
            async fn thread(&self, space: &Space, thread: &ThreadId) -> Result<Option<crate::thread_row::ThreadRow>, StoreError> {
                self.known_thread(space, thread).await
            }

            async fn thread_lately(
                &self,
                space: &Space,
                thread: &ThreadId,
            ) -> Result<Option<crate::thread_row::ThreadRow>, StoreError> {
                match self.cache.thread(&(space.clone(), thread.clone())) {
                    Some(row) => Ok(Some(row)),
                    None => self.known_thread(space, thread).await,
                }
            }

            async fn threads(
                &self,
                space: &Space,
                after: Option<&ThreadId>,
                limit: u32,
            ) -> Result<Vec<crate::thread_row::ThreadRow>, StoreError> {
                let text = sql::select_threads!("where space = $1 and thread > $2 order by thread limit $3 + 0");
                let rows: Vec<sql::ThreadColumns> = sql::read!(self, Some(space), sqlx::query_as(text)
                    .bind(space.as_str())
                    .bind(after.map_or("", ThreadId::as_str))
                    .bind(i64::from(limit)), fetch_all)?;
                rows.into_iter().map(sql::thread).collect()
            }

            async fn descendants(
                &self,
                space: &Space,
                thread: &ThreadId,
                after: Option<&ThreadId>,
                limit: u32,
            ) -> Result<Vec<crate::thread_row::ThreadRow>, StoreError> {
                // Bytewise, everything that begins with "x." lies between "x." and "x/".
                let text = sql::select_threads!(
                    "where space = $1 and thread > $2 and thread < $3 \
                     and status not in ('done', 'failed', 'stopped') order by thread limit $4 + 0"
                );
                let rows: Vec<sql::ThreadColumns> = sql::read!(self, Some(space), sqlx::query_as(text)
                    .bind(space.as_str())
                    .bind(after.map_or_else(|| format!("{thread}."), ThreadId::to_string))
                    .bind(format!("{thread}/"))
                    .bind(i64::from(limit)), fetch_all)?;
                rows.into_iter().map(sql::thread).collect()
            }

            async fn spent(&self, space: &Space, root: Option<thinkd_words::id::Seq>) -> Result<crate::change::Spent, StoreError> {
                let text = "select calls, tokens, threads from roots where space = $1 and root = $2";
                let row: Option<sql::SpentColumns> = sql::read!(self, Some(space), sqlx::query_as(text)
                    .bind(space.as_str())
                    .bind(root.unwrap_or(crate::rows::SPACE)), fetch_optional)?;
                row.map_or(Ok(crate::change::Spent::default()), sql::spent)
            }

            async fn living(&self, space: &Space) -> Result<u64, StoreError> {
                let threads: i64 =
                    sql::read!(self, Some(space), sqlx::query_scalar(sql::THREADS).bind(space.as_str()), fetch_one)?;
                Ok(u64::try_from(threads).unwrap_or_default())
            }

            async fn queued(
                &self,
                space: &Space,
                thread: &ThreadId,
                after: thinkd_words::id::Seq,
                limit: u32,
            ) -> Result<u32, StoreError> {
                let text = "select count(*) from (select seq from mailboxes where space = $1 and thread = $2 and seq > $3 \
                     and seq > (select handled from threads where space = $1 and thread = $2) limit $4 + 0) q";
                let waiting: i64 = sql::read!(self, Some(space), sqlx::query_scalar(text)
                    .bind(space.as_str())
                    .bind(thread.as_str())
                    .bind(after)
                    .bind(i64::from(limit)), fetch_one)?;
                Ok(u32::try_from(waiting).unwrap_or(limit))
            }

            async fn waiting(&self, limit: u32) -> Result<Vec<(Space, ThreadId)>, StoreError> {
                let mut waiting = self.waiting_threads(limit).await?;
                // Those that ended in the middle of a turn (`ThreadRow::is_cut_off`).
                let text = "select space, thread from threads where status in ('done', 'failed', 'stopped') \
                     and standing like '%\"taken\":%' order by space, thread limit $1 + 0";
                let rows: Vec<(String, String)> =
                    sql::read!(self, None, sqlx::query_as(text).bind(i64::from(limit)), fetch_all)?;
                let keys = rows.into_iter().map(|(space, thread)| Ok((sql::space(space)?, sql::thread_id(thread)?)));
                waiting.extend(sql::readable(keys));
                Ok(waiting)
            }

            async fn awaiting(
                &self,
                space: &Space,
                of: crate::thread_row::Span<'_>,
                limit: u32,
            ) -> Result<Vec<(ThreadId, ThreadId)>, StoreError> {
                let text = "select awaits, thread from threads where space = $1 and awaits >= $2 and awaits <= $3 \
                     order by awaits, thread limit $4 + 0";
                let rows: Vec<(String, String)> = sql::read!(self, Some(space), sqlx::query_as(text)
                    .bind(space.as_str())
                    .bind(of.start().as_str())
                    .bind(of.end().as_str())
                    .bind(i64::from(limit)), fetch_all)?;
                rows.into_iter().map(sql::two_threads).collect()
            }

            async fn waits(&self, after: Option<&crate::thread_row::Wait>, limit: u32) -> Result<Vec<crate::thread_row::Wait>, StoreError> {
                let text = "select space, awaits, thread from threads where awaits is not null \
                     and (space, awaits, thread) > ($1, $2, $3) order by space, awaits, thread limit $4 + 0";
                let rows: Vec<(String, String, String)> = sql::read!(self, None, sqlx::query_as(text)
                    .bind(after.map_or("", |after| after.space.as_str()))
                    .bind(after.map_or("", |after| after.target.as_str()))
                    .bind(after.map_or("", |after| after.thread.as_str()))
                    .bind(i64::from(limit)), fetch_all)?;
                rows.into_iter().map(sql::wait).collect()
            }
        }

        #[async_trait::async_trait]
        impl crate::kernel::ProjectionRows for $Store {
            async fn select(&self, select: crate::select::Select) -> Result<Vec<crate::table::Row>, StoreError> {
                let query = sqlx::query_with(sqlx::AssertSqlSafe(select.sql()), bound(select.arguments())?);
                let rows = sql::read!(self, select.space(), query, fetch_all)?;
                read_rows(&rows, &select.columns())
            }

            async fn all_rows(
                &self,
                table: &'static crate::table::Table,
                space: &Space,
            ) -> Result<std::sync::Arc<[crate::table::Row]>, StoreError> {
                self.known_rows(table, space).await
            }

            async fn rows_with(
                &self,
                table: &'static crate::table::Table,
                space: &Space,
                words: &[String],
                limit: u32,
            ) -> Result<Vec<crate::table::Row>, StoreError> {
                let Some(text) = with_words(table) else { return Ok(Vec::new()) };
                let rows = sql::search!(self, space, sqlx::query(sqlx::AssertSqlSafe(text))
                    .bind(all_of(words))
                    .bind(space.as_str())
                    .bind(i64::from(limit)), fetch_all)?;
                read_rows(&rows, &table.columns().collect::<Vec<_>>())
            }
        }

        impl $Store {
            /// Fails where a table is missing.
            async fn has_tables(&self) -> Result<(), StoreError> {
                let missing: Option<String> = sql::read!(self, None, sqlx::query_scalar(sqlx::AssertSqlSafe(missing())), fetch_one)?;
                missing.map_or(Ok(()), |missing| Err(StoreError::Broken(sql::missing(&missing))))
            }

            /// Returns the pieces of a query: of a fork its past, which never changes, too.
            async fn pieces(&self, space: &Space, query: &Query) -> Result<crate::fork::Pieces, StoreError> {
                let fork = match &query.thread {
                    None => None,
                    Some(thread) => {
                        let key = (space.clone(), thread.clone());
                        match self.cache.fork(&key) {
                            Some(fork) => fork,
                            None => match self.known_thread(space, thread).await? {
                                Some(row) => {
                                    self.cache.keep_fork(key, row.state.fork.clone());
                                    row.state.fork
                                }
                                None => None,
                            },
                        }
                    }
                };
                Ok(crate::fork::Pieces::of(fork.as_deref(), query))
            }

            /// The rows of a page.
            async fn page(&self, space: &Space, query: &Query) -> Result<Vec<sql::EventColumns>, StoreError> {
                let query = &self.placed(space, query).await?;
                let mut page = match &query.text {
                    None => {
                        let is_short = crate::terms::reads_end(query) && self.index.lacks_at_most(space, crate::terms::END);
                        if crate::terms::needs_index(query) && !is_short {
                            self.await_index(space).await?;
                        }
                        posting_page(space, query)
                    }
                    Some(text) => {
                        let words = crate::words::asked(text);
                        if words.is_empty() {
                            return Ok(Vec::new());
                        }
                        self.await_index(space).await?;
                        match self.text_page(space, &words, query).await? {
                            Some(page) => page,
                            None => return Ok(Vec::new()),
                        }
                    }
                };
                sql::search!(self, space, page.build_query_as(), fetch_all)
            }

            /// The query with positions in the place of times: times never decrease along seq.
            async fn placed(&self, space: &Space, query: &Query) -> Result<Query, StoreError> {
                let mut query = query.clone();
                if let Some(since) = query.since.take() {
                    let first = self.first_since(space, since).await?;
                    query.after = Some(query.after.unwrap_or(0).max(first - 1));
                }
                if let Some(before) = query.before_ts.take() {
                    let first = self.first_since(space, before).await?;
                    query.before = Some(query.before.unwrap_or(thinkd_words::id::Seq::MAX).min(first));
                }
                Ok(query)
            }

            /// Returns the seq at which the log came to a time, or its end: the log is halved until
            /// one event is left.
            async fn first_since(&self, space: &Space, ts: thinkd_words::time::Timestamp) -> Result<thinkd_words::id::Seq, StoreError> {
                let text = "with recursive part (early, late) as (\
                     select cast(0 as bigint), coalesce((select max(seq) from events where space = $1), 0) + 1 union all \
                     select case when (select ts < $2 from events where space = $1 and seq = (early + late) / 2) \
                     then (early + late) / 2 else early end, \
                     case when (select ts < $2 from events where space = $1 and seq = (early + late) / 2) \
                     then late else (early + late) / 2 end from part where late - early > 1) \
                     select min(late) from part";
                sql::read!(self, Some(space), sqlx::query_scalar(text)
                    .bind(space.as_str())
                    .bind(ts.micros()), fetch_one)
            }

            /// Waits until the index has reached the log's end of now. An index that is far behind (the log was written by a server
            /// that did not live to index it) is worth asking again, but no wrong answer.
            async fn await_index(&self, space: &Space) -> Result<(), StoreError> {
                let text = "select done, head from (select (select max(seq) from events where space = $1) as head, \
                     coalesce((select seq from indexed where space = $1), 0) as done) g where head > done";
                let behind: Option<(i64, i64)> = sql::read!(self, Some(space), sqlx::query_as(text)
                    .bind(space.as_str()), fetch_optional)?;
                let Some((indexed, head)) = behind else { return Ok(()) };
                let gap = crate::indexed::Gap { indexed, head };
                match tokio::time::timeout(sql::INDEX_WAIT, self.index.reach(space, gap)).await {
                    Ok(indexed) => indexed,
                    Err(_) => Err(StoreError::Unavailable("the index is being made anew; ask again in a moment".into())),
                }
            }
        }

        /// Adds the next events of a space behind this one to the index, as many as have room.
        async fn add_to_index(
            connection: &mut <$Db as sqlx::Database>::Connection,
            space: &Space,
            done: thinkd_words::id::Seq,
            left: &mut crate::index::Left,
        ) -> Result<crate::index::Added, StoreError> {
            use futures_util::TryStreamExt as _;
            let text = concat!(
                "select ",
                crate::indexed::index_columns!(),
                " from events e where e.space = $1 and e.seq > $2 order by e.seq limit $3 + 0"
            );
            let query = sqlx::query_as(text).bind(space.as_str()).bind(done).bind(left.events);
            let rows = query.fetch(&mut *connection).map_err(StoreError::from);
            let (events, more) = crate::index::read_batch(rows, left).await?;
            put_index(connection, space, &events).await?;
            let reached = events.last().map_or(done, |event| event.seq);
            Ok(crate::index::Added { reached, more })
        }

        /// Writes a blob, unless it is there.
        pub(super) async fn put_blob(
            connection: &mut <$Db as sqlx::Database>::Connection,
            space: &Space,
            sha256: &str,
            blob: &crate::blob::Blob,
        ) -> Result<(), StoreError> {
            sqlx::query("insert into blobs (space, sha256, mime, bytes) values ($1, $2, $3, $4) on conflict do nothing")
                .bind(space.as_str())
                .bind(sha256)
                .bind(&blob.mime)
                .bind(&blob.bytes[..])
                .execute(connection)
                .await?;
                Ok(())
        }

        type Page = sqlx::QueryBuilder<$Db>;

        sql::pages!();
        sql::rows!($Db);
    };
}
pub(crate) use store;
