//! A planted world for recall: statements about people, places and firms from a seed, and questions
//! with known answers. Nothing of it is random.

#![allow(dead_code, reason = "the bench asks, and compares nothing")]

/// A number after the other, from a seed (splitmix64).
pub struct Dice(u64);

impl Dice {
    /// The dice of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ (it >> 31)
    }

    /// A number below another one.
    pub fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).unwrap()
    }

    /// One of these.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.below(all.len());
        &all[at]
    }
}

/// The kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// With the words of the statement.
    Lexical,
    /// With the name, and other words.
    Paraphrase,
    /// Needs two statements, and names the subject of one of them.
    MultiHop,
    /// Nothing is known of it; half of these ask for a known relation of an unknown name.
    None,
}

/// A question, and the positions of the statements that answer it.
pub struct Question {
    pub text: String,
    pub kind: Kind,
    pub answers: Vec<usize>,
}

/// A statement: its text, and its edge.
pub struct Said {
    pub text: String,
    pub edge: [String; 3],
}

/// A relation: its name, the kinds of its two ends, its sentences, its question in the same words,
/// and its questions in others.
struct Relation {
    name: &'static str,
    ends: [usize; 2],
    said: [&'static str; 2],
    asked: &'static str,
    paraphrased: [&'static str; 2],
}

const PERSON: usize = 0;
const CITY: usize = 1;
const FIRM: usize = 2;

const RELATIONS: [Relation; 5] = [
    Relation {
        name: "lives in",
        ends: [PERSON, CITY],
        said: ["{s} lives in {o}.", "The home of {s} is in {o}."],
        asked: "Where does {s} live?",
        paraphrased: [
            "In which town does {s} reside?",
            "What is the place of residence of {s}?",
        ],
    },
    Relation {
        name: "works for",
        ends: [PERSON, FIRM],
        said: ["{s} works for {o}.", "{o} employs {s}."],
        asked: "Whom does {s} work for?",
        paraphrased: [
            "Who is the boss of {s}?",
            "At which company does {s} earn money?",
        ],
    },
    Relation {
        name: "mayor",
        ends: [CITY, PERSON],
        said: ["The mayor of {s} is {o}.", "{s} has {o} as its mayor."],
        asked: "Who is the mayor of {s}?",
        paraphrased: [
            "Who governs {s}?",
            "Which politician heads the council of {s}?",
        ],
    },
    Relation {
        name: "based in",
        ends: [FIRM, CITY],
        said: [
            "{s} is based in {o}.",
            "The headquarters of {s} are in {o}.",
        ],
        asked: "Where is {s} based?",
        paraphrased: [
            "In which city is the main office of {s}?",
            "Where does {s} have its seat?",
        ],
    },
    Relation {
        name: "founded by",
        ends: [FIRM, PERSON],
        said: ["{s} was founded by {o}.", "The founder of {s} is {o}."],
        asked: "Who founded {s}?",
        paraphrased: ["Who set up {s}?", "Who started {s}?"],
    },
];

/// Two relations in a row, and the question for both.
const HOPS: [(&str, &str, &str); 4] = [
    (
        "lives in",
        "mayor",
        "Who is the mayor of the city where {s} lives?",
    ),
    (
        "works for",
        "based in",
        "Where is the company that {s} works for based?",
    ),
    (
        "works for",
        "founded by",
        "Who founded the company that {s} works for?",
    ),
    (
        "based in",
        "mayor",
        "Who is the mayor of the city where {s} is based?",
    ),
];

const ELSE: [&str; 5] = [
    "How deep is the {s} trench?",
    "When did the {s} dynasty end?",
    "Who painted the ceiling of {s}?",
    "What is the boiling point of {s}?",
    "Which instrument does {s} play?",
];

const SYLLABLES: [&str; 20] = [
    "ka", "ro", "mi", "ten", "bal", "dor", "vi", "sel", "nu", "par", "gre", "lo", "than", "mer",
    "isk", "ola", "fen", "tri", "zu", "har",
];
const FIRMS: [&str; 4] = ["Works", "Lines", "Foods", "Optics"];

fn word(dice: &mut Dice, syllables: usize) -> String {
    let word: String = (0..syllables).map(|_| *dice.of(&SYLLABLES)).collect();
    word[..1].to_uppercase() + &word[1..]
}

fn name(dice: &mut Dice, kind: usize) -> String {
    let syllables = 2 + dice.below(2);
    match kind {
        PERSON => format!("{} {}", word(dice, 2), word(dice, 2)),
        CITY => word(dice, syllables),
        _ => format!("{} {}", word(dice, syllables), dice.of(&FIRMS)),
    }
}

/// A name like those that there are, which nothing is known of: every word of it is one letter off.
fn near(dice: &mut Dice, names: &[String]) -> String {
    let name = dice.of(names).clone();
    let letter = *dice.of(&['x', 'q', 'w', 'y']);
    let off = |word: &str| match FIRMS.contains(&word) {
        true => word.to_owned(),
        false => format!("{}{letter}{}", &word[..2], &word[2..]),
    };
    name.split(' ').map(off).collect::<Vec<_>>().join(" ")
}

/// So many statements and so many questions.
pub fn world(seed: u64, statements: usize, questions: usize) -> (Vec<Said>, Vec<Question>) {
    let mut dice = Dice::new(seed);
    let share = |percent: usize| (statements * percent / 100).max(5);
    let names = [(PERSON, share(60)), (CITY, share(20)), (FIRM, share(30))].map(|(kind, count)| {
        let mut names: Vec<String> = (0..count).map(|_| name(&mut dice, kind)).collect();
        names.sort();
        names.dedup();
        names
    });
    let mut facts: std::collections::BTreeMap<(String, &str), (usize, String)> = Default::default();
    let mut said = Vec::new();
    while said.len() < statements {
        let relation = dice.of(&RELATIONS);
        let [s, o] = relation.ends.map(|kind| dice.of(&names[kind]).clone());
        if facts.contains_key(&(s.clone(), relation.name)) {
            continue;
        }
        let text = dice
            .of(&relation.said)
            .replace("{s}", &s)
            .replace("{o}", &o);
        facts.insert((s.clone(), relation.name), (said.len(), o.clone()));
        said.push(Said {
            text,
            edge: [s, relation.name.to_owned(), o],
        });
    }
    let mut asked = Vec::new();
    while asked.len() < questions {
        let kind = [Kind::Lexical, Kind::Paraphrase, Kind::MultiHop, Kind::None][asked.len() % 4];
        let at = dice.below(said.len());
        let [s, relation, o] = &said[at].edge;
        let of = RELATIONS.iter().find(|it| it.name == relation).unwrap();
        let (text, s, answers) = match kind {
            Kind::Lexical => (of.asked, s.clone(), vec![at]),
            Kind::Paraphrase => (*dice.of(&of.paraphrased), s.clone(), vec![at]),
            Kind::None if dice.below(2) == 0 => {
                (*dice.of(&ELSE), near(&mut dice, &names[CITY]), Vec::new())
            }
            Kind::None => (of.asked, near(&mut dice, &names[of.ends[0]]), Vec::new()),
            Kind::MultiHop => {
                let next = |(first, then, text): &(&str, &str, &'static str)| {
                    let (second, _) = facts
                        .get(&(o.clone(), *then))
                        .filter(|_| first == relation)?;
                    Some((*text, *second))
                };
                let all: Vec<_> = HOPS.iter().filter_map(next).collect();
                if all.is_empty() {
                    continue;
                }
                let (text, second) = *dice.of(&all);
                (text, s.clone(), vec![at, second])
            }
        };
        asked.push(Question {
            text: text.replace("{s}", &s),
            kind,
            answers,
        });
    }
    (said, asked)
}
