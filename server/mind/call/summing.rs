//! The summaries that stand in a view, and the question to a model for the next one. The events to
//! be summed up are read in disjoint pieces; the asker (`runtime/summaries.rs`) stores the result.

use std::sync::Arc;

use futures_util::future::try_join_all;

use super::prompt_view::size;
use super::{ModelClient, PromptView, Question, Scope, TurnPlace};
use thinkd_event::summary::{self, Covers, Held, Place};
use thinkd_log::error::StoreError;
use thinkd_log::query::{Query, Show};
use thinkd_log::thread_row::ThreadRow;
use thinkd_model::cache::Cache;
use thinkd_model::prompt::Template;
use thinkd_model::provider::{Tier, ToolChoice, ToolSpecs};
use thinkd_thread::history::{self, Block, Entry, Lengths, Omitted, Slice, Summary, Window};
use thinkd_thread::settings::Settings;
use thinkd_words::failure::Who;
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::time;

/// Fewest events that a summary is made for, unless they are long.
const EVENTS_MIN: u64 = 16;
/// Most events in a piece.
pub(super) const EVENTS_MAX: u64 = 500;
/// A piece takes at most this part of a view, and so do all summaries together.
pub(super) const PART: usize = 4;
/// Most characters of a summary, and the part of a view that it takes at most.
const CHARS_MAX: usize = 4000;
const CHARS_PART: usize = 8;
/// Nothing is shortened: no event is so long.
pub(super) const WHOLE: Lengths = Lengths {
    event_chars: 1 << 30,
    entry_bytes: 1 << 30,
};
/// Summaries that are kept as views show them; with more they are read again.
const KEPT_MAX: usize = 1024;

/// Summaries that were shown last.
pub(super) type Kept = Cache<(Space, Seq), Arc<Summary>, KEPT_MAX>;

/// A question to a model for the next summary of a thread.
pub struct Summing {
    /// The view that it is shown.
    pub view: PromptView,
    /// The question.
    pub question: Question,
    /// The events that the summary will stand for.
    pub covers: Covers,
    /// The summaries that it will take the place of.
    pub joins: Vec<Seq>,
    /// Most characters that it may have.
    pub chars: usize,
}

/// The part of a thread that is to be summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToSumUp {
    /// From there.
    pub from: Place,
    /// So many of the first events of the thread that a decision may see.
    pub target: u64,
}

impl ModelClient {
    /// Returns true if events that leave views are summed up.
    pub fn sums_up(&self) -> bool {
        self.options.summaries
    }

    /// The summaries that stand in a view before its first entry, the oldest first.
    pub(super) async fn summaries(
        &self,
        place: &TurnPlace,
        row: &ThreadRow,
        show: Show,
        (first, bytes): (Option<&Arc<Entry>>, usize),
    ) -> Result<Vec<Arc<Summary>>, StoreError> {
        // Submodules stay independent: what they said is in the summaries, so these are no part of what they see.
        if !self.options.summaries
            || show != Show::Visible
            || Settings::of(&row.settings).is_process()
        {
            return Ok(Vec::new());
        }
        let is_before = |held: &&Held| first.is_none_or(|first| held.covers.to < first.seq);
        let held: Vec<&Held> = row.state.summaries.iter().filter(is_before).collect();
        let seqs: Vec<Seq> = held.iter().map(|held| held.seq).collect();
        let written = self.written_summaries(&place.space, &place.thread, &seqs);
        Ok(history::fitting(written.await?, bytes / PART))
    }

    /// Summaries as views show them, without those that this build cannot read.
    pub(super) async fn written_summaries(
        &self,
        space: &Space,
        thread: &ThreadId,
        seqs: &[Seq],
    ) -> Result<Vec<Arc<Summary>>, StoreError> {
        let written = seqs
            .iter()
            .map(|seq| self.written_summary(space, thread, *seq));
        let written = try_join_all(written).await?;
        Ok(written.into_iter().flatten().collect())
    }

    async fn written_summary(
        &self,
        space: &Space,
        thread: &ThreadId,
        seq: Seq,
    ) -> Result<Option<Arc<Summary>>, StoreError> {
        let key = (space.clone(), seq);
        if let Some(kept) = self.summed.get(&key) {
            return Ok(Some(kept));
        }
        let query = Query {
            thread: Some(thread.clone()),
            show: Show::default(),
            ..Query::at(seq)
        };
        let event = self.store.events(space, &query).await?.into_iter().next();
        let Some(written) = event.and_then(|event| Summary::of(&event)).map(Arc::new) else {
            return Ok(None);
        };
        self.summed.insert(key, written.clone());
        Ok(Some(written))
    }

    /// Returns the number of events that the first summary goes back: with less than a block there
    /// would be none.
    fn back(&self) -> u64 {
        let options = &self.options;
        options.summaries_back.max(options.block).max(EVENTS_MIN)
    }

