//! A cursor over the rest of a text.

use std::borrow::Cow;

use serde_json::{Deserializer, Number, Value};

use thinkd_words::{digits, lenient_json, marks};

/// Beginnings of marks behind JSON, and most of them that are tried as its end.
const ENDS: [&str; 6] = ["</", "<|", "<｜", "```", "[/TOOL_CALLS]", "✿"];
const ENDS_MAX: usize = 8;

/// A number; of one that would lose digits, the text.
pub(super) fn number(word: &str) -> Option<Value> {
    let number = word.parse::<Number>().ok()?;
    Some(match digits::is_kept(word) {
        true => Value::Number(number),
        false => word.into(),
    })
}

/// The rest of a text. Each method moves it forward, or leaves it where it is.
#[derive(Clone)]
pub(super) struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    pub fn new(text: &'t str) -> Self {
        Self(text)
    }

    /// True if nothing but white space is left.
    pub fn is_empty(&self) -> bool {
        self.0.trim_start().is_empty()
    }

    /// The next character after white space.
    pub fn next(&self) -> Option<char> {
        self.0.trim_start().chars().next()
    }

    /// True if this token stands here, after white space.
    pub fn stands(&self, token: &str) -> bool {
        self.0.trim_start().starts_with(token)
    }

    /// Moves past white space and this token, if that stands there.
    pub fn eat(&mut self, token: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Moves past white space and one of these tokens.
    pub fn eat_any(&mut self, tokens: &[&str]) -> bool {
        tokens.iter().any(|token| self.eat(token))
    }

    /// The text before the nearest of these tokens, and moves past both.
    pub fn until(&mut self, tokens: &[&str]) -> Option<&'t str> {
        let found = tokens.iter().filter_map(|token| {
            let at = self.0.find(token)?;
            Some((at, token.len()))
        });
        let (at, length) = found.min()?;
        let before = &self.0[..at];
        self.0 = &self.0[at + length..];
        Some(before)
    }

    /// The text before this token, which is left to be read.
    pub fn before(&mut self, token: &str) -> Option<&'t str> {
        let at = self.0.find(token)?;
        let (before, rest) = self.0.split_at(at);
        self.0 = rest;
        Some(before)
    }

    /// Moves past white space and a token of a template.
    pub fn eat_token(&mut self) -> bool {
        let text = self.0.trim_start();
        let length = marks::token(text);
        self.0 = length.map_or(self.0, |length| &text[length..]);
        length.is_some()
    }

    /// A whole object or array, as JSON or as models write it: also with braces too many.
    pub fn json(&mut self) -> Option<Value> {
        let whole = self.0.trim_start();
        let mut value = self.strict_json().or_else(|| self.lenient_json())?;
        let read = &whole[..whole.len() - self.0.len()];
        // Whoever reads the arguments sees the digits, and makes the number of them.
        if let Cow::Owned(kept) = digits::quoted(read, |number| !digits::is_kept(number)) {
            value = serde_json::from_str(&kept).unwrap_or(value);
        }
        while value.is_object() && self.eat("}") {}
        Some(value)
    }

    fn lenient_json(&mut self) -> Option<Value> {
        let text = self.0.trim_start();
        if !text.starts_with(['{', '[']) {
            return None;
        }
        let ends = ENDS.iter().flat_map(|end| text.match_indices(end));
        let mut ends: Vec<usize> = ends.map(|(at, _)| at).take(ENDS_MAX * ENDS.len()).collect();
        ends.sort_unstable();
        ends.truncate(ENDS_MAX);
        ends.push(text.len());
        let read = |at: &usize| Some((*at, lenient_json::read(&text[..*at])?.value));
        let (at, value) = ends.iter().find_map(read)?;
        self.0 = &text[at..];
        Some(value)
    }

    /// A whole JSON object or array.
    pub fn strict_json(&mut self) -> Option<Value> {
        let text = self.0.trim_start();
        if !text.starts_with(['{', '[']) {
            return None;
        }
        let mut values = Deserializer::from_str(text).into_iter::<Value>();
        let value = values.next()?.ok()?;
        self.0 = &text[values.byte_offset()..];
        Some(value)
    }

    /// The longest beginning of these characters, after white space.
    pub fn run(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let text = self.0.trim_start();
        let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
        self.0 = &text[end..];
        &text[..end]
    }

    /// A name as tools have them; empty: none stands here.
    pub fn name(&mut self) -> &'t str {
        self.run(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    }

    /// The next character, white space included.
    pub fn take(&mut self) -> Option<char> {
        let c = self.0.chars().next()?;
        self.0 = &self.0[c.len_utf8()..];
        Some(c)
    }
}
