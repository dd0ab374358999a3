//! How good recall is: recall@5 of each leg and of all together, on planted worlds, and on real passages where `THINKD_MULTIHOP` names the folder that has
//! them. `cargo test quality -- --nocapture` prints the table. With `THINKD_E5=http://…/v1`, an endpoint of e5-small, it is printed for its vectors, too.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use thinkd::event::statement::{Status, Triple, Valid};
use thinkd::recall::held::Held;
use thinkd::recall::meaning::Meant;
use thinkd::recall::view::View;

use super::by_model::Vectors;
use crate::support::planted::{Dice, Kind, Question, world};

/// Hits that count.
const BEST: usize = 5;
/// Samples of the bootstrap.
const SAMPLES: usize = 2000;

pub(super) fn held(number: i64, text: String, edge: Option<[String; 3]>) -> Held {
    let triple = edge.map(|[subject, relation, object]| Triple {
        subject,
        relation,
        object,
        single: false,
    });
    Held {
        id: number.to_string(),
        number,
        changed: number,
        text,
        triple,
        valid: Valid::default(),
        status: Status::Surviving,
        reflection_only: false,
        said_by: None,
    }
}

/// The share of the answers that are among the first.
fn recall(answers: &[usize], found: &[usize]) -> f64 {
    let hits = answers
        .iter()
        .filter(|answer| found.iter().take(BEST).any(|it| it == *answer))
        .count();
    hits as f64 / answers.len() as f64
}

/// What each leg, all legs together and recall find of a question: the last with what is below its threshold left out.
fn found(view: &View, question: &str, meant: &Meant) -> BTreeMap<&'static str, Vec<usize>> {
    let scored = view.scored(question, meant.vector.as_ref());
    let by = |score: &dyn Fn(&thinkd::recall::fusion::Scores) -> f32| {
        let mut all: Vec<(f32, usize)> = scored
            .iter()
            .map(|(held, it)| (score(it), held.number as usize))
            .collect();
        all.retain(|(score, _)| *score > 0.0);
        all.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        all.into_iter()
            .map(|(_, number)| number)
            .collect::<Vec<_>>()
    };
    let ours = view
        .find_meant(question, meant.vector.as_ref(), 50)
        .into_iter()
        .map(|hit| hit.held.number as usize)
        .collect();
    BTreeMap::from([
        ("1 words", by(&|it| it.words)),
        ("2 vectors", by(&|it| it.vectors.unwrap_or(0.0))),
        ("3 graph", by(&|it| it.graph.unwrap_or(0.0))),
        ("4 fused", by(&|it| it.fused())),
        ("5 recall", ours),
    ])
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The value below which the mean difference lies in 2.5 % of samples: above 0, one is better than the other.
fn lower_bound(one: &[f64], other: &[f64]) -> f64 {
    let differences: Vec<f64> = one
        .iter()
        .zip(other)
        .map(|(one, other)| one - other)
        .collect();
    let mut dice = Dice::new(7);
    let sample = |_| {
        mean(
            &(0..differences.len())
                .map(|_| differences[dice.below(differences.len())])
                .collect::<Vec<_>>(),
        )
    };
    let mut means: Vec<f64> = (0..SAMPLES).map(sample).collect();
    means.sort_by(f64::total_cmp);
    means[SAMPLES / 40]
}

/// What was measured.
struct Measured {
    legs: BTreeMap<&'static str, Vec<f64>>,
    abstained: f64,
}

impl Measured {
    fn of(leg: &str, view: &View, questions: &[Question]) -> Self {
        let meant: Vec<Meant> = questions.iter().map(|_| Meant::default()).collect();
        Self::of_meant(leg, view, questions, &meant)
    }

    fn of_meant(leg: &str, view: &View, questions: &[Question], meant: &[Meant]) -> Self {
        let (mut legs, mut kinds): (BTreeMap<_, Vec<f64>>, BTreeMap<_, Vec<f64>>) =
            Default::default();
        let (mut none, mut abstained) = (0, 0);
        for (question, meant) in questions.iter().zip(meant) {
            let found = found(view, &question.text, meant);
            if question.kind == Kind::None {
                none += 1;
                abstained += usize::from(found["5 recall"].is_empty());
                continue;
            }
            for (leg, found) in found {
                let score = recall(&question.answers, &found);
                legs.entry(leg).or_default().push(score);
                kinds.entry((question.kind, leg)).or_default().push(score);
            }
        }
        println!(
            "{leg}: {} statements, {} questions, recall@{BEST}",
            view.len(),
            questions.len()
        );
        kinds.iter().for_each(|((kind, leg), scores)| {
            println!("  {kind:<10?} {leg:<10} {:.3}", mean(scores))
        });
        legs.iter()
            .for_each(|(leg, scores)| println!("  all        {leg:<10} {:.3}", mean(scores)));
        let abstained = if none == 0 {
            1.0
        } else {
            f64::from(abstained as u32) / f64::from(none)
        };
        let measured = Self { legs, abstained };
        println!(
            "  above the best leg by at least {:.3} (97.5 %)",
            measured.above()
        );
        println!(
            "  abstains where nothing is known {abstained:.3}, loses by that {:.3}",
            measured.lost()
        );
        measured
    }

    fn legs_alone(&self) -> [&[f64]; 3] {
        ["1 words", "2 vectors", "3 graph"].map(|leg| self.legs[leg].as_slice())
    }

    /// By how much recall is at least better than the best leg.
    fn above(&self) -> f64 {
        let best = self
            .legs_alone()
            .into_iter()
            .max_by(|one, other| mean(one).total_cmp(&mean(other)))
            .unwrap();
        lower_bound(&self.legs["5 recall"], best)
    }

