//! A turn: what a thread does with one batch. The machine below is a fold over the turn's events and never waits; `next` says
//! what is to be done. After a crash the same fold over the same events says the same: what is recorded is not done again.
//! The driver that does it is `mind/turn/driver.rs`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::calls::{Asked, CallOutcome, Came, Outcome, Record};
use crate::event::envelope::{Event, TurnOutcome};
use crate::event::fact::Fact;
use crate::event::failed::Failed;
use crate::event::intent::Intent;
use crate::event::remark::Decision;
use crate::thread::settings::{Language, Policy, Settings};
use crate::words::budget::Budget;
use crate::words::failure::{By, Failure, FailureKind};
use crate::words::id::{Name, Seq};
use step::Step;

mod acting;
mod closing;
mod dependents;
pub mod driver;
mod ends;
pub mod step;
pub mod stop;
mod voices;

pub use dependents::{out_of_reach, stuck};
pub use ends::{Below, PARENT_ENDED, dismissed, ending, rest_of_end, taken};

/// How turns go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// How long the decision waits for the voices.
    pub submodule_timeout_ms: u64,
    /// How long the server waits for a late voice; what it says after `submodule_timeout_ms` is appended as late.
    pub late_timeout_ms: u64,
    /// How long one answer of the decision may take.
    pub decision_timeout_ms: u64,
    /// Most answers of the decision in one turn, and of a voice each time it is asked. In sub-steps `budget.model_calls` limits
    /// them instead.
    pub max_rounds: u64,
    /// Most tool calls of the decision in one turn, and of a voice each time it is asked. Of an answer with more the first call
    /// beyond is refused and the rest left out; one `failure`, `budget`, `core` says how many.
    pub max_tool_calls: u64,
    /// What new input does while a turn runs: `enqueue`, `interrupt`, `reject`.
    pub policy: Policy,
    /// Whether the voices are shown the decision and may follow up.
    pub follow_up: bool,
    /// How decisions act where their threads do not say: by `tools`, by elements in their text (`xml`, no tools are offered), or
    /// `auto` (by tools; a conversation that called none is taught the elements in one more call); absent: conversations `tools`,
    /// processes `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            submodule_timeout_ms: 20_000,
            late_timeout_ms: 120_000,
            decision_timeout_ms: 120_000,
            max_rounds: 6,
            max_tool_calls: 32,
            policy: Policy::Enqueue,
            follow_up: true,
            language: None,
        }
    }
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Ask these voices, all at once.
    Listen(Vec<Name>),
    /// Have this voice answer the question at this seq.
    Answer(Name, Seq),
    /// Run these tool calls, in order.
    Act(Vec<Pending>),
    /// Ask the decision.
    Decide {
        /// Which call, from 0.
        round: u64,
        /// Only `reply` is open to it.
        repair: bool,
    },
    /// A limit is reached or nothing usable came: say so and end.
    GiveUp(Failure),
    /// All is done: end.
    End(TurnOutcome),
    /// It has ended.
    Over,
}

/// A tool call that has not come to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// Its id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What was written where its name should be.
    pub written: Option<String>,
    /// Its arguments.
    pub arguments: Value,
    /// Its action is in the log: it may have run before a crash.
    pub begun: bool,
    /// Which of the turn's calls it is, from 0.
    pub number: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Call {
    pending: Pending,
    done: bool,
    /// The decision should read what it brings back.
    back: bool,
}

/// The machine.
#[derive(Debug, Clone)]
pub struct Turn {
    number: u64,
    batch: Vec<Seq>,
    voices: Vec<Name>,
    heard: BTreeSet<Name>,
    own: BTreeMap<Name, Vec<Event>>,
    voice_calls: BTreeMap<Name, u64>,
    rounds: Vec<Round>,
    repairs: u64,
    /// A process thinks by itself: words alone are thinking, too.
    process: bool,
    intents: Vec<Intent>,
    /// In sub-steps: what is decided so far.
    step: Option<Step>,
    thought: bool,
    /// The last it said to whoever listens.
    reply: Option<String>,
    questions: Vec<(Name, Seq)>,
    decided: Vec<Seq>,
    model_calls: u64,
    tokens: u64,
    tool_calls: u64,
    /// Why it cannot go on.
    failure: Option<String>,
    cancelled: bool,
    over: bool,
    limits: Limits,
}

