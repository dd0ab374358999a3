//! When a mission rests: as soon as all that it could do waits for people. Then its lease is given
//! back, and nothing is held for it until people have said something.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use uuid::Uuid;

use thinkd_event::condition::Condition;

/// Number of flows of a mission at work, and the conditions that the others wait for; cheap to
/// clone.
#[derive(Clone, Default)]
pub(super) struct Rest(Arc<watch::Sender<State>>);

#[derive(Debug, Default)]
struct State {
    working: isize,
    /// By request: the conditions under which people are still to be waited for.
    awaited: BTreeMap<Uuid, Vec<Condition>>,
}

/// As long as it is there, one flow more is at work, or one less: it waits for people, or for
/// others of the mission.
pub(super) struct Counted {
    rest: Rest,
    by: isize,
    request: Option<Uuid>,
}

impl Rest {
    /// A flow begins.
    pub fn at_work(&self) -> Counted {
        self.counted(1, None)
    }

    /// The flow that says this waits for others.
    pub fn waits_for_others(&self) -> Counted {
        self.counted(-1, None)
    }

    /// Counts a flow as waiting for people's answer to a request, as long as all of this holds.
    pub fn waits_for_people(&self, request: Uuid, stands: Vec<Condition>) -> Counted {
        self.counted(-1, Some((request, stands)))
    }

    fn counted(&self, by: isize, awaited: Option<(Uuid, Vec<Condition>)>) -> Counted {
        let rest = self.clone();
        let request = awaited.as_ref().map(|(request, _)| *request);
        self.0.send_modify(|state| {
            state.working += by;
            state.awaited.extend(awaited);
        });
        Counted { rest, by, request }
    }

    /// Waits until all flows that are left wait for people. Returns the conditions under which the
    /// mission rests.
    pub async fn all_wait_for_people(&self) -> Vec<Condition> {
        let mut state = self.0.subscribe();
        let all_wait = |state: &State| state.working == 0 && !state.awaited.is_empty();
        let stands = |state: &State| state.awaited.values().flatten().cloned().collect();
        let rests = state.wait_for(all_wait).await;
        // The sender lives as long as this.
        rests.map(|state| stands(&state)).unwrap_or_default()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.rest.0.send_modify(|state| {
            state.working -= self.by;
            if let Some(request) = &self.request {
                state.awaited.remove(request);
            }
        });
    }
}
