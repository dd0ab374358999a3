//! Spaces with more statements than have their vectors in memory: an index of the database finds the others, where there is one, and it is said how well;
//! elsewhere they are refused by name. Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::meaning::{ASKED, Does, Embedder, PHYSICIAN, found, reembed, setup, trying};
use super::*;

/// Statements of which none means what is asked, and the last one, which does.
fn texts() -> Vec<String> {
    let others = (100..180).map(|at| format!("The statement number {at} is planted."));
    others.chain([PHYSICIAN.to_owned()]).collect()
}

/// All that some questions find, with scores.
async fn all_found(app: &App) -> Vec<Value> {
    let mut all = Vec::new();
    for query in [
        ASKED,
        "/recall?q=the+statement+number+117+planted",
        "/recall?q=behind+the+station&limit=3",
    ] {
        let found = app.get(query).await.expect(200);
        assert_eq!(found["without_vectors"], Value::Null, "{found}");
        all.push(found["items"].clone());
    }
    all
}

/// What `/metadata` says of vectors, once it has these words.
async fn metadata_says(app: &App, words: &str) -> String {
    within(words, async {
        loop {
            let vectors = app.get("/metadata").await.expect(200)["vectors"]
                .as_str()
                .unwrap()
                .to_owned();
            if vectors.contains(words) {
                return vectors;
            }
            tokio::time::sleep(ms(20)).await;
        }
    })
    .await
}

on_both!(
    d1_05_beyond_exact_vectors_an_index_finds_what_a_scan_would_or_it_is_refused_by_name,
    |medium| {
        let has_pgvector = medium.has_pgvector().await;
        let (stub, embedder) = (trying().await, Embedder::start(Does::Embed(64)).await);
        let setup = setup(medium, &stub, &embedder).env("THINKD_MEMORY__EXACT_VECTORS", 30);
        let mut app = setup
            .env("THINKD_MEMORY__VECTORS_WAIT_MS", 20_000)
            .start()
            .await;
        assert!(app.stop().await.success());
        audit::planted(app.database(), &texts()).await;
        app.start_again().await;
        if !has_pgvector {
            let (texts, why) = found(&app, ASKED).await;
            assert!(
                texts.is_empty(),
                "it is the last one, and beyond: {texts:?}"
            );
            let why = why.as_str().unwrap();
            assert!(
                why.contains("51 statements have no vector")
                    && why.contains("memory.exact_vectors (30)"),
                "{why}"
            );
            assert!(why.contains("pgvector"), "what there could be: {why}");
            metadata_says(&app, "beyond 30 statements (memory.exact_vectors) none: ").await;
            assert_eq!(
                found(&app, "/recall?q=behind+the+station").await.0,
                [PHYSICIAN],
                "by its words"
            );
            return;
        }
        let beyond = all_found(&app).await;
        assert_eq!(beyond[0][0]["text"], PHYSICIAN);
        let said = metadata_says(&app, "recall@10 ").await;
        assert!(
            said.starts_with(
                "meanings, 64 numbers; beyond 30 statements (memory.exact_vectors) by pgvector 0."
            ),
            "{said}"
        );
        assert!(
            said.ends_with("(HNSW), recall@10 1.000 against an exact scan of 51 vectors"),
            "{said}"
        );
        let came = |text: &str| embedder.came(&format!("passage: {text}"));
        assert!(
            texts().iter().all(|text| came(text) == 1),
            "each text is embedded once"
        );
        // The audit says what it does not look at.
        let audit = app.get("/world-model/audit?doubt=near").await.expect(200);
        assert!(
            audit
                .to_string()
                .contains("51 statements are beyond memory.exact_vectors (30)"),
            "{audit}"
        );
        // Control: with all of them in memory the same is found, with the same scores.
        app.set_env("THINKD_MEMORY__EXACT_VECTORS", 500_000);
        app.restart().await;
        assert_eq!(all_found(&app).await, beyond);
        assert!(
            !app.get("/metadata").await.expect(200)["vectors"]
                .as_str()
                .unwrap()
                .contains("beyond")
        );
        // Rows are the truth: made anew they are the same, and the index is of no consequence to it.
        app.set_env("THINKD_MEMORY__EXACT_VECTORS", 30);
        app.restart().await;
        assert_eq!(all_found(&app).await, beyond);
        assert!(app.stop().await.success());
        for arguments in [&["rebuild", "--check"][..], &["rebuild"]] {
            let (code, said) = ran(
                &app.folder(),
                &[("DATABASE_URL", app.database())],
                arguments,
            )
            .await;
            assert_eq!(code, Some(0), "{said}");
        }
        app.start_again().await;
        assert_eq!(all_found(&app).await, beyond);
        // What is withdrawn is gone at once, from all three forms.
        let id = beyond[0][0]["id"].as_str().unwrap();
        app.post(
            &format!("/world-model/{id}/retract"),
            json!({ "reason": "It was said in jest." }),
        )
        .await
        .expect(200);
        for query in [ASKED, "/recall?q=behind+the+station"] {
            let (texts, why) = found(&app, query).await;
            assert!(
                !texts.iter().any(|text| text == PHYSICIAN) && why == Value::Null,
                "{texts:?} {why}"
            );
        }
        assert!(
            texts().iter().all(|text| came(text) == 1),
            "nothing was embedded again"
        );
    }
);

on_both!(
    d1_05_a_reembed_makes_the_vectors_beyond_exact_vectors_and_their_index,
    |medium| {
        let has_pgvector = medium.has_pgvector().await;
        let (stub, embedder) = (trying().await, Embedder::start(Does::Embed(64)).await);
        // Not in the environment, so that the command has it, too.
        let few = "[memory]\nquestion_prefix = \"query: \"\nstatement_prefix = \"passage: \"\nexact_vectors = 30\nvectors_wait_ms = 20000\n";
        let mut app = setup(medium, &stub, &embedder)
            .file("thinkd.toml", few)
            .start()
            .await;
        assert!(app.stop().await.success());
        audit::planted(app.database(), &texts()).await;
        app.start_again().await;
        found(&app, ASKED).await;
        assert!(app.stop().await.success());
        embedder.does(Does::Embed(32));
        let (code, said) = reembed(&app, &embedder).await;
        assert_eq!(code, Some(0), "{said}");
        let (made, without) = if has_pgvector { (81, 0) } else { (30, 51) };
        assert!(
            said.contains(&format!(
                "81 statements, {made} vectors made, {without} without one"
            )),
            "{said}"
        );
        assert_eq!(
            said.contains("memory.exact_vectors (30), and no index for the others: "),
            !has_pgvector,
            "{said}"
        );
        app.start_again().await;
        let expected = if has_pgvector {
            vec![PHYSICIAN.to_owned()]
        } else {
            Vec::new()
        };
        assert_eq!(found(&app, ASKED).await.0, expected);
        let came = texts()
            .iter()
            .map(|text| embedder.came(&format!("passage: {text}")))
            .max();
        assert_eq!(came, Some(2), "once of each dimension");
    }
);
