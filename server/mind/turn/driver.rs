//! The driver does what the turn machine says and appends the result. It makes no choice of its own.

use std::sync::Arc;

use serde_json::json;
use tokio_util::task::TaskTracker;

use super::closing::Closing;
use super::cut_off::why;
use super::ends::{Below, ending};
use super::options::TurnOptions;
use super::recalling::Recalling;
use super::stop::{Stop, Why};
use super::{Next, Turn};
use crate::event::draft::Draft;
use crate::event::envelope::{Event, TurnOutcome};
use crate::event::fact::Fact;
use crate::event::fact::points::points_of_end;
use crate::event::fact::set::{Change, Set};
use crate::event::fact::turn;
use crate::event::mood::{self, Mood};
use crate::event::process::{Ending, Waiting, described};
use crate::log::error::StoreError;
use crate::log::hint::DeltaOutcome;
use crate::log::projections::submodules::SubmoduleRow;
use crate::log::shown::Shown;
use crate::log::status::Status;
use crate::mind::action;
use crate::mind::call::{Ended, ModelClient, TurnPlace, Until};
use crate::mind::decision::{Deciding, Manner, Streamed, decide, partial};
use crate::mind::submodule::Tally;
use crate::mind::turn_writer::{Lost, TurnWriter};
use crate::mind::working::Working;
use crate::model::provider::Tier;
use crate::tasks::share::Processors;
use crate::thread::history;
use crate::thread::settings::{Language, Settings};
use crate::tools::toolbox::{Toolbox, Tools};
use crate::words::budget::Budget;
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::id::{Space, ThreadId};

mod asking;
mod recall;

/// What all turns share.
#[derive(Clone)]
pub struct Mind {
    /// Who asks the model.
    pub client: Arc<ModelClient>,
    /// The tools there are, by who has them.
    pub tools: Arc<Tools>,
    /// How turns go.
    pub options: TurnOptions,
    /// What may be used up.
    pub budget: Arc<Budget>,
    /// What turns recall, and whether they do.
    pub recalling: Recalling,
    /// The processors, which spaces share.
    pub processors: Processors,
    /// What became of the submodules that were asked.
    pub tally: Arc<Tally>,
    /// Where late submodules and follow-ups run on after their turn.
    pub beside: TaskTracker,
    /// How moods move.
    pub mood: mood::Options,
    /// Who sees to it that what an event asks for of others happens.
    pub on_stored: OnStored,
}

/// Is told of events that a turn stored.
pub type OnStored = Arc<dyn Fn(&Space, &Event) + Send + Sync>;

/// One turn under way.
pub struct Driver {
    /// What all turns share.
    pub mind: Mind,
    /// The turn's writer.
    pub writer: Arc<TurnWriter>,
    /// Where.
    pub place: TurnPlace,
    /// The machine.
    pub turn: Turn,
    /// The submodules there are.
    pub submodules: Vec<SubmoduleRow>,
    /// What the thread was created with.
    pub settings: Settings,
    /// The thread above.
    pub parent: Option<ThreadId>,
    /// Stops it.
    pub stop: Arc<Stop>,
    /// What the thread comes to when it ends.
    pub status: Status,
    /// The mood in which the thread is.
    pub mood: Mood,
    /// The points of all that happened to the thread so far, by which its mood moves.
    pub points: i64,
}

