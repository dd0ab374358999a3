//! Calls that a person granted: the machine's knowledge of them, and the driver's run of one. The
//! start of a call with an effect outside is stored before the call runs, so that after a crash no
//! server takes it for one that did not happen.

use tokio::pin;

use super::driver::Driver;
use super::stop::Why;
use crate::action::Asked;
use crate::turn_writer::Lost;
use serde_json::Value;
use thinkd_event::condition::{Condition, RequestState};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_event::fact::Fact;
use thinkd_event::fact::approval::{Ruling, Started, Verdict};
use thinkd_event::fact::calls::{Call, Outcome};
use thinkd_event::request::Parked;
use thinkd_log::error::StoreError;
use thinkd_thread::settings::Commit;
use thinkd_tools::approval::Grant;
use thinkd_tools::tool::{CallSite, Effect};
use thinkd_tools::toolbox::Toolbox;
use thinkd_words::failure::Who;
use thinkd_words::id::Seq;

/// Most runs of a call that is overtaken; it is only events then.
const TRIES: u32 = 16;

/// A call that a verdict in the turn's batch lets run.
#[derive(Debug, Clone, PartialEq)]
pub struct Granted {
    /// The grant by which it may run.
    pub grant: Grant,
    /// The arguments that it runs with.
    pub arguments: Value,
    /// The seq of the verdict.
    pub verdict: Seq,
    /// Started before; its end is unknown.
    pub started: bool,
}

impl Granted {
    /// Returns the call that an event grants, if it is a verdict that grants one.
    pub fn by(event: &Event) -> Option<Self> {
        let Fact::ApprovalVerdict(Verdict {
            approval,
            call_id,
            tool,
            ruling: Ruling::Granted(granted),
            ..
        }) = event.fact()
        else {
            return None;
        };
        let grant = Grant {
            approval: approval.to_owned(),
            call_id: call_id.to_owned(),
            tool: tool.to_owned(),
            arguments_sha256: granted.arguments_sha256.to_owned(),
            tool_version: granted.tool_version.to_owned(),
        };
        Some(Self {
            grant,
            arguments: granted.arguments.clone(),
            verdict: event.seq,
            started: false,
        })
    }

    fn parked(&self, turn: u64) -> Parked {
        let grant = self.grant.clone();
        Parked {
            id: grant.approval,
            call_id: grant.call_id,
            tool: Some(grant.tool),
            server: None,
            client: None,
            turn,
            trial: None,
        }
    }

    fn is(&self, state: RequestState) -> Condition {
        Condition::Request {
            id: self.grant.approval.clone(),
            state,
        }
    }
}

impl Driver {
    /// Runs the next of the calls that were granted. Its result is written in this turn, under its lease.
    pub(super) async fn run_granted(
        &mut self,
        granted: &Granted,
    ) -> Result<Option<TurnOutcome>, Lost> {
        let parked = granted.parked(self.turn.number());
        let thread = self.place.thread.clone();
        if granted.started {
            let state = RequestState::Started;
            let left = parked.abandoned(&thread, state, "the server stopped");
            return self.settle(left).await;
        }
        let Grant { call_id, tool, .. } = granted.grant.clone();
        let call = Asked::new(call_id, tool, Ok(granted.arguments.clone()));
        let tools = self.toolbox().await?;
        let is_outside = call.effect_granted(&tools) == Effect::Outside;
        let mut state = RequestState::Granted;
        if is_outside {
            let started = Started {
                approval: &granted.grant.approval,
                turn: self.turn.number(),
                call_id: &call.call_id,
                tool: &call.tool,
                verdict: granted.verdict,
            };
            let started = Fact::ApprovalStarted(started).encode(&thread);
            self.settle(started.only_if(granted.is(state))).await?;
            state = RequestState::Started;
        }
        for _ in 0..TRIES {
            let mut site = self.site(&call, self.turn.intents());
            site.grant = Some(granted.grant.clone());
            let Some(done) = self.run_to_end(&tools, &call, &site).await else {
                // Left: whoever takes the turn up finds it as far as it came.
                if self.stop.why() == Some(Why::Leave) {
                    return Ok(None);
                }
                let left = parked.abandoned(&thread, state, "the turn was cancelled");
                return self.settle(left).await;
            };
            let drafts = self.with_result(done, &granted.grant, &site, granted.is(state));
            match self.write(drafts).await {
                Err(Lost::Store(StoreError::Unmet(Condition::Request { .. }))) => {
                    return Err(Lost::Stale);
                }
                // What it goes by has changed meanwhile; it is only events, so it runs again.
                Err(Lost::Store(StoreError::Unmet(_))) if !is_outside => {}
                Err(lost) => return Err(lost),
                Ok(_) => return Ok(None),
            }
        }
        let why = format!("what an approved call led to was overtaken {TRIES} times");
        Err(Lost::Store(StoreError::Broken(why)))
    }

    /// Writes a draft that holds only as long as no other writer has settled the approval: one that
    /// has, ended the thread.
    async fn settle(&mut self, draft: Draft) -> Result<Option<TurnOutcome>, Lost> {
        match self.write(vec![draft]).await {
            Err(Lost::Store(StoreError::Unmet(Condition::Request { .. }))) => Err(Lost::Stale),
            written => written.map(|_| None),
        }
    }

    /// Returns the events that the call leaves; none: it was stopped. Newer input waits for it: a
    /// person wanted it.
    async fn run_to_end(
        &self,
        tools: &Toolbox,
        call: &Asked,
        site: &CallSite,
    ) -> Option<Vec<Draft>> {
        // Carried out with its result, whatever becomes of the turn: a person wanted it, and the approval is used up.
        let run = call.run(tools, site, Commit::Immediate);
        pin!(run);
        tokio::select! {
            biased;
            done = &mut run => return Some(done),
            () = self.stop.token().cancelled() => {}
        }
        match self.stop.why() {
            Some(Why::Interrupt) => Some(run.await),
            _ => None,
        }
    }

    /// Returns the events that a call left, with a result in any case, which says by which approval
    /// it ran.
    fn with_result(
        &self,
        mut done: Vec<Draft>,
        grant: &Grant,
        site: &CallSite,
        only_if: Condition,
    ) -> Vec<Draft> {
        let is_result = |draft: &Draft| matches!(draft.fact(), Fact::Result(Outcome { call_id, .. }) if call_id == grant.call_id);
        let result = match done.iter().position(is_result) {
            Some(at) => done.remove(at),
            None => {
                let call = Call {
                    turn: site.turn,
                    by: &Who::Decision,
                    tool: &grant.tool,
                    call_id: &grant.call_id,
                };
                Draft::result(&site.thread, &call, "done".into(), 0)
            }
        };
        let mut intents = self.turn.intents().to_vec();
        intents.extend(result.preview_intent());
        let stepped = self.stepped(&intents, std::slice::from_ref(&result));
        let result = match self.settings.commit {
            Commit::Deferred => result.intending_no_more(&site.thread),
            Commit::Immediate => result,
        };
        done.push(result.of_approval(&grant.approval).only_if(only_if));
        done.extend(stepped);
        done
    }
}
