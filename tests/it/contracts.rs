//! The two contract documents: committed, fresh, and true to the frames and addresses that the server uses.
//! `cargo run -- openapi` and `cargo run -- asyncapi` print them.

use serde_json::Value;
use thinkd::edge::outgoing::ServerFrame;
use thinkd::edge::{Limits, asyncapi, frame, openapi};

use crate::support::*;

fn is_fresh(path: &str, document: &str, command: &str) {
    let committed = std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap_or_default();
    assert!(committed == document, "{path} is stale: cargo run -- {command} > {path}");
}

#[test]
fn d4_01_the_asyncapi_document_is_committed_and_fresh() {
    is_fresh("asyncapi.yaml", &asyncapi::document(), "asyncapi");
}

#[test]
fn the_openapi_document_is_committed_and_fresh() {
    is_fresh("openapi/openapi.json", &openapi::document(), "openapi");
}

#[test]
fn d4_01_every_example_of_the_asyncapi_document_is_a_frame_that_the_server_reads_or_writes() {
    let document = asyncapi::value();
    let mut read = 0;
    for (_, operation) in document["operations"].as_object().unwrap() {
        let name = operation["messages"][0]["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        for example in document["components"]["messages"][name]["examples"].as_array().unwrap() {
            let example = &example["payload"];
            match operation["action"].as_str().unwrap() {
                "receive" => {
                    let framed = frame::read(&example.to_string(), &Limits::default());
                    assert!(framed.frame.is_ok(), "{name}: {example}: {:?}", framed.frame);
                }
                _ => {
                    let frame: ServerFrame = serde_json::from_value(example.clone()).unwrap();
                    let written: Value = serde_json::from_str(&frame.to_text()).unwrap();
                    assert_eq!(&written, example, "{name}");
                }
            }
            read += 1;
        }
    }
    assert!(read >= 21, "only {read} examples");
}

#[test]
fn every_reference_in_the_documents_leads_somewhere() {
    let openapi = serde_json::to_value(openapi::value()).unwrap();
    for document in [asyncapi::value(), openapi] {
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(!references.is_empty());
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| collect(value, references));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, references)),
        _ => {}
    }
}

// Every operation of the document is served, every parameter it names is known, and no other.
#[tokio::test]
async fn every_operation_of_the_openapi_document_is_served_with_its_parameters() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let document = serde_json::to_value(openapi::value()).unwrap();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let place = path.replace(['{', '}'], "").replace("event_id", "00000000-0000-7000-8000-000000000000");
            let place = place.replace("/threads/thread", "/threads/nobody.child");
            let none = Vec::new();
            let parameters = operation["parameters"].as_array().unwrap_or(&none);
            let named = parameters.iter().filter(|parameter| parameter["in"] == "query");
            for name in named.map(|parameter| parameter["name"].as_str().unwrap()).chain(["unheard-of"]) {
                // A value that only parameters of any text take.
                let request = app.request(&method.to_uppercase(), &format!("{place}?{name}=%21"));
                let response = within("an answer", request.send()).await.unwrap();
                let status = response.status();
                // A stream has no end to wait for.
                let text = if status.is_success() { String::new() } else { response.text().await.unwrap() };
                let what = format!("{method} {path} {name}: {status} {text}");
                assert!(status != 405 && !text.contains("nothing at this address"), "{what}");
                if method == "get" && !matches!(path.as_str(), "/livez" | "/readyz" | "/metrics" | "/metadata") {
                    assert_eq!(text.contains("is not known here"), name == "unheard-of", "{what}");
                }
            }
        }
    }
}
