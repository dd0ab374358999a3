//! A prompt view is the part of the log that a model call sees: the events, read, cut to the size
//! of a view, and written.

use std::sync::Arc;

use super::scope::{Hides, Scope, Untaken};
use super::{ModelClient, TurnPlace};
use thinkd_log::error::StoreError;
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::thread_row::ThreadRow;
use thinkd_thread::history::{
    self, Block, Clock, Entry, Lengths, Omitted, Slice, Style, Summary, VIEW_MAX, Window,
};
use thinkd_thread::settings::Settings;
use thinkd_words::id::{Seq, Space};
use thinkd_words::time;

/// Events that are read at a time to fill a view.
const PAGE: u32 = 500;
/// Corrections of entries that are not held any more take at most this part of a view, beside it.
const CORRECTIONS_PART: usize = 8;

/// The part of the log that a call sees.
#[derive(Debug, Clone, Default)]
pub struct PromptView {
    /// The scope that it was made for.
    pub scope: Scope,
    /// Most bytes of the log in it.
    pub bytes: usize,
    /// The parts that its model does not take.
    pub untaken: Untaken,
    /// Longest entries in it.
    pub lengths: Lengths,
    /// In which zones the times of its entries are.
    pub clock: Arc<Clock>,
    /// The thread's row when it was read.
    pub row: ThreadRow,
    /// The window of its events.
    pub window: Window,
    /// The events, oldest first.
    pub entries: Vec<Arc<Entry>>,
    /// Events of the window that lie between its entries and are not for this call.
    pub left_out: Vec<Seq>,
    /// The events between these two had no room. Those that the turn is about are before them, the
    /// newest after them.
    pub gap: Option<(Seq, Seq)>,
    /// The text after the transcript about entries that are not held any more; empty: there are
    /// none.
    pub corrections: String,
    /// The summaries of events before its entries.
    pub summaries: Vec<Arc<Summary>>,
    /// The part of its first and last entry that it shows.
    pub slice: Slice,
    /// The view as written.
    pub blocks: Vec<Block>,
}

impl PromptView {
    /// The style of its entries.
    pub fn style(&self) -> Style<'_> {
        Style {
            lengths: self.lengths,
            clock: &self.clock,
        }
    }

    /// Returns a view without an event: the question says all that there is to see.
    pub fn of_nothing(row: ThreadRow) -> Self {
        let window = Window {
            show: Show::Visible,
            ..Window::default()
        };
        Self {
            scope: Scope::visible(),
            row,
            window,
            ..Self::default()
        }
    }

    /// Returns its size in bytes as written, without its media.
    pub fn written(&self) -> usize {
        let bytes = |block: &Block| match block {
            Block::Text(text) => text.len(),
            Block::Blob { .. } => 0,
        };
        self.blocks.iter().map(bytes).sum()
    }
}

/// The entries read from the log for a view, from the newest backwards, without a gap unless
/// `is_parted`.
#[derive(Default)]
struct Found {
    /// The number of events, with those that are not for the call.
    count: u64,
    /// The events for the call, oldest first.
    entries: Vec<Arc<Entry>>,
    /// The events that are not for the call.
    hidden: Vec<Seq>,
    /// Between the events that the turn is about and those that came since, more may stand than was
    /// read.
    is_parted: bool,
}

impl Found {
    /// Puts entries before the others.
    fn put_before(&mut self, mut entries: Vec<Arc<Entry>>, hides: Hides<'_>) {
        self.count += entries.len() as u64;
        let hidden = entries.iter().filter(|entry| hides.hides(entry));
        let hidden = Vec::from_iter(hidden.map(|entry| entry.seq));
        self.hidden.splice(0..0, hidden);
        entries.retain(|entry| !hides.hides(entry));
        self.entries.splice(0..0, entries);
    }
}

impl ModelClient {
    /// Reads the view of the thread as it is now.
    pub async fn view(&self, place: &TurnPlace, scope: Scope) -> Result<PromptView, StoreError> {
        let bytes = self.options.bytes;
        self.look_at(place, scope, bytes, Untaken::default()).await
    }

    /// The same with at most so many bytes.
    pub async fn smaller_view(
        &self,
        place: &TurnPlace,
        view: &PromptView,
        bytes: usize,
    ) -> Result<PromptView, StoreError> {
        let untaken = view.untaken.clone();
        self.look_at(place, view.scope, bytes, untaken).await
    }