impl Driver {
    /// Drives the turn to its end. `None`: it was left, to be taken up again.
    pub async fn run(mut self) -> Result<Option<Status>, Lost> {
        let store = self.mind.client.store();
        let waits =
            (!self.turn.submodules().is_empty()).then_some(self.mind.options.submodule_timeout_ms);
        let _working = Working::begin(
            store,
            (&self.place.space, &self.place.thread, self.turn.number()),
            None,
            waits,
        );
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

    /// Says why the turn cannot go on, and ends it. A process that cannot be understood ends with it; whoever talks with a
    /// conversation, or to the main thread of a space, can say something else.
    async fn give_up(&mut self, failure: &Failure) -> Result<TurnOutcome, Lost> {
        let mut drafts = self.unheard().await?;
        drafts.push(self.failure(&Who::Decision, failure));
        let TurnPlace { space, thread, .. } = &self.place;
        if failure.kind == FailureKind::Interpreter
            && self.settings.is_process()
            && !thread.is_main()
        {
            let store = self.mind.client.store();
            let end = Ending {
                thread,
                status: Status::Failed.as_str(),
                reason: &failure.text,
                last: "",
            };
            drafts.extend(
                ending(store, space, &end, Below::End, crate::words::time::now())
                    .await
                    .map_err(Lost::Store)?,
            );
        }
        self.end(drafts, TurnOutcome::Failed).await
    }

    /// How the decision says what it wants done.
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
        let deciding = Deciding {
            client: self.mind.client.clone(),
            tools: self.toolbox().await?,
            place: self.place.clone(),
            batch: self.turn.batch().to_vec(),
            round,
            manner: self.manner(repair).await.map_err(Lost::Store)?,
            language: speaks.then(|| self.place.thread.label().to_owned()),
            prompt: self.settings.prompt.clone(),
            tier: self.tier(),
            calls: self.turn.calls_max().saturating_sub(self.turn.calls_made()),
            words_answer: self.shows_words(),
            until: Until::ms(self.mind.options.decision_timeout_ms),
            stop: self.stop.token().clone(),
        };
        let mut streamed = Streamed::default();
        let (ready, ended) = decide(&deciding, &mut streamed)
            .await
            .map_err(Lost::Store)?;
        match &ended {
            Ended::Answered(answer) => self.answered(answer, &ready, &ended, round, streamed).await,
            Ended::Failed(failure) => {
                let mut drafts = ready.records(&self.place, &ended, json!({}));
                drafts.extend(self.cut_off(&streamed, round));
                drafts.extend(self.unshown(&streamed, failure).await?);
                drafts.push(self.failure(&Who::Decision, failure));
                let outcome = self.end(drafts, TurnOutcome::Failed).await;
                self.end_stream(&mut streamed, partial(&outcome));
                outcome.map(Some)
            }
            Ended::Stopped => {
                let Some(outcome) = self.stop.why().and_then(Why::outcome) else {
                    self.end_stream(&mut streamed, DeltaOutcome::Discarded);
                    return Ok(None);
                };
                let mut drafts = ready.records(&self.place, &ended, json!({}));
                drafts.extend(self.cut_off(&streamed, round));
                let outcome = self.end(drafts, outcome).await;
                self.end_stream(&mut streamed, partial(&outcome));
                outcome.map(Some)
            }
        }
    }

