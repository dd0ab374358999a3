//! One of each fact of statements and trials, for the documents and the tests.

use super::Trials;
use crate::draft::Draft;
use crate::statement::{
    Answer, Claim, Claimant, Derived, Instrument, Judged, Outcome, Prediction, Reading, Source,
    Status, Triple, Valid,
};
use crate::trial::News;
use thinkd_words::id::ThreadId;
use thinkd_words::time::Timestamp;

/// One of each, for the documents and the tests.
pub(in crate::fact) fn examples(thread: &ThreadId) -> Vec<Draft> {
    let id = "0193b6c2-7c2e-7aaa-8000-0123456789ab";
    let source = Source {
        by: Claimant::User {
            name: Some("ann".into()),
        },
        seqs: vec![41],
        quote: None,
        word: false,
    };
    let claim = Claim {
        text: "The library opens at nine.".into(),
        source: source.clone(),
        premises: Vec::new(),
        root: None,
    };
    let prediction = Prediction {
        text: "Who comes at half past nine finds the door open.".into(),
        fails_if: "the door is locked at half past nine".into(),
        search: Some("library opening hours".into()),
        code: None,
        question: None,
        instrument: Instrument::Knowledge,
        reason: "an experiment comes before reflection, and knowledge is the first that can say it"
            .into(),
    };
    let triple = Triple {
        subject: "library".into(),
        relation: "opens at".into(),
        object: "nine".into(),
        single: true,
    };
    let valid = Valid::default();
    let derived = Derived {
        triple: Some(triple),
        valid,
        predictions: vec![prediction.clone()],
        rejected: Vec::new(),
    };
    let reading = Reading {
        answer: Answer::Yes,
        note: "the page gives the hours".into(),
        quote: Some("Open from 9 to 5".into()),
        source: Some("https://library.example/hours".into()),
        ..Reading::begun(0, Instrument::Knowledge, prediction.reason)
    };
    let reason = "its prediction was not refuted".into();
    let judged = Judged {
        carried: vec![Instrument::Knowledge],
        survived: 1,
        tried: true,
        available: vec![Instrument::Knowledge],
        testable: Some(vec![Instrument::Knowledge]),
        ..Judged::of(Outcome::Is(Status::Surviving), reason, valid)
    };
    vec![
        Draft::statement(thread, id, News::Claimed(claim)),
        Draft::statement(thread, id, News::Derived(derived)),
        Draft::statement(thread, id, News::Read(reading)),
        Draft::statement(thread, id, News::Judged(judged)),
        Draft::statement_sourced(thread, id, vec![source]),
        Draft::statement_grounded(
            thread,
            id,
            vec!["0193b6c1-11aa-7bbb-8000-0123456789ab".into()],
        ),
        Draft::trials(Trials::Due),
        Draft::trials(Trials::Rested {
            handled: 120,
            told: Some(118),
        }),
        Draft::trials(Trials::Spent(Timestamp::from_micros(1_767_225_600_000_000))),
    ]
}
