//! The writer of one entry of a view. It escapes and indents the text of models, users and threads,
//! so that no text can forge an entry or its speaker.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use super::{Lengths, Style};
use thinkd_event::envelope::Event;
use thinkd_event::fact::told::{News, Told};
use thinkd_event::fact::{Fact, Piece};
use thinkd_model::prompt::Prompts;
use thinkd_words::id::Seq;
use thinkd_words::text::breaks;
use thinkd_words::unseen::{first_unseen, in_json};

/// The beginning of every further line of an entry.
const INDENT: &str = "    ";

/// Returns true if a character is not seen, but changes the text that is: a control character other
/// than a tab, or one that turns the direction of writing around.
fn hides(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Writes a character so that it can be seen, as JSON does.
fn show(c: char, to: &mut String) {
    // Writing to a String cannot fail; all of these take one unit.
    let _ = write!(to, "\\u{:04x}", u32::from(c));
}

/// The most that may be written of a text.
#[derive(Debug, Clone, Copy)]
struct Most {
    chars: usize,
    bytes: usize,
}

impl Most {
    const ALL: Self = Self::bytes(usize::MAX);

    const fn bytes(bytes: usize) -> Self {
        let chars = usize::MAX;
        Self { chars, bytes }
    }
}

/// Writes a text with `next` before every line but the first, as far as it may go. Returns how many of its characters that were.
fn write_lines(text: &str, next: &str, most: Most, to: &mut String) -> usize {
    if text.len() <= most.bytes.min(most.chars) && !text.chars().any(|c| breaks(c) || hides(c)) {
        to.push_str(text);
        return text.chars().count();
    }
    let begin = to.len();
    let mut chars = text.chars().peekable();
    let mut written = 0;
    while let Some(c) = chars.next() {
        let before = to.len();
        let both = c == '\r' && chars.peek() == Some(&'\n');
        if breaks(c) {
            to.push('\n');
            to.push_str(next);
        } else if hides(c) {
            show(c, to);
        } else {
            to.push(c);
        }
        if written >= most.chars || to.len() - begin > most.bytes {
            to.truncate(before);
            return written;
        }
        written += 1;
        if both {
            chars.next();
            written += 1;
        }
    }
    written
}

/// Writes a text with `next` before every line but the first, shortened with a mark where it is longer than it may be. A mark that
/// would take more room than it saves is left out, with the shortening.
fn write_shortened(
    text: &str,
    next: &str,
    most: Most,
    mark: impl Fn(usize, usize) -> String,
    to: &mut String,
) {
    let begin = to.len();
    let shown = write_lines(text, next, most, to);
    let all = text.chars().count();
    if shown == all {
        return;
    }
    let mark = mark(shown, all);
    let bytes = to.len() - begin + mark.len();
    let mut whole = String::new();
    if text.len() <= bytes && write_lines(text, next, Most::bytes(bytes), &mut whole) == all {
        to.truncate(begin);
        to.push_str(&whole);
    } else {
        to.push_str(&mark);
    }
}

/// A text in lines of an entry, whole.
pub(super) fn write_indented(text: &str, to: &mut String) {
    write_lines(text, INDENT, Most::ALL, to);
}

/// Returns a text in one line: breaks and hidden characters are written so that they can be seen.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| breaks(c) || hides(c)) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if breaks(c) || hides(c) {
            show(c, &mut line);
        } else {
            line.push(c);
        }
    }
    Cow::Owned(line)
}

/// A text that stands beside the entries, such as somebody's prompt, in its own lines, none of which passes for an entry.
pub fn beside(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    write_lines(text, "", Most::ALL, &mut lines);
    let passes = |line: &str| {
        line.strip_prefix('#')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if !lines.split('\n').any(passes) {
        return lines;
    }
    let apart = |line| match passes(line) {
        true => format!("{INDENT}{line}"),
        false => line.to_owned(),
    };
    lines.split('\n').map(apart).collect::<Vec<_>>().join("\n")
}

/// A name in an entry's head: as it is, or as a JSON string where it could be read as anything but a name.
fn name(text: &str) -> Cow<'_, str> {
    let odd = |c: char| breaks(c) || hides(c) || matches!(c, '"' | '\\');
    let is_plain = !text.is_empty()
        && text.trim() == text
        && !text.chars().any(odd)
        && first_unseen(text).is_none()
        && !text.contains(": ")
        && !text.ends_with(':');
    if is_plain {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(quoted(text))
    }
}

