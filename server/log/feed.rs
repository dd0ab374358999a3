//! The feed: tells followers after a commit. One bounded tail of committed events a space, shared;
//! a reader is a cursor into it and pages from the store when it is behind. Readers of one thread
//! share a listener: they sleep while other threads talk. Hints (deltas, status) ride beside: never
//! stored, dropped for a reader that does not keep up.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast, watch};
use uuid::Uuid;

use super::begun::{Begun, BegunReply};
use super::hint::{Hint, Hinted};
use super::shown::Shown;
use thinkd_words::id::{Seq, Space, ThreadId};

/// The answer of a tail to a reader.
#[derive(Debug)]
pub enum Tail {
    /// All events after the reader's position, in order, possibly none.
    Events(Vec<Arc<Shown>>),
    /// The tail begins later: page from the store, then ask again.
    Behind,
}

/// Most events a tail keeps.
const TAIL_EVENTS: usize = 1024;
/// Most bytes of JSON a tail keeps (one event may exceed it alone).
const TAIL_BYTES: usize = 4 << 20;
/// Hints a slow reader may be behind before it loses the oldest: of a whole space, of a thread.
const HINTS: (usize, usize) = (256, 64);

/// Tells followers of a space of the events that were committed to it. A space without followers
/// costs nothing.
#[derive(Default)]
pub struct Feed {
    // A plain mutex: held for a map look-up, never across an await.
    spaces: Mutex<HashMap<Space, Channel>>,
    /// There may be more in a log than was told.
    doubted: Notify,
    begun: Arc<Begun>,
}

// A plain mutex: held while a handful of pointers are copied, never across an await.
type Channel = Arc<Mutex<FeedHead>>;

/// The events that followers were told of.
#[derive(Default)]
struct FeedHead {
    /// The last ones, without a gap; none where one cannot be read.
    events: VecDeque<Option<Arc<Shown>>>,
    bytes: usize,
    last: Option<Seq>,
    /// The listeners by their subject: a thread and all below it, or (`None`) everything.
    listeners: HashMap<Option<ThreadId>, Listener>,
}

/// The part of the tail for followers of the same subject.
struct Listener {
    /// Everything of concern after this is among `seqs`; `None`: nothing was told since the first of them came.
    since: Option<Seq>,
    /// The events of concern that are in the tail.
    seqs: VecDeque<Seq>,
    head: watch::Sender<Seq>,
    hints: broadcast::Sender<Hinted>,
}

impl Listener {
    fn new(since: Option<Seq>, hints: usize) -> Self {
        let ((head, _), (hints, _)) = (watch::channel(0), broadcast::channel(hints));
        Self {
            since,
            seqs: VecDeque::new(),
            head,
            hints,
        }
    }
}

/// The listeners that an event or hint of a thread concerns.
fn concerned(thread: &ThreadId) -> impl Iterator<Item = Option<ThreadId>> {
    [None, Some(thread.clone())]
        .into_iter()
        .chain(thread.ancestors().map(Some))
}

impl FeedHead {
    /// Adds an event; listeners that hear the first of theirs from `first` on are put to those to be woken.
    fn push(&mut self, shown: Arc<Shown>, first: Seq, woken: &mut Vec<watch::Sender<Seq>>) {
        let seq = shown.event.seq;
        self.begin(seq - 1, woken);
        self.last = Some(seq);
        for key in concerned(&shown.event.thread) {
            if let Some(listener) = self.listeners.get_mut(&key) {
                if listener.seqs.back().is_none_or(|last| *last < first) {
                    woken.push(listener.head.clone());
                }
                listener.seqs.push_back(seq);
            }
        }
        self.bytes += shown.json.len();
        self.keep(Some(shown));
    }

    fn keep(&mut self, next: Option<Arc<Shown>>) {
        self.events.push_back(next);
        while self.events.len() > 1 && (self.events.len() > TAIL_EVENTS || self.bytes > TAIL_BYTES)
        {
            self.forget_oldest();
        }
    }

    /// Begins the tail; does nothing if it has begun. Every follower is woken to look behind it:
    /// events committed between its coming and this are told to no follower.
    fn begin(&mut self, since: Seq, woken: &mut Vec<watch::Sender<Seq>>) {
        if self.last.is_none() {
            for listener in self.listeners.values_mut() {
                listener.since = Some(since);
                woken.push(listener.head.clone());
            }
        }
    }

    /// Steps over an event that concerns no follower, or cannot be read: later events are told.
    fn step_over(&mut self, seq: Seq, woken: &mut Vec<watch::Sender<Seq>>) {
        self.begin(seq, woken);
        self.last = Some(seq);
        self.keep(None);
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.events.pop_front().flatten() else {
            return;
        };
        self.bytes -= oldest.json.len();
        let seq = oldest.event.seq;
        for key in concerned(&oldest.event.thread) {
            let listener = self.listeners.get_mut(&key);
            if let Some(listener) = listener.filter(|it| it.seqs.front() == Some(&seq)) {
                listener.seqs.pop_front();
                listener.since = Some(seq);
            }
        }
    }

