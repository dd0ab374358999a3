//! The cost of a statement: one call derives, each reading is one, and the instrument of a reading
//! is chosen by rule.

use super::*;

const CLAIM: &str = "The library opens at nine.";
const QUOTE: Option<&str> = Some("Open from 9 to 5, every day");

fn yes() -> Answer {
    weighs("supports", QUOTE)
}

/// The calls that a statement with two predictions takes until it survives, where these are the readings.
async fn calls(medium: Medium, two_of_three: bool, readings: Vec<Answer>) -> usize {
    let stub = Stub::start().await;
    let count = readings.len();
    let mut both = derived(
        None,
        true,
        &[
            "the door is open at half past nine",
            "nobody is let in at eight",
        ],
    );
    (0..2).for_each(|at| {
        both["predictions"][at]["search"] = json!(format!("library opening hours {at}"))
    });
    stub.on(deriving, call("derive", both));
    stub.script(weighing, readings);
    let library = Library::of(&[(
        "https://b.example/hours",
        "Open from 9 to 5, every day but Sunday.",
    )])
    .await;
    let setup = setup(medium, &stub, &library, "").env("THINKD_MEMORY__TWO_OF_THREE", two_of_three);
    let app = setup.start().await;
    let id = tried(&app, CLAIM, "surviving").await;
    let it = statement(&app, &id).await;
    let read = it["predictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["readings"].as_array().unwrap().len());
    assert_eq!(read.sum::<usize>(), count, "each is in the record: {it}");
    assert_eq!(stub.count(any), stub.count(trial), "nothing else is asked");
    stub.count(any)
}

on_sqlite!(
    d1_an_accepted_statement_takes_one_call_and_one_for_each_reading,
    |medium| {
        let once = calls(medium, false, vec![yes(), yes()]).await;
        assert_eq!(once, 3, "at most 4 are allowed");
    }
);

on_sqlite!(
    d1_with_two_of_three_readings_an_accepted_statement_takes_five_calls,
    |medium| {
        assert_eq!(
            calls(medium, true, vec![yes(), yes(), yes(), yes()]).await,
            5
        );
    }
);

on_sqlite!(
    d1_with_two_of_three_readings_that_differ_an_accepted_statement_takes_seven_calls,
    |medium| {
        let no = || weighs("refutes", QUOTE);
        // As many as there can be: no two are alike before the third.
        assert_eq!(
            calls(medium, true, vec![yes(), no(), yes(), no(), yes(), yes()]).await,
            7
        );
    }
);
