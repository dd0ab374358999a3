//! The decision's model call: the prompt view that it gets, and its reply streamed to readers while
//! it arrives. The use of the answer is the business of the turn.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::call::{Ended, ModelClient, PromptView, Question, Ready, Scope, TurnPlace, Until};
use thinkd_event::intent::Operation;
use thinkd_event::process::Watch;
use thinkd_log::error::StoreError;
use thinkd_log::query::Show;
use thinkd_model::provider::{Piece, Tier, ToolChoice, ToolSpecs};
use thinkd_thread::history::{Entry, one_line, positions};
use thinkd_tools::toolbox::Toolbox;
use thinkd_words::failure::Who;
use thinkd_words::id::Seq;
use thinkd_words::text::Text;

pub mod arriving;
mod streamed;

pub use streamed::{Streamed, partial};

/// The tool that speaks to the user.
pub const REPLY: &str = "reply";

/// The inputs of a decision.
pub struct Deciding {
    /// The client that asks the model.
    pub client: Arc<ModelClient>,
    /// The decision's tools, as they are now.
    pub tools: Toolbox,
    /// The place.
    pub place: TurnPlace,
    /// The events that it is about.
    pub batch: Vec<Seq>,
    /// The events that joined these.
    pub joined: Vec<Seq>,
    /// Events that come to the thread behind this have a turn of their own, unless they joined.
    pub up_to: Seq,
    /// The number of the call in the turn, from 0.
    pub round: u64,
    /// The kind of decision.
    pub manner: Manner,
    /// In the thinking language: the thread's name for itself. The language is taught, and no tools
    /// are offered.
    pub language: Option<String>,
    /// More text for this thread's decision.
    pub prompt: Option<String>,
    /// The tier of its model.
    pub tier: Tier,
    /// So many calls of its answer may run: of replies beyond them nothing is shown.
    pub calls: u64,
    /// The tools of which it calls one; none: it does as it sees fit.
    pub must: Vec<String>,
    /// Plain words would be its answer.
    pub words_answer: bool,
    /// When it must have answered.
    pub until: Until,
    /// Ends it.
    pub stop: CancellationToken,
}

/// The kind of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Manner {
    /// Of a thread that talks with people.
    Conversation {
        /// Its last answer did nothing: only `reply` is open to it.
        repair: bool,
        /// The last call of a turn that has not replied: only `reply` is open to it.
        last: bool,
    },
    /// Of a thread that thinks by itself.
    Process {
        /// Whom it can send to, a line each.
        contacts: String,
    },
    /// One sub-step of such a thread.
    Step {
        /// Whom it can send to, a line each.
        contacts: String,
        /// The operation that is asked for.
        operation: Operation,
        /// The step as decided so far, as JSON.
        state: String,
    },
}

impl Manner {
    fn is_repair(&self) -> bool {
        matches!(self, Self::Conversation { repair: true, .. })
    }

    fn is_last(&self) -> bool {
        matches!(self, Self::Conversation { last: true, .. })
    }
}

/// Asks the decision, with the log as it is now.
pub async fn decide(
    deciding: &Deciding,
    streamed: &mut Streamed,
) -> Result<(Ready, Ended), StoreError> {
    let client = &deciding.client;
    let place = &deciding.place;
    // What comes later waits for the next turn. A conversation may know that it is there; a process takes its batch as it is.
    let until = match &deciding.manner {
        Manner::Conversation { .. } => None,
        _ => Some(deciding.up_to),
    };
    let scope = Scope {
        show: Show::Visible,
        until,
        about: Scope::about(&deciding.batch),
    };
    let mut view = Arc::new(client.view(place, scope).await?);
    let can_reply = deciding.tools.get(REPLY).is_some();
    let shown = if can_reply { deciding.calls } else { 0 };
    let read = view.entries.last().map_or(0, |entry| entry.seq);
    let model = || client.model_of(place, Who::Decision, deciding.tier);
    let words = deciding.words_answer && client.plain_words().answers_in_words(&model());
    streamed.begin(read, usize::try_from(shown).unwrap_or(usize::MAX), words);
    let asks = |view: &PromptView| question(deciding, view);
    let mut shows = |piece: &Piece| streamed.take(piece);
    let until = deciding.until;
    let stop = &deciding.stop;
    let asked = client.ask_about(place, &mut view, asks, until, stop, &mut shows);
    asked.await
}

