//! The internal state: notes that modules keep for themselves, with tools alone; readable, searchable, projected from events.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

/// Lets the decision call a tool in a turn, and returns the call's result.
async fn use_tool(app: &App, stub: &Stub, tool: &str, arguments: Value) -> Value {
    stub.clear();
    stub.script(decision, [call(tool, arguments)]);
    app.tell("use a tool").await;
    let tag = format!("tool:{tool}");
    let log = app.public_log().await;
    let result = with(&log, &["result", &tag])
        .pop()
        .unwrap_or_else(|| panic!("no result of {tool}:\n{}", story(&log)))
        .clone();
    assert_eq!(
        with(&log, &["action", &tag]).len(),
        with(&log, &["result", &tag]).len(),
        "D4.42: each use is an event"
    );
    result
}

async fn put(app: &App, stub: &Stub, key: &str, content: &str, related: &[&str]) -> Value {
    use_tool(
        app,
        stub,
        "state_put",
        json!({ "key": key, "content": content, "related_keys": related }),
    )
    .await
}

async fn search(app: &App, stub: &Stub, query: &str, limit: Value) -> String {
    use_tool(
        app,
        stub,
        "state_search",
        json!({ "query": query, "limit": limit }),
    )
    .await["payload"]["output"]
        .to_string()
}

// D4.41 D4.42 D4.44 T4.57: set, get, get missing, overwrite.
on_sqlite!(
    t4_57_d4_41_d4_44_a_note_is_written_read_overwritten_and_deleted,
    |medium| {
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        put(
            &app,
            &stub,
            "ada",
            "Ada likes primes",
            &["people", "numbers"],
        )
        .await;
        let note = app.get("/state/ada").await.expect(200);
        let mut members: Vec<&String> = note.as_object().unwrap().keys().collect();
        members.sort();
        assert_eq!(
            members,
            ["content", "key", "metadata", "related_keys"],
            "exactly these: {note}"
        );
        assert_eq!(
            (&note["content"], &note["related_keys"]),
            (&json!("Ada likes primes"), &json!(["people", "numbers"]))
        );
        let first = note["metadata"]["updated_at"].as_str().unwrap().to_owned();
        let found = use_tool(&app, &stub, "state_get", json!({ "key": "ada" })).await;
        assert_eq!(found["payload"]["output"]["found"], json!(true), "{found}");
        assert!(
            found["payload"]["output"]
                .to_string()
                .contains("Ada likes primes")
        );
        let missing = use_tool(&app, &stub, "state_get", json!({ "key": "nobody" })).await;
        assert_eq!(
            missing["payload"]["output"]["found"],
            json!(false),
            "{missing}"
        );
        assert!(
            !has(&missing, "failure"),
            "a note that is not there is an answer, no failure"
        );
        put(&app, &stub, "ada", "Ada likes perfect numbers", &[]).await;
        let note = app.get("/state/ada").await.expect(200);
        assert_eq!(
            (&note["content"], &note["related_keys"]),
            (&json!("Ada likes perfect numbers"), &json!([]))
        );
        assert!(
            note["metadata"]["updated_at"].as_str().unwrap() > first.as_str(),
            "{note}"
        );
        app.restart().await;
        assert_eq!(app.get("/state/ada").await.expect(200), note, "it lasts");
        use_tool(&app, &stub, "state_delete", json!({ "key": "ada" })).await;
        app.get("/state/ada").await.expect_problem(404, "not-found");
        assert_eq!(app.get("/state").await.expect(200)["items"], json!([]));
        assert_eq!(
            with(&app.public_log().await, &["state", "set:entry"]).len(),
            3,
            "each change is an event"
        );
    }
);

