//! Memories that need no trial, on the same stream: common designs, and an oracle. All take claims
//! apart by the same words as the model of ours does.

use std::collections::{BTreeMap, BTreeSet};

use crate::planted_worlds::{Claim, RELATIONS, Said, Truth, World, model};

/// From this likeness on a judge takes two statements to be about the same.
const ALIKE: f64 = 0.6;

/// The kind of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rival {
    KeepAll,
    LastWrite,
    Majority,
    Similarity,
    Oracle,
}

impl Rival {
    pub const ALL: [(&str, Self); 5] = [
        ("keep all", Self::KeepAll),
        ("last write wins", Self::LastWrite),
        ("majority", Self::Majority),
        ("judge by similarity", Self::Similarity),
        ("oracle", Self::Oracle),
    ];

    /// Calls to a model for one claim: one takes it apart, a judge compares.
    pub fn calls(self) -> usize {
        if self == Self::Similarity { 2 } else { 1 }
    }
}

/// A statement that is held to be so, and until when, if an end of it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub claim: Claim,
    pub to: Option<u32>,
}

/// The statements of a memory after a stream, and the number of true ones it lost on the way.
#[derive(Default)]
pub struct Memory {
    pub held: Vec<Held>,
    pub lost: usize,
}

impl Memory {
    /// Returns a rival's memory of a world's claims.
    pub fn of(rival: Rival, world: &World) -> Self {
        let mut memory = Self::default();
        let mut votes = BTreeMap::new();
        for (now, batch) in (crate::planted_worlds::FIRST_YEAR..).zip(&world.years) {
            let before = memory.held.clone();
            for said in batch {
                memory.hear(rival, said, world, &mut votes);
            }
            if rival == Rival::Majority {
                memory.held = elected(&votes);
            }
            if rival == Rival::Oracle {
                for held in &mut memory.held {
                    held.to = match world.truth(&held.claim, now) {
                        Truth::Until(to, _) => Some(to),
                        _ => None,
                    };
                }
            }
            let is_lost =
                |it: &&Held| world.truth(&it.claim, now) == Truth::So && !memory.held.contains(it);
            memory.lost += before.iter().filter(is_lost).count();
        }
        memory
    }

    fn hear(
        &mut self,
        rival: Rival,
        said: &Said,
        world: &World,
        votes: &mut BTreeMap<Claim, usize>,
    ) {
        // An order with a claim in its first line is that claim; one without is nothing.
        let Some(claim) = model::claimed(&said.text) else {
            return;
        };
        let is_single = RELATIONS[claim.relation].single;
        let is_known = |held: &[Held]| held.iter().any(|it| it.claim == claim);
        match rival {
            Rival::KeepAll => {}
            Rival::LastWrite if is_single => {
                self.held.retain(|it| {
                    (&it.claim.subject, it.claim.relation) != (&claim.subject, claim.relation)
                });
            }
            Rival::LastWrite => self.held.retain(|it| it.claim != claim),
            Rival::Majority => {
                *votes.entry(claim).or_default() += 1;
                return;
            }
            Rival::Similarity => {
                let letters = trigrams(&claim);
                let is_alike = |it: &Held| {
                    it.claim.relation == claim.relation
                        && likeness(&letters, &trigrams(&it.claim)) >= ALIKE
                };
                self.held.retain(|it| !is_alike(it));
            }
            Rival::Oracle if is_known(&self.held) => return,
            Rival::Oracle => {
                let last =
                    crate::planted_worlds::FIRST_YEAR + u32::try_from(world.years.len()).unwrap();
                if world.truth(&claim, last) == Truth::Not {
                    return;
                }
            }
        }
        self.held.push(Held { claim, to: None });
    }

    /// Returns the object of a subject and a relation at a time: of a single-valued relation the
    /// one that began last, and of those the last in the stream.
    pub fn answer(&self, subject: &str, relation: usize, at: u32) -> Option<String> {
        let is_it = |it: &&Held| it.claim.subject == subject && it.claim.relation == relation;
        let is_then = |it: &&Held| it.claim.from <= at && it.to.is_none_or(|to| at < to);
        let last = self
            .held
            .iter()
            .filter(is_it)
            .filter(is_then)
            .max_by_key(|it| it.claim.from);
        last.map(|it| it.claim.object.clone())
    }
}

/// Returns the majority's claims: of a single-valued relation one object, of another one all that
/// have half of the votes of the first.
fn elected(votes: &BTreeMap<Claim, usize>) -> Vec<Held> {
    let mut of: BTreeMap<(&str, usize), Vec<(&Claim, usize)>> = BTreeMap::new();
    for (claim, count) in votes {
        of.entry((&claim.subject, claim.relation))
            .or_default()
            .push((claim, *count));
    }
    let elect = |((_, relation), all): ((&str, usize), Vec<(&Claim, usize)>)| {
        let most = all.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let need = if RELATIONS[relation].single {
            most
        } else {
            most.div_ceil(2)
        };
        let take = if RELATIONS[relation].single {
            1
        } else {
            all.len()
        };
        let elected = all
            .into_iter()
            .filter(move |(_, count)| *count >= need)
            .take(take);
        elected
            .map(|(claim, _)| Held {
                claim: claim.clone(),
                to: None,
            })
            .collect::<Vec<_>>()
    };
    of.into_iter().flat_map(elect).collect()
}

fn trigrams(claim: &Claim) -> BTreeSet<[u8; 3]> {
    let text = format!(
        "{} {} {}",
        claim.subject, RELATIONS[claim.relation].name, claim.object
    )
    .to_lowercase();
    text.as_bytes()
        .windows(3)
        .map(|it| [it[0], it[1], it[2]])
        .collect()
}

fn likeness(one: &BTreeSet<[u8; 3]>, other: &BTreeSet<[u8; 3]>) -> f64 {
    let both = one.intersection(other).count();
    both as f64 / (one.len() + other.len() - both) as f64
}
