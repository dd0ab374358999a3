//! Tells followers what is in the log and was not told: what other servers committed, and commits of this one whose outcome nobody
//! heard. It looks when there is reason to, and now and then although there is none: a feed that is behind its log would look
//! to its followers like one where nothing happens.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::Error;
use super::append::shown;
use super::columns::Unreadable;
use super::feed::Feed;
use crate::event::Event;
use crate::id::{Seq, Space};
use crate::time::now;

/// How long a question to the database may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How often the log is looked at although nobody asked for it.
const POLL: Duration = Duration::from_secs(1);
/// How long to rest when the log cannot be read.
const REST: Duration = Duration::from_secs(1);
/// Between two looks: of what several servers say at nearly the same time all is read at once.
const GATHER: Duration = Duration::from_millis(5);
/// What is told so long after its time is late.
const LATE: Duration = Duration::from_secs(1);
/// Between two lines about that.
const SAY_EVERY: Duration = Duration::from_secs(10);
/// Events that are in the logs and that followers were not told of, at the last look.
const BEHIND: &str = "thinkd_feed_behind_events";
/// Events that were told late.
const LATE_EVENTS: &str = "thinkd_feed_late_events_total";

/// The next of a log's events.
pub(super) type Next = Result<Event, Unreadable>;

/// What is read of a database.
pub(super) trait Source: Send + 'static {
    /// Where the logs of these spaces end; those that have one.
    fn heads(&self, spaces: &[Space]) -> impl Future<Output = Result<Vec<(Space, Seq)>, Error>> + Send;
    /// The next events of a log, in order: a page of them.
    fn after(&self, space: &Space, seq: Seq) -> impl Future<Output = Result<Vec<Next>, Error>> + Send;
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
                    tracing::warn!(events = late, "followers were told late of what is in the log");
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

/// How many events were told late.
async fn look(source: &impl Source, feed: &Feed) -> Result<u64, Error> {
    let followed = feed.followed();
    let heads = if followed.is_empty() { Vec::new() } else { within(source.heads(&followed)).await? };
    let missing = |(space, head): &(Space, Seq)| feed.told(space).map_or(0, |told| (head - told).max(0));
    metrics::gauge!(BEHIND).set(heads.iter().map(missing).sum::<Seq>() as f64);
    let (mut late, mut failed) = (0, None);
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

/// A connection that is dead without saying so is given up.
async fn within<T>(asked: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match timeout(LIMIT, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(Error::Unavailable("the database does not answer".into())),
    }
}

async fn tell(source: &impl Source, feed: &Feed, space: &Space, head: Seq) -> Result<u64, Error> {
    // Where nothing was told yet, the last event is enough: it tells followers that they are behind.
    let before = feed.told(space);
    let (mut told, mut late) = (before.unwrap_or(head - 1), 0);
    while told < head {
        let events = within(source.after(space, told)).await?;
        let Some(last) = events.last() else { break };
        told = last.as_ref().map_or_else(|unreadable| unreadable.seq, |event| event.seq);
        let in_time = now().micros() - i64::try_from(LATE.as_micros()).unwrap_or(i64::MAX);
        late += events.iter().flatten().filter(|event| before.is_some() && event.ts.micros() < in_time).count() as u64;
        if !tell_of(feed, space, events)? {
            // The tail was begun anew meanwhile; the next look starts from there.
            break;
        }
    }
    Ok(late)
}

/// Tells of events in order. What cannot be read is said, once, and keeps nobody from what stands behind it. False: the tail has a
/// gap before them.
fn tell_of(feed: &Feed, space: &Space, events: Vec<Next>) -> Result<bool, Error> {
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