/// One answer of the decision.
#[derive(Debug, Clone, Default)]
struct Round {
    calls: Vec<Call>,
    /// Some of it could not be read.
    unreadable: bool,
    /// Its words beside the calls.
    text: Option<String>,
}

#[derive(Debug, Clone)]
struct Limits {
    rounds: u64,
    tool_calls: u64,
    model_calls: u64,
    tokens: Option<u64>,
    unreadable: u64,
}

impl Turn {
    /// A turn that is about to begin.
    pub fn new(number: u64, batch: Vec<Seq>, voices: Vec<Name>, options: &Options, budget: &Budget) -> Self {
        Self {
            number,
            batch,
            voices,
            heard: BTreeSet::new(),
            own: BTreeMap::new(),
            voice_calls: BTreeMap::new(),
            rounds: Vec::new(),
            repairs: 0,
            process: false,
            intents: Vec::new(),
            step: None,
            thought: false,
            reply: None,
            questions: Vec::new(),
            decided: Vec::new(),
            model_calls: 0,
            tokens: 0,
            tool_calls: 0,
            failure: None,
            cancelled: false,
            over: false,
            limits: Limits {
                rounds: options.max_rounds.max(1),
                tool_calls: options.max_tool_calls,
                model_calls: budget.model_calls,
                tokens: budget.tokens,
                unreadable: budget.unreadable.max(1),
            },
        }
    }

    /// The same, of a thread with these settings.
    #[must_use]
    pub fn of(mut self, settings: &Settings) -> Self {
        self.process = settings.is_process();
        if settings.substeps {
            self.step = Some(Step::default());
            // Each answer decides one thing, so that a step has as many as its budget of calls allows.
            self.limits.rounds = self.limits.model_calls;
            self.limits.tool_calls = self.limits.tool_calls.max(self.limits.model_calls);
        }
        self
    }

