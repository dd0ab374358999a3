//! The pieces of a log that are summed up: how large they may be, and reading one.

use std::sync::Arc;

use super::prompt_view::size;
use super::summing::{EVENTS_MAX, PART, Summing, ToSumUp, WHOLE};
use super::{ModelClient, TurnPlace};
use thinkd_event::envelope::Event;
use thinkd_log::error::StoreError;
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::thread_row::ThreadRow;
use thinkd_thread::history::{self, Entry};
use thinkd_words::id::Seq;

/// The smallest piece, in bytes, that is asked about after refusals for the length.
const BYTES_LEAST: usize = 256;
/// Events that are read at a time.
const PAGE: u32 = 50;

impl ModelClient {
    /// Most bytes of a piece: a part of the smallest view that a model of the thread takes.
    pub(super) fn piece_bytes(&self, place: &TurnPlace) -> usize {
        let fewest = self.fits.fewest((&place.space, &place.thread));
        self.options.bytes.min(fewest.unwrap_or(usize::MAX)) / PART
    }

    /// Halves the pieces of a thread after a refusal for the length. False: they are as small as
    /// can be, or of this the pieces are no cause.
    pub fn halves_pieces(&self, place: &TurnPlace, refused: &Summing) -> bool {
        let bytes = self.piece_bytes(place) / 2;
        let is_smaller = refused.joins.is_empty() && bytes >= BYTES_LEAST;
        if is_smaller {
            let question = &refused.question;
            let key = self.key(place, Show::Visible, question);
            self.fits.keep(key, bytes * PART);
        }
        is_smaller
    }

    /// The visible events of a thread from a place on, whole, as many as a piece can hold and one more; all before the target.
    pub(super) async fn to_read(
        &self,
        place: &TurnPlace,
        row: &ThreadRow,
        ToSumUp { from, target }: ToSumUp,
    ) -> Result<Vec<Arc<Entry>>, StoreError> {
        let mut after = match row.state.summaries.last().map(|held| &held.covers) {
            Some(last) if last.upto.is_some() => last.to - 1,
            Some(last) => last.to,
            None => self.before(place, row, from.position).await?,
        };
        let mut entries = Vec::<Arc<Entry>>::new();
        let mut sum = 0;
        let mut left = (target - from.position).min(EVENTS_MAX);
        // What was read of the first one already takes no room.
        while left > 0 && sum <= self.piece_bytes(place) {
            let limit = u32::try_from(left).unwrap_or(PAGE).min(PAGE);
            let query = Query {
                thread: Some(place.thread.clone()),
                show: Show::Visible,
                after: Some(after),
                order: Order::Ascending,
                limit,
                ..Query::default()
            };
            let page = self.store.events(&place.space, &query).await?;
            left = left_behind(left, limit, &page);
            after = page.last().map_or(after, |event| event.seq);
            entries.extend(self.written(&page, WHOLE.into()));
            // A sentence stands for what is not shown: positions are those of the thread.
            history::leave_out(&mut entries, &row.state.unshown, &[], &self.prompts);
            let begun = entries.first().filter(|_| from.skip > 0);
            sum = size(&entries) - begun.map_or(0, |first| first.written());
        }
        Ok(entries)
    }

    /// The seq before the visible event at a position.
    async fn before(
        &self,
        place: &TurnPlace,
        row: &ThreadRow,
        position: u64,
    ) -> Result<Seq, StoreError> {
        let mut left = row.visible.saturating_sub(position);
        let mut before = row.head + 1;
        while left > 0 && position > 0 {
            let limit = u32::try_from(left).unwrap_or(PAGE).min(PAGE);
            let query = Query {
                thread: Some(place.thread.clone()),
                show: Show::Visible,
                before: Some(before),
                limit,
                ..Query::default()
            };
            let page = self.store.events(&place.space, &query).await?;
            left = left_behind(left, limit, &page);
            before = page.last().map_or(before, |event| event.seq);
        }
        Ok(if position > 0 { before - 1 } else { 0 })
    }
}

/// The number of events that are left behind a page: none behind one that is not full.
fn left_behind(left: u64, limit: u32, page: &[Event]) -> u64 {
    match page.len() < limit as usize {
        true => 0,
        false => left - u64::from(limit),
    }
}
