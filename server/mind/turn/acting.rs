//! The part of the driver that acts on an answer of the decision: its words and calls become events, the calls run in order, and their intents
//! are kept. The machine makes every choice.

use serde_json::{Value, json};
use uuid::Uuid;

use super::cut_off::why;
use super::driver::Driver;
use super::meant::{cut_short, mended};
use super::step::Step;
use super::stop::Why;
use super::{Next, Pending};
use crate::action::{self, Asked};
use crate::call::{Ended, Ready, TurnPlace};
use crate::decision::{REPLY, Streamed};
use crate::turn_writer::Lost;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::TurnOutcome;
use thinkd_event::fact::Fact;
use thinkd_event::fact::calls::FROM_TEXT;
use thinkd_event::fact::set::{Change, Set};
use thinkd_event::intent::Intent;
use thinkd_log::error::StoreError;
use thinkd_log::hint::DeltaOutcome;
use thinkd_model::provider::Answer;
use thinkd_thread::settings::Language;
use thinkd_tools::catalogue::think::Think;
use thinkd_tools::tool::{CallSite, Effect, SoFar, Typed as _};
use thinkd_tools::toolbox::Toolbox;
use thinkd_words::failure::{Failure, FailureKind, Who, cut_off, not_run};

/// Most times that calls are run again because their events were overtaken.
const TRIES: u32 = 16;

/// The calls of an answer, as far as they have come.
#[derive(Clone)]
struct Acts {
    /// The tools as they were when the answer came.
    tools: Toolbox,
    calls: Vec<Asked>,
    /// The number of calls in the turn before them.
    first: u64,
    /// So many of them were begun before the server stopped: the first.
    begun: usize,
    /// To be appended.
    drafts: Vec<Draft>,
    /// Ids that are in the log.
    kept: Vec<Uuid>,
    intents: Vec<Intent>,
    /// The next call.
    at: usize,
}

impl Driver {
    /// The decision's answer: its words, its tool calls, and, where nothing more is to come, the turn's end with them.
    pub(super) async fn answered(
        &mut self,
        answer: &Answer,
        ready: &Ready,
        ended: &Ended,
        round: u64,
        mut streamed: Streamed,
    ) -> Result<Option<TurnOutcome>, Lost> {
        let tools = self.toolbox().await?;
        let meant = self.meant(answer, ready, tools.get(REPLY).is_some());
        self.learn(&meant, answer, ready.model());
        let written = &meant.calls;
        let who = action::decision(self.turn.number());
        let left = self.turn.calls_max().saturating_sub(self.turn.calls_made());
        let taken = action::taken(written.len(), left);
        let asked = |(index, call)| {
            let call = Asked::read(call, action::call_id(&who, round, index), &tools);
            mended(Asked {
                is_cut: meant.is_cut,
                ..call.from_text(meant.is_from_text)
            })
        };
        let calls = Vec::from_iter(written[..taken].iter().enumerate().map(asked));
        let mut record = json!({ "calls": recorded(&calls, &tools) });
        if taken < written.len() {
            record["calls_made"] = written.len().into();
        }
        let mut drafts = ready.records(&self.place, ended, record);
        // With the record: whatever stops the server in between, this is told once.
        let most = self.turn.calls_max();
        let left_out = action::left_out(&Who::Decision, written.len(), taken, most);
        drafts.extend(left_out.map(|failure| self.failure(&Who::Core, &failure)));
        if !meant.thinking.is_empty() {
            let TurnPlace { thread, turn, .. } = &self.place;
            drafts.push(Draft::decision_said(thread, *turn, &meant.thinking));
        }
        drafts.extend(self.unreadable(&meant.unreadable));
        drafts.extend(meant.is_cut.then(|| self.failure(&Who::Core, &cut_short())));
        streamed.keep_words(meant.reply.as_deref());
        // Their record is among the drafts: the machine does not count them yet.
        let first = self.turn.calls_made();
        let acts = Acts {
            drafts,
            ..self.acts(tools, calls, first)
        };
        let outcome = self.act(acts, &streamed).await;
        // Whatever became of the replies is in the log by now: what is there under its promised id was stored.
        let kept = match &outcome {
            Ok((_, kept)) => kept.clone(),
            Err(_) => Vec::new(),
        };
        streamed.end(|id| match (kept.contains(&id), meant.is_cut) {
            (true, false) => DeltaOutcome::Stored,
            (true, true) => DeltaOutcome::Partial,
            (false, _) => DeltaOutcome::Discarded,
        });
        outcome.map(|(ended, _)| ended)
    }

