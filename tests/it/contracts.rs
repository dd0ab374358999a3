//! The two contract documents: committed, fresh, and true to the frames and addresses that the server uses.
//! `THINKD_WRITE_CONTRACTS=1 cargo test --test it contracts` writes them anew.

use serde_json::Value;
use thinkd::edge::outgoing::ServerFrame;
use thinkd::edge::{Limits, asyncapi, frame, openapi};

fn is_fresh(path: &str, document: &str) {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("THINKD_WRITE_CONTRACTS").is_some() {
        std::fs::write(&path, document).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == document, "{path} is stale: THINKD_WRITE_CONTRACTS=1 cargo test --test it contracts");
}

#[test]
fn d4_01_the_asyncapi_document_is_committed_and_fresh() {
    is_fresh("asyncapi.yaml", &asyncapi::document());
}

#[test]
fn the_openapi_document_is_committed_and_fresh() {
    is_fresh("openapi/openapi.json", &openapi::document());
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
