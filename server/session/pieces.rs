//! The pieces of replies that a client was sent on its connection: it is sent every reply from its
//! beginning, and no piece twice, after lost hints and over subscriptions. A reply that was begun before
//! it came is shown to it when it subscribes.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use thinkd_log::feed::Feed;
use thinkd_log::hint::{Delta, Hint};
use thinkd_words::id::Space;

/// Most replies that are remembered; beyond it the oldest is forgotten.
const REPLIES_MAX: usize = 256;

/// See the module.
pub struct Pieces {
    feed: Arc<Feed>,
    space: Space,
    /// True after `subscribe`: replies that were begun before are shown, too.
    has_subscribed: bool,
    /// The number of Unicode scalars that were sent of each reply, from its beginning.
    sent: BTreeMap<Uuid, usize>,
}

impl Pieces {
    /// The pieces of a new connection to a space: none were sent.
    pub fn new(feed: Arc<Feed>, space: Space) -> Self {
        Self {
            feed,
            space,
            has_subscribed: false,
            sent: BTreeMap::new(),
        }
    }

    /// Shows replies that were begun before the connection from now on.
    pub fn subscribe(&mut self) {
        self.has_subscribed = true;
    }

    /// Returns the part of a hint that is yet to be sent, and takes it as sent. A piece behind a
    /// hole comes with all that is missing before it. If its reply is over, it does not come.
    pub fn unsent(&mut self, hint: Arc<Hint>) -> Option<Arc<Hint>> {
        let delta = match &*hint {
            Hint::Delta(delta) => delta,
            Hint::DeltaEnd(end) => {
                self.sent.remove(&end.event_id);
                return Some(hint);
            }
            _ => return Some(hint),
        };
        let event_id = delta.event_id;
        let at = delta.at;
        let sent = self.sent.get(&event_id).copied().unwrap_or(0);
        if at > sent && sent == 0 && !self.has_subscribed {
            return None;
        }
        // Behind a hole of a reply that is over comes nothing but its event.
        if at > sent {
            let whole = self.feed.begun_reply(&self.space, &event_id)?;
            return self.rest(whole.hint, sent);
        }
        if at < sent {
            return self.rest(hint, sent);
        }
        self.note(event_id, at + delta.text.chars().count());
        Some(hint)
    }

    /// Returns the part of a piece that lies beyond `sent`.
    fn rest(&mut self, hint: Arc<Hint>, sent: usize) -> Option<Arc<Hint>> {
        let Hint::Delta(delta) = &*hint else {
            return Some(hint);
        };
        let (known, _) = delta
            .text
            .char_indices()
            .nth(sent.saturating_sub(delta.at))?;
        let rest = Delta {
            thread: delta.thread.clone(),
            event_id: delta.event_id,
            at: sent,
            text: delta.text[known..].to_owned(),
        };
        self.note(rest.event_id, sent + rest.text.chars().count());
        Some(Arc::new(Hint::Delta(rest)))
    }

    fn note(&mut self, event_id: Uuid, end: usize) {
        self.sent.insert(event_id, end);
        if self.sent.len() > REPLIES_MAX {
            self.sent.pop_first();
        }
    }
}
