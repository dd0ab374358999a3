//! How a framework is made: of a task that nothing solved, not even the high tier, and of the calls of tools by which one was solved. For the first a rule
//! decides whether, a model writes it or declines, its program is run and mended, and of several values of its parameters the best are kept. Nodes of the pipeline in `missions/flow.rs`.

use runner::request::Language;
use serde::{Deserialize, Serialize};
use serde_json::json;
use unhurried::{Context, NodeExecutionError, node};

use super::asking::{Ask, Came};
use super::desk::Desk;
use super::instructing::{ABOUT, instructions};
use super::sketching::{Guideline, Sketch, Write, tuned};
use super::solving::{PROGRAMS, Verdict};
use super::steps::quoted;
use super::using::Framed;
use crate::event::framework::{Framework, NAME_MAX, Recipe, TEXT_MAX};
use crate::event::mission::{Check, TaskId, Value};
use crate::event::statement::cut;
use crate::event::task::{TaskNews, ToolStep};
use crate::event::tuning::Tuning;
use crate::model::provider::Tier;
use crate::recall::frameworks::Likely;
use crate::runtime::framework_acts::create;
use crate::runtime::refused::Refused;
use crate::words::id;

/// Most characters of an answer in the record of such a try.
const SAMPLE_MAX: usize = 500;

/// What came of one call for a framework.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Written {
    /// It can be used.
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

/// A program with the values that were best, and what is said of how they are chosen.
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
    check: &Check,
    wrong: &[Verdict],
) -> Result<Option<Framed>, NodeExecutionError> {
    if !may_make(Context::new(task), redone, desk.clone()).await? {
        return Ok(None);
    }
    let mut broken = Vec::new();
    while broken.len() < PROGRAMS {
        let written = write(
            Context::new(task),
            wrong.to_vec(),
            broken.clone(),
            desk.clone(),
        )
        .await?;
        match desk.noting(written) {
            Came::To(Written::Works(sketch)) => {
                let tuned = tune(
                    Context::new(task),
                    sketch.clone(),
                    check.clone(),
                    desk.clone(),
                )
                .await?;
                let guideline = match &tuned {
                    Some(tuned) if tuned.runs.len() > 1 => {
                        guide(
                            Context::new(task),
                            sketch.clone(),
                            tuned.clone(),
                            desk.clone(),
                        )
                        .await?
                    }
                    _ => String::new(),
                };
                return keep(Context::new(task), sketch, tuned, guideline, desk.clone()).await;
            }
            Came::To(Written::Broken(it)) => broken.push(it),
            Came::To(Written::Declined) | Came::ToNothing(_) | Came::Spent(_) => return Ok(None),
        }
    }
    Ok(None)
}

/// Whether a framework is made for a task: only one of the value high makes one, and by a rule over figures. `redone`: the high tier was asked, too.
#[node]
pub(super) async fn may_make(task: TaskId, redone: bool, desk: Desk) -> bool {
    if !desk.is_worth_one(task, "to make a framework") {
        return false;
    }
    let figures = desk.figures();
    let made = redone && figures.allow_framework();
    desk.say(task, [TaskNews::Framework { made, figures }]);
    made
}

