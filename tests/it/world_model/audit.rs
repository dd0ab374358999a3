//! The audit: faults and doubts in a memory are told, page by page, and nothing is changed by it.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use thinkd_event::draft::Draft;
use thinkd_event::statement::{Claim, Claimant, Judged, Source};
use thinkd_event::trial::News;
use thinkd_log::appended::Append;
use thinkd_log::kernel::Store;
use thinkd_words::id::{Space, ThreadId, fresh};

use super::*;

/// Plants statements that are held, as a log without upkeep has them: no trial joined them, and
/// none was tested.
pub(super) async fn planted(database: &str, texts: &[impl AsRef<str>]) {
    let store = stored::open_at(database).await;
    for text in texts.iter().map(AsRef::as_ref) {
        plant(&store, text, &json!({ "from": null, "to": null })).await;
    }
    store.close().await;
}

/// Plants one of these, of a time.
async fn plant(store: &Arc<dyn Store>, text: &str, valid: &Value) {
    let source = Source {
        by: Claimant::Mind,
        seqs: Vec::new(),
        quote: None,
        word: false,
    };
    let thread = ThreadId::default();
    let id = fresh();
    let judged: Judged = serde_json::from_value(json!({
        "outcome": "surviving", "reason": "planted", "valid": valid, "carried": ["code", "knowledge"],
        "survived": 1, "tries": 0, "reopened": 0, "due": null, "others": [], "by": null, "tried": false,
    }))
    .unwrap();
    let [claimed, _] = Draft::claimed(
        &thread,
        id,
        Claim {
            text: text.to_owned(),
            source,
            premises: Vec::new(),
            root: None,
        },
    );
    let judged = Draft::statement(&thread, &id.to_string(), News::Judged(judged));
    store
        .append(Append::free(&Space::default(), vec![claimed, judged]))
        .await
        .unwrap();
}

