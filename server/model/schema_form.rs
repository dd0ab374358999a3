//! Schemas of tools in the form that all providers take. The tool keeps its own schema; a request gets a copy that has only
//! `type`, `description`, `properties`, `required`, `items`, `enum` and `anyOf`, and in strict schemas `additionalProperties`.
//! Other limits of a value stand in its description, and the tool checks them.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::cache::Cache;
use super::provider::ToolSpec;
use parts::{
    Members, any_of, guessed, is_null, kinds, list, members, merge, or_null, taken_list, together,
    unique, values,
};
use thinkd_words::text::Json;
use words::{describe, said, split, words_of};

mod parts;
mod words;

/// The number of this form. A record of a call has it, so that the call can be made again byte for byte.
pub const FORM: u64 = 1;

/// Deepest schema; deeper parts take any value.
const DEPTH_MAX: usize = 24;
/// Most parts of a schema; further ones take any value.
const PARTS_MAX: usize = 1000;
/// Most schemas that are kept in each form.
const KEPT_MAX: usize = 2000;

/// Forms, plain and strict, by the schemas that they were made of: each call offers the same tools.
static KEPT: LazyLock<[Cache<String, Json, KEPT_MAX>; 2]> = LazyLock::new(Default::default);

/// A tool's description and schema as they are sent.
pub(super) fn of(tool: &ToolSpec, is_strict: bool) -> (Cow<'_, str>, Json) {
    let (head, rest) = split(tool.description.trim());
    let told = tool.parameters.as_str();
    let key = match rest {
        "" => Cow::Borrowed(told),
        rest => format!("{told} {rest}").into(),
    };
    let kept = &KEPT[usize::from(is_strict)];
    let parameters = kept.get(&*key).unwrap_or_else(|| {
        let schema: Value = serde_json::from_str(told).unwrap_or_default();
        let parameters = Json::of(&formed(rest, &schema, is_strict));
        kept.insert(key.into_owned(), parameters.clone());
        parameters
    });
    (head.into(), parameters)
}

/// A schema as it is sent. Of a long description the rest begins that of the schema, so that no word of it is lost.
fn formed(rest: &str, schema: &Value, is_strict: bool) -> Members {
    let mut parameters = parameters(schema, is_strict);
    describe(&mut parameters, rest, true);
    parameters
}

/// The schema of the arguments of a tool: always of an object.
fn parameters(schema: &Value, is_strict: bool) -> Members {
    let form = Form {
        root: schema,
        is_strict,
        left: Cell::new(PARTS_MAX),
    };
    let mut top = form.plain(schema, &[]);
    let options = taken_list(&mut top.members, "anyOf");
    form.flatten(&mut top, &options);
    let words = words_of(&top.members);
    let mut object = form.object(&top, 0);
    describe(&mut object, &words, false);
    object
}

/// A schema with its references and parts of `allOf` put in, and the references that led to it.
struct Plain {
    members: Members,
    open: Vec<String>,
}

/// A schema as it is sent, but for whether null is a value, too.
struct Shape {
    members: Members,
    takes_null: bool,
}

struct Form<'a> {
    root: &'a Value,
    is_strict: bool,
    left: Cell<usize>,
}

