//! A model that gives recorded answers, and a search over a folder of documents: missions that work
//! offline. `docs/missions.md` explains their use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

/// Most paragraphs that a search finds.
const FOUND_MAX: usize = 4;

/// A call of a tool that the model once answered with.
#[derive(Debug, Clone, Deserialize)]
struct Recorded {
    /// The tool that was asked for.
    tool: String,
    /// The task that it was asked about; absent: any.
    task: Option<String>,
    arguments: Value,
}

struct Folder {
    path: PathBuf,
    /// The answers that were not given yet. The last one of its kind is given again and again.
    // A plain mutex: held for a look-up, never across an await.
    answers: Mutex<Vec<Recorded>>,
}

/// The model (`/v1`) and the search (`/search?q=`) of a folder.
pub fn app(path: &Path) -> Router {
    let text =
        std::fs::read_to_string(path.join("answers.json")).expect("the folder has answers.json");
    let mut answers: Vec<Recorded> =
        serde_json::from_str(&text).expect("answers.json is a list of answers");
    answers
        .iter_mut()
        .for_each(|answer| with_files(path, &mut answer.arguments));
    let folder = Folder {
        path: path.to_owned(),
        answers: Mutex::new(answers),
    };
    Router::new()
        .route("/v1/chat/completions", post(answer))
        .route("/search", get(search))
        .with_state(Arc::new(folder))
}

/// Puts files into the place of strings as `file:solver.js`.
fn with_files(path: &Path, value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix("file:") {
                *text = std::fs::read_to_string(path.join(name))
                    .expect("a file that answers.json names");
            }
        }
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| with_files(path, member)),
        Value::Array(items) => items.iter_mut().for_each(|item| with_files(path, item)),
        _ => {}
    }
}

impl Folder {
    /// The next answer to a request for this tool.
    fn next(&self, tool: &str, request: &str) -> Option<Value> {
        let mut answers = self.answers.lock().expect("no panic while it is held");
        let fits = |it: &Recorded| {
            let task = it.task.as_ref().map(|task| json!(task).to_string());
            it.tool == tool && task.is_none_or(|task| request.contains(&format!("\"name\":{task}")))
        };
        let at = answers.iter().position(fits)?;
        let is_last = answers.iter().filter(|it| fits(it)).count() == 1;
        Some(if is_last {
            answers[at].arguments.clone()
        } else {
            answers.remove(at).arguments
        })
    }
}

async fn answer(State(folder): State<Arc<Folder>>, Json(request): Json<Value>) -> Response {
    // A mission gives a model one tool at a time.
    let tool = request["tools"][0]["function"]["name"]
        .as_str()
        .unwrap_or_default();
    let last = request["messages"]
        .as_array()
        .and_then(|all| all.last()?["content"].as_str())
        .unwrap_or_default();
    let Some(arguments) = folder.next(tool, last) else {
        let error = json!({ "error": { "message": format!("no answer to {tool:?} is recorded"), "type": "recorded" } });
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    };
    let call = json!({
        "index": 0, "id": "call_1", "type": "function", "function": { "name": tool, "arguments": arguments.to_string() },
    });
    let usage = json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let mut completion = json!({ "id": "recorded", "object": "chat.completion", "created": 0, "model": "recorded", "usage": usage });
    if request["stream"] != true {
        completion["choices"] =
            json!([{ "index": 0, "message": message, "finish_reason": "tool_calls" }]);
        return Json(completion).into_response();
    }
    completion["object"] = json!("chat.completion.chunk");
    completion["choices"] =
        json!([{ "index": 0, "delta": message, "finish_reason": "tool_calls" }]);
    (
        [(header::CONTENT_TYPE, "text/event-stream")],
        format!("data: {completion}\n\ndata: [DONE]\n\n"),
    )
        .into_response()
}

/// The paragraphs that share the most words with the question.
async fn search(State(folder): State<Arc<Folder>>, uri: Uri) -> Response {
    let asked = reqwest::Url::parse(&format!("http://localhost{uri}")).ok();
    let asked = asked.and_then(|url| {
        url.query_pairs()
            .find(|(name, _)| name == "q")
            .map(|(_, q)| q.into_owned())
    });
    let asked = words(&asked.unwrap_or_default());
    let mut found: Vec<(usize, Value)> = Vec::new();
    for file in std::fs::read_dir(folder.path.join("documents"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let text = std::fs::read_to_string(file.path()).unwrap_or_default();
        let (title, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let title = title.trim_start_matches('#').trim();
        for paragraph in rest
            .split("\n\n")
            .map(str::trim)
            .filter(|paragraph| !paragraph.is_empty())
        {
            let own = words(&format!("{title} {paragraph}"));
            let shared = asked.iter().filter(|word| own.contains(word)).count();
            let url = format!("documents/{}", file.file_name().to_string_lossy());
            found.push((
                shared,
                json!({ "title": title, "url": url, "text": paragraph }),
            ));
        }
    }
    found.retain(|(shared, _)| *shared > 0);
    found.sort_by(|one, other| {
        other
            .0
            .cmp(&one.0)
            .then_with(|| one.1["url"].as_str().cmp(&other.1["url"].as_str()))
    });
    let results: Vec<Value> = found
        .into_iter()
        .take(FOUND_MAX)
        .map(|(_, passage)| passage)
        .collect();
    Json(json!({ "results": results })).into_response()
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 3)
        .map(str::to_lowercase)
        .collect()
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "it is a program of the terminal")]
async fn main() {
    let folder = std::env::args()
        .nth(1)
        .expect("a folder, as examples/missions/research");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8090")
        .await
        .expect("port 8090 is free");
    println!(
        "the model is at http://127.0.0.1:8090/v1, the search at http://127.0.0.1:8090/search"
    );
    axum::serve(listener, app(Path::new(&folder)))
        .await
        .expect("the server runs");
}
