//! Habits of one model at one endpoint, learned from its answers, so that the next call does not pay for them again.
//! They are forgotten after a day, for servers are upgraded.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::words::text::Json;
use crate::words::time::{self, Timestamp};

/// Time until a habit is forgotten.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// Most habits of one model.
const HABITS_MAX: usize = 32;

/// Most characters of a member's name that is kept.
const NAME_MAX: usize = 64;

/// One habit: how a request is sent to this model, or how its answers are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Habit {
    /// Refuses this member of a request, which is left out.
    Refuses(String),
    /// Wants `max_completion_tokens` in the place of `max_tokens`.
    WantsCompletionTokens,
    /// Refuses system messages, whose text begins the user's.
    RefusesSystem,
    /// Answers in this way only: streamed (true) or plainly (false).
    Streams(bool),
    /// Answers plainly although a stream is asked for: the first piece comes with the last.
    AnswersPlainly,
    /// Closes thinking that it never opened: no word is passed on before the end.
    ClosesThinking,
}

/// A habit with the provider's words, and when it was learned.
#[derive(Debug, Clone, Serialize)]
pub struct Learned {
    /// The habit.
    pub habit: Habit,
    /// The provider's words, shortened, where it said something.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// The time when it was learned.
    pub since: Timestamp,
    #[serde(skip)]
    until: Option<Instant>,
}

/// The habits of one model.
#[derive(Debug, Default)]
pub(super) struct Habits(Mutex<Vec<Learned>>);

impl Habits {
    /// The habits that are not forgotten, in the order in which they were learned.
    pub fn now(&self) -> Vec<Learned> {
        let mut list = self.lock();
        let now = Instant::now();
        list.retain(|learned| learned.until.is_none_or(|until| until > now));
        list.clone()
    }

