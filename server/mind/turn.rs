//! A turn is the work of a thread on one batch. The machine below is a fold over the turn's events
//! and never waits. `apply` takes an event in, `phase` says where the turn is, and `next` names the
//! next step (`turn/phase.rs`). After a crash the same fold over the same events says the same:
//! recorded steps are not done again. The driver (`turn/driver.rs`) does the steps that `next`
//! names.

use std::collections::BTreeMap;

use granted::Granted;
use options::TurnOptions;
use round::{Limits, Round};
use step::Step;
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_event::fact::calls::{CallOutcome, Came, Outcome, Record};
use thinkd_event::fact::failed::Failed;
use thinkd_event::fact::remark::Decision;
use thinkd_event::fact::turn::Steered;
use thinkd_event::fact::{Fact, Role};
use thinkd_event::intent::Intent;
use thinkd_thread::settings::{Language, Settings};
use thinkd_words::budget::Budget;
use thinkd_words::failure::By;
use thinkd_words::id::{Name, Seq};

mod acting;
mod closing;
mod cut_off;
mod dependents;
pub mod driver;
mod ends;
pub mod granted;
mod meant;
pub mod options;
mod phase;
pub mod recalling;
mod repeated;
mod round;
pub mod step;
pub mod stop;
mod submodules;

pub use cut_off::why;
pub use dependents::{out_of_reach, stuck};
pub use ends::{Below, PARENT_ENDED, dismissed, ending, rest_of_end, taken};
pub use phase::{Next, Phase};
pub use round::Pending;

/// The machine: the log's knowledge of one turn.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    number: u64,
    batch: Vec<Seq>,
    /// Events that joined it, and the last round before which some did.
    joined: Vec<Seq>,
    joined_at: Option<u64>,
    /// The events that joined it last: its submodules are asked about them.
    news: Vec<Seq>,
    /// The mailbox begins behind this when the turn has ended.
    up_to: Seq,
    /// A process thinks by itself: words alone are thinking, too.
    process: bool,
    /// The manner of its decisions: by tools or by elements.
    language: Language,
    limits: Limits,
    submodules: Vec<Name>,
    /// A recall of held statements is due, before any model thinks.
    recalls: bool,
    /// Calls that people let run, and that have no result yet.
    granted: Vec<Granted>,
    /// The progress of the submodules that were asked.
    progress: BTreeMap<Name, Progress>,
    rounds: Vec<Round>,
    repairs: u64,
    /// Questions of the decision that no submodule has answered yet.
    questions: Vec<(Name, Seq)>,
    /// The seqs of the decision's words and acts.
    decided: Vec<Seq>,
    intents: Vec<Intent>,
    /// In sub-steps: the step as decided so far.
    step: Option<Step>,
    /// A thought of the thread began it.
    of_thought: bool,
    /// The thread has sent itself a message.
    thought: bool,
    /// Everything that it said to its readers.
    replies: Vec<String>,
    model_calls: u64,
    tokens: u64,
    tool_calls: u64,
    /// The reason that has stopped it, or its end.
    halt: Option<Halt>,
}

/// The progress of a submodule with its answer to the turn.
#[derive(Debug, Clone, Default)]
struct Progress {
    /// The decision waits for it no more: it has answered, or failed.
    is_done: bool,
    /// The number of times that its model was asked.
    calls: u64,
    /// The number of these before others joined the turn.
    before: u64,
    /// Its tool calls and their results.
    own: Vec<Event>,
}

/// The record in the log that stops a turn.
#[derive(Debug, Clone, PartialEq)]
enum Halt {
    /// The decision failed: why.
    Failed(String),
    /// A request to end it came.
    Cancelled,
    /// Ended so; none: with a word that this build does not know.
    Over(Option<TurnOutcome>),
}

impl Halt {
    /// A higher one hides a lower one.
    const fn rank(&self) -> u8 {
        match self {
            Self::Failed(_) => 0,
            Self::Cancelled => 1,
            Self::Over(_) => 2,
        }
    }
}

impl Turn {
    /// A turn that is about to begin.
    pub fn new(
        number: u64,
        batch: Vec<Seq>,
        submodules: Vec<Name>,
        options: &TurnOptions,
        budget: &Budget,
    ) -> Self {
        Self {
            number,
            up_to: batch.last().copied().unwrap_or(0),
            batch,
            language: options.language.unwrap_or_default(),
            limits: Limits::new(options, budget),
            submodules,
            ..Self::default()
        }
    }

    /// The same, of a thread with these settings.
    #[must_use]
    pub fn for_thread(mut self, settings: &Settings) -> Self {
        self.process = settings.is_process();
        self.language = settings.language(self.limits.language);
        if settings.substeps {
            self.step = Some(Step::default());
            self.limits = self.limits.in_substeps();
        }
        self
    }

    /// The same, with calls to run that verdicts in its batch let run.
    #[must_use]
    pub fn granting(self, granted: Vec<Granted>) -> Self {
        Self { granted, ..self }
    }

