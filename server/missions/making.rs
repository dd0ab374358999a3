//! Making of frameworks: from a task that nothing solved, not even the high tier, and from the
//! calls of tools by which one was solved. For the first a rule decides if one is made, and a model
//! writes it or declines. Its program is run and mended, and of several values of its parameters
//! the best are kept. Nodes of the pipeline in `missions/flow.rs`.

use runner::request::Language;
use serde::{Deserialize, Serialize};
use serde_json::json;
use unhurried::{Context, node};

use super::asking::{Ask, Came, FRAMEWORK, GUIDELINE, ask};
use super::checking::decided;
use super::desk::{Desk, Done};
use super::said::filled;
use super::sketching::{ABOUT, Guideline, Sketch, Write, instructions, tuned};
use super::solving::{Called, PROGRAMS, Verdict, run};
use super::using::{Framed, frameworks_like};
use thinkd_event::fact::task::{TaskNews, ToolStep};
use thinkd_event::framework::{Framework, NAME_MAX, Recipe, TEXT_MAX, Tries};
use thinkd_event::mission::{Check, TaskId, Value};
use thinkd_event::statement::cut;
use thinkd_event::tuning::Tuning;
use thinkd_model::provider::Tier;
use thinkd_recall::frameworks::Likely;
use thinkd_runtime::frameworks::create;
use thinkd_runtime::refused::Refused;
use thinkd_words::id;

/// Most characters of an answer in the record of such a try.
const SAMPLE_MAX: usize = 500;

/// The result of one call for a framework.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Written {
    /// A framework that can be used.
    Works(Sketch),
    /// Its program does not run to its end, and why.
    Broken(Broken),
    /// The model thinks that none is worth it.
    Declined,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Broken {
    program: String,
    why: String,
}

/// A program with the values that were best, and the runs that they were chosen by.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tuned {
    code: String,
    runs: Vec<Tuning>,
    best: usize,
}

/// Makes a framework for a task, if that is allowed and comes to something.
pub(super) async fn make(
    desk: &Desk,
    task: TaskId,
    redone: bool,
    (check, wrong): (&Check, &[Verdict]),
) -> Done<Option<Framed>> {
    let on = || Context::new(task);
    if !may_make(on(), redone, desk.clone()).await? {
        return Ok(None);
    }
    let mut broken = Vec::new();
    while broken.len() < PROGRAMS {
        let written = write(on(), wrong.to_vec(), broken.clone(), desk.clone()).await?;
        let sketch = match written.noted(&desk.asker) {
            Came::To(Written::Works(sketch)) => sketch,
            Came::To(Written::Broken(it)) => {
                broken.push(it);
                continue;
            }
            Came::To(Written::Declined) | Came::ToNothing(_) | Came::Spent(_) => break,
        };
        let tuned = tune(on(), sketch.clone(), check.clone(), desk.clone()).await?;
        let guideline = match &tuned {
            Some(tuned) if tuned.runs.len() > 1 => {
                guide(on(), sketch.clone(), tuned.clone(), desk.clone()).await?
            }
            _ => String::new(),
        };
        return keep(on(), sketch, tuned, guideline, desk.clone()).await;
    }
    Ok(None)
}

/// Returns whether a framework is made for a task: only one of the value high makes one, and by a
/// rule over figures. `redone`: the high tier was asked, too.
#[node]
pub(super) async fn may_make(task: TaskId, redone: bool, desk: Desk) -> bool {
    if !is_worth_one(&desk, task, "to make a framework") {
        return false;
    }
    let figures = desk.figures();
    let made = redone && figures.allow_framework();
    desk.journal
        .say(task, TaskNews::Framework { made, figures });
    made
}

