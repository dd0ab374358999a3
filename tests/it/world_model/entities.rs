//! Entities: names that are one are found, compared and shown as one while a merge or a statement
//! says so. Every statement keeps the names that it was said of.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use thinkd_event::draft::Draft;
use thinkd_event::entity::Merge;
use thinkd_log::appended::Append;
use thinkd_words::id::{Space, ThreadId};

use super::*;
use kit::planted::Dice;

/// A stub that derives these edges of these statements; the relation `is at` has one value. A
/// statement that two names are one is tested by code.
pub(super) async fn knowing(edges: &[(&str, [&str; 3])]) -> Stub {
    let stub = Stub::start().await;
    know(&stub, edges);
    stub
}

/// The same behind the rules that a stub has: of those that fit the first one answers.
pub(super) fn know(stub: &Stub, edges: &[(&str, [&str; 3])]) {
    stub.on(reflecting, holds());
    for (text, edge) in edges {
        let mut of = derived(
            Some(*edge),
            edge[1] == "is at",
            &[&format!("it shows that {text}")],
        );
        if edge[1].starts_with("is also") {
            of["predictions"][0]["code"] = json!("2 % 2 === 0");
        }
        stub.on(deriving_from(text), call("derive", of));
    }
}

pub(super) async fn merge(app: &App, names: &[&str]) -> Reply {
    app.post(
        "/world-model/entities/merge",
        json!({ "names": names, "reason": "one person" }),
    )
    .await
}

pub(super) async fn unmerge(app: &App, name: &str) -> Reply {
    app.post(
        "/world-model/entities/unmerge",
        json!({ "name": name, "reason": "two people" }),
    )
    .await
}

/// The names of all entities, as the list has them.
pub(super) async fn entities(app: &App) -> Vec<Vec<String>> {
    let all = app.pages("/world-model/entities?").await;
    all.iter()
        .map(|entity| serde_json::from_value(entity["names"].clone()).unwrap())
        .collect()
}

/// Returns every statement: its text, its status, and the texts of the statements that contradict
/// it.
pub(super) async fn standing(app: &App) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let all = app.pages("/world-model?").await;
    let text = |id: &Value| {
        all.iter().find(|it| it["id"] == *id).unwrap()["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let others = |it: &Value| {
        it["contested_by"]
            .as_array()
            .unwrap()
            .iter()
            .map(&text)
            .collect()
    };
    let status = |it: &Value| it["status"].as_str().unwrap().to_owned();
    all.iter()
        .map(|it| (text(&it["id"]), (status(it), others(it))))
        .collect()
}

async fn texts(app: &App, path: &str) -> Vec<String> {
    let found = app.get(path).await.expect(200);
    found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["text"].as_str().unwrap().to_owned())
        .collect()
}

/// The last event of the space.
async fn last(app: &App) -> i64 {
    seq(app.public_log().await.last().unwrap())
}

pub(super) const ALMA_B: (&str, [&str; 3]) = (
    "Alma Reyes is at Bergen.",
    ["Alma Reyes", "is at", "Bergen"],
);
pub(super) const SOTO_C: (&str, [&str; 3]) =
    ("A. Soto is at Cadiz.", ["A. Soto", "is at", "Cadiz"]);
const SOTO_B: (&str, [&str; 3]) = ("A. Soto is at Bergen.", ["A. Soto", "is at", "Bergen"]);
const SOTO_KNOWS: (&str, [&str; 3]) = ("A. Soto knows Odd Lien.", ["A. Soto", "knows", "Odd Lien"]);
const REYEZ_D: (&str, [&str; 3]) = ("Alma Reyez is at Delft.", ["Alma Reyez", "is at", "Delft"]);

