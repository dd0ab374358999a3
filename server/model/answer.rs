//! The decoder of a provider's answer, whole or in pieces. It is lenient, because servers that call themselves OpenAI-compatible differ. Pure:
//! JSON in, pieces and an `Answer` out.

use serde_json::{Map, Value};

use super::provider::{Answer, Piece, Usage};
use super::refusal_text::has_any;
use calls::{Calls, Part};
pub(super) use ending::{Ending, is_refusal};
use members::{answer_in, as_text, choices, is_something, number_at, text_at};
use repeats::Deltas;
pub(super) use reported::{Reported, reported};
use reported::{is_error, of_error};
use thinking::Thinking;
pub use thinking::{Said, said};
use usage::{read_usage, usages};

mod calls;
mod ending;
mod members;
mod repeats;
mod reported;
mod thinking;
mod usage;

/// Most bytes of words and arguments one answer may have.
pub(super) const ANSWER_MAX: usize = 2 << 20;

/// Why an answer cannot be read on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// The answer is an error.
    Reported(Reported),
    /// The answer is larger than `ANSWER_MAX`.
    TooLarge,
}

/// The manner in which an answer is read, which depends on the asker and on the model's habits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Manner {
    /// `<thought>` is an element of the thinking language, which the answer is to be written in.
    pub keeps_thought: bool,
    /// This model closes thinking that it never opened: no word is certain before the end.
    pub holds_words: bool,
}

/// An answer as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    thinking: Thinking,
    calls: Calls,
    usage: Usage,
    finish: String,
    /// The reason that this word means.
    ending: Ending,
    /// The finish reason came alone, and nothing came behind it: one beside content is no end, for some say it in each
    /// chunk.
    is_closed: bool,
    /// The number of the choice that is read.
    choice: u64,
    /// The calls of other choices: some put the words in one, and their calls in the next.
    beside: Calls,
    /// All that whole messages in the place of deltas have said.
    told: String,
    deltas: Deltas,
    /// Words came in deltas.
    has_deltas: bool,
    weight: usize,
    /// The number of chunks that had something in them.
    pub content_chunks: usize,
    /// True if anything of an answer was seen at all.
    pub begun: bool,
}

/// An answer that has ended.
#[derive(Debug)]
pub(super) struct Whole {
    /// Words that were held back until the end.
    pub rest: String,
    /// The answer.
    pub answer: Answer,
    /// Why it ended.
    pub ending: Ending,
    /// The number of calls that were cut off and are not among its calls.
    pub cut_calls: usize,
    /// Thinking stood in the words, closed and never opened, and was taken off at the end.
    pub unopened: bool,
}

impl Draft {
    /// An empty draft, to be read in this manner.
    pub fn new(manner: Manner) -> Self {
        let thinking = Thinking::new(manner.keeps_thought, manner.holds_words);
        Self {
            thinking,
            ..Self::default()
        }
    }

    /// Takes up one chunk of a stream, or a whole plain answer: they differ only in how much they hold.
    pub fn take(&mut self, chunk: &Value) -> Result<Vec<Piece>, Unreadable> {
        let chunk = answer_in(chunk);
        // A gateway says `ok` beside an answer, and an error beside none.
        if let Some(reported) = reported(chunk) {
            return Err(Unreadable::Reported(reported));
        }
        let choice = self.own_choice(chunk);
        for usage in usages(chunk, choice) {
            self.usage = read_usage(usage).max(self.usage);
        }
        let mut pieces = Vec::new();
        if let Some(choice) = choice {
            if let Some(error) = choice.get("error").filter(|error| is_error(error)) {
                return Err(Unreadable::Reported(of_error(error, choice)));
            }
            self.begun = true;
            self.take_choice(choice, &mut pieces);
        }
        self.take_beside(chunk, choice);
        match self.weight > ANSWER_MAX {
            true => Err(Unreadable::TooLarge),
            false => Ok(pieces),
        }
    }

    /// The reason why it ended, as far as the provider has said.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The provider's word for that.
    pub fn word(&self) -> &str {
        &self.finish
    }

