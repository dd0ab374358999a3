//! What of the log a call sees: read, cut to what a view may take, and written.

use std::sync::Arc;

use super::{Caller, Place};
use crate::event::Event;
use crate::history::{self, Block, Entry, Lengths, Window};
use crate::id::{Seq, Space};
use crate::store::{self, Order, Query, Show, ThreadRow};
use crate::thread::Settings;
use crate::time;

/// How many events are read at a time to fill a view.
const PAGE: u32 = 500;

/// Most events that are read to find what a turn is about, where more has come since than a view holds.
const BACKLOG_MAX: u64 = 20_000;

/// What of the log a call is to see.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    /// What its reader may see.
    pub show: Show,
    /// Nothing that came to the thread after this.
    pub until: Option<Seq>,
    /// From here on nothing is left out, only shortened: it is what the turn is about.
    pub from: Option<Seq>,
}

/// What of the log a call sees.
#[derive(Debug, Clone)]
pub struct Look {
    /// What it was to see.
    pub scope: Scope,
    /// How many bytes of the log it may have.
    pub bytes: usize,
    /// How long its entries may be.
    pub lengths: Lengths,
    /// The thread's row when it was read.
    pub row: ThreadRow,
    /// Which events.
    pub window: Window,
    /// The events, oldest first.
    pub entries: Vec<Arc<Entry>>,
    /// What of the window is not for this call.
    pub left_out: Vec<Seq>,
    /// The view as written.
    pub blocks: Vec<Block>,
}

impl Caller {
    /// Reads what a view of the thread holds now.
    pub async fn look(&self, place: &Place, scope: Scope) -> Result<Look, store::Error> {
        self.look_at(place, scope, self.options.bytes).await
    }

    /// The same with half as much.
    pub async fn look_less(&self, place: &Place, look: &Look) -> Result<Look, store::Error> {
        self.look_at(place, look.scope, look.bytes / 2).await
    }

    async fn look_at(&self, place: &Place, scope: Scope, bytes: usize) -> Result<Look, store::Error> {
        let row = self.store.thread_lately(&place.space, &place.thread).await?;
        let row = row.ok_or_else(|| store::Error::Broken(format!("the thread {} has no row", place.thread)))?;
        let whole = Settings::of(&row.settings).is_process();
        let mut window = Window::over(&row, whole, scope.show, &self.options, time::now());
        let mut lengths = Lengths::of(bytes, self.options.event_chars);
        let mut entries = self.entries(place, &window, lengths, bytes).await?;
        entries.splice(0..0, self.forgotten(place, &window, scope.from, &entries, lengths).await?);
        let count = window.omitted + window.take;
        let position = count.saturating_sub(entries.len() as u64);
        let mut left_out = Vec::new();
        if let Some(until) = scope.until {
            left_out.extend(entries.iter().filter(|it| it.arrives && it.seq > until).map(|entry| entry.seq));
            entries.retain(|entry| !left_out.contains(&entry.seq));
        }
        let sizes: Vec<usize> = entries.iter().map(|entry| entry.written()).collect();
        let is_kept = |entry: &Arc<Entry>| scope.from.is_some_and(|from| entry.seq >= from);
        let kept = entries.iter().position(is_kept).unwrap_or(entries.len());
        let begin = history::begin(&sizes, position, self.options.block_of(scope.show), bytes, kept);
        entries.drain(..begin);
        let squeezed = history::squeezed(&sizes[begin..], lengths, bytes);
        if squeezed != lengths {
            lengths = squeezed;
            entries = self.shorter(place, &window, &entries, lengths).await?;
        }
        window.omitted = position + begin as u64;
        window.take = entries.len() as u64;
        let blocks = history::joined(&entries, window.omitted, self.options.media, &self.prompts);
        Ok(Look { scope, bytes, lengths, row, window, entries, left_out, blocks })
    }

