//! Recall by the vectors of a model: texts of the same meaning in other words are found, a text is
//! embedded once, and the model's faults are told.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use thinkd_log::vectors::Maker;
use tokio::sync::watch;

use super::*;

/// Words that mean the same: a text is about the first line that has a word of it. The first lines
/// are those that models are measured by.
const MEANINGS: [&[&str]; 13] = [
    &["library", "reading rooms"],
    &["bakery", "bread"],
    &["lighthouse", "beacon"],
    &["cat eat", "kitten"],
    &["physicist", "researcher"],
    &["instrument", "cello"],
    &["bridge", "pillar"],
    &["train", "rail"],
    &["chess", "players"],
    &["illness", "asthma"],
    &["program", "software"],
    &["soil", "chalk"],
    &["physician", "doctor"],
];

/// A model for vectors that knows these meanings.
#[derive(Clone)]
pub(super) struct Embedder(Arc<Inner>);

struct Inner {
    url: String,
    /// The number of times that each text came.
    texts: watch::Sender<BTreeMap<String, usize>>,
    does: watch::Sender<Does>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Does {
    /// Makes vectors of so many numbers.
    Embed(usize),
    /// Refuses everything.
    Fail,
    /// Refuses every call with a text that has this word, for any purpose.
    FailAt(&'static str),
    /// Does not answer a call with a text that has this word.
    Stall(&'static str),
    /// Refuses a call with a text that has this word.
    Refuse(&'static str),
}

impl Embedder {
    pub(super) async fn start(does: Does) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let embedder = Self(Arc::new(Inner {
            url,
            texts: watch::Sender::new(BTreeMap::new()),
            does: watch::Sender::new(does),
        }));
        let router = Router::new()
            .route("/v1/embeddings", post(Self::embed))
            .with_state(embedder.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        embedder
    }

    pub(super) fn does(&self, does: Does) {
        self.0.does.send_replace(does);
    }

    /// Returns the number of times that a text came.
    pub(super) fn came(&self, text: &str) -> usize {
        self.0.texts.borrow().get(text).copied().unwrap_or_default()
    }

    /// Waits until a text came.
    async fn until_came(&self, text: &str) {
        let mut texts = self.0.texts.subscribe();
        let came = texts.wait_for(|texts| texts.contains_key(text));
        within(text, came).await.map(drop).unwrap();
    }

    async fn embed(State(this): State<Self>, Json(body): Json<Value>) -> Response {
        let texts: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap();
        assert!(texts.len() <= 64 && body["model"] == "meanings", "{body}");
        for text in &texts {
            this.0
                .texts
                .send_modify(|texts| *texts.entry(text.clone()).or_default() += 1);
        }
        let says = |word: &str| texts.iter().any(|text| text.contains(word));
        let does = *this.0.does.borrow();
        let size = match does {
            Does::Embed(size) => size,
            Does::Fail => {
                return (StatusCode::NOT_FOUND, "there is no such model here").into_response();
            }
            Does::FailAt(word) if says(word) => return StatusCode::NOT_FOUND.into_response(),
            Does::Refuse(word) if says(word) => {
                return (StatusCode::BAD_REQUEST, "that text is too long").into_response();
            }
            Does::Stall(word) if says(word) => std::future::pending().await,
            Does::Stall(_) | Does::Refuse(_) | Does::FailAt(_) => 64,
        };
        let one = |(index, text): (usize, &String)| json!({ "index": index, "embedding": vector(text, size) });
        Json(json!({ "data": texts.iter().enumerate().map(one).collect::<Vec<_>>() }))
            .into_response()
    }
}

/// Returns a vector with one place for each meaning; a text without any has a place by its letters.
fn vector(text: &str, size: usize) -> Vec<f32> {
    let text = text.to_lowercase();
    let meaning = MEANINGS
        .iter()
        .position(|words| words.iter().any(|word| text.contains(word)));
    let letters = text.bytes().fold(7_usize, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    let at = meaning.unwrap_or(MEANINGS.len() + letters % (size - MEANINGS.len()));
    (0..size)
        .map(|place| if place == at { 1.0 } else { 0.0 })
        .collect()
}

pub(super) fn setup(medium: Medium, stub: &Stub, embedder: &Embedder) -> Setup {
    Setup::new(medium, stub)
        .file(
            "thinkd.toml",
            "[memory]\nquestion_prefix = \"query: \"\nstatement_prefix = \"passage: \"\n",
        )
        .env("THINKD_MODEL_EMBEDDING", "meanings")
        .env("THINKD_MODELS__EMBEDDING__BASE_URL", &embedder.0.url)
}

/// A stub that tries statements, about no edge.
pub(super) async fn trying() -> Stub {
    let stub = agreeable().await;
    stub.on(deriving, derives(None, &["something follows"]));
    stub
}

pub(super) const PHYSICIAN: &str = "A physician practises behind the station.";
const SALT: &str = "Salt dissolves in water.";
/// A question that shares no word with the statement that answers it.
pub(super) const ASKED: &str = "/recall?q=is+any+doctor+around+here";

pub(super) async fn found(app: &App, query: &str) -> (Vec<String>, Value) {
    let found = app.get(query).await.expect(200);
    let items = found["items"].as_array().unwrap();
    (
        items
            .iter()
            .map(|item| item["text"].as_str().unwrap().to_owned())
            .collect(),
        found["without_vectors"].clone(),
    )
}

on_sqlite!(
    d1_05_what_means_the_same_in_other_words_is_found_by_the_vectors_of_a_model,
    |medium| {
        let stub = trying().await;
        let embedder = Embedder::start(Does::Embed(64)).await;
        let mut app = setup(medium, &stub, &embedder).start().await;
        tried(&app, PHYSICIAN, "surviving").await;
        tried(&app, SALT, "surviving").await;
        assert_eq!(
            found(&app, ASKED).await,
            (vec![PHYSICIAN.to_owned()], Value::Null)
        );
        assert_eq!(
            app.get("/metadata").await.expect(200)["vectors"],
            "meanings, 64 numbers"
        );
        // Nothing relevant is nothing.
        assert_eq!(
            found(&app, "/recall?q=which+chess+opening+is+oldest")
                .await
                .0,
            Vec::<String>::new()
        );
        // What was so at another time is found by the vectors that are stored.
        assert_eq!(
            found(&app, &format!("{ASKED}&as_of=1000000")).await,
            (vec![PHYSICIAN.to_owned()], Value::Null)
        );
        app.restart().await;
        assert_eq!(found(&app, ASKED).await.0, [PHYSICIAN]);
        let came = [format!("passage: {PHYSICIAN}"), format!("passage: {SALT}")]
            .map(|text| embedder.came(&text));
        assert_eq!(came, [1, 1], "a text is embedded once");
        assert_eq!(
            embedder.came("query: is any doctor around here"),
            2,
            "once in each life of the server"
        );
        // Control: without the model nobody knows what a doctor is.
        app.set_env("THINKD_MODEL_EMBEDDING", "another");
        app.set_env(
            "THINKD_MODELS__EMBEDDING__BASE_URL",
            "http://127.0.0.1:1/v1",
        );
        app.restart().await;
        assert_eq!(found(&app, ASKED).await.0, Vec::<String>::new());
    }
);

on_sqlite!(
    d1_05_a_filler_that_was_killed_repeats_nothing_that_is_stored,
    |medium| {
        let stub = trying().await;
        let embedder = Embedder::start(Does::Stall("Salt")).await;
        let setup =
            setup(medium, &stub, &embedder).env("THINKD_TEST_MEMORY__VECTORS_WAIT_MS", 1500);
        let mut app = setup.start().await;
        tried(&app, PHYSICIAN, "surviving").await;
        assert_eq!(
            found(&app, ASKED).await,
            (vec![PHYSICIAN.to_owned()], Value::Null)
        );
        tried(&app, SALT, "surviving").await;
        let (texts, why) = found(&app, ASKED).await;
        assert_eq!(texts, [PHYSICIAN], "what has a vector is found meanwhile");
        assert!(
            why.as_str()
                .unwrap()
                .contains("1 statement has no vector: the vectors did not come within 1500 ms"),
            "{why}"
        );
        app.kill();
        embedder.does(Does::Embed(64));
        app.start_again().await;
        assert_eq!(
            found(&app, ASKED).await,
            (vec![PHYSICIAN.to_owned()], Value::Null)
        );
        let came = [format!("passage: {PHYSICIAN}"), format!("passage: {SALT}")]
            .map(|text| embedder.came(&text));
        assert_eq!(came, [1, 2], "only what was cut off is asked again");
    }
);

on_sqlite!(
    d1_05_a_recall_without_its_model_answers_by_words_and_says_why,
    |medium| {
        let stub = trying().await;
        let embedder = Embedder::start(Does::Fail).await;
        let mut app = setup(medium, &stub, &embedder).start().await;
        tried(&app, PHYSICIAN, "surviving").await;
        let (texts, why) = found(
            &app,
            "/recall?q=where+does+a+physician+practise+behind+the+station",
        )
        .await;
        assert_eq!(texts, [PHYSICIAN], "by its words");
        assert!(
            why.as_str()
                .unwrap()
                .contains("there is no such model here"),
            "{why}"
        );
        embedder.does(Does::Refuse("Salt"));
        tried(&app, SALT, "surviving").await;
        polled("vectors, once the model is there", async || {
            found(&app, ASKED).await == (vec![PHYSICIAN.to_owned()], Value::Null)
        })
        .await;
        assert_eq!(
            found(&app, "/recall?q=does+salt+dissolve+in+water").await.0,
            [SALT],
            "it has no vector, and words"
        );
        // The same model with vectors of another length: the two have nothing to do with each other.
        embedder.does(Does::Embed(32));
        app.restart().await;
        let (texts, why) = found(&app, ASKED).await;
        assert_eq!(texts, Vec::<String>::new());
        let why = why.as_str().unwrap();
        assert!(
            why.contains(
                "meanings makes vectors of 32 numbers now, and those that are stored have 64"
            ),
            "{why}"
        );
    }
);

on_sqlite!(
    questions_about_another_time_are_answered_a_few_at_a_time_and_those_about_now_do_not_wait,
    |medium| {
        let stub = trying().await;
        let embedder = Embedder::start(Does::Embed(64)).await;
        let app = setup(medium, &stub, &embedder)
            .env("THINKD_TEST_MEMORY__VECTORS_WAIT_MS", 20_000)
            .start()
            .await;
        tried(&app, PHYSICIAN, "surviving").await;
        assert_eq!(found(&app, ASKED).await.0, [PHYSICIAN]);
        embedder.does(Does::Stall("stuck"));
        let stuck = ["one", "two"].map(|which| {
            tokio::spawn(
                app.request("GET", &format!("/recall?q=stuck+{which}&as_of=1000000"))
                    .send(),
            )
        });
        for which in ["query: stuck one", "query: stuck two"] {
            embedder.until_came(which).await;
        }
        let past = format!("{ASKED}&as_of=1000000");
        let (late, now) = tokio::join!(app.get(&past), found(&app, ASKED));
        assert_eq!(now, (vec![PHYSICIAN.to_owned()], Value::Null));
        let problem = late.expect_problem(429, "too-many-requests");
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("about another time"),
            "{problem}"
        );
        assert!(
            stuck.iter().all(|one| !one.is_finished()),
            "those before are under way still"
        );
        stuck.iter().for_each(tokio::task::JoinHandle::abort);
        // Whoever has gone leaves the place.
        assert_eq!(found(&app, &past).await.0, [PHYSICIAN]);
    }
);

/// Runs `thinkd reembed`, as configured beside the server. Returns its exit code and its output.
pub(super) async fn reembed(app: &App, embedder: &Embedder) -> (Option<i32>, String) {
    let env = [
        ("DATABASE_URL", app.database()),
        ("THINKD_MODEL_EMBEDDING", "meanings"),
        ("THINKD_MODELS__EMBEDDING__BASE_URL", &embedder.0.url),
    ];
    ran(&app.folder(), &env, &["reembed"]).await
}

on_sqlite!(
    after_a_change_of_the_model_reembed_makes_the_vectors_and_the_refusal_is_gone,
    |medium| {
        let stub = trying().await;
        let embedder = Embedder::start(Does::Embed(64)).await;
        let mut app = setup(medium, &stub, &embedder).start().await;
        for text in [PHYSICIAN, SALT] {
            tried(&app, text, "surviving").await;
        }
        assert_eq!(found(&app, ASKED).await.0, [PHYSICIAN]);
        // Under the same name another model answers: while the server runs, and after a start.
        embedder.does(Does::Embed(32));
        let both = "meanings makes vectors of 32 numbers now, and those that are stored have 64: `thinkd reembed`";
        for _ in 0..2 {
            let (texts, why) = found(&app, "/recall?q=may+a+doctor+help").await;
            assert!(
                texts.is_empty() && why.as_str().unwrap().contains(both),
                "{texts:?} {why}"
            );
            assert!(
                app.get("/metadata").await.expect(200)["vectors"]
                    .as_str()
                    .unwrap()
                    .contains(both)
            );
            app.restart().await;
        }
        if !app.is_postgres() {
            let (code, said) = reembed(&app, &embedder).await;
            assert!(
                code == Some(1)
                    && said.contains("a server has the database")
                    && said.contains("stop the server"),
                "{said}"
            );
            assert!(app.stop().await.success());
        }
        let (code, said) = reembed(&app, &embedder).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.contains("default: 2 statements, 2 vectors made, 0 without one"),
            "{said}"
        );
        assert!(
            said.contains("all vectors are those of meanings, of 32 numbers"),
            "{said}"
        );
        let (code, said) = reembed(&app, &embedder).await;
        assert!(
            code == Some(0) && said.contains("2 statements, 0 vectors made"),
            "{said}"
        );
        if !app.is_postgres() {
            app.start_again().await;
        }
        // On Postgres it is the server that ran all the while.
        polled("vectors", async || {
            found(&app, "/recall?q=may+a+doctor+help").await
                == (vec![PHYSICIAN.to_owned()], Value::Null)
        })
        .await;
        assert_eq!(
            app.get("/metadata").await.expect(200)["vectors"],
            "meanings, 32 numbers"
        );
        assert_eq!(
            embedder.came(&format!("passage: {PHYSICIAN}")),
            2,
            "once of each dimension"
        );
        // The old ones are gone: now those of before are in the way.
        embedder.does(Does::Embed(64));
        app.restart().await;
        let why = found(&app, ASKED).await.1;
        assert!(
            why.as_str()
                .unwrap()
                .contains("vectors of 64 numbers now, and those that are stored have 32"),
            "{why}"
        );
    }
);

on_sqlite!(
    a_server_goes_on_with_the_new_vectors_of_a_model_that_changed_while_it_ran,
    |medium| {
        let stub = trying().await;
        let embedder = Embedder::start(Does::Embed(64)).await;
        let app = setup(medium, &stub, &embedder).start().await;
        if !app.is_postgres() {
            return;
        }
        tried(&app, PHYSICIAN, "surviving").await;
        assert_eq!(found(&app, ASKED).await.0, [PHYSICIAN]);
        embedder.does(Does::Embed(32));
        let (code, said) = reembed(&app, &embedder).await;
        assert_eq!(code, Some(0), "{said}");
        // Its view has the old vectors still, and one of them is known for this question.
        polled("new vectors", async || {
            found(&app, "/recall?q=may+a+doctor+help").await
                == (vec![PHYSICIAN.to_owned()], Value::Null)
        })
        .await;
        assert_eq!(
            found(&app, ASKED).await,
            (vec![PHYSICIAN.to_owned()], Value::Null)
        );
    }
);

on_sqlite!(a_reembed_that_was_cut_off_goes_on_where_it_was, |medium| {
    let stub = trying().await;
    let embedder = Embedder::start(Does::Embed(64)).await;
    let mut app = setup(medium, &stub, &embedder).start().await;
    assert!(app.stop().await.success());
    let texts: Vec<String> = (100..200)
        .map(|at| format!("The statement number {at} is planted."))
        .collect();
    audit::planted(app.database(), &texts).await;
    embedder.does(Does::FailAt("number 199"));
    let (code, said) = reembed(&app, &embedder).await;
    assert!(
        code == Some(1) && said.contains("what was made is kept: run it again"),
        "{said}"
    );
    embedder.does(Does::Refuse("number 150"));
    let (code, said) = reembed(&app, &embedder).await;
    assert!(
        code == Some(0) && said.contains("default: 100 statements, 36 vectors made"),
        "{said}"
    );
    assert!(said.contains("0 without one"), "it was made before: {said}");
    let came: usize = texts[..64]
        .iter()
        .map(|text| embedder.came(&format!("passage: {text}")))
        .sum();
    assert_eq!(came, 64, "what was made is not made again");
    // Without a model there is nothing to make.
    let (code, said) = ran(
        &app.folder(),
        &[("DATABASE_URL", app.database())],
        &["reembed"],
    )
    .await;
    assert!(
        code == Some(1) && said.contains("models.embedding"),
        "{said}"
    );
});

on_sqlite!(
    a_reembed_that_was_killed_goes_on_where_it_was_and_keeps_the_old_vectors_until_its_end,
    |medium| {
        let stub = trying().await;
        let embedder = Embedder::start(Does::Embed(32)).await;
        let mut app = setup(medium, &stub, &embedder).start().await;
        tried(&app, PHYSICIAN, "surviving").await;
        assert_eq!(
            found(&app, ASKED).await.0,
            [PHYSICIAN],
            "a vector of 32 numbers is stored"
        );
        assert!(app.stop().await.success());
        let texts: Vec<String> = (100..200)
            .map(|at| format!("The statement number {at} is planted."))
            .collect();
        audit::planted(app.database(), &texts).await;
        // The same model makes longer ones now. It is killed while it waits for the second call.
        embedder.does(Does::Stall("number 199"));
        let last = format!("passage: {}", texts[99]);
        let mut command = tokio::process::Command::new(kit::program());
        command
            .arg("reembed")
            .env_clear()
            .current_dir(app.folder())
            .stdin(std::process::Stdio::null());
        command
            .env("DATABASE_URL", app.database())
            .env("THINKD_MODEL_EMBEDDING", "meanings");
        command.env("THINKD_MODELS__EMBEDDING__BASE_URL", &embedder.0.url);
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        embedder.until_came(&last).await;
        child.kill().await.unwrap();
        let came = |texts: &[String]| {
            texts
                .iter()
                .map(|it| embedder.came(&format!("passage: {it}")))
                .collect::<Vec<_>>()
        };
        let before = came(&texts);
        let made = before.iter().filter(|count| **count > 0).count();
        // What was there before is there still: a server of the old model answers by it.
        embedder.does(Does::Embed(32));
        let rows = stored::open_at(app.database()).await;
        let hashes = [Sha256::digest(format!("passage: {PHYSICIAN}")).into()];
        let of = async |dimensions| {
            let maker = Maker {
                model: "meanings".into(),
                dimensions,
            };
            rows.vectors(&maker, &hashes).await.unwrap().len()
        };
        assert_eq!((of(32).await, of(64).await), (1, 1));
        rows.close().await;
        drop(rows);
        embedder.does(Does::Embed(64));
        let (code, said) = reembed(&app, &embedder).await;
        assert_eq!(code, Some(0), "{said}");
        let left = 100 - 63;
        assert!(
            said.contains(&format!(
                "default: 101 statements, {left} vectors made, 0 without one"
            )),
            "{said}"
        );
        let twice = came(&texts)
            .iter()
            .zip(&before)
            .filter(|(now, then)| **then > 0 && now > then)
            .count();
        assert_eq!(twice, made - 63, "only what was under way is asked again");
        let rows = stored::open_at(app.database()).await;
        let maker = Maker {
            model: "meanings".into(),
            dimensions: 32,
        };
        assert_eq!(
            rows.vectors(&maker, &hashes).await.unwrap().len(),
            0,
            "the old ones went at the end"
        );
        rows.close().await;
    }
);
