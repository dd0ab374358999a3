//! Recall of entries that are no statements: notes, thoughts and frameworks. Each says its kind,
//! and none is found where nothing is relevant.

use super::*;

/// Has the decision write notes and think, and answers.
async fn remembered(medium: Medium, notes: &[(&str, &str)], thoughts: &[&str]) -> (App, Stub) {
    let stub = agreeable().await;
    stub.on(deriving, derives(None, &["something follows"]));
    let put = |(key, content): &(&str, &str)| {
        call(
            "state_put",
            json!({ "key": key, "content": content, "related_keys": [] }),
        )
    };
    let think = |thought: &&str| call("think", json!({ "thought": thought }));
    let mut answers: Vec<Answer> = notes
        .iter()
        .map(put)
        .chain(thoughts.iter().map(think))
        .collect();
    answers.push(reply("done"));
    stub.script(decision, answers);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TOOLS__CONVERSATION", "reply,recall,state_put,think")
        .env("THINKD_TURN__MAX_ROUNDS", 40)
        .start()
        .await;
    app.tell("go").await;
    (app, stub)
}

async fn others(app: &App, query: &str) -> Vec<Value> {
    let found = app.get(&format!("/recall?{query}")).await.expect(200);
    found["others"].as_array().unwrap().clone()
}

const CAT: (&str, &str) = ("cat", "The cat eats salmon in the morning.");

on_sqlite!(
    a_lone_note_is_found_and_nothing_where_nothing_is_relevant,
    |medium| {
        let (app, _stub) = remembered(medium, &[CAT], &[]).await;
        let asked = "q=What+does+the+cat+eat%3F";
        let found = others(&app, &format!("{asked}&in=notes")).await;
        let note = with(&app.public_log().await, &["set:entry"])[0]["seq"].clone();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (&found[0]["kind"], &found[0]["id"], &found[0]["seq"]),
            (&json!("notes"), &json!("cat"), &note)
        );
        assert_eq!(found[0]["text"], CAT.1);
        assert!(
            others(&app, asked).await.is_empty(),
            "statements alone, where `in` does not say"
        );
        assert!(
            others(&app, &format!("{asked}&in=thoughts,frameworks"))
                .await
                .is_empty()
        );
        for other in [
            "Where+is+the+bank%3F",
            "Which+treaty+ended+the+war+of+the+roses%3F",
            "Who+is+the+mayor+of+Bergen%3F",
        ] {
            assert!(
                others(&app, &format!("q={other}&in=notes,thoughts,frameworks"))
                    .await
                    .is_empty(),
                "{other}"
            );
        }
        app.get("/recall?q=cat&in=poems")
            .await
            .expect_problem(400, "invalid-parameter");
        app.get("/recall?q=cat&in=notes&as_of=3")
            .await
            .expect_problem(400, "invalid-parameter");
    }
);

on_sqlite!(
    of_many_notes_thoughts_and_frameworks_the_relevant_ones_are_found,
    |medium| {
        let facts: Vec<(String, String)> = (0..24)
            .map(|at| {
                (
                    format!("day-{at}"),
                    format!("The garden had {at} litres of rain on that day."),
                )
            })
            .collect();
        let mut notes: Vec<(&str, &str)> = facts
            .iter()
            .map(|(key, said)| (key.as_str(), said.as_str()))
            .collect();
        notes.push(CAT);
        let thoughts = [
            "The cat may be ill, since it leaves its salmon.",
            "The roof has to be mended before winter.",
        ];
        let (mut app, stub) = remembered(medium, &notes, &thoughts).await;
        let purpose =
            json!({ "name": "feeding", "purpose": "feeding a cat that leaves its salmon" });
        let framework = app.post("/frameworks", purpose).await.expect(201);
        tried(&app, "The cat of the neighbours likes salmon.", "surviving").await;
        let found =
        app.get("/recall?q=Does+the+cat+leave+its+salmon%3F&in=statements,notes,thoughts,frameworks").await.expect(200);
        assert_eq!(found["items"][0]["kind"], "statements", "{found}");
        assert!(found["items"][0]["seq"].is_i64(), "{found}");
        let kinds: Vec<&str> = found["others"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["kind"].as_str().unwrap())
            .collect();
        for kind in ["notes", "thoughts", "frameworks"] {
            assert!(kinds.contains(&kind), "{kind}: {found}");
        }
        let texts = found["others"].to_string();
        assert!(
            !texts.contains("rain") && !texts.contains("roof"),
            "what is beside the point is left out: {found}"
        );
        assert!(texts.contains(framework["id"].as_str().unwrap()), "{found}");
        // One word that all of them have does not hide what there is.
        let rain = others(
            &app,
            "q=How+much+rain+had+the+garden%3F&in=notes&limit=50&tokens=10000",
        )
        .await;
        assert_eq!(rain.len(), 24, "{rain:?}");
        // A mind asks by the tool; what it is told is in the log, and says what it is.
        stub.clear();
        let asks = json!({ "query": "Does the cat leave its salmon?", "limit": null, "in": ["notes", "thoughts"] });
        stub.script(decision, [call("recall", asks), reply("it does")]);
        app.tell("look").await;
        let log = app.public_log().await;
        let result = with(&log, &["result", "tool:recall"])[0]["payload"]["output"].clone();
        assert_eq!(
            result["recalled"],
            json!([]),
            "no statement was asked for: {result}"
        );
        let told: Vec<&str> = result["others"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["kind"].as_str().unwrap())
            .collect();
        assert!(
            told.contains(&"notes") && told.contains(&"thoughts"),
            "{result}"
        );
        assert!(result["others"][0]["seq"].is_i64(), "{result}");
        rows_are_what_the_log_says(&mut app).await;
    }
);
