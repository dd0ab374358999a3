//! The mood of a thread: a number that moves slowly, by the events of the thread and by a random
//! walk that a seed decides. So two calls that are otherwise the same are not the same for ever.
//! Models are shown a word for it, never the number. Pure: each turn's end moves it once, and keeps
//! it in its event; the mood of a turn's calls was logged before.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use thinkd_words::defaults::with_defaults;
use thinkd_words::id::{Space, ThreadId};

with_defaults! {
    /// The movement of a mood: `[mood]` in thinkd.toml.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Options {
        /// By how much the mood moves at most with a turn, its random part by half as much: from 0 to 1. From the lowest to the highest mood it is
        /// 2. 0: models are told neither their identity nor a mood.
        pub step: f64 = 0.1,
    }
    fixed {
        /// By how much the random part moves at most with a turn: from 0 to 1.
        pub drift: Option<f64> = None,
        /// The number that decides the random part: the same seed brings the same moods.
        pub seed: u64 = 0,
    }
}

impl Options {
    /// Returns an error with the fault of an option, in a sentence for the operator.
    pub fn check(&self) -> Result<(), String> {
        match (0.0..=1.0).contains(&self.step) {
            true => Ok(()),
            false => Err(format!("mood.step is {}; it is from 0 to 1", self.step)),
        }
    }

    /// Returns by how much the random part moves at most.
    fn drift(&self) -> f64 {
        self.drift.unwrap_or(self.step / 2.0)
    }

    /// Returns true if models are told their identity and their mood.
    pub fn is_on(&self) -> bool {
        self.step > 0.0
    }
}

/// The highest mood, in thousandths; the lowest is as far below 0.
const MOST: i64 = 1000;
/// The farthest that the random part goes.
const WALK: i64 = 400;
/// The effect of one point, and the part of it that is left a turn later, in thousandths.
const POINT: i64 = 80;
const KEPT: i64 = 800;

/// A mood, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mood {
    /// The mood, a number of thousandths from -1000 to 1000.
    pub sum: i64,
    /// The random part, a number of thousandths.
    pub walk: i64,
    /// The part that comes from points, a number of thousandths.
    pub facts: i64,
    /// The number of points of all that had happened by then.
    pub seen: i64,
}

impl Mood {
    /// The mood when a turn ends by which so many points had happened. `draw`: see [`draw`].
    #[must_use]
    pub fn after(self, points: i64, draw: f64, options: &Options) -> Self {
        let walk = reflected(self.walk + thousandths(options.drift() * draw));
        let new = points.saturating_sub(self.seen).saturating_mul(POINT);
        let facts = (self.facts * KEPT / 1000)
            .saturating_add(new)
            .clamp(-MOST, MOST);
        let step = thousandths(options.step).max(1);
        let sum = self.sum + (walk + facts - self.sum).clamp(-step, step);
        Self {
            sum: sum.clamp(-MOST, MOST),
            walk,
            facts,
            seen: points,
        }
    }

    /// The word for it, of a list from the lowest to the highest.
    pub fn word<'a>(&self, words: &[&'a str]) -> &'a str {
        let at = usize::try_from(self.sum.clamp(-MOST, MOST) + MOST).unwrap_or(0) * words.len()
            / (2 * 1000 + 1);
        words.get(at).copied().unwrap_or_default()
    }
}

/// Returns a walk with its part beyond the farthest turned back from there.
fn reflected(walk: i64) -> i64 {
    let beyond = (walk.abs() - WALK).max(0);
    walk.signum() * (walk.abs().min(WALK) - beyond.min(WALK))
}

#[expect(clippy::cast_possible_truncation, reason = "at most 1000")]
fn thousandths(part: f64) -> i64 {
    (part * 1000.0).round() as i64
}

/// The random number of a turn, -1 to 1: the same for the same seed, thread and turn.
pub fn draw(options: &Options, space: &Space, thread: &ThreadId, turn: u64) -> f64 {
    let hash = Sha256::new()
        .chain_update(options.seed.to_le_bytes())
        .chain_update(space.as_str())
        .chain_update([0])
        .chain_update(thread.as_str())
        .chain_update([0])
        .chain_update(turn.to_le_bytes())
        .finalize();
    let bits = hash
        .iter()
        .take(4)
        .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
    f64::from(bits) / f64::from(u32::MAX) * 2.0 - 1.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moods(options: &Options, points: &[i64]) -> Vec<Mood> {
        let space = Space::default();
        let thread = ThreadId::default();
        let mut mood = Mood::default();
        let mut sum = 0;
        (1..)
            .zip(points)
            .map(|(turn, more)| {
                sum += more;
                mood = mood.after(sum, draw(options, &space, &thread, turn), options);
                mood
            })
            .collect()
    }

    fn options() -> impl Strategy<Value = Options> {
        (0.001..1.0_f64, 0.0..1.0_f64, any::<u64>()).prop_map(|(step, drift, seed)| Options {
            step,
            drift: Some(drift),
            seed,
        })
    }

    proptest! {
        /// D1.73: for any points, it moves by at most the step, the random part by at most the
        /// drift, and it stays within its ends.
        #[test]
        fn d1_73_a_mood_moves_by_at_most_its_step(options in options(), points in prop::collection::vec(-50..50_i64, 1..80)) {
            let mut before = Mood::default();
            for mood in moods(&options, &points) {
                prop_assert!((mood.sum - before.sum).abs() <= thousandths(options.step).max(1));
                prop_assert!((mood.walk - before.walk).abs() <= thousandths(options.drift()));
                prop_assert!(mood.sum.abs() <= MOST && mood.walk.abs() <= WALK);
                before = mood;
            }
        }

        /// D1.72: by the same seed a run of failures leads to a lower mood than a run of successes.
        #[test]
        fn d1_72_failures_lead_to_a_lower_mood_than_successes(options in options()) {
            let bad = moods(&options, &[-2; 30]);
            let good = moods(&options, &[2; 30]);
            prop_assert!(bad[29].sum < good[29].sum);
        }

        /// T1.42: a seed decides the sequence.
        #[test]
        fn t1_42_the_same_seed_brings_the_same_moods_and_another_one_others(seed in any::<u64>()) {
            let options = |seed| Options { drift: Some(0.2), seed, ..Options::default() };
            prop_assert_eq!(moods(&options(seed), &[0; 20]), moods(&options(seed), &[0; 20]));
            prop_assert_ne!(moods(&options(seed), &[0; 20]), moods(&options(seed.wrapping_add(1)), &[0; 20]));
        }
    }

    #[test]
    fn every_mood_has_a_word() {
        let words = ["low", "even", "high"];
        let word = |sum| {
            Mood {
                sum,
                ..Mood::default()
            }
            .word(&words)
        };
        assert_eq!(
            [word(-1000), word(-334), word(0), word(334), word(1000)],
            ["low", "low", "even", "high", "high"]
        );
        assert_eq!(Mood::default().word(&[]), "");
    }
}
