//! The checks of a schema that are made here. A part that is not understood (a pattern of JavaScript, a keyword of another draft, null for nothing) costs
//! its own check and no other, and its author makes that. Arguments that fit the whole schema fit these checks. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::validator;

/// The types that a value can have.
const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "string", "integer",
];

/// The part of a schema that is understood.
pub struct Understood {
    /// The checks, as a schema.
    pub checks: Value,
    /// True for a schema that refers to another place.
    pub leads_away: bool,
}

/// Returns the checks of a schema that are made here.
pub fn known(schema: &Value) -> Understood {
    match Reading::whole(schema, true) {
        (known, true) => known,
        // What a reference stands for may have lost a check, too.
        _ => Reading::whole(schema, false).0,
    }
}

/// The checks of a part, and true if they are all of it.
struct Part {
    checks: Value,
    is_all: bool,
}

struct Reading<'a> {
    root: &'a Value,
    /// References count as understood.
    trusts: bool,
    leads_away: bool,
    /// The parts that are referred to, by the pointers to them, in the order in which they were met.
    named: BTreeMap<&'a str, usize>,
    order: Vec<&'a Value>,
}

impl<'a> Reading<'a> {
    /// Returns the part that is understood, and true if that is all of it.
    fn whole(root: &'a Value, trusts: bool) -> (Understood, bool) {
        let mut reading = Self {
            root,
            trusts,
            leads_away: false,
            named: BTreeMap::new(),
            order: Vec::new(),
        };
        let Part {
            mut checks,
            mut is_all,
        } = reading.part(root);
        let mut named = Map::new();
        let mut next = 0;
        while let Some(part) = reading.order.get(next).copied() {
            let part = reading.part(part);
            is_all &= part.is_all;
            named.insert(next.to_string(), part.checks);
            next += 1;
        }
        if let (Some(members), false) = (checks.as_object_mut(), named.is_empty()) {
            members.insert("$defs".to_owned(), named.into());
        }
        let known = Understood {
            checks,
            leads_away: reading.leads_away,
        };
        (known, is_all)
    }

    fn part(&mut self, schema: &'a Value) -> Part {
        // References inside a part with an address of its own go by that.
        let is_own = |members: &Map<String, Value>| {
            !std::ptr::eq(schema, self.root) && members.get("$id").is_some_and(Value::is_string)
        };
        let members = match schema {
            Value::Object(members) if !is_own(members) => members,
            Value::Bool(_) => {
                return Part {
                    checks: schema.clone(),
                    is_all: true,
                };
            }
            _ => {
                return Part {
                    checks: json!({}),
                    is_all: false,
                };
            }
        };
        let mut kept = Map::new();
        let mut is_all = true;
        for (key, value) in members {
            if value.is_null() && key != "const" {
                continue;
            }
            match self.keyword(key, value) {
                None => is_all = false,
                Some((checks, true)) => drop(kept.insert(key.clone(), checks)),
                Some((checks, false)) => {
                    is_all = false;
                    weakened(key, checks, &mut kept);
                }
            }
        }
        kept.retain(|key, checks| !checks.is_null() || key == "const");
        let patterns = members.get("patternProperties").and_then(Value::as_object);
        if patterns.is_some_and(|all| !all.keys().all(|it| is_pattern(it))) {
            // What a lost one would have taken is not left to it.
            kept.remove("additionalProperties");
        }
        if !is_all {
            // They go by what the others took.
            kept.remove("unevaluatedProperties");
            kept.remove("unevaluatedItems");
        }
        if !kept.contains_key("if") {
            kept.remove("then");
            kept.remove("else");
        }
        Part {
            checks: kept.into(),
            is_all,
        }
    }

    /// The checks of a member of a schema, and true if they are all of it; null: it checks nothing. None: it is not understood.
    fn keyword(&mut self, key: &str, value: &'a Value) -> Option<(Value, bool)> {
        let whole = |is_such: bool| is_such.then(|| (value.clone(), true));
        match key {
            "const" => whole(true),
            "enum" => whole(value.is_array()),
            "type" => types(value).map(|types| (types, true)),
            "required" => names(value).map(|names| (names, true)),
            "uniqueItems" => whole(value.is_boolean()),
            "pattern" => whole(value.as_str().is_some_and(is_pattern)),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                whole(value.is_number())
            }
            "multipleOf" => whole(value.as_f64().is_some_and(|number| number > 0.0)),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" | "minContains" | "maxContains" => whole(
                value
                    .as_f64()
                    .is_some_and(|it| it >= 0.0 && it.fract() == 0.0),
            ),
            "$ref" => self.reference(value),
            "items"
            | "additionalProperties"
            | "propertyNames"
            | "contains"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties" => {
                if !value.is_object() && !value.is_boolean() {
                    return None;
                }
                let part = self.part(value);
                Some((part.checks, part.is_all))
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let parts = value.as_array()?.iter();
                let parts: Vec<Part> = parts.map(|part| self.part(part)).collect();
                let is_all = parts.iter().all(|part| part.is_all);
                let checks: Vec<Value> = parts.into_iter().map(|part| part.checks).collect();
                Some((list(checks), is_all))
            }
            "properties" | "dependentSchemas" | "patternProperties" => {
                let mut is_all = true;
                let mut each = Map::new();
                for (name, part) in value.as_object()? {
                    let is_known = key != "patternProperties" || is_pattern(name);
                    let part = self.part(part);
                    is_all &= is_known && part.is_all;
                    if is_known {
                        each.insert(name.clone(), part.checks);
                    }
                }
                Some((each.into(), is_all))
            }
            "dependentRequired" => {
                let each = value.as_object()?.iter();
                let each = each.map(|(name, needs)| Some((name.clone(), names(needs)?)));
                Some((Value::Object(each.collect::<Option<_>>()?), true))
            }
            "dependencies" | "additionalItems" | "$dynamicRef" | "$recursiveRef" => None,
            // It says something, and checks nothing; or it is nothing that is known.
            _ => Some((Value::Null, true)),
        }
    }

    /// A reference into the schema, which is followed; no other one is.
    fn reference(&mut self, value: &'a Value) -> Option<(Value, bool)> {
        let reference = value.as_str()?;
        let id = self
            .root
            .get("$id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let reference = reference.strip_prefix(id).unwrap_or(reference);
        let Some(pointer) = reference.strip_prefix('#') else {
            self.leads_away = true;
            return None;
        };
        let named = self.root.pointer(pointer)?;
        let next = self.order.len();
        let number = *self.named.entry(pointer).or_insert(next);
        if number == next {
            self.order.push(named);
        }
        Some((format!("#/$defs/{number}").into(), self.trusts))
    }
}

