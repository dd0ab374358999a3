//! The driver does the steps that the turn machine names and appends the results. It makes no
//! choice of its own.

use std::sync::Arc;

use serde_json::json;
use tokio_util::task::TaskTracker;

use super::closing::{Closed, Closing};
use super::cut_off::why;
use super::ends::{Below, ending};
use super::options::TurnOptions;
use super::recalling::Recalling;
use super::stop::{Stop, Why};
use super::{Next, Turn};
use crate::action;
use crate::call::{Ended, ModelClient, TurnPlace, Until, Working};
use crate::decision::{Deciding, Manner, Streamed, decide, partial};
use crate::submodule::Tally;
use crate::turn_writer::{Lost, TurnWriter};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_event::fact::Fact;
use thinkd_event::fact::points::points_of_end;
use thinkd_event::fact::set::{Change, Set};
use thinkd_event::fact::turn;
use thinkd_event::mood::{self, Mood};
use thinkd_event::process::{Ending, described};
use thinkd_log::error::StoreError;
use thinkd_log::hint::DeltaOutcome;
use thinkd_log::kernel::Store;
use thinkd_log::projections::submodules::SubmoduleRow;
use thinkd_log::shown::Shown;
use thinkd_log::status::Status;
use thinkd_model::provider::Tier;
use thinkd_tasks::share::Processors;
use thinkd_thread::history;
use thinkd_thread::settings::{Language, Settings};
use thinkd_tools::toolbox::client::ClientTools;
use thinkd_tools::toolbox::{Toolbox, Tools};
use thinkd_words::budget::Budget;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{Seq, Space, ThreadId};

mod asking;
mod recall;
mod steering;

/// The parts that all turns share.
#[derive(Clone)]
pub struct Mind {
    /// The client that asks the model.
    pub client: Arc<ModelClient>,
    /// The tools there are, by their callers.
    pub tools: Arc<Tools>,
    /// The options of turns.
    pub options: TurnOptions,
    /// The budget.
    pub budget: Arc<Budget>,
    /// The finder and the limits of recalls in turns; these may be off.
    pub recalling: Recalling,
    /// The processors, which spaces share.
    pub processors: Processors,
    /// The counts of answers of the submodules that were asked.
    pub tally: Arc<Tally>,
    /// The tracker of late submodules and follow-ups, which run on after their turn.
    pub beside: TaskTracker,
    /// The options of moods.
    pub mood: mood::Options,
    /// Sees to it that the demands of an event on others are met.
    pub on_stored: OnStored,
}

/// Is told of events that a turn stored.
pub type OnStored = Arc<dyn Fn(&Space, &Event) + Send + Sync>;

/// The part of its mailbox that a turn has looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mail {
    /// Everything up to here was looked at.
    pub looked: Seq,
    /// Something waits there that has a turn of its own.
    pub is_parted: bool,
}

/// One turn under way.
pub struct Driver {
    /// The parts that all turns share.
    pub mind: Mind,
    /// The turn's writer.
    pub writer: Arc<TurnWriter>,
    /// The place.
    pub place: TurnPlace,
    /// The machine.
    pub turn: Turn,
    /// The submodules there are.
    pub submodules: Vec<SubmoduleRow>,
    /// The settings that the thread was created with.
    pub settings: Settings,
    /// The tools that a client offered with the newest words.
    pub client: Option<ClientTools>,
    /// The round from which on they are offered.
    pub offered_at: u64,
    /// The thread above.
    pub parent: Option<ThreadId>,
    /// Stops it.
    pub stop: Arc<Stop>,
    /// The status of the thread when the turn ends.
    pub status: Status,
    /// The mood in which the thread is.
    pub mood: Mood,
    /// The points of all that happened to the thread so far, by which its mood moves.
    pub points: i64,
    /// The part of the mailbox that was looked through for messages that join the turn.
    pub mail: Mail,
}

impl Driver {
    /// Drives the turn to its end. `None`: it was left, to be taken up again.
    pub async fn run(mut self) -> Result<Option<Status>, Lost> {
        let listens = !self.turn.submodules().is_empty();
        let waits = listens.then_some(self.mind.options.submodule_timeout_ms);
        let _working = Working::begin(self.store(), &self.place, None, waits);
        let ended = self.go().await?;
        Ok(ended.map(|_| self.status))
    }

