//! The questions of a turn to its submodules: to all of them at once, to one of them, and for
//! additions to the decision.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::Driver;
use crate::call::{PromptView, Until};
use crate::submodule::{self, Purpose, Submodule, SubmoduleRequest, removed};
use crate::turn::submodules::{SubmoduleTasks, late_submodules, write_beside};
use crate::turn_writer::Lost;
use thinkd_event::draft::{Draft, When};
use thinkd_event::envelope::TurnOutcome;
use thinkd_log::error::StoreError;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::Name;

/// Submodules that answer within so short a time of one another are written down together.
const TOGETHER: Duration = Duration::from_millis(1);

impl Driver {
    /// ① Asks all submodules at once, until the deadline; answers are appended as they come.
    pub async fn listen(&mut self, names: Vec<Name>) -> Result<Option<TurnOutcome>, Lost> {
        let begin = Instant::now();
        let options = &self.mind.options;
        let deadline = begin + Duration::from_millis(options.submodule_timeout_ms);
        let late = options.late_timeout_ms.max(options.submodule_timeout_ms);
        let purpose = Purpose::New {
            batch: self.turn.news().to_vec(),
        };
        let request = self.request(purpose, Until::ms(late)).await?;
        let mut asked = self.submodule_tasks(When::InTime);
        let mut gone = Vec::new();
        for name in names {
            match self.submodule(&name) {
                Some(submodule) => asked.ask(request.clone(), submodule),
                None => gone.push(self.failure(&Who::Submodule(name), &removed())),
            }
        }
        if !gone.is_empty() {
            self.write(gone).await?;
        }
        loop {
            let answer = tokio::select! {
                biased;
                answer = asked.next(false) => answer,
                () = tokio::time::sleep_until(deadline) => {
                    let silent = asked.silent().map(|name| self.too_late(name)).collect();
                    self.write(silent).await?;
                    let late = late_submodules(asked, self.writer.clone());
                    self.mind.beside.spawn(self.mind.processors.of(&self.place.space, late));
                    return Ok(None);
                }
            };
            let Some(first) = answer else { return Ok(None) };
            let mut drafts = first.drafts;
            let moment = Instant::now() + TOGETHER;
            while let Ok(Some(more)) = timeout_at(moment, asked.next(false)).await {
                drafts.extend(more.drafts);
            }
            self.hear(drafts).await?;
        }
    }

    /// The tasks of the submodules of this turn, none of which is asked yet.
    fn submodule_tasks(&self, when: When) -> SubmoduleTasks {
        let processors = self.mind.processors.clone();
        let tally = self.mind.tally.clone();
        SubmoduleTasks::new(processors, tally, self.place.clone(), when)
    }

    /// Writes down the words of submodules.
    async fn hear(&mut self, drafts: Vec<Draft>) -> Result<(), Lost> {
        let drafts = submodule::dated(&self.mind.client, &self.place.space, drafts).await;
        self.write(drafts).await.map(drop)
    }

    /// A question of the decision, answered by one submodule.
    pub async fn answer(
        &mut self,
        name: &Name,
        question: i64,
    ) -> Result<Option<TurnOutcome>, Lost> {
        let until = Until::ms(self.mind.options.submodule_timeout_ms);
        let request = self.request(Purpose::Asked { question }, until).await?;
        let Some(submodule) = self.submodule_anew(name) else {
            // `ask` checked that it is there: it was removed this very moment. The fold needs an end to the question.
            let who = Who::Submodule(name.clone());
            let record = json!({ "purpose": "answer", "last": true, "outcome": "refused" });
            let record = Draft::call_record(&self.place.thread, self.place.turn, &who, record);
            let failure = self.failure(&who, &removed());
            self.write(vec![record, failure]).await?;
            return Ok(None);
        };
        let mut asked = self.submodule_tasks(When::InTime);
        asked.ask(request, submodule);
        if let Some(answer) = asked.next(false).await {
            self.hear(answer.drafts).await?;
        }
        Ok(None)
    }

