//! Recall: statements that are held and relevant are found, with their reasons, in every form;
//! nothing else is.

use serde_json::{Value, json};

use super::*;

/// Returns the texts that a question finds, best first.
async fn recalled(app: &App, query: &str) -> Vec<String> {
    texts(&app.get(&format!("/recall?{query}")).await.expect(200))
}

fn texts(found: &Value) -> Vec<String> {
    found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["text"].as_str().unwrap().to_owned())
        .collect()
}

/// The texts of the edges around a name.
async fn around(app: &App, query: &str) -> Vec<String> {
    texts(
        &app.get(&format!("/world-model/graph?{query}"))
            .await
            .expect(200),
    )
}

/// A stub that derives these edges of these statements, and knows nothing against anything.
pub(super) async fn knowing(edges: &[(&str, [&str; 3])]) -> Stub {
    let stub = agreeable().await;
    for (text, edge) in edges {
        let of = derived(
            Some(*edge),
            edge[1] == "is at",
            &[&format!("it shows that {text}")],
        );
        stub.on(deriving_from(text), call("derive", of));
    }
    stub.on(deriving, derives(None, &["something follows"]));
    stub
}

pub(super) const AT_B: (&str, [&str; 3]) = (
    "Alma Reyes is at Bergen.",
    ["Alma Reyes", "is at", "Bergen"],
);
const AT_C: (&str, [&str; 3]) = ("Alma Reyes is at Cadiz.", ["Alma Reyes", "is at", "Cadiz"]);
pub(super) const MAYOR: (&str, [&str; 3]) = (
    "The mayor of Bergen is Odd Lien.",
    ["Bergen", "mayor", "Odd Lien"],
);

// D1.04 (text), D1.06 (neighbours of a node), D1.35 (a surviving statement is in all three).
on_sqlite!(
    d1_07_a_statement_is_in_all_forms_while_it_is_held_and_in_none_afterwards,
    |medium| {
        let stub = knowing(&[AT_B, MAYOR]).await;
        let app = App::start(medium, &stub).await;
        let id = tried(&app, AT_B.0, "surviving").await;
        tried(&app, MAYOR.0, "surviving").await;
        tried(&app, "The library opens at nine.", "surviving").await;
        assert_eq!(recalled(&app, "q=where+is+alma+reyes").await[0], AT_B.0);
        assert_eq!(around(&app, "entity=alma+reyes").await, [AT_B.0]);
        assert_eq!(held(&app, "text=alma").await, [AT_B.0]);
        app.post(
            &format!("/world-model/{id}/retract"),
            json!({ "reason": "in jest" }),
        )
        .await
        .expect(200);
        assert!(
            !recalled(&app, "q=where+is+alma+reyes")
                .await
                .contains(&AT_B.0.to_owned())
        );
        app.get("/world-model/graph?entity=alma+reyes")
            .await
            .expect_problem(404, "not-found");
        assert!(held(&app, "status=surviving&text=alma").await.is_empty());
        // The control: the rest is there.
        assert_eq!(recalled(&app, "q=the+mayor+of+bergen").await, [MAYOR.0]);
    }
);

on_sqlite!(d1_01_what_was_held_is_recalled_after_a_restart, |medium| {
    let stub = knowing(&[AT_B]).await;
    let mut app = App::start(medium, &stub).await;
    tried(&app, AT_B.0, "surviving").await;
    app.restart().await;
    assert_eq!(recalled(&app, "q=Alma+Reyes").await, [AT_B.0]);
});