fn question(deciding: &Deciding, view: &PromptView) -> Question {
    let prompts = deciding.client.prompts();
    let repair = deciding.manner.is_repair();
    let about = [&*deciding.batch, &*deciding.joined].concat();
    let mut values = vec![value("batch", &positions(&about))];
    let (system, tail) = match &deciding.manner {
        Manner::Conversation { .. } => {
            values.push(value("meanwhile", &meanwhile(deciding, view)));
            let tail = match (repair, deciding.language.is_some()) {
                (false, false) if deciding.manner.is_last() => &prompts.decision_last,
                (false, false) => &prompts.decision_turn,
                (true, false) => &prompts.decision_repair,
                (false, true) => &prompts.language_turn,
                (true, true) => &prompts.language_repair,
            };
            (prompts.decision.source(), tail)
        }
        Manner::Process { contacts } => {
            values.push(value("contacts", contacts));
            (prompts.process.source(), &prompts.process_turn)
        }
        Manner::Step {
            contacts,
            operation,
            state,
        } => {
            let (tail, contacts) = match operation {
                Operation::Sends => (&prompts.step_sends, &**contacts),
                Operation::Contacts => (&prompts.step_contacts, &**contacts),
                Operation::Wait => (&prompts.step_wait, ""),
            };
            values.extend([value("contacts", contacts), value("state", state)]);
            (prompts.process.source(), tail)
        }
    };
    let reminders = reminders(deciding, view);
    values.extend((!reminders.is_empty()).then(|| value("reminders", &reminders)));
    let speaks = deciding.language.is_some();
    let tools = match speaks {
        true => ToolSpecs::new(Vec::new()),
        false => deciding.tools.offered(&view.row.state.open),
    };
    let names = tools.list.iter().map(|tool| tool.name.as_str());
    let said = deciding.tools.said_of(names);
    let more = match &deciding.language {
        Some(own) => prompts.language.fill(&[("own", own)]),
        None => said,
    };
    let system = match more.is_empty() && !speaks {
        true => system.clone(),
        false => Text::new(format!("{}\n\n{more}", system.as_str())),
    };
    let must_reply = (repair || deciding.manner.is_last()) && !speaks;
    Question {
        who: Who::Decision,
        purpose: if repair { "repair" } else { "decide" },
        round: deciding.round,
        system,
        tail: tail.clone(),
        values,
        prompt: deciding.prompt.clone(),
        own: Vec::new(),
        tools,
        choice: if must_reply {
            ToolChoice::Only(vec![REPLY.to_owned()])
        } else if deciding.must.is_empty() || speaks {
            ToolChoice::Auto
        } else {
            ToolChoice::Only(deciding.must.clone())
        },
        tier: deciding.tier,
    }
}

fn value(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

/// Returns reminders of the watches with an event that has come, until they are closed.
fn reminders(deciding: &Deciding, view: &PromptView) -> String {
    let watches = view.row.state.watches.iter();
    let raised = watches.filter(|(_, watch)| watch.raised);
    let reminder = &deciding.client.prompts().watch_reminder;
    let told = |(id, watch): (&String, &Watch)| {
        let id = one_line(id);
        let kind = one_line(&watch.kind);
        let note = one_line(&watch.note);
        reminder.fill(&[("id", &*id), ("kind", &*kind), ("note", &*note)])
    };
    raised.map(told).collect()
}

/// Returns the text that names the events since the turn began; empty: there are none.
fn meanwhile(deciding: &Deciding, view: &PromptView) -> String {
    let is_later = |entry: &&Arc<Entry>| {
        entry.seq > deciding.up_to && entry.wakes && !view.row.is_steered(entry.seq)
    };
    let later = view.entries.iter().filter(is_later);
    let later = Vec::from_iter(later.map(|entry| entry.seq));
    if later.is_empty() {
        return String::new();
    }
    let meanwhile = &deciding.client.prompts().decision_meanwhile;
    meanwhile.fill(&[("seqs", &positions(&later))])
}
