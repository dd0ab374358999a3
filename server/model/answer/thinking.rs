//! A filter that takes thinking in tags, and the marks of a chat template, off the words of an answer while they
//! arrive. Only blocks at the beginning are thinking: a tag further on is part of the words. Pure.

use thinkd_words::marks::{
    BEFORE, CALLS_ON, MARK_MAX, Place, SENTENCE_ENDS, THINKING, THOUGHT, WRAPPERS, mark,
    mark_behind, marks, may_be_token, unopened,
};

/// Signs before and behind a tag that is spoken of.
const QUOTES: [char; 9] = ['"', '\'', '“', '‘', '«', '(', '[', '「', '`'];
const QUOTES_BEHIND: [char; 9] = ['"', '\'', '”', '’', '»', ')', ']', '」', '`'];

/// Most marks that are held back at once, and most blanks before the words.
const MARKS_MAX: usize = 8;
const BLANKS_MAX: usize = 1024;

/// The filter of one answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Thinking {
    at: At,
    /// Text that is not told apart yet.
    held: String,
    /// `<thought>` is an element of the thinking language here.
    keeps_thought: bool,
    /// The closing tag of the element around the whole answer.
    wrapper: Option<&'static str>,
    /// Closing tags of calls are held back, too: the words are an argument.
    is_argument: bool,
    /// Nothing is passed on before the end: this model closes thinking that it never opened.
    holds_all: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the words.
    #[default]
    Begin,
    /// Behind a block of thinking.
    Behind,
    /// In a block that ends with this tag.
    Inside(&'static str),
    /// In the words.
    Words,
}

impl Thinking {
    pub fn new(keeps_thought: bool, holds_all: bool) -> Self {
        Self {
            keeps_thought,
            holds_all,
            ..Self::default()
        }
    }

    /// Takes up more of the text; returns the words that are certain.
    pub fn push(&mut self, more: &str) -> String {
        self.held.push_str(more);
        while self.step() {}
        if self.at != At::Words || self.holds_all {
            return String::new();
        }
        let mut keep = self.held.len() - held_back(&self.held, self.is_argument);
        if let Some(close) = self.wrapper {
            keep = keep.min(begins(&self.held, close));
        }
        self.held.drain(..keep).collect()
    }

    /// The words that were held back, at the end of the answer.
    pub fn finish(&mut self) -> String {
        if let At::Inside(_) = self.at {
            return String::new();
        }
        let mut rest = without_marks(std::mem::take(&mut self.held));
        if let Some(at) = self.wrapper.and_then(|close| find(&rest, close)) {
            let close = self.wrapper.unwrap_or_default();
            rest.replace_range(at..at + close.len(), "");
        }
        rest
    }

    /// One step through the held text. False: nothing more can be told apart now.
    fn step(&mut self) -> bool {
        match self.at {
            At::Words => false,
            At::Inside(close) => self.leave(close),
            At::Begin | At::Behind => self.enter(),
        }
    }

    fn leave(&mut self, close: &'static str) -> bool {
        match find(&self.held, close) {
            Some(at) => {
                self.held.drain(..at + close.len());
                self.at = At::Behind;
                true
            }
            None => {
                // Only as much is kept as may be the beginning of the tag.
                let keep = self
                    .held
                    .ceil_char_boundary(self.held.len().saturating_sub(close.len()));
                self.held.drain(..keep);
                false
            }
        }
    }