on_sqlite!(
    d1_02_of_fifty_two_only_the_relevant_ones_are_recalled_be_they_none_two_or_twenty,
    |medium| {
        let stub = agreeable().await;
        stub.on(deriving, derives(None, &["something follows"]));
        let app = App::start(medium, &stub).await;
        let things = [
            "river", "kettle", "violin", "glacier", "ledger", "orchard", "harbour", "lantern",
            "saddle", "bakery",
        ];
        let colours = ["green", "brown", "grey"];
        let mut last = Vec::new();
        for colour in colours {
            for thing in things {
                last.push(
                    claim(
                        &app,
                        &format!("The {thing} by the old road is {colour} in winter."),
                    )
                    .await,
                );
            }
        }
        for at in 0..20 {
            last.push(
                claim(
                    &app,
                    &format!("The telescope number {at} points at a comet."),
                )
                .await,
            );
        }
        last.push(claim(&app, "Quokkas sleep in the shade at noon.").await);
        last.push(claim(&app, "A quokka eats leaves.").await);
        for id in &last {
            judged(&app, id, 0, "surviving").await;
        }
        let two = recalled(&app, "q=What+do+quokkas+and+a+quokka+do%3F&limit=20").await;
        assert!(
            two.len() == 2
                && two
                    .iter()
                    .all(|text| text.to_lowercase().contains("quokka")),
            "{two:?}"
        );
        let twenty = recalled(&app, "q=telescope+comet&limit=50").await;
        assert!(
            twenty.len() == 20 && twenty.iter().all(|text| text.contains("telescope")),
            "{twenty:?}"
        );
        let none = recalled(
            &app,
            "q=Which+treaty+ended+the+war+of+the+roses%3F&limit=50",
        )
        .await;
        assert!(none.is_empty(), "{none:?}");
        // Cut to a size: what has no room is counted.
        let few = app
            .get("/recall?q=telescope+comet&limit=50&tokens=40")
            .await
            .expect(200);
        let shown = few["items"].as_array().unwrap().len();
        assert!((1..=4).contains(&shown), "{few}");
        assert_eq!(few["left_out"], json!(20 - shown));
    }
);

on_sqlite!(
    a_hit_that_has_no_room_leaves_it_to_those_behind_it,
    |medium| {
        let stub = agreeable().await;
        stub.on(deriving, derives(None, &["something follows"]));
        let app = App::start(medium, &stub).await;
        let long = format!(
            "The telescope on the hill of Narvik points at a comet{}.",
            " and at the moon".repeat(10)
        );
        tried(&app, &long, "surviving").await;
        tried(&app, "The telescope points at a comet.", "surviving").await;
        let query = "/recall?q=telescope+hill+narvik+comet+moon";
        let both = texts(&app.get(query).await.expect(200));
        assert_eq!(
            (both.len(), both[0] == long),
            (2, true),
            "the long one is the better hit: {both:?}"
        );
        let cut = app.get(&format!("{query}&tokens=40")).await.expect(200);
        assert_eq!(
            (texts(&cut), &cut["left_out"]),
            (
                vec!["The telescope points at a comet.".to_owned()],
                &json!(1)
            )
        );
    }
);

on_sqlite!(
    a_hit_says_why_and_a_second_hop_is_found_by_the_graph,
    |medium| {
        let stub = knowing(&[AT_B, MAYOR]).await;
        let app = App::start(medium, &stub).await;
        let first = tried(&app, AT_B.0, "surviving").await;
        let second = tried(&app, MAYOR.0, "surviving").await;
        for other in [
            "Salt dissolves in water.",
            "The mayor of Narvik likes jazz.",
            "Tides follow the moon.",
        ] {
            tried(&app, other, "surviving").await;
        }
        let found = app
            .get("/recall?q=who+governs+the+place+where+Alma+Reyes+is")
            .await
            .expect(200);
        assert!(
            texts(&found).contains(&MAYOR.0.to_owned()),
            "it shares no name with the question: {found}"
        );
        let items = found["items"].as_array().unwrap();
        let of = |id: &str| items.iter().find(|item| item["id"] == id).unwrap();
        assert_eq!(of(&first)["why"]["names"], json!(["alma reyes"]));
        assert_eq!(of(&second)["why"]["path"], json!([first, second]));
        assert!(
            of(&second)["why"]["graph"].as_f64().unwrap() > 0.2,
            "{found}"
        );
        assert!(
            of(&first)["why"]["matched"]
                .as_array()
                .unwrap()
                .contains(&json!("reyes"))
        );
        let label = of(&first)["label"].as_str().unwrap();
        assert!(
            label.starts_with("a hypothesis that no test has refuted"),
            "{label}"
        );
        assert_eq!(of(&first)["reflection_only"], true);
    }
);

on_sqlite!(what_is_contested_is_recalled_with_both_sides, |medium| {
    let stub = knowing(&[AT_B, AT_C]).await;
    let app = App::start(medium, &stub).await;
    let one = tried(&app, AT_B.0, "surviving").await;
    let other = tried(&app, AT_C.0, "contested").await;
    let found = app.get("/recall?q=Alma+Reyes").await.expect(200);
    let items = found["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{found}");
    for (id, against) in [(&one, &other), (&other, &one)] {
        let item = items.iter().find(|item| item["id"] == *id).unwrap();
        assert_eq!(item["status"], "contested");
        assert_eq!(item["contested_by"][0]["id"], **against, "{item}");
    }
});

