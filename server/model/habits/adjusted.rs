//! Requests as a model takes them: with members left out, renamed or made plain. Pure.

use serde_json::{Map, Value};

use super::{Habit, OUTPUT, members};
use crate::plain_schemas;
use thinkd_words::text::Json;

/// The same request as a model with these habits takes it.
pub fn adjusted(body: &Json, habits: &[Habit]) -> Json {
    if !habits.iter().any(Habit::changes_requests) {
        return body.clone();
    }
    let mut members = members(body);
    for habit in habits {
        match habit {
            Habit::Refuses(name) if name == "strict" => without_strict(&mut members),
            Habit::Refuses(name) if name == "tools" => {
                let of_tools = ["tools", "tool_choice", "parallel_tool_calls"];
                members.retain(|member, _| !of_tools.contains(&member.as_str()));
            }
            Habit::Refuses(name) if OUTPUT.contains(&name.as_str()) => {
                members.retain(|member, _| !OUTPUT.contains(&member.as_str()));
            }
            Habit::Refuses(name) => drop(members.remove(name)),
            Habit::WantsCompletionTokens => {
                if let Some(most) = members.remove("max_tokens") {
                    members.insert("max_completion_tokens".to_owned(), most);
                }
            }
            Habit::RefusesSystem => join_system(&mut members),
            Habit::TakesTools(most) => {
                if let Some(Value::Array(tools)) = members.get_mut("tools") {
                    tools.truncate(*most);
                }
            }
            Habit::TakesPlainSchemas => {
                let tools = members.get_mut("tools").into_iter();
                tools.for_each(plain_schemas::plain);
            }
            Habit::Streams(streams) => {
                members.insert("stream".to_owned(), Value::Bool(*streams));
                if !streams {
                    members.remove("stream_options");
                }
            }
            Habit::AnswersPlainly | Habit::ClosesThinking => {}
        }
    }
    Json::of(&members)
}

fn without_strict(members: &mut Map<String, Value>) {
    let tools = members.get_mut("tools").and_then(Value::as_array_mut);
    for tool in tools.into_iter().flatten() {
        if let Some(function) = tool.get_mut("function").and_then(Value::as_object_mut) {
            function.remove("strict");
        }
    }
}

/// Puts the text of system messages before the first message of the user.
fn join_system(members: &mut Map<String, Value>) {
    let Some(messages) = members.get_mut("messages").and_then(Value::as_array_mut) else {
        return;
    };
    let mut system = String::new();
    messages.retain(|message| {
        let is_system = message["role"] == "system";
        if is_system {
            system.push_str(message["content"].as_str().unwrap_or_default());
            system.push_str("\n\n");
        }
        !is_system
    });
    let first = messages.first_mut();
    match first.and_then(|message| message.get_mut("content")) {
        Some(Value::String(content)) => content.insert_str(0, &system),
        Some(Value::Array(parts)) => {
            parts.insert(0, serde_json::json!({ "type": "text", "text": system }))
        }
        _ => {}
    }
}
