//! Characters that a model reads and a person does not see: controls, marks of direction, tags, fillers, and all without a width. `console/src/lib/format.ts`
//! has the same rule.
//!
//! `Be kind.<U+E0041>` has one, a family of emoji and a Persian word with its joiners have none. The rule: controls (other than line breaks and tabs), the
//! Unicode properties `Default_Ignorable_Code_Point` and `Cf`, the empty pattern of Braille and the line breaks of Unicode alone, but not those that are written: marks around Arabic numbers,
//! a joiner beside a letter of a script that joins or between emoji, the selector behind an emoji or a sign, a variant behind a Chinese character or a Mongolian letter,
//! and the three flags that are spelled in tags.

use icu_properties::props::{
    DefaultIgnorableCodePoint, ExtendedPictographic, GeneralCategory, Script,
};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Scripts in which a joiner or its opposite behind a letter changes how it is written.
const JOINED: [Script; 32] = [
    Script::Arabic,
    Script::Bengali,
    Script::Devanagari,
    Script::Gujarati,
    Script::Gurmukhi,
    Script::Kannada,
    Script::Khmer,
    Script::Lao,
    Script::Malayalam,
    Script::Mongolian,
    Script::Myanmar,
    Script::Nko,
    Script::Oriya,
    Script::Sinhala,
    Script::Syriac,
    Script::Tamil,
    Script::Telugu,
    Script::Thaana,
    Script::Tibetan,
    Script::Javanese,
    Script::Adlam,
    Script::Balinese,
    Script::Chakma,
    Script::Grantha,
    Script::Kaithi,
    Script::Limbu,
    Script::Mandaic,
    Script::Nandinagari,
    Script::Newa,
    Script::Saurashtra,
    Script::Sundanese,
    Script::Tirhuta,
];

/// Signs that stand around or below the numbers behind them.
const NUMBER_MARKS: &str = "\u{600}\u{601}\u{602}\u{603}\u{604}\u{605}\u{6dd}\u{70f}\u{890}\u{891}\u{8e2}\u{110bd}\u{110cd}";

/// England, Scotland and Wales, behind a black flag, in tags.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// Returns the characters of a text that people do not see, each with its place in bytes.
pub fn unseen(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let is_unseen = |&(at, c): &(usize, char)| {
        if c.is_ascii() {
            return c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t');
        }
        is_without_sign(c) && !is_written(&text[..at], c, &text[at + c.len_utf8()..])
    };
    text.char_indices().filter(is_unseen)
}

/// Returns the first character of a text that people do not see, by its name, as `U+200B`.
pub fn first_unseen(text: &str) -> Option<String> {
    unseen(text).next().map(|(_, c)| name(c))
}

/// Returns the text with each character that people do not see replaced.
pub fn replaced(text: &str, by: impl Fn(char) -> String) -> String {
    let mut all = String::with_capacity(text.len());
    let mut from = 0;
    for (at, c) in unseen(text) {
        all.push_str(&text[from..at]);
        all.push_str(&by(c));
        from = at + c.len_utf8();
    }
    all + &text[from..]
}

/// Returns JSON with each character that people do not see as an escape: the same value, fit for a terminal.
pub fn in_json(json: &str) -> String {
    replaced(json, |c| {
        let mut units = [0; 2];
        let units = c.encode_utf16(&mut units).iter();
        units.map(|unit| format!("\\u{unit:04x}")).collect()
    })
}

fn name(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}

fn is_without_sign(c: char) -> bool {
    let is_format = || {
        CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::Format
            && !NUMBER_MARKS.contains(c)
    };
    c.is_control()
        || matches!(c, '\u{2800}' | '\u{2028}' | '\u{2029}')
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
        || is_format()
}