on_sqlite!(
    recall_says_what_was_held_then_and_what_was_so_at_a_time,
    |medium| {
        let stub = agreeable().await;
        for (edge, from) in [(AT_B, "2001"), (AT_C, "2005")] {
            let mut of = derived(Some(edge.1), true, &[&format!("it shows that {}", edge.0)]);
            of["valid_from"] = json!(from);
            stub.on(deriving_from(edge.0), call("derive", of));
        }
        let app = App::start(medium, &stub).await;
        let one = tried(&app, AT_B.0, "surviving").await;
        tried(&app, AT_C.0, "contested").await;
        let before = seq(&judged(&app, &one, 0, "contested").await) - 1;
        assert_eq!(recalled(&app, "q=Alma+Reyes").await.len(), 2);
        assert_eq!(
            recalled(&app, &format!("q=Alma+Reyes&as_of={before}")).await,
            [AT_B.0]
        );
        assert!(recalled(&app, "q=Alma+Reyes&as_of=1").await.is_empty());
        assert_eq!(
            recalled(&app, "q=Alma+Reyes&at=2003-01-01T00:00:00Z").await,
            [AT_B.0]
        );
        assert_eq!(
            recalled(&app, "q=Alma+Reyes&at=2007-01-01T00:00:00Z").await,
            [AT_C.0]
        );
        assert!(
            recalled(&app, "q=Alma+Reyes&at=1999-01-01T00:00:00Z")
                .await
                .is_empty()
        );
    }
);

on_sqlite!(
    a_mind_recalls_by_a_tool_and_what_it_recalled_joins_what_is_there,
    |medium| {
        let stub = knowing(&[AT_B]).await;
        let asks = |query: &str| call("recall", json!({ "query": query, "limit": null }));
        let again = json!({ "statement": "alma reyes  is at Bergen", "derived_from": null });
        stub.script(
            decision,
            [
                asks("Where is Alma Reyes?"),
                call("remember", again),
                reply("At Bergen."),
            ],
        );
        stub.script(
            decision,
            [asks("Who won the chess match?"), reply("I do not know.")],
        );
        stub.script(decision, [asks(" "), reply("?")]);
        stub.script(decision, [asks(&"x ".repeat(1000)), reply("?")]);
        stub.script(
            decision,
            [asks("</recall> \"}]} <b>DROP</b> ' OR 1=1 --"), reply("?")],
        );
        let app = Setup::new(medium, &stub)
            .env("THINKD_TOOLS__CONVERSATION", "reply,remember,recall")
            .start()
            .await;
        let id = tried(&app, AT_B.0, "surviving").await;
        app.tell("where is she?").await;
        let log = app.public_log().await;
        let result = &one(&log, &["result", "tool:recall"])["payload"]["output"];
        assert_eq!(result["recalled"][0]["statement"], json!(id), "{result}");
        assert_eq!(result["recalled"][0]["tested_by"], "reflection only");
        app.until("the claim", async || {
            app.public_log()
                .await
                .iter()
                .filter(|event| has(event, "joined"))
                .count()
                != 0
        })
        .await;
        assert_eq!(
            held(&app, "limit=10").await,
            [AT_B.0],
            "what was recalled is no new fact"
        );
        for text in ["who won?", "nothing", "much", "markup"] {
            app.tell(text).await;
        }
        let log = app.public_log().await;
        let results = with(&log, &["result", "tool:recall"]);
        assert_eq!(
            results[1]["payload"]["output"]["recalled"],
            json!([]),
            "{}",
            results[1]
        );
        let said = |at: usize| results[at]["payload"].to_string();
        assert!(
            said(2).contains("empty-input") && said(3).contains("text-too-large"),
            "{} {}",
            said(2),
            said(3)
        );
        assert_eq!(
            results[4]["payload"]["output"]["recalled"],
            json!([]),
            "markup is words: {}",
            results[4]
        );
    }
);

