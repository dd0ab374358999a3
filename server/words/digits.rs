//! Numbers in JSON texts, and the digits that a value keeps of them: 64 bits of an integer, 17 digits of a float. Pure.

use std::borrow::Cow;

use serde_json::Number;

/// Most characters of a number that an error quotes.
const SHOWN_MAX: usize = 60;

/// Returns the first number of a JSON text that a value does not keep digit by digit.
pub fn unkept(json: &str) -> Option<&str> {
    let mut found = None;
    walk(json, false, |number| {
        if found.is_none() && !is_kept(number) {
            found = Some(number);
        }
    });
    found
}

/// Returns the JSON text with these numbers in quotation marks: a string keeps the digits.
pub fn quoted(json: &str, is_such: impl Fn(&str) -> bool) -> Cow<'_, str> {
    quoted_where(json, false, is_such)
}

/// Returns the same; with `words`, `NaN` and `Infinity` are numbers, too.
fn quoted_where(json: &str, words: bool, is_such: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let mut quoted = String::new();
    let mut done = 0;
    walk(json, words, |number| {
        if is_such(number) {
            let begin = number.as_ptr().addr() - json.as_ptr().addr();
            quoted.extend([&json[done..begin], "\"", number, "\""]);
            done = begin + number.len();
        }
    });
    if quoted.is_empty() {
        return json.into();
    }
    quoted.push_str(&json[done..]);
    quoted.into()
}

/// True for a number that a value writes as the same number.
pub fn is_kept(number: &str) -> bool {
    let read = serde_json::from_str::<Number>(number);
    read.is_ok_and(|read| {
        let written = read.to_string();
        written == number || decimal(&written) == decimal(number)
    })
}

/// True for a number beyond the largest float, and for the words `NaN` and `Infinity`.
pub fn is_beyond(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(|float| !float.is_finite())
}

/// Returns the JSON text that a reader takes where its writer was lenient: numbers beyond floats, `NaN` and `Infinity` in
/// quotation marks, and U+FFFD in the place of half a surrogate pair.
pub fn readable(json: &str) -> Cow<'_, str> {
    let quoted = quoted_where(json, true, is_beyond);
    match paired(&quoted) {
        Cow::Owned(paired) => paired.into(),
        Cow::Borrowed(_) => quoted,
    }
}

/// Returns the text with `\ufffd` in the place of each escape that is half a surrogate pair.
fn paired(json: &str) -> Cow<'_, str> {
    let code = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut paired = String::new();
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        let begin = at + found;
        at = match (code(begin), code(begin + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => begin + 12,
            (Some(0xd800..=0xdfff), _) => {
                paired.extend([&json[done..begin], "\\ufffd"]);
                done = begin + 6;
                done
            }
            _ => json.ceil_char_boundary(json.len().min(begin + 2)),
        };
    }
    if done == 0 {
        return json.into();
    }
    paired.push_str(&json[done..]);
    paired.into()
}

/// Returns the error about a number that is not kept, with advice.
pub fn wrong(number: &str) -> String {
    let mut shown: String = number.chars().take(SHOWN_MAX).collect();
    if shown.len() < number.len() {
        shown.push_str(" …");
    }
    format!(
        "the number {shown} cannot be kept digit by digit: write it as text, or in fewer digits"
    )
}

/// Hands over each number outside of the strings; with `words`, `NaN` and `Infinity`, too.
fn walk<'t>(json: &'t str, words: bool, mut each: impl FnMut(&'t str)) {
    let bytes = json.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let begin = at;
        at += 1;
        match byte {
            b'"' => {
                while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            byte if is_part(byte) => {
                at += bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                let is_word = words && matches!(&json[begin..at], "NaN" | "Infinity");
                if matches!(byte, b'-' | b'0'..=b'9') || is_word {
                    each(&json[begin..at]);
                }
            }
            _ => {}
        }
    }
}

/// A number as its sign, its digits without zeros around them, and the power of ten behind the last.
fn decimal(number: &str) -> (bool, String, i64) {
    let (digits, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{}{behind}", whole.trim_start_matches('-'));
    let all = all.trim_start_matches('0');
    let kept = all.trim_end_matches('0');
    // An exponent of more digits makes zero, or a number beyond all floats.
    let power: i64 = power.parse().unwrap_or(i64::MAX / 2);
    let power = power - behind.len() as i64 + (all.len() - kept.len()) as i64;
    let power = if kept.is_empty() { 0 } else { power };
    (number.starts_with('-'), kept.to_owned(), power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lenient_writers_write_can_be_read() {
        let json = r#"{"n":[NaN,Infinity,-Infinity,1e400,1],"t":"\ud83d\ude00 \ud83d, \ude00\ud83d\n \\\ud800 NaN"}"#;
        let read: serde_json::Value = serde_json::from_str(&readable(json)).expect("JSON");
        let kept = serde_json::json!(["NaN", "Infinity", "-Infinity", "1e400", 1]);
        assert_eq!(read["n"], kept);
        let half = '\u{fffd}';
        assert_eq!(read["t"], format!("😀 {half}, {half}{half}\n \\{half} NaN"));
        for same in [
            r#""\ud83d\ude00""#,
            r#""\\ud800""#,
            "é\\",
            "\\é",
            r#"{"a":"\u00e9"}"#,
        ] {
            assert!(matches!(readable(same), Cow::Borrowed(_)), "{same}");
        }
    }

    #[test]
    fn a_number_is_kept_where_it_is_written_as_the_same_number() {
        let kept = "0 -0 -0.0 1 1.0 1.50 1e2 1E+2 12e-1 0.1 0.10 0.30000000000000004 1e308 5e-324 9007199254740993 \
                    -9007199254740993 18446744073709551615 -9223372036854775808 0.100000000000000000000000000000 \
                    100000000000000000000 123e20 0e999";
        let unkept = "18446744073709551616 -9223372036854775809 123456789012345678901234567890 9007199254740993.0 \
                      0.100000000000000005551115123126 0.10000000000000001 1e400 -1e400 1e-400 1e99999999999999999999 \
                      3.141592653589793238462643383279";
        for number in kept.split_whitespace() {
            assert!(is_kept(number), "{number}");
        }
        for number in unkept.split_whitespace() {
            assert!(!is_kept(number), "{number}");
            let json =
                format!(r#"{{"a \\\" 1e400": ["1e401", {{"b":-1,"c": {number}}}], "d":1e402}}"#);
            assert_eq!(super::unkept(&json), Some(number));
            let texts = quoted(&json, |number| !is_kept(number));
            let read: serde_json::Value = serde_json::from_str(&texts).expect("JSON");
            assert_eq!(read["a \\\" 1e400"][1]["c"], number);
            assert_eq!(read["d"], "1e402");
        }
        for none in [
            "",
            "\"",
            "\"1e400",
            "\"\\",
            "{}",
            "é",
            "[true, null]",
            "\"1e400\\\" 1e400\"",
        ] {
            assert_eq!(super::unkept(none), None, "{none}");
        }
    }
}