    /// Returns the same, which recalls held statements before any model thinks, or does not.
    #[must_use]
    pub fn recalling(self, recalls: bool) -> Self {
        Self { recalls, ..self }
    }

    /// The same, of a batch that begins with a thought of the thread, or does not.
    #[must_use]
    pub fn of_thought(self, of_thought: bool) -> Self {
        Self { of_thought, ..self }
    }

    /// The turn that an event began, if it began one.
    pub fn begun_by(event: &Event, options: &TurnOptions, budget: &Budget) -> Option<Self> {
        let Fact::TurnStarted(started) = event.fact() else {
            return None;
        };
        let names = started.submodules.iter();
        let submodules = names.filter_map(|name| Name::parse(name).ok()).collect();
        let number = started.turn;
        let batch = started.batch;
        Some(Self::new(number, batch, submodules, options, budget))
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the events that it is about.
    pub fn batch(&self) -> &[Seq] {
        &self.batch
    }

    /// Returns the events of messages that joined it.
    pub fn joined(&self) -> &[Seq] {
        &self.joined
    }

    /// Returns the events that it is about, with those that joined it.
    pub fn about(&self) -> Vec<Seq> {
        [&*self.batch, &*self.joined].concat()
    }

    /// Returns whether messages have joined it before this round.
    pub fn was_joined_at(&self, round: u64) -> bool {
        self.joined_at == Some(round)
    }

    /// The last event of its batch.
    pub fn last_of_batch(&self) -> Seq {
        self.batch.last().copied().unwrap_or(0)
    }

    /// The mailbox begins after this when the turn has ended: the last event of its batch, or one
    /// that joined it, where nothing waits between.
    pub fn up_to(&self) -> Seq {
        self.up_to
    }

    /// The submodules it listens to.
    pub fn submodules(&self) -> &[Name] {
        &self.submodules
    }

    /// Returns the seqs of the decision's words and acts.
    pub fn decided(&self) -> &[Seq] {
        &self.decided
    }

    /// Returns the calls and results of a submodule in this turn before it spoke, the number of
    /// times that it was asked, and of these the ones before messages joined.
    pub fn earlier_calls(&self, submodule: &Name) -> (Vec<Event>, u64, u64) {
        let progress = self.progress.get(submodule);
        let earlier = progress.map(|it| (it.own.clone(), it.calls, it.before));
        earlier.unwrap_or_default()
    }

    /// Returns the events that its submodules are asked about: those that joined it last, or its
    /// batch.
    pub fn news(&self) -> &[Seq] {
        match self.news.is_empty() {
            true => &self.batch,
            false => &self.news,
        }
    }

    /// Returns its intentions, in the order in which they were said.
    pub fn intents(&self) -> &[Intent] {
        &self.intents
    }

    /// Returns the step as decided so far, in sub-steps.
    pub fn step(&self) -> Option<&Step> {
        self.step.as_ref()
    }

    /// Returns true if it has sent itself a message.
    pub fn has_thought(&self) -> bool {
        self.thought
    }

    /// Returns everything that it said to its readers.
    pub fn replies(&self) -> &[String] {
        &self.replies
    }

    /// Why it cannot go on, if the decision failed.
    pub fn failure(&self) -> Option<&str> {
        match &self.halt {
            Some(Halt::Failed(why)) => Some(why),
            Some(Halt::Cancelled | Halt::Over(_)) | None => None,
        }
    }

    /// Returns true if its decision is better asked for elements: it wrote words where a tool call
    /// was wanted, or elements that could not be read. So to the turn's end, for results of
    /// elements are answered by elements.
    pub fn calls_no_tools(&self) -> bool {
        self.repairs > 0 || self.rounds.iter().any(|round| round.unreadable)
    }

    /// Its last answer, if that was words without any call.
    pub fn last_words(&self) -> Option<&str> {
        let are_words = |round: &&Round| round.calls.is_empty() && !round.unreadable;
        self.rounds.last().filter(are_words)?.text.as_deref()
    }

    /// Returns true if its client is to run calls: the next turn has their results.
    pub fn waits_for_client(&self) -> bool {
        self.rounds.iter().any(Round::waits)
    }

    /// The number of answers that the decision has given.
    pub fn rounds_made(&self) -> u64 {
        self.rounds.len() as u64
    }

    /// Returns the number of tool calls that the decision has made.
    pub fn calls_made(&self) -> u64 {
        self.tool_calls
    }

    /// Most tool calls of the decision.
    pub fn calls_max(&self) -> u64 {
        self.limits.tool_calls
    }

    /// Takes in an event of the thread. An event that does not belong to this turn changes nothing;
    /// nor do words of a submodule that are late or beside it.
    pub fn apply(&mut self, event: &Event) {
        if event.turn() != Some(self.number) {
            return;
        }
        let fact = event.fact();
        match fact.role() {
            Role::Aside => {}
            Role::Turn => self.moved(&fact),
            Role::Submodule => {
                if let Some(Ok(name)) = fact.submodule().map(Name::parse) {
                    self.progress(name).own.push(event.clone());
                }
            }
            Role::Decision => self.said(event.seq, &fact),
        }
    }

    fn moved(&mut self, fact: &Fact<'_>) {
        match fact {
            Fact::TurnEnded(ended) => self.halt(Halt::Over(ended.outcome)),
            Fact::TurnSteered(steered) => self.steered(steered),
            Fact::TurnCancel(_) => self.cancel(),
            Fact::Recalled(_) => self.recalls = false,
            Fact::Call(record) => self.called(record),
            Fact::Failure(failed) => self.failed(failed),
            _ => {}
        }
    }

    fn steered(&mut self, steered: &Steered) {
        let events = steered
            .inputs
            .iter()
            .flat_map(|(from, input)| *from..=*input);
        self.news = events.collect();
        self.joined.extend(&self.news);
        // They are asked about it, as about all that comes.
        for name in self.submodules.clone() {
            let progress = self.progress(name);
            progress.is_done = false;
            progress.before = progress.calls;
            progress.own.clear();
        }
        self.joined_at = Some(steered.round);
        self.up_to = self.up_to.max(steered.handled);
    }

    fn halt(&mut self, halt: Halt) {
        let before = self.halt.as_ref().map(Halt::rank);
        if before.is_none_or(|before| before <= halt.rank()) {
            self.halt = Some(halt);
        }
    }

    fn progress(&mut self, submodule: Name) -> &mut Progress {
        self.progress.entry(submodule).or_default()
    }

    fn called(&mut self, record: &Record<'_>) {
        self.tokens += record.tokens();
        let submodule = record.submodule().and_then(|name| Name::parse(name).ok());
        match (submodule, record.purpose()) {
            (Some(name), "turn") => {
                let progress = self.progress(name);
                progress.calls += 1;
                progress.is_done |= record.is_last();
                let is_again = progress.calls > progress.before + 1;
                self.model_calls += u64::from(is_again);
            }
            (Some(name), "answer") => {
                self.model_calls += 1;
                let index = self.questions.iter().position(|(asked, _)| *asked == name);
                if let Some(index) = index.filter(|_| record.is_last()) {
                    self.questions.remove(index);
                }
            }
            (None, "decide") => self.answered(false, record),
            (None, "repair") => self.answered(true, record),
            _ => {}
        }
    }

    fn answered(&mut self, repair: bool, record: &Record<'_>) {
        self.model_calls += 1;
        self.repairs += u64::from(repair);
        if record.outcome() != Some(CallOutcome::Answered) {
            return;
        }
        let round = Round::recorded(record, self.tool_calls);
        self.tool_calls += round.calls.len() as u64;
        self.rounds.push(round);
    }

    fn failed(&mut self, failed: &Failed<'_>) {
        if failed.is_late || failed.is_follow_up {
            return;
        }
        if failed.is_unreadable {
            if let Some(round) = self.rounds.last_mut() {
                round.unreadable = true;
            }
            return;
        }
        if failed.who == By::Decision {
            self.halt(Halt::Failed(failed.problem.text.to_owned()));
        } else if let Some(Ok(name)) = failed.who.submodule().map(Name::parse) {
            self.progress(name).is_done = true;
        }
    }

    /// Takes in the words and acts of the decision, and their results.
    fn said(&mut self, seq: Seq, fact: &Fact<'_>) {
        self.decided.push(seq);
        if let Fact::Decided(decided) = fact {
            match decided.what {
                Decision::Question(name) => {
                    let question = Name::parse(name).map(|name| (name, seq));
                    return self.questions.extend(question);
                }
                Decision::Thought => self.thought = true,
                Decision::NoAction => {}
                Decision::Said => {
                    if let Some(round) = self.rounds.last_mut() {
                        round.text = Some(decided.text.to_owned());
                    }
                }
            }
        }
        if let Fact::Reply(reply) = fact {
            self.replies.push(reply.text.to_owned());
        }
        if let Some(intent) = fact.intent() {
            self.step.iter_mut().for_each(|step| step.take(&intent));
            self.intents.push(intent);
        }
        if let Fact::Result(Outcome {
            approval: Some(approval),
            ..
        }) = fact
        {
            self.granted.retain(|it| it.grant.approval != *approval);
        }
        let mut calls = self.rounds.iter_mut().flat_map(|round| &mut round.calls);
        let is_it = |id| calls.find(|call| call.pending.call_id == id);
        let Some(call) = fact.call_id().and_then(is_it) else {
            return;
        };
        match fact {
            Fact::Action(action) => {
                call.pending.begun = true;
                call.pending.arguments = action.arguments.clone();
            }
            fact => {
                call.done = true;
                call.waits |= matches!(fact, Fact::ClientCall(_));
                let Fact::Result(Outcome {
                    came: Came::Failed(problem),
                    ..
                }) = fact
                else {
                    return;
                };
                call.back = true;
                call.unread = call.pending.arguments.is_string()
                    || problem.detail["reason"] == "unknown_tool";
            }
        }
    }
}