/// Makes one call for a framework, and a run of its program if it has one.
#[node]
pub(super) async fn write(
    task: TaskId,
    wrong: Vec<Verdict>,
    broken: Vec<Broken>,
    desk: Desk,
) -> Came<Written> {
    let question = Ask::about(&desk, FRAMEWORK, task)
        .by(Tier::High)
        .with("so_far", json!(wrong))
        .with("broken", json!(broken));
    let refuse = |why: &str| desk.journal.refuse(Some(task), "a framework", why);
    let said = match ask::<Write>(&desk, question, |said| said.read().map(drop)).await {
        Came::To(said) => said,
        Came::ToNothing(why) => {
            refuse(&why);
            return Came::ToNothing(why);
        }
        Came::Spent(why) => return Came::Spent(why),
    };
    let mut sketch = match said.read() {
        Ok(Some(sketch)) => sketch,
        Ok(None) => {
            refuse(&format!("the model declines: {}", cut(&said.why, TEXT_MAX)));
            return Came::To(Written::Declined);
        }
        Err(why) => return Came::ToNothing(why),
    };
    let Some(program) = &mut sketch.program else {
        return Came::To(Written::Works(sketch));
    };
    let left_out = said.left_out().map(|(of, why)| (task, of, why));
    desk.journal.refuse_all(Some(task), left_out);
    let input = program.with(program.sets.first());
    match run(&desk, Language::JavaScript, &program.code, input).await {
        Ok(ran) => {
            program.first = Some(ran);
            Came::To(Written::Works(sketch))
        }
        Err(why) => {
            let times = broken.len() + 1;
            let route = format!("the program of the framework {}", sketch.name);
            Called::of(task, &route, Tier::High).say(&desk, None, why.clone());
            if times == PROGRAMS {
                let why = format!("none of its {times} programs ran to its end: {why}");
                refuse(&why);
            }
            let program = program.code.clone();
            Came::To(Written::Broken(Broken { program, why }))
        }
    }
}

/// Runs a program with all sets of values but the first, with which it was run already, and keeps
/// the best.
#[node]
pub(super) async fn tune(task: TaskId, sketch: Sketch, check: Check, desk: Desk) -> Option<Tuned> {
    let mut program = sketch.program?;
    let mut runs = Vec::new();
    let mut first = program.first.take();
    for set in &program.sets {
        let ran = match first.take() {
            Some(first) => Ok(first),
            None => {
                let input = program.with(Some(set));
                run(&desk, Language::JavaScript, &program.code, input).await
            }
        };
        let ran = ran.ok();
        let passes = match &ran {
            Some(ran) => decided(&desk, &check, &ran.answer).await.ok(),
            None => None,
        };
        runs.push(Tuning {
            parameters: set.to_string(),
            answer: ran.as_ref().map(|ran| cut(&ran.answer, SAMPLE_MAX)),
            score: ran.and_then(|ran| ran.score),
            passes: passes.map(|it| it.passes),
        });
    }
    let best = Tuning::best(&runs).unwrap_or(0);
    if !runs.is_empty() {
        let runs = runs.clone();
        let best = best as u64;
        desk.journal.say(task, TaskNews::Tuned { runs, best });
    }
    let code = tuned(&program.code, program.sets.get(best));
    Some(Tuned { code, runs, best })
}

/// Returns a rule for choosing the parameters of a program, in the words of a model that sees the
/// result of each set.
#[node]
pub(super) async fn guide(task: TaskId, sketch: Sketch, tuned: Tuned, desk: Desk) -> String {
    let best = tuned.runs.get(tuned.best);
    let best = best.map_or("{}", |run| &run.parameters);
    let question = Ask::of(GUIDELINE, task)
        .with("task", desk.tasks.described(task))
        .quoted("program", &tuned.code)
        .with("runs", json!(tuned.runs))
        .with("best", best);
    let fits = |said: &Guideline| filled("the guideline", &said.guideline);
    match ask::<Guideline>(&desk, question, fits).await {
        Came::To(said) => cut(&said.guideline, TEXT_MAX),
        Came::ToNothing(_) | Came::Spent(_) => {
            let count = tuned.runs.len();
            let name = sketch.name;
            format!("Of {count} sets for {name} this was the best: {best}")
        }
    }
}

