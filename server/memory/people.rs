//! The instrument *user*: a question to people, which waits in the queue of all questions
//! (`runtime/requests.rs`). Its answer is the reading, and stands behind it in one append; nothing
//! here waits for it.

use std::time::Duration;

use super::asking::quoted;
use super::bench::{OnTrial, say};
use super::journal::{Journal, Stored};
use thinkd_event::condition::RequestState;
use thinkd_event::fact::Fact;
use thinkd_event::fact::question::Question;
use thinkd_event::method::may_answer;
use thinkd_event::request::{Parked, Settled};
use thinkd_event::statement::people::CHOICES;
use thinkd_event::statement::{Answer, Claimant, OfTrial, Prediction, Reading};
use thinkd_event::trial::News;
use thinkd_log::projections::statements::StatementRow;
use thinkd_mind::turn_writer::Lost;
use thinkd_tools::approval::after;
use thinkd_words::id;
use thinkd_words::time;

/// Questions that are looked at to count those of trials.
const LOOKED_AT: u32 = 500;

/// A name that no person has: whether anybody could answer.
const ANYBODY: &str = "\u{0}";

/// Returns how many questions more people may be asked now; none while they are away.
pub(super) async fn room_for_questions(journal: Journal<'_>) -> Stored<usize> {
    let store = journal.store();
    let space = journal.space;
    let most = journal.memory().questions;
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

/// Returns true if there can be people that did not claim a statement.
pub(super) fn somebody_may_answer(row: &StatementRow) -> bool {
    let claimants: Vec<Claimant> = row.sources.iter().map(|source| source.by.clone()).collect();
    may_answer(&claimants, Some(ANYBODY))
}

/// Returns true if people may test a statement: they are there, did not claim it, and have room for
/// questions.
pub(super) async fn has_people_for(journal: Journal<'_>, row: &StatementRow) -> Stored<bool> {
    Ok(somebody_may_answer(row) && room_for_questions(journal).await? > 0)
}

/// Asks people, and does not wait for the answer: question and reading are one append, so that a
/// crash asks once.
pub(super) async fn ask_people(
    on: &mut OnTrial<'_>,
    of: &Prediction,
    begun: Reading,
) -> Result<(), Lost> {
    let _asking = on.bench.asking.lock().await;
    let Journal { ground, space } = on.bench.journal;
    // Others were asked meanwhile, or people went: the rules are looked at again.
    if !has_people_for(on.bench.journal, &on.row).await? {
        return Ok(());
    }
    let id = id::fresh();
    let question = id.to_string();
    let limit = Duration::from_millis(on.bench.journal.memory().question_ms);
    let until = after(time::now(), limit);
    let asked = Question {
        question: &question,
        call_id: &on.row.id,
        text: &asked_of_people(of, &on.row.text),
        choices: CHOICES.into(),
        expires: &until.to_string(),
        trial: Some(of_trial(on, begun.prediction)),
        ..Question::default()
    };
    let draft = Fact::Question(asked).encode(&on.row.thread).with_id(id);
    let reading = Reading {
        answer: Answer::Asked,
        note: "people are asked".into(),
        source: Some(question),
        until: Some(until),
        ..begun
    };
    say(on, vec![draft], News::Read(reading)).await?;
    // Who looks for what is due, and for people who went meanwhile, is told as of any other
    // question.
    if let Some(event) = ground.store.event(space, id).await? {
        (ground.waker.on_stored())(space, &event);
    }
    Ok(())
}

/// Writes down that no answer came in time, if that is not written yet.
pub(super) async fn expire(on: &mut OnTrial<'_>, prediction: usize) -> Result<(), Lost> {
    let is_it = |it: &&Reading| it.prediction == prediction && it.answer == Answer::Asked;
    let asked = on.trial.readings.iter().find(is_it);
    let asked = asked.and_then(|it| it.source.clone()).unwrap_or_default();
    let trial = of_trial(on, prediction);
    let reading = trial.reading(&asked, None, Err("nobody answered in time"));
    let parked = Parked {
        id: asked,
        call_id: on.row.id.clone(),
        tool: None,
        server: None,
        client: None,
        turn: 0,
        trial: Some(trial),
    };
    let expired = parked.settled(&on.row.thread, Settled::Expired);
    on.bench.writer.write(expired).await?;
    on.trial.apply(News::Read(reading));
    let row = on.bench.journal.statement(&on.row.id).await?;
    on.row.changed = row.map_or(0, |row| row.changed);
    Ok(())
}

fn of_trial(on: &OnTrial<'_>, prediction: usize) -> OfTrial {
    OfTrial {
        statement: on.row.id.clone(),
        prediction,
    }
}

/// Returns the text for people: the question, and the claim that it tests, as one JSON string:
/// nothing in it can pass for the question.
fn asked_of_people(of: &Prediction, claim: &str) -> String {
    let question = of.question.as_deref().unwrap_or(&of.text);
    format!("{question}\n\nIt tests this claim: {}", quoted(claim))
}
