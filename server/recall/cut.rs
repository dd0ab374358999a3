//! Questions in scripts without spaces, cut into words of one or two characters: those in the list
//! of common words, and those between. Pairs across two words are no words, and say nothing.

use super::background::{Common, Language, stands_alone};
use thinkd_log::words::{pairs, singles};

/// The cost of a character that is in no word, above that of all words.
const UNKNOWN: u32 = 70;
/// The cost of a form with the frequency 0: each tenth of a power of ten costs one less.
const RAREST: u32 = 60;

/// The words of a run in a language, by the way through it that has the most common ones. Characters
/// side by side that are in no word are pairs, as a name is.
pub(super) fn cut(run: &str, language: Language) -> Vec<String> {
    let characters: Vec<String> = singles(run).collect();
    let pairs: Vec<String> = pairs(run).collect();
    let cost = |form: &str| {
        let frequency = Common::of(form).frequency(language)?;
        Some(RAREST.saturating_sub(u32::from(frequency)))
    };
    let alone = characters.iter().map(|it| stands_alone(it, language));
    let alone: Vec<bool> = alone.collect();
    // The least cost of each beginning, and whether its last word is a pair.
    let mut ways = vec![(0, false)];
    for (at, character) in characters.iter().enumerate() {
        let known = cost(character).filter(|_| alone[at]);
        let single = ways[at].0 + known.unwrap_or(UNKNOWN);
        let before = at.checked_sub(1);
        let pair = before.and_then(|at| Some(ways[at].0 + cost(&pairs[at])?));
        ways.push(match pair {
            Some(pair) if pair <= single => (pair, true),
            _ => (single, false),
        });
    }
    let mut pieces = Vec::new();
    let mut at = characters.len();
    while at > 0 {
        let is_pair = ways[at].1;
        at -= 1 + usize::from(is_pair);
        pieces.push(match is_pair {
            true => (pairs[at].as_str(), true),
            false => (characters[at].as_str(), alone[at]),
        });
    }
    pieces.reverse();
    let unknown = |(_, known): &(&str, bool)| !known;
    let groups = pieces.chunk_by(|one, other| unknown(one) && unknown(other));
    groups.flat_map(of_group).collect()
}

/// One word, or characters that are in none.
fn of_group(group: &[(&str, bool)]) -> Vec<String> {
    match group {
        [(one, _)] => vec![(*one).to_owned()],
        _ => {
            let run: String = group.iter().map(|(character, _)| *character).collect();
            pairs(&run).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::background::LANGUAGES;

    fn words(run: &str, language: &str) -> Vec<String> {
        let language = LANGUAGES.iter().position(|it| *it == language).unwrap();
        cut(run, language)
    }

    #[test]
    fn a_run_is_cut_into_common_words_and_what_is_between() {
        assert_eq!(words("我们的火车", "zh"), ["我们", "的", "火车"]);
        // A name is in no list.
        assert_eq!(words("晓雯的火车", "zh"), ["晓雯", "的", "火车"]);
        assert_eq!(words("犬", "ja"), ["犬"]);
        assert_eq!(words("時間です", "ja"), ["時間", "です"]);
        // A language without a list: pairs.
        assert_eq!(words("กขค", "zh"), ["กข", "ขค"]);
    }
}
