//! Validates the messages that tests send and receive against the two contract documents. They are
//! the documents of the repository, closed for this purpose, so that an undocumented member is
//! found (clients are told to ignore such members).

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::ROOT;

/// Returns `asyncapi.yaml`.
pub fn asyncapi() -> Value {
    serde_yaml_ng::from_str(&document("asyncapi.yaml")).unwrap()
}

/// Returns `openapi/openapi.json`.
pub fn openapi() -> Value {
    serde_json::from_str(&document("openapi/openapi.json")).unwrap()
}

fn document(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// Frames by `type`, of both sides.
static FRAMES: LazyLock<HashMap<String, Validator>> = LazyLock::new(|| {
    let document = closed(&asyncapi());
    let messages = document["components"]["messages"].as_object().unwrap();
    messages
        .iter()
        .map(|(name, message)| (name.clone(), judge(&document, &message["payload"])))
        .collect()
});

/// Answers over HTTP.
static ANSWERS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let document = closed(&openapi());
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let path = path.split('/').map(str::to_owned).collect();
            let answers = operation["responses"].as_object().unwrap();
            let answers = answers
                .iter()
                .map(|(status, answer)| (status.clone(), contents(&document, answer)))
                .collect();
            operations.push(Operation {
                method: method.to_uppercase(),
                path,
                answers,
            });
        }
    }
    operations
});

struct Operation {
    method: String,
    path: Vec<String>,
    /// By status or `default`, then by type of content.
    answers: HashMap<String, HashMap<String, Validator>>,
}

fn contents(document: &Value, answer: &Value) -> HashMap<String, Validator> {
    let contents = answer["content"].as_object().into_iter().flatten();
    contents
        .map(|(kind, content)| (kind.clone(), judge(document, &content["schema"])))
        .collect()
}

impl Operation {
    fn is_at(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let fits =
            |(part, template): (&&str, &String)| template.starts_with('{') || part == template;
        parts.len() == self.path.len() && parts.iter().zip(&self.path).all(fits)
    }
}

fn judge(document: &Value, schema: &Value) -> Validator {
    let mut schema = schema.clone();
    schema["components"] = document["components"].clone();
    jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap_or_else(|error| panic!("no schema: {error}"))
}

fn faults(judge: &Validator, value: &Value) -> String {
    let faults: Vec<String> = judge
        .iter_errors(value)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    faults.join("\n")
}

/// Returns the faults of a frame; empty when it is as described.
pub fn frame_faults(frame: &Value) -> String {
    let kind = frame["type"].as_str().unwrap_or("message");
    FRAMES.get(kind).map_or_else(
        || format!("no frame of type {kind:?} is described"),
        |judge| faults(judge, frame),
    )
}

/// Panics unless the frame is as described.
#[track_caller]
pub fn check_frame(frame: &Value) {
    let faults = frame_faults(frame);
    assert!(
        faults.is_empty(),
        "not as asyncapi.yaml says: {faults}\n{frame}"
    );
}

/// Panics unless the answer is as described. An answer at no described address is not checked.
pub fn check_answer(method: &str, path: &str, status: u16, kind: &str, body: &Value) {
    let Some(operation) = ANSWERS
        .iter()
        .find(|it| it.method == method && it.is_at(path))
    else {
        return;
    };
    let default = if status >= 400 { "default" } else { "?" };
    let answer = operation
        .answers
        .get(&status.to_string())
        .or(operation.answers.get(default));
    let answer = answer.unwrap_or_else(|| panic!("{method} {path}: {status} is not described"));
    let kind = kind.split(';').next().unwrap_or_default();
    if answer.is_empty() {
        assert_eq!(
            kind, "",
            "{method} {path}: {status} has a content that is not described"
        );
    } else if kind.ends_with("json") {
        let judge = answer
            .get(kind)
            .unwrap_or_else(|| panic!("{method} {path}: {status} with {kind} is not described"));
        let faults = faults(judge, body);
        assert!(
            faults.is_empty(),
            "{method} {path} {status}: not as openapi.json says: {faults}\n{body}"
        );
    }
}

/// Returns a copy of a document with objects that have no other members than those described.
fn closed(document: &Value) -> Value {
    let mut copy = document.clone();
    close(&mut copy, document);
    copy
}

fn close(value: &mut Value, document: &Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| close(item, document)),
        Value::Object(members) if members.contains_key("allOf") => close_all_of(members, document),
        Value::Object(members) => {
            members
                .values_mut()
                .for_each(|member| close(member, document));
            if members.get("properties").is_some_and(Value::is_object)
                && members.contains_key("type")
            {
                members
                    .entry("additionalProperties")
                    .or_insert(json!(false));
            }
        }
        _ => {}
    }
}

/// Parts that are one object together: closed as a whole, unless one of them takes anything.
fn close_all_of(members: &mut Map<String, Value>, document: &Value) {
    let mut open = false;
    for part in members["allOf"].as_array_mut().unwrap() {
        if let Some(place) = part["$ref"]
            .as_str()
            .and_then(|place| place.strip_prefix('#'))
        {
            *part = document.pointer(place).unwrap().clone();
        }
        match part.get_mut("properties").and_then(Value::as_object_mut) {
            Some(properties) => properties
                .values_mut()
                .for_each(|member| close(member, document)),
            None => open = true,
        }
    }
    if !open {
        members.insert("unevaluatedProperties".into(), json!(false));
    }
}

/// The judges themselves: they go red.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d4_01_a_frame_or_an_answer_that_is_not_described_is_found() {
        let pong = json!({ "type": "pong", "after": 131 });
        check_frame(&pong);
        check_frame(&json!({ "text": "hi" }));
        let with = |name: &str, value: Value| {
            let mut pong = pong.clone();
            pong[name] = value;
            frame_faults(&pong)
        };
        for faults in [
            with("after", json!("x")),
            with("before", json!(1)),
            with("type", json!("pang")),
        ] {
            assert!(!faults.is_empty());
        }
        let placed = json!({ "event_id": "x", "thread": "main", "seq": 1 });
        let faults = frame_faults(&json!({ "type": "ack", "events": [placed], "status": "ok" }));
        assert!(faults.contains("uuid"), "{faults}");
        let answers = [
            (
                200,
                "application/json",
                json!({ "cancelled": true, "threads": 1 }),
                true,
            ),
            (
                200,
                "application/json",
                json!({ "cancelled": true, "threads": 1, "more": 1 }),
                false,
            ),
            (
                200,
                "application/problem+json",
                json!({ "cancelled": true, "threads": 1 }),
                false,
            ),
            (
                201,
                "application/json",
                json!({ "cancelled": true, "threads": 1 }),
                false,
            ),
            (404, "application/problem+json", json!({}), false),
        ];
        for (status, kind, body, is_right) in answers {
            let checked = std::panic::catch_unwind(|| {
                check_answer("POST", "/threads/main/cancel", status, kind, &body)
            });
            assert_eq!(checked.is_ok(), is_right, "{status} {kind} {body}");
        }
    }
}
