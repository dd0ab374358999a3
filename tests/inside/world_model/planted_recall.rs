//! Recall on planted worlds: better than each leg, and silent where nothing is held. With
//! `THINKD_E5=http://…/v1`, an endpoint of e5-small, it is measured with its vectors, too.

use thinkd::recall::held::Held;
use thinkd::recall::view::View;

use super::by_model::Vectors;
use super::quality::{Measured, NO_E5, held, mean};
use kit::planted::world;

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