    /// Keeps a habit for a day. Returns whether it is new.
    pub fn learn(&self, habit: &Habit, words: &str) -> bool {
        let until = Instant::now().checked_add(KEPT);
        let mut list = self.lock();
        let known = list.iter().position(|learned| learned.habit == *habit);
        known.into_iter().for_each(|at| drop(list.remove(at)));
        if list.len() < HABITS_MAX {
            let (habit, words) = (habit.clone(), words.to_owned());
            list.push(Learned {
                habit,
                words,
                since: time::now(),
                until,
            });
        }
        known.is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Learned>> {
        // A panic while this short lock was held left nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Members that a refusal may name and that can be left out. Every parameter that is configured is one, too.
const LEFT_OUT: [&str; 9] = [
    "tool_choice",
    "stream_options",
    "strict",
    "temperature",
    "max_tokens",
    "tools",
    "parallel_tool_calls",
    "top_p",
    "reasoning_effort",
];

/// Words with which a refusal says that it is about a parameter.
const REFUSING: [&str; 21] = [
    "cannot",
    "mixed",
    "must set",
    "verified",
    "enable the",
    "support",
    "unknown",
    "unrecognized",
    "unexpected",
    "not allowed",
    "not permitted",
    "extra",
    "deprecated",
    "unsupported",
    "invalid",
    "must be",
    "only the default",
    "not enabled",
    "requires",
    "not available",
    "no endpoints",
];

impl Habit {
    /// The habit that a refusal of a request with these members shows; none where it is about something else.
    pub fn of_refusal(words: &str, body: &Map<String, Value>) -> Option<Self> {
        let said = words.to_lowercase();
        if !REFUSING.iter().any(|word| said.contains(word)) {
            return None;
        }
        let is_about_system = (said.contains("system")
            && (said.contains("role") || said.contains("message")))
            || said.contains("developer instruction");
        if is_about_system && has_system(body) {
            return Some(Self::RefusesSystem);
        }
        if let Some(habit) = Self::of_streams(&said, body) {
            return Some(habit);
        }
        if names(&said, "max_completion_tokens") && body.contains_key("max_tokens") {
            return Some(Self::WantsCompletionTokens);
        }
        if is_about_tools(&said) && body.contains_key("tools") {
            return Some(Self::Refuses("tools".to_owned()));
        }
        let is_sent = |name: &str| match name {
            "strict" => is_strict(body),
            name => body.contains_key(name),
        };
        let known = LEFT_OUT
            .iter()
            .map(|name| (*name).to_owned())
            .filter(|name| name != "tools");
        let own = body
            .keys()
            .filter(|name| !BASIC.contains(&name.as_str()))
            .cloned();
        let mut named = known
            .chain(own)
            .filter(|name| is_sent(name) && names(&said, &name.to_lowercase()));
        named
            .next()
            .map(|name| Self::Refuses(name.chars().take(NAME_MAX).collect()))
    }

    /// The habit of a model that refuses to stream, or to answer plainly.
    fn of_streams(said: &str, body: &Map<String, Value>) -> Option<Self> {
        let wants = [
            "only support stream",
            "only supports stream",
            "enable the stream",
            "streaming is required",
            "stream must be true",
        ];
        let is_streamed = body.get("stream") == Some(&Value::Bool(true));
        match is_streamed {
            false if wants.iter().any(|words| said.contains(words)) => Some(Self::Streams(true)),
            true if names(said, "stream") || said.contains("streaming is not") => {
                Some(Self::Streams(false))
            }
            _ => None,
        }
    }

    /// The habit as a sentence about the model.
    pub fn sentence(&self) -> String {
        match self {
            Self::Refuses(name) => format!("refuses `{name}`, which is left out"),
            Self::WantsCompletionTokens => {
                "wants max_completion_tokens in the place of max_tokens".to_owned()
            }
            Self::RefusesSystem => {
                "refuses system messages, whose text begins the user's".to_owned()
            }
            Self::Streams(true) => "answers in streams only".to_owned(),
            Self::Streams(false) => "refuses to stream".to_owned(),
            Self::AnswersPlainly => "answers plainly although a stream is asked for".to_owned(),
            Self::ClosesThinking => "closes thinking that it never opened".to_owned(),
        }
    }

    /// True if a request is sent otherwise by it.
    pub fn changes_requests(&self) -> bool {
        !matches!(self, Self::AnswersPlainly | Self::ClosesThinking)
    }
}

/// Members that every request needs.
const BASIC: [&str; 4] = ["model", "messages", "stream", "tools"];

/// True if a refusal names a member, with or without its underscores.
fn names(said: &str, name: &str) -> bool {
    has_word(said, name) || has_word(said, &name.replace('_', ""))
}

/// True if a text has a word of its own.
fn has_word(said: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    said.match_indices(name).any(|(at, _)| {
        let before = said[..at].chars().next_back();
        let after = said[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// True if a refusal says that the model, or its server, takes no tools at all.
fn is_about_tools(said: &str) -> bool {
    let words = [
        "does not support tool",
        "not support tools",
        "tools are not supported",
        "tool use is not supported",
        "tool calling is not supported",
        "tool use not supported",
        "support tool use",
        "support function calling",
        "function calling is not enabled",
        "function calling is not supported",
        "requires --enable-auto-tool-choice",
        "tools is not supported",
        "tool calls are not supported",
        "not support function call",
        "requires --jinja",
        "tools param requires",
    ];
    !said.contains("tool_choice") && words.iter().any(|words| said.contains(words))
}

fn has_system(body: &Map<String, Value>) -> bool {
    let messages = body
        .get("messages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    messages
        .into_iter()
        .any(|message| message.get("role").is_some_and(|role| role == "system"))
}

fn is_strict(body: &Map<String, Value>) -> bool {
    let mut tools = body
        .get("tools")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    tools.any(|tool| {
        tool.get("function")
            .is_some_and(|function| function.get("strict").is_some())
    })
}

/// The members of a request.
pub(super) fn members(body: &Json) -> Map<String, Value> {
    serde_json::from_str(body.as_str()).unwrap_or_default()
}

/// The same request as a model with these habits takes it.
pub(super) fn adjusted(body: &Json, habits: &[Habit]) -> Json {
    if !habits.iter().any(Habit::changes_requests) {
        return body.clone();
    }
    let mut members = members(body);
    for habit in habits {
        match habit {
            Habit::Refuses(name) if name == "strict" => without_strict(&mut members),
            Habit::Refuses(name) if name == "tools" => {
                members.retain(|member, _| {
                    !matches!(
                        member.as_str(),
                        "tools" | "tool_choice" | "parallel_tool_calls"
                    )
                });
            }
            Habit::Refuses(name) => drop(members.remove(name)),
            Habit::WantsCompletionTokens => {
                if let Some(most) = members.remove("max_tokens") {
                    members.insert("max_completion_tokens".to_owned(), most);
                }
            }
            Habit::RefusesSystem => join_system(&mut members),
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
    let tools = members
        .get_mut("tools")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    for tool in tools {
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
        let is_system = message.get("role").is_some_and(|role| role == "system");
        if is_system {
            system.push_str(
                message
                    .get("content")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            );
            system.push_str("\n\n");
        }
        !is_system
    });
    match messages
        .first_mut()
        .and_then(|message| message.get_mut("content"))
    {
        Some(Value::String(content)) => content.insert_str(0, &system),
        Some(Value::Array(parts)) => {
            parts.insert(0, serde_json::json!({ "type": "text", "text": system }))
        }
        _ => {}
    }
}