    fn enter(&mut self) -> bool {
        let text = self.held.trim_start();
        let skipped = self.held.len() - text.len();
        let thought = (!self.keeps_thought).then_some(&THOUGHT);
        let mut tags = THINKING.iter().chain(thought);
        let may_begin =
            |mark: &str| skipped < BLANKS_MAX && text.len() < mark.len() && starts_with(mark, text);
        if let Some((open, close)) = tags.clone().find(|(open, _)| starts_with(text, open)) {
            self.held.drain(..skipped + open.len());
            self.at = At::Inside(close);
            return true;
        }
        if starts_with(text, CALLS_ON) || BEFORE.contains(&text) && may_begin(CALLS_ON) {
            if starts_with(text, CALLS_ON) {
                self.at = At::Words;
            }
            return false;
        }
        if self.at == At::Behind && self.wrapper.is_none() {
            let wrapper = WRAPPERS.iter().find(|(open, _)| starts_with(text, open));
            if let Some((open, close)) = wrapper {
                self.held.drain(..skipped + open.len());
                self.wrapper = Some(close);
                return true;
            }
            if WRAPPERS.iter().any(|(open, _)| may_begin(open)) {
                return false;
            }
        }
        // A closing tag with nothing before it closes what the template opened.
        let closes = || unopened().map(|(_, close)| close);
        let before = BEFORE
            .iter()
            .chain(closes())
            .filter(|mark| starts_with(text, mark));
        if let Some(length) = before.map(|mark| mark.len()).max() {
            self.held.drain(..skipped + length);
            self.at = At::Behind;
            return true;
        }
        if tags.any(|(open, _)| may_begin(open))
            || BEFORE.iter().chain(closes()).any(|mark| may_begin(mark))
        {
            return false;
        }
        if let Some(length) = mark(text) {
            self.held.drain(..skipped + length);
            self.at = At::Behind;
            return true;
        }
        if skipped < BLANKS_MAX && !text.is_empty() && may_be_token(text) {
            return false;
        }
        if self.at == At::Behind {
            self.held.drain(..skipped);
        }
        self.at = At::Words;
        false
    }
}

/// A filter for the text of a reply, in which models leave thinking and marks as in their words.
#[derive(Debug, Clone)]
pub struct Said {
    filter: Thinking,
}

impl Default for Said {
    fn default() -> Self {
        let filter = Thinking {
            is_argument: true,
            ..Thinking::default()
        };
        Self { filter }
    }
}

impl Said {
    /// Takes up more of the text; returns the part that is certain.
    pub fn push(&mut self, more: &str) -> String {
        self.filter.push(more)
    }

    /// Returns the rest, at the end of the text: without closing tags that may be a template's.
    pub fn finish(&mut self) -> String {
        let rest = self.filter.finish();
        match marks(Place::Closing)
            .filter_map(|close| rest.find(close))
            .min()
        {
            Some(at) => rest[..at].trim_end().to_owned(),
            None => rest,
        }
    }
}

/// The text of a reply without thinking, and without marks and closing tags of a template.
pub fn said(text: &str) -> String {
    let mut filter = Said::default().filter;
    let mut said = filter.push(text);
    said.push_str(&filter.finish());
    if let Some(behind) = behind_unopened(&said) {
        said = behind.to_owned();
    }
    let length = said.len();
    loop {
        said = without_marks(said);
        // One that was opened belongs to what is said.
        let is_open = |close: &str| {
            let name = close.trim_start_matches("</").trim_end_matches('>');
            said.contains(&format!("<{name}"))
        };
        let closing = marks(Place::Closing).find(|close| said.trim_end().ends_with(close));
        match closing.filter(|close| !is_open(close)) {
            Some(close) => said.truncate(said.trim_end().len() - close.len()),
            None => break,
        }
    }
    if said.len() < length {
        said.truncate(said.trim_end().len());
    }
    said
}

fn without_marks(mut text: String) -> String {
    while let Some(length) = mark_behind(text.trim_end()) {
        text.truncate(text.trim_end().len() - length);
    }
    text
}