    /// The turn that an event began, if it began one.
    pub fn begun_by(event: &Event, options: &Options, budget: &Budget) -> Option<Self> {
        let Fact::TurnStarted(started) = event.fact() else { return None };
        let voices = started.voices.iter().filter_map(|name| Name::parse(name).ok()).collect();
        Some(Self::new(started.turn, started.batch, voices, options, budget))
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What it is about.
    pub fn batch(&self) -> &[Seq] {
        &self.batch
    }

    /// Where the mailbox begins when it is done.
    pub fn upto(&self) -> Seq {
        self.batch.last().copied().unwrap_or(0)
    }

    /// The voices it listens to.
    pub fn voices(&self) -> &[Name] {
        &self.voices
    }

    /// The seqs of what the decision said and did.
    pub fn decided(&self) -> &[Seq] {
        &self.decided
    }

    /// What a voice did in this turn before it spoke: its calls and results, and how often it was asked.
    pub fn own(&self, voice: &Name) -> (Vec<Event>, u64) {
        (self.own.get(voice).cloned().unwrap_or_default(), self.voice_calls.get(voice).copied().unwrap_or(0))
    }

    /// What it intends, in the order it was said.
    pub fn intents(&self) -> &[Intent] {
        &self.intents
    }

    /// In sub-steps: what is decided so far.
    pub fn step(&self) -> Option<&Step> {
        self.step.as_ref()
    }

    /// Whether it has sent itself a message.
    pub fn has_thought(&self) -> bool {
        self.thought
    }

    /// The last it said to whoever listens.
    pub fn reply(&self) -> Option<&str> {
        self.reply.as_deref()
    }

    /// Why it cannot go on, if so.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Whether it is better asked for elements: it wrote words where a tool call was wanted, or elements that could not be read. So
    /// to the turn's end, for what an element brings back is answered by elements.
    pub fn calls_no_tools(&self) -> bool {
        self.repairs > 0 || self.rounds.iter().any(|round| round.unreadable)
    }

    /// Its last answer, if that was words without any call.
    pub fn last_words(&self) -> Option<&str> {
        let last = self.rounds.last().filter(|round| round.calls.is_empty() && !round.unreadable)?;
        last.text.as_deref()
    }

    /// How many tool calls the decision has made.
    pub fn calls_made(&self) -> u64 {
        self.tool_calls
    }

    /// Most tool calls of the decision.
    pub fn calls_max(&self) -> u64 {
        self.limits.tool_calls
    }

    /// Takes in an event of the thread. What does not belong to this turn changes nothing; nor does what a submodule says late or beside
    /// it.
    pub fn apply(&mut self, event: &Event) {
        if event.turn() != Some(self.number) {
            return;
        }
        let fact = event.fact();
        match &fact {
            // What a client wrote into a payload is not about the turn, whatever it says.
            Fact::Input(_) | Fact::Trigger(_) => {}
            Fact::TurnStarted(_) | Fact::Remark(_) | Fact::ClientFailure(_) => {}
            Fact::TurnEnded(_) => self.over = true,
            Fact::TurnCancel(_) => self.cancelled = true,
            Fact::Call(record) => self.called(record),
            Fact::Failure(failed) => self.failed(failed),
            Fact::Action(_) | Fact::Result(_) | Fact::Unknown(_) if fact.voice().is_some() => {
                let voice = fact.voice().and_then(|name| Name::parse(name).ok());
                let own = voice.filter(|_| !matches!(fact, Fact::Unknown(_)));
                own.into_iter().for_each(|name| self.own.entry(name).or_default().push(event.clone()));
            }
            Fact::Decided(_)
            | Fact::Action(_)
            | Fact::Result(_)
            | Fact::Reply(_)
            | Fact::Message(_)
            | Fact::Told(_)
            | Fact::Set(_)
            | Fact::Run(_)
            | Fact::Node(_)
            | Fact::Unknown(_) => self.said(event.seq, &fact),
        }
    }

    fn called(&mut self, record: &Record<'_>) {
        self.tokens += record.tokens();
        let voice = record.voice().and_then(|name| Name::parse(name).ok());
        match (voice, record.purpose()) {
            (Some(name), "turn") => {
                let calls = self.voice_calls.entry(name.clone()).or_default();
                *calls += 1;
                self.model_calls += u64::from(*calls > 1);
                if record.is_last() {
                    self.heard.insert(name);
                }
            }
            (Some(name), "answer") => {
                self.model_calls += 1;
                if record.is_last()
                    && let Some(index) = self.questions.iter().position(|(asked, _)| *asked == name)
                {
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
        let before = self.tool_calls;
        let call = |(number, call): (u64, Asked<'_>)| Call {
            pending: Pending {
                call_id: call.id.to_owned(),
                tool: call.tool.to_owned(),
                written: call.written.map(str::to_owned),
                arguments: call.arguments.cloned().unwrap_or_default(),
                begun: false,
                number: before + number,
            },
            done: false,
            back: call.brings_back,
        };
        let calls: Vec<Call> = (0..).zip(record.calls()).map(call).collect();
        self.tool_calls += calls.len() as u64;
        self.rounds.push(Round { calls, ..Round::default() });
    }

    fn failed(&mut self, failed: &Failed<'_>) {
        if failed.is_late || failed.is_follow_up {
            return;
        }
        if failed.is_unreadable {
            self.rounds.iter_mut().last().into_iter().for_each(|round| round.unreadable = true);
            return;
        }
        match failed.who {
            By::Decision => self.failure = Some(failed.problem.text.to_owned()),
            By::Submodule(name) => self.heard.extend(Name::parse(name)),
            By::Tool(_) | By::Pipeline(_) | By::Core => {}
        }
    }

    /// What the decision said and did, and what came of it.
    fn said(&mut self, seq: Seq, fact: &Fact<'_>) {
        self.decided.push(seq);
        if let Fact::Decided(decided) = fact {
            match decided.what {
                Decision::Question(name) => {
                    return self.questions.extend(Name::parse(name).map(|name| (name, seq)));
                }
                Decision::Thought => self.thought = true,
                Decision::NoAction => {}
                Decision::Said => {
                    let round = self.rounds.iter_mut().last().into_iter();
                    round.for_each(|round| round.text = Some(decided.text.to_owned()));
                }
            }
        }
        if let Fact::Reply(reply) = fact {
            self.reply = Some(reply.text.to_owned());
        }
        if let Some(intent) = fact.intent() {
            self.step.iter_mut().for_each(|step| step.take(&intent));
            self.intents.push(intent);
        }
        let calls = self.rounds.iter_mut().flat_map(|round| &mut round.calls);
        let Some(call) = fact.call_id().and_then(|id| calls.into_iter().find(|call| call.pending.call_id == id)) else {
            return;
        };
        match fact {
            Fact::Action(action) => {
                call.pending.begun = true;
                call.pending.arguments = action.arguments.clone();
            }
            fact => {
                call.done = true;
                call.back |= matches!(fact, Fact::Result(Outcome { came: Came::Failed(_), .. }));
            }
        }
    }

    /// What is to be done now.
    pub fn next(&self) -> Next {
        if self.over {
            return Next::Over;
        }
        if self.cancelled {
            return Next::End(TurnOutcome::Cancelled);
        }
        if self.failure.is_some() {
            return Next::End(TurnOutcome::Failed);
        }
        let silent: Vec<Name> = self.voices.iter().filter(|name| !self.heard.contains(*name)).cloned().collect();
        if !silent.is_empty() && self.rounds.is_empty() {
            return Next::Listen(silent);
        }
        let Some(Round { calls, unreadable, .. }) = self.rounds.last() else { return self.decide(false) };
        let pending: Vec<Pending> = calls.iter().filter(|call| !call.done).map(|call| call.pending.clone()).collect();
        if !pending.is_empty() {
            return Next::Act(pending);
        }
        if let Some((name, seq)) = self.questions.first() {
            return Next::Answer(name.clone(), *seq);
        }
        let has_ended = self.intents.iter().any(|intent| matches!(intent, Intent::Terminate { .. }));
        if *unreadable && !has_ended {
            let unread = |round: &&Round| round.unreadable && round.calls.is_empty();
            let in_a_row = self.rounds.iter().rev().take_while(unread).count() as u64;
            let limit = self.limits.unreadable;
            return if in_a_row < limit { self.decide(false) } else { Next::GiveUp(unreadable_answers(limit)) };
        }
        if let Some(step) = &self.step {
            return if has_ended || step.is_complete() { Next::End(TurnOutcome::Done) } else { self.decide(false) };
        }
        if calls.is_empty() && !self.process {
            return if self.repairs == 0 { self.decide(true) } else { Next::GiveUp(mute()) };
        }
        if calls.iter().any(|call| call.back) { self.decide(false) } else { Next::End(TurnOutcome::Done) }
    }

    fn decide(&self, repair: bool) -> Next {
        let Limits { rounds, tool_calls, model_calls, tokens, .. } = self.limits;
        let over = |what: &str, limit: u64, key: &str| {
            let text = format!("the turn has used up its {limit} {what} ({key}) and ends here");
            Next::GiveUp(Failure::new(FailureKind::Budget, text).with(json!({ "limit": limit, "key": key })))
        };
        if self.model_calls >= model_calls {
            over("model calls", model_calls, "budget.model_calls")
        } else if let Some(tokens) = tokens.filter(|tokens| self.tokens >= *tokens) {
            over("tokens", tokens, "budget.tokens")
        } else if self.rounds.len() as u64 - self.repairs.min(self.rounds.len() as u64) >= rounds {
            over("rounds of the decision", rounds, "turn.max_rounds")
        } else if self.tool_calls >= tool_calls && !self.rounds.is_empty() {
            over("tool calls", tool_calls, "turn.max_tool_calls")
        } else {
            Next::Decide { round: self.rounds.len() as u64, repair }
        }
    }
}

fn unreadable_answers(limit: u64) -> Failure {
    let text =
        format!("{limit} answers in a row could not be read (budget.unreadable); what was wrong stands before this");
    Failure::new(FailureKind::Interpreter, text).with(json!({ "limit": limit, "key": "budget.unreadable" }))
}

fn mute() -> Failure {
    Failure::new(
        FailureKind::Interpreter,
        "the decision answered in text that does nothing, twice; nobody received it. Use a model that calls tools, or set \
         turn.language = \"auto\" for one that does not",
    )
}
