//! When tries of a task that know nothing of each other agree. Two that are right are alike, two that are wrong seldom are; so what two tries come to is
//! convincing without anybody's judgement, and takes no more calls than a try and a verdict. Tries are pooled: an easy task leaves its calls to the
//! hard ones. Pure; the arithmetic is in `docs/missions.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mission::{Figures, sameness};

/// Most tries of a task.
pub const TRIES_MAX: usize = 12;
/// Tries of every other task that have to be left before a contested answer is asked for a third time.
const AMPLE: u64 = 4;

/// What tries of a task come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Agreed {
    /// To this answer, so many of them.
    On {
        /// As the first of them said it.
        answer: String,
        /// How many.
        tries: usize,
    },
    /// Another try is needed.
    NotYet,
    /// To none, and there are no more.
    Never,
}

/// What these tries come to; `None` is one without an answer. Two agree; where another try came to something else, three have to, as long as the mission has
/// calls enough.
pub fn agreed(tries: &[Option<String>], figures: Figures) -> Agreed {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (at, answer) in tries.iter().enumerate() {
        let Some(answer) = answer else { continue };
        counts.entry(sameness(answer)).or_insert((0, at)).0 += 1;
    }
    let mut counts: Vec<(usize, usize)> = counts.into_values().collect();
    counts.sort_by_key(|(count, first)| (std::cmp::Reverse(*count), *first));
    let (most, first) = counts.first().copied().unwrap_or_default();
    let second = counts.get(1).map_or(0, |it| it.0);
    let is_ahead = most >= 2 && most > second;
    let needed = if second > 0 && figures.are_ample() { 3 } else { 2 };
    let on = || Agreed::On { answer: tries[first].clone().unwrap_or_default(), tries: most };
    match (most >= needed && is_ahead, tries.len() < TRIES_MAX && figures.allow_try()) {
        (true, _) => on(),
        (false, true) => Agreed::NotYet,
        (false, false) if is_ahead => on(),
        (false, false) => Agreed::Never,
    }
}

impl Figures {
    /// Whether a task may be tried once more: every other task keeps two calls, and the last answer its one.
    const fn allow_try(self) -> bool {
        self.calls_left >= self.tasks_left.saturating_mul(2)
    }

    const fn are_ample(self) -> bool {
        self.calls_left >= self.tasks_left.saturating_sub(1).saturating_mul(AMPLE) + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn come_to(tries: &[&str], calls_left: u64, tasks_left: u64) -> Agreed {
        let tries: Vec<Option<String>> =
            tries.iter().map(|it| Some((*it).to_owned()).filter(|it| !it.is_empty())).collect();
        agreed(&tries, Figures { calls_left, tasks_left })
    }

    fn on(answer: &str, tries: usize) -> Agreed {
        Agreed::On { answer: answer.into(), tries }
    }

    #[test]
    fn two_agree_and_where_they_differ_three() {
        assert_eq!(come_to(&[], 9, 1), Agreed::NotYet);
        assert_eq!(come_to(&["12"], 9, 1), Agreed::NotYet);
        assert_eq!(come_to(&["12 Owls", " 12  owls"], 9, 1), on("12 Owls", 2), "as the first says it");
        assert_eq!(come_to(&["", "12", "", "12"], 9, 1), on("12", 2), "a try without an answer contests none");
        assert_eq!(come_to(&["12", "13", "12"], 9, 1), Agreed::NotYet, "contested");
        assert_eq!(come_to(&["12", "13", "12", "12"], 9, 1), on("12", 3));
        assert_eq!(come_to(&["12", "13", "12", "13"], 9, 1), Agreed::NotYet);
    }

    /// Ample are four calls for every other task, a try, and the last answer.
    #[test]
    fn what_is_contested_is_decided_by_two_where_others_need_the_calls() {
        assert_eq!(come_to(&["12", "13", "12"], 14, 4), Agreed::NotYet);
        assert_eq!(come_to(&["12", "13", "12"], 13, 4), on("12", 2));
        assert_eq!(come_to(&["12", "13"], 8, 4), Agreed::NotYet);
        assert_eq!(come_to(&["12", "13"], 7, 4), Agreed::Never, "two calls for each of the others, and the answer");
        assert_eq!(come_to(&["12"], 7, 4), Agreed::Never);
        assert_eq!(come_to(&["12", "13", "12", "13"], 0, 1), Agreed::Never, "nobody is ahead");
    }

    #[test]
    fn tries_end() {
        let tries: Vec<String> = (0..TRIES_MAX).map(|n| n.to_string()).collect();
        let tries: Vec<&str> = tries.iter().map(String::as_str).collect();
        assert_eq!(come_to(&tries[1..], 10_000, 1), Agreed::NotYet);
        assert_eq!(come_to(&tries, 10_000, 1), Agreed::Never);
    }
}
