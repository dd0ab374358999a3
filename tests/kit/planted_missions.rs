//! Missions of a planted family: so many steps, each of which a model does right with a known chance; a judge that errs; the model is seeded by the text of the
//! call. Beside it other ways to spend the same calls. The bench uses it, too.
//!
//! A mission asks for a value a step. Its parameters stand in its text, so that one scripted model answers all of them.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use serde_json::{Value, json};
use thinkd_event::agreement::{Agreed, Pool, agreed};

/// Runs of the same world that all have to be right for pass^8.
pub const RUNS: u64 = 8;
/// Steps that a mission works on at a time: `mission.width` where nothing is configured.
const WIDTH: usize = 4;
/// A wrong value is one of so many.
const VALUES: u64 = 1_000_000;

/// A mission of the family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planted {
    pub steps: usize,
    /// The chance that a try of a step is right.
    pub chance: f64,
    /// The chance that a verdict is wrong.
    pub judge_error: f64,
    /// The chance that another try of the same step has the value that the step always tempts to,
    /// right or wrong, in any words.
    pub repeat: f64,
    /// The world that is asked for: the seed of the right values.
    pub world: u64,
    /// The number of the run of the same world.
    pub run: u64,
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            steps,
            chance,
            judge_error,
            repeat,
            world,
            run,
        } = self;
        write!(
            f,
            "steps={steps} chance={chance} error={judge_error} repeat={repeat} world={world} run={run}"
        )
    }
}

impl Planted {
    /// Reads the output of `Display` from any place in a text.
    fn find(text: &str) -> Option<Self> {
        let of = |name: &str| -> Option<f64> {
            let (_, after) = text.split_once(&format!("{name}="))?;
            let end = after
                .find(|it: char| !it.is_ascii_digit() && it != '.')
                .unwrap_or(after.len());
            after[..end].parse().ok()
        };
        Some(Self {
            steps: of("steps")? as usize,
            chance: of("chance")?,
            judge_error: of("error")?,
            repeat: of("repeat")?,
            world: of("world")? as u64,
            run: of("run")? as u64,
        })
    }

    /// The calls that each way may spend: plans, tries, verdicts and the last answer.
    pub fn calls(&self) -> u64 {
        4 * self.steps as u64 + 2
    }

    /// The chance of a whole attempt.
    pub fn whole(&self) -> f64 {
        self.chance.powi(self.steps as i32)
    }

    fn right(&self, step: usize) -> u64 {
        draw(&[self.world, step as u64, 1]) % VALUES
    }

    /// Returns the value that the chance makes of a seed: the right one, or another one.
    fn tried(&self, step: usize, seed: u64) -> u64 {
        let right = self.right(step);
        if share(draw(&[seed, 2])) < self.chance {
            right
        } else {
            (right + 1 + draw(&[seed, 3]) % (VALUES - 1)) % VALUES
        }
    }

    /// Returns the value of a try of a step in these words.
    fn value(&self, step: usize, words: &str) -> u64 {
        let seed = draw(&[self.world, self.run, step as u64, hash(words)]);
        let habit = share(draw(&[seed, 4])) < self.repeat;
        self.tried(
            step,
            if habit {
                draw(&[self.world, step as u64, 5])
            } else {
                seed
            },
        )
    }

    fn attempt(&self, words: &str) -> Vec<u64> {
        (0..self.steps)
            .map(|step| self.value(step, words))
            .collect()
    }

    fn is_right(&self, values: &[u64]) -> bool {
        values
            .iter()
            .enumerate()
            .all(|(step, value)| *value == self.right(step))
    }

    fn judged(&self, words: &str, is_right: bool) -> bool {
        is_right != (share(draw(&[self.world, self.run, hash(words), 6])) < self.judge_error)
    }

    /// Returns whether this is the answer to the mission.
    pub fn answers(&self, text: &str) -> bool {
        text == written((0..self.steps).map(|step| self.right(step).to_string()))
    }

    /// One call.
    pub fn direct(&self) -> bool {
        self.is_right(&self.attempt("directly"))
    }

    /// Whole attempts, until one passes the check, or the last one.
    pub fn best_of_n(&self) -> bool {
        let mut is_right = false;
        for attempt in 0..self.calls() / 2 {
            let values = self.attempt(&format!("whole {attempt}"));
            is_right = self.is_right(&values);
            if self.judged(&format!("judge {attempt}"), is_right) {
                break;
            }
        }
        is_right
    }

    /// Whole attempts, and the result of most of them; of equals the first result.
    pub fn majority(&self) -> bool {
        let mut counts: HashMap<Vec<u64>, (u64, std::cmp::Reverse<u64>)> = HashMap::new();
        for attempt in 0..self.calls() {
            let values = self.attempt(&format!("whole {attempt}"));
            counts
                .entry(values)
                .or_insert((0, std::cmp::Reverse(attempt)))
                .0 += 1;
        }
        counts
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .is_some_and(|(values, _)| self.is_right(&values))
    }