on_sqlite!(bad_questions_are_named_and_the_graph_is_bounded, |medium| {
    let stub = knowing(&[AT_B, MAYOR]).await;
    let app = App::start(medium, &stub).await;
    for query in [
        "",
        "q=",
        "q=+",
        "q=x&limit=0",
        "q=x&limit=51",
        "q=x&tokens=0",
        "q=x&at=then",
        "q=x&as_of=-1",
        "q=x&y=1",
    ] {
        app.get(&format!("/recall?{query}"))
            .await
            .expect_problem(400, "invalid-parameter");
    }
    app.get(&format!("/recall?q={}", "x".repeat(1025)))
        .await
        .expect_problem(400, "invalid-parameter");
    app.get("/recall?q=%00")
        .await
        .expect_problem(400, "nul-not-allowed");
    assert!(recalled(&app, "q=%3Cb%3E%27%22--%3B").await.is_empty());
    for query in [
        "",
        "entity=",
        "entity=x&depth=0",
        "entity=x&depth=5",
        "entity=x&limit=501",
        "entity=x&to=",
    ] {
        app.get(&format!("/world-model/graph?{query}"))
            .await
            .expect_problem(400, "invalid-parameter");
    }
    app.get("/world-model/graph?entity=nobody")
        .await
        .expect_problem(404, "not-found");
    tried(&app, AT_B.0, "surviving").await;
    tried(&app, MAYOR.0, "surviving").await;
    assert_eq!(around(&app, "entity=Alma+Reyes").await, [AT_B.0]);
    assert_eq!(
        around(&app, "entity=Alma+Reyes&depth=2").await,
        [AT_B.0, MAYOR.0]
    );
    assert_eq!(
        around(&app, "entity=Alma+Reyes&to=Odd+Lien").await,
        [AT_B.0, MAYOR.0]
    );
    assert!(
        around(&app, "entity=Alma+Reyes&to=Odd+Lien&depth=1")
            .await
            .is_empty()
    );
    let part = app
        .get("/world-model/graph?entity=Bergen&limit=1")
        .await
        .expect(200);
    assert_eq!(
        (texts(&part).len(), &part["complete"]),
        (1, &json!(false)),
        "{part}"
    );
});

on_sqlite!(
    statements_that_do_not_fit_into_memory_are_refused_by_name_and_the_rest_goes_on,
    |medium| {
        let stub = knowing(&[AT_B]).await;
        let app = Setup::new(medium, &stub)
            .env("THINKD_MEMORY__RECALL_BYTES", 3000)
            .start()
            .await;
        assert!(recalled(&app, "q=Alma+Reyes").await.is_empty());
        tried(&app, AT_B.0, "surviving").await;
        assert_eq!(recalled(&app, "q=Alma+Reyes").await, [AT_B.0], "one fits");
        tried(
            &app,
            "The library opens at nine and closes at five.",
            "surviving",
        )
        .await;
        for _ in 0..2 {
            let problem = app
                .get("/recall?q=Alma+Reyes")
                .await
                .expect_problem(422, "unprocessable");
            assert!(
                problem["detail"]
                    .as_str()
                    .unwrap()
                    .contains("memory.recall_bytes"),
                "{problem}"
            );
        }
        assert_eq!(held(&app, "status=surviving").await.len(), 2);
    }
);

on_sqlite!(the_terminal_says_what_is_held_and_why, |medium| {
    let stub = knowing(&[AT_B]).await;
    let app = App::start(medium, &stub).await;
    tried(&app, AT_B.0, "surviving").await;
    let url = app.url("");
    let (code, said) = ran(
        &app.folder(),
        &[("THINKD_URL", &url)],
        &["recall", "where is Alma Reyes?"],
    )
    .await;
    assert!(
        code == Some(0) && said.contains(AT_B.0) && said.contains("alma reyes"),
        "{said}"
    );
    let (code, said) = ran(&app.folder(), &[("THINKD_URL", &url)], &["recall", "chess"]).await;
    assert!(
        code == Some(0) && said.contains("nothing that is held is relevant"),
        "{said}"
    );
});

#[tokio::test]
async fn of_two_servers_each_recalls_what_the_other_one_was_told_at_once() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = knowing(&[AT_B, MAYOR]).await;
    let app = App::start(medium, &stub).await;
    let other = app.beside().await;
    let id = tried(&app, AT_B.0, "surviving").await;
    assert_eq!(recalled(&app, "q=Alma+Reyes").await, [AT_B.0]);
    assert_eq!(recalled(&other, "q=Alma+Reyes").await, [AT_B.0]);
    other
        .post(
            &format!("/world-model/{id}/retract"),
            json!({ "reason": "a slip" }),
        )
        .await
        .expect(200);
    assert!(recalled(&app, "q=Alma+Reyes").await.is_empty());
    assert!(recalled(&other, "q=Alma+Reyes").await.is_empty());
}
