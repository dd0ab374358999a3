//! Follows a space's log from a cursor: pages from the store while behind, then the shared tail. No
//! gap, no event twice. A reader that takes nothing holds back no other one: it has no queue, only
//! its cursor and one page. Pages are read in places that spaces share, so that the readers of one
//! do not keep those of another waiting.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::value::RawValue;
use tokio_util::task::AbortOnDropHandle;

use thinkd_event::envelope::Event;
use thinkd_log::error::StoreError;
use thinkd_log::feed::{Follower, Tail};
use thinkd_log::head::Head;
use thinkd_log::hint::{Hint, Hinted};
use thinkd_log::kernel::{EventLog, Store};
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::shown::{Shown, Written};
use thinkd_tasks::share::Places;
use thinkd_words::id::{Seq, Space, ThreadId};

/// Events of one page from the store: of the first, and at most.
const FIRST_PAGE: u32 = 32;
const PAGE: u32 = 256;
/// Events looked at in the tail at a time.
const STEP: usize = 64;
/// Bytes of events handed on at a time, which a reader that stalls keeps in memory. One event may
/// exceed it alone.
const BATCH_BYTES: usize = 32 << 10;
/// Tries for a page when the store fails, and the pause after each.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_secs(1);

/// The news of a follower.
pub enum Seen {
    /// Events that match, in order; `replay` when they were stored before the following began.
    Events {
        /// The events.
        events: Vec<FollowedEvent>,
        /// True if the events were stored before the following began.
        replay: bool,
    },
    /// The replay is over.
    CaughtUp,
    /// Something worth showing but not storing.
    Hint(Arc<Hint>),
}

/// A committed event as it is handed on.
pub enum FollowedEvent {
    /// From the tail, shared by all followers.
    Shared(Arc<Shown>),
    /// Read for this reader alone: its place in the log, and the event as JSON.
    Read(Seq, Box<RawValue>),
}

impl FollowedEvent {
    /// Its place in the log.
    pub fn seq(&self) -> Seq {
        match self {
            Self::Shared(shown) => shown.event.seq,
            Self::Read(seq, _) => *seq,
        }
    }

    /// The event as JSON text.
    pub fn json(&self) -> &str {
        match self {
            Self::Shared(shown) => &shown.json,
            Self::Read(_, json) => json.get(),
        }
    }

    /// The event itself.
    pub fn event(&self) -> Result<Cow<'_, Event>, StoreError> {
        match self {
            Self::Shared(shown) => Ok(Cow::Borrowed(&shown.event)),
            Self::Read(seq, json) => match serde_json::from_str(json.get()) {
                Ok(event) => Ok(Cow::Owned(event)),
                Err(error) => {
                    let text = format!("event {seq} cannot be read: {error}");
                    Err(StoreError::Broken(text))
                }
            },
        }
    }
}

/// One reader of a space.
pub struct Follow {
    store: Arc<dyn Store>,
    pages: Places,
    space: Space,
    filter: Query,
    follower: Follower,
    cursor: Seq,
    replay_to: Option<Seq>,
    /// A page that is read, by a task of its own: a follower that is not polled meanwhile keeps its
    /// place no longer than the page takes.
    page: Option<AbortOnDropHandle<Result<Page, StoreError>>>,
    /// Number of events to ask for next: about as many as can be handed on.
    ask: u32,
    /// Beginnings of replies that are streamed, to be shown before any other hint.
    begun: VecDeque<Hinted>,
    /// A hint that came before the events that it stands behind.
    early: Option<Hinted>,
    /// Events that were left out of the last page, to be reported.
    unreadable: VecDeque<Seq>,
}

struct Page {
    events: Vec<FollowedEvent>,
    /// Events between them that this build cannot read.
    unreadable: Vec<Seq>,
    end: Seq,
    ask: u32,
}