    async fn go(&mut self) -> Result<Option<TurnOutcome>, Lost> {
        loop {
            let next = self.turn.next();
            tracing::debug!(thread = %self.place.thread, turn = self.turn.number(), phase = %self.turn.phase(), "turn");
            match self.stop.why().map(Why::outcome) {
                Some(None) => return Ok(None),
                Some(Some(outcome)) if next != Next::Over => {
                    return self.end(Vec::new(), outcome).await.map(Some);
                }
                _ => {}
            }
            let ended = match next {
                Next::Run(granted) => self.run_granted(&granted).await?,
                Next::Recall => self.recall().await?,
                Next::Listen(names) => self.listen(names).await?,
                Next::Answer(name, question) => self.answer(&name, question).await?,
                Next::Act(pending) => self.act_again(pending).await?,
                Next::Decide { round, .. } if self.take_in(round).await? => None,
                Next::Decide { round, repair } => self.decide(round, repair).await?,
                Next::GiveUp(failure) => Some(self.give_up(&failure).await?),
                Next::End(outcome) => Some(self.end(Vec::new(), outcome).await?),
                Next::Over => return Ok(Some(TurnOutcome::Done)),
            };
            if ended.is_some() {
                return Ok(ended);
            }
        }
    }

    /// Says why the turn cannot go on, and ends it. A process that cannot be understood ends with
    /// it; the partner of a conversation, or of the main thread of a space, can say something else.
    async fn give_up(&mut self, failure: &Failure) -> Result<TurnOutcome, Lost> {
        let mut drafts = self.unheard().await?;
        drafts.push(self.failure(&Who::Decision, failure));
        let TurnPlace { space, thread, .. } = &self.place;
        if failure.kind == FailureKind::Interpreter
            && self.settings.is_process()
            && !thread.is_main()
        {
            let end = Ending {
                thread,
                status: Status::Failed.as_str(),
                reason: &failure.text,
                last: "",
            };
            let now = thinkd_words::time::now();
            drafts.extend(ending(self.store(), space, &end, Below::End, now).await?);
        }
        self.end(drafts, TurnOutcome::Failed).await
    }

    /// Returns a stream of which readers have been shown nothing yet.
    pub(super) fn streamed(&self) -> Streamed {
        Streamed::new(self.store().clone(), self.place.clone())
    }

    /// The store of its thread.
    pub(super) fn store(&self) -> &Arc<dyn Store> {
        self.mind.client.store()
    }

    /// Returns the language in which the decision acts.
    pub(super) fn language(&self) -> Language {
        self.settings.language(self.mind.options.language)
    }

    fn tier(&self) -> Tier {
        match self.settings.high_tier {
            true => Tier::High,
            false => Tier::Low,
        }
    }

    /// ② The decision.
    async fn decide(&mut self, round: u64, repair: bool) -> Result<Option<TurnOutcome>, Lost> {
        let speaks = match self.language() {
            Language::Tools => false,
            Language::Xml => true,
            // A process goes on by words alone: those say nothing of what it can.
            Language::Auto => !self.settings.is_process() && (repair || self.turn.calls_no_tools()),
        };
        let tools = self.toolbox().await?;
        let deciding = Deciding {
            client: self.mind.client.clone(),
            must: self.must(round, &tools),
            tools,
            place: self.place.clone(),
            batch: self.turn.batch().to_vec(),
            joined: self.turn.joined().to_vec(),
            up_to: self.turn.up_to(),
            round,
            manner: self.manner(repair).await?,
            language: speaks.then(|| self.place.thread.label().to_owned()),
            prompt: self.settings.prompt.clone(),
            tier: self.tier(),
            calls: self.turn.calls_max().saturating_sub(self.turn.calls_made()),
            words_answer: self.shows_words(),
            until: Until::ms(self.mind.options.decision_timeout_ms),
            stop: self.stop.token().clone(),
        };
        let mut streamed = self.streamed();
        let (ready, ended) = decide(&deciding, &mut streamed).await?;
        let outcome = match &ended {
            Ended::Answered(answer) => {
                return self.answered(answer, &ready, &ended, round, streamed).await;
            }
            Ended::Failed(_) => Some(TurnOutcome::Failed),
            Ended::Stopped => self.stop.why().and_then(Why::outcome),
        };
        let Some(outcome) = outcome else {
            streamed.end(|_| DeltaOutcome::Discarded);
            return Ok(None);
        };
        let mut drafts = ready.records(&self.place, &ended, json!({}));
        drafts.extend(self.cut_off(&streamed, round));
        if let Ended::Failed(failure) = &ended {
            drafts.extend(self.unshown(&streamed, failure).await?);
            drafts.push(self.failure(&Who::Decision, failure));
        }
        let outcome = self.end(drafts, outcome).await;
        streamed.end(|_| partial(&outcome));
        outcome.map(Some)
    }

