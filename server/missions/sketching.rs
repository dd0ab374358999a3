//! Sketches of frameworks: the usable parts of a model's words, and the calls of tools that led to an
//! answer, as instructions for like tasks. `missions/making.rs` makes them. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::said::some;
use super::solving::Computed;
use super::using::read_input;
use thinkd_event::fact::task::ToolStep;
use thinkd_event::framework::{CODE_MAX, ITEMS_MAX, NAME_MAX, Recipe, TEXT_MAX};
use thinkd_event::statement::cut;

/// Most sets of values that a program is tried with.
const SETS_MAX: usize = 8;
/// Most characters of one set.
const SET_MAX: usize = 500;

/// What a model makes of what was tried in vain.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    kind: Kind,
    pub why: String,
    name: String,
    purpose: String,
    knowledge: Vec<String>,
    code: Option<String>,
    /// What the program finds as `input` for this task, as JSON.
    input: Option<String>,
    /// Sets of values of the free parameters, each a JSON object.
    parameters: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    None,
    Text,
    Program,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Guideline {
    pub guideline: String,
}

/// A framework before it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Sketch {
    pub name: String,
    pub purpose: String,
    pub knowledge: Vec<String>,
    pub program: Option<Programmed>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Programmed {
    pub code: String,
    input: Json,
    /// The values that it is tried with; empty: it has no parameters.
    pub sets: Vec<Json>,
    /// The result with the first of them.
    #[serde(default)]
    pub first: Option<Computed>,
}

impl Write {
    /// Returns the sketch that can be kept of it; none: it declines.
    pub fn read(&self) -> Result<Option<Sketch>, String> {
        if self.kind == Kind::None {
            return Ok(None);
        }
        let name = some(&self.name, NAME_MAX);
        let purpose = some(&self.purpose, TEXT_MAX);
        let (Some(name), Some(purpose)) = (name, purpose) else {
            return Err("a framework has a name, and says for which tasks it is".to_owned());
        };
        let knowledge = self.knowledge.iter().filter_map(|it| some(it, TEXT_MAX));
        let knowledge: Vec<String> = knowledge.take(ITEMS_MAX).collect();
        let program = match self.kind {
            Kind::Program => Some(self.program()?),
            _ if knowledge.is_empty() => {
                return Err("a framework of the kind text has knowledge".to_owned());
            }
            _ => None,
        };
        Ok(Some(Sketch {
            name,
            purpose,
            knowledge,
            program,
        }))
    }

    fn program(&self) -> Result<Programmed, String> {
        let code = self.code.clone().filter(|code| !code.trim().is_empty());
        let code = code.ok_or_else(|| "a framework of the kind program has code".to_owned())?;
        // The line with its parameters comes to it.
        let most = CODE_MAX - 2 * SET_MAX;
        if code.chars().count() > most {
            return Err(format!("a program has at most {most} characters"));
        }
        Ok(Programmed {
            code: tuned(&code, None),
            input: read_input(self.input.as_deref())?,
            sets: self.sets().filter_map(Result::ok).collect(),
            first: None,
        })
    }

    /// Returns its sets of values; the error says which one is left out, and why.
    fn sets(&self) -> impl Iterator<Item = Result<Json, (usize, String)>> {
        let read = |text: &String| match text.chars().count() > SET_MAX {
            true => Err(format!("it has more than {SET_MAX} characters")),
            false => read_input(Some(text)).map_err(|why| why.replace("`input`", "it")),
        };
        let all = (1..).zip(self.parameters.iter().take(SETS_MAX));
        all.map(move |(at, text)| read(text).map_err(|why| (at, why)))
    }

    /// Returns the sets of values that are left out.
    pub fn left_out(&self) -> impl Iterator<Item = (String, String)> {
        let wrong = self.sets().filter_map(Result::err);
        wrong.map(|(at, why)| (format!("the set of parameters {at}"), why))
    }
}

impl Programmed {
    /// Returns its input, with these values.
    pub fn with(&self, set: Option<&Json>) -> Json {
        let mut input = self.input.clone();
        if let Some(set) = set {
            input["parameters"] = set.clone();
        }
        input
    }
}