    /// Nothing of these calls was run.
    fn acts(&self, tools: Toolbox, calls: Vec<Asked>, first: u64) -> Acts {
        Acts {
            tools,
            calls,
            first,
            begun: 0,
            drafts: Vec::new(),
            kept: Vec::new(),
            intents: self.turn.intents().to_vec(),
            at: 0,
        }
    }

    /// Runs calls in order. Calls that are only events are gathered and appended at once; before
    /// any other call runs, all so far is appended.
    async fn act(
        &mut self,
        mut acts: Acts,
        streamed: &Streamed,
    ) -> Result<(Option<TurnOutcome>, Vec<Uuid>), Lost> {
        // Only of these may somebody else take what they go by.
        let read_rows = acts.calls.iter().any(|call| call.reads_rows(&acts.tools));
        let mut tries = 0;
        loop {
            let begun = read_rows.then(|| acts.clone());
            match self.gather(&mut acts, streamed).await {
                Ok(Some(ended)) => return Ok((ended, acts.kept)),
                Ok(None) => tries = 0,
                // What the calls go by has changed meanwhile: somebody else took the id of a subthread. They are only events, so
                // they are run again, as it is now; no model is asked again.
                Err(Lost::Store(StoreError::Unmet(why))) if tries == TRIES || begun.is_none() => {
                    let why =
                        format!("what a turn's calls led to was overtaken {TRIES} times: {why}");
                    return Err(Lost::Store(StoreError::Broken(why)));
                }
                Err(Lost::Store(StoreError::Unmet(_))) => {
                    acts = begun.unwrap_or(acts);
                    tries += 1;
                }
                Err(lost) => return Err(lost),
            }
        }
    }

    /// Runs calls up to the next append, the one that ends the turn included. None: there are more.
    async fn gather(
        &mut self,
        acts: &mut Acts,
        streamed: &Streamed,
    ) -> Result<Option<Option<TurnOutcome>>, Lost> {
        let tools = acts.tools.clone();
        let cuts = cuts(&acts.calls, &tools);
        while let Some(call) = acts.calls.get(acts.at).cloned() {
            let index = acts.at;
            let site = self.site(&call, &acts.intents);
            let is_begun = index < acts.begun;
            let is_outside = call.effect(&tools) != Effect::Events;
            if cuts[index] && !is_outside && !acts.drafts.is_empty() {
                self.keep(acts).await?;
                return Ok(None);
            }
            if is_begun && action::effect_begun(&call.tool, &tools) == Effect::Outside {
                // It may have happened: it is not repeated.
                let unknown = cut_off("the server stopped", &call.tool, true);
                acts.drafts.push(call.refused(&site, &unknown));
                acts.at += 1;
                continue;
            }
            // Nothing more is begun for a turn that is to stop.
            let is_left = self.stop.why() == Some(Why::Leave);
            if is_outside && (is_left || acts.drafts.is_empty() && self.stop.why().is_some()) {
                break;
            }
            if !is_begun {
                acts.drafts.extend(call.action(&tools, &site));
            }
            let number = acts.first + index as u64;
            if let Some(limit) = self.limit(&call, number, &acts.drafts).await? {
                acts.drafts.push(call.refused(&site, &limit));
                acts.at += 1;
                continue;
            }
            if call.tool == REPLY && self.has_said(&call, &acts.drafts).await? {
                acts.drafts.push(call.repeated(&site));
                acts.at += 1;
                continue;
            }
            if is_outside {
                // Recorded before it runs.
                self.keep(acts).await?;
                if let Some(outcome) = self.stop.why().and_then(Why::outcome) {
                    let not_run = not_run(why(outcome), &call.tool);
                    acts.drafts.push(call.refused(&site, &not_run));
                    break;
                }
            }
            let done = tokio::select! {
                biased;
                done = call.run(&tools, &site, self.settings.commit) => promised(done, streamed.event_id(index)),
                () = self.stop.token().cancelled() => break,
            };
            let opened = self.opened(&tools, &call, &acts.drafts).await?;
            acts.drafts.extend(opened);
            let intents = done.iter().filter_map(Draft::preview_intent);
            acts.intents.extend(intents);
            let stepped = self.stepped(&acts.intents, &done);
            acts.drafts.extend(done.into_iter().chain(stepped));
            acts.at += 1;
            if is_outside {
                return Ok(None);
            }
        }
        let drafts = std::mem::take(&mut acts.drafts);
        let ahead = self.ahead(&drafts);
        let promised = Vec::from_iter(drafts.iter().filter_map(|draft| draft.event_id));
        let ended = match ahead.next() {
            Next::End(outcome) => Some(self.end_ahead(&ahead, drafts, outcome).await?),
            _ => {
                self.write(drafts).await?;
                None
            }
        };
        acts.kept.extend(promised);
        Ok(Some(ended))
    }

