//! Tasks with a check by agreement: tries that know nothing of each other are made until enough of
//! them give the same answer (`event/agreement.rs`).

use unhurried::{Context, node};

use super::asking::Came;
use super::checking::{Decided, judged};
use super::claiming::claim_facts;
use super::desk::{Desk, Done};
use super::making::learn;
use super::said::Considered;
use super::solving::{Tried, Verdict, solve};
use thinkd_event::agreement::{Agreed, Pool, agreed};
use thinkd_event::mission::{Expected, Step, TaskId, sameness};

const ANOTHER: &str = "another try came to it";
const NO_OTHER: &str = "no other try came to it";

/// Returns the answer that tries of a task agree on, earlier tries included. Without one, `wrong`
/// has each try.
pub(super) async fn agree(
    task: TaskId,
    how: &Considered,
    wrong: &mut Vec<Verdict>,
    desk: &Desk,
) -> Done<Came<String>> {
    let whole = (0..how.routes.len()).filter(|at| !how.routes[*at].splits);
    let whole = Vec::from_iter(whole);
    let mut made = Vec::<Tried>::new();
    loop {
        // One try agrees with nobody.
        if wrong.len() > 1 {
            let tries = wrong.iter().map(|it| it.answer.clone()).collect::<Vec<_>>();
            match counted(Context::new(task), tries, desk.clone()).await? {
                Agreed::On { answer, .. } => {
                    if let Some(tried) = made.iter().find(|it| it.answer == answer) {
                        learn(desk, task, &tried.steps).await?;
                    }
                    return Ok(Came::To(answer));
                }
                Agreed::Never => return Ok(Came::ToNothing("no two tries agree".to_owned())),
                Agreed::NotYet => {}
            }
        }
        let step = Step::Whole(whole[wrong.len() % whole.len()]);
        match solve(desk, task, step, (how, wrong)).await? {
            Came::To(tried) => {
                claim_facts(desk, task, &tried).await?;
                let answer = Some(tried.answer.clone());
                wrong.push(Verdict::of(&tried.route, answer, NO_OTHER));
                made.push(tried);
            }
            Came::ToNothing(why) => wrong.push(Verdict::of("", None, why)),
            Came::Spent(why) => return Ok(Came::Spent(why)),
        }
    }
}

/// Returns the verdict on an answer that was made beside those tries: another try came to it, or
/// none did. The first of a task has none yet.
#[node]
pub(super) async fn agrees(
    task: TaskId,
    answer: String,
    others: Vec<String>,
    expected: Option<Expected>,
    desk: Desk,
) -> Came<()> {
    if others.is_empty() {
        desk.journal.joins_next(task);
        return Came::ToNothing(NO_OTHER.to_owned());
    }
    let passes = others.iter().any(|it| sameness(it) == sameness(&answer));
    let why = if passes { ANOTHER } else { NO_OTHER };
    judged(&desk, task, Decided::by("agreement", passes, why), expected)
}

/// Returns the agreement of the tries so far, by the calls and tasks that the mission has left.
#[node]
async fn counted(task: TaskId, tries: Vec<Option<String>>, desk: Desk) -> Agreed {
    let pool = desk.tasks.pool(desk.asker.calls_left());
    let came = agreed(&tries, pool);
    let Pool { calls, open, begun } = pool;
    let of = match &came {
        Agreed::On { tries: these, .. } => format!("{these} of {} tries came to it", tries.len()),
        Agreed::Never => format!("no two of {} tries agree", tries.len()),
        Agreed::NotYet => {
            desk.journal.joins_next(task);
            return came;
        }
    };
    let why =
        format!("{of} ({calls} calls are left; {open} tasks to come, {begun} more under way)");
    let passes = matches!(came, Agreed::On { .. });
    judged(&desk, task, Decided::by("agreement", passes, why), None);
    came
}
