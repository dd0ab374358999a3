//! Following a space's log from a cursor: pages from the store while behind, then the shared tail. No gap, no event twice.
//! A reader that takes nothing holds back nobody: there is no queue for it, only its cursor.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::event::Event;
use crate::id::{Seq, Space, ThreadId};
use crate::store::feed::{Follower, Hint, Hinted, Tail};
use crate::store::{self, Head, Order, Query, Shown, Store};

/// Events of one page from the store.
const PAGE: u32 = 100;
/// Events looked at in the tail at a time.
const STEP: usize = 64;
/// Bytes of events handed on at a time (one event may exceed it alone).
const BATCH_BYTES: usize = 256 << 10;
/// How often, and after what pause, a page is tried again when the store fails.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_secs(1);

/// What a follower sees.
pub enum Seen {
    /// Events that match, in order; `replay` when they were stored before the following began.
    Events {
        /// The events.
        events: Vec<Arc<Shown>>,
        /// Whether they are old.
        replay: bool,
    },
    /// The replay is over.
    CaughtUp,
    /// Something worth showing but not storing.
    Hint(Arc<Hint>),
}

/// One reader of a space.
pub struct Follow {
    store: Arc<dyn Store>,
    space: Space,
    filter: Query,
    follower: Follower,
    cursor: Seq,
    replay_to: Option<Seq>,
    page: Option<BoxFuture<'static, Result<Page, store::Error>>>,
    backlog: VecDeque<Event>,
    /// The cursor once the backlog is handed on.
    backlog_end: Seq,
    /// A hint that came before the events that it stands behind.
    early: Option<Hinted>,
}

struct Page {
    events: Vec<Event>,
    end: Seq,
}

impl Follow {
    /// Follows what `filter` asks for from now on; with `after`, what came after that first.
    /// Also says what the log's head is; an `after` beyond it is for the caller to refuse.
    pub async fn start(
        store: &Arc<dyn Store>,
        space: &Space,
        filter: Query,
        after: Option<Seq>,
    ) -> Result<(Self, Head), store::Error> {
        // First the feed, then the head: whatever is committed between the two is in the tail.
        let follower = store.feed().follow(space, filter.thread.as_ref());
        let head = store.head(space).await?;
        let cursor = after.unwrap_or(head.seq);
        let follow = Self {
            store: store.clone(),
            space: space.clone(),
            filter,
            follower,
            cursor,
            replay_to: after.map(|_| head.seq),
            page: None,
            backlog: VecDeque::new(),
            backlog_end: cursor,
            early: None,
        };
        Ok((follow, head))
    }

    /// Everything up to here was handed on, or is not asked for.
    pub fn cursor(&self) -> Seq {
        let is_live = self.replay_to.is_none() && self.page.is_none() && self.backlog.is_empty();
        if is_live { self.follower.passed(self.cursor) } else { self.cursor }
    }

    /// What comes next. Cancel safe.
    pub async fn next(&mut self) -> Result<Seen, store::Error> {
        loop {
            if !self.backlog.is_empty() {
                return Ok(self.hand_on());
            }
            if let Some(page) = &mut self.page {
                let page = page.await;
                self.page = None;
                self.take(page?);
                continue;
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
            self.early = self.follower.hint().now_or_never();
        }
        // A hint stands among the events where it was made: a piece of a reply behind the thoughts that led to it, before the reply.
        let due = self.early.as_ref().map(|early| early.after);
        if due.is_some_and(|due| due <= self.cursor) {
            return self.hint();
        }
        // Asked before the tail is: what is told in between is seen there.
        let is_due = due.is_some_and(|due| self.follower.reaches(due));
        match self.follower.after(self.cursor, STEP) {
            Tail::Behind => {
                self.page = Some(self.read_page(None));
                None
            }
            Tail::Events(mut events) => {
                events.retain(|shown| due.is_none_or(|due| shown.event.seq <= due));
                if events.is_empty() {
                    return if is_due { self.hint() } else { self.wait().await };
                }
                let events = self.select(events);
                (!events.is_empty()).then_some(Seen::Events { events, replay: false })
            }
        }
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

    /// Those that match, as many as are handed on at a time.
    fn select(&mut self, events: Vec<Arc<Shown>>) -> Vec<Arc<Shown>> {
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
                kept.push(shown);
            }
        }
        kept
    }

    fn read_page(&self, upto: Option<Seq>) -> BoxFuture<'static, Result<Page, store::Error>> {
        let (store, space) = (self.store.clone(), self.space.clone());
        let query = Query { after: Some(self.cursor), order: Order::Ascending, limit: PAGE, ..self.filter.clone() };
        Box::pin(async move {
            let mut tries = 1;
            loop {
                match read_page(&*store, &space, &query, upto).await {
                    Err(error) if tries < TRIES => tracing::warn!(%error, "a page for a follower failed; trying again"),
                    outcome => return outcome,
                }
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
        })
    }

    fn take(&mut self, page: Page) {
        self.backlog = page.events.into();
        self.backlog_end = page.end;
        if self.backlog.is_empty() {
            self.cursor = page.end;
        }
    }

    fn hand_on(&mut self) -> Seen {
        let mut bytes = 0;
        let mut events = Vec::new();
        while bytes < BATCH_BYTES
            && let Some(event) = self.backlog.pop_front()
        {
            // An event that was stored is one that can be written.
            let json = serde_json::to_string(&event).unwrap_or_default().into_boxed_str();
            bytes += json.len();
            self.cursor = event.seq;
            events.push(Arc::new(Shown { event, json }));
        }
        if self.backlog.is_empty() {
            self.cursor = self.backlog_end;
            self.backlog = VecDeque::new();
        }
        Seen::Events { events, replay: self.replay_to.is_some() }
    }

    fn wants(&self, hint: &Hint) -> bool {
        concerns(&self.filter, hint.thread())
    }
}

async fn read_page(store: &dyn Store, space: &Space, query: &Query, upto: Option<Seq>) -> Result<Page, store::Error> {
    let upto = match upto {
        Some(upto) => upto,
        None => store.head(space).await?.seq,
    };
    let query = Query { before: Some(upto + 1), ..query.clone() };
    let events = store.events(space, &query).await?;
    let full = events.len() >= PAGE as usize;
    let end = events.last().filter(|_| full).map_or(upto, |last| last.seq);
    Ok(Page { events, end })
}

fn concerns(filter: &Query, thread: &ThreadId) -> bool {
    match &filter.thread {
        None => true,
        Some(root) if filter.subtree => thread.is_within(root),
        Some(only) => thread == only,
    }
}
