//! The two contract documents: committed, fresh, and true to the frames and addresses that the server uses.
//! `cargo run -- openapi` and `cargo run -- asyncapi` print them.

use serde_json::Value;
use sha2::{Digest, Sha256};
use thinkd::edge::frame;
use thinkd::edge::http::openapi;
use thinkd::edge::limits::Limits;
use thinkd::edge::packed::{packed, unpacked};
use thinkd::edge::websocket::asyncapi;
use thinkd::edge::websocket::outgoing::ServerFrame;
use thinkd::event::catalogue;

use kit::*;

fn is_fresh(path: &str, document: &str, command: &str) {
    let committed = std::fs::read_to_string(format!("{}/{path}", kit::ROOT)).unwrap_or_default();
    assert!(
        committed == document,
        "{path} is stale: cargo run -- {command} > {path}"
    );
}

#[test]
fn d4_01_the_asyncapi_document_is_committed_and_fresh() {
    is_fresh("asyncapi.yaml", &asyncapi::document(), "asyncapi");
}

#[test]
fn the_openapi_document_is_committed_and_fresh() {
    is_fresh("openapi/openapi.json", &openapi::document(), "openapi");
}

/// Compares a file that lies compressed in the repository: its unpacked text is compared.
fn is_fresh_packed(file: &str, fresh: &str) {
    kit::generated::compare(file, &packed(fresh), |committed| {
        unpacked(committed) == fresh
    });
}

/// The short forms are the ones inside the programs that users get.
#[test]
fn the_short_forms_of_both_documents_are_committed_and_fresh() {
    is_fresh_packed(
        "server/edge/docs/openapi.min.json.z",
        &openapi::value().to_string(),
    );
    is_fresh_packed(
        "server/edge/docs/asyncapi.min.json.z",
        &asyncapi::value().to_string(),
    );
    is_fresh_packed("server/edge/docs/asyncapi.yaml.z", &asyncapi::document());
}

/// A contract without its descriptions.
fn bare(value: &mut Value) {
    match value {
        Value::Object(members) => {
            // A description is a text; a member of this name has a schema.
            members.retain(|name, it| {
                !(matches!(&**name, "description" | "summary") && it.is_string())
            });
            let parts = members.iter_mut();
            let parts = parts.filter(|(name, _)| !name.starts_with("example"));
            parts.for_each(|(_, part)| bare(part));
        }
        Value::Array(items) => items.iter_mut().for_each(bare),
        _ => {}
    }
}

/// A pass over the words of the contracts changes no line of this file: only a change of the wire does.
#[test]
fn the_contracts_without_their_descriptions_have_these_hashes() {
    let hash = |name: &str, text: &str| {
        let hash = Sha256::digest(text);
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{hex}  {name}\n")
    };
    let mut documents = [openapi::value(), asyncapi::value()];
    documents.iter_mut().for_each(bare);
    let types = catalogue::typescript(&catalogue::Facts::default());
    let is_code = |line: &&str| !line.trim_start().starts_with(['/', '*']);
    let types: Vec<&str> = types.lines().filter(is_code).collect();
    let [http, frames] = documents;
    let fresh = [
        hash("openapi.json", &http.to_string()),
        hash("asyncapi.yaml", &frames.to_string()),
        hash("events.d.ts", &types.join("\n")),
    ];
    generated::is_fresh("openapi/without-descriptions.sha256", &fresh.concat());
}

/// The names of the types that are schemas: of two of one name, the document would have only one.
fn schemas(text: &str) -> Vec<String> {
    let of = |part: &str| {
        let item = part
            .lines()
            .find(|line| line.contains("pub struct ") || line.contains("pub enum "))?;
        let own = item
            .split_once("struct ")
            .or_else(|| item.split_once("enum "))?
            .1;
        // Some have another name in the document.
        let before = part.split_once(item)?.0;
        let name = before.split_once("#[schema(as = ").map_or(own, |it| it.1);
        Some(
            name.split(|it: char| !it.is_alphanumeric() && it != '_')
                .next()?
                .to_owned(),
        )
    };
    let derived = text.split("#[derive(").skip(1);
    derived
        .filter(|part| {
            part.split(")]")
                .next()
                .is_some_and(|list| list.contains("ToSchema"))
        })
        .filter_map(of)
        .collect()
}

