//! Checks of an answer without a model: by the program or the query that was chosen before there
//! was an answer. Where these decide nothing, a model does (`missions/steps.rs`).

use runner::request::{Answer, Error, Language, Request};
use serde_json::{Value as Json, json};

use super::asking::Came;
use super::desk::Desk;
use thinkd_event::fact::task::TaskNews;
use thinkd_event::mission::{Check, Expected, TaskId, sameness};
use thinkd_event::statement::cut;

/// Longest note about a check, in characters.
const NOTE_MAX: usize = 500;

/// A verdict.
pub(super) struct Decided {
    /// `program`, `knowledge`, `agreement` or `rubric`.
    by: &'static str,
    pub passes: bool,
    why: String,
}

impl Decided {
    pub fn by(by: &'static str, passes: bool, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { by, passes, why }
    }
}

/// Records the verdict on an answer, and the expectation of the try. An answer that passes ends the
/// task.
pub(super) fn judged(
    desk: &Desk,
    task: TaskId,
    verdict: Decided,
    expected: Option<Expected>,
) -> Came<()> {
    let Decided { by, passes, why } = verdict;
    if let Some(expected) = &expected {
        desk.records().note(expected, passes);
    }
    let judged = TaskNews::Judged {
        by: by.to_owned(),
        passes,
        why: why.clone(),
        expected,
    };
    desk.journal.say(task, judged);
    if !passes {
        return Came::ToNothing(why);
    }
    desk.journal.joins_next(task);
    Came::To(())
}

/// Returns the verdict of program or query on an answer. The error says why they decide nothing; it
/// is empty where none was to.
pub(super) async fn decided(desk: &Desk, check: &Check, answer: &str) -> Result<Decided, String> {
    match check {
        // Whether tries agree is seen elsewhere (`missions/agreeing.rs`).
        Check::Rubric { .. } | Check::Agreement { .. } => Err(String::new()),
        Check::Program { code, .. } => by_program(desk, code, answer).await,
        Check::Knowledge { query, .. } => by_knowledge(desk, query, answer).await,
    }
}

async fn by_program(desk: &Desk, code: &str, answer: &str) -> Result<Decided, String> {
    let input = json!({ "answer": answer });
    let ran = ran(desk, Language::JavaScript, code, input).await?;
    let why = match ran.outcome {
        Ok(Json::Bool(passes)) => {
            let printed = cut(&ran.printed, NOTE_MAX);
            let value = || format!("the value of the program is {passes}");
            let why = Some(printed).filter(|it| !it.is_empty());
            return Ok(Decided::by("program", passes, why.unwrap_or_else(value)));
        }
        Ok(value) => format!("the value of the check is neither true nor false: {value}"),
        Err(thrown) => format!("the check ended in an error: {}", thrown.message),
    };
    Err(cut(&why, NOTE_MAX))
}

/// Returns the passages that the knowledge base finds for these words, or why there are none. Their
/// text comes from third parties.
pub(super) async fn looked_up(desk: &Desk, words: &str) -> Json {
    let Some(search) = &desk.knowledge else {
        return json!("no knowledge base is configured: do without");
    };
    match search.ask(words).await {
        Ok(found) => json!(found),
        Err(why) => json!(cut(&why, NOTE_MAX)),
    }
}

async fn by_knowledge(desk: &Desk, query: &str, answer: &str) -> Result<Decided, String> {
    let search = desk.knowledge.as_ref();
    let search = search.ok_or("no knowledge base is configured")?;
    let found = search.ask(query).await.map_err(|why| cut(&why, NOTE_MAX))?;
    if found.is_empty() {
        return Err("the knowledge base found nothing".to_owned());
    }
    let count = found.len();
    let wanted = sameness(answer);
    let mut found = found.into_iter();
    let holds = found.find(|passage| sameness(&passage.text).contains(&wanted));
    let why = match &holds {
        Some(passage) if passage.url.is_empty() => format!("it stands in {}", passage.title),
        Some(passage) => format!("it stands in {}", passage.url),
        None => format!("it stands in none of the {count} passages that were found"),
    };
    let why = cut(&why, NOTE_MAX);
    Ok(Decided::by("knowledge", holds.is_some(), why))
}

/// Runs code. The error says why it did not come to its end.
pub(super) async fn ran(
    desk: &Desk,
    language: Language,
    code: &str,
    input: Json,
) -> Result<Answer, String> {
    let runner = &desk.ground.code;
    if !runner.is_enabled() {
        return Err("programs are not run here (tools.code.enabled)".to_owned());
    }
    let request = Request {
        language,
        code: code.to_owned(),
        input,
    };
    let ran = runner.run(&desk.space, request).await;
    let why = |error| match error {
        Error::Stopped { reason, detail, .. } => {
            format!("the program was stopped ({}): {detail}", reason.as_str())
        }
        Error::Unavailable(why) => format!("the program was not run: {why}"),
    };
    ran.map_err(|error| cut(&why(error), NOTE_MAX))
}
