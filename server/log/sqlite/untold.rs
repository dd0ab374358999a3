//! Reads events from the file that followers were not told of, and leaves out the commit under way.
//! The file has that commit a moment before the write cache has it: a follower that was told of it
//! then, and read a row, would get the row of before. The writer tells of it.

use std::sync::Arc;

use super::json;
use super::readers::{Reader, Readers};
use super::sql;
use crate::catch_up::{Next, Source};
use crate::error::StoreError;
use crate::write_cache::WriteCache;
use thinkd_event::envelope::Event;
use thinkd_words::id::{Seq, Space, ThreadId};

/// See the module.
pub(super) struct Untold {
    pub readers: Arc<Readers>,
    pub cache: WriteCache,
}

impl Untold {
    async fn reader(&self, of: Option<&Space>) -> Result<Reader<'_>, StoreError> {
        self.readers.take(of).await
    }

    fn met(&self, _: &Space, _: &Event) {}

    /// Returns the seq up to which a log may be told of. To be asked after the file was read:
    /// events that were read and are of no commit under way are in the cache.
    fn end(&self, space: &Space) -> Seq {
        self.cache.before_commit(space).unwrap_or(Seq::MAX)
    }
}

impl Source for Untold {
    async fn heads(&self, spaces: &[Space]) -> Result<Vec<(Space, Seq)>, StoreError> {
        let names: Vec<&str> = spaces.iter().map(Space::as_str).collect();
        // One look-up a space.
        let text = "select k.value, (select max(seq) from events where space = k.value) from json_each($1) k";
        let query = sqlx::query_as(text).bind(json(&names)?);
        let heads: Vec<(String, Option<i64>)> = sql::read!(self, None, query, fetch_all)?;
        let heads = heads.into_iter().filter_map(|(name, head)| {
            let head = head?;
            Some(sql::space(name).map(|space| (space.clone(), head.min(self.end(&space)))))
        });
        heads.collect()
    }

    sql::next_events!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::appended::Append;
    use crate::kernel::{EventLog as _, Upkeep as _};
    use crate::options::Options;
    use crate::sqlite::Sqlite;
    use crate::thread_row::ThreadRow;
    use thinkd_event::draft::Draft;

    /// Returns the parts of a space that are told: the end of its log, and the numbers of events
    /// and of threads of events that are read of it.
    async fn told(untold: &Untold, space: &Space) -> (Seq, usize, usize) {
        let heads = untold.heads(std::slice::from_ref(space)).await.unwrap();
        let events = untold.after(space, 0).await.unwrap();
        let threads = untold.threads_after(space, 0).await.unwrap();
        (heads[0].1, events.len(), threads.len())
    }

    #[tokio::test]
    async fn what_can_be_read_and_is_not_in_the_cache_yet_is_left_to_the_writer() {
        let folder = std::env::temp_dir().join(format!("thinkd-untold-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let url = format!("sqlite://{}/thinkd.db", folder.display());
        let store = Sqlite::open(&url, &Options::default(), ThreadRow::apply)
            .await
            .unwrap();
        let untold = Untold {
            readers: store.readers.clone(),
            cache: store.cache.clone(),
        };
        let space = Space::default();
        let thread = ThreadId::parse("a").unwrap();
        let draft =
            |at: u8| Draft::changed(&thread, "thread", "a", serde_json::json!({ "at": at }));
        for at in 0..3 {
            store
                .append(Append::free(&space, vec![draft(at)]))
                .await
                .unwrap();
        }
        assert_eq!(
            told(&untold, &space).await,
            (3, 3, 3),
            "control: no commit is under way"
        );
        // As between the commit of the last two and the moment in which the writer takes them over.
        untold.cache.begins([(&space, 2), (&space, 3)].into_iter());
        assert_eq!(told(&untold, &space).await, (1, 1, 1));
        untold.cache.forget();
        assert_eq!(
            told(&untold, &space).await,
            (3, 3, 3),
            "nobody knows what came of it: then the file says"
        );
        store.close().await;
        std::fs::remove_dir_all(folder).unwrap();
    }
}