    /// What the threshold costs.
    fn lost(&self) -> f64 {
        mean(&self.legs["4 fused"]) - mean(&self.legs["5 recall"])
    }
}

fn planted(seed: u64, statements: usize, questions: usize) -> Measured {
    let (said, questions) = world(seed, statements, questions);
    let mut view = View::default();
    for (said, number) in said.into_iter().zip(0..) {
        view.put(held(number, said.text, Some(said.edge)));
    }
    Measured::of(&format!("planted, seed {seed}"), &view, &questions)
}

#[test]
fn recall_is_better_than_each_of_its_legs_and_abstains_where_nothing_is_known() {
    for seed in [1, 2] {
        let measured = planted(seed, 1000, 1000);
        assert!(
            measured.above() > 0.0,
            "above the best leg by at least {}",
            measured.above()
        );
        assert!(measured.abstained >= 0.95, "{}", measured.abstained);
        assert!(measured.lost() <= 0.02, "{}", measured.lost());
    }
}

fn lines(file: &Path) -> Vec<Value> {
    std::fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(super) const NO_E5: &str = "THINKD_E5 names no endpoint of e5-small: not measured with it";

#[tokio::test]
async fn with_the_vectors_of_a_real_model_recall_is_near_its_best_leg_on_planted_worlds() {
    // Nothing was tuned to the third one.
    for seed in [1, 2, 3] {
        let Some(vectors) = Vectors::e5().await else {
            return println!("{NO_E5}");
        };
        let (said, questions) = world(seed, 1000, 1000);
        let held: Vec<Held> = said
            .into_iter()
            .zip(0..)
            .map(|(said, number)| held(number, said.text, Some(said.edge)))
            .collect();
        let mut view = View::by_model();
        held.iter().for_each(|held| view.put(held.clone()));
        let meant = vectors
            .of(&mut view, &held, questions.iter().map(|it| &*it.text))
            .await;
        let measured = Measured::of_meant(
            &format!("planted, seed {seed}, e5-small"),
            &view,
            &questions,
            &meant,
        );
        // Questions about names that nothing has are answered by what means the same of others:
        // nothing but a capital tells a name, and a capital tells none.
        assert!(measured.above() > -0.05, "{}", measured.above());
        assert!(measured.lost() <= 0.02, "{}", measured.lost());
        // What is nearer than usual is told apart still.
        assert!(
            mean(&measured.legs["2 vectors"]) > 0.6,
            "{}",
            mean(&measured.legs["2 vectors"])
        );
    }
}

/// A passage is one statement here, which connects all names of its triples: the passages with these names, and the questions.
type Passages = (Vec<(Held, Vec<String>)>, [Vec<Question>; 2]);

fn passages() -> Option<Passages> {
    let Ok(folder) = std::env::var("THINKD_MULTIHOP") else {
        println!(
            "THINKD_MULTIHOP names no folder with passages.ndjson and questions.ndjson: not measured"
        );
        return None;
    };
    let folder = Path::new(&folder);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let passage = |passage: Value| {
        let triples = passage["triples"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_array);
        let names = triples
            .filter(|it| it.len() == 3)
            .flat_map(|it| [word(&it[0]), word(&it[2])])
            .collect();
        let text = format!("{} {}", word(&passage["title"]), word(&passage["text"]));
        (held(passage["id"].as_i64().unwrap(), text, None), names)
    };
    let question = |it: &Value| Question {
        text: word(&it["question"]),
        kind: Kind::MultiHop,
        answers: it["supporting"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_u64().unwrap() as usize)
            .collect(),
    };
    let passages = lines(&folder.join("passages.ndjson"))
        .into_iter()
        .map(passage)
        .collect();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/multihop.jsonl");
    let [theirs, ours] = [folder.join("questions.ndjson"), own]
        .map(|file| lines(&file).iter().map(question).collect());
    Some((passages, [theirs, ours]))
}

fn put(view: &mut View, passages: &[(Held, Vec<String>)]) {
    for (held, names) in passages {
        view.put_named(
            held.clone(),
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    }
}

#[test]
fn recall_on_real_questions_of_several_steps() {
    let Some((passages, [theirs, ours])) = passages() else {
        return;
    };
    let mut view = View::default();
    put(&mut view, &passages);
    Measured::of("passages, the published questions", &view, &theirs);
    Measured::of("passages, questions of our own", &view, &ours);
    let both = theirs.into_iter().chain(ours).collect::<Vec<_>>();
    let measured = Measured::of("passages, both", &view, &both);
    // Without vectors it is not told from words: a hundredth is a question.
    let [recall, words] = ["5 recall", "1 words"].map(|leg| mean(&measured.legs[leg]));
    assert!(recall > words - 0.01, "{recall} and {words}");
}

#[tokio::test]
async fn recall_on_real_questions_of_several_steps_with_the_vectors_of_a_real_model() {
    let Some((passages, [theirs, ours])) = passages() else {
        return;
    };
    let questions = theirs.into_iter().chain(ours).collect::<Vec<_>>();
    let Some(vectors) = Vectors::e5().await else {
        return println!("{NO_E5}");
    };
    let mut view = View::by_model();
    put(&mut view, &passages);
    let held: Vec<Held> = passages.into_iter().map(|(held, _)| held).collect();
    let meant = vectors
        .of(&mut view, &held, questions.iter().map(|it| &*it.text))
        .await;
    let measured = Measured::of_meant("passages, e5-small", &view, &questions, &meant);
    assert!(mean(&measured.legs["5 recall"]) > mean(&measured.legs["1 words"]));
}