on_sqlite!(
    d1_merged_names_are_one_everywhere_and_unmerging_gives_back_what_was,
    |medium| {
        let stub = knowing(&[ALMA_B, SOTO_C, SOTO_B, SOTO_KNOWS, REYEZ_D]).await;
        let mut app = App::start(medium, &stub).await;
        for said in [ALMA_B, SOTO_C, SOTO_KNOWS, REYEZ_D] {
            tried(&app, said.0, "surviving").await;
        }
        let before = (standing(&app).await, last(&app).await);
        assert!(
            !texts(&app, "/recall?q=Whom+does+Alma+Reyes+know?")
                .await
                .contains(&SOTO_KNOWS.0.to_owned())
        );
        assert_eq!(held(&app, "entity=Alma+Reyes").await, [ALMA_B.0]);
        assert_eq!(
            texts(&app, "/world-model/graph?entity=Alma+Reyes").await,
            [ALMA_B.0]
        );
        // The view of the space is in memory by now: it has to learn what names are one.
        let merged = merge(&app, &["Alma Reyes", "A. Soto"]).await.expect(200);
        assert_eq!(merged["names"], json!(["Alma Reyes", "A. Soto"]));
        assert_eq!(
            (&merged["merges"][0]["reason"], &merged["merges"][0]["by"]),
            (&json!("one person"), &json!("admin"))
        );
        // What contradicts another by these names is contested; nothing is withdrawn, and who looks alike is somebody else.
        let contested = |by: &str| ("contested".to_owned(), BTreeSet::from([by.to_owned()]));
        let now = standing(&app).await;
        assert_eq!(
            (&now[ALMA_B.0], &now[SOTO_C.0]),
            (&contested(SOTO_C.0), &contested(ALMA_B.0))
        );
        assert_eq!(
            (now[REYEZ_D.0].0.as_str(), now[SOTO_KNOWS.0].0.as_str()),
            ("surviving", "surviving")
        );
        for name in ["Alma+Reyes", "a.+soto", "A.+SOTO."] {
            assert_eq!(
                held(&app, &format!("entity={name}")).await,
                [ALMA_B.0, SOTO_C.0, SOTO_KNOWS.0],
                "{name}"
            );
            let around: BTreeSet<String> =
                texts(&app, &format!("/world-model/graph?entity={name}"))
                    .await
                    .into_iter()
                    .collect();
            assert_eq!(
                around,
                [ALMA_B.0, SOTO_C.0, SOTO_KNOWS.0].map(str::to_owned).into(),
                "{name}"
            );
        }
        let values = "relation=is+at&at=2026-01-01T00:00:00Z";
        assert_eq!(
            held(&app, &format!("entity=Alma+Reyes&{values}")).await,
            [ALMA_B.0, SOTO_C.0],
            "both of the time"
        );
        let asked = "/recall?q=Whom+does+Alma+Reyes+know?";
        assert!(
            texts(&app, asked).await.contains(&SOTO_KNOWS.0.to_owned()),
            "by the other name"
        );
        let way = texts(&app, "/world-model/graph?entity=Bergen&to=Odd+Lien").await;
        assert_eq!(way, [ALMA_B.0, SOTO_KNOWS.0]);
        // As of before it was not so.
        assert_eq!(
            held(&app, &format!("entity=Alma+Reyes&as_of={}", before.1)).await,
            [ALMA_B.0]
        );
        // What is said meanwhile is said of the name that it was said with, though it says the same of the same.
        tried(&app, SOTO_B.0, "contested").await;
        assert_eq!(held(&app, "entity=A.+Soto").await.len(), 4);
        let found = app
            .get("/recall?q=Alma+Reyes+at+Bergen&limit=20")
            .await
            .expect(200);
        let found: Vec<&Value> = found["items"].as_array().unwrap().iter().collect();
        let first = found
            .iter()
            .find(|it| [ALMA_B.0, SOTO_B.0].contains(&it["text"].as_str().unwrap()))
            .unwrap();
        assert_eq!(
            first["same"].as_array().unwrap().len(),
            1,
            "what says the same is one hit: {found:?}"
        );
        app.restart().await;
        assert_eq!(entities(&app).await, [["Alma Reyes", "A. Soto"]]);
        assert!(texts(&app, asked).await.contains(&SOTO_KNOWS.0.to_owned()));
        // Undone, everything is what it would have been.
        let undone = unmerge(&app, "a. soto").await.expect(200);
        assert_eq!(undone["undone"][0]["id"], merged["merges"][0]["id"]);
        let mut expected = before.0.clone();
        expected.insert(SOTO_B.0.into(), contested(SOTO_C.0));
        expected.insert(SOTO_C.0.into(), contested(SOTO_B.0));
        assert_eq!(standing(&app).await, expected);
        assert_eq!(held(&app, "entity=Alma+Reyes").await, [ALMA_B.0]);
        assert_eq!(
            held(&app, "entity=A.+Soto").await,
            [SOTO_C.0, SOTO_KNOWS.0, SOTO_B.0],
            "what was said later, too"
        );
        assert_eq!(
            texts(&app, "/world-model/graph?entity=Alma+Reyes").await,
            [ALMA_B.0]
        );
        assert!(entities(&app).await.is_empty());
        // Who, when and why are in the log, and every event says what it is.
        let log = app.public_log().await;
        let made = one(&log, &["entity", "merged"]);
        let ended = one(&log, &["entity", "unmerged"]);
        assert_eq!(
            (&made["payload"]["by"], &ended["payload"]["reason"]),
            (&json!("admin"), &json!("two people"))
        );
        assert_eq!(ended["payload"]["merge"], made["event_id"]);
        envelope::check_log(&app.log().await);
        rows_are_what_the_log_says(&mut app).await;
    }
);

