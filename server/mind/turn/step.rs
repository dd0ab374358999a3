//! A step is the state of a turn in sub-steps: a fold over its intents. When every field is filled, the step is complete.

use serde::Serialize;

use thinkd_event::intent::{Intent, Operation};
use thinkd_words::id::{Name, ThreadId};

/// The state of a step. It begins with nothing decided.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Step {
    /// The operation that is under way, if the thread said so.
    pub operation: Option<Operation>,
    /// Messages to be sent.
    pub sends: Vec<Send>,
    /// No more messages are to come.
    pub sends_done: bool,
    /// Contacts to add.
    pub connect: Vec<Name>,
    /// Contacts to remove.
    pub disconnect: Vec<Name>,
    /// No more changes of contacts are to come.
    pub contacts_done: bool,
    /// The choice to wait before the next step or not, and for which thread.
    pub wait: Option<Wait>,
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Send {
    /// The recipients.
    pub to: Vec<ThreadId>,
    /// Its text.
    pub text: String,
}

/// The course after the step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wait {
    /// False: the next step, at once.
    pub wait: bool,
    /// Only for this thread.
    pub from: Option<ThreadId>,
}

impl Step {
    /// One more intention.
    pub fn take(&mut self, intent: &Intent) {
        match intent {
            Intent::Send { to, text } => self.sends.push(Send {
                to: to.clone(),
                text: text.clone(),
            }),
            Intent::Connect { name, .. } => self.connect.push(name.clone()),
            Intent::Disconnect { name } => self.disconnect.push(name.clone()),
            Intent::Wait { from, .. } => {
                self.wait = Some(Wait {
                    wait: true,
                    from: from.clone(),
                });
            }
            Intent::GoOn => {
                self.wait = Some(Wait {
                    wait: false,
                    from: None,
                });
            }
            Intent::SendsDone => self.sends_done = true,
            Intent::ContactsDone => self.contacts_done = true,
            Intent::Focus { operation } => self.operation = Some(*operation),
            Intent::Terminate { .. } => {}
        }
    }

    /// Returns true if everything is decided.
    pub fn is_complete(&self) -> bool {
        self.sends_done && self.contacts_done && self.wait.is_some()
    }

    /// Returns the operation to ask for next: the one that the thread wants, or else the first that
    /// is open.
    pub fn asks_for(&self) -> Operation {
        let is_open = |operation: &Operation| match operation {
            Operation::Sends => !self.sends_done,
            Operation::Contacts => !self.contacts_done,
            Operation::Wait => self.wait.is_none(),
        };
        let all = [Operation::Sends, Operation::Contacts, Operation::Wait];
        let mut asked = self.operation.into_iter().chain(all);
        asked.find(is_open).unwrap_or(Operation::Wait)
    }
}
