//! The replies that this server streams now, each as far as it came: a reader that comes in the middle
//! of one is shown its beginning. Never stored; bounded by the turns at work and the length of an answer.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

use super::hint::{Delta, Hint, Hinted};
use thinkd_words::id::{Seq, Space, ThreadId};

/// The replies of all spaces, the oldest first.
#[derive(Default)]
pub(super) struct Begun {
    // A plain mutex: held while text is copied, never across an await.
    spaces: Mutex<HashMap<Space, BTreeMap<Uuid, Reply>>>,
}

#[derive(Default)]
struct Reply {
    thread: ThreadId,
    text: String,
    /// The last event that its writer has read.
    after: Seq,
}

/// A reply with its beginning kept. Dropped, it is forgotten.
pub struct BegunReply {
    begun: Arc<Begun>,
    space: Space,
    event_id: Uuid,
}

impl Drop for BegunReply {
    fn drop(&mut self) {
        let mut spaces = self.begun.spaces.lock();
        if let Some(replies) = spaces.get_mut(&self.space) {
            replies.remove(&self.event_id);
            if replies.is_empty() {
                spaces.remove(&self.space);
            }
        }
    }
}

impl Begun {
    pub fn begin(self: &Arc<Self>, space: &Space, event_id: Uuid) -> BegunReply {
        let mut spaces = self.spaces.lock();
        let replies = spaces.entry(space.clone()).or_default();
        replies.insert(event_id, Reply::default());
        BegunReply {
            begun: self.clone(),
            space: space.clone(),
            event_id,
        }
    }

    /// Adds a piece to its reply.
    pub fn grow(&self, space: &Space, after: Seq, hint: &Hint) {
        let Hint::Delta(delta) = hint else {
            return;
        };
        let mut spaces = self.spaces.lock();
        let replies = spaces.get_mut(space);
        if let Some(reply) = replies.and_then(|replies| replies.get_mut(&delta.event_id)) {
            if reply.text.is_empty() {
                reply.thread = delta.thread.clone();
            }
            reply.text.push_str(&delta.text);
            reply.after = after;
        }
    }

    pub fn all(&self, space: &Space) -> Vec<Hinted> {
        let spaces = self.spaces.lock();
        let replies = spaces.get(space).into_iter().flatten();
        replies.filter_map(|(id, reply)| reply.hint(*id)).collect()
    }

    pub fn one(&self, space: &Space, event_id: &Uuid) -> Option<Hinted> {
        let spaces = self.spaces.lock();
        spaces.get(space)?.get(event_id)?.hint(*event_id)
    }
}

impl Reply {
    /// The reply as one piece; `None` before its first.
    fn hint(&self, event_id: Uuid) -> Option<Hinted> {
        (!self.text.is_empty()).then(|| Hinted {
            hint: Arc::new(Hint::Delta(Delta {
                thread: self.thread.clone(),
                event_id,
                at: 0,
                text: self.text.clone(),
            })),
            after: self.after,
        })
    }
}