pub(super) const IDENTITY: (&str, [&str; 3]) = (
    "Alma Reyes is also called A. Soto.",
    ["Alma Reyes", "is also called", "A. Soto"],
);

on_sqlite!(
    d1_a_statement_that_two_names_are_one_merges_them_while_it_survives,
    |medium| {
        let stub = knowing(&[ALMA_B, SOTO_C, IDENTITY]).await;
        let mut app = App::start(medium, &stub).await;
        for said in [ALMA_B, SOTO_C] {
            tried(&app, said.0, "surviving").await;
        }
        let before = standing(&app).await;
        let id = claim(&app, IDENTITY.0).await;
        let survives = judged(&app, &id, 0, "surviving").await;
        let log = app.public_log().await;
        let made = one(&log, &["entity", "merged"]);
        assert_eq!(
            (&made["payload"]["statement"], &made["payload"]["by"]),
            (&json!(id), &Value::Null)
        );
        assert!(
            seq(made) < seq(&survives),
            "in one append, and the word on the statement is the last"
        );
        assert!(
            story_of(&app, &id).await.contains(made),
            "its story tells of it"
        );
        assert_eq!(standing(&app).await[ALMA_B.0].0, "contested");
        assert_eq!(
            app.get("/world-model/entities?name=a.+soto")
                .await
                .expect(200)["items"][0]["merges"][0]["statement"],
            id
        );
        assert!(
            app.get("/world-model/entities?name=Odd").await.expect(200)["items"]
                .as_array()
                .unwrap()
                .is_empty()
        );
        // It is withdrawn: they are two again, in the same append.
        app.post(
            &format!("/world-model/{id}/retract"),
            json!({ "reason": "a slip" }),
        )
        .await
        .expect(200);
        assert!(entities(&app).await.is_empty());
        let now = standing(&app).await;
        assert_eq!(
            (&now[ALMA_B.0], &now[SOTO_C.0]),
            (&before[ALMA_B.0], &before[SOTO_C.0])
        );
        assert!(one(&app.public_log().await, &["entity", "unmerged"])["payload"]["by"].is_null());
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_a_merge_falls_with_the_ground_of_its_statement_and_an_operators_word_stands_above_a_rule,
    |medium| {
        let other = (
            "Alma Reyes is also known as Al.",
            ["Alma Reyes", "is also known as", "Al"],
        );
        let stub = knowing(&[IDENTITY, other]).await;
        stub.on(
            deriving_from("The register is right."),
            derives(None, &["one"]),
        );
        stub.on(
            deriving_from("The clerk is right."),
            derives(None, &["two"]),
        );
        let app = App::start(medium, &stub).await;
        let ground = tried(&app, "The register is right.", "surviving").await;
        let clerk = tried(&app, "The clerk is right.", "surviving").await;
        let body = json!({ "statement": IDENTITY.0, "derived_from": [ground, clerk] });
        let id = app.post("/world-model", body).await.expect(202)["id"]
            .as_str()
            .unwrap()
            .to_owned();
        judged(&app, &id, 0, "surviving").await;
        tried(&app, other.0, "surviving").await;
        assert_eq!(entities(&app).await, [["Alma Reyes", "A. Soto", "Al"]]);
        app.post(
            &format!("/world-model/{ground}/retract"),
            json!({ "reason": "it is not" }),
        )
        .await
        .expect(200);
        assert_eq!(statement(&app, &id).await["status"], "untested");
        assert_eq!(entities(&app).await, [["Alma Reyes", "Al"]]);
        // Claimed again on ground that stands it is tried again, survives, and merges again.
        let body =
            json!({ "statement": "alma reyes is also called a. soto", "derived_from": [clerk] });
        let again = app.post("/world-model", body).await.expect(202)["id"]
            .as_str()
            .unwrap()
            .to_owned();
        judged(&app, &again, 0, "joined").await;
        judged(&app, &id, 1, "surviving").await;
        assert_eq!(entities(&app).await.concat().len(), 3);
        // An operator undoes it: the statement does not make it again, however often it survives.
        unmerge(&app, "A. Soto").await.expect(200);
        assert_eq!(entities(&app).await, [["Alma Reyes", "Al"]]);
        app.post(
            &format!("/world-model/{clerk}/retract"),
            json!({ "reason": "nor is this" }),
        )
        .await
        .expect(200);
        tried(&app, "alma reyes is also called a. soto", "joined").await;
        judged(&app, &id, 2, "surviving").await;
        assert_eq!(entities(&app).await, [["Alma Reyes", "Al"]]);
    }
);

on_sqlite!(
    d1_what_is_no_identity_or_was_not_tested_merges_nothing,
    |medium| {
        let edges = [
            ("Al is short for Alma.", ["Al", "is short for", "Alma"]),
            (
                "Alma is the mayor.",
                ["Alma", "is also called", "the mayor of Bergen"],
            ),
            ("Alma is Bergen.", ["Alma", "is", "Bergen"]),
            (
                "Alma Reyes is like Alma Reyez.",
                ["Alma Reyes", "is like", "Alma Reyez"],
            ),
            ("Here I am Bob.", ["I", "is also called", "Bob"]),
        ];
        let stub = knowing(&edges).await;
        // Only a model has looked at it.
        let reflected = "Alma is also called Almita.";
        stub.on(
            deriving_from(reflected),
            derives(Some(["Alma", "is also called", "Almita"]), &["one"]),
        );
        // It was so.
        let past = "Oslo is also called Kristiania.";
        let mut of = derived(
            Some(["Oslo", "is also called", "Kristiania"]),
            false,
            &["two"],
        );
        of["predictions"][0]["code"] = json!("2 % 2 === 0");
        of["valid_to"] = json!("1925");
        stub.on(deriving_from(past), call("derive", of));
        let app = App::start(medium, &stub).await;
        for text in edges.iter().map(|edge| edge.0).chain([reflected, past]) {
            // Who has one other name may have two: nothing is contested, though the model takes it for a relation of one value.
            tried(&app, text, "surviving").await;
        }
        assert!(
            entities(&app).await.is_empty(),
            "{:?}",
            entities(&app).await
        );
    }
);

on_sqlite!(
    d1_what_loses_one_rival_stays_contested_while_another_has_it_by_another_name,
    |medium| {
        let alma_c = ("Alma Reyes is at Cadiz.", ["Alma Reyes", "is at", "Cadiz"]);
        let soto_d = ("A. Soto is at Delft.", ["A. Soto", "is at", "Delft"]);
        let stub = knowing(&[ALMA_B, alma_c, soto_d]).await;
        let mut app = App::start(medium, &stub).await;
        let bergen = tried(&app, ALMA_B.0, "surviving").await;
        let cadiz = tried(&app, alma_c.0, "contested").await;
        let delft = tried(&app, soto_d.0, "surviving").await;
        let reason = statement(&app, &delft).await["reason"].clone();
        merge(&app, &["Alma Reyes", "A. Soto"]).await.expect(200);
        let it = statement(&app, &bergen).await;
        assert_eq!(
            (&it["contested_by"], &it["contested_by_count"]),
            (&json!([cadiz, delft]), &json!(2)),
            "{it}"
        );
        let found = app.get("/recall?q=Alma+Reyes+at+Bergen").await.expect(200);
        let hit = found["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["id"] == bergen)
            .unwrap();
        assert_eq!(hit["contested_by_count"], 2, "{hit}");
        app.post(
            &format!("/world-model/{cadiz}/retract"),
            json!({ "reason": "a slip" }),
        )
        .await
        .expect(200);
        let it = statement(&app, &bergen).await;
        assert_eq!(
            (&it["status"], &it["contested_by"]),
            (&json!("contested"), &json!([delft])),
            "{it}"
        );
        unmerge(&app, "A. Soto").await.expect(200);
        for id in [&bergen, &delft] {
            assert_eq!(statement(&app, id).await["status"], "surviving");
        }
        let again = statement(&app, &delft).await["reason"].clone();
        assert_eq!(again, reason, "as if they had never been one");
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_a_statement_that_is_judged_while_names_are_merged_is_compared_by_the_names_as_they_are_then,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(
            reflecting_on(&format!("it shows that {}", SOTO_C.0)),
            holds().held(&gate),
        );
        know(&stub, &[ALMA_B, SOTO_C]);
        let app = App::start(medium, &stub).await;
        tried(&app, ALMA_B.0, "surviving").await;
        let id = claim(&app, SOTO_C.0).await;
        stub.request(reflecting_on(&format!("it shows that {}", SOTO_C.0)))
            .await;
        merge(&app, &["Alma Reyes", "A. Soto"]).await.expect(200);
        assert_eq!(
            statement(&app, &id).await["status"],
            "proposed",
            "its trial is under way"
        );
        gate.open();
        judged(&app, &id, 0, "contested").await;
        assert_eq!(standing(&app).await[ALMA_B.0].0, "contested");
    }
);

on_sqlite!(d1_bad_merges_are_named_and_there_are_limits, |medium| {
    let stub = knowing(&[IDENTITY]).await;
    let setup = Setup::new(medium, &stub)
        .env("THINKD_TEST_MEMORY__MERGES", 2)
        .env("THINKD_TEST_MEMORY__ENTITY_NAMES", 3);
    let app = setup.start().await;
    for names in [&["Alma"][..], &[]] {
        merge(&app, names)
            .await
            .expect_problem(400, "invalid-frame");
    }
    merge(&app, &["x"; 33])
        .await
        .expect_problem(400, "invalid-frame");
    merge(&app, &["Alma", " "])
        .await
        .expect_problem(400, "empty-input");
    merge(&app, &["Alma", &"x".repeat(201)])
        .await
        .expect_problem(400, "text-too-large");
    merge(&app, &["Alma", "a\u{0}b"])
        .await
        .expect_problem(400, "nul-not-allowed");
    let body = json!({ "names": ["Alma", "Al"], "reason": " " });
    app.post("/world-model/entities/merge", body)
        .await
        .expect_problem(400, "empty-input");
    let body = json!({ "names": ["Alma", "Al"], "reason": "so", "by": "eve" });
    app.post("/world-model/entities/merge", body)
        .await
        .expect_problem(400, "unknown-member");
    merge(&app, &["Alma", " \"ALMA\" "])
        .await
        .expect_problem(422, "unprocessable");
    unmerge(&app, "Alma").await.expect_problem(404, "not-found");
    merge(&app, &["Alma", "Al"]).await.expect(200);
    merge(&app, &["al", "alma."])
        .await
        .expect_problem(409, "already-settled");
    let full = merge(&app, &["Al", "Ala", "Alo"])
        .await
        .expect_problem(422, "unprocessable");
    assert!(
        full["detail"]
            .as_str()
            .unwrap()
            .contains("names of one entity"),
        "{full}"
    );
    merge(&app, &["Bob", "Rob"]).await.expect(200);
    let full = merge(&app, &["Cid", "Cy"])
        .await
        .expect_problem(422, "unprocessable");
    assert!(
        full["detail"].as_str().unwrap().contains("merges of names"),
        "{full}"
    );
    // A statement that says so survives, and says why it merges nothing.
    let id = tried(&app, IDENTITY.0, "surviving").await;
    let reason = statement(&app, &id).await["reason"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        reason.contains("its names are not merged") && reason.contains("merges of names"),
        "{reason}"
    );
    assert_eq!(entities(&app).await, [["Alma", "Al"], ["Bob", "Rob"]]);
    app.get("/world-model/entities?name=")
        .await
        .expect_problem(400, "invalid-parameter");
    app.get("/world-model/entities?names=x")
        .await
        .expect_problem(400, "invalid-parameter");
    let cursor = app.get("/world-model/entities?limit=1").await.expect(200)["next"]
        .as_str()
        .unwrap()
        .to_owned();
    app.get(&format!("/world-model/entities?name=Al&cursor={cursor}"))
        .await
        .expect_problem(400, "invalid-cursor");
    // Of three that are one, one leaves, and the others stay.
    unmerge(&app, "Rob").await.expect(200);
    merge(&app, &["Bob", "Rob", "Robert"]).await.expect(200);
    unmerge(&app, "Bob").await.expect(200);
    assert_eq!(entities(&app).await, [["Alma", "Al"], ["Rob", "Robert"]]);
});

on_sqlite!(
    d1_what_a_crash_cut_off_behind_a_merge_is_written_after_the_next_start,
    |medium| {
        let stub = knowing(&[ALMA_B, SOTO_C]).await;
        let mut app = App::start(medium, &stub).await;
        tried(&app, ALMA_B.0, "surviving").await;
        tried(&app, SOTO_C.0, "surviving").await;
        app.kill();
        // As a log has it in which the merge is stored, and what follows for many statements is not.
        let store = stored::open_at(app.database()).await;
        let names = ["Alma Reyes", "A. Soto"].map(str::to_owned).to_vec();
        let merge = Merge {
            names,
            reason: "one person".into(),
            by: Some("ann".into()),
            statement: None,
        };
        let draft = Draft::merged(&ThreadId::default(), thinkd_words::id::fresh(), merge);
        store
            .append(Append::free(&Space::default(), vec![draft]))
            .await
            .unwrap();
        store.close().await;
        drop(store);
        app.start_again().await;
        app.until("what contradicts what", async || {
            standing(&app).await[ALMA_B.0].0 == "contested"
        })
        .await;
        assert_eq!(standing(&app).await[SOTO_C.0].0, "contested");
        rows_are_what_the_log_says(&mut app).await;
    }
);

#[tokio::test]
async fn d1_what_one_server_merges_the_other_knows_at_once() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = knowing(&[ALMA_B, SOTO_KNOWS]).await;
    let app = App::start(medium, &stub).await;
    tried(&app, ALMA_B.0, "surviving").await;
    tried(&app, SOTO_KNOWS.0, "surviving").await;
    let other = app.beside().await;
    assert_eq!(
        texts(&other, "/world-model/graph?entity=Alma+Reyes").await,
        [ALMA_B.0]
    );
    merge(&app, &["Alma Reyes", "A. Soto"]).await.expect(200);
    assert_eq!(
        texts(&other, "/world-model/graph?entity=Alma+Reyes").await,
        [ALMA_B.0, SOTO_KNOWS.0]
    );
    unmerge(&other, "Alma Reyes").await.expect(200);
    assert_eq!(
        texts(&app, "/world-model/graph?entity=Alma+Reyes").await,
        [ALMA_B.0]
    );
}

/// Names, and where each is said to be; several are said to be in two places, and two of a kind in one.
pub(super) const PEOPLE: [&str; 6] = ["Ann", "Bea", "Cid", "Dov", "Eli", "Fay"];
const PLACES: [&str; 3] = ["Oslo", "Rome", "Kyiv"];

/// Returns the status of each statement, and the statements that contradict it, by the classes of
/// names that merges make: found by trying all pairs.
pub(super) fn expected(
    merges: &[Vec<usize>],
    said: &[(String, usize, usize)],
) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut class: Vec<usize> = (0..PEOPLE.len()).collect();
    for _ in 0..PEOPLE.len() {
        for merge in merges {
            let least = merge.iter().map(|name| class[*name]).min().unwrap();
            merge.iter().for_each(|name| class[*name] = least);
        }
    }
    let against = |(_, who, place): &(String, usize, usize)| -> BTreeSet<String> {
        let others = said
            .iter()
            .filter(|(_, other, elsewhere)| class[*other] == class[*who] && elsewhere != place);
        others.map(|(text, _, _)| text.clone()).collect()
    };
    let status = |others: &BTreeSet<String>| {
        if others.is_empty() {
            "surviving"
        } else {
            "contested"
        }
        .to_owned()
    };
    said.iter()
        .map(|it| (it.0.clone(), (status(&against(it)), against(it))))
        .collect()
}

