//! Schemas of which a part is not understood: the check is left to the server, and the tool is there. Every `on_sqlite!` is two `#[tokio::test]`s, one a
//! database.

use super::*;

/// Schemas with an argument `x`, and arguments that their servers take.
fn odd() -> Vec<(&'static str, Value, Value)> {
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    let x = |x: Value| object(json!({ "x": x }));
    let text = json!({ "type": "string" });
    let with = |key: &str, value: Value| {
        let mut schema = x(text.clone());
        schema[key] = value;
        schema
    };
    let node = json!({ "type": "object", "properties": { "of": { "$ref": "#/$defs/node" } } });
    let mut tree = x(json!({ "$ref": "#/$defs/node" }));
    tree["$defs"] = json!({ "node": node });
    let plain = json!({ "x": "owl" });
    let one = json!({ "$ref": "https://example.com/#/nowhere" });
    vec![
        (
            "ahead",
            x(json!({ "type": "string", "pattern": "^(?!-)[a-z0-9-]+$" })),
            plain.clone(),
        ),
        (
            "behind",
            x(json!({ "type": "string", "pattern": "(?<=o)wl" })),
            plain.clone(),
        ),
        (
            "again",
            x(json!({ "type": "string", "pattern": "^(o)\\1*wl$" })),
            plain.clone(),
        ),
        ("required", with("required", Value::Null), plain.clone()),
        (
            "properties",
            json!({ "type": "object", "properties": null }),
            plain.clone(),
        ),
        (
            "kind",
            json!({ "type": null, "properties": { "x": text } }),
            plain.clone(),
        ),
        (
            "nullable",
            json!({ "type": ["object", "null"], "properties": { "x": text } }),
            plain.clone(),
        ),
        (
            "items",
            x(json!({ "type": "array", "items": null })),
            json!({ "x": ["a"] }),
        ),
        (
            "tuple",
            x(json!({ "type": "array", "items": [text, text] })),
            json!({ "x": ["a", "b"] }),
        ),
        (
            "bounds",
            x(json!({ "type": "number", "minimum": 1, "exclusiveMinimum": true })),
            json!({ "x": 2 }),
        ),
        (
            "each",
            x(json!({ "type": "string", "required": true })),
            plain.clone(),
        ),
        (
            "id",
            object(json!({ "$id": text, "x": text })),
            json!({ "$id": "1", "x": "2" }),
        ),
        ("top", with("$id", "tools/top".into()), plain.clone()),
        (
            "anchor",
            object(json!({ "$anchor": text, "$ref": text, "x": text })),
            json!({ "$ref": "1" }),
        ),
        (
            "data",
            x(json!({ "type": "object", "default": one, "examples": [one] })),
            json!({ "x": one }),
        ),
        (
            "constant",
            x(json!({ "enum": [one, "owl"] })),
            plain.clone(),
        ),
        ("tree", tree, json!({ "x": { "of": { "of": {} } } })),
        (
            "self",
            x(json!({ "$ref": "#" })),
            json!({ "x": { "x": {} } }),
        ),
        (
            "dynamic",
            with("$dynamicAnchor", "node".into()),
            plain.clone(),
        ),
        ("nowhere", x(json!({ "$ref": "#/$defs/Gone" })), plain),
    ]
}

on_sqlite!(
    t1_04_a_part_of_a_schema_that_is_not_understood_costs_its_check_alone,
    |medium| {
        let listed = |(name, schema, _): &(&str, Value, Value)| json!({ "name": name, "inputSchema": schema });
        let server = ToolServer::start(odd().iter().map(listed).collect()).await;
        let stub = Stub::start().await;
        let setup = setup(medium, &stub, &server, "");
        let app = setup.start().await;
        for (name, _, arguments) in odd() {
            let called = format!("mcp__it__{name}");
            stub.clear();
            stub.script(
                decision,
                [call_raw(&called, &arguments.to_string()), reply("Done.")],
            );
            app.tell(name).await;
            let log = app.public_log().await;
            let result = one(&log, &["result", &format!("tool:{called}")]);
            assert_eq!(
                result["payload"]["output"],
                "done",
                "{name}: {}",
                story(&log)
            );
            let heard = server.heard("tools/call").pop().unwrap();
            assert_eq!(heard["params"]["arguments"], arguments, "{name}");
        }
        let tools = app.get("/tools").await.expect(200)["items"].clone();
        for (name, schema, _) in odd() {
            let shown = tools.as_array().unwrap().iter();
            let mut shown = shown.filter(|shown| shown["name"] == format!("mcp__it__{name}"));
            let shown = shown.next().unwrap();
            assert_eq!(shown["state"], "ready", "{shown}");
            for (key, value) in schema
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, value)| !value.is_null())
            {
                assert_eq!(
                    shown["schema"][key], *value,
                    "it is as its server says it: {shown}"
                );
            }
        }
    }
);

on_sqlite!(
    t1_04_checks_that_are_understood_stand_beside_those_that_are_not,
    |medium| {
        let slug = json!({ "type": "string", "pattern": "^(?!-)[a-z]+$", "maxLength": 5 });
        let schema = json!({ "type": "object", "properties": { "x": slug }, "required": ["x"] });
        let server = ToolServer::start(vec![json!({ "name": "say", "inputSchema": schema })]).await;
        let stub = Stub::start().await;
        let app = setup(medium, &stub, &server, "").start().await;
        for (at, wrong) in [json!({ "x": "toolong" }), json!({}), json!({ "x": {} })]
            .iter()
            .enumerate()
        {
            stub.clear();
            stub.script(
                decision,
                [call_raw("mcp__it__say", &wrong.to_string()), reply("Done.")],
            );
            app.tell("go").await;
            let log = app.public_log().await;
            let results = with(&log, &["result", "tool:mcp__it__say"]);
            let problem = &results[at]["payload"]["problem"];
            assert_eq!(
                problem["detail"]["reason"],
                "invalid_arguments",
                "{wrong}: {}",
                story(&log)
            );
        }
        assert!(server.heard("tools/call").is_empty(), "nothing is sent");
    }
);
