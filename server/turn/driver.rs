//! Does what the turn machine says, and writes down what came of it. Dull on purpose: every choice is the machine's.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Next, Options, Pending, Turn};
use crate::action::{Asked, Limits};
use crate::call::{Caller, Ended, Place, Ready, Until};
use crate::decision::{Deciding, Streamed, decide};
use crate::event::{Draft, TurnOutcome, When, tag};
use crate::failure::{Failure, FailureKind, Who};
use crate::id::Name;
use crate::model::{Answer, Tier};
use crate::scribe::{Lost, Scribe};
use crate::store::SubmoduleRow;
use crate::store::feed::DeltaOutcome;
use crate::submodule::{self, Hearing, Occasion, Spoken, Voice, speak};
use crate::thread::Settings;
use crate::tool::{Desk, Effect, Toolbox, Typed as _};
use crate::tools::think::Think;

/// What all turns share.
#[derive(Clone)]
pub struct Mind {
    /// Who asks the model.
    pub caller: Arc<Caller>,
    /// The decision's tools.
    pub decision_tools: Toolbox,
    /// The voices' tools.
    pub voice_tools: Toolbox,
    /// How turns go.
    pub options: Options,
    /// What one tool call may take.
    pub tool_limits: Limits,
    /// Most messages of a thread to itself in a row.
    pub self_messages: u64,
    /// Where late voices and follow-ups run on after their turn.
    pub beside: TaskTracker,
}

/// Why a turn is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Somebody asked for it.
    Cancel,
    /// Newer input replaces it.
    Interrupt,
    /// The server goes, or has lost the thread's lease: the turn is left for whoever takes it up.
    Leave,
}

/// Stops a turn, once, for a reason.
#[derive(Debug)]
pub struct Stop {
    token: CancellationToken,
    why: OnceLock<Why>,
    over: AtomicBool,
}

impl Stop {
    /// A stop below `all`: when that is cancelled, the turn is left.
    pub fn new(all: &CancellationToken) -> Self {
        Self { token: all.child_token(), why: OnceLock::new(), over: AtomicBool::new(false) }
    }

    /// Stops the turn. The first reason counts. A turn that is over cannot be stopped, nor what goes on beside it: its
    /// lease is given back with its end, and must not be taken for lost.
    pub fn stop(&self, why: Why) {
        if self.over.load(Ordering::Acquire) {
            return;
        }
        // A second reason changes nothing.
        let _ = self.why.set(why);
        self.token.cancel();
    }

    /// Waits until it is stopped.
    pub async fn stopped(&self) -> Why {
        self.token.cancelled().await;
        self.why().unwrap_or(Why::Leave)
    }

    /// Cancelled when it is stopped.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    fn why(&self) -> Option<Why> {
        self.token.is_cancelled().then(|| self.why.get().copied().unwrap_or(Why::Leave))
    }
}

/// One turn under way.
pub struct Driver {
    /// What all turns share.
    pub mind: Mind,
    /// The turn's pen.
    pub scribe: Arc<Scribe>,
    /// Where.
    pub place: Place,
    /// The machine.
    pub turn: Turn,
    /// The voices there are.
    pub voices: Vec<SubmoduleRow>,
    /// What the thread was created with.
    pub settings: Settings,
    /// Stops it.
    pub stop: Arc<Stop>,
}

impl Driver {
    /// Drives the turn to its end. `None`: it was left, to be taken up again.
    pub async fn run(mut self) -> Result<Option<TurnOutcome>, Lost> {
        loop {
            let next = self.turn.next();
            match self.stop.why() {
                Some(Why::Leave) => return Ok(None),
                Some(why) if next != Next::Over => return self.stopped(why, Vec::new()).await.map(Some),
                _ => {}
            }
            let ended = match next {
                Next::Listen(names) => self.listen(names).await?,
                Next::Answer(name, question) => self.answer(&name, question).await?,
                Next::Act(pending) => self.act_again(pending).await?,
                Next::Decide { round, repair } => self.decide(round, repair).await?,
                Next::GiveUp(failure) => {
                    let failure = self.failure(&Who::Decision, &failure);
                    Some(self.end(vec![failure], TurnOutcome::Failed).await?)
                }
                Next::End(outcome) => Some(self.end(Vec::new(), outcome).await?),
                Next::Over => return Ok(Some(TurnOutcome::Done)),
            };
            if ended.is_some() {
                return Ok(ended);
            }
        }
    }

