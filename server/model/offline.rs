//! The offline model answers when no model is configured. It is no language model, and says so. It is deterministic and shows the whole flow:
//! submodules remark, and the decision replies through its tool, in pieces.

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::endpoint::Options;
use super::openai;
use super::provider::{Answer, Model, Piece, Pieces, Prepared, Request, ToolCall, Usage};
use thinkd_words::failure::{Failure, FailureKind, Who};

const NO_MODEL: &str =
    "no model is configured: set THINKD_MODEL (models.low.model), and start the server again";
/// The reason in the detail of that failure.
pub const UNCONFIGURED: &str = "unconfigured";

/// Most characters that are repeated of a text.
const QUOTE_MAX: usize = 80;

/// Characters of each remark that a reply repeats.
const REMARK_MAX: usize = 40;

/// Most characters that a submodule repeats of its task.
const TASK_MAX: usize = 60;

/// About how many characters come in a piece.
const PIECE: usize = 24;

/// The built-in model.
pub struct Offline {
    options: Options,
}

impl Offline {
    /// The built-in model.
    pub fn new() -> Self {
        Self {
            options: Options::new("offline"),
        }
    }
}

impl Default for Offline {
    fn default() -> Self {
        Self::new()
    }
}

impl Model for Offline {
    /// The same body that a provider would get, so that prompt views look alike.
    fn prepare(&self, request: &Request) -> Prepared {
        openai::prepare(&self.options, request)
    }

    fn ask(&self, prepared: Prepared) -> Pieces {
        // What these ask takes thinking, and a repeated word would be taken for its answer.
        if let Who::Mission(_) | Who::Trial = prepared.module {
            let failure = Failure::new(FailureKind::Model, NO_MODEL);
            let failure = failure.with(json!({ "reason": UNCONFIGURED }));
            return stream::iter([Err(failure)]).boxed();
        }
        let view: Value = serde_json::from_str(prepared.body.as_str()).unwrap_or_default();
        let transcript = transcript(&view);
        let (transcript, role) = role(&transcript);
        let heard = Heard::in_transcript(transcript);
        let (text, calls) = match &prepared.module {
            Who::Submodule(_) if heard.replied => (String::new(), Vec::new()),
            Who::Submodule(name) => (remark(name.as_str(), role, &heard.said), Vec::new()),
            Who::Pipeline(_) => (extract(transcript), Vec::new()),
            _ => decided(&view, &heard),
        };
        let output = text.len() + calls.iter().map(|call| call.arguments.len()).sum::<usize>();
        let usage = Usage {
            input_tokens: tokens(prepared.body.as_str().len()),
            output_tokens: tokens(output),
            cached_tokens: 0,
        };
        let finish = if calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        let answer = Answer {
            text,
            calls,
            usage,
            finish: finish.to_owned(),
            ..Answer::default()
        };
        stream::iter(pieces(answer).into_iter().map(Ok)).boxed()
    }

    fn name(&self) -> String {
        "the built-in offline model (no language model is configured)".to_owned()
    }
}

/// The parts of a prompt view that the offline model understands.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    /// The last thing a user said.
    said: String,
    /// The remarks of submodules since.
    remarks: Vec<String>,
    /// True if it has been replied to.
    replied: bool,
}

