//! Frameworks: how a kind of task is solved, learned once and used again. Each is a hypothesis: like tasks are tried with it and without it, and it is
//! used only while it is the better of the two. Pure; which framework a task is like is said in `recall/frameworks.rs`.

use serde::{Deserialize, Serialize};

use thinkd_words::id::{Seq, ThreadId};

/// Most characters of a name.
pub const NAME_MAX: usize = 200;
/// Most characters of the purpose, of a piece of knowledge, of a step, of a guideline.
pub const TEXT_MAX: usize = 2000;
/// Most pieces of knowledge, and most steps of a tool.
pub const ITEMS_MAX: usize = 64;
/// Most characters of a program.
pub const CODE_MAX: usize = 16 << 10;
/// Most frameworks of one task.
pub const PER_TASK: usize = 2;

/// A framework, as it was created or changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Framework {
    /// Its name.
    pub name: String,
    /// For which tasks it is; by this and its name it is found.
    pub purpose: String,
    /// Knowledge and instructions in natural language, an item each.
    pub knowledge: Vec<String>,
    /// Its way of working.
    pub recipe: Recipe,
    /// The person that made it, as far as known.
    #[serde(default)]
    pub by: Option<String>,
    /// The outcomes of like tasks since its last change.
    #[serde(default)]
    pub tally: Tally,
}

/// The way in which a framework works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Recipe {
    /// By its knowledge alone: the model is told it.
    #[default]
    Text,
    /// By a program that is run.
    Program {
        /// Its language, as `run_code` calls it.
        #[schema(example = "javascript")]
        language: String,
        /// The program.
        code: String,
        /// The rule by which its free parameters are chosen; empty: it has none.
        #[serde(default)]
        guideline: String,
    },
    /// By a tool that is used step by step.
    ExternalTool {
        /// The tool's name.
        tool: String,
        /// The steps.
        steps: Vec<String>,
    },
}

impl Recipe {
    /// The words of its kinds.
    pub const KINDS: [&str; 3] = ["text", "program", "external_tool"];

    /// The word of its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Program { .. } => "program",
            Self::ExternalTool { .. } => "external_tool",
        }
    }
}

/// The changes to a framework; an absent member stays as it is. Another purpose, knowledge or
/// recipe begins its probation anew.
#[derive(Debug, Clone, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameworkChange {
    /// Its name.
    pub name: Option<String>,
    /// For which tasks it is.
    pub purpose: Option<String>,
    /// Its knowledge, all of it.
    pub knowledge: Option<Vec<String>>,
    /// The way in which it works.
    pub recipe: Option<Recipe>,
    /// The `seq` that was read before: if something has been said of it since, nothing is changed. Without it the last one wins.
    #[schema(value_type = Option<i64>, example = 41)]
    pub expected_seq: Option<Seq>,
}

impl Framework {
    /// The same with this changed. One with another purpose, knowledge or recipe is another
    /// hypothesis: its probation begins anew.
    #[must_use]
    pub fn with(&self, change: FrameworkChange) -> Self {
        let mut new = self.clone();
        new.name = change.name.unwrap_or(new.name);
        new.purpose = change.purpose.unwrap_or(new.purpose);
        new.knowledge = change.knowledge.unwrap_or(new.knowledge);
        new.recipe = change.recipe.unwrap_or(new.recipe);
        let is_named = new.purpose == self.purpose && new.knowledge == self.knowledge;
        if !is_named || new.recipe != self.recipe {
            new.tally = Tally::default();
        }
        new
    }

    /// The text by which it is found.
    pub fn found_by(name: &str, purpose: &str) -> String {
        format!("{name}. {purpose}")
    }

    /// Returns its text for models.
    pub fn rendered(&self) -> String {
        let mut text = format!("{}\nFor: {}\n", self.name, self.purpose);
        let knowledge = self.knowledge.iter().map(|item| format!("- {item}\n"));
        text.extend(knowledge);
        match &self.recipe {
            Recipe::Text => {}
            Recipe::Program {
                language,
                code,
                guideline,
            } => {
                text.push_str(&format!("A program in {language}:\n{code}\n"));
                if !guideline.is_empty() {
                    text.push_str(&format!("Its parameters: {guideline}\n"));
                }
            }
            Recipe::ExternalTool { tool, steps } => {
                text.push_str(&format!("With the tool {tool}:\n"));
                text.extend((1..).zip(steps).map(|(at, step)| format!("{at}. {step}\n")));
            }
        }
        text
    }
}

