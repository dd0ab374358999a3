//! Schemas of tools as they are sent: in the form that all providers take, however the tool has it.

use super::*;

/// The function that is sent of a tool with this schema.
fn sent(description: &str, schema: &Value, is_strict: bool) -> Value {
    let tool = ToolSpec {
        name: "t".to_owned(),
        description: description.to_owned(),
        parameters: Json::of(schema),
        is_strict,
    };
    let model = OpenAi::new(Options::new("m-1")).unwrap();
    let request = Request {
        tools: Arc::from([tool]),
        ..request("hello")
    };
    let body: Value = serde_json::from_str(model.prepare(&request).body.as_str()).unwrap();
    body["tools"][0]["function"].clone()
}

fn parameters(schema: &Value, is_strict: bool) -> Value {
    sent("Does it.", schema, is_strict)["parameters"].clone()
}

/// The property `a` of an object, as it is sent where the tool is not strict.
fn property(schema: &Value) -> Value {
    let object = json!({ "type": "object", "properties": { "a": schema }, "required": ["a"] });
    parameters(&object, false)["properties"]["a"].clone()
}

/// Any value.
fn any_value() -> Value {
    json!({ "anyOf": [
        { "type": "string" }, { "type": "number" }, { "type": "boolean" },
        { "type": "array", "items": { "type": "string" } }, { "type": "object", "properties": {} },
    ] })
}

#[test]
fn a_property_has_one_type_and_only_keywords_that_all_take() {
    let cases = [
        (json!({ "type": "string" }), json!({ "type": "string" })),
        (
            json!({ "type": "array" }),
            json!({ "type": "array", "items": any_value() }),
        ),
        (
            json!({ "type": ["array"], "items": {} }),
            json!({ "type": "array", "items": any_value() }),
        ),
        (
            json!({ "type": "array", "items": [{ "type": "string" }, { "type": "integer" }] }),
            json!({ "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "integer" }] } }),
        ),
        (
            json!({ "type": "array", "items": { "type": ["string", "null"] } }),
            json!({ "type": "array", "items": { "type": "string" } }),
        ),
        (json!({}), any_value()),
        (json!(true), any_value()),
        (
            json!({ "type": "object" }),
            json!({ "type": "object", "properties": {} }),
        ),
        (
            json!({ "type": ["string", "integer"], "description": "Either." }),
            json!({ "anyOf": [{ "type": "string", "description": "Either." }, { "type": "integer" }] }),
        ),
        (
            json!({ "const": "x" }),
            json!({ "type": "string", "enum": ["x"] }),
        ),
        (
            json!({ "const": 3 }),
            json!({ "type": "integer", "description": "Always 3." }),
        ),
        (
            json!({ "enum": ["a", "b"] }),
            json!({ "type": "string", "enum": ["a", "b"] }),
        ),
        (
            json!({ "type": "integer", "enum": [1, 2] }),
            json!({ "type": "integer", "description": "One of 1, 2." }),
        ),
        (
            json!({ "enum": ["a", 1] }),
            json!({ "anyOf": [{ "type": "string", "description": "One of \"a\", 1." }, { "type": "integer" }] }),
        ),
        (
            json!({ "type": "string", "enum": ["", "a"] }),
            json!({ "type": "string", "description": "One of \"\", \"a\"." }),
        ),
        (
            json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] }),
            json!({ "type": "string", "enum": ["a", "b"] }),
        ),
        (
            json!({ "type": "integer", "exclusiveMinimum": 0, "maximum": 10, "default": 5, "description": "How many." }),
            json!({ "type": "integer", "description": "How many. (default: 5, maximum: 10, exclusiveMinimum: 0)" }),
        ),
        (
            json!({ "type": "string", "format": "uri", "title": "A", "$comment": "c", "minLength": 1 }),
            json!({ "type": "string", "description": "format: uri, minLength: 1" }),
        ),
        (
            json!({ "type": "object", "additionalProperties": { "type": "integer" } }),
            json!({ "type": "object", "properties": {}, "description": "Any names, each with a value of type integer." }),
        ),
        (
            json!({ "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x", "y"], "additionalProperties": false }),
            json!({ "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x"] }),
        ),
        (
            json!({ "allOf": [{ "type": "object", "properties": { "x": { "type": "string" } } }, { "required": ["x"] }] }),
            json!({ "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x"] }),
        ),
        // What stands beside `anyOf` is refused by some.
        (
            json!({ "type": "string", "description": "When.", "anyOf": [{ "minLength": 3 }, { "type": "integer" }] }),
            json!({ "anyOf": [{ "type": "string", "description": "When. minLength: 3" }, { "type": "integer" }] }),
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(property(&schema), expected, "{schema}");
    }
}

