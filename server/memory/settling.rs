//! Consequences of a verdict for other statements: those that contradict each other are contested
//! (`memory/contesting.rs`), and derivations from a withdrawn one have lost their ground
//! (`memory/ground.rs`). An operator's withdrawal is settled without a trial.

use super::bench::{OnTrial, look_again, write};
use super::contesting::{contest, contradicting, uncontested};
use super::ground::{gone, ground, standing_on};
use super::journal::{APPEND_MAX, Follow, Journal, REACH, Stored, TRIES, again, under, word};
use super::merges::{contest_anew, with_merges};
use super::rules::rules;
use thinkd_event::condition::{Condition, RequestState};
use thinkd_event::draft::Draft;
use thinkd_event::fact::statement::Trials as Said;
use thinkd_event::method;
use thinkd_event::request::{Parked, Settled};
use thinkd_event::statement::{Judged, Outcome, Status, Valid};
use thinkd_event::trial::{Found, Rules};
use thinkd_log::projections::statements::StatementRow;
use thinkd_mind::turn_writer::Lost;
use thinkd_runtime::refused::Refused;
use thinkd_words::id::ThreadId;
use thinkd_words::time;

/// Questions that are looked at: a trial asks nothing while more are open.
const QUESTIONS: u32 = 500;

/// Writes down the verdict of a trial, with all that follows from it.
pub(super) async fn judge(on: &mut OnTrial<'_>, found: &Found, rules: &Rules) -> Result<(), Lost> {
    let journal = on.bench.journal;
    let mut judged = on.trial.judged(found, rules, time::now());
    let _settling = on.bench.settling.lock().await;
    let mut first = Vec::new();
    let mut conditions = Vec::new();
    if matches!(judged.outcome, Outcome::Is(status) if status.is_held()) {
        match ground(journal, &on.row).await? {
            Err(reason) => {
                judged = Judged {
                    outcome: Outcome::Is(Status::Untested),
                    reason,
                    carried: Vec::new(),
                    due: None,
                    ..judged
                }
            }
            Ok(ground) => (first, conditions) = (ground.drafts, ground.conditions),
        }
    }
    if judged.outcome == Outcome::Is(Status::Surviving)
        && let Some(triple) = on.trial.triple()
    {
        let edge = (triple, judged.valid);
        let (status, contest) = contest(journal, &on.row.id, edge).await?;
        judged.outcome = Outcome::Is(status);
        first.extend(contest.drafts);
        conditions.extend(contest.conditions);
    }
    if judged.outcome == Outcome::Is(Status::Falsified) && on.row.status == Status::Proposed {
        first.extend(doubted(on, judged.valid).await?);
    }
    let mut all = consequences(journal, &on.row, &judged).await?;
    if let Some(word) = all.last_mut().and_then(|of| of.last_mut()) {
        word.conditions.extend(conditions);
    }
    first.extend(all);
    settle(on, first).await
}

/// A new value was refused: the one that is held is tested once by another instrument, if there is
/// one, as the world may have moved on all the same.
async fn doubted(on: &OnTrial<'_>, valid: Valid) -> Stored<Option<Vec<Draft>>> {
    let Some(triple) = on.trial.triple() else {
        return Ok(None);
    };
    let journal = on.bench.journal;
    let names = journal.store().names(journal.space, None).await?;
    let mut held = Vec::new();
    for status in Status::HELD {
        let edge = (&names, triple, valid);
        held.extend(contradicting(journal, edge, status, REACH as usize).await?);
    }
    let at = valid.from.unwrap_or(time::now());
    let current = method::current(held, |row| (true, row.valid), at);
    let first = current.into_iter().next();
    let Some(row) = first.filter(|row| row.due.is_none()) else {
        return Ok(None);
    };
    let of = OnTrial::of(on.bench, row).await?;
    let has_another = of.trial.has_another(&rules(&of).await?);
    let reason = format!(
        "another value of it was refused ({}): another instrument tests it once",
        triple.object
    );
    Ok(has_another.then(|| vec![of.row.becomes(again(&of.row, reason))]))
}

/// Writes the changes of a statement, and of others by it, behind the records of the calls for it.
/// The losses of others come first and the word on the statement itself last, so that a part that
/// was cut off is done again. To be called while nothing else is settled.
pub(super) async fn settle(on: &mut OnTrial<'_>, all: Vec<Vec<Draft>>) -> Result<(), Lost> {
    for part in parts(all) {
        let (part, forms) = with_merges(on.bench.journal, part).await?;
        write(on, part).await?;
        contest_anew(on.bench.journal, &forms).await?;
    }
    Ok(())
}

/// A claim comes to nothing: there is no such statement.
pub(super) async fn refuse(on: &mut OnTrial<'_>, why: String) -> Result<(), Lost> {
    let judged = word(&on.row, Outcome::Refused, why);
    let mut tries = 0;
    loop {
        let all = consequences(on.bench.journal, &on.row, &judged).await?;
        match settle(on, all).await {
            Ok(()) => return Ok(()),
            Err(lost) => look_again(on, lost, &mut tries).await?,
        }
    }
}

