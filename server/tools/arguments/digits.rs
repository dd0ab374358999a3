//! Numbers that stand where a tool wants a text, put into quotation marks before they are read: a number that was read has
//! lost its digits beyond the 17th, and the zeros behind `1.10`. Pure.

use std::borrow::Cow;

use serde_json::Number;

use thinkd_words::digits::is_beyond;

/// The text with each such number in quotation marks. `wants_text` tells of a member by the names that lead to it.
pub(super) fn kept<'t>(text: &'t str, wants_text: impl Fn(&[&str]) -> bool) -> Cow<'t, str> {
    let mut kept = Cow::Borrowed(text);
    let mut added = 0;
    // The names of the members that are open, and the last string or bare word.
    let mut open: Vec<&str> = Vec::new();
    let mut name = "";
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        match letter {
            '"' | '\'' => {
                let end = string_end(text, at);
                name = text[at + 1..end].trim_end_matches(letter);
                at = end;
                continue;
            }
            '{' | '[' => open.push(std::mem::take(&mut name)),
            '}' | ']' => drop(open.pop()),
            ':' => {
                let value = text[at + 1..].trim_start();
                let begin = text.len() - value.len();
                let length = number(value);
                let mut path = open.get(1..).unwrap_or_default().to_vec();
                path.push(name);
                if length > 0 && !open.is_empty() && wants_text(&path) {
                    let from = begin + added;
                    let to = begin + added + length;
                    kept.to_mut().insert(to, '"');
                    kept.to_mut().insert(from, '"');
                    added += 2;
                    at = begin + length;
                    continue;
                }
            }
            letter if letter.is_alphanumeric() || letter == '_' => {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                let rest = &text[at..];
                let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                name = &rest[..length];
                at += length;
                continue;
            }
            _ => {}
        }
        at += letter.len_utf8();
    }
    kept
}

/// Returns the end of a string that begins here.
fn string_end(text: &str, begin: usize) -> usize {
    let mark = text.as_bytes()[begin];
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(begin + 1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            _ if byte == mark => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a number that would not be the same again, and behind which its member ends; else 0.
fn number(value: &str) -> usize {
    let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let length = value.find(|c| !is_part(c)).unwrap_or(0);
    let ends = value[length..].trim_start().starts_with([',', '}']);
    let number = &value[..length];
    let read = serde_json::from_str::<Number>(number);
    let is_same = read.map_or(!is_beyond(number), |read| read.to_string() == *number);
    if ends && !is_same { length } else { 0 }
}
