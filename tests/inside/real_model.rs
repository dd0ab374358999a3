//! The whole flow with a real, small language model (`tests/real-model`), where it is installed. It
//! talks beside the point and calls no tools: the test is of everything around it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use thinkd::model::endpoint::Options;
use thinkd::model::openai::OpenAi;
use thinkd::model::provider::{
    Answer, Content, Message, Model, Piece, Request, Role, Schemas, Tier, ToolChoice,
};
use thinkd::words::failure::Who;
use thinkd::words::id::{Space, ThreadId};

use kit::app::Setup;
use kit::envelope::{check_log, check_turns};
use kit::{Medium, has, story, with};

/// The limit on any wait: the model is real, and the machine may be slow.
const PATIENCE: Duration = Duration::from_secs(300);

/// A served model: one that runs already, or ours, which ends when this is dropped.
struct Served {
    url: String,
    child: Option<Child>,
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The real model, if there is one: `THINKD_TEST_REAL_MODEL` is the URL of one that is served, `THINKD_REAL_MODEL` the virtual environment
/// of `tests/real-model/install.sh` where that is not `.tools/real-model`.
fn served(options: &[&str]) -> Option<Served> {
    if let Ok(url) = std::env::var("THINKD_TEST_REAL_MODEL")
        && options.is_empty()
    {
        return Some(Served { url, child: None });
    }
    let root = std::path::Path::new(kit::ROOT);
    let folder =
        std::env::var("THINKD_REAL_MODEL").unwrap_or_else(|_| ".tools/real-model".to_owned());
    let python = root.join(folder).join("bin/python");
    if !python.exists() {
        // Not by `println!`, which is swallowed when tests pass.
        let _ = writeln!(
            std::io::stderr(),
            "no real model here (tests/real-model/install.sh): not tested with one"
        );
        return None;
    }
    let mut command = Command::new(python);
    command
        .arg(root.join("tests/real-model/serve.py"))
        .args(options);
    // It ends with its input, and that with this process.
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line
        .trim()
        .strip_prefix("listening on ")
        .unwrap_or_else(|| panic!("the model server says {line:?}"));
    Some(Served {
        url: format!("{address}/v1"),
        child: Some(child),
    })
}

fn request(text: &str) -> Request {
    let message = |role, text: &str| Message {
        role,
        content: vec![Content::Text(text.to_owned())],
    };
    Request {
        space: Space::default(),
        thread: ThreadId::default(),
        module: Who::Decision,
        tier: Tier::Low,
        messages: vec![
            message(Role::System, "You are a helpful assistant."),
            message(Role::User, text),
        ],
        tools: [].into(),
        choice: ToolChoice::Auto,
        schemas: Schemas::Formed,
    }
}

async fn ask(url: &str, stream: bool) -> (usize, Answer) {
    let options = Options {
        base_url: url.to_owned(),
        stream,
        parameters: serde_json::from_value(json!({ "temperature": 0.0, "max_tokens": 8 })).unwrap(),
        ..Options::new("smollm2")
    };
    let model = OpenAi::new(options).unwrap();
    let mut pieces = model.ask(model.prepare(&request("Say hello.")));
    let mut count = 0;
    while let Some(piece) = tokio::time::timeout(PATIENCE, pieces.next())
        .await
        .expect("the model is too slow")
    {
        match piece.unwrap() {
            Piece::End(answer) => return (count, answer),
            _ => count += 1,
        }
    }
    panic!("no end");
}

/// D4.07, D4.08 and the whole turn, with an unscripted model.
#[tokio::test]
async fn a_real_model_talks_and_the_log_is_right() {
    let Some(served) = tokio::task::spawn_blocking(|| served(&[])).await.unwrap() else {
        return;
    };
    let (pieces, streamed) = ask(&served.url, true).await;
    let (_, plain) = ask(&served.url, false).await;
    assert!(pieces > 1 && !streamed.text.is_empty(), "{streamed:?}");
    for answer in [&streamed, &plain] {
        assert!(
            answer.usage.input_tokens > 0 && (1..=8).contains(&answer.usage.output_tokens),
            "{answer:?}"
        );
        assert!(!answer.finish.is_empty(), "{answer:?}");
    }
    whole_turn(&served.url).await;
}

/// A mission by a model that says anything at all, in the form that it is held to: its structure
/// and its budget hold for any answer.
#[tokio::test]
async fn d1_59_a_mission_by_a_real_model_keeps_its_structure_and_its_budget() {
    let Some(served) = tokio::task::spawn_blocking(|| served(&["--constrained"]))
        .await
        .unwrap()
    else {
        return;
    };
    let calls = 7;
    let app = Setup::offline(Medium::sqlite())
        .env("THINKD_MODEL", "smollm2")
        .env("OPENAI_BASE_URL", &served.url)
        .env("THINKD_MODELS__LOW__STREAM", false)
        .start()
        .await;
    let wanted = json!({ "kind": "mission", "mission": "Make tea for two.", "budget": { "model_calls": calls } });
    let mission = app.post("/threads", wanted).await.expect(201)["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut socket = app.socket().await;
    socket
        .until_within(PATIENCE, "the end of the mission", async || {
            let thread = app.get(&format!("/threads/{mission}")).await.expect(200);
            ["done", "failed"]
                .contains(&thread["status"].as_str().unwrap())
                .then_some(())
        })
        .await;
    let log = app.log().await;
    check_log(&log);
    let story = story(&log);
    let asked = |it: &&Value| {
        it["payload"]["usage"]["output_tokens"]
            .as_u64()
            .unwrap_or(0)
            > 0
    };
    let made = with(&log, &["debug"]).into_iter().filter(asked).count();
    assert!((2..=calls).contains(&made), "{made} calls:\n{story}");
    let tasks = app.pages(&format!("/threads/{mission}/tasks?")).await;
    assert!(!tasks.is_empty(), "{story}");
    for task in &tasks {
        assert!(
            task["status"] == "closed" || task["reason"].is_string(),
            "{task}"
        );
        for required in task["tasks_required"].as_array().unwrap() {
            let required = tasks
                .iter()
                .find(|it| it["id"] == *required)
                .unwrap_or_else(|| panic!("{task}"));
            assert!(
                required["tasks_depending"]
                    .as_array()
                    .unwrap()
                    .contains(&task["id"]),
                "{task} {required}"
            );
        }
    }
    let replies = with(&log, &["response"]);
    assert!(
        replies.len() == 1 && !replies[0]["payload"]["text"].as_str().unwrap().is_empty(),
        "{story}"
    );
}

async fn whole_turn(url: &str) {
    let limit = PATIENCE.as_millis();
    let setup = Setup::offline(Medium::sqlite())
        .env("THINKD_MODEL", "smollm2")
        .env("OPENAI_BASE_URL", url)
        .env(
            "THINKD_MODELS__LOW__PARAMETERS",
            "{ max_tokens = 24, temperature = 0 }",
        )
        .env("THINKD_HISTORY__DECISION", 4)
        .env("THINKD_HISTORY__SUBMODULE", 4)
        .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", limit)
        .env("THINKD_TURN__LATE_TIMEOUT_MS", limit)
        .env("THINKD_TURN__DECISION_TIMEOUT_MS", limit);
    let app = setup.voices(&["listener"]).start().await;
    app.post(
        "/threads/main/messages",
        json!({ "text": "Fish live in water. True or false?" }),
    )
    .await
    .expect(202);
    let mut socket = app.socket().await;
    let log = socket
        .until_within(PATIENCE, "the end of the turn", async || {
            let log = app.log().await;
            let is_over = !with(&log, &["turn", "ended"]).is_empty();
            is_over.then_some(log)
        })
        .await;
    check_log(&log);
    check_turns(&log, "main");
    judge(&log);
}

/// Asserts that a voice was heard and the decision spoke. Either it replied after all, or its words
/// were repaired and failed, visibly.
fn judge(log: &[Value]) {
    let story = story(log);
    let at = |wanted: &[&str]| {
        with(log, wanted)
            .first()
            .map(|event| event["seq"].as_i64().unwrap())
    };
    let input = at(&["input"]);
    let started = at(&["turn", "started"]);
    let ended = at(&["turn", "ended"]);
    assert!(input < started && started < ended, "{story}");
    let voice =
        at(&["submodule:listener"]).unwrap_or_else(|| panic!("the voice was not heard:\n{story}"));
    assert!(started < Some(voice) && Some(voice) < ended, "{story}");
    let replied = at(&["response"]);
    let failed = log
        .iter()
        .find(|event| has(event, "failure") && has(event, "decision"));
    assert!(
        replied.is_some() || failed.is_some(),
        "neither reply nor failure:\n{story}"
    );
    let calls = with(log, &["debug"]);
    let by = |module: &str| {
        calls
            .iter()
            .filter(|call| call["payload"]["module"] == module)
            .count()
    };
    assert!(
        by("submodule:listener") >= 1 && by("decision") >= 1,
        "{story}"
    );
    if replied.is_none() {
        assert!(
            by("decision") >= 2,
            "what was said without a tool was not repaired:\n{story}"
        );
    }
    let tokens = |call: &&Value| {
        call["payload"]["usage"]["input_tokens"]
            .as_u64()
            .unwrap_or(0)
    };
    assert!(
        calls.iter().any(|call| tokens(call) > 0),
        "no usage was recorded:\n{story}"
    );
}
