//! Habits of one model at one endpoint, learned from its answers, so that the next call does not pay for them again.
//! They are forgotten after a day, for servers are upgraded.

use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::plain_schemas;
use super::refusal_text::{has_any, is_placed, spelled_out};
pub(super) use adjusted::adjusted;
use thinkd_words::text::Json;
use thinkd_words::time::{self, Timestamp};

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
    /// Refuses system messages: their text begins the user's.
    RefusesSystem,
    /// Takes so many tools at most.
    TakesTools(usize),
    /// Takes schemas of tools only without alternatives and additional properties.
    TakesPlainSchemas,
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
        let mut list = self.0.lock();
        let now = Instant::now();
        list.retain(|learned| learned.until.is_none_or(|until| until > now));
        list.clone()
    }

    /// Keeps a habit for a day. Returns whether it is new.
    pub fn learn(&self, habit: &Habit, words: &str) -> bool {
        let until = Instant::now().checked_add(KEPT);
        let mut list = self.0.lock();
        let known = list.iter().position(|learned| learned.habit == *habit);
        known.into_iter().for_each(|at| drop(list.remove(at)));
        if list.len() < HABITS_MAX {
            let habit = habit.clone();
            let words = words.to_owned();
            list.push(Learned {
                habit,
                words,
                since: time::now(),
                until,
            });
        }
        known.is_none()
    }
}

/// Members that a refusal may name and that can be left out. Every parameter that is configured is one, too.
const LEFT_OUT: [&str; 8] = [
    "tool_choice",
    "stream_options",
    "strict",
    "temperature",
    "tools",
    "parallel_tool_calls",
    "top_p",
    "reasoning_effort",
];

/// Members that limit the length of an answer.
const OUTPUT: [&str; 4] = [
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
];

/// Words with which a refusal says that it is about a parameter.
const REFUSING: &str = "cannot|mixed|must set|verified|enable the|support|unknown|unrecogni|unexpected|\
    not allowed|not permitted|extra|deprecated|invalid|must be|should be|only the default|enabled|\
    requires|not available|no endpoints|range|exceed|less than|at most|maximum|too many|too large|to true|to false|\
    参数|不支持|非法|无效";

/// Words with which a refusal says that something is not taken at all.
const TAKES_NONE: &str = "not support|unsupported|no support|not been enabled|not enabled|disabled|\
    not available|unavailable|not allowed|not permitted|forbidden|unrecogni|unknown|unexpected|\
    cannot|unable|requires --|no endpoints|not a valid|extra|requires|no tool|without tool|lacks|\
    不支持";

impl Habit {
    /// The habit that a refusal of a request with these members shows; none where it is about
    /// something else. Of a request that is too long it can only be the limit of the answer.
    pub fn of_refusal(words: &str, body: &Map<String, Value>, is_too_long: bool) -> Option<Self> {
        let words = words.to_lowercase();
        let said = spelled_out(&words);
        let output = Self::of_output(&said, body);
        if output.is_some() || is_too_long {
            return output;
        }
        if has_system(body) && is_about_roles(&said) {
            return Some(Self::RefusesSystem);
        }
        if let Some(most) = most_tools(&words, body) {
            return Some(Self::TakesTools(most));
        }
        if let Some(habit) = Self::of_schemas(&said, body) {
            return Some(habit);
        }
        if !has_any(&said, REFUSING) && !has_any(&said, TAKES_NONE) {
            return None;
        }
        let is_sent = |name: &str| match name {
            "strict" => is_strict(body),
            name => body.contains_key(name),
        };
        let is_named = |name: &str| is_sent(name) && names(&said, &name.to_lowercase());
        let refuses = |name: &str| Self::Refuses(name.chars().take(NAME_MAX).collect());
        if is_named("stream_options") {
            return Some(refuses("stream_options"));
        }
        if let Some(habit) = Self::of_streams(&said, body) {
            return Some(habit);
        }
        // A member that is named goes before all that words of many meanings may be about.
        let own = body.keys().map(String::as_str);
        let own = own.filter(|name| !BASIC.contains(name));
        let known = LEFT_OUT.into_iter().filter(|name| *name != "tools");
        if let Some(name) = known.chain(own).find(|name| is_named(name)) {
            return Some(refuses(name));
        }
        if body.contains_key("tools") && is_about_tools(&said) && !is_placed(&words) {
            return Some(refuses("tools"));
        }
        let is_of_system = said.contains("system") && has_any(&said, "role|message");
        let is_about_system = is_of_system || said.contains("developer instruction");
        (is_about_system && has_system(body)).then_some(Self::RefusesSystem)
    }