impl Form<'_> {
    fn is_spent(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left == 0
    }

    fn plain(&self, schema: &Value, open: &[String]) -> Plain {
        let mut members = schema.as_object().cloned().unwrap_or_default();
        let mut open = open.to_vec();
        while let Some(Value::String(reference)) = members.get("$ref").cloned() {
            members.remove("$ref");
            let named = reference.strip_prefix('#');
            let named = named.and_then(|pointer| self.root.pointer(pointer));
            let Some(named) = named.and_then(Value::as_object) else {
                break;
            };
            if open.contains(&reference) || self.is_spent() {
                // It names itself: at some depth there is only an object, or any value.
                if let Some(kind) = named.get("type") {
                    members.entry("type").or_insert_with(|| kind.clone());
                }
                break;
            }
            open.push(reference);
            for (key, value) in named {
                members.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        for part in taken_list(&mut members, "allOf") {
            if !self.is_spent() {
                let part = self.plain(&part, &open);
                open = part.open;
                merge(&mut members, part.members);
            }
        }
        let one_of = taken_list(&mut members, "oneOf");
        if !one_of.is_empty() {
            members.entry("anyOf").or_insert(Value::Array(one_of));
        }
        Plain { members, open }
    }

    /// Puts the properties of alternatives into the object that they belong to; its description says which belong together.
    fn flatten(&self, object: &mut Plain, options: &[Value]) {
        let mut common: Option<Vec<Value>> = None;
        let mut sets = Vec::new();
        for option in options {
            let mut option = self.plain(option, &object.open);
            let inner = taken_list(&mut option.members, "anyOf");
            if !inner.is_empty() && !self.is_spent() {
                self.flatten(&mut option, &inner);
            }
            let required = taken_list(&mut option.members, "required");
            let set: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
            sets.push(set.join(" and "));
            let mut names = common.unwrap_or_else(|| required.clone());
            names.retain(|name| required.contains(name));
            common = Some(names);
            option.members.remove("description");
            option.members.remove("title");
            merge(&mut object.members, option.members);
            object.open = option.open;
        }
        let required = common.unwrap_or_default();
        merge(
            &mut object.members,
            members(json!({ "required": required })),
        );
        sets.retain(|set| !set.is_empty());
        sets.dedup();
        if sets.len() > 1 {
            let words = format!("Give {}.", sets.join(", or "));
            describe(&mut object.members, &words, false);
        }
    }

    fn shape(&self, schema: &Value, open: &[String], depth: usize) -> Shape {
        if self.is_spent() || depth > DEPTH_MAX {
            return Shape {
                members: self.any(),
                takes_null: false,
            };
        }
        let mut plain = self.plain(schema, open);
        let mut takes_null = plain.members.remove("nullable") == Some(Value::Bool(true));
        let mut kinds = kinds(&plain.members);
        let mut values = values(&mut plain.members);
        let mut options = taken_list(&mut plain.members, "anyOf");
        let before = (kinds.len(), values.len(), options.len());
        kinds.retain(|kind| *kind != "null");
        values.retain(|value| !value.is_null());
        options.retain(|option| !is_null(option));
        takes_null |= before != (kinds.len(), values.len(), options.len());
        if kinds.is_empty() && options.is_empty() {
            kinds = guessed(&plain.members, &values);
        }
        if kinds == ["object"] && !options.is_empty() {
            self.flatten(&mut plain, &options);
            options.clear();
        }
        let words = words_of(&plain.members);
        let (mut members, with_null) = match options.is_empty() {
            true => (self.of_kinds(&kinds, &plain, &mut values, depth), false),
            false => self.of_options(&options, &kinds, &plain.open, depth),
        };
        takes_null |= with_null;
        describe(&mut members, &words, true);
        describe(&mut members, &said(&values), false);
        Shape {
            members,
            takes_null,
        }
    }

    /// The one of these kinds, or any of them. Leaves in `values` those that cannot be an `enum`.
    fn of_kinds(
        &self,
        kinds: &[&'static str],
        plain: &Plain,
        values: &mut Vec<Value>,
        depth: usize,
    ) -> Members {
        let is_word = |value: &Value| value.as_str().is_some_and(|word| !word.is_empty());
        let words = match values.iter().all(is_word) {
            true => std::mem::take(values),
            false => Vec::new(),
        };
        let of_kind = |kind: &&'static str| match *kind {
            "object" => self.object(plain, depth),
            "array" => self.array(plain, depth),
            "string" if !words.is_empty() => {
                members(json!({ "type": "string", "enum": unique(words.clone()) }))
            }
            kind => members(json!({ "type": kind })),
        };
        match kinds {
            [] => self.any(),
            [kind] => of_kind(kind),
            kinds => any_of(kinds.iter().map(of_kind).collect()),
        }
    }

    /// Any of these, each of the kind of the whole where it has none of its own; and whether one of them takes null.
    fn of_options(
        &self,
        options: &[Value],
        kinds: &[&'static str],
        open: &[String],
        depth: usize,
    ) -> (Members, bool) {
        let mut takes_null = false;
        let mut shapes = Vec::new();
        for option in options {
            let mut option = option.clone();
            let has_kind = [
                "type",
                "$ref",
                "enum",
                "const",
                "anyOf",
                "oneOf",
                "allOf",
                "properties",
            ];
            if let (Some(members), [kind]) = (option.as_object_mut(), kinds)
                && !has_kind.iter().any(|key| members.contains_key(*key))
            {
                members.insert("type".to_owned(), (*kind).into());
            }
            let shape = self.shape(&option, open, depth + 1);
            takes_null |= shape.takes_null;
            // One `anyOf` in another says no more than one alone.
            match shape.members.get("anyOf").and_then(Value::as_array) {
                Some(inner) => shapes.extend(inner.iter().filter_map(Value::as_object).cloned()),
                None => shapes.push(shape.members),
            }
        }
        (any_of(together(shapes)), takes_null)
    }

    fn object(&self, plain: &Plain, depth: usize) -> Members {
        let nothing = Map::new();
        let properties = plain.members.get("properties").and_then(Value::as_object);
        let needed = list(&plain.members, "required");
        let mut shaped = Map::new();
        let mut required: Vec<Value> = Vec::new();
        for (name, schema) in properties.unwrap_or(&nothing) {
            let shape = self.shape(schema, &plain.open, depth + 1);
            let is_needed = needed.iter().any(|it| it.as_str() == Some(name));
            let members = match (self.is_strict, is_needed && !shape.takes_null) {
                (true, false) => or_null(shape.members),
                (true, true) | (false, _) => shape.members,
            };
            if self.is_strict || (is_needed && !shape.takes_null) {
                required.push(name.as_str().into());
            }
            shaped.insert(name.clone(), members.into());
        }
        let mut object = members(json!({ "type": "object", "properties": shaped }));
        if self.is_strict || !required.is_empty() {
            object.insert("required".to_owned(), required.into());
        }
        if self.is_strict {
            object.insert("additionalProperties".to_owned(), false.into());
        } else if let Some(each) = plain.members.get("additionalProperties")
            && each.as_object().is_some_and(|it| !it.is_empty())
        {
            let each = Value::Object(self.shape(each, &plain.open, depth + 1).members);
            let each = each["type"].as_str().unwrap_or("any");
            let words = format!("Any names, each with a value of type {each}.");
            describe(&mut object, &words, false);
        }
        object
    }

    fn array(&self, plain: &Plain, depth: usize) -> Members {
        let items = plain.members.get("items");
        let items = items.filter(|items| !items.is_boolean());
        let shape = match (items, plain.members.get("prefixItems")) {
            (Some(Value::Array(items)), _) | (None, Some(Value::Array(items)))
                if !items.is_empty() =>
            {
                self.shape(&json!({ "anyOf": items }), &plain.open, depth + 1)
            }
            (Some(items), _) if !items.is_array() => self.shape(items, &plain.open, depth + 1),
            _ => Shape {
                members: self.any(),
                takes_null: false,
            },
        };
        let items = match self.is_strict && shape.takes_null {
            true => or_null(shape.members),
            false => shape.members,
        };
        members(json!({ "type": "array", "items": items }))
    }

    /// Any value. Providers want a type for each, so there is one of each.
    fn any(&self) -> Members {
        let list = json!({ "type": "array", "items": { "type": "string" } });
        let plain = ["string", "number", "boolean"].map(|kind| json!({ "type": kind }));
        let mut options = Vec::from(plain);
        options.push(list);
        if !self.is_strict {
            options.push(json!({ "type": "object", "properties": {} }));
        }
        members(json!({ "anyOf": options }))
    }
}
