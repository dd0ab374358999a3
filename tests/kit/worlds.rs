//! A planted world: facts that change from year to year, and claims about them from sources that
//! err, lie, repeat themselves, come late and give orders. Everything comes from a seed. The truth
//! is known here and behind the door of the instrument (`worlds/door.rs`); the model
//! (`worlds/model.rs`) reads only the messages that it is sent.
#![allow(dead_code, reason = "the test and the bench each use a part")]

use std::collections::{BTreeMap, BTreeSet};

use super::planted::Dice;

#[path = "worlds/door.rs"]
pub mod door;
#[path = "worlds/formula.rs"]
pub mod formula;
#[path = "worlds/model.rs"]
pub mod model;
#[path = "worlds/run.rs"]
pub mod run;

/// The year of the first claims; each batch of claims is a year.
pub const FIRST_YEAR: u32 = 2010;
/// Of 100 facts so many change once, in a year of the claims.
const CHANGING: usize = 40;
/// Of 100 claims so many say something again, give orders, or tell a former value.
const AGAIN: usize = 8;
const ORDERS: usize = 4;
const LATE: usize = 8;
/// Of 100 claims about a fact that the chorus lies about so many are its lie.
const CHORUS: usize = 80;
/// Of 100 claims so many use an alias of the subject.
const ALIASED: usize = 10;

/// A relation: its name, its two ends, whether a subject has one object at a time, and three ways
/// to say it.
pub struct Relation {
    /// Its name.
    pub name: &'static str,
    ends: [usize; 2],
    /// Set where a subject has one object at a time.
    pub single: bool,
    /// Its three sentences: `{s}`, `{o}`, `{y}`.
    pub said: [&'static str; 3],
}

const PERSON: usize = 0;
const CITY: usize = 1;
const FIRM: usize = 2;

/// All relations.
pub const RELATIONS: [Relation; 6] = [
    Relation {
        name: "lives in",
        ends: [PERSON, CITY],
        single: true,
        said: [
            "Since {y} {s} lives in {o}.",
            "{s} has had a home in {o} since {y}.",
            "{o} has been the home of {s} since {y}.",
        ],
    },
    Relation {
        name: "works for",
        ends: [PERSON, FIRM],
        single: true,
        said: [
            "Since {y} {s} works for {o}.",
            "{s} has been employed by {o} since {y}.",
            "{o} has been the employer of {s} since {y}.",
        ],
    },
    Relation {
        name: "mayor",
        ends: [CITY, PERSON],
        single: true,
        said: [
            "Since {y} the mayor of {s} is {o}.",
            "{s} has been governed by {o} since {y}.",
            "{o} has been in charge of {s} since {y}.",
        ],
    },
    Relation {
        name: "based in",
        ends: [FIRM, CITY],
        single: true,
        said: [
            "Since {y} the headquarters of {s} are in {o}.",
            "{s} has been based in {o} since {y}.",
            "{o} has been the seat of {s} since {y}.",
        ],
    },
    Relation {
        name: "supplies",
        ends: [FIRM, FIRM],
        single: false,
        said: [
            "Since {y} {s} supplies {o}.",
            "{s} has sold parts to {o} since {y}.",
            "{o} has been a customer of {s} since {y}.",
        ],
    },
    Relation {
        name: "twinned with",
        ends: [CITY, CITY],
        single: false,
        said: [
            "Since {y} {s} is twinned with {o}.",
            "{s} has been a partner town of {o} since {y}.",
            "{o} has had {s} as a partner town since {y}.",
        ],
    },
];

/// A claim about a subject, under the name that was used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// Its subject.
    pub subject: String,
    /// Its index in `RELATIONS`.
    pub relation: usize,
    /// The object that is claimed.
    pub object: String,
    /// Since when.
    pub from: u32,
}

impl Claim {
    /// In words: one of three ways.
    pub fn text(&self, way: usize) -> String {
        let words = RELATIONS[self.relation].said[way];
        words
            .replace("{s}", &self.subject)
            .replace("{o}", &self.object)
            .replace("{y}", &self.from.to_string())
    }
}

/// The speaker of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// A source that is right in so many of 100 cases.
    Source(usize),
    /// Liars that all say the same.
    Chorus,
    /// A speaker of a former value.
    Late,
    /// A speaker that repeats an earlier claim.
    Again,
    /// A speaker that gives orders to the model, beside a false claim or without one.
    Order,
}

/// A claim of the stream; none: an order, and nothing claimed.
#[derive(Debug, Clone)]
pub struct Said {
    /// The words.
    pub text: String,
    /// The speaker.
    pub by: By,
    /// The claim, if there is one.
    pub claim: Option<Claim>,
}