/// Withdraws a statement for an operator, without a trial, and all that stands on it. It takes as
/// many appends as necessary, with the word on the statement in the last. Trials go on meanwhile:
/// statements that they hold in that time are looked at, too.
///
/// # Errors
///
/// The statement is not there, is retracted already, or changes all the time.
pub async fn retract(
    journal: Journal<'_>,
    id: &str,
    reason: &str,
    by: &str,
) -> Result<StatementRow, Refused> {
    let unknown = || {
        let id: String = id.chars().take(60).collect();
        Refused::NotFound(format!("statement {id:?}"))
    };
    let store = journal.store();
    let space = journal.space;
    let mut overtaken = 0;
    while overtaken < TRIES {
        let seq = store.head(space).await?.seq;
        let row = journal.statement(id).await?.ok_or_else(unknown)?;
        if row.status == Status::Retracted {
            let why = format!("the statement {id} is retracted already");
            return Err(Refused::Settled(why));
        }
        let judged = Judged {
            by: Some(by.to_owned()),
            ..word(&row, Outcome::Is(Status::Retracted), reason.to_owned())
        };
        let mut parts = parts(consequences(journal, &row, &judged).await?);
        let is_last = parts.len() == 1;
        let (mut part, forms) = with_merges(journal, parts.swap_remove(0)).await?;
        let names = store.names(space, None).await?;
        let triple = row.triple.as_ref();
        let about = triple.map(|it| (names.forms(&it.subject), it.relation.clone()));
        under(&mut part, [Condition::NoneHeldSince { seq, about }]);
        // Threads are to be told of it.
        part.push(Draft::trials(Said::Due));
        if !journal.is_appended(part).await? {
            overtaken += 1;
            continue;
        }
        contest_anew(journal, &forms).await?;
        if is_last {
            return journal.statement(id).await?.ok_or_else(unknown);
        }
    }
    let why = format!("the statement {id} changes all the time: try again");
    Err(Refused::Unprocessable(why))
}

/// Returns the word on a statement, behind the losses and gains of others by it: drafts on one
/// statement stay together.
pub(super) async fn consequences(
    journal: Journal<'_>,
    row: &StatementRow,
    judged: &Judged,
) -> Stored<Vec<Vec<Draft>>> {
    let is_now =
        |status: fn(Status) -> bool| matches!(judged.outcome, Outcome::Is(it) if status(it));
    let mut lost = Vec::new();
    let mut own = Vec::new();
    if judged.outcome == Outcome::Refused || is_now(Status::is_withdrawn) {
        lost = standing_on(journal, &row.id).await?;
        own.extend(withdrawn(&questions(journal).await?, &row.id));
    }
    let leaving = Some(row).filter(|row| row.status.is_held() && !is_now(Status::is_held));
    let mut follow = fallen(journal, &gone(&row.id), &lost, leaving).await?;
    own.push(row.becomes(judged.clone()));
    follow.drafts.push(own);
    under(&mut follow.drafts[0], follow.conditions);
    Ok(follow.drafts)
}

/// Returns the words on the statements that have lost their ground with one, and on those that
/// they, and it, contradicted; and the conditions of these. `why`: the ground is lost.
pub(super) async fn fallen(
    journal: Journal<'_>,
    why: &str,
    lost: &[StatementRow],
    with: Option<&StatementRow>,
) -> Stored<Follow> {
    let leaving: Vec<&StatementRow> = lost.iter().chain(with).collect();
    if leaving.is_empty() {
        return Ok(Follow::default());
    }
    let mut follow = uncontested(journal, &leaving).await?;
    let open = match lost {
        [] => Vec::new(),
        _ => questions(journal).await?,
    };
    follow.drafts.extend(lost.iter().map(|row| {
        let judged = word(row, Outcome::Is(Status::Untested), why.to_owned());
        let mut of_one = withdrawn(&open, &row.id);
        of_one.push(row.becomes(judged));
        of_one
    }));
    Ok(follow)
}

/// Returns the questions that are open.
async fn questions(journal: Journal<'_>) -> Stored<Vec<(ThreadId, Parked)>> {
    let store = journal.store();
    let space = journal.space;
    let open = store
        .requests(space, RequestState::Question, 0, QUESTIONS)
        .await?;
    let parked = open.into_iter().filter_map(|row| {
        let parked = Parked::of(&row.id, &row.asked())?;
        Some((row.thread, parked))
    });
    Ok(parked.collect())
}

/// Withdraws the questions to people from the trial of a statement.
fn withdrawn(open: &[(ThreadId, Parked)], statement: &str) -> Vec<Draft> {
    let how = Settled::Withdrawn {
        reason: "the statement was withdrawn",
    };
    let mut drafts = Vec::new();
    for (thread, parked) in open {
        if let Some(trial) = &parked.trial
            && trial.statement == statement
        {
            drafts.extend(parked.settled(thread, how));
        }
    }
    drafts
}

/// Returns the parts for as many appends as it takes: drafts on one statement stay together.
fn parts(all: Vec<Vec<Draft>>) -> Vec<Vec<Draft>> {
    let mut parts: Vec<Vec<Draft>> = Vec::new();
    for of_one in all {
        match parts.last_mut() {
            Some(part) if part.len() + of_one.len() <= APPEND_MAX => part.extend(of_one),
            _ => parts.push(of_one),
        }
    }
    parts
}