/// The doubts about each statement by its text, page by page.
async fn doubts(
    app: &App,
    query: &str,
) -> (
    BTreeMap<String, BTreeSet<String>>,
    BTreeMap<String, u64>,
    Value,
) {
    let (mut all, mut looked_at, mut cursor): (BTreeMap<String, BTreeSet<String>>, _, _) = (
        BTreeMap::new(),
        BTreeMap::<String, u64>::new(),
        String::new(),
    );
    loop {
        let page = app
            .get(&format!("/world-model/audit?{query}{cursor}"))
            .await
            .expect(200);
        for item in page["items"].as_array().unwrap() {
            let words = item["doubts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it.as_str().unwrap().to_owned());
            all.entry(item["text"].as_str().unwrap().to_owned())
                .or_default()
                .extend(words);
        }
        for (status, count) in page["looked_at"].as_object().unwrap() {
            *looked_at.entry(status.clone()).or_default() += count.as_u64().unwrap();
        }
        let Some(next) = page["next"].as_str() else {
            return (all, looked_at, page);
        };
        cursor = format!("&cursor={next}");
    }
}

/// They are as alike, and say two things.
const HOUSES: [&str; 2] = [
    "Alma Reyes lives in the house 1.",
    "Alma Reyes lives in the house 2.",
];
const TELESCOPES: [&str; 2] = [
    "The telescope number 1 points at a comet.",
    "The telescope number 2 points at a comet.",
];

/// A server with one of each.
async fn doubtful(medium: Medium) -> (App, Stub) {
    let stub = Stub::start().await;
    stub.on(
        reflecting_on("nobody can say it"),
        reflects("unknown", "I cannot say"),
    );
    stub.on(reflecting, holds());
    for place in ["house 1", "house 2"] {
        let text = format!("Alma Reyes lives in the {place}.");
        stub.on(
            deriving_from(&text),
            derives(
                Some(["Alma Reyes", "lives in", place]),
                &[&format!("{place} shows it")],
            ),
        );
    }
    stub.on(
        deriving_from("Two is two."),
        testable("it can be worked out", &[("code", "1 + 1 === 2")]),
    );
    stub.on(
        deriving_from("Two is three."),
        testable("it cannot be", &[("code", "1 + 1 === 3")]),
    );
    stub.on(
        deriving_from("Nobody knows."),
        derives(None, &["nobody can say it"]),
    );
    stub.on(deriving, derives(None, &["something follows"]));
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_MEMORY__RECALL_IN_TURNS", 0)
        .env("THINKD_TEST_MEMORY__TRIES", 1)
        .env("THINKD_TOOLS__CONVERSATION", "reply,recall")
        .start()
        .await;
    for text in TELESCOPES {
        tried(&app, text, "surviving").await;
    }
    tried(&app, HOUSES[0], "surviving").await;
    tried(&app, HOUSES[1], "contested").await;
    tried(&app, "Two is two.", "surviving").await;
    tried(&app, "Two is three.", "falsified").await;
    tried(&app, "Nobody knows.", "proposed").await;
    assert!(app.stop().await.success());
    planted(
        app.database(),
        &["It is so.", "it is so", "Salt dissolves in water."],
    )
    .await;
    app.start_again().await;
    stub.script(
        decision,
        [
            call(
                "recall",
                json!({ "query": "telescope number 1", "limit": 1 }),
            ),
            reply("At a comet."),
        ],
    );
    app.tell("where does it point?").await;
    (app, stub)
}

fn words(of: &[&str]) -> BTreeSet<String> {
    of.iter().map(|word| (*word).to_owned()).collect()
}

on_sqlite!(
    an_audit_says_what_is_doubtful_and_changes_nothing,
    |medium| {
        let (app, _stub) = doubtful(medium).await;
        let before = app.log().await.len();
        let (all, looked_at, page) = doubts(&app, "limit=100").await;
        let expected: BTreeMap<String, BTreeSet<String>> = [
            (TELESCOPES[0], words(&["near", "reflection-only"])),
            (
                TELESCOPES[1],
                words(&["near", "reflection-only", "never-recalled"]),
            ),
            (
                HOUSES[0],
                words(&["contested", "reflection-only", "never-recalled"]),
            ),
            (
                HOUSES[1],
                words(&["contested", "reflection-only", "never-recalled"]),
            ),
            ("Two is two.", words(&["one-instrument", "never-recalled"])),
            ("Nobody knows.", words(&["undecided"])),
            (
                "It is so.",
                words(&["duplicate", "overdue", "never-recalled"]),
            ),
            (
                "it is so",
                words(&["duplicate", "overdue", "never-recalled"]),
            ),
            (
                "Salt dissolves in water.",
                words(&["overdue", "never-recalled"]),
            ),
        ]
        .into_iter()
        .map(|(text, words)| (text.to_owned(), words))
        .collect();
        assert_eq!(all, expected);
        let counts = [
            ("contested", 2),
            ("falsified", 1),
            ("proposed", 1),
            ("surviving", 6),
        ];
        assert_eq!(
            looked_at,
            counts
                .map(|(status, count)| (status.to_owned(), count))
                .into()
        );
        assert_eq!(
            (&page["recalls"], &page["without_vectors"]),
            (&json!(1), &Value::Null)
        );
        let of = |text: &str| {
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .find(|item| item["text"] == text)
                .unwrap()
                .clone()
        };
        assert_eq!(of("It is so.")["same"], json!([of("it is so")["id"]]));
        assert_eq!(of(TELESCOPES[0])["near"][0]["text"], TELESCOPES[1]);
        assert_eq!(
            (
                &of(TELESCOPES[0])["recalled"],
                &of(TELESCOPES[1])["recalled"]
            ),
            (&json!(1), &json!(0))
        );
        // In small pages it is the same, and one doubt alone is what it was among all.
        assert_eq!(doubts(&app, "limit=2").await.0, expected);
        let (near, _, _) = doubts(&app, "limit=3&doubt=near").await;
        assert_eq!(
            near,
            TELESCOPES
                .map(|text| (text.to_owned(), words(&["near"])))
                .into()
        );
        for query in [
            "limit=0",
            "limit=101",
            "doubt=none",
            "overdue_days=0",
            "x=1",
            "cursor=x",
        ] {
            assert_eq!(
                app.get(&format!("/world-model/audit?{query}")).await.status,
                400,
                "{query}"
            );
        }
        let later = app.log().await.len();
        assert_eq!(later, before, "an audit leaves nothing in the log");
    }
);

on_sqlite!(the_terminal_says_what_is_doubtful, |medium| {
    let (mut app, _stub) = doubtful(medium).await;
    let url = app.url("");
    let audit = async |more: &[&str]| {
        let arguments = [&["memory", "audit"], more].concat();
        let (code, said) = ran(&app.folder(), &[("THINKD_URL", &url)], &arguments).await;
        assert_eq!(code, Some(0), "{said}");
        said
    };
    let said = audit(&[]).await;
    for part in [
        "10 statements: 2 contested, 1 falsified, 1 proposed, 6 surviving",
        "1 of 9 that had an outcome were refuted",
        "duplicate: 2",
        "near: 2",
        "never-recalled: 7",
        "overdue: 3",
        "contradicted by ",
        TELESCOPES[0],
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        audit(&["--limit", "1"])
            .await
            .contains("1 more: --limit shows more")
    );
    let part = audit(&["--most", "3", "--doubt", "waiting"]).await;
    assert!(
        part.contains("nothing of these is doubtful") && part.contains("more statements than 3"),
        "{part}"
    );
    let undecided = audit(&["--doubt", "undecided"]).await;
    assert!(
        undecided.contains("prediction 1 has no answer: I cannot say"),
        "{undecided}"
    );
    assert!(
        audit(&["--doubt", "waiting"])
            .await
            .contains("nothing is doubtful")
    );
    let told: Value = serde_json::from_str(&audit(&["--json", "--doubt", "near"]).await).unwrap();
    assert_eq!(
        (&told["doubts"]["near"]["count"], &told["complete"]),
        (&json!(2), &json!(true)),
        "{told}"
    );
    assert!(
        (told["falsified_share"].as_f64().unwrap() - 1.0 / 9.0).abs() < 1e-9,
        "{told}"
    );
    for wrong in [["--doubt", "none"], ["--most", "0"]] {
        let arguments = [&["memory", "audit"][..], &wrong].concat();
        let (code, said) = ran(&app.folder(), &[("THINKD_URL", &url)], &arguments).await;
        assert_eq!(code, Some(2), "{said}");
    }
    rows_are_what_the_log_says(&mut app).await;
});

on_sqlite!(
    d1_what_says_the_same_by_names_that_are_one_is_a_duplicate_and_no_other_value_of_them_is_near,
    |medium| {
        let edges = [
            (
                "Alma Reyes is at the harbour in Bergen.",
                ["Alma Reyes", "is at", "Bergen"],
            ),
            (
                "A. Soto is at the harbour in Bergen.",
                ["A. Soto", "is at", "Bergen"],
            ),
            (
                "The library shows painting number 1.",
                ["The library", "shows", "painting 1"],
            ),
            (
                "The library shows painting number 2.",
                ["library", "shows", "painting 2"],
            ),
            (
                "Alma Reyes owns boat number 1.",
                ["Alma Reyes", "owns", "boat 1"],
            ),
            (
                "Alma Reyes owns boat number 2.",
                ["A. Soto", "owns", "boat 2"],
            ),
        ];
        let stub = entities::knowing(&edges).await;
        let app = App::start(medium, &stub).await;
        for (text, _) in edges {
            tried(&app, text, "surviving").await;
        }
        let of = async |doubt: &str| {
            doubts(&app, &format!("limit=2&doubt={doubt}"))
                .await
                .0
                .into_keys()
                .collect::<Vec<_>>()
        };
        assert!(of("duplicate").await.is_empty());
        let boats = [edges[4].0, edges[5].0];
        assert_eq!(
            of("near").await,
            boats,
            "of two names they may say the same; other values of one name do not"
        );
        entities::merge(&app, &["Alma Reyes", "A. Soto"])
            .await
            .expect(200);
        assert_eq!(
            of("duplicate").await,
            [edges[1].0, edges[0].0],
            "they say the same, as recall has it"
        );
        assert!(of("near").await.is_empty(), "{:?}", of("near").await);
        entities::unmerge(&app, "A. Soto").await.expect(200);
        assert!(of("duplicate").await.is_empty());
        assert_eq!(of("near").await, boats);
    }
);

on_sqlite!(
    d1_a_duplicate_is_found_behind_many_of_other_times,
    |medium| {
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        assert!(app.stop().await.success());
        // The same words of thirty years that are over, and twice of now.
        let mut texts: Vec<(String, Value)> = (1970..2000)
        .map(|year| {
            (
                "The fair is open.".to_owned(),
                json!({ "from": format!("{year}-01-01T00:00:00Z"), "to": format!("{year}-02-01T00:00:00Z") }),
            )
        })
        .collect();
        texts.extend(
            ["the fair is open", "The fair is open"]
                .map(|text| (text.to_owned(), json!({ "from": null, "to": null }))),
        );
        let store = stored::open_at(app.database()).await;
        for (text, valid) in &texts {
            plant(&store, text, valid).await;
        }
        store.close().await;
        drop(store);
        app.start_again().await;
        let (found, _, _) = doubts(&app, "doubt=duplicate").await;
        assert_eq!(
            found.into_keys().collect::<Vec<_>>(),
            ["The fair is open", "the fair is open"]
        );
    }
);