on_sqlite!(
    d1_whatever_is_claimed_merged_and_unmerged_the_names_as_they_are_decide,
    |medium| {
        let all: Vec<(String, usize, usize)> = (0..PEOPLE.len())
            .flat_map(|who| (0..2).map(move |at| (who, (who + at) % PLACES.len())))
            .map(|(who, place)| {
                (
                    format!("{} is at {}.", PEOPLE[who], PLACES[place]),
                    who,
                    place,
                )
            })
            .collect();
        let edges: Vec<(&str, [&str; 3])> = all
            .iter()
            .map(|(text, who, place)| (text.as_str(), [PEOPLE[*who], "is at", PLACES[*place]]))
            .collect();
        let stub = knowing(&edges).await;
        let mut app = App::start(medium, &stub).await;
        let mut dice = Dice::new(16);
        let mut said = Vec::<(String, usize, usize)>::new();
        let mut merges = Vec::<Vec<usize>>::new();
        let mut left = all.clone();
        for step in 0..40 {
            match dice.below(3) {
                0 if !left.is_empty() => {
                    let it = left.remove(dice.below(left.len()));
                    let id = claim(&app, &it.0).await;
                    said.push(it);
                    let word = expected(&merges, &said)[&said.last().unwrap().0].0.clone();
                    judged(&app, &id, 0, &word).await;
                }
                1 => {
                    let name = dice.below(PEOPLE.len());
                    let is_merged = merges.iter().any(|merge| merge.contains(&name));
                    let reply = unmerge(&app, PEOPLE[name]).await;
                    assert_eq!(
                        reply.status,
                        if is_merged { 200 } else { 404 },
                        "{}",
                        reply.text
                    );
                    merges
                        .iter_mut()
                        .for_each(|merge| merge.retain(|it| *it != name));
                    merges.retain(|merge| merge.len() > 1);
                }
                _ => {
                    let mut names: Vec<usize> =
                        (0..PEOPLE.len()).filter(|_| dice.below(3) == 0).collect();
                    names.truncate(3);
                    let is_new = names.len() > 1 && !merges.contains(&names);
                    if is_new {
                        merge(
                            &app,
                            &names.iter().map(|at| PEOPLE[*at]).collect::<Vec<_>>(),
                        )
                        .await
                        .expect(200);
                        merges.push(names);
                    }
                }
            }
            assert_eq!(
                standing(&app).await,
                expected(&merges, &said),
                "after step {step}: {merges:?}"
            );
            if step == 20 {
                app.restart().await;
            }
        }
        // In any order un-merging comes to what never merging comes to.
        let mut names: Vec<usize> = (0..PEOPLE.len()).collect();
        names.sort_by_key(|_| dice.below(1000));
        for name in names {
            unmerge(&app, PEOPLE[name]).await;
        }
        assert!(entities(&app).await.is_empty());
        assert_eq!(standing(&app).await, expected(&[], &said));
        rows_are_what_the_log_says(&mut app).await;
    }
);
