//! The words of a request that its refusal quotes. They say nothing of the cause: a user may ask
//! about a context length. Pure.

use std::borrow::Cow;

/// Fewest bytes of a quotation: a shorter one may be the name of a member.
const QUOTED_MIN: usize = 8;
/// Most quotations that are looked for, and the end of a request in which they are.
const QUOTED_MAX: usize = 64;
const ASKED_MAX: usize = 256 << 10;

/// Marks at the beginning and at the end of a quotation.
const QUOTES: [(char, char); 7] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('“', '”'),
    ('’', '’'),
    ('«', '»'),
    ('「', '」'),
];

/// The beginnings of failures that quote an earlier refusal in the prompt, and the most bytes of it.
const OF_REFUSALS: [&str; 2] = ["answered 4", "answered 5"];
const REFUSAL_MAX: usize = 700;

/// Returns a refusal without the sentences in quotation marks that the request has, too.
pub fn without_echo<'a>(said: &'a str, asked: &str) -> Cow<'a, str> {
    let may_be = |(from, to): &(usize, usize)| is_sentence(&said[*from..*to]);
    let quoted = quotations(said).filter(may_be).take(QUOTED_MAX);
    let quoted = Vec::from_iter(quoted);
    if quoted.is_empty() {
        return said.into();
    }
    let from = asked.ceil_char_boundary(asked.len().saturating_sub(ASKED_MAX));
    let asked = joined(&asked[from..]);
    let mut heard = String::with_capacity(said.len());
    let mut end = 0;
    for (from, to) in quoted {
        let part = joined(said[from..to].trim_end_matches(['…', '.']));
        let mut places = asked.match_indices(part.trim());
        if is_sentence(&part) && places.any(|(at, _)| !is_of_refusal(&asked[..at])) {
            heard.push_str(&said[end..from]);
            heard.push('…');
            end = to;
        }
    }
    heard.push_str(&said[end..]);
    heard.into()
}

fn is_sentence(quoted: &str) -> bool {
    quoted.len() >= QUOTED_MIN && quoted.trim().contains(char::is_whitespace)
}

/// The places of the text in quotation marks; the end of the text ends one that is not closed.
fn quotations(said: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let (before, close) = said[at..].char_indices().find_map(|(before, c)| {
                let (_, close) = QUOTES.iter().find(|(open, _)| *open == c)?;
                // An apostrophe stands behind a letter.
                let is_mark = !said[..at + before].ends_with(char::is_alphanumeric);
                is_mark.then_some((at + before + c.len_utf8(), *close))
            })?;
            let end = closed(&said[before..], close).map_or(said.len(), |length| before + length);
            at = (end + close.len_utf8()).min(said.len());
            if before < end {
                return Some((before, end));
            }
            if at == said.len() {
                return None;
            }
        }
    })
}

/// The length of a quotation up to its closing mark: one that is escaped, or an apostrophe, is none.
fn closed(quoted: &str, close: char) -> Option<usize> {
    let mut marks = quoted.char_indices().filter(|(_, c)| *c == close);
    marks.find_map(|(at, c)| {
        let behind = quoted[at + c.len_utf8()..].chars().next();
        let is_escaped = quoted[..at].ends_with('\\');
        let is_in_word = matches!(c, '\'' | '’') && behind.is_some_and(char::is_alphanumeric);
        (!is_escaped && !is_in_word).then_some(at)
    })
}

/// A text on one line, without the escapes of JSON.
fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut is_escape = false;
    for c in text.chars() {
        let c = match c {
            '\\' => {
                is_escape = true;
                continue;
            }
            'n' | 'r' | 't' if is_escape => ' ',
            c if c.is_whitespace() => ' ',
            c => c,
        };
        is_escape = false;
        if c != ' ' || !joined.ends_with(' ') {
            joined.push(c);
        }
    }
    joined
}

/// Returns whether a place of a prompt stands in a failure that quotes an earlier refusal.
fn is_of_refusal(before: &str) -> bool {
    let from = before.ceil_char_boundary(before.len().saturating_sub(REFUSAL_MAX));
    let near = &before[from..];
    OF_REFUSALS.iter().any(|begin| near.contains(begin))
}

#[cfg(test)]
mod tests {
    use super::without_echo;

    const ASKED: &str = r##"{"messages":[{"role":"user","content":"#12 ada: why do I get \"context length exceeded\"\nin my app? It is too long, the model's answer is not supported"}]}"##;

    #[test]
    fn a_quotation_of_the_request_says_no_cause() {
        let said = r#"Could not parse: "in my app" at 3"#;
        assert_eq!(without_echo(said, ASKED), "Could not parse: \"…\" at 3");
        let said = r#"{"input":"why do I get \"context length exceeded\" in my app","msg":"no"}"#;
        assert_eq!(without_echo(said, ASKED), r#"{"input":"…","msg":"no"}"#);
        let cut = "cannot read 'why do I get…";
        assert_eq!(without_echo(cut, ASKED), "cannot read '…");
    }

    #[test]
    fn the_providers_own_words_stay() {
        for said in [
            "context length exceeded in my app",
            r#"{"error":{"message":"context length is 4096"}}"#,
            "it doesn't take 'tool_choice'",
            "'max_tokens' is too long, the model's 'tools' is not supported",
            "the model's answer is not supported",
            "''\"\"``“”",
            "'",
        ] {
            assert_eq!(without_echo(said, ASKED), said);
        }
        // An earlier refusal stands in the prompt.
        let asked = r##"{"messages":[{"content":"#4 model x at y answered 400 Bad Request: {\"message\":\"prompt is too long\"}"}]}"##;
        let said = r#"{"message":"prompt is too long"}"#;
        assert_eq!(without_echo(said, asked), said);
    }
}