    /// ① All voices at once, until the deadline; what comes is appended as it comes.
    async fn listen(&mut self, names: Vec<Name>) -> Result<Option<TurnOutcome>, Lost> {
        let begin = Instant::now();
        let deadline = begin + Duration::from_millis(self.mind.options.submodule_timeout_ms);
        let late = self.mind.options.late_timeout_ms.max(self.mind.options.submodule_timeout_ms);
        let occasion = Occasion::New { batch: self.turn.batch().to_vec() };
        let hearing = self.hearing(occasion, Until::ms(late)).await?;
        let mut asked = Voices::default();
        let mut gone = Vec::new();
        for name in names {
            match self.voice(&name) {
                Some(voice) => asked.ask(hearing.clone(), voice, When::InTime),
                None => gone.push(self.failure(&Who::Submodule(name), &removed())),
            }
        }
        if !gone.is_empty() {
            self.write(gone).await?;
        }
        loop {
            let spoken = tokio::select! {
                biased;
                spoken = asked.next() => spoken,
                () = tokio::time::sleep_until(deadline) => {
                    let silent = asked.silent().map(|name| self.too_late(name)).collect();
                    self.write(silent).await?;
                    self.mind.beside.spawn(late_voices(asked, self.scribe.clone(), self.place.clone(), self.turn.number()));
                    return Ok(None);
                }
            };
            let Some(first) = spoken else { return Ok(None) };
            let mut drafts = self.drafts_of(first);
            while let Some(more) = asked.ready() {
                drafts.extend(self.drafts_of(more));
            }
            self.write(drafts).await?;
        }
    }

    /// A question of the decision, answered by one voice.
    async fn answer(&mut self, name: &Name, question: i64) -> Result<Option<TurnOutcome>, Lost> {
        let until = Until::ms(self.mind.options.submodule_timeout_ms);
        let hearing = self.hearing(Occasion::Asked { question }, until).await?;
        let mut asked = Voices::default();
        let Some(voice) = self.voice(name) else {
            // `ask` checked that it is there: it was removed this very moment. The fold needs an end to the question.
            let record = json!({ "purpose": "answer", "last": true, "outcome": "failed" });
            let record =
                Draft::call_record(&self.place.thread, self.turn.number(), &Who::Submodule(name.clone()), record);
            let failure = self.failure(&Who::Submodule(name.clone()), &removed());
            self.write(vec![record, failure]).await?;
            return Ok(None);
        };
        asked.ask(hearing, Voice { own: Vec::new(), rounds: 0, ..voice }, When::InTime);
        if let Some(spoken) = asked.next().await {
            let drafts = self.drafts_of(spoken);
            self.write(drafts).await?;
        }
        Ok(None)
    }