// D4.40 T4.57: by words of the content, of the key and of related keys, ranked, in any word order.
on_sqlite!(d4_40_t4_57_notes_are_found_by_words_best_first, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let many = |word: &str| (0..3).fold(String::new(), |text, _| text + word + " ");
    put(
        &app,
        &stub,
        "weak",
        "A garden was mentioned once among very many other things that have nothing to do with it",
        &[],
    )
    .await;
    put(
        &app,
        &stub,
        "strong",
        &format!("{}garden", many("garden")),
        &[],
    )
    .await;
    put(
        &app,
        &stub,
        "roses",
        "Red roses grow behind the old house",
        &["garden-plan"],
    )
    .await;
    put(
        &app,
        &stub,
        "köln",
        "Die Straße führt nach Köln. 東京都に住んでいます",
        &[],
    )
    .await;
    let hits = search(&app, &stub, "garden", json!(null)).await;
    let at = |key: &str| {
        hits.find(&format!("\"{key}\""))
            .unwrap_or_else(|| panic!("{key} is not found: {hits}"))
    };
    assert!(at("strong") < at("weak"), "ranked: {hits}");
    for query in ["old red house", "house RED old", "behind roses"] {
        assert!(
            search(&app, &stub, query, json!(5))
                .await
                .contains("\"roses\""),
            "{query}"
        );
    }
    assert!(
        search(&app, &stub, "garden-plan", json!(5))
            .await
            .contains("\"roses\""),
        "by related key"
    );
    assert!(
        search(&app, &stub, "STRASSE", json!(5))
            .await
            .contains("köln"),
        "case folds in every language"
    );
    assert!(
        search(&app, &stub, "東京", json!(5)).await.contains("köln"),
        "and words need no spaces"
    );
    assert!(
        !search(&app, &stub, "submarine", json!(5))
            .await
            .contains("content"),
        "nothing where nothing fits"
    );
    for hostile in [
        "garden AND (",
        "* OR 1=1; --",
        "' OR '",
        "NEAR(",
        "a:b:c !&|",
    ] {
        let result = use_tool(
            &app,
            &stub,
            "state_search",
            json!({ "query": hostile, "limit": 5 }),
        )
        .await;
        assert!(!has(&result, "failure"), "{hostile:?}: {result}");
    }
    let nothing = use_tool(
        &app,
        &stub,
        "state_search",
        json!({ "query": "\"", "limit": 5 }),
    )
    .await;
    assert!(said(&nothing).contains("no letter"), "{nothing}");
    let listed = app.get("/state?q=roses").await.expect(200);
    assert_eq!(
        listed["items"][0]["key"], "roses",
        "and over HTTP: {listed}"
    );
});

// T4.57: limit 0 is refused or empty, 1,000 is capped at 50.
on_sqlite!(t4_57_the_number_of_hits_is_limited, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let note = |n: i32| json!({ "key": format!("note-{n}"), "content": "the same words", "related_keys": [] });
    for batch in 0..2 {
        let calls = (1..30).fold(call("state_put", note(batch * 30)), |all, n| {
            all.and("state_put", note(batch * 30 + n))
        });
        stub.clear();
        stub.script(decision, [calls]);
        app.tell("remember").await;
    }
    assert_eq!(app.pages("/state?").await.len(), 60);
    let count = |text: &str| text.matches("\"note-").count();
    assert_eq!(
        count(&search(&app, &stub, "same words", json!(1000)).await),
        50
    );
    assert_eq!(count(&search(&app, &stub, "same words", json!(3)).await), 3);
    assert_eq!(
        count(&search(&app, &stub, "same words", json!(null)).await),
        5
    );
    assert_eq!(count(&search(&app, &stub, "same words", json!(0)).await), 0);
});

// D4.43: the module decides.
on_sqlite!(d4_43_nothing_is_kept_unless_a_tool_call_asks, |medium| {
    let stub = Stub::start().await;
    stub.on(voice("a"), text("Remember: the user is called Ada."));
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    app.tell("remember that I am Ada; state_put{\"key\":\"ada\"}")
        .await;
    assert_eq!(app.get("/state").await.expect(200)["items"], json!([]));
    assert!(with(&app.public_log().await, &["state", "set:entry"]).is_empty());
    // D4.42: and nothing else can write.
    for method in ["PUT", "POST", "PATCH", "DELETE"] {
        let answer = http::send(
            app.request(method, "/state/ada")
                .json(&json!({ "content": "x" })),
        )
        .await;
        assert!(
            answer.status == 405 || answer.status == 404,
            "{method}: {}",
            answer.text
        );
    }
});
