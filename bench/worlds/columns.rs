//! The columns of the table of planted worlds: shares of questions and statements, pooled over worlds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rivals::{Held, Memory};
use crate::planted_worlds::run::{Asked, holds};
use crate::planted_worlds::{Claim, FIRST_YEAR, Fact, RELATIONS, Truth, World, model};

/// Names of the columns.
pub const NAMES: [&str; 11] = [
    "precision",
    "recall",
    "current",
    "stale",
    "lost",
    "dupl.",
    "as-of",
    "2 hops",
    "3 hops",
    "abstains",
    "calls",
];
/// Chains of single-valued relations.
const CHAINS: [&[&str]; 4] = [
    &["works for", "based in"],
    &["lives in", "mayor"],
    &["works for", "based in", "mayor"],
    &["lives in", "mayor", "works for"],
];

/// A part and the whole, of each column.
#[derive(Debug, Clone, Default)]
pub struct Columns(pub [(f64, f64); NAMES.len()]);

impl Columns {
    /// Adds the columns of another world.
    pub fn add(&mut self, other: &Self) {
        for (one, other) in self.0.iter_mut().zip(&other.0) {
            *one = (one.0 + other.0, one.1 + other.1);
        }
    }

    fn count(&mut self, name: &str, is_so: bool) {
        self.weigh(name, f64::from(u8::from(is_so)), 1.0);
    }

    fn weigh(&mut self, name: &str, part: f64, whole: f64) {
        let at = NAMES.iter().position(|it| *it == name).unwrap();
        self.0[at] = (self.0[at].0 + part, self.0[at].1 + whole);
    }

    /// As a line of the table.
    pub fn line(&self) -> String {
        self.0
            .iter()
            .map(|(part, whole)| format!("{:>10.4}", part / whole))
            .collect()
    }
}

/// The source of answers about a world.
pub enum Answers<'a> {
    /// A memory in this process.
    Memory(&'a Memory),
    /// A server.
    Server(&'a Asked),
}

impl Answers<'_> {
    /// The one value of a subject and a relation in a year; none where none or several are held.
    async fn ask(&self, subject: &str, relation: usize, year: u32) -> Option<String> {
        let server = match self {
            Self::Memory(memory) => return memory.answer(subject, relation, year),
            Self::Server(server) => server,
        };
        let encoded = |text: &str| text.replace(' ', "%20");
        let entity = encoded(subject);
        let name = encoded(RELATIONS[relation].name);
        let rows = server
            .get(&format!(
                "/world-model?entity={entity}&relation={name}&at={year}-12-31T00:00:00Z"
            ))
            .await;
        let is_subject = |row: &&Value| row["triple"]["subject"] == subject;
        let objects: BTreeSet<&str> = rows["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(is_subject)
            .filter_map(|it| it["triple"]["object"].as_str())
            .collect();
        objects
            .first()
            .filter(|_| objects.len() == 1)
            .map(|it| (*it).to_owned())
    }
}

/// Returns the statements that a server holds, in the form of the memories.
pub fn held(rows: &[Value]) -> Vec<Held> {
    let claim = |row: &&Value| {
        Some(Held {
            claim: model::claimed(row["text"].as_str()?)?,
            to: None,
        })
    };
    rows.iter()
        .filter(|row| holds(row))
        .collect::<Vec<_>>()
        .iter()
        .filter_map(claim)
        .collect()
}

/// The claims of a world, each once, and its last year.
struct Heard<'a> {
    world: &'a World,
    said: BTreeSet<Claim>,
    now: u32,
}

impl Heard<'_> {
    /// Returns true if an object of a fact was claimed, by the subject's own name.
    fn knows(&self, fact: &Fact, (from, object): &(u32, String)) -> bool {
        let Fact {
            subject, relation, ..
        } = fact.clone();
        self.said.contains(&Claim {
            subject,
            relation,
            object: object.clone(),
            from: *from,
        })
    }

    fn current<'a>(&self, fact: &'a Fact) -> Option<&'a (u32, String)> {
        fact.values.iter().rfind(|(from, _)| *from <= self.now)
    }
}

