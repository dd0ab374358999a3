//! Tells threads what became of statements that came from their events, or that these returned: once for each fall and each thread, and once more
//! where it is held again. It goes by the log alone, from a position that the trials keep when they rest, so that a crash loses and repeats nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::bench::Bench;
use super::settling::APPEND_MAX;
use crate::event::correction::{Correction, EVENTS_MAX, TEXT_MAX};
use crate::event::draft::Draft;
use crate::event::fact::recalled;
use crate::event::statement::{Status, cut};
use crate::log::error::StoreError;
use crate::log::projections::statements::StatementRow;
use crate::log::query::{Order, Query, Show};
use crate::mind::turn_writer::Lost;
use crate::words::id::{Seq, ThreadId};

/// Words on statements that are read at a time.
const PAGE: u32 = 500;
/// Most threads that are told of one fall, those of its sources first, then those that recalled it last.
const THREADS_MAX: usize = 64;
/// Most events that returned a statement that are looked at, the newest.
const RECALLS_MAX: u32 = 500;

/// The events of threads that a statement came from, or that returned it; the threads in the order in which they are told.
#[derive(Default)]
struct Concerned {
    threads: Vec<ThreadId>,
    of: BTreeMap<ThreadId, BTreeSet<Seq>>,
}

impl Concerned {
    fn take(&mut self, thread: ThreadId, seq: Seq) {
        if !self.of.contains_key(&thread) {
            self.threads.push(thread.clone());
        }
        self.of.entry(thread).or_default().insert(seq);
    }
}

impl Bench<'_> {
    /// Tells of all that fell, or is held again, behind a position. Returns up to where all is told.
    pub async fn tell(&self, mut after: Seq) -> Result<Seq, Lost> {
        let (store, space) = (&*self.trials.store, &self.fence.space);
        loop {
            let page = store.standings(space, (after, Seq::MAX), PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            for (seq, id, standing) in page {
                let drafts = self.corrections(&id, standing.status, seq).await?;
                for part in drafts.chunks(APPEND_MAX) {
                    self.writer.write(part.to_vec()).await?;
                }
                after = seq;
            }
            if is_last {
                return Ok(after);
            }
        }
    }

    /// What is to be told of a word on a statement: that it fell by it, or is held again.
    async fn corrections(&self, id: &str, status: Status, since: Seq) -> Result<Vec<Draft>, StoreError> {
        let (store, space) = (&*self.trials.store, &self.fence.space);
        if status == Status::Proposed {
            return Ok(Vec::new());
        }
        let before: Vec<Status> = store.stood(space, id, since).await?;
        let was = before.last().copied().unwrap_or(Status::Proposed);
        let fell = status.has_fallen() && !was.has_fallen();
        let is_again = status.is_held() && !was.is_held() && before.iter().any(|it| it.has_fallen());
        let row = if fell || is_again { store.statement(space, id).await? } else { None };
        let Some(row) = row else { return Ok(Vec::new()) };
        let Concerned { threads, of } = self.concerned(&row).await?;
        if threads.len() > THREADS_MAX {
            let left_out = threads.len() - THREADS_MAX;
            tracing::warn!(%space, statement = id, left_out, "threads are not told what became of a statement: they are too many");
        }
        let mut drafts = Vec::new();
        for thread in threads.into_iter().take(THREADS_MAX) {
            let Some(there) = store.thread(space, &thread).await?.filter(|it| !it.status.is_final()) else { continue };
            let knows = there.state.corrections.iter().any(|it| it.statement == row.id);
            let all = of.get(&thread).map(|all| all.iter().rev().take(EVENTS_MAX).copied().collect::<Vec<Seq>>());
            let correction = Correction {
                statement: row.id.clone(),
                says: cut(&row.text, TEXT_MAX),
                status,
                since,
                of: all.unwrap_or_default().into_iter().rev().collect(),
            };
            let draft = Draft::corrected(&thread, correction);
            let is_told = match draft.event_id {
                Some(id) => store.event(space, id).await?.is_some(),
                None => false,
            };
            drafts.extend((!is_told && (fell || knows)).then_some(draft));
        }
        Ok(drafts)
    }

    /// Where a statement came from, and what returned it.
    async fn concerned(&self, row: &StatementRow) -> Result<Concerned, StoreError> {
        let (store, space) = (&*self.trials.store, &self.fence.space);
        let mut concerned = Concerned::default();
        let seqs: BTreeSet<Seq> = row.sources.iter().flat_map(|source| source.seqs.iter().copied()).collect();
        for seq in seqs {
            let (after, before) = (Some(seq - 1), Some(seq + 1));
            let query = Query { after, before, show: Show::All, order: Order::Ascending, limit: 1, ..Query::default() };
            let events = store.events(space, &query).await?;
            events.into_iter().for_each(|event| concerned.take(event.thread, seq));
        }
        let tags = vec![format!("{}{}", recalled::OF, row.id)];
        let recalls = store.events(space, &Query { tags, limit: RECALLS_MAX, ..Query::default() }).await?;
        recalls.into_iter().for_each(|event| concerned.take(event.thread, event.seq));
        Ok(concerned)
    }
}