    /// The tail has no gaps: where an event is follows from the difference.
    fn at(&self, seq: Seq) -> Option<&Arc<Shown>> {
        let behind = usize::try_from(self.last? - seq).ok()?;
        let at = self.events.len().checked_sub(behind + 1)?;
        self.events.get(at)?.as_ref()
    }
}

fn wake(listeners: Vec<watch::Sender<Seq>>, last: Seq) {
    for head in listeners {
        head.send_replace(last);
    }
}

impl Feed {
    fn channel(&self, space: &Space) -> Option<Channel> {
        self.spaces.lock().get(space).cloned()
    }

    /// Tells of committed events of one space, in order. Known ones are skipped. False: events
    /// between those known and these are missing, committed by another server or with an unknown
    /// outcome. Events after the gap are told once the missing ones are read.
    pub fn committed(&self, space: &Space, events: &[Arc<Shown>]) -> bool {
        let Some(channel) = self.channel(space) else {
            return true;
        };
        let mut told = channel.lock();
        let first = told.last.map_or(0, |last| last + 1);
        let mut woken = Vec::new();
        let mut is_whole = true;
        for shown in events.iter().filter(|shown| shown.event.seq >= first) {
            is_whole = told.last.is_none_or(|last| shown.event.seq == last + 1);
            if !is_whole {
                break;
            }
            told.push(shown.clone(), first, &mut woken);
        }
        let last = told.last.unwrap_or(0);
        // Nobody is woken to wait for the lock.
        drop(told);
        wake(woken, last);
        if !is_whole {
            self.doubt();
        }
        is_whole
    }

    /// Steps over an event that stands next and cannot be read, and tells its followers so. False:
    /// it is not the next one.
    pub(super) fn step_over(&self, space: &Space, thread: &ThreadId, seq: Seq) -> bool {
        let Some(channel) = self.channel(space) else {
            return true;
        };
        let mut woken = Vec::new();
        {
            let mut told = channel.lock();
            if told.last.is_some_and(|last| last + 1 != seq) {
                return false;
            }
            told.step_over(seq, &mut woken);
        }
        wake(woken, seq);
        self.hint(space, seq, Hint::unreadable(thread.clone(), seq));
        true
    }

    /// Returns true if a follower follows all of a space.
    pub(super) fn is_heard_whole(&self, space: &Space) -> bool {
        let channel = self.channel(space);
        channel.is_some_and(|channel| channel.lock().listeners.contains_key(&None))
    }

    /// Passes over an event that stands next and has no listener here: it need not be read. False:
    /// it has a listener, or is not the next one.
    pub(super) fn pass_over(&self, space: &Space, thread: &ThreadId, seq: Seq) -> bool {
        let Some(channel) = self.channel(space) else {
            return false;
        };
        let mut told = channel.lock();
        let is_next = told.last.is_some_and(|last| last + 1 == seq);
        let passes = is_next && !concerned(thread).any(|key| told.listeners.contains_key(&key));
        if passes {
            // The tail has begun: nobody is woken.
            told.step_over(seq, &mut Vec::new());
        }
        passes
    }

    /// Has the logs looked at: there may be more in them than was told.
    pub fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// Waits for a reason to look. For one task.
    pub async fn doubted(&self) {
        self.doubted.notified().await;
    }

    /// Returns the last seq that the followers of a space were told of; `None` where there are no
    /// followers or nothing came yet.
    pub fn told(&self, space: &Space) -> Option<Seq> {
        let channel = self.channel(space)?;
        let told = channel.lock();
        told.last
    }

    /// Returns the spaces that have followers.
    pub fn followed(&self) -> Vec<Space> {
        self.spaces.lock().keys().cloned().collect()
    }

    /// Passes a hint to the present followers of its thread, or of the space. `known` is the last
    /// event that its maker has read; another server may have stored it, so that the followers here
    /// are yet to be told of it.
    pub fn hint(&self, space: &Space, known: Seq, hint: Hint) {
        // Before it is sent: a piece that a reader has got is in the beginning that it asks for.
        self.begun.grow(space, known, &hint);
        let Some(channel) = self.channel(space) else {
            return;
        };
        let told = channel.lock();
        let hinted = Hinted {
            hint: Arc::new(hint),
            after: told.last.unwrap_or(0).max(known),
        };
        for key in concerned(hinted.hint.thread()) {
            if let Some(listener) = told.listeners.get(&key) {
                // No receiver, no hint: that is what a hint is.
                let _ = listener.hints.send(hinted.clone());
            }
        }
    }