/// A subject's objects of one relation: since when each. Of a single-valued relation each ends the one before.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Its subject.
    pub subject: String,
    /// Its index in `RELATIONS`.
    pub relation: usize,
    /// The objects, each with the year of its beginning; the oldest first.
    pub values: Vec<(u32, String)>,
    /// The object that the chorus claims.
    pub lie: Option<String>,
}

/// The truth of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truth {
    /// True.
    So,
    /// False, now and before.
    Not,
    /// True until this year, when this value came.
    Until(u32, String),
}

/// See the module.
pub struct World {
    /// The seed.
    pub seed: u64,
    /// The true facts, by subject and relation.
    pub facts: BTreeMap<(String, usize), Fact>,
    /// Other names, each with its subject.
    pub aliases: BTreeMap<String, String>,
    /// The claims of each year.
    pub years: Vec<Vec<Said>>,
}

impl World {
    /// A world of so many claims in so many years.
    pub fn new(seed: u64, claims: usize, years: usize) -> Self {
        Self::with_chorus(seed, claims, years, true)
    }

    /// The same with or without the chorus of liars.
    pub fn with_chorus(seed: u64, claims: usize, years: usize, chorus: bool) -> Self {
        let mut dice = Dice::new(seed);
        let names = names(&mut dice, claims);
        let mut world = Self {
            seed,
            facts: facts(&mut dice, &names, claims / 6, years),
            aliases: BTreeMap::new(),
            years: Vec::new(),
        };
        for (subject, _) in world.facts.keys() {
            // `Alda Kormi` is `A. Kormi`, unless that is two people.
            let alias = format!(
                "{}. {}",
                &subject[..1],
                subject.split(' ').next_back().unwrap_or_default()
            );
            if subject.contains(' ')
                && world
                    .aliases
                    .get(&alias)
                    .is_none_or(|other| other == subject)
            {
                world.aliases.insert(alias, subject.clone());
            }
        }
        world
            .facts
            .values_mut()
            .for_each(|fact| fact.lie = fact.lie.take().filter(|_| chorus));
        let all: Vec<Fact> = world.facts.values().cloned().collect();
        let mut said: Vec<Said> = Vec::new();
        for year in 0..years {
            let now = FIRST_YEAR + u32::try_from(year).unwrap();
            let batch = (0..claims / years).map(|_| {
                let next = next(&mut dice, &all, &names, &said, now);
                said.push(next.clone());
                next
            });
            let batch = batch.collect();
            world.years.push(batch);
        }
        world
    }

    /// Returns the truth of a claim in a year. Other names of a subject are known here.
    pub fn truth(&self, claim: &Claim, now: u32) -> Truth {
        let subject = self.whose(&claim.subject).to_owned();
        let Some(fact) = self.facts.get(&(subject, claim.relation)) else {
            return Truth::Not;
        };
        let known: Vec<&(u32, String)> = fact
            .values
            .iter()
            .filter(|(from, _)| *from <= now)
            .collect();
        let Some(at) = known
            .iter()
            .position(|(from, object)| (*from, object) == (claim.from, &claim.object))
        else {
            return Truth::Not;
        };
        match known
            .get(at + 1)
            .filter(|_| RELATIONS[claim.relation].single)
        {
            Some((from, object)) => Truth::Until(*from, object.clone()),
            None => Truth::So,
        }
    }
}

impl World {
    /// Returns the subject of a name.
    pub fn whose<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }
}

type Names = [Vec<String>; 3];

fn word(dice: &mut Dice, syllables: usize) -> String {
    const SYLLABLES: [&str; 24] = [
        "ka", "ro", "mi", "ten", "bal", "dor", "vi", "sel", "nu", "par", "gre", "lo", "than",
        "mer", "isk", "ola", "fen", "tri", "zu", "har", "bru", "len", "gos", "wim",
    ];
    let word: String = (0..syllables).map(|_| *dice.of(&SYLLABLES)).collect();
    word[..1].to_uppercase() + &word[1..]
}

/// Names of people, cities, firms; every tenth is one letter off another one.
fn names(dice: &mut Dice, claims: usize) -> Names {
    let share = |of: usize| (claims / of).max(12);
    [(PERSON, share(10)), (CITY, share(20)), (FIRM, share(20))].map(|(kind, count)| {
        let mut all = BTreeSet::new();
        while all.len() < count {
            let name = match kind {
                PERSON => format!("{} {}", word(dice, 2), word(dice, 3)),
                CITY => word(dice, 3),
                _ => format!(
                    "{} {}",
                    word(dice, 2),
                    dice.of(&["Works", "Lines", "Foods", "Optics"])
                ),
            };
            if all.len() % 10 == 9 {
                all.insert(format!("{}y{}", &name[..1], &name[2..]));
            }
            all.insert(name);
        }
        all.into_iter().collect()
    })
}