    /// What kind of decision is to be made.
    async fn manner(&self, repair: bool) -> Result<Manner, StoreError> {
        if !self.settings.is_process() {
            let last = self.turn.is_last_round();
            return Ok(Manner::Conversation { repair, last });
        }
        let TurnPlace { space, thread, .. } = &self.place;
        let rows = self.mind.client.store().contacts(space, thread).await?;
        let mut lines: Vec<String> = rows
            .iter()
            .map(|row| {
                format!(
                    "- {} ({}): {}",
                    row.name,
                    row.target,
                    one_line(&described(&row.description))
                )
            })
            .collect();
        if let Some(parent) = &self.parent {
            lines.insert(
                0,
                format!(
                    "- parent ({parent}): {}",
                    self.mind.client.prompts().process_parent.source().as_str()
                ),
            );
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

    /// The tools that there are now. What went wrong with those of others is told here, once.
    pub(super) async fn toolbox(&mut self) -> Result<Toolbox, Lost> {
        let mind = self.mind.clone();
        let (shelf, space) = (mind.tools.of(&self.settings), self.place.space.clone());
        shelf.prepare(&space).await.map_err(Lost::Store)?;
        let news = shelf.news(&space);
        if !news.is_empty() {
            let drafts = news
                .iter()
                .map(|(who, failure)| self.failure(who, failure))
                .collect();
            self.write(drafts).await?;
        }
        let most = mind.client.tools_most(&Who::Decision, self.tier());
        Ok(most.map_or_else(|| shelf.now(&space), |most| shelf.within(&space, most)))
    }

    /// ③ ④ The end of the turn with what it leads to, and beside it the submodules hear what was decided.
    pub(super) async fn end(
        &mut self,
        mut drafts: Vec<Draft>,
        outcome: TurnOutcome,
    ) -> Result<TurnOutcome, Lost> {
        let thread = self.place.thread.clone();
        let mut ahead = self.turn.clone();
        drafts
            .iter()
            .for_each(|draft| ahead.apply(&draft.preview()));
        if ahead.leaves_calls() {
            let tools = self.mind.tools.of(&self.settings);
            // A turn that was taken over and ends at once has asked for none yet.
            let ready = tools.prepare(&self.place.space).await;
            ready.map_err(Lost::Store)?;
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
            None => self.closing(&ahead, outcome).await.map_err(Lost::Store)?,
        };
        drafts.extend(more);
        let status = ends(&drafts);
        self.status = status.unwrap_or(if waiting.is_some() {
            Status::Waiting
        } else {
            Status::Idle
        });
        let (turn, handled) = (self.turn.number(), Some(self.turn.last_of_batch()));
        let mood = self.mood_after(&drafts, outcome);
        let ended = turn::Ended {
            turn,
            outcome: Some(outcome),
            handled,
            wait: waiting,
            seen: None,
            mood,
        };
        drafts.push(Fact::TurnEnded(ended).encode(&thread));
        self.stop.end();
        let stored = self.writer.close(drafts).await?;
        self.stored(&stored);
        metrics::counter!("thinkd_turns_total", "outcome" => outcome.as_str()).increment(1);
        if outcome == TurnOutcome::Done
            && self.mind.options.follow_up
            && !self.submodules.is_empty()
        {
            self.follow_up();
        }
        Ok(outcome)
    }

    /// The mood in which the turn leaves the thread, with what is stored with its end; none: moods are off.
    fn mood_after(&self, drafts: &[Draft], outcome: TurnOutcome) -> Option<Mood> {
        let (
            TurnPlace {
                space,
                thread,
                turn,
                ..
            },
            options,
        ) = (&self.place, &self.mind.mood);
        if !options.enabled {
            return None;
        }
        let own = drafts
            .iter()
            .filter(|draft| draft.thread == self.place.thread)
            .map(|draft| draft.fact().points());
        let points = self.points + own.sum::<i64>() + points_of_end(outcome);
        Some(
            self.mood
                .after(points, mood::draw(options, space, thread, *turn), options),
        )
    }

    async fn closing(
        &self,
        ahead: &Turn,
        outcome: TurnOutcome,
    ) -> Result<(Vec<Draft>, Option<Waiting>), StoreError> {
        let closing = Closing {
            store: self.mind.client.store(),
            prompts: self.mind.client.prompts(),
            place: &self.place,
            settings: &self.settings,
            budget: &self.mind.budget,
            now: crate::words::time::now(),
            parent: self.parent.as_ref(),
        };
        closing.drafts(ahead, outcome).await
    }

    /// Takes in what was stored, and wakes other threads that it woke.
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

    fn end_stream(&self, streamed: &mut Streamed, outcome: DeltaOutcome) {
        streamed.end(self.mind.client.store().as_ref(), &self.place, |_| outcome);
    }

    pub(super) fn failure(&self, who: &Who, failure: &Failure) -> Draft {
        Draft::failure(&self.place.thread, Some(self.turn.number()), who, failure)
    }
}

/// A description in a line of its own, however many it was written in.
fn one_line(text: &str) -> String {
    history::one_line(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}