/// Returns true if a character without a sign of its own changes one that is seen.
fn is_written(before: &str, c: char, after: &str) -> bool {
    let last = before.chars().next_back();
    match c {
        '\u{200c}' | '\u{200d}' => {
            let is_joined = |c| JOINED.contains(&CodePointMapData::<Script>::new().get(c));
            // A letter may have signs of its own.
            let is_sign = |c: &char| {
                CodePointMapData::<GeneralCategory>::new().get(*c)
                    == GeneralCategory::NonspacingMark
                    && !is_without_sign(*c)
            };
            let letter = before.chars().rev().find(|c| !is_sign(c));
            let is_alone = !last.is_some_and(|last| matches!(last, '\u{200c}' | '\u{200d}'));
            let next = after.chars().next().filter(|_| is_alone);
            let is_letter = [last, letter, next].into_iter().flatten().any(is_joined);
            is_letter || (c == '\u{200d}' && is_emoji_before(before) && begins_with_emoji(after))
        }
        // Variants of Chinese characters, and of Mongolian letters. The other 236 variants could spell a text.
        '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e0103}' => is_of(last, Script::Han),
        '\u{180b}'..='\u{180f}' => is_of(last, Script::Mongolian),
        '\u{fe0e}' | '\u{fe0f}' => {
            last.is_some_and(|last| is_emoji(last) || is_symbol(last))
                || (last.is_some_and(|last| last.is_ascii_digit() || "#*".contains(last))
                    && after.starts_with('\u{20e3}'))
        }
        '\u{e0020}'..='\u{e007f}' => is_in_flag(before, c, after),
        _ => false,
    }
}

fn is_of(last: Option<char>, script: Script) -> bool {
    last.is_some_and(|c| CodePointMapData::<Script>::new().get(c) == script && !is_without_sign(c))
}

/// Returns true for a sign that fonts draw in colour or plainly: `✓`, `→`, `①`.
fn is_symbol(c: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    !c.is_ascii()
        && matches!(
            category,
            GeneralCategory::OtherSymbol
                | GeneralCategory::MathSymbol
                | GeneralCategory::OtherNumber
        )
}

fn is_emoji(c: char) -> bool {
    CodePointSetData::new::<ExtendedPictographic>().contains(c)
}

fn begins_with_emoji(text: &str) -> bool {
    text.chars().next().is_some_and(is_emoji)
}

/// Returns true if a text ends with an emoji, its selector and its tone of skin aside.
fn is_emoji_before(text: &str) -> bool {
    let text = text.strip_suffix('\u{fe0f}').unwrap_or(text);
    let text = text
        .strip_suffix(|c| matches!(c, '\u{1f3fb}'..='\u{1f3ff}'))
        .unwrap_or(text);
    text.chars().next_back().is_some_and(is_emoji)
}

/// Returns true if a tag is one of a flag that is spelled in tags.
fn is_in_flag(before: &str, c: char, after: &str) -> bool {
    let is_tag = |c: &char| matches!(c, '\u{e0020}'..='\u{e007f}');
    let begun: Vec<char> = before.chars().rev().take_while(is_tag).take(6).collect();
    let flag = before.chars().rev().nth(begun.len());
    let rest = after.chars().take_while(is_tag).take(6);
    let spelled: String = begun
        .into_iter()
        .rev()
        .chain([c])
        .chain(rest)
        .filter_map(|tag| char::from_u32(u32::from(tag) - 0xe0000))
        .collect();
    flag == Some('\u{1f3f4}')
        && spelled
            .strip_suffix('\u{7f}')
            .is_some_and(|name| FLAGS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The console's tests read the same texts.
    #[test]
    fn what_nobody_sees_is_named_and_what_scripts_and_emoji_need_is_left() {
        let texts = include_str!("../../tests/unseen.json");
        let texts: Vec<(String, String)> = serde_json::from_str(texts).unwrap();
        assert!(texts.len() > 40);
        for (text, shown) in texts {
            assert_eq!(
                replaced(&text, |c| format!("⟨{}⟩", name(c))),
                shown,
                "{text:?}"
            );
            let json = serde_json::json!(text).to_string();
            let escaped = in_json(&json);
            assert_eq!(first_unseen(&escaped), None, "{escaped}");
            assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        }
    }
}