/// The outcome of a task that a framework is for.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The thread of the task.
    pub thread: ThreadId,
    /// The task, in a few words.
    pub task: String,
    /// True if the framework was used.
    pub with: bool,
    /// True if the task was solved.
    pub worked: bool,
}

/// The number of tries, and of those that worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Tries {
    /// The number of tries.
    pub tried: u32,
    /// The number of tries that worked.
    pub worked: u32,
}

/// The outcomes of like tasks with a framework and without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Tally {
    /// With it.
    pub with: Tries,
    /// Without it.
    pub without: Tries,
}

/// The standing of a framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Compared: some like tasks are solved with it, some without.
    Probation,
    /// The better way so far; now and then a like task is solved without it, to compare.
    Used,
    /// No better than to do without: it is not used any more.
    Dropped,
    /// Never worked: it is not used any more.
    Unusable,
}

/// Uses before which nothing is said of a framework.
const LEAST: u32 = 2;
/// After so many uses a framework that has never worked is unusable, however well tasks go without
/// it.
const NEVER: u32 = 5;
/// After so many uses a framework that is not clearly better is dropped.
const LONG: u32 = 20;
/// While it is on probation, one like task of so many is solved with it: failures cost little.
const ONE_OF: u32 = 3;
/// While it is used, one like task of so many is solved without it.
const COMPARED: u32 = 8;
/// So many standard deviations worse it is dropped; so many better it is used; after a long probation it has to be so many better.
const WORSE: f64 = -0.5;
const BETTER: f64 = 1.6;
const BETTER_AT_LAST: f64 = 0.5;

impl Tries {
    /// One more.
    #[must_use]
    pub fn and(self, worked: bool) -> Self {
        Self {
            tried: self.tried.saturating_add(1),
            worked: self.worked.saturating_add(u32::from(worked)),
        }
    }

    /// The mean and the variance of the chance that it works, where every chance was as likely before the first try.
    fn chance(self) -> (f64, f64) {
        let worked = f64::from(self.worked) + 1.0;
        let failed = f64::from(self.tried.saturating_sub(self.worked)) + 1.0;
        let all = worked + failed;
        (worked / all, worked * failed / (all * all * (all + 1.0)))
    }
}

impl Tally {
    /// With one more like task, solved or not, with the framework or without.
    #[must_use]
    pub fn and(self, with: bool, worked: bool) -> Self {
        let mut more = self;
        let of = match with {
            true => &mut more.with,
            false => &mut more.without,
        };
        *of = of.and(worked);
        more
    }

    /// Returns the advantage of using the framework, in standard deviations of the tries so far.
    pub fn advantage(self) -> f64 {
        let (with, spread_with) = self.with.chance();
        let (without, spread_without) = self.without.chance();
        (with - without) / (spread_with + spread_without).sqrt()
    }

    /// Returns the standing of the framework by this.
    pub fn standing(self) -> Standing {
        let uses = self.with.tried;
        let advantage = self.advantage();
        let is_worse = uses >= LEAST && advantage < WORSE;
        if self.with.worked == 0 && (is_worse || uses >= NEVER) {
            Standing::Unusable
        } else if is_worse || (uses >= LONG && advantage < BETTER_AT_LAST) {
            Standing::Dropped
        } else if uses >= LEAST && advantage >= if uses >= LONG { BETTER_AT_LAST } else { BETTER } {
            Standing::Used
        } else {
            Standing::Probation
        }
    }

    /// Returns true if the next like task is to be solved with the framework, beside those under
    /// way, and why; none: it is not to be used at all.
    pub fn next(self, begun: Begun) -> Option<(bool, String)> {
        let Self { with, without } = self;
        let mut so_far = format!(
            "with it {} of {} like tasks worked, without it {} of {}",
            with.worked, with.tried, without.worked, without.tried
        );
        if begun != Begun::default() {
            so_far.push_str(&format!(
                "; under way are {} with it, {} without",
                begun.with, begun.without
            ));
        }
        let uses = with.tried.saturating_add(begun.with);
        let tried = without.tried.saturating_add(begun.without);
        let (is_with, why) = match self.standing() {
            Standing::Dropped | Standing::Unusable => return None,
            // Nor is one that has never worked tried oftener side by side than one after the other.
            Standing::Probation => {
                let is_with = uses * (ONE_OF - 1) < tried && (with.worked > 0 || uses < NEVER);
                let how = if is_with { "with" } else { "without" };
                let why = format!("on probation, and this task is tried {how} it");
                (is_with, why)
            }
            Standing::Used if (uses + tried).is_multiple_of(COMPARED) => {
                let why = format!("one task of {COMPARED} is tried without it, to compare");
                (false, why)
            }
            Standing::Used => (true, "it is the better way".to_owned()),
        };
        Some((is_with, format!("{why}: {so_far}")))
    }
}