    /// Returns the same with at most so many bytes, and without the parts that its model does not
    /// take.
    pub(super) async fn look_at(
        &self,
        place: &TurnPlace,
        scope: Scope,
        bytes: usize,
        untaken: Untaken,
    ) -> Result<PromptView, StoreError> {
        let TurnPlace { space, thread, .. } = place;
        let Some(row) = self.store.thread_lately(space, thread).await? else {
            let why = format!("the thread {thread} has no row");
            return Err(StoreError::Broken(why));
        };
        let whole = Settings::of(&row.settings).is_process();
        let mut window = Window::over(&row, whole, scope.show, &self.options, time::now());
        let mut lengths = Lengths::of(bytes, self.options.event_chars);
        // One for all entries: which changes it knows is recorded.
        let clock = self.clock(space).await?;
        let style = |lengths| Style {
            lengths,
            clock: &clock,
        };
        let mut unshown = row.state.unshown.clone();
        let left_out = untaken.left_out.iter();
        left_out.for_each(|left_out| unshown.leave_out(left_out));
        let hides = Hides {
            scope,
            unshown: &unshown,
            row: &row,
        };
        let leave_out = |entries: &mut [Arc<Entry>]| {
            history::leave_out(entries, &unshown, &untaken.kinds, &self.prompts)
        };
        let found = self.find(place, &window, hides, style(lengths), bytes);
        let Found {
            count,
            mut entries,
            mut hidden,
            is_parted,
        } = found.await?;
        leave_out(&mut entries);
        let all = window.omitted + window.take;
        let (first, last) = scope.about.unwrap_or((Seq::MAX, Seq::MAX));
        let about = entries.partition_point(|entry| entry.seq < first);
        let since = entries.partition_point(|entry| entry.seq <= last);
        let mut gap = None;
        if is_parted || size(&entries[about..]) > bytes {
            let fit = history::fit(&entries[about..since], &entries[since..], lengths, bytes);
            let newest = entries.len() - fit.newest;
            if since > about && newest < entries.len() && (is_parted || newest > since) {
                gap = Some((entries[since - 1].seq, entries[newest].seq));
            }
            entries.drain(since..newest);
            entries.drain(..about);
            if fit.lengths != lengths {
                lengths = fit.lengths;
                let shorter = self.shorter(place, &window, &entries, gap, style(lengths));
                entries = shorter.await?;
                leave_out(&mut entries);
            }
        } else {
            let sizes = Vec::from_iter(entries.iter().map(|entry| entry.written()));
            let position = all.saturating_sub(count);
            let block = self.options.block_of(scope.show);
            let begin = history::begin(&sizes, position, block, bytes, about);
            entries.drain(..begin);
        }
        window.omitted = all.saturating_sub((entries.len() + hidden.len()) as u64);
        window.take = entries.len() as u64;
        // Of what is not for the call only what lies between its entries need be known.
        let begin = entries.first().map_or(0, |it| it.seq);
        let end = entries.last().map_or(0, |it| it.seq);
        let lies_between = |seq: &Seq| {
            (begin..end).contains(seq) && gap.is_none_or(|(from, to)| *seq < from || *seq > to)
        };
        hidden.retain(lies_between);
        let omitted = Omitted {
            count: window.omitted,
            gap: gap.map(|(_, end)| end),
        };
        let summaries = self.summaries(place, &row, scope.show, (entries.first(), bytes));
        let summaries = summaries.await?;
        let mut blocks = self.summed(&summaries, &entries, omitted);
        let shown = (&*summaries, &*entries);
        let most = bytes / CORRECTIONS_PART;
        let corrections = &row.state.corrections;
        let corrections = history::corrections(corrections, shown, most, &self.prompts);
        blocks.push(Block::Text(corrections.clone()));
        Ok(PromptView {
            scope,
            bytes,
            untaken,
            lengths,
            clock,
            row,
            window,
            entries,
            left_out: hidden,
            gap,
            corrections,
            summaries,
            slice: Slice::default(),
            blocks,
        })
    }

    /// Returns the entries that a view can be made of: the newest that fill `bytes`, those that the
    /// turn is about, and those that came between.
    async fn find(
        &self,
        place: &TurnPlace,
        window: &Window,
        hides: Hides<'_>,
        style: Style<'_>,
        bytes: usize,
    ) -> Result<Found, StoreError> {
        let scope = hides.scope;
        let mut found = Found::default();
        let newest = self.entries(place, window, style, bytes).await?;
        let mut oldest = newest.first().map_or(window.up_to + 1, |entry| entry.seq);
        found.put_before(newest, hides);
        let is_shown = |entry: &Entry| !hides.hides(entry);
        // What was cleared away is not shown any more.
        let shown = (window.omitted + window.take).saturating_sub(window.cleared);
        let query = |after: Option<Seq>, before: Seq, count: u64, most: u64| Query {
            thread: Some(place.thread.clone()),
            show: window.show,
            after,
            before: Some(before),
            order: Order::Descending,
            limit: u32::try_from(shown.saturating_sub(count).min(most)).unwrap_or(u32::MAX),
            ..Query::default()
        };
        if let Some((first, last)) = scope.about.filter(|(first, _)| *first < oldest) {
            if last + 1 < oldest {
                let room = bytes.saturating_sub(size(&found.entries));
                let query = query(Some(last), oldest, found.count, VIEW_MAX);
                let between = self.read_back(&place.space, &query, style, room, is_shown);
                let between = between.await?;
                let is_read = between.len() < VIEW_MAX as usize;
                found.put_before(between, hides);
                found.is_parted = !is_read || size(&found.entries) > bytes;
            }
            let query = query(Some(first - 1), oldest.min(last + 1), found.count, u64::MAX);
            found.put_before(self.read(&place.space, &query, style).await?, hides);
            oldest = first;
        }
        // What is not for this call has taken room that older entries have.
        let room = bytes.saturating_sub(size(&found.entries));
        if !found.hidden.is_empty() && !found.is_parted && room > 0 {
            let query = query(None, oldest, found.count, VIEW_MAX);
            let before = self.read_back(&place.space, &query, style, room, is_shown);
            found.put_before(before.await?, hides);
        }
        Ok(found)
    }

