//! The turns that were about an input: whether it can be taken back with all of them. It can until
//! a later turn has begun, when they are over and did nothing outside of their thread.

use std::collections::BTreeMap;

use super::Inbox;
use super::withdrawing::taken;
use crate::refused::Refused;
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_event::fact::Fact;
use thinkd_event::fact::calls::Came;
use thinkd_event::fact::set::{Change, Set};
use thinkd_event::fact::told::News;
use thinkd_event::unshown::BACK_MAX;
use thinkd_log::error::StoreError;
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_thread::settings::Settings;
use thinkd_tools::tool::Effect;
use thinkd_tools::toolbox::Toolbox;
use thinkd_words::failure::FailureKind;
use thinkd_words::id::{Seq, Space};

/// Events that are read at a time.
const PAGE: u32 = 500;

/// The turns that were about an input, as far as they were read.
#[derive(Default)]
struct Turns {
    /// The first and the last; each but the last was interrupted.
    turns: Option<(u64, u64)>,
    /// The last turn of the thread: behind these only such as were about nothing.
    latest: u64,
    is_over: bool,
    is_behind: bool,
    /// A running turn took it in.
    has_joined: bool,
    /// An act that cannot be taken back, in words.
    done: Option<String>,
    /// The calls of tools with an effect outside that may have run: their tools by their ids.
    outside: BTreeMap<String, String>,
}

impl Turns {
    fn apply(&mut self, input: Seq, tools: &Toolbox, event: &Event) {
        let fact = event.fact();
        if let Fact::TurnStarted(started) = &fact {
            self.latest = started.turn;
            if started.batch.contains(&input) {
                let (first, _) = *self.turns.get_or_insert((started.turn, started.turn));
                self.turns = Some((first, started.turn));
                self.is_over = false;
            } else {
                self.is_behind |= self.turns.is_some() && !started.batch.is_empty();
            }
        }
        self.has_joined |= matches!(&fact, Fact::TurnSteered(steered) if steered.has(input));
        let Some((first, last)) = self.turns else {
            return;
        };
        let is_own = |turn: u64| (first..=last).contains(&turn);
        let done = match &fact {
            Fact::TurnEnded(ended) if ended.turn == last => {
                self.is_over = ended.outcome != Some(TurnOutcome::Interrupted);
                None
            }
            Fact::Action(action) if is_own(action.turn) => {
                if is_outside(tools, action.tool) {
                    let id = action.call_id.to_owned();
                    let tool = action.tool.to_owned();
                    self.outside.insert(id, tool);
                }
                None
            }
            Fact::Result(result) if is_own(result.turn) && was_not_run(&result.came) => {
                self.outside.remove(result.call_id);
                None
            }
            Fact::ApprovalPending(pending) if is_own(pending.turn) => {
                Some(format!("a call of {} was proposed to people", pending.tool))
            }
            Fact::ClientCall(call) if is_own(call.turn) => {
                Some(format!("the client was asked to run {}", call.tool))
            }
            Fact::Result(result) if is_own(result.turn) && result.sent > 0 => {
                Some("it has sent messages to other threads".to_owned())
            }
            Fact::Set(set) if !self.is_over => goes_on(set).map(str::to_owned),
            Fact::Told(told) if told.turn.is_some_and(is_own) => match &told.news {
                News::Spawned { child, .. } => Some(format!("it has made the thread {child}")),
                _ => None,
            },
            _ => None,
        };
        self.done = self.done.take().or(done);
    }

    /// Returns an act that cannot be taken back, in words.
    fn act(self) -> Option<String> {
        let ran = self.outside.into_values().next();
        self.done.or(ran.map(|tool| format!("{tool} has run")))
    }
}

/// Returns true for a failure of a call that did not run its tool. Any other result counts as a
/// run.
fn was_not_run(came: &Came<'_>) -> bool {
    let Came::Failed(problem) = came else {
        return false;
    };
    let reasons = ["unknown_tool", "invalid_arguments", "server_busy"];
    let is_refused = |reason: &&str| problem.detail["reason"] == **reason;
    problem.kind == FailureKind::Cancelled.as_str() || reasons.iter().any(is_refused)
}

/// A change of a thread that goes on behind the turn which made it, in words.
fn goes_on(set: &Set<'_>) -> Option<&'static str> {
    match &set.change {
        // The server's own timers have a mark in their key.
        Change::Timer(Some(_)) if !set.key.contains('!') => Some("it has set a timer"),
        Change::Schedule(Some(_)) => Some("it has made a schedule"),
        Change::Watch(Some(_)) => Some("it has raised a watch"),
        Change::Plan(_) => Some("it has made a plan"),
        _ => None,
    }
}

/// Returns whether a call of a tool may have done something outside; one that is not there any more
/// may.
fn is_outside(tools: &Toolbox, name: &str) -> bool {
    let effect = tools.get(name).map(|tool| {
        let spec = tool.spec();
        spec.gated.unwrap_or(spec.effect)
    });
    effect.is_none_or(|effect| effect == Effect::Outside)
}

impl Inbox {
    /// The first and the last turn about an input that a turn has had, and the last one of the
    /// thread; refused where it cannot be taken back.
    pub(super) async fn turns_about(
        &self,
        space: &Space,
        row: &ThreadRow,
        input: Seq,
    ) -> Result<((u64, u64), u64), Refused> {
        let shelf = self.0.mind.tools.of(&Settings::of(&row.settings));
        shelf.prepare(space).await?;
        let tools = shelf.now(space);
        let turns = self.read_turns(space, row, input, &tools).await?;
        if turns.is_behind {
            let text = "a later turn has begun: say what you mean now";
            return Err(Refused::Taken(text.to_owned()));
        }
        if turns.turns.is_none() && turns.has_joined && row.status != Status::Thinking {
            let text = "a running turn took it in, which is over: say what you mean now";
            return Err(Refused::Taken(text.to_owned()));
        }
        let Some(about) = turns.turns.filter(|_| turns.is_over) else {
            return Err(taken());
        };
        let latest = turns.latest;
        if let Some(done) = turns.act() {
            return Err(Refused::Taken(format!(
                "its turn has done something that cannot be taken back: {done}; say what you mean now"
            )));
        }
        if row.state.unshown.back.len() >= BACK_MAX {
            return Err(Refused::TooMany {
                what: "inputs of a thread that are taken back after their turn",
                limit: u32::try_from(BACK_MAX).unwrap_or(u32::MAX),
            });
        }
        Ok((about, latest))
    }

    async fn read_turns(
        &self,
        space: &Space,
        row: &ThreadRow,
        input: Seq,
        tools: &Toolbox,
    ) -> Result<Turns, StoreError> {
        let mut turns = Turns::default();
        let mut after = input;
        loop {
            let query = Query {
                thread: Some(row.thread.clone()),
                after: Some(after),
                show: Show::All,
                order: Order::Ascending,
                limit: PAGE,
                ..Query::default()
            };
            let page = self.0.store.events(space, &query).await?;
            page.iter()
                .for_each(|event| turns.apply(input, tools, event));
            match page.last() {
                Some(last) if page.len() == PAGE as usize && !turns.is_behind => after = last.seq,
                _ => return Ok(turns),
            }
        }
    }
}