    /// True if the provider said that it ended, in any word.
    pub fn is_ended(&self) -> bool {
        self.ending() != Ending::Open
    }

    /// True if nothing but the usage can follow. Some say `stop` in an empty chunk, long before their words, or in each.
    pub fn is_over(&self) -> bool {
        self.is_closed && self.ending().is_known_end() && self.has_words_or_calls()
    }

    /// True if the provider said that it ended, and nothing came yet.
    pub fn is_over_empty(&self) -> bool {
        self.is_closed && self.ending().is_known_end() && !self.has_words_or_calls()
    }

    /// True if there are calls, all of them whole.
    pub fn has_whole_calls(&self) -> bool {
        let (made, whole) = self.calls.counts();
        made > 0 && made == whole
    }

    /// The whole answer.
    pub fn finish(mut self) -> Whole {
        let ending = self.ending();
        let is_cut = ending == Ending::Cut;
        let held = self.deltas.finish();
        let rest = self.thinking.push(&held) + &self.thinking.finish();
        self.text.push_str(&rest);
        let behind = thinking::behind_unopened(&self.text).map(str::to_owned);
        if self.calls.is_empty() && ending::announces_calls(&self.finish) {
            self.calls = self.beside;
        }
        let (made, _) = self.calls.counts();
        let mut calls = self.calls.finish(is_cut);
        let cut_calls = made - calls.len();
        // The same under one id is one call, whatever its number.
        calls.dedup_by(|call, before| !call.id.is_empty() && call == before);
        Whole {
            rest,
            ending,
            cut_calls,
            unopened: behind.is_some(),
            answer: Answer {
                text: behind.unwrap_or(self.text),
                calls,
                usage: self.usage,
                finish: self.finish,
                ..Answer::default()
            },
        }
    }

    /// The choice that is read: the first one that came, unless nothing was in it.
    fn own_choice<'c>(&mut self, chunk: &'c Value) -> Option<&'c Value> {
        let own = |number: u64| choices(chunk).find(|(it, _)| *it == number);
        if self.weight > 0 {
            return own(self.choice).map(|(_, choice)| choice);
        }
        let (number, choice) = choices(chunk).min_by_key(|(number, _)| *number)?;
        self.choice = number;
        Some(choice)
    }

    fn take_beside(&mut self, chunk: &Value, own: Option<&Value>) {
        let is_own = |choice: &Value| own.is_some_and(|own| std::ptr::eq(own, choice));
        let others = choices(chunk).filter(|(_, choice)| !is_own(choice));
        let said = others.filter_map(|(_, choice)| said_in(choice));
        for call in said.flat_map(calls_of) {
            self.weight += self.beside.take(part_of(call)).1;
        }
    }

    fn take_choice(&mut self, choice: &Value, pieces: &mut Vec<Piece>) {
        let said = said_in(choice);
        let text = text_at(choice, "text");
        let words = said.map_or_else(|| text.unwrap_or_default().to_owned(), spoken);
        let calls = said.into_iter().flat_map(calls_of).map(part_of);
        let calls = Vec::from_iter(calls);
        let has_content = !words.is_empty()
            || text.is_some()
            || calls.iter().any(Part::is_full)
            || said.is_some_and(has_thought);
        let word = text_at(choice, "finish_reason").unwrap_or_default();
        let ending = Ending::of(word);
        let is_end = ending != Ending::Open;
        if said.is_some() && object_in(choice, "delta").is_none() {
            self.take_message(words, calls, pieces);
        } else {
            self.has_deltas |= !words.is_empty();
            let words = self.deltas.take(&words, is_end);
            self.take_words(&words, pieces);
            calls
                .into_iter()
                .for_each(|call| self.take_call(call, pieces));
        }
        self.is_closed = !has_content && (self.is_closed || is_end);
        self.content_chunks += usize::from(has_content);
        // A word that means none takes nothing back.
        if self.finish.is_empty() || is_end {
            word.clone_into(&mut self.finish);
            self.ending = ending;
        }
    }

    /// Takes up a whole message: a plain answer, the pieces of one in the place of deltas, or the
    /// words of earlier deltas once more.
    fn take_message(&mut self, words: String, calls: Vec<Part<'_>>, pieces: &mut Vec<Piece>) {
        if !self.has_deltas {
            // A message that begins with all that was said is the message so far.
            let more = words.strip_prefix(&self.told).unwrap_or(&words);
            self.told.push_str(more);
            self.take_words(more, pieces);
        }
        if self.calls.is_empty() {
            calls
                .into_iter()
                .for_each(|call| self.take_call(call, pieces));
        } else if !calls.is_empty() && self.calls.are_open() {
            self.calls.replace(calls);
        }
    }

    /// True if words or calls have come.
    pub fn has_words_or_calls(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    fn take_words(&mut self, words: &str, pieces: &mut Vec<Piece>) {
        self.weight += words.len();
        let certain = self.thinking.push(words);
        if !certain.is_empty() {
            self.text.push_str(&certain);
            pieces.push(Piece::Text(certain));
        }
    }

    fn take_call(&mut self, part: Part<'_>, pieces: &mut Vec<Piece>) {
        let (piece, weight) = self.calls.take(part);
        self.weight += weight;
        pieces.extend(piece);
    }
}

