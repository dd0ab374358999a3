//! Mends of the JSON of one event that have one meaning: numbers of Python that JSON lacks, and letters that a server cut
//! into halves. Pure.

/// Names that stand for numbers which JSON has not.
const NO_NUMBERS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The half of a letter that the text of the event before ended with.
#[derive(Debug, Default)]
pub(super) struct Half(Option<String>);

/// True if an event may have a half of a letter, which is JSON and no text.
pub(super) fn may_have_halves(event: &[u8]) -> bool {
    event.windows(3).any(|at| at.eq_ignore_ascii_case(br"\ud"))
}

impl Half {
    /// The event as JSON. None: it cannot be mended.
    pub fn mended(&mut self, event: &str) -> Option<String> {
        let mut mended = String::with_capacity(event.len());
        let mut at = 0;
        let mut in_string = false;
        let mut begins = false;
        while let Some(letter) = event[at..].chars().next() {
            let rest = &event[at..];
            let mut length = letter.len_utf8();
            let begun = std::mem::take(&mut begins);
            if !in_string {
                if let Some(name) = NO_NUMBERS.iter().find(|name| rest.starts_with(**name)) {
                    mended.push_str("null");
                    at += name.len();
                    continue;
                }
                (in_string, begins) = (letter == '"', letter == '"');
            } else if letter == '"' {
                in_string = false;
            } else if letter == '\\' {
                if let Some(unit) = unit(rest) {
                    at += self.letter(rest, unit, begun, &mut mended);
                    continue;
                }
                length += rest[1..].chars().next().map_or(0, char::len_utf8);
            }
            mended.push_str(&rest[..length]);
            at += length;
        }
        serde_json::from_str::<serde_json::Value>(&mended)
            .is_ok()
            .then_some(mended)
    }

    /// Writes an escaped letter, whole or a half; returns the length that is read.
    fn letter(&mut self, rest: &str, first: u32, begins: bool, mended: &mut String) -> usize {
        const WHOLE: usize = 6;
        let behind = &rest[WHOLE..];
        match first {
            0xd800..0xdc00 if unit(behind).is_some_and(is_low) => {
                mended.push_str(&rest[..2 * WHOLE]);
                return 2 * WHOLE;
            }
            0xd800..0xdc00 if behind.starts_with('"') => self.0 = Some(rest[..WHOLE].to_owned()),
            _ if is_low(first) && begins && self.0.is_some() => {
                mended.push_str(&self.0.take().unwrap_or_default());
                mended.push_str(&rest[..WHOLE]);
            }
            0xd800..0xe000 => mended.push(char::REPLACEMENT_CHARACTER),
            _ => mended.push_str(&rest[..WHOLE]),
        }
        WHOLE
    }
}

fn is_low(unit: u32) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

/// The number of an escaped letter.
fn unit(text: &str) -> Option<u32> {
    thinkd_words::lenient_json::unit(text.strip_prefix("\\u")?)
}