/// Keeps a framework: it is on probation from now on, for tasks that are like this one.
#[node]
pub(super) async fn keep(
    task: TaskId,
    sketch: Sketch,
    tuned: Option<Tuned>,
    guideline: String,
    desk: Desk,
) -> Option<Framed> {
    let thread = desk.journal.thread(Some(task));
    let recipe = tuned.map_or(Recipe::Text, |Tuned { code, .. }| Recipe::Program {
        language: "javascript".into(),
        code,
        guideline,
    });
    let framework = Framework {
        name: sketch.name,
        purpose: sketch.purpose,
        knowledge: sketch.knowledge,
        recipe,
        by: Some(thread.to_string()),
        ..Framework::default()
    };
    let id = id::about(&format!("the framework of {thread}")).to_string();
    let is_kept = keep_framework(&desk, task, &id, &framework).await;
    is_kept.then(|| Framed::new(id, framework, true, Tries::default()))
}

/// Makes a framework of the calls of tools by which a task was solved, if its value allows that,
/// and it is like none that has steps.
pub(super) async fn learn(desk: &Desk, task: TaskId, steps: &[ToolStep]) -> Done<()> {
    if steps.is_empty() {
        return Ok(());
    }
    keep_steps(Context::new(task), steps.to_vec(), desk.clone()).await
}

/// Keeps calls of tools as a framework.
#[node]
async fn keep_steps(task: TaskId, steps: Vec<ToolStep>, desk: Desk) {
    // The task ends.
    desk.journal.joins_next(task);
    let thread = desk.journal.thread(Some(task));
    let framework = {
        let board = desk.tasks.board();
        let Some(now) = board.get(task) else { return };
        let before = now.new.requires.iter();
        let before = before.filter_map(|it| board.get(*it)?.answer.as_deref());
        let name = now.new.name.as_str();
        let description = now.new.description.as_str();
        let says: Vec<&str> = [name, description].into_iter().chain(before).collect();
        Framework {
            name: cut(name, NAME_MAX),
            purpose: cut(description, TEXT_MAX),
            knowledge: vec![ABOUT.to_owned()],
            recipe: instructions(&steps, &says.join("\n")),
            by: Some(thread.to_string()),
            ..Framework::default()
        }
    };
    let id = id::about(&format!("the framework of the steps of {thread}")).to_string();
    let has_steps = |it: &Likely| {
        it.row.id != id && matches!(it.row.framework.recipe, Recipe::ExternalTool { .. })
    };
    let text = Framework::found_by(&framework.name, &framework.purpose);
    let like = frameworks_like(&desk, task, &text).await;
    let of = "to make a framework of its steps";
    if !like.iter().any(has_steps) && is_worth_one(&desk, task, of) {
        keep_framework(&desk, task, &id, &framework).await;
    }
}

/// Returns whether a task may make a framework; that it may not is said.
fn is_worth_one(desk: &Desk, task: TaskId, of: &str) -> bool {
    let value = desk.tasks.value(task);
    if value != Value::High {
        let value = value.as_str();
        let why = format!("its value is {value}: only a task of the value high makes one");
        desk.journal.refuse(Some(task), of, why);
    }
    value == Value::High
}

/// Keeps a framework that was made for a task, where there is room for it.
async fn keep_framework(desk: &Desk, task: TaskId, id: &str, framework: &Framework) -> bool {
    let store = &*desk.ground.store;
    let space = &desk.space;
    let journal = &desk.journal;
    // Where a server was killed behind this, it is there already.
    let known = journal.found(store.framework(space, id).await).await;
    if known.is_none() {
        let limit = desk.ground.options.tool_limits.frameworks;
        match create(store, space, (id, framework.clone()), limit).await {
            Ok(_) => {}
            Err(Refused::Store(error)) => return journal.found(Err(error)).await,
            Err(refused) => {
                journal.refuse(Some(task), "a framework", refused.to_string());
                return false;
            }
        }
    }
    let built = TaskNews::Built {
        framework: id.to_owned(),
        name: framework.name.clone(),
        kind: framework.recipe.kind().to_owned(),
    };
    journal.say(task, built);
    true
}
