//! Tells followers of events in the log that they were not told of: commits of other servers, and
//! commits of this one with an unknown outcome. It looks when there is a reason to, and now and
//! then without one. To its followers, a feed that is behind its log would look like one where
//! nothing happens.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::columns::Unreadable;
use super::error::{StoreError, within};
use super::feed::Feed;
use super::shown::shown;
use thinkd_event::envelope::Event;
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::time::now;

/// Longest time of a question to the database.
const LIMIT: Duration = Duration::from_secs(10);
/// Interval between looks at the log that no caller asked for.
const POLL: Duration = Duration::from_secs(1);
/// Pause after the log could not be read.
const REST: Duration = Duration::from_secs(1);
/// Pause between two looks: all that several servers say at nearly the same time is read at once.
const GATHER: Duration = Duration::from_millis(5);
/// Delay after which an event is told late.
const LATE: Duration = Duration::from_secs(1);
/// Between two lines about that.
const SAY_EVERY: Duration = Duration::from_secs(10);
/// Events that are in the logs and that followers were not told of, at the last look.
const BEHIND: &str = "thinkd_feed_behind_events";
/// Events that were told late.
const LATE_EVENTS: &str = "thinkd_feed_late_events_total";

/// The next of a log's events.
pub(super) type Next = Result<Event, Unreadable>;

/// The reads of a database.
pub(super) trait Source: Send + 'static {
    /// Returns the ends of the logs of these spaces; of those that have one.
    fn heads(
        &self,
        spaces: &[Space],
    ) -> impl Future<Output = Result<Vec<(Space, Seq)>, StoreError>> + Send;
    /// The threads of the next events of a log, in order: a page of them, or as many of it as have names that can be read.
    fn threads_after(
        &self,
        space: &Space,
        seq: Seq,
    ) -> impl Future<Output = Result<Vec<(Seq, ThreadId)>, StoreError>> + Send;
    /// The next events of a log, in order: a page of them.
    fn after(
        &self,
        space: &Space,
        seq: Seq,
    ) -> impl Future<Output = Result<Vec<Next>, StoreError>> + Send;
}

/// Goes on until it is dropped.
pub(super) async fn run(source: impl Source, feed: Arc<Feed>) {
    let mut said = None;
    loop {
        // Asked or not: after a while it looks.
        let _ = timeout(POLL, feed.doubted()).await;
        match look(&source, &feed).await {
            Ok(late) if late > 0 => {
                metrics::counter!(LATE_EVENTS).increment(late);
                if said.is_none_or(|said: Instant| said.elapsed() > SAY_EVERY) {
                    said = Some(Instant::now());
                    tracing::warn!(
                        events = late,
                        "followers were told late of what is in the log"
                    );
                }
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "what followers were not told of cannot be read; trying again");
                sleep(REST).await;
            }
        }
        sleep(GATHER).await;
    }
}

