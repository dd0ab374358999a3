//! Agreement between tries of a task that know nothing of each other. Two that are right are alike,
//! two that are wrong seldom are. So the common answer of two tries convinces without any
//! judgement, and takes no more calls than a try and a verdict. Tries are pooled: an easy task
//! leaves its calls to the hard ones. Pure; the arithmetic is in `docs/missions.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mission::sameness;

/// Most tries of a task.
pub const TRIES_MAX: usize = 12;
/// Calls kept for every task that has not begun. The question whether there are some to spare
/// counts larger shares: of such a task, and of one that has begun.
const KEPT: u64 = 2;
const SHARE: u64 = 4;
const SHARE_BEGUN: u64 = 3;

/// The model calls and tasks of a mission from which its tries draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// The number of model calls that the mission has left.
    pub calls: u64,
    /// The number of its tasks that have not begun.
    pub open: u64,
    /// The number of other tasks under way: they share the calls that tasks not begun do not keep.
    pub begun: u64,
}

/// The result of the tries of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Agreed {
    /// To this answer, so many of them.
    On {
        /// As the first of them said it.
        answer: String,
        /// The number of tries with this answer.
        tries: usize,
    },
    /// Another try is needed.
    NotYet,
    /// To none, and there are no more.
    Never,
}

/// Returns the result of these tries; `None` is one without an answer. Two agree; where another try
/// has another answer, three have to, as long as the mission has calls enough.
pub fn agreed(tries: &[Option<String>], pool: Pool) -> Agreed {
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
    let needed = if second > 0 && pool.is_ample() { 3 } else { 2 };
    let on = || Agreed::On {
        answer: tries[first].clone().unwrap_or_default(),
        tries: most,
    };
    match (
        most >= needed && is_ahead,
        tries.len() < TRIES_MAX && pool.allows_try(),
    ) {
        (true, _) => on(),
        (false, true) => Agreed::NotYet,
        (false, false) if is_ahead => on(),
        (false, false) => Agreed::Never,
    }
}

impl Pool {
    /// Returns true if a task may be tried once more: the try leaves the tasks that have not begun
    /// the calls they keep, and the last answer its call.
    const fn allows_try(self) -> bool {
        self.calls >= self.open.saturating_mul(KEPT).saturating_add(2)
    }

    const fn is_ample(self) -> bool {
        let open = self.open.saturating_mul(SHARE);
        let begun = self.begun.saturating_mul(SHARE_BEGUN);
        self.calls >= open.saturating_add(begun).saturating_add(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With so many calls left, and so many tasks that have not begun.
    fn come_to(tries: &[&str], calls: u64, open: u64) -> Agreed {
        come_to_beside(tries, calls, open, 0)
    }

    fn come_to_beside(tries: &[&str], calls: u64, open: u64, begun: u64) -> Agreed {
        let tries: Vec<Option<String>> = tries
            .iter()
            .map(|it| Some((*it).to_owned()).filter(|it| !it.is_empty()))
            .collect();
        agreed(&tries, Pool { calls, open, begun })
    }

    fn on(answer: &str, tries: usize) -> Agreed {
        Agreed::On {
            answer: answer.into(),
            tries,
        }
    }

    #[test]
    fn two_agree_and_where_they_differ_three() {
        assert_eq!(come_to(&[], 9, 0), Agreed::NotYet);
        assert_eq!(come_to(&["12"], 9, 0), Agreed::NotYet);
        assert_eq!(
            come_to(&["12 Owls", " 12  owls"], 9, 0),
            on("12 Owls", 2),
            "as the first says it"
        );
        assert_eq!(
            come_to(&["", "12", "", "12"], 9, 0),
            on("12", 2),
            "a try without an answer contests none"
        );
        assert_eq!(
            come_to(&["12", "13", "12"], 9, 0),
            Agreed::NotYet,
            "contested"
        );
        assert_eq!(come_to(&["12", "13", "12", "12"], 9, 0), on("12", 3));
        assert_eq!(come_to(&["12", "13", "12", "13"], 9, 0), Agreed::NotYet);
    }

    /// To spare are calls beyond four for every task to come, three for every other one under way,
    /// a try, and the last answer.
    #[test]
    fn what_is_contested_is_decided_by_two_where_others_need_the_calls() {
        assert_eq!(come_to(&["12", "13", "12"], 14, 3), Agreed::NotYet);
        assert_eq!(come_to(&["12", "13", "12"], 13, 3), on("12", 2));
        assert_eq!(
            come_to_beside(&["12", "13", "12"], 20, 3, 2),
            Agreed::NotYet
        );
        assert_eq!(come_to_beside(&["12", "13", "12"], 19, 3, 2), on("12", 2));
        assert_eq!(come_to(&["12", "13"], 8, 3), Agreed::NotYet);
        assert_eq!(
            come_to(&["12", "13"], 7, 3),
            Agreed::Never,
            "two calls for each of the others, and the answer"
        );
        assert_eq!(
            come_to_beside(&["12", "13"], 8, 3, 2),
            Agreed::NotYet,
            "who is under way shares"
        );
        assert_eq!(come_to(&["12"], 7, 3), Agreed::Never);
        assert_eq!(
            come_to(&["12", "13", "12", "13"], 0, 0),
            Agreed::Never,
            "nobody is ahead"
        );
    }

    #[test]
    fn tries_end() {
        let tries: Vec<String> = (0..TRIES_MAX).map(|n| n.to_string()).collect();
        let tries: Vec<&str> = tries.iter().map(String::as_str).collect();
        assert_eq!(come_to(&tries[1..], 10_000, 0), Agreed::NotYet);
        assert_eq!(come_to(&tries, 10_000, 0), Agreed::Never);
    }
}
