//! Questions in plain words, without names: their answers share no word with them, so that the
//! vectors of a real model alone can tell. Each is asked where its answer is held, and where
//! nothing but the others is. `THINKD_E5` names the model (see `planted_recall.rs`).

use thinkd::recall::view::View;

use super::by_model::Vectors;
use super::quality::held;
use kit::planted::world;

/// Questions, each with its answer.
const PAIRS: [(&str, &str); 24] = [
    (
        "How long should an egg boil?",
        "Four minutes in hot water leave the yolk soft.",
    ),
    (
        "Why is the sky red in the evening?",
        "At dusk the low sun shines through more air, which scatters blue light away.",
    ),
    (
        "What did the dentist recommend?",
        "She was told to brush her teeth for three minutes.",
    ),
    (
        "How much does the rent cost?",
        "The flat is eight hundred crowns a month.",
    ),
    (
        "Which team lost the final?",
        "The rowers from the north came second in the last race.",
    ),
    (
        "When is the garbage collected?",
        "The waste lorry comes each Thursday at dawn.",
    ),
    (
        "Who repaired the roof?",
        "A carpenter from the next village fixed the tiles.",
    ),
    (
        "What colour is the new car?",
        "The vehicle that was bought lately is dark green.",
    ),
    (
        "How many children does the neighbour have?",
        "The woman next door has two sons and a daughter.",
    ),
    (
        "What was the weather like on Sunday?",
        "It poured with rain for the whole weekend.",
    ),
    (
        "Where are the spare keys?",
        "A second set to unlock the door hangs behind the clock.",
    ),
    (
        "What is the password rule?",
        "Secrets to log in have at least twelve characters.",
    ),
    (
        "Why did the server stop?",
        "The machine went down since its disk was full.",
    ),
    (
        "Which medicine helps against the fever?",
        "The pills for a high temperature lie in the kitchen drawer.",
    ),
    (
        "How far is the airport?",
        "To where the planes leave it takes half an hour by bus.",
    ),
    (
        "Who takes care of the dog at night?",
        "The puppy sleeps at grandmother's place.",
    ),
    (
        "When does the shop close?",
        "After six o'clock nothing is sold any more.",
    ),
    (
        "What does the contract say about noise?",
        "Tenants agreed to keep quiet after ten.",
    ),
    (
        "How is bread made here?",
        "Flour, water and salt are kneaded and baked for an hour.",
    ),
    (
        "Which book did the teacher like most?",
        "The novel about whales was the favourite of our instructor.",
    ),
    ("What is wrong with the engine?", "The motor leaks oil."),
    (
        "Who paid for dinner?",
        "The bill in the restaurant was settled by my uncle.",
    ),
    (
        "Where can one swim in summer?",
        "The lake behind the forest is warm enough to bathe from June on.",
    ),
    (
        "How old is the bridge?",
        "The crossing over the river was built ninety years ago.",
    ),
];
/// Statements of another kind that are held beside them.
const BESIDE: usize = 1000;

#[tokio::test]
async fn plain_questions_are_answered_by_what_means_that_and_by_nothing_else() {
    let Some(vectors) = Vectors::e5().await else {
        return println!("{}", super::quality::NO_E5);
    };
    let (said, _) = world(1, BESIDE, 0);
    let beside = said.into_iter().map(|said| (said.text, Some(said.edge)));
    let answers = PAIRS.iter().map(|(_, answer)| ((*answer).to_owned(), None));
    let all: Vec<_> = answers
        .chain(beside)
        .zip(0..)
        .map(|((text, edge), number)| held(number, text, edge))
        .collect();
    let mut view = View::by_model();
    all.iter().for_each(|held| view.put(held.clone()));
    let meant = vectors
        .of(&mut view, &all, PAIRS.iter().map(|(question, _)| *question))
        .await;
    let mut found = 0;
    let mut nothing = 0;
    let mut wrong = 0;
    for (at, ((question, _), meant)) in PAIRS.iter().zip(&meant).enumerate() {
        found += usize::from(
            view.find_meant(question, meant.vector.as_ref(), 5)
                .iter()
                .any(|hit| hit.held.number == at as i64),
        );
        view.remove(&all[at].id);
        let others = view.find_meant(question, meant.vector.as_ref(), 5);
        nothing += usize::from(others.is_empty());
        wrong += others.len();
        view.put(all[at].clone());
        vectors.fill(&mut view).await;
    }
    let share = |count: usize| count as f64 / PAIRS.len() as f64;
    let found = share(found);
    let nothing = share(nothing);
    println!(
        "plain questions, e5-small: {found:.2} find their answer; without it {nothing:.2} find nothing ({wrong} hits)"
    );
    // By a model's own scale, and not by what stands out, a third found something where nothing was.
    assert!(found >= 0.6 && nothing >= 0.85, "{found} and {nothing}");
}
