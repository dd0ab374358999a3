//! What words and schemas of other servers have to be before a model or a person sees them: seen whole, and of a size that does no harm.

use serde_json::{Map, Value};

use crate::event::draft::is_within_depth;
use crate::tools::schema;
use crate::words::unseen::first_unseen;

/// Longest schema, in bytes.
const SCHEMA_MAX: usize = 32 << 10;
/// Deepest schema.
const SCHEMA_DEPTH: usize = 24;
/// Most members of a schema, with what its references stand for.
const SCHEMA_NODES: u64 = 5000;

/// Says what is wrong with the schema of an object.
pub fn unfit(schema: &Value) -> Result<(), String> {
    if !schema.is_object() {
        return Err("its schema is no object".into());
    }
    let text = schema.to_string();
    if text.len() > SCHEMA_MAX {
        return Err(format!("its schema has more than {SCHEMA_MAX} bytes"));
    }
    if let Some(name) = first_unseen(&text) {
        return Err(format!(
            "its schema has a character that people do not see ({name})"
        ));
    }
    if !is_within_depth(schema, SCHEMA_DEPTH) {
        return Err(format!(
            "its schema is nested more than {SCHEMA_DEPTH} deep"
        ));
    }
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err("its schema is not that of an object".into());
    }
    let mut open = Vec::new();
    nodes(schema, schema, &mut open)?;
    schema::check(schema)
}

/// How many members a schema has, where what a reference names is counted each time that it is named. `open` are the references that lead here.
fn nodes<'a>(root: &'a Value, schema: &'a Value, open: &mut Vec<&'a str>) -> Result<u64, String> {
    let mut count = 1_u64;
    match schema {
        Value::Array(items) => {
            for item in items {
                count = count.saturating_add(nodes(root, item, open)?);
            }
        }
        Value::Object(members) => {
            if let Some(reference) = reference(members)? {
                if open.contains(&reference) {
                    return Err(format!("its schema names itself ({reference})"));
                }
                let named = reference
                    .strip_prefix('#')
                    .and_then(|pointer| root.pointer(pointer));
                let named = named.ok_or_else(|| {
                    format!("its schema has a reference that leads nowhere ({reference})")
                })?;
                open.push(reference);
                count = count.saturating_add(nodes(root, named, open)?);
                open.pop();
            }
            for member in members.values() {
                count = count.saturating_add(nodes(root, member, open)?);
            }
        }
        _ => {}
    }
    // Not counted to its end: that of a hostile one takes for ever.
    if count > SCHEMA_NODES {
        return Err(format!(
            "its schema has more than {SCHEMA_NODES} members, with what its references stand for"
        ));
    }
    Ok(count)
}

/// The reference of a part of a schema: into the schema itself, or nowhere.
fn reference(members: &Map<String, Value>) -> Result<Option<&str>, String> {
    if members.keys().any(|key| {
        matches!(
            key.as_str(),
            "$dynamicRef" | "$recursiveRef" | "$id" | "$anchor"
        )
    }) {
        return Err("its schema has $dynamicRef, $recursiveRef, $id or $anchor, which are not followed here".into());
    }
    match members.get("$ref") {
        None => Ok(None),
        Some(Value::String(reference)) if reference.len() <= 200 && reference.starts_with("#/") => {
            Ok(Some(reference))
        }
        Some(Value::String(_)) => Err("its schema has a $ref to somewhere else".into()),
        // A property may be called so.
        Some(_) => Ok(None),
    }
}