impl Follow {
    /// Follows the events that `filter` asks for from now on; with `after`, those behind it first.
    /// Also returns the log's head; the caller refuses an `after` beyond it.
    pub async fn start(
        store: &Arc<dyn Store>,
        pages: &Places,
        space: &Space,
        filter: Query,
        after: Option<Seq>,
    ) -> Result<(Self, Head), StoreError> {
        // First the feed, then the head: whatever is committed between the two is in the tail.
        let follower = store.feed().follow(space, filter.thread.as_ref());
        let head = store.head(space).await?;
        let cursor = after.unwrap_or(head.seq);
        let follow = Self {
            store: store.clone(),
            pages: pages.clone(),
            space: space.clone(),
            filter,
            follower,
            cursor,
            replay_to: after.map(|_| head.seq),
            page: None,
            ask: FIRST_PAGE,
            begun: VecDeque::new(),
            early: None,
            unreadable: VecDeque::new(),
        };
        Ok((follow, head))
    }

    /// Shows the replies that are streamed from their beginnings, once the replay was handed on.
    pub fn show_begun(&mut self) {
        self.begun = self.store.feed().begun(&self.space).into();
    }

    /// Everything up to here was handed on, or is not asked for.
    pub fn cursor(&self) -> Seq {
        let is_live = self.replay_to.is_none() && self.page.is_none();
        match is_live {
            true => self.follower.passed(self.cursor),
            false => self.cursor,
        }
    }

    /// Returns the next news. Cancel safe.
    pub async fn next(&mut self) -> Result<Seen, StoreError> {
        loop {
            if let Some(page) = &mut self.page {
                let page = page.await;
                self.page = None;
                let page = page.map_err(|error| {
                    StoreError::Unavailable(format!("a page was not read: {error}"))
                })??;
                (self.cursor, self.ask) = (page.end, page.ask);
                self.unreadable.extend(page.unreadable);
                if !page.events.is_empty() {
                    return Ok(Seen::Events {
                        events: page.events,
                        replay: self.replay_to.is_some(),
                    });
                }
                continue;
            }
            if let Some(seq) = self.unreadable.pop_front() {
                let thread = self.filter.thread.clone().unwrap_or_default();
                return Ok(Seen::Hint(Arc::new(Hint::unreadable(thread, seq))));
            }
            match self.replay_to {
                Some(target) if self.cursor >= target => {
                    self.replay_to = None;
                    return Ok(Seen::CaughtUp);
                }
                Some(target) => {
                    self.page = Some(self.read_page(Some(target)));
                    continue;
                }
                None => {}
            }
            if let Some(seen) = self.live().await {
                return Ok(seen);
            }
        }
    }

    /// A look at the hints and the tail, or a wait for either to grow. Nothing: look again.
    async fn live(&mut self) -> Option<Seen> {
        if self.early.is_none() {
            let begun = self.begun_reply();
            self.early = begun.or_else(|| self.follower.hint().now_or_never());
        }
        // A hint stands among the events where it was made: a piece of a reply behind the thoughts that led to it, before the reply.
        let due = self.early.as_ref().map(|early| early.after);
        if due.is_some_and(|due| due <= self.cursor) {
            return self.hint();
        }
        // Asked before the tail is: what is told in between is seen there.
        let is_due = due.is_some_and(|due| self.follower.reaches(due));
        let tail = self.follower.after(self.cursor, STEP);
        if due.is_none() {
            // A hint that was made before an event of this tail is there by now, and comes before it.
            self.early = self.follower.hint().now_or_never();
            if self.early.is_some() {
                return None;
            }
        }
        match tail {
            Tail::Behind => {
                self.page = Some(self.read_page(None));
                None
            }
            Tail::Events(mut events) => {
                events.retain(|shown| due.is_none_or(|due| shown.event.seq <= due));
                if events.is_empty() {
                    return if is_due {
                        self.hint()
                    } else {
                        self.wait().await
                    };
                }
                let events = self.select(events);
                (!events.is_empty()).then_some(Seen::Events {
                    events,
                    replay: false,
                })
            }
        }
    }

    /// Returns the beginning that is shown next. A reply that has ended meanwhile is skipped: it is
    /// an event.
    fn begun_reply(&mut self) -> Option<Hinted> {
        let feed = self.store.feed();
        let is_streamed = |begun: &Hinted| match &*begun.hint {
            Hint::Delta(delta) => feed.begun_reply(&self.space, &delta.event_id).is_some(),
            _ => false,
        };
        std::iter::from_fn(|| self.begun.pop_front()).find(is_streamed)
    }

