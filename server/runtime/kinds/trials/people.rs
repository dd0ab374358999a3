//! The instrument *user*: a question to people, which waits in the queue of all questions
//! (`runtime/requests.rs`). Its answer is the reading, and stands behind it in one append; nothing
//! here waits for it.

use std::time::Duration;

use super::asking::quoted;
use super::bench::{Bench, OnTrial};
use super::journal::{Journal, Stored};
use crate::event::condition::RequestState;
use crate::event::fact::Fact;
use crate::event::fact::question::Question;
use crate::event::method::may_answer;
use crate::event::request::{Parked, Settled};
use crate::event::statement::people::CHOICES;
use crate::event::statement::{Answer, Claimant, OfTrial, Prediction, Reading};
use crate::event::trial::News;
use crate::log::projections::statements::StatementRow;
use crate::mind::turn_writer::Lost;
use crate::tools::approval::after;
use crate::words::id;
use crate::words::time;

/// Questions that are looked at to count those of trials.
const LOOKED_AT: u32 = 500;

/// A name that nobody has: whether anybody could answer.
const ANYBODY: &str = "\u{0}";

/// Returns how many questions more people may be asked now, of `most`; none while they are away.
pub(super) async fn room_for_questions(journal: Journal<'_>, most: u32) -> Stored<usize> {
    let (store, space) = (journal.store, journal.space);
    if most == 0 || store.is_user_away(space).await? {
        return Ok(0);
    }
    let open = store
        .requests(space, RequestState::Question, 0, LOOKED_AT)
        .await?;
    let of_trials = open.iter().filter(|row| row.is_of_trial()).count();
    let is_all = open.len() < LOOKED_AT as usize;
    Ok((most as usize).saturating_sub(of_trials) * usize::from(is_all))
}

/// Returns true if there can be people who did not claim a statement.
pub(super) fn somebody_may_answer(row: &StatementRow) -> bool {
    let claimants: Vec<Claimant> = row.sources.iter().map(|source| source.by.clone()).collect();
    may_answer(&claimants, Some(ANYBODY))
}

impl Bench<'_> {
    /// Returns true if there are people who may test a statement: who are there, did not claim it,
    /// and have not too much to answer already.
    pub async fn has_people_for(&self, row: &StatementRow) -> Stored<bool> {
        let most = self.trials.memory().questions;
        Ok(somebody_may_answer(row) && room_for_questions(self.journal, most).await? > 0)
    }

    /// Asks people, and waits for nobody: question and reading are one append, so that a crash asks
    /// once.
    pub async fn ask_people(
        &self,
        on: &mut OnTrial,
        of: &Prediction,
        begun: Reading,
    ) -> Result<(), Lost> {
        let _asking = self.asking.lock().await;
        // Others were asked meanwhile, or people went: the rules are looked at again.
        if !self.has_people_for(&on.row).await? {
            return Ok(());
        }
        let id = id::fresh();
        let question = id.to_string();
        let limit = Duration::from_millis(self.trials.memory().question_ms);
        let until = after(time::now(), limit);
        let trial = OfTrial {
            statement: on.row.id.clone(),
            prediction: begun.prediction,
        };
        let asked = Question {
            question: &question,
            turn: 0,
            call_id: &on.row.id,
            text: &asked_of_people(of, &on.row.text),
            choices: CHOICES.into(),
            schema: None,
            who: Vec::new(),
            expires: &until.to_string(),
            server: None,
            trial: Some(trial),
        };
        let draft = Fact::Question(asked).encode(&on.row.thread).with_id(id);
        let reading = Reading {
            answer: Answer::Asked,
            note: "people are asked".into(),
            source: Some(question),
            until: Some(until),
            ..begun
        };
        self.say(on, vec![draft], News::Read(reading)).await?;
        // Who looks for what is due, and for people who went meanwhile, is told as of any other
        // question.
        let Journal {
            store,
            space,
            waker,
        } = self.journal;
        if let Some(event) = store.event(space, id).await? {
            (waker.on_stored())(space, &event);
        }
        Ok(())
    }

    /// Nobody answered in time, and nobody has written that down yet.
    pub async fn expire(&self, on: &mut OnTrial, prediction: usize) -> Result<(), Lost> {
        let is_it = |it: &&Reading| it.prediction == prediction && it.answer == Answer::Asked;
        let asked = on.trial.readings.iter().find(is_it);
        let asked = asked.and_then(|it| it.source.clone()).unwrap_or_default();
        let trial = OfTrial {
            statement: on.row.id.clone(),
            prediction,
        };
        let parked = Parked {
            id: asked.clone(),
            call_id: on.row.id.clone(),
            tool: None,
            server: None,
            turn: 0,
            trial: Some(trial.clone()),
        };
        let expired = parked.settled(&on.row.thread, Settled::Expired);
        self.writer.write(expired).await?;
        let reading = trial.reading(&asked, None, Err("nobody answered in time"));
        on.trial.apply(News::Read(reading));
        let row = self.journal.statement(&on.row.id).await?;
        on.row.changed = row.map_or(0, |row| row.changed);
        Ok(())
    }
}

/// Returns the text for people: the question, and the claim that it tests, as one JSON string:
/// nothing in it can pass for the question.
fn asked_of_people(of: &Prediction, claim: &str) -> String {
    let question = of.question.as_deref().unwrap_or(&of.text);
    format!("{question}\n\nIt tests this claim: {}", quoted(claim))
}
