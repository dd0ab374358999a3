//! Tasks whose answer is checked by agreement: tries that know nothing of each other, until enough of them come to the same (`event/agreement.rs`).

use unhurried::{Context, NodeExecutionError, node};

use super::asking::Came;
use super::claiming::claim_facts;
use super::desk::Desk;
use super::making::learn;
use super::said::Considered;
use super::solving::{Tried, Verdict, solve};
use crate::event::agreement::{Agreed, Pool, agreed};
use crate::event::mission::{Step, TaskId};
use crate::event::task::TaskNews;

/// What tries of a task agree on. Where it is nothing, `wrong` has each of them.
pub(super) async fn agree(
    task: TaskId,
    considered: &Considered,
    wrong: &mut Vec<Verdict>,
    desk: &Desk,
) -> Result<Came<String>, NodeExecutionError> {
    let whole: Vec<usize> = (0..considered.routes.len())
        .filter(|at| !considered.routes[*at].splits)
        .collect();
    let (mut tries, mut answers) = (Vec::<Option<String>>::new(), Vec::<Tried>::new());
    loop {
        // One try agrees with nobody.
        if tries.len() > 1 {
            match counted(Context::new(task), tries.clone(), desk.clone()).await? {
                Agreed::On { answer, .. } => {
                    if let Some(tried) = answers.iter().find(|it| it.answer == answer) {
                        learn(desk, task, &tried.steps).await?;
                    }
                    return Ok(Came::To(answer));
                }
                Agreed::Never => return Ok(Came::ToNothing("no two tries agree".to_owned())),
                Agreed::NotYet => {}
            }
        }
        let step = Step::Alone {
            route: whole[tries.len() % whole.len()],
            attempt: tries.len() + 1,
        };
        match solve(desk, task, step, &considered.routes, &[]).await? {
            Came::To(tried) => {
                claim_facts(desk, task, &tried).await?;
                let why = "no other try came to it".to_owned();
                wrong.push(Verdict {
                    route: tried.route.clone(),
                    answer: Some(tried.answer.clone()),
                    why,
                });
                tries.push(Some(tried.answer.clone()));
                answers.push(tried);
            }
            Came::ToNothing(why) => {
                wrong.push(Verdict::nothing("", why));
                tries.push(None);
            }
            Came::Spent(why) => return Ok(Came::Spent(why)),
        }
    }
}

/// What the tries so far come to, by what the mission has left.
#[node]
async fn counted(task: TaskId, tries: Vec<Option<String>>, desk: Desk) -> Agreed {
    let pool = desk.pool();
    let came = agreed(&tries, pool);
    let Pool { calls, open, begun } = pool;
    let (passes, of) = match &came {
        Agreed::On { tries: these, .. } => {
            (true, format!("{these} of {} tries came to it", tries.len()))
        }
        Agreed::Never => (false, format!("no two of {} tries agree", tries.len())),
        Agreed::NotYet => {
            desk.joins_next(task);
            return came;
        }
    };
    let why =
        format!("{of} ({calls} calls are left; {open} tasks to come, {begun} more under way)");
    desk.say(
        task,
        [TaskNews::Judged {
            by: "agreement".to_owned(),
            passes,
            why,
            expected: None,
        }],
    );
    if passes {
        // The task ends.
        desk.joins_next(task);
    }
    came
}
