//! The schemas of the tools, held against the rules of strict function calling.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use thinkd::model::prompt::Prompts;
use thinkd::tools::catalogue::{self, Chosen, DECISIONS};
use thinkd::tools::tool::{CallSite, Effect, Output, Spec, Typed};
use thinkd::words::failure::Failure;

use kit::Medium;

/// Keywords that every provider of strict function calling knows.
const KEYWORDS: [&str; 9] = [
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
];
const TYPES: [&str; 7] = [
    "object", "array", "string", "integer", "number", "boolean", "null",
];

/// Finds the faults of a schema, each with its place.
fn faults(schema: &Value, at: &str, found: &mut Vec<String>) {
    let Some(members) = schema.as_object() else {
        return found.push(format!("{at}: no object"));
    };
    let unknown = members
        .keys()
        .filter(|key| !KEYWORDS.contains(&key.as_str()));
    found.extend(unknown.map(|key| format!("{at}: the keyword {key}")));
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null if schema.get("anyOf").is_some() || schema.get("const").is_some() => Vec::new(),
        one => vec![one.clone()],
    };
    let is_type = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    found.extend(
        types
            .iter()
            .filter(|name| !is_type(name))
            .map(|name| format!("{at}: the type {name}")),
    );
    if types.contains(&json!("object")) {
        object_faults(schema, at, found);
    }
    if types.contains(&json!("array")) {
        faults(&schema["items"], &format!("{at}/items"), found);
    }
    for (index, option) in schema["anyOf"].as_array().into_iter().flatten().enumerate() {
        faults(option, &format!("{at}/anyOf/{index}"), found);
    }
}

fn object_faults(schema: &Value, at: &str, found: &mut Vec<String>) {
    let Some(properties) = schema["properties"].as_object() else {
        return found.push(format!("{at}: no properties"));
    };
    let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
    let mut required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    names.sort_unstable();
    required.sort_unstable();
    if names != required {
        found.push(format!("{at}: required are {required:?} of {names:?}"));
    }
    if schema["additionalProperties"] != json!(false) {
        found.push(format!("{at}: more properties are allowed"));
    }
    for (name, property) in properties {
        faults(property, &format!("{at}/{name}"), found);
    }
}

fn all_faults(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    faults(schema, "", &mut found);
    found
}

#[test]
fn tool_schemas_are_strict() {
    let prompts = Prompts::load(None).unwrap();
    let specs = catalogue::built_in().specs(&prompts).unwrap();
    assert!(specs.len() > 20, "the control: there are tools");
    for spec in specs.into_iter().map(|spec| spec.told) {
        let schema: Value = serde_json::from_str(spec.parameters.as_str()).unwrap();
        assert_eq!(
            all_faults(&schema),
            Vec::<String>::new(),
            "{}: {schema:#}",
            spec.name
        );
        assert_eq!(schema["type"], "object", "{}", spec.name);
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(
            (1..=64).contains(&spec.name.len()) && spec.name.chars().all(is_name),
            "{}",
            spec.name
        );
        assert!(
            !spec.description.trim().is_empty(),
            "{} says nothing of itself",
            spec.name
        );
    }
}

/// Documented for its readers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Documented {
    /// A comment.
    mode: Mode,
    /// Another.
    list: Vec<Item>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// One way.
    Fast,
    /// Another way.
    Slow,
}

/// One of several.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Item {
    /// The name of the item; not its look.
    description: String,
}

struct Explained;
struct Unexplained;

impl Typed for Explained {
    type Input = Documented;
    const NAME: &'static str = "own";
    const PROMPT: &'static str = "Do it.\n\n## mode\nHow.\n\n## list\n";
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, _: Documented, _: &CallSite) -> Result<Output, Failure> {
        Ok(Output::default())
    }
}

impl Typed for Unexplained {
    type Input = Documented;
    const NAME: &'static str = "own";
    const PROMPT: &'static str = "Do it.\n\n## mode\nHow.\n";
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, _: Documented, _: &CallSite) -> Result<Output, Failure> {
        Ok(Output::default())
    }
}

/// The tools of the server, told in the words of a folder of prompts.
fn told(folder: Option<&Path>) -> Result<Vec<Spec>, String> {
    let prompts = Prompts::load(folder).map_err(|error| error.to_string())?;
    catalogue::built_in()
        .specs(&prompts)
        .map_err(|error| error.to_string())
}

fn parameters(specs: &[Spec], name: &str) -> Value {
    let spec = specs.iter().find(|spec| spec.name() == name).unwrap();
    serde_json::from_str(spec.told.parameters.as_str()).unwrap()
}