    /// Appends the gathered drafts.
    async fn keep(&mut self, acts: &mut Acts) -> Result<(), Lost> {
        let stored = self.write(std::mem::take(&mut acts.drafts)).await?;
        acts.kept.extend(stored);
        Ok(())
    }

    /// Calls that a crash cut off: those with an outside effect that may have happened are not repeated.
    pub(super) async fn act_again(
        &mut self,
        pending: Vec<Pending>,
    ) -> Result<Option<TurnOutcome>, Lost> {
        let tools = self.toolbox().await?;
        let first = pending.first().map_or(0, |call| call.number);
        // They run in order, so that only the first can be.
        let begun = pending.iter().take_while(|call| call.begun).count();
        let calls = pending.into_iter().map(asked_again).collect();
        let acts = Acts {
            begun,
            ..self.acts(tools, calls, first)
        };
        let (ended, _) = self.act(acts, &self.streamed()).await?;
        Ok(ended)
    }

    /// A rare tool that is called although it was not open is open from then on: the thread has use for it, and where the call
    /// was wrong the next one is told how it is meant. `drafts` are about to be appended before it.
    async fn opened(
        &self,
        tools: &Toolbox,
        call: &Asked,
        drafts: &[Draft],
    ) -> Result<Option<Draft>, Lost> {
        if !tools.is_rare(&call.tool) || self.language() == Language::Xml {
            return Ok(None);
        }
        let TurnPlace { space, thread, .. } = &self.place;
        let row = self.store().thread(space, thread).await?;
        let opened = Draft::tools_opened(thread, &[&call.tool]);
        let is_open = row.is_some_and(|row| row.state.open.contains(&call.tool));
        let is_ahead = || drafts.iter().any(|draft| draft.fact() == opened.fact());
        Ok((!is_open && !is_ahead()).then_some(opened))
    }

    pub(super) fn site(&self, call: &Asked, intents: &[Intent]) -> CallSite {
        CallSite {
            space: self.place.space.clone(),
            thread: self.place.thread.clone(),
            turn: self.turn.number(),
            by: Who::Decision,
            call_id: call.call_id.clone(),
            now: thinkd_words::time::now(),
            so_far: SoFar {
                intents: intents.into(),
                submodules: self.turn.submodules().into(),
                purse: self.place.purse.clone(),
            },
            grant: None,
        }
    }

