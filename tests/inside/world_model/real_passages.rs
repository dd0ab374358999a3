//! Recall on real passages, where `THINKD_MULTIHOP` names the folder that has them, with published
//! questions of several steps and some of our own (`tests/data/multihop.jsonl`).

use std::path::Path;

use serde_json::Value;
use thinkd::recall::held::Held;
use thinkd::recall::view::View;

use super::by_model::Vectors;
use super::quality::{Measured, NO_E5, held, mean};
use kit::planted::{Kind, Question};

fn lines(file: &Path) -> Vec<Value> {
    std::fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
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
    let own = Path::new(kit::ROOT).join("tests/data/multihop.jsonl");
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