    /// Returns the part of a conversation to be summed up by now: the events that have left the
    /// view of its decision, and the block that leaves next. So the block's summary is there when
    /// it leaves. `None`: nothing, or too little.
    pub async fn to_sum_up(
        &self,
        place: &TurnPlace,
        row: &ThreadRow,
    ) -> Result<Option<ToSumUp>, StoreError> {
        if !self.options.summaries
            || Settings::of(&row.settings).is_process()
            || row.status.is_final()
        {
            return Ok(None);
        }
        let target = self.leaves(place).await?;
        let Some(from) = summary::goes_on(&row.state.summaries, cleared(row), target, self.back())
        else {
            return Ok(None);
        };
        let due = ToSumUp { from, target };
        if target - from.position >= self.options.block.max(EVENTS_MIN) {
            return Ok(Some(due));
        }
        // Few events, but they may be long.
        let entries = self.to_read(place, row, due).await?;
        Ok((size(&entries) > self.options.bytes / PART).then_some(due))
    }

    /// Returns the number of the first visible events of a thread that are not in the view of its
    /// decision, or leave it next.
    async fn leaves(&self, place: &TurnPlace) -> Result<u64, StoreError> {
        let view = self.view(place, Scope::visible()).await?;
        let options = &self.options;
        let window = Window::over(&view.row, false, Show::Visible, options, time::now());
        let omitted = view.window.omitted;
        let by_count = window.omitted;
        // Where bytes or times decide, nobody knows where the view begins next.
        let block = options.block;
        let is_known = omitted == by_count && options.window_s.is_none();
        if !is_known || size(&view.entries) > options.bytes / 2 || block < EVENTS_MIN {
            return Ok(omitted);
        }
        let next = (view.row.visible / block * block).min(by_count + block);
        Ok(omitted.max(next))
    }

    /// Returns the next question to a model, so that all before `target` is summed up; `None`: it
    /// is, and nothing is to be joined.
    pub async fn summing(
        &self,
        place: &TurnPlace,
        row: &ThreadRow,
        target: u64,
    ) -> Result<Option<Summing>, StoreError> {
        let chars = CHARS_MAX.min(self.options.bytes / CHARS_PART);
        let held = &row.state.summaries;
        if let Some(from) = summary::goes_on(held, cleared(row), target, self.back()) {
            let entries = self.to_read(place, row, ToSumUp { from, target }).await?;
            return Ok(self.of_piece(place, (row, from), &entries, chars));
        }
        let Some(row_of) = summary::to_join(held) else {
            return Ok(None);
        };
        let Some(covers) = Covers::joined(row_of) else {
            return Ok(None);
        };
        let joins: Vec<Seq> = row_of.iter().map(|held| held.seq).collect();
        let summaries = self.written_summaries(&place.space, &place.thread, &joins);
        let summaries = summaries.await?;
        if summaries.len() < joins.len() {
            return Ok(None);
        }
        let view = PromptView {
            lengths: WHOLE,
            blocks: self.summed(&summaries, &[], Omitted::default()),
            summaries,
            ..PromptView::of_nothing(row.clone())
        };
        Ok(Some(Summing {
            view,
            question: self.asks("join", &self.prompts.summary_join, chars),
            covers,
            joins,
            chars,
        }))
    }

    /// Returns summaries and the entries behind them, as views show them.
    pub(super) fn summed(
        &self,
        summaries: &[Arc<Summary>],
        entries: &[Arc<Entry>],
        omitted: Omitted,
    ) -> Vec<Block> {
        history::summed(
            summaries,
            entries,
            omitted,
            self.options.media,
            &self.prompts,
        )
    }

    fn of_piece(
        &self,
        place: &TurnPlace,
        (row, from): (&ThreadRow, Place),
        entries: &[Arc<Entry>],
        chars: usize,
    ) -> Option<Summing> {
        // It ends where a view may begin, so that it is never half in one.
        let grain = EVENTS_MIN.next_multiple_of(self.options.block.max(1));
        let events = (grain - from.position % grain).min(EVENTS_MAX);
        let most = usize::try_from(events).unwrap_or(usize::MAX);
        let (count, upto) = history::piece(entries, from.skip, self.piece_bytes(place), most);
        let entries = &entries[..count];
        let slice = Slice {
            skip: from.skip,
            upto,
        };
        let covers = Covers {
            from: entries.first()?.seq,
            to: entries.last()?.seq,
            skip: from.skip,
            upto,
            position: from.position,
            events: count as u64,
            level: 0,
        };
        let view = PromptView {
            lengths: WHOLE,
            entries: entries.to_vec(),
            blocks: self.summed(&[], &slice.of(entries), Omitted::default()),
            slice,
            ..PromptView::of_nothing(row.clone())
        };
        Some(Summing {
            view,
            question: self.asks("sum-up", &self.prompts.summary_part, chars),
            covers,
            joins: Vec::new(),
            chars,
        })
    }

    fn asks(&self, purpose: &'static str, system: &Template, chars: usize) -> Question {
        Question {
            who: Who::Summary,
            purpose,
            round: 0,
            system: system.source().clone(),
            tail: self.prompts.summary_chars.clone(),
            values: vec![("chars".to_owned(), chars.to_string())],
            prompt: None,
            own: Vec::new(),
            tools: ToolSpecs::new(Vec::new()),
            choice: ToolChoice::Auto,
            tier: Tier::Low,
        }
    }
}

/// So many of the first visible events are not shown any more.
fn cleared(row: &ThreadRow) -> u64 {
    row.state.cleared.unwrap_or_default().visible
}