    /// In sub-steps: the state of the step after an action that changed it.
    pub(super) fn stepped(&self, intents: &[Intent], done: &[Draft]) -> Option<Draft> {
        self.turn.step()?;
        done.iter().find_map(Draft::preview_intent)?;
        let mut step = Step::default();
        intents.iter().for_each(|intent| step.take(intent));
        let state = serde_json::to_value(&step).unwrap_or_default();
        let number = self.turn.number();
        let set = Set {
            key: &number.to_string(),
            change: Change::Step(&state),
            turn: Some(number),
            root: None,
        };
        Some(Fact::Set(set).encode(&self.place.thread))
    }

    /// The limit that a call meets, if it meets one. `drafts` are about to be appended before it.
    async fn limit(
        &self,
        call: &Asked,
        number: u64,
        drafts: &[Draft],
    ) -> Result<Option<Failure>, Lost> {
        let limit = self.turn.calls_max();
        if number >= limit {
            let text = format!(
                "not run: the turn has used up its {limit} tool calls (turn.max_tool_calls)"
            );
            return Ok(Some(Failure::new(FailureKind::Budget, text)));
        }
        if call.tool != Think::NAME {
            return Ok(None);
        }
        let TurnPlace { space, thread, .. } = &self.place;
        let row = self.store().thread(space, thread).await?;
        let stored = row.map_or(0, |row| u64::from(row.self_messages));
        let ahead = drafts.iter().filter(|it| it.fact().is_thought());
        let limit = self.mind.budget.self_messages;
        let text = format!(
            "not sent: the thread has sent itself {limit} messages in a row, and may send no more before something comes from \
             outside (budget.self_messages)"
        );
        Ok((stored + ahead.count() as u64 >= limit)
            .then(|| Failure::new(FailureKind::Budget, text)))
    }
}

/// A call as its record and its action have it.
fn asked_again(call: Pending) -> Asked {
    let arguments = match call.arguments {
        Value::String(text) => Err(text),
        other => Ok(other),
    };
    Asked {
        written: call.written,
        is_from_text: call.is_from_text,
        ..Asked::new(call.call_id, call.tool, arguments)
    }
}

/// Before which of these calls all that was gathered is written: those that do more than make events, and those that go by rows
/// which an earlier one changes.
fn cuts(calls: &[Asked], tools: &Toolbox) -> Vec<bool> {
    let mut changed = false;
    let cut = |call: &Asked| {
        let cut = call.effect(tools) != Effect::Events || (call.reads_rows(tools) && changed);
        changed = call.reads_rows(tools) || (changed && !cut);
        cut
    };
    calls.iter().map(cut).collect()
}

/// The calls as the record keeps them: arguments only where no action in the same append has them.
fn recorded(calls: &[Asked], tools: &Toolbox) -> Vec<Value> {
    // The first that is not written together with this record; an outside one's action still is.
    let alone = cuts(calls, tools).iter().position(|cut| *cut);
    let alone = alone.unwrap_or(calls.len());
    let is_outside = |call: &Asked| call.effect(tools) != Effect::Events;
    let is_outside = calls.get(alone).is_some_and(is_outside);
    let entry = |(index, call): (usize, &Asked)| {
        let back = call.asks_again(tools);
        let mut entry = json!({ "id": call.call_id, "tool": call.tool, "back": back });
        if let Some(written) = &call.written {
            entry["written"] = written.as_str().into();
        }
        if call.is_from_text {
            entry["from"] = FROM_TEXT.into();
        }
        if !call.mends.is_empty() {
            entry["mended"] = json!(call.mends);
        }
        if index > alone || (index == alone && !is_outside) {
            entry["arguments"] = call.shown_arguments();
        }
        entry
    };
    calls.iter().enumerate().map(entry).collect()
}

/// Returns the events that a call left; a reply that was streamed to readers has the id that it was
/// promised under.
fn promised(done: Vec<Draft>, id: Option<Uuid>) -> Vec<Draft> {
    let named = |draft: Draft| match id {
        Some(id) if matches!(draft.fact(), Fact::Reply(_)) => draft.with_id(id),
        _ => draft,
    };
    done.into_iter().map(named).collect()
}