    /// ② The decision.
    async fn decide(&mut self, round: u64, repair: bool) -> Result<Option<TurnOutcome>, Lost> {
        let deciding = Deciding {
            caller: self.mind.caller.clone(),
            tools: self.mind.decision_tools.clone(),
            place: self.place.clone(),
            batch: self.turn.batch().to_vec(),
            round,
            repair,
            prompt: self.settings.prompt.clone(),
            tier: if self.settings.high_tier { Tier::High } else { Tier::Low },
            until: Until::ms(self.mind.options.decision_timeout_ms),
            stop: self.stop.token.clone(),
        };
        let mut streamed = Streamed::default();
        let (ready, ended) = decide(&deciding, &mut streamed).await.map_err(Lost::Store)?;
        match &ended {
            Ended::Answered(answer) => self.answered(answer, &ready, &ended, round, streamed).await,
            Ended::Failed(failure) => {
                let mut drafts = vec![ready.record(&self.place, &ended, json!({}))];
                drafts.extend(self.cut_off(&streamed, round));
                drafts.push(self.failure(&Who::Decision, failure));
                let outcome = self.end(drafts, TurnOutcome::Failed).await;
                self.end_stream(&mut streamed, partial(&outcome));
                outcome.map(Some)
            }
            Ended::Stopped => {
                let why = self.stop.why().unwrap_or(Why::Leave);
                if why == Why::Leave {
                    self.end_stream(&mut streamed, DeltaOutcome::Discarded);
                    return Ok(None);
                }
                let mut drafts = vec![ready.record(&self.place, &ended, json!({}))];
                drafts.extend(self.cut_off(&streamed, round));
                let outcome = self.stopped(why, drafts).await;
                self.end_stream(&mut streamed, partial(&outcome));
                outcome.map(Some)
            }
        }
    }

    /// The decision's answer: its words, its tool calls, and, where nothing more is to come, the turn's end with them.
    async fn answered(
        &mut self,
        answer: &Answer,
        ready: &Ready,
        ended: &Ended,
        round: u64,
        mut streamed: Streamed,
    ) -> Result<Option<TurnOutcome>, Lost> {
        let calls: Vec<Asked> =
            answer.calls.iter().enumerate().map(|(index, call)| Asked::new(call, "c", round, index)).collect();
        let mut drafts = vec![ready.record(&self.place, ended, json!({ "calls": self.recorded(&calls) }))];
        if !answer.text.trim().is_empty() {
            drafts.push(Draft::decision_said(&self.place.thread, self.turn.number(), answer.text.trim()));
        }
        let outcome = self.act(calls, drafts, &streamed).await;
        let stored = self.mind.caller.store().clone();
        // Whatever became of the replies is in the log by now: what is there under its promised id was stored.
        let kept = match &outcome {
            Ok((_, kept)) => kept.clone(),
            Err(_) => Vec::new(),
        };
        streamed.end(stored.as_ref(), &self.place, |id| {
            if kept.contains(&id) { DeltaOutcome::Stored } else { DeltaOutcome::Discarded }
        });
        outcome.map(|(ended, _)| ended)
    }

    /// The calls as the record keeps them: arguments only where no action in the same append has them.
    fn recorded(&self, calls: &[Asked]) -> Vec<Value> {
        let tools = &self.mind.decision_tools;
        let alone = calls.iter().position(|call| call.effect(tools) != Effect::Events).unwrap_or(calls.len());
        let entry = |(index, call): (usize, &Asked)| {
            let mut entry = json!({ "id": call.call_id, "tool": call.tool, "back": call.brings_back(tools) });
            if index > alone {
                entry["arguments"] = call.shown_arguments();
            }
            entry
        };
        calls.iter().enumerate().map(entry).collect()
    }

    /// Runs calls in order. What is only events is gathered and appended at once; before anything else runs, all so far is.
    async fn act(
        &mut self,
        calls: Vec<Asked>,
        mut drafts: Vec<Draft>,
        streamed: &Streamed,
    ) -> Result<(Option<TurnOutcome>, Vec<uuid::Uuid>), Lost> {
        let tools = self.mind.decision_tools.clone();
        let mut kept = Vec::new();
        // Their record is among the drafts: the machine does not count them yet.
        let first = self.turn.calls_made();
        for (index, call) in calls.into_iter().enumerate() {
            let desk = self.desk(&call, streamed.event_id(index));
            drafts.extend(call.action(&tools, &desk));
            if let Some(limit) = self.limit(&call, first + index as u64, &drafts).await? {
                drafts.push(call.refused(&desk, &limit));
                continue;
            }
            if call.effect(&tools) != Effect::Events {
                kept.extend(self.write(std::mem::take(&mut drafts)).await?);
            }
            let done = tokio::select! {
                biased;
                done = call.run(&tools, &desk, self.mind.tool_limits) => done,
                () = self.stop.token.cancelled() => break,
            };
            drafts.extend(done);
        }
        let mut ahead = self.turn.clone();
        drafts.iter().for_each(|draft| ahead.apply(&draft.preview()));
        let promised: Vec<_> = drafts.iter().filter_map(|draft| draft.event_id).collect();
        let ended = match ahead.next() {
            Next::End(outcome) => Some(self.end(drafts, outcome).await?),
            _ => {
                self.write(drafts).await?;
                None
            }
        };
        kept.extend(promised);
        Ok((ended, kept))
    }

