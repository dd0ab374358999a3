//! Arguments as a tool's own schema has them. Requests carry schemas in another form (`model/schema_form.rs`), in which an
//! optional member may be null, and a nullable one absent: here each becomes the other again. Pure.

use serde_json::{Map, Value};

/// Deepest arguments that are looked into.
const DEPTH_MAX: usize = 24;

/// Returns the arguments without members that are null although the schema wants none, and with null where it wants that.
pub fn fitted(schema: &Value, mut arguments: Value) -> Value {
    let root = schema;
    fit(root, schema, &mut arguments, 0);
    arguments
}

fn fit(root: &Value, schema: &Value, value: &mut Value, depth: usize) {
    if depth > DEPTH_MAX {
        return;
    }
    let schema = resolved(root, schema);
    match value {
        Value::Object(members) => fit_object(root, schema, members, depth),
        Value::Array(items) => {
            if let Some(of) = schema.get("items") {
                let each = |item: &mut Value| fit(root, of, item, depth + 1);
                items.iter_mut().for_each(each);
            }
        }
        _ => {}
    }
}

fn fit_object(root: &Value, schema: &Value, members: &mut Map<String, Value>, depth: usize) {
    let nothing = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    for (name, property) in properties.unwrap_or(&nothing) {
        let names = |it: &Value| it.as_str() == Some(name);
        let is_required = required.is_some_and(|required| required.iter().any(names));
        let property = resolved(root, property);
        match (members.get_mut(name), is_required) {
            (Some(Value::Null), false) if refuses_null(root, property) => {
                drop(members.remove(name))
            }
            (None, true) if says_null(root, property) => {
                members.insert(name.clone(), Value::Null);
            }
            (Some(value), _) => fit(root, property, value, depth + 1),
            (None, _) => {}
        }
    }
}

/// The schema that a reference names; itself where it is none.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut at = schema;
    for _ in 0..DEPTH_MAX {
        let reference = at.get("$ref").and_then(Value::as_str);
        let named = reference.and_then(|it| root.pointer(it.strip_prefix('#')?));
        match named {
            Some(named) => at = named,
            None => break,
        }
    }
    at
}

/// True for a schema that names null among its values.
fn says_null(root: &Value, schema: &Value) -> bool {
    let of_any = |key: &str| {
        let options = schema.get(key).and_then(Value::as_array);
        let takes = |option: &Value| says_null(root, resolved(root, option));
        options.is_some_and(|options| options.iter().any(takes))
    };
    let is_listed = |key: &str, null: &Value| match schema.get(key) {
        Some(Value::Array(list)) => list.contains(null),
        Some(one) => one == null,
        None => false,
    };
    schema["nullable"] == true
        || is_listed("type", &"null".into())
        || is_listed("enum", &Value::Null)
        || is_listed("const", &Value::Null)
        || of_any("anyOf")
        || of_any("oneOf")
}

/// True for a schema that names its values, and null is none of them.
fn refuses_null(root: &Value, schema: &Value) -> bool {
    let keys = ["type", "enum", "const", "anyOf", "oneOf"];
    keys.iter().any(|key| schema.get(*key).is_some()) && !says_null(root, schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_and_absent_become_what_the_schema_says() {
        let schema = json!({
            "type": "object",
            "properties": {
                "optional": { "type": "string" }, "nullable": { "type": ["string", "null"] },
                "either": { "anyOf": [{ "$ref": "#/$defs/word" }, { "type": "null" }] },
                "any": {}, "needed": { "type": "string" },
                "list": { "type": "array", "items": { "$ref": "#/$defs/item" } },
            },
            "required": ["nullable", "either", "any", "needed"],
            "$defs": {
                "word": { "type": "string" },
                "item": { "type": "object", "properties": { "of": { "$ref": "#/$defs/word" } } },
            },
        });
        let given =
            json!({ "optional": null, "needed": null, "list": [{ "of": null }, { "of": "x" }] });
        let fits = json!({
            "nullable": null, "either": null, "needed": null, "list": [{}, { "of": "x" }],
        });
        assert_eq!(fitted(&schema, given), fits);
        assert_eq!(fitted(&schema, fits.clone()), fits, "they stay so");
        let whole = json!({ "optional": "a", "nullable": "b", "either": "c", "any": null });
        assert_eq!(fitted(&schema, whole.clone()), whole);
        for odd in [json!(null), json!("text"), json!([1])] {
            assert_eq!(fitted(&schema, odd.clone()), odd);
        }
        assert_eq!(
            fitted(&json!({ "$ref": "#" }), json!({ "a": null })),
            json!({ "a": null })
        );
    }
}
