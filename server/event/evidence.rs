//! Evidence: code that could come to another value, a quote that speaks of the claim. Pure; how
//! readings decide is in `event/trial.rs`.

use serde_json::Value;

use super::envelope::Event;
use super::statement::{Triple, folded, spaced};

/// Letters and digits that a quote has at least.
const QUOTE_MIN: usize = 4;
/// Letters of a word that says something; words are one where so many of their first letters are.
const WORD_MIN: usize = 4;
/// Characters of a text that is hardly written twice by chance.
const REPEATED_MIN: usize = 20;

/// Returns true if a finding is the very source that a claim rests on. `said`: the words of the
/// claim, of its quotes and of its events. The finding is such a source if these name its address,
/// or if it repeats them: it stands in them, or they are most of it. Such a source tests nothing.
pub fn is_own_source(address: &str, text: &str, said: &[&str]) -> bool {
    let own = bare_address(address);
    let is_named = |said: &&&str| {
        own.is_some() && said.split(is_between).any(|word| bare_address(word) == own)
    };
    let text = folded(text);
    let is_long = |text: &str| text.chars().count() >= REPEATED_MIN;
    let repeats = |said: &str| {
        let said = folded(said);
        let is_most = is_long(&said) && text.contains(&said) && 2 * said.len() > text.len();
        is_long(&text) && (is_most || said.contains(&text))
    };
    said.iter().any(|said| is_named(&said) || repeats(said))
}

/// Returns whether a text says the words of a quote and nothing else.
pub fn is_quote(text: &str, quote: &str) -> bool {
    let text = folded(text);
    text.chars().count() >= REPEATED_MIN && text == folded(quote)
}

/// Returns the words of an event that a claim rests on by its quote: the event's text, the
/// arguments of its tool call, and words of the tool's output. The last are those of the innermost
/// object that has the quote, such as one passage of ten.
pub fn rests_on(event: &Event, quote: Option<&str>) -> Vec<String> {
    let mut said = vec![event.text().to_owned()];
    said.extend(event.payload.get("arguments").into_iter().flat_map(strings));
    if let (Some(output), Some(quote)) = (event.payload.get("output"), quote) {
        around(output, &spaced(quote), &mut said);
    }
    said
}

fn around(value: &Value, words: &str, said: &mut Vec<String>) {
    let has = |text: &str| spaced(text).contains(words);
    match value {
        Value::String(text) if has(text) => said.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| around(item, words, said)),
        Value::Object(members) => {
            let own: Vec<&str> = members.values().filter_map(Value::as_str).collect();
            if own.iter().any(|text| has(text)) {
                said.extend(own.into_iter().map(str::to_owned));
            }
            let nested = members.values().filter(|value| !value.is_string());
            nested.for_each(|value| around(value, words, said));
        }
        _ => {}
    }
}

/// All texts in a value.
pub fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Returns true for a character that stands between an address and other words.
fn is_between(c: char) -> bool {
    c.is_whitespace() || "\"'<>()[]{}|`".contains(c)
}

/// Returns an address without the parts in which its spellings differ: its scheme, `www.`, its
/// fragment, a slash or a full stop at its end.
fn bare_address(word: &str) -> Option<String> {
    let (scheme, rest) = word.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let rest = rest.split('#').next().unwrap_or_default();
    let rest = rest.trim_end_matches(['.', ',', ';', ':', '!', '?', '/']);
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host = host.to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    (!host.is_empty()).then(|| format!("{host}{path}"))
}

/// Returns true if code can come to one value or the other: it calls or compares something, and
/// does not end with a value that stands there.
pub fn computes(code: &str) -> bool {
    let bare = without_words(code);
    let ended = bare.trim_end_matches([';', ' ', '\n', '\r', '\t']);
    let last = ended.rsplit([';', '\n']).next().unwrap_or_default();
    let open = last.trim().trim_start_matches(['(', '!', ' ']);
    let value = open.trim_end_matches([')', ' ']);
    let is_constant =
        matches!(value, "true" | "false" | "null" | "undefined") || value.parse::<f64>().is_ok();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ')' | ']');
    let mut opened = bare.match_indices('(');
    let calls = opened.any(|(at, _)| bare[..at].trim_end().ends_with(is_name));
    let mut signs = ["==", "!=", "<", ">", " in ", " instanceof "].iter();
    let compares = signs.any(|sign| bare.contains(sign));
    !is_constant && (calls || compares)
}

/// Code without its comments, and with nothing in its strings.
fn without_words(code: &str) -> String {
    let mut bare = String::new();
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let ends = match c {
            '\'' | '"' | '`' => Some((1, c.to_string())),
            '/' if rest.starts_with("//") => Some((2, "\n".to_owned())),
            '/' if rest.starts_with("/*") => Some((2, "*/".to_owned())),
            _ => None,
        };
        let Some((begins, end)) = ends else {
            bare.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        let behind = &rest[begins..];
        rest = behind.find(&end).map_or("", |at| &behind[at + end.len()..]);
        bare.push_str(if begins == 1 { "''" } else { "\n" });
    }
    bare
}

/// Returns true if a quote speaks of the claim: it has some length, and names the subject, the
/// object or another word of it. Where all words of a claim are short, any of them will do.
pub fn speaks_of(quote: &str, texts: &[&str], triple: Option<&Triple>) -> bool {
    let quote = folded(quote);
    let written = quote.chars().filter(|c| c.is_alphanumeric());
    // Of what is written without spaces one letter is a syllable, or a word.
    let length: usize = written.map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
    if length < QUOTE_MIN {
        return false;
    }
    let quoted = words(&quote);
    let is_named = |name: &String| {
        let name = folded(name);
        name.chars().count() >= WORD_MIN && quote.contains(&name)
    };
    if triple.is_some_and(|triple| is_named(&triple.subject) || is_named(&triple.object)) {
        return true;
    }
    let all: Vec<String> = texts.iter().flat_map(|text| words(&folded(text))).collect();
    let telling: Vec<&String> = all.iter().filter(|word| is_telling(word)).collect();
    let any = if telling.is_empty() {
        all.iter().collect()
    } else {
        telling
    };
    any.into_iter()
        .any(|word| quoted.iter().any(|it| is_one_word(word, it)))
}

/// Returns true for a word that is not short.
fn is_telling(word: &str) -> bool {
    word.chars().count() >= WORD_MIN || word.chars().any(|c| !c.is_ascii_alphabetic())
}

/// Returns the words of a folded text; of text without spaces each two letters.
fn words(text: &str) -> Vec<String> {
    let parts = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let split = |word: &str| -> Vec<String> {
        let letters: Vec<char> = word.chars().collect();
        if letters.iter().all(|c| *c < '\u{2e80}') || letters.len() < 3 {
            return vec![word.to_owned()];
        }
        letters.windows(2).map(|two| two.iter().collect()).collect()
    };
    parts.flat_map(split).collect()
}

/// Returns true if two words are forms of one: they begin alike.
fn is_one_word(one: &str, other: &str) -> bool {
    let begins = |word: &str| word.chars().take(WORD_MIN).collect::<String>();
    one == other || one.chars().count() >= WORD_MIN && begins(one) == begins(other)
}