impl Heard {
    /// Reads entries like `#12 [2026-11-21 04:25] user: hello` and
    /// `#13 [2026-11-21 04:25] voice critic: …`, with further lines indented. In a text that has no
    /// such entries the last line is the user's.
    fn in_transcript(transcript: &str) -> Self {
        let mut entries: Vec<(&str, String)> = Vec::new();
        for line in transcript.lines() {
            match (entry(line), line.strip_prefix("    "), entries.last_mut()) {
                (Some((who, text)), ..) => entries.push((who, text.to_owned())),
                (None, Some(more), Some((_, text))) => *text = format!("{text} {more}"),
                // Whatever this is, it goes on with nothing.
                (None, ..) => entries.push(("", String::new())),
            }
        }
        let Some(at) = entries.iter().rposition(|(who, _)| who.starts_with("user")) else {
            let mut lines = transcript.lines().rev().map(str::trim);
            let last = lines.find(|line| !line.is_empty());
            return Self {
                said: last.unwrap_or_default().to_owned(),
                ..Self::default()
            };
        };
        let since = &entries[at + 1..];
        let remark = |(who, text): &(&str, String)| {
            let name = who.strip_prefix("voice ")?;
            Some(format!("{name}: {text}"))
        };
        Self {
            said: entries[at].1.clone(),
            remarks: since.iter().filter_map(remark).collect(),
            replied: since.iter().any(|(who, _)| who.starts_with("reply")),
        }
    }
}

/// `#12 [2026-11-21 04:25] who: text`.
fn entry(line: &str) -> Option<(&str, &str)> {
    let rest = line
        .strip_prefix('#')?
        .trim_start_matches(|c: char| c.is_ascii_digit());
    let (_, rest) = rest.strip_prefix(" [")?.split_once("] ")?;
    rest.split_once(": ")
        .or_else(|| Some((rest.strip_suffix(':')?, "")))
}

/// The text of all user messages.
fn transcript(view: &Value) -> String {
    texts_of(view, "user")
}

/// The text of all system messages.
fn instructions(view: &Value) -> String {
    texts_of(view, "system")
}

fn texts_of(view: &Value, role: &str) -> String {
    let messages = view["messages"].as_array().into_iter().flatten();
    let its = messages.filter(|message| message["role"] == role);
    let texts = its.map(|message| match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            Vec::from_iter(texts).join("\n")
        }
        _ => String::new(),
    });
    Vec::from_iter(texts).join("\n\n")
}

/// A decision: a reply, and, where the thread may think by itself, sleep until a message comes.
fn decided(view: &Value, heard: &Heard) -> (String, Vec<ToolCall>) {
    let tools = view.get("tools").and_then(Value::as_array);
    let has = |name: &str| {
        let mut tools = tools.into_iter().flatten();
        tools.any(|tool| tool.pointer("/function/name").and_then(Value::as_str) == Some(name))
    };
    if tools.is_none_or(Vec::is_empty) {
        // Small questions beside the conversation have no elements.
        if !instructions(view).contains("<reply>") {
            return (announcement(heard), Vec::new());
        }
        let text = announcement(heard).replace('&', "&amp;");
        let text = text.replace('<', "&lt;");
        return (format!("<reply>{text}</reply>\n<wait/>"), Vec::new());
    }
    if !has("reply") {
        return (announcement(heard), Vec::new());
    }
    let mut calls = vec![call("reply", &json!({ "text": announcement(heard) }))];
    if has("set_wait") {
        let wait = json!({ "wait": true, "from": null, "timeout_s": null });
        calls.extend([
            call("sends_done", &json!({})),
            call("contacts_done", &json!({})),
            call("set_wait", &wait),
        ]);
    } else if has("terminate") {
        calls.push(call("wait", &json!({ "from": null, "timeout_s": null })));
    }
    (String::new(), calls)
}

fn call(name: &str, arguments: &Value) -> ToolCall {
    ToolCall {
        id: "offline".to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_string(),
    }
}

/// The one line that it says: every later prompt has it.
fn announcement(heard: &Heard) -> String {
    let said = match heard.said.as_str() {
        "" => "I saw no message.".to_owned(),
        said => format!("You said: “{}”.", quote(said, QUOTE_MAX)),
    };
    let remarks = heard.remarks.iter().map(|it| quote(it, REMARK_MAX));
    let remarks = Vec::from_iter(remarks).join(" / ");
    let submodules = match heard.remarks.is_empty() {
        true => String::new(),
        false => format!(" Voices: {remarks}."),
    };
    format!("I am the offline model; THINKD_MODEL sets a real one. {said}{submodules}")
}