/// The numbers of like tasks under way: their outcomes are not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Begun {
    /// The number with the framework.
    pub with: u32,
    /// The number without it.
    pub without: u32,
}

impl Begun {
    /// Returns how many with the framework, or without it, to be counted on.
    pub fn count(&mut self, with: bool) -> &mut u32 {
        match with {
            true => &mut self.with,
            false => &mut self.without,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Outcomes of like tasks in order: each with the framework, and without.
    fn fates() -> impl Strategy<Value = Vec<(bool, bool)>> {
        prop::collection::vec(any::<(bool, bool)>(), 0..200)
    }

    fn after(fates: &[(bool, bool)]) -> (Tally, u32) {
        let mut tally = Tally::default();
        let mut uses = 0;
        for (with, without) in fates {
            let Some((is_with, _)) = tally.next(Begun::default()) else {
                break;
            };
            uses += u32::from(is_with);
            tally = tally.and(is_with, if is_with { *with } else { *without });
        }
        (tally, uses)
    }

    proptest! {
        /// D1.60: a framework that never works is used five times at most, and is unusable then,
        /// however many tasks are solved without it.
        #[test]
        fn one_that_never_works_is_unusable_within_five_uses(without in prop::collection::vec(any::<bool>(), 20..200)) {
            let fates: Vec<(bool, bool)> = without.into_iter().map(|without| (false, without)).collect();
            let (tally, uses) = after(&fates);
            prop_assert_eq!(tally.standing(), Standing::Unusable);
            prop_assert!(uses <= NEVER, "{} uses", uses);
        }

        /// A framework is used only while it is better: with the same tally, more success of it
        /// never makes it worse, and more success without never better.
        #[test]
        fn success_speaks_for_it_and_success_without_against_it(fates in fates()) {
            let (tally, _) = after(&fates);
            prop_assert!(tally.and(true, true).advantage() >= tally.and(true, false).advantage());
            prop_assert!(tally.and(false, true).advantage() <= tally.and(false, false).advantage());
        }

        /// No probation lasts for ever, and a framework in use after one was the better way.
        #[test]
        fn a_probation_ends(fates in prop::collection::vec(any::<(bool, bool)>(), 90..200)) {
            let (tally, _) = after(&fates);
            prop_assert_ne!(tally.standing(), Standing::Probation);
            if tally.standing() == Standing::Used {
                prop_assert!(tally.advantage() >= BETTER_AT_LAST);
            }
        }
    }

    #[test]
    fn the_first_like_tasks_are_solved_without_it_and_a_third_with_it() {
        let mut tally = Tally::default();
        let mut with = Vec::new();
        for _ in 0..9 {
            let (is_with, _) = tally.next(Begun::default()).unwrap();
            with.push(is_with);
            // It works as often with it as without.
            tally = tally.and(is_with, true);
        }
        assert_eq!(
            with,
            [false, true, false, false, true, false, false, true, false]
        );
    }

    #[test]
    fn an_edit_of_what_it_says_begins_its_probation_anew_and_a_new_name_does_not() {
        let tally = Tally::default().and(true, true).and(false, false);
        let framework = Framework {
            name: "sums".into(),
            purpose: "adding numbers".into(),
            knowledge: vec!["Carry.".into()],
            recipe: Recipe::Text,
            by: None,
            tally,
        };
        let renamed = framework.with(FrameworkChange {
            name: Some("adding".into()),
            ..FrameworkChange::default()
        });
        assert_eq!((renamed.name.as_str(), renamed.tally), ("adding", tally));
        let knows = vec!["Carry.".to_owned(), "Check.".to_owned()];
        let changed = framework.with(FrameworkChange {
            knowledge: Some(knows),
            ..FrameworkChange::default()
        });
        assert_eq!(changed.tally, Tally::default());
    }
}
