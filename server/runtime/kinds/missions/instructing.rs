//! How the calls of tools that led to an answer become instructions for like tasks: the same calls
//! in the same order, and what was this task's own in their arguments is left free. Pure.

use serde_json::Value as Json;

use crate::event::framework::{ITEMS_MAX, NAME_MAX, Recipe, TEXT_MAX};
use crate::event::statement::cut;
use crate::event::task::ToolStep;

/// What every such framework says of its steps.
pub(super) const ABOUT: &str = "These calls led to an answer that passed its check. What stands in <…> is each task's own; the rest stood there as it is here.";

/// Returns the recipe of these calls, of a task that says this.
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

    /// D1.67: in order, with what was this task's own left free.
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