    /// Waits for the tail to grow, and for a hint, if none is there. Cancel safe.
    async fn wait(&mut self) -> Option<Seen> {
        match self.early {
            None => self.early = self.follower.next().await,
            Some(_) => self.follower.changed().await,
        }
        None
    }

    fn hint(&mut self) -> Option<Seen> {
        let hint = self.early.take()?.hint;
        self.wants(&hint).then_some(Seen::Hint(hint))
    }

    /// Returns the events that match, as many as are handed on at a time.
    fn select(&mut self, events: Vec<Arc<Shown>>) -> Vec<FollowedEvent> {
        let mut bytes = 0;
        let mut kept = Vec::new();
        for shown in events {
            let matches = self.filter.matches(&shown.event);
            if matches {
                bytes += shown.json.len();
                if bytes > BATCH_BYTES && !kept.is_empty() {
                    break;
                }
            }
            self.cursor = shown.event.seq;
            if matches {
                kept.push(FollowedEvent::Shared(shown));
            }
        }
        kept
    }

    fn read_page(&self, last: Option<Seq>) -> AbortOnDropHandle<Result<Page, StoreError>> {
        let store = self.store.clone();
        let pages = self.pages.clone();
        let space = self.space.clone();
        let query = Query {
            after: Some(self.cursor),
            order: Order::Ascending,
            limit: self.ask,
            ..self.filter.clone()
        };
        AbortOnDropHandle::new(tokio::spawn(async move {
            let mut tries = 1;
            loop {
                let place = pages.take(&space).await;
                let page = read_page(&*store, &space, &query, last).await;
                drop(place);
                match page {
                    Err(error) if tries < TRIES => {
                        tracing::warn!(%error, "a page for a follower failed; trying again")
                    }
                    outcome => return outcome,
                }
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
        }))
    }

    fn wants(&self, hint: &Hint) -> bool {
        // Who is at work is told to those who look inside: others have the thread's status.
        let is_inside = matches!(hint, Hint::Work(_));
        concerns(&self.filter, hint.thread()) && (!is_inside || self.filter.show == Show::All)
    }
}

async fn read_page(
    store: &dyn EventLog,
    space: &Space,
    query: &Query,
    last: Option<Seq>,
) -> Result<Page, StoreError> {
    let last = match last {
        Some(last) => last,
        None => store.head(space).await?.seq,
    };
    let query = Query {
        before: Some(last + 1),
        ..query.clone()
    };
    let events = store.written(space, &query).await?;
    let all = events.len();
    let length = |event: &Written| event.json.as_ref().map_or(0, |json| json.get().len());
    let bytes: usize = events.iter().map(length).sum();
    let mut kept = 0;
    let fits = |event: &Written| {
        let before = kept;
        kept += length(event);
        before == 0 || kept <= BATCH_BYTES
    };
    let events: Vec<Written> = events.into_iter().take_while(fits).collect();
    // What does not fit is read again, rather than kept for a reader that may never take it.
    let is_whole = events.len() == all && all < query.limit as usize;
    let end = events.last().filter(|_| !is_whole);
    let end = end.map_or(last, |event| event.seq);
    let unread = events.iter().filter(|event| event.json.is_none());
    let unreadable = unread.map(|event| event.seq).collect();
    let read = |event: Written| Some(FollowedEvent::Read(event.seq, event.json?));
    let events = events.into_iter().filter_map(read).collect();
    Ok(Page {
        events,
        unreadable,
        end,
        ask: ask(all, bytes, query.limit),
    })
}

/// Returns the number of events to ask for, after `events` events had `bytes` bytes: as many as can
/// be handed on. At most four times as many as `before`, for the next ones may be longer.
fn ask(events: usize, bytes: usize, before: u32) -> u32 {
    let fitting = (BATCH_BYTES * events).checked_div(bytes);
    let fitting = u32::try_from(fitting.unwrap_or(PAGE as usize)).unwrap_or(PAGE);
    fitting.clamp(1, PAGE.min(before.saturating_mul(4)))
}

fn concerns(filter: &Query, thread: &ThreadId) -> bool {
    match &filter.thread {
        None => true,
        Some(root) if filter.subtree => thread.is_within(root),
        Some(only) => thread == only,
    }
}