    /// Returns the kind of decision that is to be made.
    async fn manner(&self, repair: bool) -> Result<Manner, StoreError> {
        if !self.settings.is_process() {
            let last = self.turn.is_last_round();
            return Ok(Manner::Conversation { repair, last });
        }
        let TurnPlace { space, thread, .. } = &self.place;
        let mut lines = Vec::new();
        if let Some(parent) = &self.parent {
            let about = self.mind.client.prompts().process_parent.source();
            lines.push(format!("- parent ({parent}): {}", about.as_str()));
        }
        for row in self.store().contacts(space, thread).await? {
            let about = one_line(&described(&row.description));
            lines.push(format!("- {} ({}): {about}", row.name, row.target));
        }
        lines.push(format!("- self ({thread})"));
        let contacts = lines.join("\n");
        Ok(match self.turn.step() {
            None => Manner::Process { contacts },
            Some(step) => {
                let state = serde_json::to_string(step).unwrap_or_default();
                Manner::Step {
                    contacts,
                    operation: step.asks_for(),
                    state,
                }
            }
        })
    }

    /// Returns the tools that there are now. Failures of tools that come and go are told here,
    /// once.
    pub(super) async fn toolbox(&mut self) -> Result<Toolbox, Lost> {
        let all = self.mind.tools.clone();
        let shelf = all.of(&self.settings);
        let space = self.place.space.clone();
        shelf.prepare(&space).await?;
        let news = shelf.news(&space);
        if !news.is_empty() {
            let told = news.iter().map(|(who, failure)| self.failure(who, failure));
            let told = told.collect();
            self.write(told).await?;
        }
        let most = self.mind.client.tools_most(&Who::Decision, self.tier());
        if let Some(client) = &self.client {
            return Ok(shelf.offering(&space, most, client));
        }
        Ok(most.map_or_else(|| shelf.now(&space), |most| shelf.within(&space, most)))
    }

    /// Returns the tools of which the client wants one called, as the model is told of them: by the
    /// first answer to its words.
    fn must(&self, round: u64, tools: &Toolbox) -> Vec<String> {
        let client = self.client.as_ref().filter(|_| round == self.offered_at);
        client.map_or_else(Vec::new, |client| tools.told_as(&client.offer.must))
    }

    /// ③ ④ Ends the turn with its consequences; beside it the submodules hear the decision.
    pub(super) async fn end(
        &mut self,
        drafts: Vec<Draft>,
        outcome: TurnOutcome,
    ) -> Result<TurnOutcome, Lost> {
        let ahead = self.ahead(&drafts);
        self.end_ahead(&ahead, drafts, outcome).await
    }

    /// The turn as it is when these are stored.
    pub(super) fn ahead(&self, drafts: &[Draft]) -> Turn {
        let mut ahead = self.turn.clone();
        drafts.iter().for_each(|it| ahead.apply(&it.preview()));
        ahead
    }