// What a model is told of an argument stands in a prompt; no comment of the code gets there.
#[test]
fn what_a_model_is_told_of_an_argument_is_in_the_tools_prompt_alone() {
    let prompts = Prompts::load(None).unwrap();
    let specs = catalogue::built_in()
        .with(DECISIONS, |_| Explained)
        .specs(&prompts)
        .unwrap();
    let item = json!({ "type": "object", "properties": { "description": { "type": "string" } }, "required": ["description"], "additionalProperties": false });
    let mode = json!({ "type": "string", "enum": ["fast", "slow"], "description": "How." });
    let properties = json!({ "mode": mode, "list": { "type": "array", "items": item } });
    assert_eq!(parameters(&specs, "own")["properties"], properties);
    assert_eq!(
        parameters(&specs, "ask")["properties"]["submodule"]["description"],
        "Its name.",
        "the control"
    );
}

#[test]
fn every_argument_of_a_tool_has_a_section_of_its_prompt_and_every_section_an_argument() {
    assert!(told(None).unwrap().len() > 20, "those of the server");
    let prompts = Prompts::load(None).unwrap();
    let own = catalogue::built_in().with(DECISIONS, |_| Unexplained);
    let refused = own.check(&prompts, &Chosen::default()).unwrap_err();
    assert!(
        refused.contains("tools/own.md") && refused.contains("{list, mode}"),
        "{refused}"
    );
    let folder = Medium::sqlite();
    let tools = folder.folder().join("tools");
    std::fs::create_dir_all(&tools).unwrap();
    // A file that only says what the tool is for leaves the rest as it was.
    std::fs::write(
        tools.join("ask.md"),
        "---\nabout: mine\n---\nAsk somebody.\n",
    )
    .unwrap();
    let specs = told(Some(folder.folder())).unwrap();
    let ask = specs.iter().find(|spec| spec.name() == "ask").unwrap();
    assert_eq!(ask.told.description, "Ask somebody.");
    assert_eq!(
        parameters(&specs, "ask"),
        parameters(&told(None).unwrap(), "ask")
    );
    std::fs::write(tools.join("ask.md"), "Ask.\n\n## submodule\nWho.\n").unwrap();
    let specs = told(Some(folder.folder())).unwrap();
    assert_eq!(
        parameters(&specs, "ask")["properties"]["submodule"]["description"],
        "Who."
    );
    for (file, text, word) in [
        ("ask.md", "Ask.\n\n## voice\nWho.\n", "submodule, voice"),
        ("ask.md", " \n", "ask.md is empty"),
        ("ask.md", "## submodule\nWho.\n", "ask.md is empty"),
        ("fly.md", "Fly.\n", "fly.md is not a prompt"),
    ] {
        std::fs::write(tools.join(file), text).unwrap();
        let refused = told(Some(folder.folder())).unwrap_err();
        assert!(refused.contains(word), "{file} {text:?}: {refused}");
        std::fs::remove_file(tools.join(file)).unwrap();
    }
    assert!(
        told(Some(folder.folder())).is_ok(),
        "the control: nothing else was wrong"
    );
}

#[test]
fn what_is_not_strict_is_found() {
    let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let text = json!({ "type": ["string", "null"], "description": "words" });
    assert_eq!(
        all_faults(&object(json!({ "text": text }), json!(["text"]))),
        Vec::<String>::new(),
        "the control"
    );
    let open = json!({ "type": "object", "properties": {}, "required": [] });
    for (schema, expected) in [
        (
            object(json!({ "text": text }), json!([])),
            ": required are [] of [\"text\"]",
        ),
        (open.clone(), ": more properties are allowed"),
        (
            object(
                json!({ "list": { "type": "array", "items": open } }),
                json!(["list"]),
            ),
            "/list/items: more properties are allowed",
        ),
        (
            object(
                json!({ "n": { "type": "integer", "minimum": 1 } }),
                json!(["n"]),
            ),
            "/n: the keyword minimum",
        ),
        (
            object(json!({ "n": { "type": "int" } }), json!(["n"])),
            "/n: the type \"int\"",
        ),
        (
            object(json!({ "n": {} }), json!(["n"])),
            "/n: the type null",
        ),
        (object(json!({ "n": true }), json!(["n"])), "/n: no object"),
        (json!({ "type": "object" }), ": no properties"),
    ] {
        assert_eq!(all_faults(&schema), [expected]);
    }
}