/// Keeps a member that lost a check, if it refuses nothing that the whole one takes.
fn weakened(key: &str, checks: Value, kept: &mut Map<String, Value>) {
    match key {
        // To refuse more inside is to take more outside, and the other way round.
        "not" | "if" | "contains" => {}
        "oneOf" => drop(kept.entry("anyOf").or_insert(checks)),
        _ => drop(kept.insert(key.to_owned(), checks)),
    }
}

/// A list of schemas; an empty one checks nothing.
fn list(checks: Vec<Value>) -> Value {
    if checks.is_empty() {
        Value::Null
    } else {
        checks.into()
    }
}

fn types(value: &Value) -> Option<Value> {
    let is_type = |it: &Value| it.as_str().is_some_and(|it| TYPES.contains(&it));
    match value {
        Value::Array(list) if !list.is_empty() && list.iter().all(is_type) => names(value),
        one => is_type(one).then(|| one.clone()),
    }
}

/// A list of names, each once.
fn names(value: &Value) -> Option<Value> {
    let list = value.as_array()?.iter().map(Value::as_str);
    let list: BTreeSet<&str> = list.collect::<Option<_>>()?;
    Some(list.into_iter().map(Value::from).collect())
}

fn is_pattern(pattern: &str) -> bool {
    validator(&json!({ "pattern": pattern })).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::fits;

    #[test]
    fn what_is_not_understood_costs_its_check_alone() {
        let odd = |odd: Value| {
            let number = json!({ "type": "number" });
            json!({ "type": "object", "properties": { "a": odd, "n": number }, "required": ["n"] })
        };
        let all = [
            json!({ "type": "string", "pattern": "^(?!-)[a-z]+$" }),
            json!({ "type": "array", "items": [{ "type": "string" }] }),
            json!({ "type": "String" }),
            json!({ "type": "string", "minLength": "1", "required": true, "enum": "a" }),
            json!({ "type": "number", "minimum": 1, "exclusiveMinimum": true }),
            json!({ "not": { "pattern": "(?=b)" } }),
            json!({ "oneOf": [{ "pattern": "(?=b)" }, { "pattern": "(?!b)" }] }),
            json!({ "if": { "pattern": "(?=b)" }, "then": false, "else": false }),
            json!({ "contains": { "pattern": "(?=b)" }, "maxContains": 0 }),
            json!({ "patternProperties": { "(?=b)": {} }, "additionalProperties": false }),
            json!({ "allOf": [{ "$ref": "#node" }], "unevaluatedProperties": false }),
            json!({ "$ref": "#/nowhere" }),
            json!({ "$ref": "#/properties/a" }),
            json!({ "allOf": [{ "$ref": "#/properties/a" }] }),
            json!({ "not": { "$ref": "#/properties/x" } }),
            json!({ "$dynamicRef": "#node", "$dynamicAnchor": "node" }),
            json!({ "enum": null, "type": null, "items": null, "properties": null }),
            json!({ "properties": { "$ref": "text", "b": "text", "$id": { "type": "string" } } }),
            json!({ "const": { "$ref": "http://elsewhere" } }),
            json!("text"),
            json!(null),
        ];
        for part in all {
            let schema = odd(part.clone());
            let values = [json!("b"), json!(2), json!(["b"]), json!({ "b": 1 })];
            let is_taken = |value: &Value| fits(&schema, &json!({ "a": value, "n": 1 })).is_ok();
            assert!(
                part.get("const").is_some() || values.iter().any(is_taken),
                "{part}"
            );
            let other = json!({ "a": "b", "n": "text" });
            assert!(fits(&schema, &other).is_err(), "the other checks: {part}");
            assert!(!known(&schema).leads_away, "{part}");
        }
    }

    #[test]
    fn what_names_itself_is_checked_all_the_way_down() {
        let of = json!({ "type": "array", "items": { "$ref": "#/definitions/node" } });
        let node = json!({
            "type": "object",
            "properties": { "name": { "type": "string" }, "of": of },
            "required": ["name"],
        });
        let schema = json!({
            "$id": "https://x.example/tree.json",
            "properties": { "root": { "$ref": "https://x.example/tree.json#/definitions/node" } },
            "definitions": { "node": node },
        });
        let good = json!({ "root": { "name": "a", "of": [{ "name": "b", "of": [] }] } });
        assert_eq!(fits(&schema, &good), Ok(()));
        let wrong = json!({ "root": { "name": "a", "of": [{ "name": "b", "of": [{}] }] } });
        assert!(fits(&schema, &wrong).unwrap_err().contains("name"));
    }
}