#[test]
fn no_two_schemas_of_the_openapi_document_have_one_name() {
    let mut names: Vec<String> = imports::sources()
        .values()
        .flat_map(|text| schemas(text))
        .collect();
    assert!(names.len() > 100, "the schemas are found: {names:?}");
    names.sort();
    let twice: Vec<&String> = names
        .windows(2)
        .filter(|two| two[0] == two[1])
        .map(|two| &two[0])
        .collect();
    assert!(twice.is_empty(), "{twice:?}");
    let twins = "#[derive(Debug, ToSchema)]\npub struct One {}\n#[derive(Debug)]\npub struct Two {}\n#[derive(ToSchema)]\n/// It.\npub enum One {}";
    assert_eq!(schemas(twins), ["One", "One"]);
    let renamed = "#[derive(ToSchema)]\n#[schema(as = New)]\npub enum Kind {}";
    assert_eq!(schemas(renamed), ["New"]);
}

#[test]
fn the_documents_of_events_are_committed_and_fresh() {
    is_fresh(
        "docs/events.md",
        &catalogue::markdown(&catalogue::Facts::default()),
        "facts",
    );
    is_fresh(
        "docs/events.d.ts",
        &catalogue::typescript(&catalogue::Facts::default()),
        "facts --typescript",
    );
}