/// A part of a call as it stands in a message or a delta.
fn part_of(call: &Value) -> Part<'_> {
    let forms = ["function", "custom"].map(|form| call.get(form));
    let mut forms = forms.into_iter().flatten().filter(|it| it.is_object());
    let function = forms.next().unwrap_or(call);
    let members = ["arguments", "input", "parameters"];
    Part {
        index: number_at(call, "index"),
        id: text_at(call, "id").unwrap_or_default(),
        name: name_of(function),
        arguments: as_text(members.iter().find_map(|name| function.get(*name))),
    }
}

/// The member of a choice that is an object and has something in it.
fn object_in<'c>(choice: &'c Value, key: &str) -> Option<&'c Value> {
    let is_full = |value: &&Value| value.as_object().is_some_and(|it| !it.is_empty());
    choice.get(key).filter(is_full)
}

fn said_in(choice: &Value) -> Option<&Value> {
    object_in(choice, "delta").or_else(|| object_in(choice, "message"))
}

/// True if a delta has a thought.
fn has_thought(delta: &Value) -> bool {
    let is_thought = |(name, value): (&String, &Value)| {
        (name.contains("reason") || name.contains("think")) && is_something(value)
    };
    delta.as_object().into_iter().flatten().any(is_thought)
}

/// The tool's name, without the marks of a template that some servers leave behind it.
fn name_of(function: &Value) -> &str {
    let name = text_at(function, "name").unwrap_or_default();
    name.split("<|").next().unwrap_or_default().trim()
}

/// Returns the words of a message: its content, or its refusal.
fn spoken(message: &Value) -> String {
    let words = content_text(message.get("content").unwrap_or(&Value::Null));
    match words.is_empty() {
        true => text_at(message, "refusal").unwrap_or_default().to_owned(),
        false => words,
    }
}

fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(content_text).collect(),
        Value::Object(part) if is_thinking(part) => String::new(),
        Value::Object(part) => {
            let text = part.get("text").or_else(|| part.get("value"));
            text.map(content_text).unwrap_or_default()
        }
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// True if a part of a message is thinking: its type says so, in each provider's word.
fn is_thinking(part: &Map<String, Value>) -> bool {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_marked = part.get("thought") == Some(&Value::Bool(true));
    is_marked || has_any(kind, "reason|think|thought|summary")
}

fn calls_of(message: &Value) -> Vec<&Value> {
    let calls = match message.get("tool_calls") {
        Some(Value::Array(calls)) => calls.iter().collect(),
        Some(call @ Value::Object(_)) => vec![call],
        _ => Vec::new(),
    };
    if !calls.is_empty() {
        return calls;
    }
    match message.get("function_call").filter(|call| call.is_object()) {
        Some(call) => vec![call],
        None => {
            let parts = message.get("content").and_then(Value::as_array);
            let is_call = |part: &&Value| text_at(part, "type") == Some("tool_use");
            parts.into_iter().flatten().filter(is_call).collect()
        }
    }
}
