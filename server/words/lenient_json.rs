//! A reader of JSON as models write it: `{text: 'hi',}` is read as `{"text": "hi"}`. It accepts what has one meaning
//! and names each thing that it mended. Text that is cut off is never completed. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 128;

/// JSON that was read, and the names of what was mended in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The value.
    pub value: Value,
    /// The mends, in alphabetical order; empty: the text was JSON.
    pub mends: BTreeSet<&'static str>,
}

/// Reads a text. None: it is cut off, has more than one meaning, or is no JSON at all.
pub fn read(text: &str) -> Option<Read> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(Read {
            value,
            mends: BTreeSet::new(),
        });
    }
    let mut mends = BTreeSet::new();
    let text = text.trim_start_matches('\u{feff}').trim();
    let text = match unfenced(text) {
        Some(inner) => {
            mends.insert("code fence");
            inner
        }
        None => text,
    };
    let mut reader = Reader { text, at: 0, mends };
    let mut value = reader.value(0)?;
    while let Some(more) = reader.rest()? {
        // `{}` stands for arguments that were not there yet; the same text twice means it once.
        match more {
            more if value == more => {}
            more if value == Value::Object(Map::new()) && more.is_object() => value = more,
            _ => return None,
        }
        reader.mends.insert("said twice");
    }
    Some(Read {
        value,
        mends: reader.mends,
    })
}

/// The text inside a code fence that holds all of it.
fn unfenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let (language, inner) = inner.split_once('\n')?;
    let is_language = language
        .trim()
        .chars()
        .all(|letter| letter.is_alphanumeric());
    (is_language && !inner.contains("```")).then(|| inner.trim())
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    mends: BTreeSet<&'static str>,
}

/// Marks of chat templates that may stand behind arguments.
const BEHIND: [&str; 9] = [
    "```",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|call|>",
    "</tool_call>",
    "</function>",
    "<｜tool▁call▁end｜>",
    "</s>",
];

impl Reader<'_> {
    fn rest_of(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest_of().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn takes(&mut self, mark: &str) -> bool {
        let is_there = self.rest_of().starts_with(mark);
        self.at += if is_there { mark.len() } else { 0 };
        is_there
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) -> Option<()> {
        loop {
            let rest = self.rest_of();
            self.at += rest.len() - rest.trim_start().len();
            let comment = match () {
                () if self.takes("//") => self.rest_of().find('\n').unwrap_or(self.rest_of().len()),
                () if self.takes("/*") => self.rest_of().find("*/")? + 2,
                () if ["\\n", "\\t", "\\r"]
                    .into_iter()
                    .any(|blank| self.takes(blank)) =>
                {
                    self.mends.insert("escapes");
                    continue;
                }
                () => return Some(()),
            };
            self.at += comment;
            self.mends.insert("comments");
        }
    }

    /// The end of the text, or one more value behind the first. None: anything else.
    fn rest(&mut self) -> Option<Option<Value>> {
        loop {
            self.blanks()?;
            if self.rest_of().is_empty() {
                return Some(None);
            }
            let is_extra = ["}", "]", ";", ","]
                .into_iter()
                .any(|mark| self.takes(mark));
            let is_mark = !is_extra && BEHIND.into_iter().any(|mark| self.takes(mark));
            if !is_extra && !is_mark {
                return self.value(0).map(Some);
            }
            self.mends.insert("marks behind the end");
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.blanks()?;
        match self.peek()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            letter if closing(letter).is_some() => self.string().map(Value::String),
            letter if letter == '-' || letter.is_ascii_digit() => self.number(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.next()?;
        let mut members = Map::new();
        loop {
            self.blanks()?;
            if self.takes("}") {
                return Some(Value::Object(members));
            }
            let name = match self.peek()? {
                letter if closing(letter).is_some() => self.string()?,
                _ => self.bare_name()?,
            };
            self.blanks()?;
            if !self.takes(":") {
                return None;
            }
            let value = self.value(depth + 1)?;
            if members.get(&name).is_some_and(|known| *known != value) {
                return None;
            }
            members.insert(name, value);
            self.comma("}")?;
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.next()?;
        let mut list = Vec::new();
        loop {
            self.blanks()?;
            if self.takes("]") {
                return Some(Value::Array(list));
            }
            list.push(self.value(depth + 1)?);
            self.comma("]")?;
        }
    }

    /// A comma, or nothing before the closing bracket.
    fn comma(&mut self, close: &str) -> Option<()> {
        self.blanks()?;
        if self.rest_of().starts_with(close) {
            return Some(());
        }
        if !self.takes(",") {
            return None;
        }
        self.blanks()?;
        if self.rest_of().starts_with(close) {
            self.mends.insert("trailing comma");
        }
        Some(())
    }

    fn string(&mut self) -> Option<String> {
        let close = closing(self.next()?)?;
        if close != '"' {
            self.mends.insert("quotation marks");
        }
        let mut text = String::new();
        loop {
            match self.next()? {
                letter if letter == close => return Some(text),
                '\\' => self.escape(&mut text)?,
                letter if letter < ' ' => {
                    self.mends.insert("line breaks in strings");
                    text.push(letter);
                }
                letter => text.push(letter),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Option<()> {
        let known = match self.next()? {
            letter @ ('"' | '\\' | '/') => letter,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => return self.unicode(text),
            '\'' => {
                self.mends.insert("escapes");
                '\''
            }
            other => {
                // A backslash that was not doubled, as in `\alpha` and `\d`.
                self.mends.insert("escapes");
                text.push('\\');
                other
            }
        };
        text.push(known);
        Some(())
    }

    fn unicode(&mut self, text: &mut String) -> Option<()> {
        let high = self.unit()?;
        let is_high = (0xd800..0xdc00).contains(&high);
        let letter = if is_high && self.takes("\\u") {
            let low = self.unit()?;
            let is_low = (0xdc00..0xe000).contains(&low);
            is_low.then(|| char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)))?
        } else {
            char::from_u32(high)
        };
        text.push(letter?);
        Some(())
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self
            .rest_of()
            .get(..4)
            .filter(|it| it.chars().all(|c| c.is_ascii_hexdigit()))?;
        let unit = u32::from_str_radix(digits, 16).ok()?;
        self.at += 4;
        Some(unit)
    }

    fn number(&mut self) -> Option<Value> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '_');
        let rest = self.rest_of();
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        // A number that the end of the text cuts off may have had more digits.
        if end == rest.len() {
            return None;
        }
        let number: Number = serde_json::from_str(&rest[..end]).ok()?;
        self.at += end;
        Some(Value::Number(number))
    }

    fn word(&mut self) -> Option<Value> {
        let rest = self.rest_of();
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            _ => return None,
        };
        let is_python = word.starts_with(char::is_uppercase);
        self.at += end;
        if is_python {
            self.mends.insert("words of Python");
        }
        Some(value)
    }

    /// The name of a member without quotation marks.
    fn bare_name(&mut self) -> Option<String> {
        let rest = self.rest_of();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')?;
        let name = rest[..end].to_owned();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        self.mends.insert("names without quotation marks");
        Some(name)
    }
}

/// The closing quotation mark of an opening one.
fn closing(open: char) -> Option<char> {
    match open {
        '"' | '\'' => Some(open),
        '“' => Some('”'),
        _ => None,
    }
}