    /// Calls that a crash cut off: those with an outside effect that may have happened are not repeated.
    async fn act_again(&mut self, pending: Vec<Pending>) -> Result<Option<TurnOutcome>, Lost> {
        let tools = self.mind.decision_tools.clone();
        for call in pending {
            let (begun, number) = (call.begun, call.number);
            let arguments = match call.arguments {
                Value::String(text) => Err(text),
                other => Ok(other),
            };
            let call = Asked { call_id: call.call_id, tool: call.tool, arguments };
            let desk = self.desk(&call, None);
            let mut drafts: Vec<Draft> =
                if begun { Vec::new() } else { call.action(&tools, &desk).into_iter().collect() };
            if begun && call.effect(&tools) == Effect::Outside {
                drafts.push(call.refused(&desk, &unknown(&call.tool)));
            } else if let Some(limit) = self.limit(&call, number, &drafts).await? {
                drafts.push(call.refused(&desk, &limit));
            } else {
                drafts.extend(call.run(&tools, &desk, self.mind.tool_limits).await);
            }
            self.write(drafts).await?;
        }
        Ok(None)
    }

    /// ③ ④ The end of the turn, and beside it the voices hear what was decided.
    async fn end(&mut self, mut drafts: Vec<Draft>, outcome: TurnOutcome) -> Result<TurnOutcome, Lost> {
        let thread = &self.place.thread;
        drafts.push(Draft::turn_ended(thread, self.turn.number(), outcome, self.turn.upto()));
        self.stop.over.store(true, Ordering::Release);
        let stored = self.scribe.close(drafts).await?;
        stored.iter().for_each(|shown| self.turn.apply(&shown.event));
        metrics::counter!("thinkd_turns_total", "outcome" => outcome.as_str()).increment(1);
        if outcome == TurnOutcome::Done && self.mind.options.follow_up && !self.voices.is_empty() {
            self.follow_up();
        }
        Ok(outcome)
    }

    fn follow_up(&self) {
        let decision = self.turn.decided().to_vec();
        let occasion = Occasion::FollowUp { batch: self.turn.batch().to_vec(), decision };
        let until = Until::ms(self.mind.options.submodule_timeout_ms);
        let names = self.turn.voices().iter();
        let voices: Vec<_> =
            names.filter_map(|name| self.voice(name)).map(|v| Voice { own: vec![], rounds: 0, ..v }).collect();
        let (caller, scribe, place, turn) =
            (self.mind.caller.clone(), self.scribe.clone(), self.place.clone(), self.turn.number());
        let hearing = self.hearing_with(occasion, until);
        self.mind.beside.spawn(async move {
            let look = match caller.look(&place, submodule::SHOW).await {
                Ok(look) => Arc::new(look),
                Err(error) => return tracing::warn!(%error, thread = %place.thread, turn, "follow-up left out"),
            };
            let mut asked = Voices::default();
            voices.into_iter().for_each(|voice| asked.ask(hearing(look.clone()), voice, When::FollowUp));
            while let Some(spoken) = asked.next().await {
                let drafts = drafts_of(spoken, &place, turn, When::FollowUp);
                write_beside(&scribe, drafts).await;
            }
        });
    }

    /// Ends the turn as it was stopped.
    async fn stopped(&mut self, why: Why, drafts: Vec<Draft>) -> Result<TurnOutcome, Lost> {
        let outcome = if why == Why::Interrupt { TurnOutcome::Interrupted } else { TurnOutcome::Cancelled };
        self.end(drafts, outcome).await
    }