fn facts(
    dice: &mut Dice,
    names: &Names,
    count: usize,
    years: usize,
) -> BTreeMap<(String, usize), Fact> {
    let mut facts = BTreeMap::new();
    while facts.len() < count {
        let relation = dice.below(RELATIONS.len());
        let Relation { ends, single, .. } = &RELATIONS[relation];
        let subject = dice.of(&names[ends[0]]).clone();
        if facts.contains_key(&(subject.clone(), relation)) {
            continue;
        }
        let number = match single {
            true => 1 + usize::from(dice.below(100) < CHANGING),
            false => 1 + dice.below(3),
        };
        let mut values: Vec<(u32, String)> = Vec::new();
        while values.len() < number {
            let object = dice.of(&names[ends[1]]).clone();
            let is_free = object != subject && values.iter().all(|(_, it)| *it != object);
            let from = match values.len() {
                1 if *single => {
                    FIRST_YEAR + 1 + u32::try_from(dice.below(years.max(2) - 1)).unwrap()
                }
                _ => FIRST_YEAR - 10 + u32::try_from(dice.below(10)).unwrap(),
            };
            values.extend(is_free.then_some((from, object)));
        }
        values.sort();
        let fact = Fact {
            subject: subject.clone(),
            relation,
            values,
            lie: None,
        };
        let lie = (dice.below(3) == 0).then(|| wrong(dice, names, &fact));
        facts.insert((subject, relation), Fact { lie, ..fact });
    }
    facts
}

/// An object that the fact never has.
fn wrong(dice: &mut Dice, names: &Names, fact: &Fact) -> String {
    loop {
        let object = dice.of(&names[RELATIONS[fact.relation].ends[1]]);
        if *object != fact.subject && fact.values.iter().all(|(_, it)| it != object) {
            return object.clone();
        }
    }
}

/// The next claim of the stream.
fn next(dice: &mut Dice, facts: &[Fact], names: &Names, said: &[Said], now: u32) -> Said {
    let kind = dice.below(100);
    if kind < AGAIN && !said.is_empty() {
        return Said {
            by: By::Again,
            ..dice.of(said).clone()
        };
    }
    let fact = dice.of(facts);
    let known: Vec<&(u32, String)> = fact
        .values
        .iter()
        .filter(|(from, _)| *from <= now)
        .collect();
    let current = if RELATIONS[fact.relation].single {
        known[known.len() - 1]
    } else {
        *dice.of(&known)
    };
    let claim = |from: u32, object: &str| Claim {
        subject: fact.subject.clone(),
        relation: fact.relation,
        object: object.to_owned(),
        from,
    };
    if kind < AGAIN + ORDERS {
        let false_one = claim(current.0, &wrong(dice, names, fact));
        return ordered(dice, false_one);
    }
    let (by, mut claim) =
        if kind < AGAIN + ORDERS + LATE && RELATIONS[fact.relation].single && known.len() > 1 {
            (By::Late, claim(known[0].0, &known[0].1))
        } else if let Some(lie) = fact.lie.as_ref().filter(|_| dice.below(100) < CHORUS) {
            // All liars name the year in which the oldest value began.
            (By::Chorus, claim(known[0].0, lie))
        } else {
            let right = *dice.of(&[95, 80, 50]);
            let object = if dice.below(100) < right {
                current.1.clone()
            } else {
                wrong(dice, names, fact)
            };
            (By::Source(right), claim(current.0, &object))
        };
    let text = claim.text(dice.below(3));
    let alias = format!(
        "{}. {}",
        &fact.subject[..1],
        fact.subject.split(' ').next_back().unwrap_or_default()
    );
    if fact.subject.contains(' ')
        && dice.below(100) < ALIASED
        && !matches!(RELATIONS[fact.relation].ends[0], FIRM)
    {
        claim.subject = alias;
        return Said {
            text: claim.text(dice.below(3)),
            by,
            claim: Some(claim),
        };
    }
    Said {
        text,
        by,
        claim: Some(claim),
    }
}

/// Orders to the model, half of them with a false claim.
fn ordered(dice: &mut Dice, claim: Claim) -> Said {
    let order = *dice.of(&model::ORDERS);
    match dice.below(2) {
        0 => Said {
            text: format!("{order} {}", dice.below(1_000_000)),
            by: By::Order,
            claim: None,
        },
        _ => Said {
            text: format!("{}\n{order}", claim.text(dice.below(3))),
            by: By::Order,
            claim: Some(claim),
        },
    }
}