/// Tells of the events that followers miss; returns the number of events that were told late.
async fn look(source: &impl Source, feed: &Feed) -> Result<u64, StoreError> {
    let followed = feed.followed();
    let heads = if followed.is_empty() {
        Vec::new()
    } else {
        within(LIMIT, source.heads(&followed)).await?
    };
    let missing =
        |(space, head): &(Space, Seq)| feed.told(space).map_or(0, |told| (head - told).max(0));
    metrics::gauge!(BEHIND).set(heads.iter().map(missing).sum::<Seq>() as f64);
    let mut late = 0;
    let mut failed = None;
    for (space, head) in &heads {
        // What cannot be read in one space keeps nobody else waiting.
        match tell(source, feed, space, *head).await {
            Ok(more) => late += more,
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => {
            metrics::gauge!(BEHIND).set(0.0);
            Ok(late)
        }
    }
}

async fn tell(
    source: &impl Source,
    feed: &Feed,
    space: &Space,
    head: Seq,
) -> Result<u64, StoreError> {
    // Where nothing was told yet, the last event is enough: it tells followers that they are behind.
    let before = feed.told(space);
    let mut told = before.unwrap_or(head - 1);
    let mut late = 0;
    while told < head {
        // Most of what other servers store nobody here listens for.
        if before.is_some() && !feed.is_heard_whole(space) {
            let threads = within(LIMIT, source.threads_after(space, told)).await?;
            let passes = |(seq, thread): &&(Seq, ThreadId)| feed.pass_over(space, thread, *seq);
            if let Some((seq, _)) = threads.iter().take_while(passes).last() {
                told = *seq;
                continue;
            }
        }
        let events = within(LIMIT, source.after(space, told)).await?;
        let Some(last) = events.last() else { break };
        told = last
            .as_ref()
            .map_or_else(|unreadable| unreadable.seq, |event| event.seq);
        let in_time = now().micros() - i64::try_from(LATE.as_micros()).unwrap_or(i64::MAX);
        let is_late = |event: &&Event| before.is_some() && event.ts.micros() < in_time;
        late += events.iter().flatten().filter(is_late).count() as u64;
        if !tell_of(feed, space, events)? {
            // The tail was begun anew meanwhile; the next look starts from there.
            break;
        }
    }
    Ok(late)
}

/// Tells of events in order. An event that cannot be read is reported, once, and does not hide
/// those behind it. False: the tail has a gap before them.
fn tell_of(feed: &Feed, space: &Space, events: Vec<Next>) -> Result<bool, StoreError> {
    let mut readable = Vec::new();
    for event in events {
        match event {
            Ok(event) => readable.push(shown(event)?),
            Err(Unreadable { seq, thread, why }) => {
                if !feed.committed(space, &std::mem::take(&mut readable)) {
                    return Ok(false);
                }
                if feed.told(space).is_none_or(|told| told < seq) {
                    tracing::warn!(%why, %space, seq, "an event cannot be read; followers are told what comes after it");
                    if !feed.step_over(space, &thread, seq) {
                        return Ok(false);
                    }
                }
            }
        }
    }
    Ok(feed.committed(space, &readable))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;
    use crate::feed::{Follower, Tail};
    use thinkd_event::draft::Draft;

    /// A log that another server writes: event n is of the n-th of these threads.
    struct Log {
        threads: Vec<&'static str>,
        /// The number of events that were read.
        read: AtomicUsize,
        /// A follower that comes while threads are asked for.
        comes: Option<Box<dyn Fn() + Send + Sync>>,
    }

    impl Log {
        fn of(threads: &[&'static str]) -> Self {
            Self {
                threads: threads.to_vec(),
                read: AtomicUsize::new(0),
                comes: None,
            }
        }

        fn from(&self, seq: Seq) -> Vec<(Seq, ThreadId)> {
            let threads = (1..).zip(&self.threads).filter(|(at, _)| *at > seq);
            threads
                .map(|(at, thread)| (at, ThreadId::parse(thread).unwrap()))
                .collect()
        }
    }

    impl Source for &'static Log {
        async fn heads(&self, spaces: &[Space]) -> Result<Vec<(Space, Seq)>, StoreError> {
            Ok(spaces
                .iter()
                .map(|space| (space.clone(), self.threads.len() as Seq))
                .collect())
        }

        async fn threads_after(
            &self,
            _: &Space,
            seq: Seq,
        ) -> Result<Vec<(Seq, ThreadId)>, StoreError> {
            let threads = self.from(seq);
            self.comes.iter().for_each(|comes| comes());
            Ok(threads)
        }

        async fn after(&self, _: &Space, seq: Seq) -> Result<Vec<Next>, StoreError> {
            let events = self.from(seq).into_iter().map(|(seq, thread)| {
                let draft = Draft::changed(&thread, "thread", "x", json!({}));
                Ok(Event {
                    seq,
                    ..draft.preview()
                })
            });
            let events = Vec::from_iter(events);
            self.read.fetch_add(events.len(), Ordering::Relaxed);
            Ok(events)
        }
    }

    /// A follower of a thread looks at the log when the tail begins: events that concern it may lie
    /// before that.
    #[tokio::test]
    async fn whoever_came_before_the_tail_began_is_woken_to_look_behind_it() {
        let log = leaked(Log::of(&["x", "a"]));
        let feed = Arc::new(Feed::default());
        let mut follower = follow(&feed, Some("x"));
        look(&log, &feed).await.unwrap();
        assert_eq!(
            feed.told(&Space::default()),
            Some(2),
            "the last one alone is told"
        );
        timeout(Duration::from_secs(5), follower.changed())
            .await
            .expect("it is woken");
        assert!(
            matches!(follower.after(0, 9), Tail::Behind),
            "and reads what it was not told"
        );
    }

    fn seqs(follower: &Follower, after: Seq) -> Vec<Seq> {
        let Tail::Events(events) = follower.after(after, 99) else {
            panic!("the tail reaches so far")
        };
        events.iter().map(|shown| shown.event.seq).collect()
    }

    fn follow(feed: &Arc<Feed>, thread: Option<&str>) -> Follower {
        feed.follow(
            &Space::default(),
            thread
                .map(|thread| ThreadId::parse(thread).unwrap())
                .as_ref(),
        )
    }

    /// The feed has been told of the first event.
    async fn told_of_one(log: &'static Log) -> (Arc<Feed>, Follower) {
        let feed = Arc::new(Feed::default());
        let follower = follow(&feed, Some("x"));
        let first: &'static Log = Box::leak(Box::new(Log::of(&log.threads[..1])));
        look(&first, &feed).await.unwrap();
        (feed, follower)
    }

    fn leaked(log: Log) -> &'static Log {
        Box::leak(Box::new(log))
    }

    #[tokio::test]
    async fn what_nobody_listens_for_is_not_read_and_what_comes_after_it_is_told() {
        let log = leaked(Log::of(&["x", "a", "b", "a.x", "a"]));
        let (feed, follower) = told_of_one(log).await;
        look(&log, &feed).await.unwrap();
        assert_eq!(
            (
                feed.told(&Space::default()),
                log.read.load(Ordering::Relaxed)
            ),
            (Some(5), 0)
        );
        let more = leaked(Log::of(&["x", "a", "b", "a.x", "a", "b", "x", "a", "x.y"]));
        look(&more, &feed).await.unwrap();
        assert_eq!(
            more.read.load(Ordering::Relaxed),
            3,
            "from the first that somebody listens for"
        );
        assert_eq!(seqs(&follower, 1), [7, 9]);
    }

    #[tokio::test]
    async fn whoever_follows_the_space_is_told_of_everything() {
        let log = leaked(Log::of(&["x", "a", "b"]));
        let (feed, _follower) = told_of_one(log).await;
        let all = follow(&feed, None);
        look(&log, &feed).await.unwrap();
        assert_eq!(seqs(&all, 1), [2, 3]);
    }

    #[tokio::test]
    async fn who_comes_while_it_is_looked_whom_events_concern_misses_none() {
        let mut log = Log::of(&["x", "a", "b", "a", "b"]);
        let (feed, _follower) = told_of_one(leaked(Log::of(&log.threads))).await;
        let came = Arc::new(std::sync::Mutex::new(Vec::new()));
        log.comes = Some(Box::new({
            let feed = feed.clone();
            let came = came.clone();
            move || came.lock().unwrap().push(follow(&feed, Some("b")))
        }));
        look(&leaked(log), &feed).await.unwrap();
        let came = came.lock().unwrap();
        assert_eq!(seqs(&came[0], 1), [3, 5]);
    }
}