    /// Appends, and lets the machine know. Returns the ids.
    async fn write(&mut self, drafts: Vec<Draft>) -> Result<Vec<uuid::Uuid>, Lost> {
        let stored = self.scribe.write(drafts).await?;
        stored.iter().for_each(|shown| self.turn.apply(&shown.event));
        Ok(stored.iter().map(|shown| shown.event.event_id).collect())
    }

    async fn hearing(&self, occasion: Occasion, until: Until) -> Result<Hearing, Lost> {
        let look = self.mind.caller.look(&self.place, submodule::SHOW).await.map_err(Lost::Store)?;
        Ok(self.hearing_with(occasion, until)(Arc::new(look)))
    }

    fn hearing_with(
        &self,
        occasion: Occasion,
        until: Until,
    ) -> impl Fn(Arc<crate::call::Look>) -> Hearing + Send + use<> {
        let (mind, scribe, place) = (self.mind.clone(), self.scribe.clone(), self.place.clone());
        let stop = self.stop.token.clone();
        move |look| Hearing {
            caller: mind.caller.clone(),
            tools: mind.voice_tools.clone(),
            scribe: scribe.clone(),
            place: place.clone(),
            look,
            occasion: occasion.clone(),
            until,
            tool_limits: mind.tool_limits,
            rounds_max: mind.options.max_rounds.max(1),
            stop: stop.clone(),
        }
    }

    fn voice(&self, name: &Name) -> Option<Voice> {
        let row = self.voices.iter().find(|row| row.name == *name)?;
        let (own, rounds) = self.turn.own(name);
        Some(Voice { name: name.clone(), prompt: row.prompt.clone(), own, rounds })
    }

    fn desk(&self, call: &Asked, event_id: Option<uuid::Uuid>) -> Desk {
        Desk {
            space: self.place.space.clone(),
            thread: self.place.thread.clone(),
            turn: self.turn.number(),
            by: Who::Decision,
            call_id: call.call_id.clone(),
            upto: self.turn.upto(),
            event_id,
            submodules: self.turn.voices().into(),
            store: self.mind.caller.store().clone(),
        }
    }

    fn cut_off(&self, streamed: &Streamed, round: u64) -> Vec<Draft> {
        let reply = |(index, id, text): (usize, uuid::Uuid, &str)| {
            let call_id = format!("c{round}.{index}");
            Draft::reply(&self.place.thread, self.turn.number(), &call_id, text, true).with_id(id)
        };
        streamed.begun().map(reply).collect()
    }

    fn end_stream(&self, streamed: &mut Streamed, outcome: DeltaOutcome) {
        streamed.end(self.mind.caller.store().as_ref(), &self.place, |_| outcome);
    }

    fn failure(&self, who: &Who, failure: &Failure) -> Draft {
        Draft::failure(&self.place.thread, Some(self.turn.number()), who, failure)
    }

    fn too_late(&self, name: &Name) -> Draft {
        let limit = self.mind.options.submodule_timeout_ms;
        let text = format!("the voice {name} had nothing to say within {limit} ms; the decision goes on without it");
        self.failure(&Who::Submodule(name.clone()), &Failure::new(FailureKind::Timeout, text).retryable())
    }

    /// The limit that a call meets, if it meets one. `drafts` are about to be appended before it.
    async fn limit(&self, call: &Asked, number: u64, drafts: &[Draft]) -> Result<Option<Failure>, Lost> {
        if !self.turn.may_call(number) {
            let limit = self.mind.options.max_tool_calls;
            let text = format!("not run: the turn has used up its {limit} tool calls (turn.max_tool_calls)");
            return Ok(Some(Failure::new(FailureKind::Budget, text)));
        }
        if call.tool != Think::NAME {
            return Ok(None);
        }
        let row = self.mind.caller.store().thread(&self.place.space, &self.place.thread).await.map_err(Lost::Store)?;
        let stored = row.map_or(0, |row| u64::from(row.self_messages));
        let ahead = drafts.iter().filter(|draft| is(draft, tag::THOUGHT)).count() as u64;
        let limit = self.mind.self_messages;
        let text = format!(
            "not sent: the thread has sent itself {limit} messages in a row, and may send no more before something comes from \
             outside (budget.self_messages)"
        );
        Ok((stored + ahead >= limit).then(|| Failure::new(FailureKind::Budget, text)))
    }