/// The words behind thinking that was closed and never opened. Its closing tag is the first tag of
/// the answer, and stands at the beginning of a line, or close behind a word, or behind the end of
/// a sentence. In code, in quotation marks, or in the middle of a sentence it is part of the words.
pub(super) fn behind_unopened(text: &str) -> Option<&str> {
    if let Some(words) = behind_channels(text).or_else(|| behind_sentences(text)) {
        return Some(words);
    }
    let mut is_fenced = false;
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        let said = line.trim_start();
        if said.starts_with("```") || said.starts_with("~~~") {
            is_fenced = !is_fenced;
        }
        let is_code = is_fenced || line.starts_with("    ") || line.starts_with('\t');
        let mut ticks = 0;
        let mut counted = 0;
        for (at, _) in line.match_indices(['<', '◁', '[']).filter(|_| !is_code) {
            let (before, tag) = line.split_at(at);
            let mut tags = unopened();
            ticks += before[counted..].matches('`').count();
            counted = at;
            let is_quoted = ticks % 2 == 1 || before.ends_with(QUOTES);
            if !is_quoted && tags.clone().any(|(open, _)| starts_with(tag, open)) {
                return None;
            }
            let close = tags.find(|(_, close)| starts_with(tag, close));
            let Some((_, close)) = close.filter(|_| !is_quoted) else {
                continue;
            };
            let behind = &tag[close.len()..];
            if !behind.starts_with(QUOTES_BEHIND) && ends_thinking(before) {
                return Some(text[begin + at + close.len()..].trim_start());
            }
        }
        begin += line.len();
    }
    None
}

/// The words of gpt-oss behind channels of which the marks were lost: `analysisThe user asks.assistantfinalHello`.
fn behind_channels(text: &str) -> Option<&str> {
    let thought = text.trim_start().strip_prefix("analysis")?;
    let is_joined = thought.starts_with(char::is_uppercase);
    let (_, words) = thought.rsplit_once("assistantfinal")?;
    is_joined.then(|| words.trim_start())
}

/// The words of Granite behind its thinking, which two sentences announce.
fn behind_sentences(text: &str) -> Option<&str> {
    let begins = ["Here is my thought process:", "Here's my thought process:"];
    let ends = ["Here is my response:", "Here's my response:"];
    let text = text.trim_start();
    let thought = begins.iter().find_map(|begin| text.strip_prefix(begin))?;
    let ends = ends.iter().filter_map(|end| thought.split_once(end));
    let words = ends
        .map(|(_, words)| words)
        .max_by_key(|words| words.len())?;
    Some(words.trim_start())
}

/// Returns whether a tag behind this part of its line may end thinking.
fn ends_thinking(before: &str) -> bool {
    let words = before.trim_end();
    words.len() == before.len() || words.is_empty() || words.ends_with(SENTENCE_ENDS)
}

/// The number of bytes at the end that may be marks with blanks around them, or the beginning of
/// one.
fn held_back(text: &str, is_argument: bool) -> usize {
    let closing = marks(Place::Closing).filter(|_| is_argument);
    let marks = marks(Place::Behind).chain(closing);
    let from = text.ceil_char_boundary(text.len().saturating_sub(MARK_MAX));
    let is_beginning = |at: usize| {
        let rest = &text[at..];
        may_be_token(rest) || marks.clone().any(|mark| mark.starts_with(rest))
    };
    let mut places = (from..text.len()).filter(|at| text.is_char_boundary(*at));
    let mut end = places.find(|at| is_beginning(*at)).unwrap_or(text.len());
    for _ in 0..MARKS_MAX {
        let trimmed = text[..end].trim_end();
        let listed = || marks.clone().find(|mark| trimmed.ends_with(mark));
        match mark_behind(trimmed).or_else(|| listed().map(|mark| mark.len())) {
            Some(length) => end = trimmed.len() - length,
            None => break,
        }
    }
    text.len() - end
}

/// The place where a mark, or its beginning at the end of the text, begins.
fn begins(text: &str, mark: &str) -> usize {
    let is_beginning = |at: usize| {
        let rest = &text[at..];
        starts_with(rest, mark) || starts_with(mark, rest)
    };
    let mut places = (0..text.len()).filter(|at| text.is_char_boundary(*at));
    places.find(|at| is_beginning(*at)).unwrap_or(text.len())
}

fn starts_with(text: &str, mark: &str) -> bool {
    text.get(..mark.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(mark))
}

fn find(text: &str, mark: &str) -> Option<usize> {
    (0..(text.len() + 1).saturating_sub(mark.len()))
        .find(|at| text.is_char_boundary(*at) && starts_with(&text[*at..], mark))
}