// Whoever may be null is left out of what is required; the tool takes it as absent.
#[test]
fn what_may_be_null_is_optional_or_one_of_two() {
    for nullable in [
        json!({ "type": ["string", "null"] }),
        json!({ "type": "string", "nullable": true }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        json!({ "oneOf": [{ "type": "string" }, { "const": null }] }),
    ] {
        let schema = json!({
            "type": "object", "properties": { "a": nullable, "b": { "type": "integer" } },
            "required": ["a", "b"], "additionalProperties": false,
        });
        assert_eq!(
            parameters(&schema, false),
            json!({
                "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "integer" } }, "required": ["b"],
            }),
            "{nullable}"
        );
        let either = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
        assert_eq!(
            parameters(&schema, true),
            json!({
                "type": "object", "properties": { "a": either, "b": { "type": "integer" } },
                "required": ["a", "b"], "additionalProperties": false,
            }),
            "{nullable}"
        );
    }
    let words = json!({ "type": ["string", "null"], "enum": ["a", null], "description": "One." });
    assert_eq!(
        property(&words),
        json!({ "type": "string", "enum": ["a"], "description": "One." })
    );
}

#[test]
fn alternatives_at_the_top_are_one_object() {
    let top = json!({
        "type": "object",
        "anyOf": [
            { "properties": { "name": { "type": "string" }, "content": { "type": "string" } }, "required": ["name", "content"] },
            { "properties": { "name": { "type": "string" }, "url": { "type": "string" } }, "required": ["name", "url"] },
        ],
    });
    let text = json!({ "type": "string" });
    assert_eq!(
        parameters(&top, false),
        json!({
            "type": "object", "properties": { "name": text, "content": text, "url": text }, "required": ["name"],
            "description": "Give name and content, or name and url.",
        })
    );
    for odd in [
        json!({}),
        json!(null),
        json!(true),
        json!({ "type": "object", "properties": null, "required": null }),
    ] {
        assert_eq!(
            parameters(&odd, false),
            json!({ "type": "object", "properties": {} }),
            "{odd}"
        );
    }
    let schema = parameters(
        &json!({ "$schema": "x", "$defs": { "a": {} }, "type": "object", "not": {} }),
        false,
    );
    assert_eq!(schema, json!({ "type": "object", "properties": {} }));
}

#[test]
fn references_are_put_in_as_far_as_they_go() {
    let schema = json!({
        "type": "object", "properties": { "a": { "$ref": "#/$defs/word", "description": "A word." }, "tree": { "$ref": "#/$defs/node" } },
        "$defs": {
            "word": { "type": "string", "description": "Some word." },
            "node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" } } },
        },
    });
    let next = json!({ "type": "object", "properties": {} });
    assert_eq!(
        parameters(&schema, false)["properties"],
        json!({
            "a": { "type": "string", "description": "A word." },
            "tree": { "type": "object", "properties": { "next": next } },
        })
    );
    // However often it branches, it is bounded.
    let mut bomb = json!({ "type": "object", "$defs": { "x0": { "type": "string" } }, "properties": { "a": { "$ref": "#/$defs/x39" } } });
    for level in 1..40 {
        let below = json!({ "$ref": format!("#/$defs/x{}", level - 1) });
        bomb["$defs"][format!("x{level}")] =
            json!({ "type": "object", "properties": { "a": below, "b": below, "c": below } });
    }
    let bytes = parameters(&bomb, false).to_string().len();
    assert!(bytes < 200_000, "{bytes} bytes");
}

// The limit of a description is 1,024 characters. The rest stands where there is none.
#[test]
fn a_long_description_goes_on_in_the_schema() {
    let long = "Ünd so fort, bis es reicht. ".repeat(60);
    let schema = json!({ "type": "object", "properties": {}, "description": "Arguments." });
    let tool = sent(&long, &schema, false);
    let head = tool["description"].as_str().unwrap();
    let rest = tool["parameters"]["description"].as_str().unwrap();
    assert!(
        head.chars().count() <= 1024 && head.ends_with("reicht."),
        "{head}"
    );
    assert_eq!(
        format!("{head} {}", rest.replace(" Arguments.", "")),
        long.trim()
    );
    assert_eq!(sent("", &schema, false).get("description"), None);
    let solid = "x".repeat(3000);
    assert_eq!(
        sent(&solid, &json!({}), false)["description"]
            .as_str()
            .unwrap()
            .len(),
        1024
    );
}