    /// Returns the entries of the window, or as many of the newest as fill `bytes`. Where entries
    /// were shown before, only those that came since are read.
    async fn entries(
        &self,
        place: &TurnPlace,
        window: &Window,
        style: Style<'_>,
        bytes: usize,
    ) -> Result<Vec<Arc<Entry>>, StoreError> {
        let Some(query) = window.query(&place.thread) else {
            return Ok(Vec::new());
        };
        let all = || self.read_back(&place.space, &query, style, bytes, |_| true);
        if window.since.is_some() {
            return all().await;
        }
        let is_usual = bytes == self.options.bytes;
        let zone = style.clock.seq();
        let key = (place.space.clone(), place.thread.clone(), window.show, zone);
        let take = usize::try_from(window.take).unwrap_or(usize::MAX);
        let mut entries = Vec::new();
        if let Some((up_to, known)) = self.recent.before(&key, window.up_to).filter(|_| is_usual) {
            let since = Query {
                after: Some(up_to),
                ..query.clone()
            };
            entries = known;
            entries.extend(self.read(&place.space, &since, style).await?);
        }
        if entries.len() < take && size(&entries) <= bytes {
            entries = all().await?;
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
            self.recent.keep(key, window.up_to, entries.clone());
        }
        Ok(entries)
    }

    /// The newest events of a query, page by page, until those that count fill `bytes`; oldest first.
    async fn read_back(
        &self,
        space: &Space,
        query: &Query,
        style: Style<'_>,
        bytes: usize,
        counts: impl Fn(&Entry) -> bool + Send,
    ) -> Result<Vec<Arc<Entry>>, StoreError> {
        let mut entries: Vec<Arc<Entry>> = Vec::new();
        let mut left = query.limit;
        let mut sum = 0;
        let mut query = query.clone();
        while left > 0 && sum <= bytes {
            query.limit = left.min(PAGE);
            let page = self.read(space, &query, style).await?;
            let is_last = page.len() < query.limit as usize;
            left = if is_last { 0 } else { left - query.limit };
            query.before = page.first().map(|entry| entry.seq);
            let counted = page.iter().filter(|entry| counts(entry));
            sum += counted.map(|entry| entry.written()).sum::<usize>();
            entries.splice(0..0, page);
        }
        Ok(entries)
    }

    /// The same entries, shorter.
    async fn shorter(
        &self,
        place: &TurnPlace,
        window: &Window,
        entries: &[Arc<Entry>],
        gap: Option<(Seq, Seq)>,
        style: Style<'_>,
    ) -> Result<Vec<Arc<Entry>>, StoreError> {
        let end = gap.map_or(Seq::MAX, |(begin, _)| begin);
        let parted = entries.partition_point(|entry| entry.seq <= end);
        let (before, after) = entries.split_at(parted);
        let mut shorter = Vec::with_capacity(entries.len());
        for part in [before, after] {
            let (Some(first), Some(last)) = (part.first(), part.last()) else {
                continue;
            };
            let query = Query {
                thread: Some(place.thread.clone()),
                show: window.show,
                after: Some(first.seq - 1),
                before: Some(last.seq + 1),
                order: Order::Descending,
                limit: u32::try_from(last.seq - first.seq + 1).unwrap_or(u32::MAX),
                ..Query::default()
            };
            shorter.extend(self.read(&place.space, &query, style).await?);
        }
        let is_among = |seq: Seq| entries.binary_search_by_key(&seq, |it| it.seq).is_ok();
        shorter.retain(|entry| is_among(entry.seq));
        Ok(shorter)
    }

    /// Events as written, oldest first, of a query for the newest.
    async fn read(
        &self,
        space: &Space,
        query: &Query,
        style: Style<'_>,
    ) -> Result<Vec<Arc<Entry>>, StoreError> {
        let events = self.store.events(space, query).await?;
        Ok(self.written(events.iter().rev(), style))
    }
}

/// Returns the bytes that entries take of a view.
pub(super) fn size(entries: &[Arc<Entry>]) -> usize {
    entries.iter().map(|entry| entry.written()).sum()
}