    fn drafts_of(&self, spoken: Result<Spoken, (Name, JoinError)>) -> Vec<Draft> {
        drafts_of(spoken, &self.place, self.turn.number(), When::InTime)
    }
}

/// Voices that were asked and have not spoken yet.
#[derive(Default)]
struct Voices {
    tasks: JoinSet<Spoken>,
    names: HashMap<Id, Name>,
}

impl Voices {
    fn ask(&mut self, hearing: Hearing, voice: Voice, when: When) {
        let name = voice.name.clone();
        let task = self.tasks.spawn(speak(hearing, voice, when));
        self.names.insert(task.id(), name);
    }

    /// The next to have spoken; a voice whose task died is named. Cancel safe.
    async fn next(&mut self) -> Option<Result<Spoken, (Name, JoinError)>> {
        let joined = self.tasks.join_next_with_id().await?;
        self.joined(joined)
    }

    /// Another that has spoken already.
    fn ready(&mut self) -> Option<Result<Spoken, (Name, JoinError)>> {
        let joined = self.tasks.try_join_next_with_id()?;
        self.joined(joined)
    }

    fn joined(&mut self, joined: Result<(Id, Spoken), JoinError>) -> Option<Result<Spoken, (Name, JoinError)>> {
        match joined {
            Ok((id, spoken)) => {
                self.names.remove(&id);
                Some(Ok(spoken))
            }
            Err(error) => Some(Err((self.names.remove(&error.id())?, error))),
        }
    }

    fn silent(&self) -> impl Iterator<Item = &Name> {
        self.names.values()
    }
}

/// What comes after the deadline is appended as late.
async fn late_voices(mut asked: Voices, scribe: Arc<Scribe>, place: Place, turn: u64) {
    while let Some(spoken) = asked.next().await {
        let drafts = drafts_of(spoken, &place, turn, When::InTime).into_iter();
        // That it was not heard in time stands in the log already; that it never came is in the record of its call.
        let drafts = drafts.filter(|draft| !(is(draft, tag::FAILURE) && is(draft, "timeout")));
        let late = |draft: Draft| if is(&draft, tag::DEBUG) { draft } else { draft.when(When::Late) };
        write_beside(&scribe, drafts.map(late).collect()).await;
    }
}

fn is(draft: &Draft, tag: &str) -> bool {
    draft.tags.iter().any(|t| t == tag)
}

async fn write_beside(scribe: &Scribe, drafts: Vec<Draft>) {
    if let Err(error) = scribe.write_beside(drafts).await {
        tracing::warn!(%error, "what a voice said beside its turn is lost");
    }
}

fn drafts_of(spoken: Result<Spoken, (Name, JoinError)>, place: &Place, turn: u64, when: When) -> Vec<Draft> {
    match spoken {
        Ok(spoken) => spoken.drafts,
        Err((name, error)) => {
            let failure = Failure::new(FailureKind::Internal, format!("the voice {name} broke down: {error}"));
            vec![Draft::failure(&place.thread, Some(turn), &Who::Submodule(name), &failure).when(when)]
        }
    }
}

/// What readers were shown of a reply that was cut off: stored as far as it came, unless the store failed.
fn partial(ended: &Result<TurnOutcome, Lost>) -> DeltaOutcome {
    if ended.is_ok() { DeltaOutcome::Partial } else { DeltaOutcome::Discarded }
}

fn removed() -> Failure {
    Failure::new(FailureKind::Tool, "the voice was removed before it was heard")
}

fn unknown(tool: &str) -> Failure {
    let text =
        format!("the server stopped while {tool} ran: whether it took effect is not known, and it was not run again");
    Failure::new(FailureKind::OutcomeUnknown, text)
}