pub(super) fn quoted(text: &str) -> String {
    in_json(&one_line(&Value::from(text).to_string()))
}

/// Returns one event as `#<seq> [<time> <zone>] <who>: <text>`, further lines indented, so that no
/// text can pass for another entry. Also returns the bytes of its head and of the mark that it was
/// shortened: no entry is longer than `lengths` by more than them.
pub(super) fn line<'e>(
    event: &'e Event,
    fact: &Fact<'e>,
    Style { lengths, clock }: Style<'_>,
    prompts: &Prompts,
) -> (String, usize) {
    let time = clock.time(event);
    let mut line = format!("#{} [{time}] {}: ", event.seq, who(event, fact));
    let around = line.len() + mark_max(prompts);
    if let Some(parts) = gathered(event, fact, lengths, prompts) {
        return (line + &parts, around);
    }
    let text = fact
        .content()
        .map_or(Cow::Borrowed(event.text()), Cow::Owned);
    let is_bounded = matches!(fact, Fact::Action(_) | Fact::Result(_));
    let mut most = Most::bytes(lengths.entry_bytes);
    if is_bounded {
        most.chars = lengths.event_chars;
    }
    let mark = |shown, all| mark(shown, all, event.seq, prompts);
    write_shortened(&text, INDENT, most, mark, &mut line);
    (line, around)
}

/// Returns the results of a gathering that is too long as a whole, with as much of each part as of
/// the others. `None`: it is not too long, or its parts are too many for that.
fn gathered(event: &Event, fact: &Fact<'_>, lengths: Lengths, prompts: &Prompts) -> Option<String> {
    /// Most bytes of a part before its text.
    const HEAD: usize = 48;
    let text = event.text();
    let Fact::Told(Told {
        news: News::Gathered { results, .. },
        ..
    }) = fact
    else {
        return None;
    };
    let is_long = text.len() > lengths.entry_bytes;
    let parts = results
        .as_array()
        .filter(|parts| is_long && !parts.is_empty())?;
    let head = text.split_inclusive('>').next();
    let mut line = head.unwrap_or_default().to_owned();
    let room = lengths.entry_bytes.checked_sub(line.len())? / parts.len();
    let most = Most::bytes(room.checked_sub(HEAD + mark_max(prompts))?);
    for part in parts {
        let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
        let failed = match part.get("ok").and_then(Value::as_bool) {
            Some(true) => "",
            _ => "failed: ",
        };
        let index = part.get("index").and_then(Value::as_u64);
        let _ = write!(line, "\n{INDENT}{}: {failed}", index.unwrap_or_default());
        let mark = |shown, all| mark(shown, all, event.seq, prompts);
        write_shortened(text, &INDENT.repeat(2), most, mark, &mut line);
    }
    Some(line)
}

/// Returns the most bytes of a mark and the line's end: those of the template, with numbers in it.
pub(super) fn mark_max(prompts: &Prompts) -> usize {
    prompts.view_cut.source().as_str().len() + 64
}

fn mark(shown: usize, all: usize, seq: Seq, prompts: &Prompts) -> String {
    let all = all.to_string();
    let shown = shown.to_string();
    let seq = seq.to_string();
    prompts
        .view_cut
        .fill(&[("shown", &shown), ("all", &all), ("seq", &seq)])
}

fn who<'e>(event: &'e Event, fact: &Fact<'e>) -> String {
    let mut who = String::new();
    for piece in fact.byline(event) {
        match piece {
            Piece::Word(word) => who.push_str(word),
            Piece::Name(text) => who.push_str(&name(&text)),
            Piece::Quoted(text) => who.push_str(&quoted(text)),
        }
    }
    who
}