    /// The habit of a model that refuses the limit of its answer: the words name it, or its number.
    fn of_output(said: &str, body: &Map<String, Value>) -> Option<Self> {
        const MEANT: &str = "in the completion|for the completion|in the output|output tokens|\
            completion tokens|tokens you requested|generation length|max tokens|maximum tokens";
        let name = OUTPUT.into_iter().find(|name| body.contains_key(*name))?;
        let most = body.get(name).and_then(Value::as_u64).unwrap_or_default();
        let is_number = |part: &str| part.replace([',', '_'], "").parse() == Ok(most);
        let mut parts = said.split(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '_')));
        let has_number = most >= 16 && parts.any(|part| is_number(part.trim_matches([',', '_'])));
        let is_named = OUTPUT.iter().any(|name| names(said, name));
        let wants_other = name == "max_tokens" && names(said, "max_completion_tokens");
        // `Use 'max_completion_tokens' instead` says nothing of a size.
        let sizes = "too large|exceed|greater|less than|at most|range|maximum| > |<=";
        if wants_other && !has_number && !has_any(said, sizes) {
            return Some(Self::WantsCompletionTokens);
        }
        (is_named || has_number || has_any(said, MEANT)).then(|| Self::Refuses(name.to_owned()))
    }

    /// Returns the habit of a model on a server that cannot read the schemas of tools, and names
    /// none of them. First they are not strict, then plain, then half as many are sent, at last
    /// none.
    fn of_schemas(said: &str, body: &Map<String, Value>) -> Option<Self> {
        const SCHEMAS: &str = "grammar|schema conversion|unrecognized schema|unsupported schema";
        const UNKNOWN: &str = "unknown|unrecogni|unexpected|not support|unsupported|cannot find";
        const KEYWORDS: &str = "additionalproperties|additional_properties|anyof|any_of";
        const FAILED: &str =
            "fail|pars|compil|conver|unrecogni|unsupported|not support|invalid|too ";
        let is_keyword = has_any(said, KEYWORDS) && has_any(said, UNKNOWN);
        let has_failed = has_any(said, FAILED);
        let is_schema = has_any(said, SCHEMAS) && has_failed && !names(said, "response_format");
        if !body.contains_key("tools") || !(is_keyword || is_schema) {
            return None;
        }
        let tools = &body["tools"];
        let sent = tools.as_array().map_or(0, Vec::len);
        if is_strict(body) {
            return Some(Self::Refuses("strict".to_owned()));
        }
        if plain_schemas::has_more_than_plain(tools) {
            return Some(Self::TakesPlainSchemas);
        }
        if is_placed(said) || is_keyword {
            return None;
        }
        // The size of all of them together may be too much.
        Some(match sent {
            4.. => Self::TakesTools(sent / 2),
            _ => Self::Refuses("tools".to_owned()),
        })
    }

    /// The habit of a model that refuses to stream, or to answer plainly.
    fn of_streams(said: &str, body: &Map<String, Value>) -> Option<Self> {
        let is_streamed = body.get("stream") == Some(&Value::Bool(true));
        let needs = "only|must|require|enable the|enable stream|non-stream|non stream|\
            streaming mode|=true|= true|to true|use stream|set stream|仅支持";
        let no_stream = "verified|must be false|=false|= false|only";
        if !begins_word(said, "stream") && !said.contains("流式") {
            return None;
        }
        let is_refused = has_any(said, TAKES_NONE) || has_any(said, no_stream);
        match is_streamed {
            false if has_any(said, needs) => Some(Self::Streams(true)),
            true if is_refused || names(said, "stream") => Some(Self::Streams(false)),
            _ => None,
        }
    }

    /// The habit as a sentence about the model.
    pub fn sentence(&self) -> String {
        match self {
            Self::Refuses(name) => format!("refuses `{name}`, which is left out"),
            Self::WantsCompletionTokens => {
                "wants max_completion_tokens in the place of max_tokens".into()
            }
            Self::RefusesSystem => "refuses system messages, whose text begins the user's".into(),
            Self::TakesTools(most) => format!("takes at most {most} tools"),
            Self::TakesPlainSchemas => "takes plain schemas of tools only".into(),
            Self::Streams(true) => "answers in streams only".into(),
            Self::Streams(false) => "refuses to stream".into(),
            Self::AnswersPlainly => "answers plainly although a stream is asked for".into(),
            Self::ClosesThinking => "closes thinking that it never opened".into(),
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
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    said.match_indices(name).any(|(at, _)| {
        let before = said[..at].chars().next_back();
        let after = said[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// True if a word of a text begins so.
fn begins_word(said: &str, begin: &str) -> bool {
    let mut found = said.match_indices(begin);
    found.any(|(at, _)| !said[..at].ends_with(char::is_alphanumeric))
}

/// True if a refusal says that the model, or its server, takes no tools at all: not one of them, a
/// part of one, the choice among them, or their number.
fn is_about_tools(said: &str) -> bool {
    const ONE: &str = "schema|propert|declaration|grammar|strict|parallel|too many|too long|at most|\
        tool_choice|tool_use_failed|failed_generation|cannot find field|role|tool_call_id";
    const SUBJECTS: &str = "function call|functions|function-call|function_call|工具|函数调用";
    let is_subject = begins_word(said, "tool") || has_any(said, SUBJECTS);
    // Its parser is switched off: the choice that it names is its own.
    let is_off = said.contains("requires --");
    let is_part = has_any(said, ONE);
    is_subject && has_any(said, TAKES_NONE) && (is_off || !is_part)
}

/// True if a refusal says that roles are not in the order or of the kinds that a template knows. A
/// request has one system message and one of the user, so that it is the system's.
fn is_about_roles(said: &str) -> bool {
    let has = |words| has_any(said, words);
    let is_order = has("alternat") && has("role|user|message")
        || has("system message must be")
        || has("first message|start with|begin with") && has("user");
    let is_kind = has("role") && has("user") && has("assistant");
    is_order || is_kind && (has_any(said, REFUSING) || has_any(said, TAKES_NONE) || has("only"))
}

/// The number of tools that a model takes, where a refusal says that more were sent.
fn most_tools(words: &str, body: &Map<String, Value>) -> Option<usize> {
    const MANY: &str = "too many|maximum|at most|more than|exceed|limit|too long|up to";
    const OTHER: &str = "character|string|description|schema|propert|enum|depth|nest|token";
    let sent = body.get("tools")?.as_array()?.len();
    let is_number = has_any(words, "tool|function") && has_any(words, MANY);
    if !is_number || has_any(words, OTHER) || is_placed(words) {
        return None;
    }
    let numbers = words.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<usize> = numbers.filter_map(|number| number.parse().ok()).collect();
    // The answer and the opener of tools need a place each.
    let most = numbers.iter().copied().filter(|it| (2..sent).contains(it));
    let is_many = numbers.is_empty() && has_any(words, "too many|exceed|more than");
    // Without a number half as many are tried, as often as needed.
    let half = (is_many && sent >= 4).then_some(sent / 2);
    most.max().or(half)
}

fn has_system(body: &Map<String, Value>) -> bool {
    let mut messages = list(body, "messages");
    messages.any(|message| message["role"] == "system")
}

fn is_strict(body: &Map<String, Value>) -> bool {
    list(body, "tools").any(|tool| tool.pointer("/function/strict").is_some())
}

fn list<'b>(body: &'b Map<String, Value>, name: &str) -> impl Iterator<Item = &'b Value> {
    let list = body.get(name).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// The members of a request.
pub(super) fn members(body: &Json) -> Map<String, Value> {
    serde_json::from_str(body.as_str()).unwrap_or_default()
}

mod adjusted;
#[cfg(test)]
mod tests;
