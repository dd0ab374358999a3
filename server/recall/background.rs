//! The frequency of words in texts of their language: shared common words say little. A fixed list has
//! the forms of the commonest words of 42 languages. It is derived from wordfreq 3.1.1 by Robyn Speer,
//! and both are under CC BY-SA 4.0.

use super::forms::is_unspaced;

/// Lines `form level`, sorted by form: one in 10^(level / 10) words has this form.
const LIST: &str = include_str!("background.txt");
/// The share of a word that is not in the list.
const RARE: f32 = 1e-6;
/// The share of a pair of two characters that are both rare.
const RAREST: f32 = 1e-9;

/// The share of running words that have a form. A pair of a script without spaces that is in no word
/// of the list is as frequent as its two characters side by side.
pub(super) fn share(form: &str) -> f32 {
    let listed = level(form).map(of_level);
    if !is_unspaced(form) {
        return listed.unwrap_or(RARE);
    }
    let mut characters = form
        .char_indices()
        .map(|(at, c)| &form[at..at + c.len_utf8()]);
    match (characters.next(), characters.next()) {
        (Some(one), Some(other)) => {
            let of = |character| level(character).map_or(RARE, of_level);
            (listed.unwrap_or_default() + of(one) * of(other)).max(RAREST)
        }
        _ => listed.unwrap_or(RARE),
    }
}

fn of_level(level: u8) -> f32 {
    10_f32.powf(f32::from(level) / -10.0)
}

/// Finds a form by halves; no index of the list is kept.
fn level(form: &str) -> Option<u8> {
    let (mut from, mut to) = (0, LIST.len());
    while from < to {
        let middle = LIST.floor_char_boundary(usize::midpoint(from, to));
        let begin = LIST[..middle].rfind('\n').map_or(0, |at| at + 1).max(from);
        let end = LIST[begin..].find('\n').map_or(LIST.len(), |at| begin + at);
        let (listed, level) = LIST[begin..end].rsplit_once(' ')?;
        match listed.cmp(form) {
            std::cmp::Ordering::Equal => return level.parse().ok(),
            std::cmp::Ordering::Less => from = end + 1,
            std::cmp::Ordering::Greater => to = begin.saturating_sub(1).max(from),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::forms::form;

    // Found by halves, a line that is out of order is never found.
    #[test]
    fn each_form_of_the_list_is_found_with_its_level() {
        for line in LIST.lines() {
            let (listed, of) = line.rsplit_once(' ').unwrap();
            assert_eq!(level(listed), of.parse().ok(), "{line}");
            assert_eq!(form(listed), listed);
        }
        for unknown in ["", " ", "zzzz", "\u{10FFFF}", "thequick"] {
            assert_eq!(level(unknown), None, "{unknown:?}");
        }
        assert!(share("the") > 0.01 && share("tungste") <= RARE);
    }
}
