//! Checks a schema from outside before a model sees it: its size does no harm.

use serde_json::Value;

use super::known::{Understood, known};
use thinkd_event::draft::is_within_depth;

/// Longest schema, in bytes.
const SCHEMA_MAX: usize = 32 << 10;
/// Deepest schema.
const SCHEMA_DEPTH: usize = 24;
/// Most members of a schema, with the parts that its references stand for.
const SCHEMA_NODES: u64 = 5000;

/// Checks the schema of an object. The error names its fault.
pub fn unfit(schema: &Value) -> Result<(), String> {
    if !schema.is_object() {
        return Err("its schema is no object".into());
    }
    let text = schema.to_string();
    if text.len() > SCHEMA_MAX {
        return Err(format!("its schema has more than {SCHEMA_MAX} bytes"));
    }
    if !is_within_depth(schema, SCHEMA_DEPTH) {
        return Err(format!(
            "its schema is nested more than {SCHEMA_DEPTH} deep"
        ));
    }
    let Understood { checks, leads_away } = known(schema);
    if leads_away {
        return Err("its schema has a $ref to somewhere else".into());
    }
    let is_object = |kind: &Value| match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
        kind => kind == "object",
    };
    if checks.get("type").is_some_and(|kind| !is_object(kind)) {
        return Err("its schema is not that of an object".into());
    }
    nodes(&checks, &checks, &mut Vec::new())?;
    Ok(())
}

/// Counts the members of the checks of a schema. A part that references name counts once for each,
/// and inside itself no more. `open` holds the references that lead here. Fails above
/// `SCHEMA_NODES`.
fn nodes<'a>(root: &'a Value, checks: &'a Value, open: &mut Vec<&'a str>) -> Result<u64, String> {
    let mut count = 1_u64;
    let mut inner: Vec<&Value> = match checks {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => {
            let is_named = |key: &str| key == "$defs" && std::ptr::eq(checks, root);
            let members = members.iter().filter(|(key, _)| !is_named(key));
            members.map(|(_, value)| value).collect()
        }
        _ => Vec::new(),
    };
    let reference = checks.get("$ref").and_then(Value::as_str);
    let reference = reference.filter(|reference| !open.contains(reference));
    let named = reference.and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    inner.extend(named);
    open.extend(reference);
    for part in inner {
        count = count.saturating_add(nodes(root, part, open)?);
        // Not counted to its end: that of a hostile one takes for ever.
        if count > SCHEMA_NODES {
            return Err(format!(
                "its schema has more than {SCHEMA_NODES} members, with what its references stand for"
            ));
        }
    }
    if reference.is_some() {
        open.pop();
    }
    Ok(count)
}
