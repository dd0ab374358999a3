//! A reader of JSON as models write it: `{text: 'hi',}` is read as `{"text": "hi"}`. It accepts
//! text that has one meaning and names each thing that it mended. Text that is cut off is never
//! completed. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::{digits, marks};

/// The name of the mend of a number that lost digits.
pub const ROUNDED: &str = "rounded numbers";

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 128;

/// JSON that was read, and the names of the things that were mended in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The value.
    pub value: Value,
    /// The mends, in alphabetical order; empty: the text was JSON, and its numbers are kept.
    pub mends: BTreeSet<&'static str>,
}

/// Invisible letters.
const INVISIBLE: [char; 6] = [
    '\u{feff}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{ad}',
];

/// Reads a text. None: it is cut off, has more than one meaning, or is no JSON at all.
pub fn read(text: &str) -> Option<Read> {
    read_plain(text).or_else(|| read_escaped(text))
}

/// The values of `name(text="hi", number=3)`, or of its brackets alone, by their names.
pub fn read_keywords(text: &str, name: &str) -> Option<Read> {
    let text = visible(text);
    let inner = text.strip_prefix(name).map(str::trim_start);
    let inner = inner.and_then(|text| text.strip_prefix('(')?.trim_end().strip_suffix(')'));
    let mends = BTreeSet::from(["keywords"]);
    // A bracket ends the last value.
    let text = &format!("{})", inner.unwrap_or(text));
    let mut reader = Reader { text, at: 0, mends };
    let mut members = Map::new();
    loop {
        let name = reader.bare_name()?;
        reader.blanks()?;
        if !reader.takes("=") {
            return None;
        }
        let value = reader.value(0)?;
        if members.insert(name, value).is_some() {
            return None;
        }
        reader.comma(")")?;
        if reader.rest_of() == ")" {
            return Some(Read {
                value: Value::Object(members),
                mends: reader.mends,
            });
        }
    }
}

/// JSON of which each quotation mark is escaped, as in a JSON string: `{\"text\": \"hi\"}`.
fn read_escaped(text: &str) -> Option<Read> {
    let text = visible(text);
    let begin = text.strip_prefix(['{', '['])?.trim_start();
    if !begin.starts_with("\\\"") {
        return None;
    }
    let inner: String = serde_json::from_str(&format!("\"{text}\"")).ok()?;
    let Read { value, mut mends } = read_plain(&inner)?;
    mends.insert("escapes");
    Some(Read { value, mends })
}

/// The text without blanks and invisible letters around it.
pub fn visible(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || INVISIBLE.contains(&c))
}

fn read_plain(text: &str) -> Option<Read> {
    if let Ok(value) = serde_json::from_str(text) {
        let rounded = digits::unkept(text).map(|_| ROUNDED);
        return Some(Read {
            value,
            mends: rounded.into_iter().collect(),
        });
    }
    let mut mends = BTreeSet::new();
    let text = visible(text);
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
            let is_blank = |c: char| c.is_whitespace() || INVISIBLE.contains(&c);
            self.at += rest.len() - rest.trim_start_matches(is_blank).len();
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
            let mark = marks::at_begin(self.rest_of()).filter(|_| !is_extra);
            if !is_extra && mark.is_none() {
                return self.value(0).map(Some);
            }
            self.at += mark.unwrap_or(0);
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
        let path = path_at(text, self.rest_of());
        if path > 0 {
            self.mends.insert("escapes");
            text.push('\\');
            text.push_str(&self.rest_of()[..path].replace("\\\\", "\\"));
            self.at += path;
            return Some(());
        }
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
        // Digits that the end cuts off may have been four.
        if self.rest_of().len() < 4 {
            return None;
        }
        let Some(first) = unit(self.rest_of()) else {
            self.mends.insert("escapes");
            text.push_str("\\u");
            return Some(());
        };
        self.at += 4;
        let second = self.rest_of().strip_prefix("\\u").and_then(unit);
        let second = second.filter(|unit| (0xdc00..0xe000).contains(unit));
        let letter = match second {
            Some(low) if (0xd800..0xdc00).contains(&first) => {
                self.at += 6;
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00))
            }
            _ => char::from_u32(first),
        };
        if letter.is_none() {
            self.mends.insert("half letters");
        }
        text.push(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        Some(())
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
        if !digits::is_kept(&rest[..end]) {
            self.mends.insert(ROUNDED);
        }
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

/// The number of four hexadecimal digits.
pub fn unit(text: &str) -> Option<u32> {
    let digits = text.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

/// Returns the length of the rest of a Windows path, behind its first backslash, where backslashes
/// were not doubled; 0: it is none. Such a path begins with a drive, and has a backslash that
/// begins no escape of JSON.
fn path_at(before: &str, rest: &str) -> usize {
    let mut letters = before.chars().rev();
    let is_drive = letters.next() == Some(':')
        && letters
            .next()
            .is_some_and(|drive| drive.is_ascii_alphabetic())
        && !letters.next().is_some_and(char::is_alphanumeric);
    let end = rest.find(|c: char| c.is_whitespace() || c == '"' || c == '\'');
    let word = &rest[..end.unwrap_or(rest.len())];
    // The backslash before a quotation mark is the mark's.
    let word = word.strip_suffix('\\').unwrap_or(word);
    let is_escape = |after: &str| match after.chars().next() {
        Some('u') => unit(&after[1..]).is_some(),
        Some(letter) => "\\/bfnrt".contains(letter),
        None => true,
    };
    let first = std::iter::once(word);
    let mut all = first.chain(word.match_indices('\\').map(|(at, _)| &word[at + 1..]));
    if is_drive && !word.starts_with('\\') && all.any(|after| !is_escape(after)) {
        word.len()
    } else {
        0
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