    /// Keeps the beginning of a reply for followers that come while it is streamed, until the
    /// returned value is dropped.
    pub fn begin(&self, space: &Space, event_id: Uuid) -> BegunReply {
        self.begun.begin(space, event_id)
    }

    /// The replies that are streamed in a space, each as one piece from its beginning as far as it came.
    pub fn begun(&self, space: &Space) -> Vec<Hinted> {
        self.begun.all(space)
    }

    /// A reply from its beginning as far as it came; `None` where it is not streamed here, or not any more.
    pub fn begun_reply(&self, space: &Space, event_id: &Uuid) -> Option<Hinted> {
        self.begun.one(space, event_id)
    }

    /// Follows a space from now on, or of it only a thread and all below. Follow first, then read the store, then ask `after`:
    /// nothing is missed.
    pub fn follow(self: &Arc<Self>, space: &Space, thread: Option<&ThreadId>) -> Follower {
        let mut spaces = self.spaces.lock();
        let channel = spaces.entry(space.clone()).or_default().clone();
        let mut told = channel.lock();
        let since = told.last;
        let hints = if thread.is_none() { HINTS.0 } else { HINTS.1 };
        let listener = told
            .listeners
            .entry(thread.cloned())
            .or_insert_with(|| Listener::new(since, hints));
        let head = listener.head.subscribe();
        let hints = listener.hints.subscribe();
        drop(told);
        Follower {
            head,
            hints,
            channel,
            space: space.clone(),
            thread: thread.cloned(),
            feed: self.clone(),
        }
    }
}

/// A reader of one space's commits, or of a thread's.
pub struct Follower {
    feed: Arc<Feed>,
    space: Space,
    thread: Option<ThreadId>,
    channel: Channel,
    head: watch::Receiver<Seq>,
    hints: broadcast::Receiver<Hinted>,
}

impl Follower {
    /// Returns the events of concern that were committed after `seq`, as far as the tail reaches;
    /// at most `limit` events.
    pub fn after(&self, seq: Seq, limit: usize) -> Tail {
        let told = self.channel.lock();
        let Some(listener) = told.listeners.get(&self.thread) else {
            return Tail::Events(Vec::new());
        };
        match listener.since {
            None => Tail::Events(Vec::new()),
            Some(since) if since > seq => Tail::Behind,
            Some(_) => {
                let seqs = &listener.seqs;
                let from = seqs.partition_point(|of_concern| *of_concern <= seq);
                let seqs = seqs.range(from..).take(limit);
                Tail::Events(seqs.filter_map(|seq| told.at(*seq).cloned()).collect())
            }
        }
    }

    /// Returns the position of a reader that has read everything of concern up to `seq`: nothing of
    /// concern lies between.
    pub fn passed(&self, seq: Seq) -> Seq {
        let told = self.channel.lock();
        let Some(listener) = told.listeners.get(&self.thread) else {
            return seq;
        };
        let is_complete = listener.since.is_some_and(|since| since <= seq);
        let has_more = listener.seqs.back().is_some_and(|last| *last > seq);
        if is_complete && !has_more {
            told.last.unwrap_or(seq).max(seq)
        } else {
            seq
        }
    }

    /// Returns true if everything up to `seq` was told.
    pub fn reaches(&self, seq: Seq) -> bool {
        let last = self.channel.lock().last;
        last.is_some_and(|last| last >= seq)
    }

    /// Waits until something of concern was committed since the last call. Cancel safe.
    pub async fn changed(&mut self) {
        // The sender stays as long as its followers, so this cannot fail.
        let _ = self.head.changed().await;
    }

    /// The next hint; lost ones are skipped. Cancel safe.
    pub async fn hint(&mut self) -> Hinted {
        heard(&mut self.hints).await
    }

    /// Waits for a commit (`None`) or a hint, whichever comes first. Cancel safe.
    pub async fn next(&mut self) -> Option<Hinted> {
        let Self { head, hints, .. } = self;
        tokio::select! {
            _ = head.changed() => None,
            hint = heard(hints) => Some(hint),
        }
    }
}

async fn heard(hints: &mut broadcast::Receiver<Hinted>) -> Hinted {
    loop {
        match hints.recv().await {
            Ok(hint) => return hint,
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            // The sender stays as long as its followers.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut spaces = self.feed.spaces.lock();
        let mut told = self.channel.lock();
        // This follower's own receiver still counts.
        let listener = told.listeners.get(&self.thread);
        if listener.is_some_and(|listener| listener.head.receiver_count() <= 1) {
            told.listeners.remove(&self.thread);
        }
        if told.listeners.is_empty() {
            spaces.remove(&self.space);
        }
    }
}
