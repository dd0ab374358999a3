//! An incremental reader of a reply: it reads the text out of the arguments of the tool call while they arrive. Pure.

use thinkd_model::answer::Said;
use thinkd_words::lenient_json;

/// Reads the text out of a reply's arguments while they still arrive: `{"text":"Hel` gives `Hel`.
/// Gives up silently on anything else; the whole arguments are parsed properly when they are there.
#[derive(Debug, Clone, Default)]
pub struct Arriving {
    raw: String,
    at: Place,
    said: Said,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    /// Inside the text, so many bytes of `raw` read.
    Inside(usize),
    After,
}

impl Arriving {
    /// More of the arguments; returns the text that came with it, without thinking and marks.
    pub fn push(&mut self, piece: &str) -> String {
        let was = self.at;
        let text = self.read(piece);
        let mut said = self.said.push(&text);
        if self.at == Place::After && was != Place::After {
            said.push_str(&self.said.finish());
        }
        said
    }

    fn read(&mut self, piece: &str) -> String {
        self.raw.push_str(piece);
        if self.at == Place::Before {
            self.at = text_begin(&self.raw).map_or(Place::Before, Place::Inside);
        }
        let Place::Inside(from) = self.at else {
            return String::new();
        };
        let (text, read, ended) = unescape(&self.raw[from..]);
        self.at = if ended {
            Place::After
        } else {
            Place::Inside(from + read)
        };
        text
    }
}

/// Returns the text of a reply with arguments that are no JSON, where it is beyond doubt. The
/// arguments are then the words themselves; or they begin as they should, the text is closed, and
/// only brackets, commas, semicolons and white space follow it.
pub fn whole(arguments: &str) -> Option<String> {
    let arguments = lenient_json::visible(arguments);
    if !arguments.starts_with(['{', '[', '"', '\'', '`', '<', '(']) {
        return (!arguments.is_empty()).then(|| arguments.to_owned());
    }
    let raw = &arguments[text_begin(arguments)?..];
    let (text, read, ended) = unescape(raw);
    let rest = raw.get(read + 1..)?;
    let is_plain = |c: char| c.is_whitespace() || matches!(c, '}' | ']' | ',' | ';');
    (ended && has_known_escapes(&raw[..read]) && rest.chars().all(is_plain)).then_some(text)
}

/// Returns the text of a reply with unreadable arguments, for a reader that has nothing else. It is
/// the part that came, or all that stands behind the member's name, without the quotation marks and
/// brackets around it.
pub fn salvaged(arguments: &str) -> Option<String> {
    let begun = Arriving::default().read(arguments);
    let text = if begun.trim().is_empty() {
        let named =
            arguments.trim_start_matches(|c: char| c.is_whitespace() || "{[\"'".contains(c));
        let text = named.strip_prefix("text")?;
        let text = text.trim_start_matches(|c: char| c.is_whitespace() || "\"':=".contains(c));
        let text = text.trim_end_matches(|c: char| c.is_whitespace() || "}],".contains(c));
        text.trim_end_matches(['"', '\'']).to_owned()
    } else {
        begun
    };
    (!text.trim().is_empty()).then_some(text)
}

/// True if each backslash begins an escape that JSON has: others are ambiguous.
fn has_known_escapes(raw: &str) -> bool {
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && !chars.next().is_some_and(|c| "\"\\/bfnrtu".contains(c)) {
            return false;
        }
    }
    true
}

/// Returns the place of the text's first character, once `{ "text" : "` has arrived.
fn text_begin(raw: &str) -> Option<usize> {
    let begun = raw.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let rest = begun
        .trim_start_matches('\u{200b}')
        .strip_prefix('{')?
        .trim_start()
        .strip_prefix("\"text\"")?;
    let rest = rest
        .trim_start()
        .strip_prefix(':')?
        .trim_start()
        .strip_prefix('"')?;
    Some(raw.len() - rest.len())
}

/// Decodes JSON string content as far as it is whole: text, bytes read, whether the closing quote was met.
fn unescape(raw: &str) -> (String, usize, bool) {
    let mut text = String::new();
    let mut read = 0;
    while let Some(c) = raw[read..].chars().next() {
        match c {
            '"' => return (text, read, true),
            '\\' => {
                let Some((decoded, length)) = escape(&raw[read..]) else {
                    break;
                };
                text.push(decoded);
                read += length;
            }
            c => {
                text.push(c);
                read += c.len_utf8();
            }
        }
    }
    (text, read, false)
}

/// One escape sequence, if it is whole: its character and length. A surrogate pair is one.
fn escape(raw: &str) -> Option<(char, usize)> {
    match raw[1..].chars().next()? {
        'n' => Some(('\n', 2)),
        't' => Some(('\t', 2)),
        'r' => Some(('\r', 2)),
        'b' => Some(('\u{8}', 2)),
        'f' => Some(('\u{c}', 2)),
        'u' => unicode_escape(raw),
        other @ ('"' | '\\' | '/' | '\'') => Some((other, 2)),
        // A backslash that was not doubled.
        _ => Some(('\\', 1)),
    }
}

fn unicode_escape(raw: &str) -> Option<(char, usize)> {
    const UNKNOWN: char = char::REPLACEMENT_CHARACTER;
    let unit = |from: usize| lenient_json::unit(raw.get(from..).unwrap_or_default());
    let Some(high) = unit(2) else {
        // A backslash that was not doubled, unless its digits are still to come.
        let digits = raw[2..].bytes().take(4);
        let may_be = digits.clone().all(|byte| byte.is_ascii_hexdigit()) && digits.count() < 4;
        return (!may_be).then_some(('\\', 1));
    };
    if !(0xd800..0xdc00).contains(&high) {
        return Some((char::from_u32(high).unwrap_or(UNKNOWN), 6));
    }
    // Half of a pair: wait for the other half.
    if raw.len() < 12 && "\\u".starts_with(raw.get(6..8.min(raw.len()))?) {
        return None;
    }
    let low = unit(8).filter(|low| (0xdc00..0xe000).contains(low));
    let Some(low) = low.filter(|_| raw.get(6..8) == Some("\\u")) else {
        return Some((UNKNOWN, 6));
    };
    let joined = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    Some((char::from_u32(joined).unwrap_or(UNKNOWN), 12))
}
