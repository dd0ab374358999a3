//! The parts of a thread that models are not shown: turns with an input that was taken back, and
//! parts that a provider refused. The log keeps all of them; a thread's row has the list.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use thinkd_words::id::Seq;

/// Most inputs of a thread that can be taken back after their turn.
pub const BACK_MAX: usize = 500;
/// Most stretches of a thread that are left out because a provider refused them; of more, the
/// oldest are shown again.
const REFUSED_MAX: usize = 200;
/// Most kinds of media, of so many models, that are left out.
const MEDIA_MAX: usize = 32;

/// An input that was taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Back {
    /// Its first part.
    pub from: Seq,
    /// Its last one.
    pub input: Seq,
    /// The first and the last turn that was about it; none: it waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<(u64, u64)>,
}

impl Back {
    /// Returns whether it hides an event, of this turn where it is of one.
    pub fn hides(&self, seq: Seq, turn: Option<u64>) -> bool {
        let is_of = |(first, last): (u64, u64)| turn.is_some_and(|it| (first..=last).contains(&it));
        (self.from..=self.input).contains(&seq) || self.turns.is_some_and(is_of)
    }
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Unshown {
    /// Inputs that were taken back, with all of their turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub back: Vec<Back>,
    /// Events that a provider refused, each stretch from its first to its last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(Seq, Seq)>,
    /// Models, and a kind of media (`image`, `audio`) that each takes none of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<(String, String)>,
}

/// Parts of a thread that a provider refused: the facts of the failure that says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// The model that refused them.
    pub model: String,
    /// The stretches that are left out of its prompts and all others.
    pub refused: Vec<(Seq, Seq)>,
    /// The kinds of media that are left out of its prompts.
    pub kinds: Vec<String>,
}

impl LeftOut {
    /// As facts of a failure, beside its reason.
    pub fn to_detail(&self, reason: &str) -> Value {
        json!({
            "reason": reason, "model": self.model, "left_out": self.refused, "kinds": self.kinds,
        })
    }

    /// Reads the value that `to_detail` writes.
    pub fn of(detail: &Value) -> Option<Self> {
        let refused = detail.get("left_out")?.as_array()?;
        let stretch = |pair: &Value| Some((pair.get(0)?.as_i64()?, pair.get(1)?.as_i64()?));
        let kinds = detail.get("kinds").and_then(Value::as_array);
        let kind = |kind: &Value| kind.as_str().map(str::to_owned);
        Some(Self {
            model: detail.get("model")?.as_str()?.to_owned(),
            refused: refused.iter().filter_map(stretch).collect(),
            kinds: kinds.into_iter().flatten().filter_map(kind).collect(),
        })
    }
}

impl Unshown {
    /// Returns whether an event, of this turn where it is of one, was taken back.
    pub fn hides(&self, seq: Seq, turn: Option<u64>) -> bool {
        self.back.iter().any(|back| back.hides(seq, turn))
    }

    /// Returns whether a provider refused an event.
    pub fn refuses(&self, seq: Seq) -> bool {
        let has = |(from, to): &(Seq, Seq)| (*from..=*to).contains(&seq);
        self.refused.iter().any(has)
    }

    /// The kinds of media that a model takes none of.
    pub fn media_of(&self, model: &str) -> impl Iterator<Item = &str> {
        let of = self.media.iter().filter(move |(of, _)| of == model);
        of.map(|(_, kind)| kind.as_str())
    }

    /// Takes an input back.
    pub fn take_back(&mut self, back: Back) {
        self.back.retain(|it| it.input != back.input);
        self.back.push(back);
        keep_newest(&mut self.back, BACK_MAX);
    }

    /// Leaves out the parts that a provider refused.
    pub fn leave_out(&mut self, left_out: &LeftOut) {
        self.refused.extend(&left_out.refused);
        self.refused.sort_unstable();
        self.refused.dedup_by(|next, last| {
            let meets = next.0 <= last.1;
            if meets {
                last.1 = last.1.max(next.1);
            }
            meets
        });
        keep_newest(&mut self.refused, REFUSED_MAX);
        for kind in &left_out.kinds {
            let of = (left_out.model.clone(), kind.clone());
            self.media.retain(|it| *it != of);
            self.media.push(of);
        }
        keep_newest(&mut self.media, MEDIA_MAX);
    }

    /// Nothing is hidden or left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn keep_newest<T>(list: &mut Vec<T>, most: usize) {
    list.drain(..list.len().saturating_sub(most));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_meet_are_one_and_the_oldest_give_way() {
        let mut unshown = Unshown::default();
        let left_out = |refused| LeftOut {
            refused,
            ..LeftOut::default()
        };
        unshown.leave_out(&left_out(vec![(5, 9), (20, 20)]));
        unshown.leave_out(&left_out(vec![(8, 12), (6, 7)]));
        assert_eq!(unshown.refused, [(5, 12), (20, 20)]);
        assert!(unshown.refuses(5) && unshown.refuses(12) && unshown.refuses(20));
        assert!(!unshown.refuses(4) && !unshown.refuses(13));
        for seq in 0..2 * REFUSED_MAX as Seq {
            unshown.leave_out(&left_out(vec![(100 + 2 * seq, 100 + 2 * seq)]));
        }
        assert_eq!(unshown.refused.len(), REFUSED_MAX);
        assert!(!unshown.refuses(5));
    }

    #[test]
    fn what_a_failure_says_is_read_as_it_was_written() {
        let left_out = LeftOut {
            model: "model m at http://x".into(),
            refused: vec![(3, 4)],
            kinds: vec!["image".into()],
        };
        assert_eq!(LeftOut::of(&left_out.to_detail("media")), Some(left_out));
        assert_eq!(LeftOut::of(&json!({ "left_out": 3 })), None);
    }

    #[test]
    fn a_turn_is_hidden_with_its_input_and_what_others_said_meanwhile_is_not() {
        let back = Back {
            from: 4,
            input: 5,
            turns: Some((2, 3)),
        };
        let hidden = [(4, None), (5, None), (9, Some(2)), (12, Some(3))];
        assert!(hidden.iter().all(|(seq, turn)| back.hides(*seq, *turn)));
        let shown = [(3, None), (6, None), (9, Some(1)), (9, Some(4))];
        assert!(!shown.iter().any(|(seq, turn)| back.hides(*seq, *turn)));
    }
}