    /// A plan, then two tries a step with a verdict each, and the answer.
    pub fn split_at_once(&self) -> bool {
        (0..self.steps).all(|step| {
            let mut is_right = false;
            for attempt in 0..2 {
                is_right = self.value(step, &format!("step {attempt}")) == self.right(step);
                if self.judged(&format!("judge {step} {attempt}"), is_right) {
                    break;
                }
            }
            is_right
        })
    }

    /// The outcome of a mission by the rule of agreement alone (`event/agreement.rs`), four steps
    /// at a time in turn. It needs no server, so that it can be done for many worlds. The bench
    /// holds missions of the server against it.
    pub fn by_rule(&self) -> bool {
        self.by_tries(|pool| pool)
    }

    /// The same where two tries that agree always do, with any number of calls left: the plain
    /// rule.
    pub fn by_two(&self) -> bool {
        self.by_tries(|_| Pool {
            calls: 2,
            open: 0,
            begun: 1,
        })
    }

    fn by_tries(&self, seen: impl Fn(Pool) -> Pool) -> bool {
        let mut calls = self.calls() - 1;
        let mut to_come = (0..self.steps).collect::<VecDeque<_>>();
        let mut begun: VecDeque<(usize, Vec<Option<String>>)> = VecDeque::new();
        let mut is_right = true;
        loop {
            while begun.len() < WIDTH
                && let Some(step) = to_come.pop_front()
            {
                begun.push_back((step, Vec::new()));
            }
            let Some((step, mut tries)) = begun.pop_front() else {
                return is_right;
            };
            let pool = Pool {
                calls,
                open: to_come.len() as u64,
                begun: begun.len() as u64,
            };
            let came = if tries.len() < 2 {
                Agreed::NotYet
            } else {
                agreed(&tries, seen(pool))
            };
            match came {
                Agreed::On { answer, .. } => is_right &= answer == self.right(step).to_string(),
                Agreed::NotYet if calls > 1 => {
                    calls -= 1;
                    tries.push(Some(self.value(step, &alone(tries.len() + 1)).to_string()));
                    begun.push_back((step, tries));
                }
                Agreed::NotYet | Agreed::Never => is_right = false,
            }
        }
    }

    /// Returns the scripted model's answer to a call of a mission (such as `mission:solve`), given
    /// the end of its request: the only tool, and its arguments.
    pub fn said(module: &str, last: &str) -> Option<(&'static str, Value)> {
        let planted = Self::find(last)?;
        let line = |word: &str| {
            let line = last.lines().find_map(|line| line.trim().strip_prefix(word));
            line.and_then(|line| serde_json::from_str::<Value>(line.trim()).ok())
                .unwrap_or_default()
        };
        let step = || -> usize {
            let name = line("Task:")["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            name.rsplit(' ')
                .next()
                .and_then(|number| number.parse().ok())
                .unwrap_or_default()
        };
        Some(match module.strip_prefix("mission:")? {
            "decompose" => {
                let part = |step: usize| {
                    json!({
                        "name": format!("step {step}"), "description": format!("the value of step {step} of {planted}"),
                        "requires": [], "value": null, "brought_by": [], "exact": true,
                    })
                };
                (
                    "decompose",
                    json!({ "tasks": (0..planted.steps).map(part).collect::<Vec<_>>() }),
                )
            }
            "solve" => {
                let value = planted.value(
                    step(),
                    &format!("{} {}", line("Route:"), line("Earlier tries:")),
                );
                (
                    "solve",
                    json!({ "thought": "", "answer": value.to_string(), "program": null }),
                )
            }
            "judge" => {
                let is_right = line("Answer:") == json!(planted.right(step()).to_string());
                (
                    "judge",
                    json!({ "passes": planted.judged(last, is_right), "why": "it looks like it" }),
                )
            }
            "answer" => {
                let tasks = line("Tasks:");
                let tasks = tasks.as_array().map(Vec::as_slice).unwrap_or_default();
                let answers = tasks
                    .iter()
                    .map(|task| task["answer"].as_str().unwrap_or("?").to_owned());
                ("answer", json!({ "answer": written(answers) }))
            }
            _ => return None,
        })
    }
}

/// The words of a try of an exact task: its route, and no earlier tries.
fn alone(attempt: usize) -> String {
    let (name, how) = match attempt % 2 {
        1 => ("as a whole", "Do the task as it stands."),
        _ => (
            "another way",
            "Do the task by another way than the first that comes to mind.",
        ),
    };
    format!(
        "{} []",
        json!({ "name": name, "how": how, "attempt": attempt })
    )
}

fn written(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(" ")
}

/// SplitMix64 over some numbers.
fn draw(seeds: &[u64]) -> u64 {
    seeds.iter().fold(0, |state, seed| {
        let mut bits = (state ^ seed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    })
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// From 0 to 1.
fn share(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