    /// ④ The submodules hear the decision beside the turn, and may add something.
    pub fn follow_up(&self) {
        let purpose = Purpose::FollowUp {
            batch: self.turn.about(),
            decision: self.turn.decided().to_vec(),
        };
        let until = Until::ms(self.mind.options.submodule_timeout_ms);
        let names = self.turn.submodules().iter();
        let mut submodules = Vec::from_iter(names.filter_map(|name| self.submodule_anew(name)));
        let request = self.request_with(purpose, until);
        let mut asked = self.submodule_tasks(When::FollowUp);
        let scope = submodule::scope(self.turn.batch());
        let client = self.mind.client.clone();
        let writer = self.writer.clone();
        let place = self.place.clone();
        let follow_up = async move {
            let there = client.store().submodules(&place.space).await?;
            let follows_up = |name: &Name| there.iter().any(|it| it.name == *name && it.follow_up);
            submodules.retain(|submodule| follows_up(&submodule.name));
            if submodules.is_empty() {
                return Ok(());
            }
            let view = Arc::new(client.view(&place, scope).await?);
            for submodule in submodules {
                asked.ask(request(view.clone()), submodule);
            }
            while let Some(answer) = asked.next(false).await {
                let drafts = submodule::dated(&client, &place.space, answer.drafts).await;
                write_beside(&writer, drafts).await;
            }
            Ok::<_, StoreError>(())
        };
        let thread = self.place.thread.clone();
        let turn = self.place.turn;
        let follow_up = async move {
            if let Err(error) = follow_up.await {
                tracing::warn!(%error, %thread, turn, "follow-up left out");
            }
        };
        let follow_up = self.mind.processors.of(&self.place.space, follow_up);
        self.mind.beside.spawn(follow_up);
    }

    async fn request(&self, purpose: Purpose, until: Until) -> Result<SubmoduleRequest, Lost> {
        let scope = submodule::scope(self.turn.batch());
        let view = self.mind.client.view(&self.place, scope).await?;
        Ok(self.request_with(purpose, until)(Arc::new(view)))
    }

    fn request_with(
        &self,
        purpose: Purpose,
        until: Until,
    ) -> impl Fn(Arc<PromptView>) -> SubmoduleRequest + Send + use<> {
        let mind = self.mind.clone();
        let writer = self.writer.clone();
        let place = self.place.clone();
        let stop = self.stop.token().clone();
        move |view| SubmoduleRequest {
            client: mind.client.clone(),
            tools: mind.tools.submodule.now(&place.space),
            writer: writer.clone(),
            place: place.clone(),
            view,
            purpose: purpose.clone(),
            until,
            rounds_max: mind.options.max_rounds.max(1),
            calls_max: mind.options.max_tool_calls,
            stop: stop.clone(),
        }
    }

    fn submodule(&self, name: &Name) -> Option<Submodule> {
        let (own, rounds, before) = self.turn.earlier_calls(name);
        Some(Submodule {
            own,
            rounds,
            before,
            ..self.submodule_anew(name)?
        })
    }

    /// Returns the same, for a question about another matter than the turn's.
    fn submodule_anew(&self, name: &Name) -> Option<Submodule> {
        let row = self.submodules.iter().find(|row| row.name == *name)?;
        Some(Submodule {
            name: name.clone(),
            prompt: row.prompt.clone(),
            own: Vec::new(),
            rounds: 0,
            before: 0,
        })
    }

    fn too_late(&self, name: &Name) -> Draft {
        let limit = self.mind.options.submodule_timeout_ms;
        let text = format!(
            "the voice {name} had nothing to say within {limit} ms; the decision goes on without it"
        );
        let failure = Failure::new(FailureKind::Timeout, text).retryable();
        self.failure(&Who::Submodule(name.clone()), &failure)
    }
}