/// Returns the columns for the held statements of a world.
pub async fn columns(
    world: &World,
    held: &[Held],
    lost: usize,
    answers: &Answers<'_>,
    calls: f64,
) -> Columns {
    let all = || world.years.iter().flatten();
    let said: BTreeSet<Claim> = all().filter_map(|it| it.claim.clone()).collect();
    let heard = Heard {
        world,
        said,
        now: FIRST_YEAR + u32::try_from(world.years.len()).unwrap() - 1,
    };
    let mut columns = Columns::default();
    let canonical = |claim: &Claim| Claim {
        subject: world.whose(&claim.subject).to_owned(),
        ..claim.clone()
    };
    let kept: BTreeSet<&Claim> = held.iter().map(|it| &it.claim).collect();
    for claim in &kept {
        columns.count("precision", world.truth(claim, heard.now) != Truth::Not);
    }
    for claim in heard
        .said
        .iter()
        .filter(|it| world.truth(it, heard.now) == Truth::So)
    {
        columns.count("recall", kept.contains(claim));
    }
    let distinct = kept
        .iter()
        .map(|it| canonical(it))
        .collect::<BTreeSet<_>>()
        .len();
    columns.weigh("dupl.", held.len() as f64, distinct as f64);
    columns.weigh("lost", lost as f64, kept.len() as f64);
    columns.weigh("calls", calls, all().count() as f64);
    values(&mut columns, &heard, answers).await;
    hops(&mut columns, &heard, answers).await;
    columns
}

/// Questions for one value: now, before a change, and where nothing true was said.
async fn values(columns: &mut Columns, heard: &Heard<'_>, answers: &Answers<'_>) {
    for fact in heard
        .world
        .facts
        .values()
        .filter(|it| RELATIONS[it.relation].single)
    {
        let Some(current) = heard.current(fact) else {
            continue;
        };
        let answer = answers.ask(&fact.subject, fact.relation, heard.now).await;
        let is = |object: &String| answer.as_ref() == Some(object);
        if heard.knows(fact, current) {
            columns.count("current", is(&current.1));
            columns.count(
                "stale",
                fact.values
                    .iter()
                    .any(|(from, object)| *from < current.0 && is(object)),
            );
        } else if fact.values.iter().all(|value| !heard.knows(fact, value)) {
            columns.count("abstains", answer.is_none());
        }
        if fact.values.len() > 1
            && current.0 > fact.values[0].0
            && heard.knows(fact, &fact.values[0])
        {
            let before = answers
                .ask(&fact.subject, fact.relation, current.0 - 1)
                .await;
            columns.count("as-of", before.as_ref() == Some(&fact.values[0].1));
        }
    }
}

/// Questions over two and three facts with current values that were all claimed.
async fn hops(columns: &mut Columns, heard: &Heard<'_>, answers: &Answers<'_>) {
    for chain in CHAINS {
        let relations: Vec<usize> = chain
            .iter()
            .map(|name| RELATIONS.iter().position(|it| it.name == *name).unwrap())
            .collect();
        for (begin, _) in heard
            .world
            .facts
            .keys()
            .filter(|(_, relation)| *relation == relations[0])
        {
            let truth = relations
                .iter()
                .try_fold(begin.clone(), |subject, relation| {
                    let fact = heard.world.facts.get(&(subject, *relation))?;
                    heard
                        .current(fact)
                        .filter(|it| heard.knows(fact, it))
                        .map(|(_, object)| object.clone())
                });
            let Some(truth) = truth else { continue };
            let mut answer = Some(begin.clone());
            for relation in &relations {
                let Some(subject) = answer else { break };
                answer = answers.ask(&subject, *relation, heard.now).await;
            }
            columns.count(
                if relations.len() == 2 {
                    "2 hops"
                } else {
                    "3 hops"
                },
                answer == Some(truth),
            );
        }
    }
}