/// One call for a framework, and a run of its program if it has one.
#[node]
pub(super) async fn write(
    task: TaskId,
    wrong: Vec<Verdict>,
    broken: Vec<Broken>,
    desk: Desk,
) -> Came<Written> {
    let prompts = desk.client().prompts();
    let values = vec![
        ("mission".to_owned(), quoted(&desk.wanted().mission)),
        ("task".to_owned(), desk.described(task)),
        ("so_far".to_owned(), json!(wrong).to_string()),
        ("broken".to_owned(), json!(broken).to_string()),
    ];
    let (system, tail) = (&prompts.mission_framework, &prompts.mission_make);
    let (node, tool) = ("framework", "framework");
    let ask = Ask {
        node,
        tool,
        task: Some(task),
        tier: Tier::High,
        system,
        tail,
        values,
    };
    let refuse = |why: &str| {
        desk.refuse(
            Some(task),
            [(task, "a framework".to_owned(), why.to_owned())],
        )
    };
    let mut sketch = match desk.ask::<Write>(ask, |said| said.read().map(drop)).await {
        Came::To(said) => match said.read() {
            Ok(Some(sketch)) => {
                let left_out = said.left_out().filter(|_| sketch.program.is_some());
                desk.refuse(Some(task), left_out.map(|(of, why)| (task, of, why)));
                sketch
            }
            Ok(None) => {
                refuse(&format!("the model declines: {}", cut(&said.why, TEXT_MAX)));
                return Came::To(Written::Declined);
            }
            Err(why) => return Came::ToNothing(why),
        },
        Came::ToNothing(why) => {
            refuse(&why);
            return Came::ToNothing(why);
        }
        Came::Spent(why) => return Came::Spent(why),
    };
    let Some(program) = &mut sketch.program else {
        return Came::To(Written::Works(sketch));
    };
    match desk
        .run(
            Language::JavaScript,
            &program.code,
            program.with(program.sets.first()),
        )
        .await
    {
        Ok(ran) => {
            program.first = Some(ran);
            Came::To(Written::Works(sketch))
        }
        Err(why) => {
            let times = broken.len() + 1;
            let route = format!("the program of the framework {}", sketch.name);
            desk.say(
                task,
                [TaskNews::Tried {
                    route,
                    tier: "high".into(),
                    answer: None,
                    why: why.clone(),
                }],
            );
            if times == PROGRAMS {
                refuse(&format!(
                    "none of its {times} programs ran to its end: {why}"
                ));
            }
            Came::To(Written::Broken(Broken {
                program: program.code.clone(),
                why,
            }))
        }
    }
}

/// Runs a program with all sets of values but the first, with which it was run already, and keeps the best.
#[node]
pub(super) async fn tune(task: TaskId, sketch: Sketch, check: Check, desk: Desk) -> Option<Tuned> {
    let mut program = sketch.program?;
    let (mut runs, mut first) = (Vec::new(), program.first.take());
    for set in &program.sets {
        let ran = match first.take() {
            Some(first) => Ok(first),
            None => {
                desk.run(Language::JavaScript, &program.code, program.with(Some(set)))
                    .await
            }
        };
        let (answer, score, passes) = match ran {
            Ok(ran) => {
                let passes = desk
                    .decided(&check, &ran.answer)
                    .await
                    .ok()
                    .map(|it| it.passes);
                (Some(cut(&ran.answer, SAMPLE_MAX)), ran.score, passes)
            }
            Err(_) => (None, None, None),
        };
        runs.push(Tuning {
            parameters: set.to_string(),
            answer,
            score,
            passes,
        });
    }
    let best = Tuning::best(&runs).unwrap_or(0);
    if !runs.is_empty() {
        desk.say(
            task,
            [TaskNews::Tuned {
                runs: runs.clone(),
                best: best as u64,
            }],
        );
    }
    let code = tuned(&program.code, program.sets.get(best));
    Some(Tuned { code, runs, best })
}

