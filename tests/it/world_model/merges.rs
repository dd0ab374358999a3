//! Merges of names under attack: made and undone by several at once, by a ground that falls, cut off by a crash, of hostile names and in great numbers.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::json;
use thinkd_event::draft::Draft;
use thinkd_event::entity::{Merge, Unmerge};
use thinkd_log::appended::Append;
use thinkd_words::id::{Space, ThreadId, fresh};

use super::entities::{
    ALMA_B, IDENTITY, PEOPLE, SOTO_C, entities, expected, know, knowing, merge, standing, unmerge,
};
use super::*;
use kit::planted::Dice;

on_sqlite!(
    d1_a_merge_is_undone_when_a_claim_that_its_statement_stands_on_is_joined_to_what_was_withdrawn,
    |medium| {
        let edge = ["The register", "is", "right"];
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(
            deriving_from("One may trust the register."),
            derives(Some(edge), &["it shows"]).held(&gate),
        );
        know(
            &stub,
            &[ALMA_B, SOTO_C, IDENTITY, ("The register is right.", edge)],
        );
        let mut app = App::start(medium, &stub).await;
        for said in [ALMA_B, SOTO_C] {
            tried(&app, said.0, "surviving").await;
        }
        let before = standing(&app).await;
        let withdrawn = tried(&app, "The register is right.", "surviving").await;
        app.post(
            &format!("/world-model/{withdrawn}/retract"),
            json!({ "reason": "it is not" }),
        )
        .await
        .expect(200);
        // It says in other words what was withdrawn, and nobody knows that yet.
        let ground = claim(&app, "One may trust the register.").await;
        stub.request(deriving_from("One may trust the register."))
            .await;
        let body = json!({ "statement": IDENTITY.0, "derived_from": [ground] });
        let id = app.post("/world-model", body).await.expect(202)["id"]
            .as_str()
            .unwrap()
            .to_owned();
        judged(&app, &id, 0, "surviving").await;
        assert_eq!(entities(&app).await, [["Alma Reyes", "A. Soto"]]);
        assert_eq!(standing(&app).await[ALMA_B.0].0, "contested");
        gate.open();
        judged(&app, &ground, 0, "joined").await;
        assert_eq!(statement(&app, &id).await["status"], "untested");
        assert!(
            entities(&app).await.is_empty(),
            "{:?}",
            entities(&app).await
        );
        let now = standing(&app).await;
        assert_eq!(
            (&now[ALMA_B.0], &now[SOTO_C.0]),
            (&before[ALMA_B.0], &before[SOTO_C.0])
        );
        let log = app.public_log().await;
        let undone = one(&log, &["entity", "unmerged"]);
        let joined = one(&log, &["judged", "joined"]);
        assert!(
            seq(undone) < seq(joined),
            "in one append, and the word on the claim is the last"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_what_was_judged_while_a_merge_was_undone_is_looked_at_again_after_a_crash,
    |medium| {
        let stub = knowing(&[ALMA_B, SOTO_C]).await;
        let mut app = App::start(medium, &stub).await;
        tried(&app, ALMA_B.0, "surviving").await;
        tried(&app, SOTO_C.0, "surviving").await;
        let before = standing(&app).await;
        let merged = merge(&app, &["Alma Reyes", "A. Soto"]).await.expect(200);
        assert_eq!(standing(&app).await[ALMA_B.0].0, "contested");
        app.kill();
        // As a log has it in which the undoing is stored, and a statement was judged by the names of before when it was looked what follows.
        let store = stored::open_at(app.database()).await;
        let names = ["Alma Reyes", "A. Soto"].map(str::to_owned).to_vec();
        let merge = merged["merges"][0]["id"].as_str().unwrap().to_owned();
        let by = Some("ann".to_owned());
        let undone = Draft::unmerged(
            &ThreadId::default(),
            Unmerge {
                merge,
                names,
                reason: "two people".into(),
                by,
            },
        );
        store
            .append(Append::free(&Space::default(), vec![undone]))
            .await
            .unwrap();
        store.close().await;
        drop(store);
        app.start_again().await;
        app.until("what contradicts what", async || {
            standing(&app).await == before
        })
        .await;
        rows_are_what_the_log_says(&mut app).await;
    }
);

/// Merges and un-merges some people's names, several at once. Then every statement about them
/// stands by the names as they are.
async fn raced(apps: &[&App], all: &[(String, usize, usize)]) {
    let mut dice = Dice::new(25);
    for _ in 0..4 {
        let acts: Vec<(usize, Vec<usize>)> = (0..12)
            .map(|at| {
                let one = dice.below(PEOPLE.len());
                let other = dice.below(PEOPLE.len());
                (
                    at,
                    if dice.below(4) == 0 || one == other {
                        vec![one]
                    } else {
                        vec![one, other]
                    },
                )
            })
            .collect();
        let replies = join_all(acts.iter().map(async |(at, who)| {
            match who[..] {
                [one] => unmerge(apps[at % apps.len()], PEOPLE[one]).await,
                _ => {
                    merge(
                        apps[at % apps.len()],
                        &who.iter().map(|it| PEOPLE[*it]).collect::<Vec<_>>(),
                    )
                    .await
                }
            }
        }))
        .await;
        for reply in &replies {
            assert!([200, 404, 409].contains(&reply.status), "{}", reply.text);
        }
        let merges: Vec<Vec<usize>> = apps[0]
            .pages("/world-model/entities?")
            .await
            .iter()
            .flat_map(|entity| entity["merges"].as_array().unwrap().clone())
            .map(|merge| serde_json::from_value::<Vec<String>>(merge["names"].clone()).unwrap())
            .map(|names| {
                names
                    .iter()
                    .map(|name| PEOPLE.iter().position(|it| it == name).unwrap())
                    .collect()
            })
            .collect();
        let sets: BTreeSet<BTreeSet<usize>> = merges
            .iter()
            .map(|merge| merge.iter().copied().collect())
            .collect();
        assert_eq!(sets.len(), merges.len(), "none stands twice: {merges:?}");
        for app in apps {
            assert_eq!(standing(app).await, expected(&merges, all), "{merges:?}");
        }
    }
}

/// Everybody is somewhere else.
fn everybody() -> Vec<(String, usize, usize)> {
    (0..PEOPLE.len())
        .map(|at| (format!("{} is at place {at}.", PEOPLE[at]), at, at))
        .collect()
}

/// A server in which all that is held.
async fn peopled(medium: Medium) -> (App, Stub) {
    let all = everybody();
    let places: Vec<String> = (0..PEOPLE.len()).map(|at| format!("place {at}")).collect();
    let edges: Vec<(&str, [&str; 3])> = all
        .iter()
        .map(|(text, at, _)| (text.as_str(), [PEOPLE[*at], "is at", &places[*at]]))
        .collect();
    let stub = knowing(&edges).await;
    let app = App::start(medium, &stub).await;
    for (text, _, _) in &all {
        tried(&app, text, "surviving").await;
    }
    (app, stub)
}

on_sqlite!(
    d1_names_that_are_merged_and_unmerged_by_many_at_once_lose_no_word,
    |medium| {
        let (mut app, _stub) = peopled(medium).await;
        raced(&[&app], &everybody()).await;
        rows_are_what_the_log_says(&mut app).await;
    }
);

#[tokio::test]
async fn d1_two_servers_merge_and_unmerge_at_once_and_lose_no_word() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let (app, _stub) = peopled(medium).await;
    let other = app.beside().await;
    raced(&[&app, &other], &everybody()).await;
}

on_sqlite!(
    d1_names_that_a_model_makes_up_are_tried_as_any_other_on_both_stores,
    |medium| {
        let long = "x".repeat(3000);
        let ligature = "\u{fdfa}".repeat(200);
        let names = [
            ["Al\u{0}ma", "is\u{0}at", "Ber\u{0}gen"],
            ["\u{7}\u{1b}[31mAlma", "is at", "\u{202e}nepreB"],
            [&long, &long, &long],
            [&ligature, "is at", &ligature],
            ["\u{200b}", "\u{feff}", "\u{200b}"],
            ["'\"", "is at", "\"'"],
        ];
        let stub = Stub::start().await;
        stub.on(reflecting, holds());
        for (at, edge) in names.iter().enumerate() {
            let mut of = derived(Some(*edge), true, &[&format!("{at} shows")]);
            for (member, name) in ["subject", "relation", "object"].into_iter().zip(edge) {
                of["predictions"][0][member] = json!(name);
            }
            of["predictions"][0]["object"] = json!("some\u{0}thing else");
            stub.on(
                deriving_from(&format!("It is so in case {at}.")),
                call("derive", of),
            );
        }
        let mut app = App::start(medium, &stub).await;
        for at in 0..names.len() {
            let id = claim(&app, &format!("It is so in case {at}.")).await;
            let word = judged(&app, &id, 0, "judged").await;
            assert!(has(&word, "surviving"), "case {at}: {word}");
            let triple = &statement(&app, &id).await["triple"];
            assert!(
                triple["subject"]
                    .as_str()
                    .unwrap_or_default()
                    .chars()
                    .count()
                    <= 200,
                "{triple}"
            );
            assert!(!triple.to_string().contains("\\u0000"), "{triple}");
        }
        // The same again joins what is there.
        for at in 0..names.len() {
            tried(&app, &format!("it is so in case {at}"), "joined").await;
        }
        assert_eq!(app.get("/recall?q=case&limit=20").await.status, 200);
        assert_eq!(app.get("/world-model/audit").await.status, 200);
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(d1_a_name_of_many_merges_is_unmerged_at_once, |medium| {
    let stub = knowing(&[ALMA_B, SOTO_C]).await;
    let mut app = App::start(medium, &stub).await;
    tried(&app, ALMA_B.0, "surviving").await;
    tried(&app, SOTO_C.0, "surviving").await;
    let before = standing(&app).await;
    assert!(app.stop().await.success());
    let store = stored::open_at(app.database()).await;
    let merge = |at: usize| {
        let names = ["Alma Reyes", "A. Soto", "Al"].map(str::to_owned).to_vec();
        Draft::merged(
            &ThreadId::default(),
            fresh(),
            Merge {
                names,
                reason: format!("{at}"),
                by: Some("ann".into()),
                statement: None,
            },
        )
    };
    for part in (0..1500).map(merge).collect::<Vec<_>>().chunks(500) {
        store
            .append(Append::free(&Space::default(), part.to_vec()))
            .await
            .unwrap();
    }
    store.close().await;
    drop(store);
    app.start_again().await;
    let undone = unmerge(&app, "Alma Reyes").await.expect(200);
    assert_eq!(undone["undone"].as_array().map(Vec::len), Some(1500));
    assert_eq!(standing(&app).await, before);
    let left = app.get("/world-model/entities").await.expect(200)["items"].clone();
    assert_eq!(
        (
            &left[0]["names"],
            left[0]["merges"].as_array().map(Vec::len)
        ),
        (&json!(["A. Soto", "Al"]), Some(1)),
        "{left}"
    );
    unmerge(&app, "Alma Reyes")
        .await
        .expect_problem(404, "not-found");
    rows_are_what_the_log_says(&mut app).await;
});

on_sqlite!(
    d1_as_of_and_at_names_are_one_as_they_were_then_whatever_became_of_them,
    |medium| {
        let knows = ("A. Soto knows Odd Lien.", ["A. Soto", "knows", "Odd Lien"]);
        let stub = knowing(&[ALMA_B, SOTO_C, knows]).await;
        let app = App::start(medium, &stub).await;
        for said in [ALMA_B, SOTO_C, knows] {
            tried(&app, said.0, "surviving").await;
        }
        let head = async || seq(app.public_log().await.last().unwrap());
        let apart = head().await;
        merge(&app, &["Alma Reyes", "A. Soto"]).await.expect(200);
        let one = head().await;
        unmerge(&app, "Alma Reyes").await.expect(200);
        let again = head().await;
        let asked = "/recall?q=Whom+does+Alma+Reyes+know?&limit=20";
        let finds = async |more: &str| {
            let found = app.get(&format!("{asked}{more}")).await.expect(200);
            found["items"]
                .as_array()
                .unwrap()
                .iter()
                .any(|item| item["text"] == knows.0)
        };
        let values = "entity=Alma+Reyes&relation=is+at&at=2026-01-01T00:00:00Z";
        for (as_of, is_one) in [(apart, false), (one, true), (again, false)] {
            assert_eq!(finds(&format!("&as_of={as_of}")).await, is_one, "{as_of}");
            assert_eq!(
                finds(&format!("&as_of={as_of}&at=2026-01-01T00:00:00Z")).await,
                is_one,
                "{as_of}"
            );
            let both = held(&app, &format!("{values}&as_of={as_of}")).await;
            assert_eq!(both.len(), if is_one { 2 } else { 1 }, "{as_of}: {both:?}");
            let shown = app
                .get(&format!(
                    "/world-model?entity=Alma+Reyes&status=contested&as_of={as_of}"
                ))
                .await
                .expect(200);
            let against: Vec<u64> = shown["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["contested_by_count"].as_u64().unwrap())
                .collect();
            assert_eq!(
                against,
                if is_one { vec![1, 1] } else { vec![] },
                "{as_of}: {shown}"
            );
        }
        assert!(!finds("").await);
    }
);