/// Returns the offline model's words on a text that a pipeline gives it: its length, its beginning
/// and its end.
fn extract(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = Vec::from_iter(lines);
    let quoted = |line: Option<&&str>| quote(line.unwrap_or(&""), QUOTE_MAX);
    let first = quoted(lines.first());
    let last = quoted(lines.last());
    let count = lines.len();
    format!("(offline) {count} lines; the first: “{first}”; the last: “{last}”")
}

/// Returns the part before a submodule's own prompt, and that prompt: `prompts/submodule_*.md` end
/// with this line.
fn role(view: &str) -> (&str, &str) {
    let (view, prompt) = view.split_once("\nYour role:\n").unwrap_or((view, ""));
    // Its task and its mood stand behind it (`prompts/self_now.md`).
    match prompt.rsplit_once("\n\n(") {
        Some((prompt, now)) if now.ends_with(".)") => (view, prompt),
        _ => (view, prompt),
    }
}

/// Returns the task in a prompt: its first sentence that does more than name the speaker.
fn task(prompt: &str) -> Option<&str> {
    let paragraphs = prompt.split_terminator('\n');
    let sentences = paragraphs.flat_map(|it| it.split_inclusive(['.', '!', '?', ':', ';']));
    let mut sentences = sentences.map(str::trim).filter(|it| !it.is_empty());
    let says_more = |sentence: &&str| !sentence.starts_with("You are ");
    let first = sentences.clone().next();
    sentences.find(says_more).or(first)
}

/// One dry remark of a submodule: the task of its prompt, and something about the message that
/// differs from submodule to submodule. Without a message there is nothing to remark.
fn remark(submodule: &str, prompt: &str, said: &str) -> String {
    let words = said.split_whitespace().count();
    if words == 0 {
        return String::new();
    }
    let later = said.split_whitespace().skip(1);
    let later = later.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let names = later.filter(|word| word.starts_with(char::is_uppercase));
    let names = quote(&Vec::from_iter(names).join(", "), QUOTE_MAX);
    let noun = if words == 1 { "word" } else { "words" };
    let is_question = said.trim_end().ends_with('?');
    let has_figures = said.chars().any(char::is_numeric);
    let aspects = [
        None,
        is_question.then(|| "This is a question; it wants an answer.".to_owned()),
        (!names.is_empty()).then(|| format!("Names may be in it: {names}.")),
        has_figures.then(|| "It has figures in it; they should be kept exactly.".to_owned()),
    ];
    let first = submodule.bytes().take(2).map(usize::from).sum::<usize>() % aspects.len();
    let length = || format!("The message has {words} {noun}.");
    let aspect = aspects[first].clone().unwrap_or_else(length);
    let task = task(prompt).map(|task| task.trim_end_matches(['.', ':', ';']));
    let task = task.map(|task| format!("“{}” ", quote(task, TASK_MAX)));
    format!("{}{aspect} (offline)", task.unwrap_or_default())
}

fn quote(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Four bytes a token, as everybody guesses.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

/// The answer as it would come from a streaming provider.
fn pieces(answer: Answer) -> Vec<Piece> {
    let words = cut(&answer.text).map(|text| Piece::Text(text.to_owned()));
    let mut pieces = Vec::from_iter(words);
    for (index, call) in answer.calls.iter().enumerate() {
        pieces.push(Piece::Call {
            index,
            name: Some(call.name.clone()),
            arguments: String::new(),
        });
        let more = |arguments: &str| Piece::Call {
            index,
            name: None,
            arguments: arguments.to_owned(),
        };
        pieces.extend(cut(&call.arguments).map(more));
    }
    pieces.push(Piece::End(answer));
    pieces
}

/// A text in pieces of about `PIECE` bytes.
fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(PIECE.min(rest.len())));
        rest = after;
        Some(piece)
    })
}