/// How the parameters of a program are chosen, in the words of a model that sees what each set came to.
#[node]
pub(super) async fn guide(task: TaskId, sketch: Sketch, tuned: Tuned, desk: Desk) -> String {
    let prompts = desk.client().prompts();
    let values = vec![
        ("task".to_owned(), desk.described(task)),
        ("program".to_owned(), quoted(&tuned.code)),
        ("runs".to_owned(), json!(tuned.runs).to_string()),
        ("best".to_owned(), tuned.best().to_owned()),
    ];
    let (system, tail) = (&prompts.mission_guideline, &prompts.mission_runs);
    let (node, tool) = ("guideline", "guideline");
    let ask = Ask {
        node,
        tool,
        task: Some(task),
        tier: Tier::Low,
        system,
        tail,
        values,
    };
    match desk.ask::<Guideline>(ask, |said| said.is_some()).await {
        Came::To(said) => cut(&said.guideline, TEXT_MAX),
        Came::ToNothing(_) | Came::Spent(_) => {
            format!(
                "Of {} sets for {} this was the best: {}",
                tuned.runs.len(),
                sketch.name,
                tuned.best()
            )
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
    let (thread, _) = desk.seat(Some(task));
    let recipe = match tuned {
        None => Recipe::Text,
        Some(Tuned { code, .. }) => Recipe::Program {
            language: "javascript".into(),
            code,
            guideline,
        },
    };
    let Sketch {
        name,
        purpose,
        knowledge,
        ..
    } = sketch;
    let framework = Framework {
        name,
        purpose,
        knowledge,
        recipe,
        by: Some(thread.to_string()),
        tally: Default::default(),
    };
    let id = id::about(&format!("the framework of {thread}")).to_string();
    desk.keep_framework(task, &id, &framework)
        .await
        .then(|| Framed::new(id, &framework, true))
}

/// Makes a framework of the calls of tools by which a task was solved, if its value allows that, and it is like none that has steps.
pub(super) async fn learn(
    desk: &Desk,
    task: TaskId,
    steps: &[ToolStep],
) -> Result<(), NodeExecutionError> {
    if steps.is_empty() {
        return Ok(());
    }
    keep_steps(Context::new(task), steps.to_vec(), desk.clone()).await
}

/// Keeps calls of tools as a framework.
#[node]
async fn keep_steps(task: TaskId, steps: Vec<ToolStep>, desk: Desk) {
    // The task ends.
    desk.joins_next(task);
    let (name, purpose, says) = {
        let board = desk.board();
        let Some(now) = board.get(task) else { return };
        let before = now
            .requires
            .iter()
            .filter_map(|it| board.get(*it)?.answer.as_deref());
        let says: Vec<&str> = [now.name.as_str(), &now.description]
            .into_iter()
            .chain(before)
            .collect();
        (
            cut(&now.name, NAME_MAX),
            cut(&now.description, TEXT_MAX),
            says.join("\n"),
        )
    };
    let (thread, _) = desk.seat(Some(task));
    let id = id::about(&format!("the framework of the steps of {thread}")).to_string();
    let has_steps = |it: &Likely| {
        it.row.id != id && matches!(it.row.framework.recipe, Recipe::ExternalTool { .. })
    };
    let like = desk
        .frameworks_like(task, &Framework::found_by(&name, &purpose))
        .await;
    if like.iter().any(has_steps) || !desk.is_worth_one(task, "to make a framework of its steps") {
        return;
    }
    let (recipe, knowledge) = (instructions(&steps, &says), vec![ABOUT.to_owned()]);
    let framework = Framework {
        name,
        purpose,
        knowledge,
        recipe,
        by: Some(thread.to_string()),
        tally: Default::default(),
    };
    desk.keep_framework(task, &id, &framework).await;
}

impl Desk {
    /// Whether a task may make a framework; that it may not is said.
    fn is_worth_one(&self, task: TaskId, of: &str) -> bool {
        let value = self.value(task);
        if value != Value::High {
            let why = format!(
                "its value is {}: only a task of the value high makes one",
                value.as_str()
            );
            self.refuse(Some(task), [(task, of.to_owned(), why)]);
        }
        value == Value::High
    }

    /// Keeps a framework that was made for a task, where there is room for it.
    async fn keep_framework(&self, task: TaskId, id: &str, framework: &Framework) -> bool {
        let store = self.client().store();
        // Where a server was killed behind this, it is there already.
        let known = match store.framework(self.space(), id).await {
            Ok(known) => known,
            Err(error) => return self.lose(error).await,
        };
        if known.is_none() {
            match create(
                &**store,
                self.space(),
                id,
                framework.clone(),
                self.frameworks_max(),
            )
            .await
            {
                Ok(_) => {}
                Err(Refused::Store(error)) => return self.lose(error).await,
                Err(refused) => {
                    self.refuse(
                        Some(task),
                        [(task, "a framework".to_owned(), refused.to_string())],
                    );
                    return false;
                }
            }
        }
        let (name, kind) = (framework.name.clone(), framework.recipe.kind().to_owned());
        self.say(
            task,
            [TaskNews::Built {
                framework: id.to_owned(),
                name,
                kind,
            }],
        );
        true
    }
}

impl Tuned {
    fn best(&self) -> &str {
        self.runs.get(self.best).map_or("{}", |run| &run.parameters)
    }
}
