//! Spaces with more statements than have their vectors scanned: words, names and the graph find the
//! others, and the answer says so.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};

use super::meaning::{ASKED, Does, Embedder, PHYSICIAN, found, reembed, setup, trying};
use super::recall::{AT_B, MAYOR, knowing};
use super::*;

const BREAD: &str = "Fresh bread is sold behind the mill.";
/// A question that shares no word with the statement that answers it.
const BAKERY: &str = "/recall?q=is+any+bakery+around+here";

/// So many statements: the first is scanned where thirty are, the last is not.
fn texts() -> Vec<String> {
    let others = (100..178).map(|at| format!("The statement number {at} is planted."));
    let first = std::iter::once(BREAD.to_owned());
    first.chain(others).chain([PHYSICIAN.to_owned()]).collect()
}

/// The sentence of `/metadata` on vectors.
async fn in_force(app: &App) -> String {
    let metadata = app.get("/metadata").await.expect(200);
    metadata["vectors"].as_str().unwrap().to_owned()
}

on_sqlite!(
    d1_05_beyond_exact_vectors_recall_goes_by_words_and_names_and_says_so,
    |medium| {
        let stub = knowing(&[AT_B, MAYOR]).await;
        let embedder = Embedder::start(Does::Embed(64)).await;
        let setup = setup(medium, &stub, &embedder).env("THINKD_MEMORY__EXACT_VECTORS", 30);
        let mut app = setup
            .env("THINKD_TEST_MEMORY__VECTORS_WAIT_MS", 20_000)
            .start()
            .await;
        assert!(app.stop().await.success());
        audit::planted(app.database(), &texts()).await;
        app.start_again().await;
        tried(&app, AT_B.0, "surviving").await;
        tried(&app, MAYOR.0, "surviving").await;
        let why = "52 statements have no vector: there are more than memory.exact_vectors (30), \
                   and the others are found by words and names alone";
        let said = |found: (Vec<String>, Value)| {
            assert_eq!(found.1, why);
            found.0
        };
        assert_eq!(said(found(&app, ASKED).await), [""; 0], "by its meaning");
        assert_eq!(said(found(&app, BAKERY).await), [BREAD], "it is scanned");
        let by_words = found(&app, "/recall?q=behind+the+station").await;
        assert_eq!(said(by_words)[0], PHYSICIAN);
        let by_graph = found(&app, "/recall?q=who+governs+the+place+where+Alma+Reyes+is").await;
        assert_eq!(
            said(by_graph)[..2],
            [AT_B.0, MAYOR.0],
            "the second shares no name with the question"
        );
        let beyond = "meanings, 64 numbers; beyond 30 statements (memory.exact_vectors) none: \
                      words and names alone";
        assert_eq!(in_force(&app).await, beyond);
        let audit = app.get("/world-model/audit?doubt=near").await.expect(200);
        assert!(audit.to_string().contains(why), "{audit}");
        let came = |text: &str| embedder.came(&format!("passage: {text}"));
        let times: Vec<usize> = texts().iter().map(|text| came(text)).collect();
        assert_eq!(times, [[1; 30].as_slice(), &[0; 50]].concat(), "one each");
        // A place that is free goes to another one.
        let id = app.get(BAKERY).await.expect(200)["items"][0]["id"].clone();
        app.post(
            &format!("/world-model/{}/retract", id.as_str().unwrap()),
            json!({ "reason": "It was said in jest." }),
        )
        .await
        .expect(200);
        let (texts, now) = found(&app, BAKERY).await;
        assert_eq!(texts, [""; 0]);
        assert!(now.as_str().unwrap().starts_with("51 statements"), "{now}");
        // Control: where all are scanned, all are found by their meaning.
        app.set_env("THINKD_MEMORY__EXACT_VECTORS", 500_000);
        app.restart().await;
        let all = (vec![PHYSICIAN.to_owned()], Value::Null);
        assert_eq!(found(&app, ASKED).await, all);
        assert_eq!(in_force(&app).await, "meanings, 64 numbers");
    }
);

on_sqlite!(
    d1_05_a_reembed_makes_as_many_vectors_as_are_scanned_and_says_so,
    |medium| {
        let stub = trying().await;
        let embedder = Embedder::start(Does::Embed(64)).await;
        // Not in the environment, so that the command has it, too.
        let few = "[memory]\nquestion_prefix = \"query: \"\nstatement_prefix = \"passage: \"\nexact_vectors = 30\n";
        let mut app = setup(medium, &stub, &embedder)
            .file("thinkd.toml", few)
            .env("THINKD_TEST_MEMORY__VECTORS_WAIT_MS", 20_000)
            .start()
            .await;
        assert!(app.stop().await.success());
        audit::planted(app.database(), &texts()).await;
        embedder.does(Does::Embed(32));
        let (code, said) = reembed(&app, &embedder).await;
        assert_eq!(code, Some(0), "{said}");
        let why = "80 statements, 30 vectors made, 50 without one: there are more than memory.exact_vectors (30)";
        assert!(said.contains(why), "{said}");
        app.start_again().await;
        assert_eq!(found(&app, BAKERY).await.0, [BREAD]);
        assert_eq!(found(&app, ASKED).await.0, [""; 0]);
    }
);

/// Earlier programs keep vectors beyond the limit in such tables, and may run beside this one or
/// after it.
#[tokio::test]
async fn tables_of_an_index_that_earlier_programs_keep_are_left_alone() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = trying().await;
    let embedder = Embedder::start(Does::Embed(64)).await;
    let setup = setup(medium, &stub, &embedder).env("THINKD_MEMORY__EXACT_VECTORS", 30);
    let mut app = setup
        .env("THINKD_TEST_MEMORY__VECTORS_WAIT_MS", 20_000)
        .start()
        .await;
    assert!(app.stop().await.success());
    audit::planted(app.database(), &texts()).await;
    let table = "vectors_near_0123456789abcdef_0123456789abcdef";
    for text in [
        format!(
            "create table {table} (statement text primary key, sha256 bytea not null, parts real[] not null)"
        ),
        format!("insert into {table} select id, '\\x00', '{{1}}' from statements"),
    ] {
        stored::execute(app.database(), &text).await;
    }
    app.start_again().await;
    assert_eq!(found(&app, BAKERY).await.0, [BREAD]);
    let file = app.folder().join("made").to_str().unwrap().to_owned();
    assert_eq!(reembed(&app, &embedder).await.0, Some(0));
    assert!(app.stop().await.success());
    for arguments in [
        &["rebuild", "--check"][..],
        &["rebuild"],
        &["backup", &file],
    ] {
        let env = [("DATABASE_URL", app.database())];
        let (code, said) = ran(&app.folder(), &env, arguments).await;
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
    }
    app.start_again().await;
    assert_eq!(found(&app, BAKERY).await.0, [BREAD]);
    let mut connection = PgConnection::connect(app.database()).await.unwrap();
    let text = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
    let kept: i64 = sqlx::query_scalar(text)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(kept, 80);
}
