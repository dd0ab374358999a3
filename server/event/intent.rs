//! An intent is an effect that a turn has at its end: a message, a contact, a wait, the end of the thread. The result of a tool call keeps it
//! (`payload.intent`), so that a turn that is resumed still has it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::draft::Draft;
use thinkd_words::id::{Name, ThreadId};

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Intent {
    /// A message to each of these.
    Send {
        /// The recipients.
        to: Vec<ThreadId>,
        /// The words.
        text: String,
    },
    /// A new contact, or a known one with another thread or description.
    Connect {
        /// Its name.
        name: Name,
        /// The thread.
        thread: ThreadId,
        /// The work, wants and offers of the thread.
        description: String,
    },
    /// A contact less.
    Disconnect {
        /// The contact.
        name: Name,
    },
    /// No turn before a message.
    Wait {
        /// The thread it waits for; absent: any.
        from: Option<ThreadId>,
        /// The name that the thread has for it.
        name: Option<String>,
        /// For so many milliseconds at most.
        ms: Option<u64>,
    },
    /// The next turn at once.
    GoOn,
    /// The thread ends.
    Terminate {
        /// Why; its last words to its parent.
        reason: String,
    },
    /// In sub-steps: there is nothing more to be sent.
    SendsDone,
    /// In sub-steps: no contact is to be added or removed any more.
    ContactsDone,
    /// In sub-steps: the operation to go on with.
    Focus {
        /// The operation.
        operation: Operation,
    },
}

/// What a thinking step is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Sending messages.
    Sends,
    /// Changing contacts.
    Contacts,
    /// Whether to wait.
    Wait,
}

impl Draft {
    /// The result, with the intent of its turn since, and the number of messages that it makes.
    #[must_use]
    pub fn intending(self, intent: Option<Value>, sent: u64) -> Self {
        let draft = match intent {
            Some(intent) => self.with("intent", intent),
            None => self,
        };
        if sent > 0 {
            draft.with("sent", sent)
        } else {
            draft
        }
    }

    /// The same result, of an intent that is carried out beside it, and so not once more at the
    /// turn's end.
    #[must_use]
    pub fn intending_no_more(mut self, thread: &ThreadId) -> Self {
        if self
            .preview_intent()
            .is_some_and(|intent| !intent.carried_out(thread).is_empty())
        {
            self.payload.remove("intent");
        }
        self
    }
}

impl Intent {
    /// The events that carry it out, where events do: messages and changes of contacts.
    pub fn carried_out(&self, thread: &ThreadId) -> Vec<Draft> {
        match self {
            Self::Send { to, text } => to
                .iter()
                .map(|to| Draft::message(to, thread, text))
                .collect(),
            Self::Connect {
                name,
                thread: target,
                description,
            } => {
                vec![Draft::contact(thread, name, target, description)]
            }
            Self::Disconnect { name } => vec![Draft::changed(
                thread,
                "contact",
                name.as_str(),
                Value::Null,
            )],
            Self::Wait { .. }
            | Self::GoOn
            | Self::Terminate { .. }
            | Self::SendsDone
            | Self::ContactsDone
            | Self::Focus { .. } => Vec::new(),
        }
    }

    /// As a payload has it.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