    /// Ends the turn in the same way. `ahead`: the machine after the drafts that are stored with
    /// the end.
    pub(super) async fn end_ahead(
        &mut self,
        ahead: &Turn,
        mut drafts: Vec<Draft>,
        outcome: TurnOutcome,
    ) -> Result<TurnOutcome, Lost> {
        let thread = self.place.thread.clone();
        if ahead.leaves_calls() {
            let tools = self.mind.tools.of(&self.settings);
            // A turn that was taken over and ends at once has asked for none yet.
            tools.prepare(&self.place.space).await?;
            drafts.extend(ahead.cut_off(&thread, &tools.now(&self.place.space), why(outcome)));
        }
        let ends = |drafts: &[Draft]| {
            let mut own = drafts.iter().filter(|draft| draft.thread == thread);
            own.find_map(|draft| match draft.fact() {
                Fact::Set(Set {
                    change: Change::Thread(change),
                    ..
                }) => change.status.and_then(Status::parse),
                _ => None,
            })
        };
        // A thread that ends with a failure tells that, and does not wait.
        let (more, waiting) = match ends(&drafts) {
            Some(_) => (Vec::new(), None),
            None => self.closing(ahead, outcome).await?,
        };
        drafts.extend(more);
        let left = match waiting {
            Some(_) => Status::Waiting,
            None => Status::Idle,
        };
        self.status = ends(&drafts).unwrap_or(left);
        let ended = turn::Ended {
            turn: self.turn.number(),
            outcome: Some(outcome),
            handled: Some(self.turn.up_to()),
            wait: waiting,
            seen: None,
            mood: self.mood_after(&drafts, outcome),
        };
        drafts.push(Fact::TurnEnded(ended).encode(&thread));
        self.stop.end();
        let stored = self.writer.close(drafts).await?;
        self.stored(&stored);
        metrics::counter!("thinkd_turns_total", "outcome" => outcome.as_str()).increment(1);
        let follows_up = self.mind.options.follow_up && !self.submodules.is_empty();
        // The submodules hear what came of the calls of the client, too.
        if outcome == TurnOutcome::Done && follows_up && !ahead.waits_for_client() {
            self.follow_up();
        }
        Ok(outcome)
    }

    /// Returns the mood in which the turn leaves the thread, with the drafts stored with its end;
    /// none: moods are off.
    fn mood_after(&self, drafts: &[Draft], outcome: TurnOutcome) -> Option<Mood> {
        let options = &self.mind.mood;
        if !options.is_on() {
            return None;
        }
        let place = &self.place;
        let own = drafts.iter().filter(|draft| draft.thread == place.thread);
        let own = own.map(|draft| draft.fact().points()).sum::<i64>();
        let points = self.points + own + points_of_end(outcome);
        let draw = mood::draw(options, &place.space, &place.thread, place.turn);
        Some(self.mood.after(points, draw, options))
    }

    async fn closing(&self, ahead: &Turn, outcome: TurnOutcome) -> Result<Closed, StoreError> {
        let closing = Closing {
            store: self.store(),
            prompts: self.mind.client.prompts(),
            place: &self.place,
            settings: &self.settings,
            budget: &self.mind.budget,
            now: thinkd_words::time::now(),
            parent: self.parent.as_ref(),
            with_above: self.stop.why() == Some(Why::CancelWithAbove),
        };
        closing.drafts(ahead, outcome).await
    }

    /// Takes in the stored events. Passes on those of other threads, and those of its own that do
    /// not wake.
    fn stored(&mut self, stored: &[Arc<Shown>]) {
        for shown in stored {
            let event = &shown.event;
            self.place.purse.stored(event, &self.place.thread);
            if event.thread == self.place.thread {
                self.points += event.fact().points();
                self.turn.apply(event);
            }
            // The thread itself is looked after as long as it has something to do.
            if event.thread != self.place.thread || !event.wakes() {
                (self.mind.on_stored)(&self.place.space, event);
            }
        }
    }

    /// Appends, and lets the machine know. Returns the ids.
    pub(super) async fn write(&mut self, drafts: Vec<Draft>) -> Result<Vec<uuid::Uuid>, Lost> {
        let stored = self.writer.write(drafts).await?;
        self.stored(&stored);
        Ok(stored.iter().map(|shown| shown.event.event_id).collect())
    }

    fn cut_off(&self, streamed: &Streamed, round: u64) -> Vec<Draft> {
        let reply = |(index, id, text): (usize, uuid::Uuid, &str)| {
            let call_id = action::call_id(&action::decision(self.turn.number()), round, index);
            Draft::reply(&self.place.thread, self.turn.number(), &call_id, text, true).with_id(id)
        };
        streamed.begun().map(reply).collect()
    }

    pub(super) fn failure(&self, who: &Who, failure: &Failure) -> Draft {
        self.place.failure(who, failure)
    }
}

/// A description in a line of its own, however many it was written in.
fn one_line(text: &str) -> String {
    history::one_line(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}