// Records of before are made again with the bytes of then.
#[test]
fn schemas_as_they_are_told_are_sent_byte_for_byte() {
    let schema = r#"{"type":["object"],"properties":{"a":{"type":["string","null"]}},"description":"As it is."}"#;
    let tool = ToolSpec {
        name: "t".to_owned(),
        description: "d".repeat(2000),
        parameters: serde_json::from_str(schema).unwrap(),
        is_strict: true,
    };
    let request = Request {
        tools: Arc::from([tool]),
        schemas: Schemas::AsTold,
        ..request("hello")
    };
    let body = OpenAi::new(Options::new("m-1"))
        .unwrap()
        .prepare(&request)
        .body;
    let function = format!(
        r#""function":{{"description":"{}","name":"t","parameters":{schema},"strict":true}}"#,
        "d".repeat(2000)
    );
    assert!(body.as_str().contains(&function), "{}", body.as_str());
}

/// Everything about a schema that some provider refuses.
fn faults(schema: &Value, at: &str, found: &mut Vec<String>) {
    let keywords = [
        "type",
        "description",
        "properties",
        "required",
        "items",
        "enum",
        "anyOf",
    ];
    let Some(members) = schema.as_object() else {
        return found.push(format!("{at}: no object"));
    };
    let odd = members
        .keys()
        .filter(|key| !keywords.contains(&key.as_str()));
    found.extend(odd.map(|key| format!("{at}: {key}")));
    match (&schema["type"], &schema["anyOf"]) {
        (Value::String(kind), Value::Null) if kind == "array" => {
            faults(&schema["items"], &format!("{at}/items"), found)
        }
        (Value::String(kind), Value::Null) if kind == "object" => {
            let Some(properties) = schema["properties"].as_object() else {
                return found.push(format!("{at}: no properties"));
            };
            properties
                .iter()
                .for_each(|(name, it)| faults(it, &format!("{at}/{name}"), found));
            let required = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            found.extend(
                required
                    .filter(|it| !properties.contains_key(*it))
                    .map(|it| format!("{at}: required {it}")),
            );
        }
        (Value::String(_), Value::Null) => {}
        (Value::Null, Value::Array(options)) if members.len() == 1 && options.len() > 1 => {
            options
                .iter()
                .for_each(|it| faults(it, &format!("{at}/anyOf"), found));
        }
        _ => found.push(format!("{at}: {schema}")),
    }
}

mod any_schema {
    use proptest::prelude::*;

    use super::*;

    fn schema() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            "string", "integer", "null", "array", "object", "odd", "Number",
        ]);
        let leaf = prop_oneof![
            Just(json!({})),
            Just(json!(true)),
            Just(json!(null)),
            Just(json!("text")),
            word.clone().prop_map(|word| json!({ "type": word })),
            prop::collection::vec(word, 0..3).prop_map(|words| json!({ "type": words })),
            Just(json!({ "enum": ["a", 1, null] })),
            Just(json!({ "const": false })),
            Just(json!({ "$ref": "#" })),
            Just(json!({ "$ref": "#/properties/a" })),
            Just(json!({ "$ref": "#/nowhere" })),
            Just(json!({ "type": "string", "pattern": "^a", "format": "uri", "default": "b" })),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            let name = prop::sample::select(vec!["a", "b", "type", "$ref", "enum"]);
            let many = prop::collection::vec(inner.clone(), 0..4);
            let properties = prop::collection::btree_map(name.clone(), inner.clone(), 0..4);
            prop_oneof![
                (properties, prop::collection::vec(name, 0..3)).prop_map(
                    |(properties, required)| {
                        json!({ "type": "object", "properties": properties, "required": required })
                    }
                ),
                inner
                    .clone()
                    .prop_map(|items| json!({ "type": "array", "items": items })),
                inner.prop_map(|each| json!({ "additionalProperties": each, "description": "d" })),
                (
                    many.clone(),
                    prop::sample::select(vec!["anyOf", "oneOf", "allOf"])
                )
                    .prop_map(|(many, key)| json!({ key: many, "description": "d" })),
                (many, prop::sample::select(vec!["anyOf", "oneOf", "allOf"])).prop_map(
                    |(many, key)| json!({ key: many, "type": "object", "properties": { "a": {} } })
                ),
            ]
        })
    }

    proptest! {
        /// A schema of any form is sent without anything that some provider refuses.
        #[test]
        fn is_sent_as_all_take_it(schema in schema()) {
            let formed = parameters(&schema, false);
            let mut found = Vec::new();
            faults(&formed, "", &mut found);
            prop_assert!(found.is_empty() && formed["type"] == "object", "{found:?} of {formed}");
        }
    }
}
