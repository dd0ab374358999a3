//! When a mission rests: as soon as all that it could do waits for people. Then its lease is given back, and nothing is held for it until people have
//! said something.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::desk::Desk;
use crate::event::condition::Condition;

/// How many flows of a mission are at work, and what the others wait for.
#[derive(Debug, Default)]
pub(super) struct Rest {
    working: usize,
    /// By request: what has to be so for people still to be waited for.
    awaited: BTreeMap<Uuid, Vec<Condition>>,
}

/// As long as it is there, a flow is at work.
pub(super) struct AtWork(Desk);

/// As long as it is there, a flow that is at work waits: for people, or for others of the mission.
pub(super) struct Waits {
    desk: Desk,
    request: Option<Uuid>,
}

impl Desk {
    /// A flow begins.
    pub fn at_work(&self) -> AtWork {
        self.rest().send_modify(|rest| rest.working += 1);
        AtWork(self.clone())
    }

    /// The flow that says it waits for others.
    pub fn waits_for_others(&self) -> Waits {
        self.rest().send_modify(|rest| rest.working -= 1);
        Waits { desk: self.clone(), request: None }
    }

    /// The flow that says it waits for what people say to a request, as long as all of this is so.
    pub fn waits_for_people(&self, request: Uuid, stands: Vec<Condition>) -> Waits {
        self.rest().send_modify(|rest| {
            rest.working -= 1;
            rest.awaited.insert(request, stands);
        });
        Waits { desk: self.clone(), request: Some(request) }
    }

    /// Waits until all that is left to do waits for people. Returns what has to be so for the mission to rest.
    pub async fn all_wait_for_people(&self) -> Vec<Condition> {
        let mut rest = self.rest().subscribe();
        let rests = rest.wait_for(|rest| rest.working == 0 && !rest.awaited.is_empty()).await;
        // The sender lives as long as the desk.
        rests.map(|rest| rest.awaited.values().flatten().cloned().collect()).unwrap_or_default()
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.rest().send_modify(|rest| rest.working -= 1);
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.desk.rest().send_modify(|rest| {
            rest.working += 1;
            self.request.iter().for_each(|request| drop(rest.awaited.remove(request)));
        });
    }
}