#[test]
fn d4_01_every_example_of_the_asyncapi_document_is_a_frame_that_the_server_reads_or_writes() {
    let document = asyncapi::value();
    let mut read = 0;
    for (_, operation) in document["operations"].as_object().unwrap() {
        let name = operation["messages"][0]["$ref"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap();
        for example in document["components"]["messages"][name]["examples"]
            .as_array()
            .unwrap()
        {
            let example = &example["payload"];
            match operation["action"].as_str().unwrap() {
                "receive" => {
                    let framed = frame::read(&example.to_string(), &Limits::default(), None);
                    assert!(
                        framed.frame.is_ok(),
                        "{name}: {example}: {:?}",
                        framed.frame
                    );
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
            assert!(
                document.pointer(pointer).is_some(),
                "{reference} leads nowhere"
            );
        }
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            references.extend(
                members
                    .get("$ref")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            members
                .values()
                .for_each(|value| collect(value, references));
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
            let uuid = "00000000-0000-7000-8000-000000000000";
            let place = ["{event_id}", "{id}", "{run}"]
                .iter()
                .fold(path.clone(), |place, name| place.replace(name, uuid))
                .replace("{sha256}", &"0".repeat(64))
                .replace("{task}", "t1")
                .replace("{thread}", "nobody.child")
                .replace(['{', '}'], "");
            let none = Vec::new();
            let parameters = operation["parameters"].as_array().unwrap_or(&none);
            let named = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "query");
            for name in named
                .map(|parameter| parameter["name"].as_str().unwrap())
                .chain(["unheard-of"])
            {
                // A value that only parameters of any text take.
                let request = app.request(&method.to_uppercase(), &format!("{place}?{name}=%21"));
                let request = request.query(&others(operation, name));
                let response = within("an answer", request.send()).await.unwrap();
                let status = response.status();
                // A stream has no end to wait for.
                let text = if status.is_success() {
                    String::new()
                } else {
                    response.text().await.unwrap()
                };
                let what = format!("{method} {path} {name}: {status} {text}");
                assert!(
                    status != 405 && !text.contains("nothing at this address"),
                    "{what}"
                );
                if method == "get"
                    && !matches!(
                        path.as_str(),
                        "/livez" | "/readyz" | "/metrics" | "/metadata"
                    )
                {
                    assert_eq!(
                        text.contains("is not known here"),
                        name == "unheard-of",
                        "{what}"
                    );
                }
            }
        }
    }
}

/// The parameters without which an operation does nothing, but for this one.
fn others(operation: &Value, name: &str) -> Vec<(String, String)> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    let needed =
        all.filter(|it| it["in"] == "query" && it["required"] == true && it["name"] != name);
    needed
        .map(|it| (it["name"].as_str().unwrap().to_owned(), "main".to_owned()))
        .collect()
}

#[test]
fn no_member_of_the_openapi_document_is_null() {
    fn nulls(value: &Value, at: &str, found: &mut Vec<String>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            found.extend(value.is_null().then(|| format!("{at}/{name}")));
            nulls(value, &format!("{at}/{name}"), found);
        }
    }
    let mut found = Vec::new();
    nulls(
        &serde_json::to_value(openapi::value()).unwrap(),
        "",
        &mut found,
    );
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn what_is_closed_is_said_to_be_and_the_stream_has_a_type() {
    let document = serde_json::to_value(openapi::value()).unwrap();
    for closed in [
        "Meta",
        "Event",
        "CreateThread",
        "NewSubmodule",
        "PostMessage",
        "Media",
    ] {
        let schema = &document["components"]["schemas"][closed];
        assert_eq!(schema["additionalProperties"], false, "{closed}: {schema}");
    }
    let asyncapi = asyncapi::value();
    assert_eq!(
        asyncapi["components"]["schemas"]["Meta"]["additionalProperties"],
        false
    );
    assert!(
        serde_json::from_value::<thinkd::event::envelope::Meta>(
            serde_json::json!({ "tags": [], "cause": 1 })
        )
        .is_err()
    );
    let stream = &document["paths"]["/events/stream"]["get"]["responses"]["200"]["content"]["text/event-stream"]
        ["schema"];
    assert_eq!(stream["type"], "array", "{stream}");
    let sent = document["components"]["schemas"]["Sent"]["properties"]
        .as_object()
        .unwrap();
    assert_eq!(sent.keys().collect::<Vec<_>>(), ["data", "id"]);
    assert!(
        sent["data"]
            .to_string()
            .contains("#/components/schemas/Event"),
        "{sent:?}"
    );
}

/// Returns true if a schema of the document accepts the value.
fn fits(document: &Value, schema: &Value, value: &Value) -> bool {
    let mut whole = schema.clone();
    whole["components"] = document["components"].clone();
    jsonschema::options()
        .should_validate_formats(true)
        .build(&whole)
        .unwrap()
        .is_valid(value)
}

// The document draws the same line as the server: what it lets through is not refused for its form, and what it does not is.
#[tokio::test]
async fn the_openapi_document_lets_through_what_the_server_takes_and_nothing_else() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let document = serde_json::to_value(openapi::value()).unwrap();
    let long = "x".repeat(64 << 10);
    let longer = "x".repeat((64 << 10) + 1);
    let texts = [
        "",
        " ",
        "x",
        "\u{85}",
        "a\u{0}b",
        "Ünï",
        "x y",
        "a.b",
        ".a",
        "name-1",
        &long,
        &longer,
        &long[..32],
        &long[..33],
        &long[..36],
        &long[..37],
    ];
    let ids = [
        "0193b6c2-7c2e-7aaa-8000-0123456789ab",
        "0193b6c27c2e7aaa80000123456789ab",
        "x",
        "",
    ];
    let mut bodies: Vec<(&str, &str, Value)> = Vec::new();
    for text in texts {
        for member in [
            "label", "title", "prompt", "policy", "tier", "kind", "commit", "language",
        ] {
            bodies.push((
                "/threads",
                "CreateThread",
                serde_json::json!({ member: text }),
            ));
        }
        bodies.push((
            "/threads",
            "CreateThread",
            serde_json::json!({ "submodules": [text] }),
        ));
        let contact = serde_json::json!({ "name": text, "thread": "main", "description": text });
        bodies.push((
            "/threads",
            "CreateThread",
            serde_json::json!({ "contacts": [contact] }),
        ));
        bodies.push((
            "/submodules",
            "NewSubmodule",
            serde_json::json!({ "name": text, "prompt": "x" }),
        ));
        bodies.push((
            "/submodules",
            "NewSubmodule",
            serde_json::json!({ "name": "x", "prompt": text }),
        ));
        bodies.push((
            "/threads/t/messages",
            "PostMessage",
            serde_json::json!({ "text": text }),
        ));
        bodies.push((
            "/threads/t/messages",
            "PostMessage",
            serde_json::json!({ "text": "x", "id": text.get(..300).unwrap_or(text) }),
        ));
        bodies.push((
            "/threads/t/messages",
            "PostMessage",
            serde_json::json!({ "text": "x", "type": text }),
        ));
        bodies.push((
            "/threads/t/messages",
            "PostMessage",
            serde_json::json!({ "images": [{}] }),
        ));
        bodies.push((
            "/threads/t/messages",
            "PostMessage",
            serde_json::json!({ "text": text, "images": [] }),
        ));
    }
    let when = |when: Value| {
        (
            "/schedules",
            "NewSchedule",
            serde_json::json!({ "name": "s", "when": when }),
        )
    };
    for when_is in [
        serde_json::json!({ "kind": "once", "at": "2999-12-01T09:00:00+01:00" }),
        serde_json::json!({ "kind": "once", "at": "tomorrow" }),
        serde_json::json!({ "kind": "once" }),
        serde_json::json!({ "kind": "every", "seconds": 60 }),
        serde_json::json!({ "kind": "every", "seconds": 60, "start": "2026-01-01T00:00:00Z" }),
        serde_json::json!({ "kind": "every", "seconds": 0 }),
        serde_json::json!({ "kind": "every", "seconds": 60, "zone": "UTC" }),
        serde_json::json!({ "kind": "daily", "time": "09:00", "zone": "Europe/Berlin" }),
        serde_json::json!({ "kind": "daily", "time": "9:00", "zone": "Europe/Berlin" }),
        serde_json::json!({ "kind": "daily", "time": "24:00", "zone": "Europe/Berlin" }),
        serde_json::json!({ "kind": "daily", "time": "09:00", "zone": "Europe/Nowhere" }),
        serde_json::json!({ "kind": "daily", "time": "09:00" }),
        serde_json::json!({ "kind": "weekly", "time": "09:00", "zone": "UTC", "days": ["monday", "friday"] }),
        serde_json::json!({ "kind": "weekly", "time": "09:00", "zone": "UTC", "days": [] }),
        serde_json::json!({ "kind": "weekly", "time": "09:00", "zone": "UTC", "days": ["mon"] }),
        serde_json::json!({ "kind": "monthly", "time": "09:00", "zone": "UTC", "day": 28 }),
        serde_json::json!({ "kind": "monthly", "time": "09:00", "zone": "UTC", "day": "last" }),
        serde_json::json!({ "kind": "monthly", "time": "09:00", "zone": "UTC", "day": 31 }),
        serde_json::json!({ "kind": "monthly", "time": "09:00", "zone": "UTC", "day": "28" }),
        serde_json::json!({ "kind": "yearly" }),
    ] {
        bodies.push(when(when_is));
    }
    let every = serde_json::json!({ "kind": "every", "seconds": 60 });
    for (member, value) in [
        ("catch_up_s", serde_json::json!(0)),
        ("catch_up_s", serde_json::json!(60.5)),
        ("note", serde_json::json!("x".repeat(1001))),
        ("note", serde_json::json!("é".repeat(1000))),
        ("overlap", serde_json::json!("cancel")),
        ("payload", serde_json::json!({ "schedule": 1 })),
        ("payload", serde_json::json!({ "text": 1 })),
        ("payload", serde_json::json!({ "text": "x", "more": [1] })),
        ("event", serde_json::json!("Odd Name")),
        ("cron", serde_json::json!("* * * * *")),
    ] {
        bodies.push((
            "/schedules",
            "NewSchedule",
            serde_json::json!({ "name": "s", "when": every, member: value }),
        ));
    }
    for id in ids {
        bodies.push((
            "/threads/t/messages",
            "PostMessage",
            serde_json::json!({ "text": id, "event_id": id }),
        ));
        bodies.push((
            "/pipelines/summary",
            "StartRun",
            serde_json::json!({ "input": { "thread": "t" }, "event_id": id }),
        ));
    }
    let mut taken = 0;
    let mut refused = 0;
    for (path, schema, body) in bodies {
        let schema = serde_json::json!({ "$ref": format!("#/components/schemas/{schema}") });
        let fits = fits(&document, &schema, &body);
        let answer = app.post(path, body.clone()).await;
        let shown: String = body.to_string().chars().take(200).collect();
        let of_form = matches!(answer.status, 400 | 415);
        assert_eq!(
            !of_form, fits,
            "{path} {shown}: the document says {fits}, the server {}",
            answer.text
        );
        *(if of_form { &mut refused } else { &mut taken }) += 1;
    }
    assert!(taken > 30 && refused > 60, "{taken} {refused}");
    let mut compared = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let parameters = item["get"]["parameters"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for parameter in parameters
            .iter()
            .filter(|it| it["in"] == "query" && it["name"] != "cursor" && !path.contains('{'))
        {
            let name = parameter["name"].as_str().unwrap();
            for given in [
                "",
                " ",
                "0",
                "1",
                "500",
                "501",
                "-1",
                "true",
                "desc",
                "up",
                "user",
                "text",
                "main",
                "Main",
                "9007199254",
                "9007199255",
                "9007199254740992",
            ] {
                let numeric = serde_json::from_str::<Value>(given).unwrap_or_else(|_| given.into());
                let wants_text = parameter["schema"]["type"] == "string"
                    || parameter["schema"].get("$ref").is_some();
                let value = match (name, wants_text) {
                    ("tags", _) => serde_json::json!([given]),
                    (_, true) => given.into(),
                    _ => numeric,
                };
                let fits = fits(&document, &parameter["schema"], &value);
                let request = app
                    .request("GET", path)
                    .query(&[(name, given)])
                    .query(&others(&item["get"], name));
                let response = within("an answer", request.send()).await.unwrap();
                let of_form = response.status() == 400;
                assert_eq!(
                    !of_form,
                    fits,
                    "{path}?{name}={given}: the document says {fits}, the server {}",
                    response.status()
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}
