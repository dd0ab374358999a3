//! A gathering is the state of a fan-out or a sequence: which results of its subthreads have come back, and which are missing. The row of
//! the parent keeps it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use thinkd_words::text;

/// See the module. Kept in the row of the thread that gathers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Gather {
    /// The most results there will be.
    pub total: u64,
    /// In a sequence: the steps, in order. Empty where all begin at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// In a sequence: the prompt of its subthreads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The results so far, by index. The first result of an index counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub results: BTreeMap<u64, Back>,
}

/// The result of one subthread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Back {
    /// True if it ended by its own choice.
    pub ok: bool,
    /// Its last words, or why it ended.
    pub text: String,
}

/// The subthread of a gathering that has ended, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatherPart {
    /// The gathering.
    pub id: String,
    /// The index of the subthread, from 0.
    pub index: u64,
    /// The result.
    #[serde(flatten)]
    pub back: Back,
}

impl GatherPart {
    /// The result of the subthread of this index.
    pub fn of(id: String, index: u64, ok: bool, text: &str) -> Self {
        Self {
            id,
            index,
            back: Back {
                ok,
                text: text.to_owned(),
            },
        }
    }
}

impl Gather {
    /// Returns true if a part that came calls for a turn: the gathering is complete, or a step is
    /// next.
    pub fn is_ready(&self) -> bool {
        self.is_sequence() || self.is_complete()
    }

    /// Takes a result in, unless there is one already. True: a turn is needed, for it is complete
    /// or a step is next.
    pub fn take(&mut self, part: &GatherPart) -> bool {
        if part.index >= self.total || self.results.contains_key(&part.index) {
            return false;
        }
        self.results.insert(part.index, part.back.clone());
        self.is_ready()
    }

    /// Returns true if its steps go one after the other.
    pub fn is_sequence(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Returns true if no more results will come.
    pub fn is_complete(&self) -> bool {
        let failed = self.is_sequence() && self.results.values().any(|back| !back.ok);
        failed || self.results.len() as u64 >= self.total
    }

    /// In a sequence: the step that comes next, and its index.
    pub fn next(&self) -> Option<(u64, &str)> {
        if self.is_complete() {
            return None;
        }
        let index = self.results.len();
        self.steps
            .get(index)
            .map(|step| (index as u64, step.as_str()))
    }

    /// Returns its figures: the most results there will be, the good ones so far, the missing ones,
    /// and the step that failed, counted from 1, if they go in order.
    pub fn report(&self) -> Vec<(&'static str, Value)> {
        let well = self.results.values().filter(|back| back.ok).count();
        let failed = self
            .results
            .iter()
            .find(|(_, back)| !back.ok)
            .filter(|_| self.is_sequence());
        // People count steps from one.
        let failed = failed.map_or(Value::Null, |(index, _)| Value::from(index + 1));
        vec![
            ("total", self.total.into()),
            ("successful", well.into()),
            ("missing", (self.total - self.results.len() as u64).into()),
            ("failed_step", failed),
        ]
    }

    /// The results as clients read them.
    pub fn results(&self) -> Value {
        let result = |(index, back): (&u64, &Back)| json!({ "index": index, "ok": back.ok, "text": back.text });
        self.results.iter().map(result).collect()
    }

    /// Returns the results as models read them, each with its index at the beginning of a line.
    /// Further lines of a result are set in, so that none is read as another one's.
    pub fn lines(&self) -> String {
        let line = |(index, back): (&u64, &Back)| {
            let failed = if back.ok { "" } else { "failed: " };
            format!("{index}: {failed}{}", set_in(&back.text))
        };
        self.results.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Returns a text with all its lines but the first set in, by any line break.
fn set_in(text: &str) -> String {
    let mut set = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if !text::breaks(c) {
            set.push(c);
            continue;
        }
        if c == '\r' {
            chars.next_if_eq(&'\n');
        }
        set.push_str("\n    ");
    }
    set
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each part is one line that begins with its index, and no other line does, for any texts
        /// of the parts.
        #[test]
        fn no_result_is_read_as_another_ones(texts in prop::collection::vec("(1: |failed: |\\n|\\r|\\r\\n|\u{2028}|\u{85}|\u{b}|x){0,8}", 1..4)) {
            let back = |text: &String| Back { ok: true, text: text.clone() };
            let results: BTreeMap<u64, Back> = (0..).zip(texts.iter().map(back)).collect();
            let gather = Gather { total: texts.len() as u64, results, ..Gather::default() };
            let lines = gather.lines();
            prop_assert!(!lines.chars().any(|c| c != '\n' && text::breaks(c)), "{lines:?}");
            let heads: Vec<&str> = lines.split('\n').filter(|line| !line.starts_with("    ")).collect();
            prop_assert_eq!(heads.len(), texts.len(), "{:?}", lines);
            for (index, head) in heads.iter().enumerate() {
                prop_assert!(head.starts_with(&format!("{index}: ")), "{lines:?}");
            }
        }
    }
}
