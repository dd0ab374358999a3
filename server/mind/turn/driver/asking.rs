//! What a turn asks of its submodules: all of them at once, one of them, and whether they add something to what was decided.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinError;
use tokio::time::{Instant, timeout_at};

use super::Driver;
use crate::event::draft::{Draft, When};
use crate::event::envelope::TurnOutcome;
use crate::mind::call::Until;
use crate::mind::submodule::{
    self, Purpose, Submodule, SubmoduleAnswer, SubmoduleRequest, removed,
};
use crate::mind::turn::submodules::{SubmoduleTasks, drafts_of, late_submodules, write_beside};
use crate::mind::turn_writer::Lost;
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::id::Name;

/// Submodules that answer within so short a time of one another are written down together.
const TOGETHER: Duration = Duration::from_millis(1);

impl Driver {
    /// ① All submodules at once, until the deadline; what comes is appended as it comes.
    pub async fn listen(&mut self, names: Vec<Name>) -> Result<Option<TurnOutcome>, Lost> {
        let begin = Instant::now();
        let deadline = begin + Duration::from_millis(self.mind.options.submodule_timeout_ms);
        let late = self
            .mind
            .options
            .late_timeout_ms
            .max(self.mind.options.submodule_timeout_ms);
        let purpose = Purpose::New {
            batch: self.turn.batch().to_vec(),
        };
        let request = self.request(purpose, Until::ms(late)).await?;
        let mut asked = SubmoduleTasks::new(self.mind.processors.clone(), self.place.space.clone());
        let mut gone = Vec::new();
        for name in names {
            match self.submodule(&name) {
                Some(submodule) => asked.ask(request.clone(), submodule, When::InTime),
                None => gone.push(self.failure(&Who::Submodule(name), &removed())),
            }
        }
        if !gone.is_empty() {
            self.write(gone).await?;
        }
        loop {
            let answer = tokio::select! {
                biased;
                answer = asked.next() => answer,
                () = tokio::time::sleep_until(deadline) => {
                    let silent = asked.silent().map(|name| self.too_late(name)).collect();
                    self.write(silent).await?;
                    let late = late_submodules(asked, self.writer.clone(), self.place.clone(), self.turn.number(), self.mind.tally.clone());
                    self.mind.beside.spawn(self.mind.processors.of(&self.place.space, late));
                    return Ok(None);
                }
            };
            let Some(first) = answer else { return Ok(None) };
            let mut drafts = self.drafts_of(first);
            let moment = Instant::now() + TOGETHER;
            while let Ok(Some(more)) = timeout_at(moment, asked.next()).await {
                drafts.extend(self.drafts_of(more));
            }
            self.hear(drafts).await?;
        }
    }

    /// Writes down what submodules said.
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
        let mut asked = SubmoduleTasks::new(self.mind.processors.clone(), self.place.space.clone());
        let Some(submodule) = self.submodule(name) else {
            // `ask` checked that it is there: it was removed this very moment. The fold needs an end to the question.
            let record = json!({ "purpose": "answer", "last": true, "outcome": "refused" });
            let record = Draft::call_record(
                &self.place.thread,
                self.turn.number(),
                &Who::Submodule(name.clone()),
                record,
            );
            let failure = self.failure(&Who::Submodule(name.clone()), &removed());
            self.write(vec![record, failure]).await?;
            return Ok(None);
        };
        asked.ask(
            request,
            Submodule {
                own: Vec::new(),
                rounds: 0,
                ..submodule
            },
            When::InTime,
        );
        if let Some(answer) = asked.next().await {
            let drafts = self.drafts_of(answer);
            self.hear(drafts).await?;
        }
        Ok(None)
    }

    /// ④ The submodules hear the decision beside the turn, and may add something.
    pub fn follow_up(&self) {
        let decision = self.turn.decided().to_vec();
        let purpose = Purpose::FollowUp {
            batch: self.turn.batch().to_vec(),
            decision,
        };
        let until = Until::ms(self.mind.options.submodule_timeout_ms);
        let names = self.turn.submodules().iter();
        let submodules: Vec<_> = names
            .filter_map(|name| self.submodule(name))
            .map(|v| Submodule {
                own: vec![],
                rounds: 0,
                ..v
            })
            .collect();
        let (client, writer, place, turn) = (
            self.mind.client.clone(),
            self.writer.clone(),
            self.place.clone(),
            self.turn.number(),
        );
        let request = self.request_with(purpose, until);
        let tally = self.mind.tally.clone();
        let scope = submodule::scope(self.turn.batch());
        let (processors, space) = (self.mind.processors.clone(), place.space.clone());
        let follow_up = async move {
            let there = match client.store().submodules(&place.space).await {
                Ok(there) => there,
                Err(error) => {
                    return tracing::warn!(%error, thread = %place.thread, turn, "follow-up left out");
                }
            };
            let follows_up =
                |name: &Name| there.iter().any(|row| row.name == *name && row.follow_up);
            let submodules: Vec<_> = submodules
                .into_iter()
                .filter(|submodule| follows_up(&submodule.name))
                .collect();
            if submodules.is_empty() {
                return;
            }
            let view = match client.view(&place, scope).await {
                Ok(view) => Arc::new(view),
                Err(error) => {
                    return tracing::warn!(%error, thread = %place.thread, turn, "follow-up left out");
                }
            };
            let mut asked = SubmoduleTasks::new(processors, place.space.clone());
            submodules
                .into_iter()
                .for_each(|submodule| asked.ask(request(view.clone()), submodule, When::FollowUp));
            while let Some(answer) = asked.next().await {
                if let Ok(answer) = &answer {
                    tally.count(&place.space, answer, false);
                }
                let drafts = drafts_of(answer, &place, turn, When::FollowUp);
                let drafts = submodule::dated(&client, &place.space, drafts).await;
                write_beside(&writer, drafts).await;
            }
        };
        self.mind
            .beside
            .spawn(self.mind.processors.of(&space, follow_up));
    }

    async fn request(&self, purpose: Purpose, until: Until) -> Result<SubmoduleRequest, Lost> {
        let view = self
            .mind
            .client
            .view(&self.place, submodule::scope(self.turn.batch()))
            .await
            .map_err(Lost::Store)?;
        Ok(self.request_with(purpose, until)(Arc::new(view)))
    }

    fn request_with(
        &self,
        purpose: Purpose,
        until: Until,
    ) -> impl Fn(Arc<crate::mind::call::PromptView>) -> SubmoduleRequest + Send + use<> {
        let (mind, writer, place) = (self.mind.clone(), self.writer.clone(), self.place.clone());
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
        let row = self.submodules.iter().find(|row| row.name == *name)?;
        let (own, rounds) = self.turn.earlier_calls(name);
        Some(Submodule {
            name: name.clone(),
            prompt: row.prompt.clone(),
            own,
            rounds,
        })
    }

    fn too_late(&self, name: &Name) -> Draft {
        let limit = self.mind.options.submodule_timeout_ms;
        let text = format!(
            "the voice {name} had nothing to say within {limit} ms; the decision goes on without it"
        );
        self.failure(
            &Who::Submodule(name.clone()),
            &Failure::new(FailureKind::Timeout, text).retryable(),
        )
    }

    fn drafts_of(&self, answer: Result<SubmoduleAnswer, (Name, JoinError)>) -> Vec<Draft> {
        if let Ok(answer) = &answer {
            self.mind.tally.count(&self.place.space, answer, false);
        }
        drafts_of(answer, &self.place, self.turn.number(), When::InTime)
    }
}