    /// What the window holds, or as many of the newest as fill `bytes`. Of what was shown before, only what came since is read.
    async fn entries(
        &self,
        place: &Place,
        window: &Window,
        lengths: Lengths,
        bytes: usize,
    ) -> Result<Vec<Arc<Entry>>, store::Error> {
        let Some(query) = window.query(&place.thread) else { return Ok(Vec::new()) };
        if window.since.is_some() {
            return self.read(&place.space, &query, lengths).await;
        }
        let is_usual = bytes == self.options.bytes;
        let key = (place.space.clone(), place.thread.clone(), window.show);
        let take = usize::try_from(window.take).unwrap_or(usize::MAX);
        let mut entries = match self.recent.before(&key, window.upto).filter(|_| is_usual) {
            Some((upto, mut entries)) => {
                entries.extend(self.read(&place.space, &Query { after: Some(upto), ..query.clone() }, lengths).await?);
                entries
            }
            None => Vec::new(),
        };
        if entries.len() < take && !overflows(&entries, bytes) {
            entries = self.read_back(&place.space, &query, lengths, bytes).await?;
        }
        entries.drain(..entries.len().saturating_sub(take));
        // One more than fits is kept: it tells that what is before it does not.
        let mut sum = 0;
        let fitting = entries.iter().rev().take_while(|entry| {
            let fits = sum <= bytes;
            sum += entry.written();
            fits
        });
        let fitting = fitting.count();
        entries.drain(..entries.len() - fitting);
        if is_usual {
            self.recent.keep(key, window.upto, entries.clone());
        }
        Ok(entries)
    }

    /// The newest events of a query, page by page, until they fill `bytes`; oldest first.
    async fn read_back(
        &self,
        space: &Space,
        query: &Query,
        lengths: Lengths,
        bytes: usize,
    ) -> Result<Vec<Arc<Entry>>, store::Error> {
        let mut entries: Vec<Arc<Entry>> = Vec::new();
        let mut left = query.limit;
        let mut query = query.clone();
        while left > 0 {
            query.limit = left.min(PAGE);
            let page = self.read(space, &query, lengths).await?;
            left = if page.len() < query.limit as usize { 0 } else { left - query.limit };
            query.before = page.first().map(|entry| entry.seq);
            entries.splice(0..0, page);
            if overflows(&entries, bytes) {
                break;
            }
        }
        Ok(entries)
    }

    /// What the turn is about, as far as it stands before these entries: more has come than the window holds.
    async fn forgotten(
        &self,
        place: &Place,
        window: &Window,
        from: Option<Seq>,
        entries: &[Arc<Entry>],
        lengths: Lengths,
    ) -> Result<Vec<Arc<Entry>>, store::Error> {
        let (Some(from), Some(first)) = (from, entries.first().map(|entry| entry.seq)) else { return Ok(Vec::new()) };
        let before = (window.omitted + window.take).saturating_sub(entries.len() as u64 + window.cleared);
        if first <= from || before == 0 || window.since.is_some() {
            return Ok(Vec::new());
        }
        let query = Query {
            thread: Some(place.thread.clone()),
            show: window.show,
            after: Some(from - 1),
            before: Some(first),
            order: Order::Descending,
            limit: u32::try_from(before.min(BACKLOG_MAX)).unwrap_or(u32::MAX),
            ..Query::default()
        };
        self.read(&place.space, &query, lengths).await
    }

    /// The same entries, shorter.
    async fn shorter(
        &self,
        place: &Place,
        window: &Window,
        entries: &[Arc<Entry>],
        lengths: Lengths,
    ) -> Result<Vec<Arc<Entry>>, store::Error> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(Vec::new()) };
        let query = Query {
            thread: Some(place.thread.clone()),
            show: window.show,
            after: Some(first.seq - 1),
            before: Some(last.seq + 1),
            order: Order::Descending,
            limit: u32::try_from(last.seq - first.seq + 1).unwrap_or(u32::MAX),
            ..Query::default()
        };
        let mut shorter = self.read(&place.space, &query, lengths).await?;
        shorter.retain(|entry| entries.binary_search_by_key(&entry.seq, |it| it.seq).is_ok());
        Ok(shorter)
    }

    /// Events as written, oldest first, of a query for the newest.
    async fn read(&self, space: &Space, query: &Query, lengths: Lengths) -> Result<Vec<Arc<Entry>>, store::Error> {
        let events = self.store.events(space, query).await?;
        let entry = |event: &Event| Arc::new(Entry::of(event, lengths, &self.prompts));
        Ok(events.iter().rev().map(entry).collect())
    }
}

/// Whether entries fill more than so many bytes.
fn overflows(entries: &[Arc<Entry>], bytes: usize) -> bool {
    entries.iter().map(|entry| entry.written()).sum::<usize>() > bytes
}