/// Returns the program with these values as those of its parameters, where its input has no others.
/// Its first line, if it has one of these already, is replaced.
pub(super) fn tuned(code: &str, set: Option<&Json>) -> String {
    const BEFORE: &str = "const parameters = { ...";
    let code = match code.split_once('\n') {
        Some((first, rest)) if first.starts_with(BEFORE) => rest,
        _ => code,
    };
    let set = set.map_or_else(|| "{}".to_owned(), Json::to_string);
    format!("{BEFORE}{set}, ...input.parameters }};\n{code}")
}

/// Text of the steps of each framework that is made of calls of tools.
pub(super) const ABOUT: &str = "These calls led to an answer that passed its check. What stands in <…> is each task's own; the rest stood there as it is here.";

/// Returns the recipe of these calls, of a task that says this: the same calls in the same order.
/// Values in their arguments that belong to this task alone are left free.
pub(super) fn instructions(steps: &[ToolStep], task: &str) -> Recipe {
    let mut tools: Vec<&str> = Vec::new();
    for step in steps {
        if !tools.contains(&step.tool.as_str()) {
            tools.push(&step.tool);
        }
    }
    let task = task.to_lowercase();
    let came: Vec<String> = steps.iter().map(|step| step.came.to_lowercase()).collect();
    let one = |(at, step): (usize, &ToolStep)| {
        let mut arguments = serde_json::from_str(&step.arguments).unwrap_or(Json::Null);
        set_free(&mut arguments, &task, &came[..at]);
        cut(&format!("Call {} with {arguments}", step.tool), TEXT_MAX)
    };
    let steps = steps.iter().enumerate().take(ITEMS_MAX).map(one).collect();
    Recipe::ExternalTool {
        tool: cut(&tools.join(", "), NAME_MAX),
        steps,
    }
}

/// Puts a name in the place of each value that the task says, or that an earlier step came to.
fn set_free(value: &mut Json, task: &str, came: &[String]) {
    let said = match value {
        Json::Object(members) => {
            return members.values_mut().for_each(|it| set_free(it, task, came));
        }
        Json::Array(items) => return items.iter_mut().for_each(|it| set_free(it, task, came)),
        Json::String(text) => text.trim().to_lowercase(),
        Json::Number(number) => number.to_string(),
        Json::Bool(_) | Json::Null => return,
    };
    if says(task, &said) {
        *value = "<as the task says>".into();
    } else if let Some(at) = came.iter().position(|came| says(came, &said)) {
        *value = format!("<from what step {} came to>", at + 1).into();
    }
}

/// Returns whether a text has this as words of its own, not within others.
fn says(text: &str, words: &str) -> bool {
    let is_edge = |next: Option<char>| !next.is_some_and(char::is_alphanumeric);
    let is_apart = |(at, found): (usize, &str)| {
        is_edge(text[..at].chars().next_back()) && is_edge(text[at + found.len()..].chars().next())
    };
    !words.is_empty() && text.match_indices(words).any(is_apart)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(tool: &str, arguments: Json, came: &str) -> ToolStep {
        ToolStep {
            tool: tool.into(),
            arguments: arguments.to_string(),
            worked: true,
            came: came.into(),
        }
    }

    /// D1.67: in order, with the values of this task alone left free.
    #[test]
    fn what_a_task_says_and_what_a_step_came_to_is_left_free() {
        let steps = [
            step(
                "find",
                json!({ "days": [3], "exact": true, "most": 5, "text": "Oslo" }),
                "the station Blindern, no. 18700",
            ),
            step(
                "read",
                json!({ "of": { "station": 18700 }, "unit": "C" }),
                "4 degrees",
            ),
        ];
        let recipe = instructions(&steps, "The weather in OSLO in 3 days, not 55");
        let both = [
            r#"Call find with {"days":["<as the task says>"],"exact":true,"most":5,"text":"<as the task says>"}"#,
            r#"Call read with {"of":{"station":"<from what step 1 came to>"},"unit":"C"}"#,
        ];
        assert_eq!(
            recipe,
            Recipe::ExternalTool {
                tool: "find, read".into(),
                steps: both.map(str::to_owned).into()
            }
        );
    }

    #[test]
    fn what_stands_within_another_word_is_not_said() {
        assert!(says("the weather in oslo.", "oslo") && says("straße 5", "5"));
        assert!(!says("oslofjord", "oslo") && !says("55", "5") && !says("anything", ""));
    }
}
