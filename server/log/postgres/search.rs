//! Pages of events that have words: by the index of words, or by going through the log.

use super::{Page, Postgres, by_key, conditions};
use crate::error::StoreError;
use crate::query::Query;
use crate::sql;
use thinkd_words::id::{Seq, Space};

/// More events than these with a word make it a common one.
const RARE: i64 = 1000;

impl Postgres {
    /// Returns a page of a search. Rare words are looked up, and events that have them are sorted;
    /// common ones are met soon by going through the words in order. The choice between the two is
    /// made by looking, not planned.
    pub async fn text_page(
        &self,
        space: &Space,
        words: &[String],
        query: &Query,
    ) -> Result<Option<Page>, StoreError> {
        let (after, before) = sql::range(query);
        let rare = self.rare(space, words).await?;
        let (order, direction) = match rare {
            Some(_) => (" order by m.place", ""),
            None => (" order by m.seq", sql::order(query)),
        };
        let mut page = Page::new(concat!("select ", sql::event_columns!(), " from ("));
        if let Some(mut seqs) = rare {
            seqs.retain(|seq| *seq > after && *seq < before);
            if seqs.is_empty() {
                return Ok(None);
            }
            seqs.sort_unstable();
            if query.order == crate::query::Order::Descending {
                seqs.reverse();
            }
            page.push("select seq, place from unnest(")
                .push_bind(seqs)
                .push("::bigint[]) with ordinality w (seq, place)");
        } else {
            page.push("select seq from event_words where space = ")
                .push_bind(space.as_str().to_owned());
            page.push(" and words @@ ")
                .push_bind(all_of(words))
                .push("::tsquery");
            page.push(" and seq > ")
                .push_bind(after)
                .push(" and seq < ")
                .push_bind(before);
            page.push(" order by seq")
                .push(sql::order(query))
                .push(" offset 0");
        }
        page.push(") m");
        by_key(&mut page, space);
        page.push(" where true");
        conditions(&mut page, query);
        page.push(order)
            .push(direction)
            .push(" limit ")
            .push_bind(i64::from(query.limit.max(1)));
        Ok(Some(page))
    }

    /// The events with all the words, in any order; `None`: there are many, in this space or others.
    async fn rare(&self, space: &Space, words: &[String]) -> Result<Option<Vec<Seq>>, StoreError> {
        let text = "select space, seq from event_words where words @@ $1::tsquery limit $2";
        let query = sqlx::query_as(text).bind(all_of(words)).bind(RARE + 1);
        let found: Vec<(String, i64)> = sql::search!(self, space, query, fetch_all)?;
        let is_rare = found.len() as i64 <= RARE;
        let of_space = found.into_iter().filter(|it| it.0 == space.as_str());
        Ok(is_rare.then(|| of_space.map(|it| it.1).collect()))
    }
}

/// A tsquery: all of the words. They have letters, digits and marks only, so quoting them is safe.
pub fn all_of(words: &[String]) -> String {
    sql::quoted(words, "'", " & ")
}
