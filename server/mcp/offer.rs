//! A tool as another server offers it, checked before a model is told of it. An offer names the
//! fault of its tool, if there is one. Its hash identifies it later.

use serde_json::{Value, json};

use super::fit::unfit;
use super::options::Options;
use super::wire::Told;
use thinkd_tools::approval::WaitingCalls;
use thinkd_tools::server_names::names;
use thinkd_words::text::{canonical, sha256};
use thinkd_words::unseen::first_unseen;

/// Most tools of a server.
pub const TOOLS_MAX: usize = 256;
/// Longest name that a server may give a tool, in bytes.
const ORIGINAL_MAX: usize = 512;
/// Longest description, in bytes.
pub const DESCRIPTION_MAX: usize = 8 << 10;

/// A tool of another server, as it is offered now.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The name of the tool here.
    pub name: String,
    /// The name that the server gives the tool.
    pub original: String,
    /// The server's description of the tool.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
    /// True for a tool that may be called again: the server says so, and is believed.
    pub is_repeatable: bool,
    /// True for a tool that changes nothing: the server says so, and is believed.
    pub only_reads: bool,
    /// True if its calls wait for a person.
    pub waits: bool,
    /// The hash of the server's name for the tool, its description, its schema, and the marks that
    /// count.
    pub sha256: String,
    /// The hash of the tool with its read-only mark, under which it may have been approved. None:
    /// the mark counts now, or there is none.
    pub sha256_marked: Option<String>,
    /// The fault for which no model is told of the tool, even if a person approves it.
    pub wrong: Option<String>,
}

impl Offer {
    /// Returns true if this hash was approved for this tool.
    pub fn is(&self, sha256: &str) -> bool {
        self.sha256 == sha256 || self.sha256_marked.as_deref() == Some(sha256)
    }
}

/// Returns the tools of a server that its options take, sorted by name. No two of them have the
/// same name.
pub fn offers(server: &str, options: &Options, mut told: Vec<Told>) -> Vec<Offer> {
    told.sort_by(|one, other| one.name.cmp(&other.name));
    let originals: Vec<&str> = told.iter().map(|tool| tool.name.as_str()).collect();
    let names = names(server, &originals);
    let all = names
        .into_iter()
        .zip(told)
        .filter(|(_, tool)| options.takes(&tool.name));
    let mut offers: Vec<Offer> = all.map(|(name, tool)| offer(name, tool, options)).collect();
    offers.sort_by(|one, other| one.name.cmp(&other.name));
    offers
}

fn offer(name: String, told: Told, options: &Options) -> Offer {
    let wrong = wrong(&told).err();
    let is_believed = options.believe_annotations;
    let waits = match options.approve() {
        WaitingCalls::All => true,
        WaitingCalls::Writes => !told.only_reads,
        WaitingCalls::None => false,
    };
    let only_reads = is_believed && told.only_reads;
    let is_repeatable = only_reads || is_believed && told.is_idempotent;
    let believed = if is_repeatable && !only_reads {
        json!("repeatable")
    } else if options.approve() == WaitingCalls::Writes && told.only_reads && !is_believed {
        // The mark lets its calls run: without it the tool is another one.
        json!("reads")
    } else {
        json!(only_reads)
    };
    let hash = |believed: &Value| {
        let all = json!([told.name, told.description, told.schema, believed]);
        sha256(canonical(&all).as_bytes())
    };
    let sha256 = hash(&believed);
    // A rule that needs no mark needs no approval of one.
    let needs_none = options.approve() != WaitingCalls::Writes && !is_believed;
    let sha256_marked = (needs_none && told.only_reads).then(|| hash(&json!("reads")));
    let (original, description, schema) = match wrong {
        None => (told.name, told.description, closed(told.schema)),
        // What is wrong is not kept at whatever length it has.
        Some(_) => (
            beginning(&told.name, ORIGINAL_MAX),
            beginning(&told.description, DESCRIPTION_MAX),
            Value::Null,
        ),
    };
    Offer {
        name,
        original,
        description,
        schema,
        is_repeatable,
        only_reads,
        waits,
        sha256,
        sha256_marked,
        wrong,
    }
}

/// Returns the beginning of a text, of at most `most` bytes.
pub fn beginning(text: &str, most: usize) -> String {
    let end = text.floor_char_boundary(most);
    text[..end].to_owned()
}

/// Returns the schema as model providers take it: of an object, with its properties.
fn closed(mut schema: Value) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.remove("$schema");
        members.retain(|_, value| !value.is_null());
        members.entry("type").or_insert_with(|| "object".into());
        members.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Checks a tool. The error names its fault.
fn wrong(told: &Told) -> Result<(), String> {
    if told.name.is_empty() {
        return Err("it has no name".into());
    }
    if told.name.len() > ORIGINAL_MAX {
        return Err(format!("its name has more than {ORIGINAL_MAX} bytes"));
    }
    if told.description.len() > DESCRIPTION_MAX {
        return Err(format!(
            "its description has more than {DESCRIPTION_MAX} bytes"
        ));
    }
    let texts = [&told.name, &told.description];
    if let Some(name) = texts.into_iter().find_map(|text| first_unseen(text)) {
        return Err(format!(
            "its name or description has a character that people do not see ({name})"
        ));
    }
    unfit(&told.schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(schema: Value) -> Told {
        let name = "t".to_owned();
        let description = "Does it.".to_owned();
        Told {
            name,
            description,
            schema,
            only_reads: true,
            is_idempotent: false,
        }
    }

    fn why(schema: Value) -> Option<String> {
        offer("mcp__s__t".into(), told(schema), &Options::default()).wrong
    }

    #[test]
    fn hostile_schemas_are_withheld() {
        assert_eq!(
            why(
                json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/A" } }, "$defs": { "A": { "type": "string" } } })
            ),
            None
        );
        let mut bomb = json!({ "type": "object", "$defs": { "x0": { "type": "string" } } });
        for level in 1..40 {
            let below = json!({ "$ref": format!("#/$defs/x{}", level - 1) });
            bomb["$defs"][format!("x{level}")] = json!({ "anyOf": [below, below, below, below] });
        }
        assert_eq!(why(bomb.clone()), None, "nothing refers to it");
        bomb["properties"] = json!({ "a": { "$ref": "#/$defs/x39" } });
        assert!(why(bomb).unwrap().contains("more than 5000 members"));
        assert!(
            why(json!({ "$ref": "http://169.254.169.254/" }))
                .unwrap()
                .contains("somewhere else")
        );
        assert!(
            why(json!({ "type": "array" }))
                .unwrap()
                .contains("not that of an object")
        );
        assert!(
            why(json!({ "type": "object", "description": "x".repeat(40_000) }))
                .unwrap()
                .contains("bytes")
        );
        let deep = (0..30).fold(
            json!({ "type": "string" }),
            |inner, _| json!({ "properties": { "a": inner } }),
        );
        assert!(why(deep).unwrap().contains("deep"));
        assert!(
            why(json!({ "type": "object", "title": "look\u{e0041}" }))
                .unwrap()
                .contains("do not see")
        );
    }

    #[test]
    fn what_changes_a_tool_changes_its_hash_and_the_order_of_members_does_not() {
        let of = |text: &str| {
            offer(
                "n".into(),
                told(serde_json::from_str(text).unwrap()),
                &Options::default(),
            )
            .sha256
        };
        assert_eq!(
            of(r#"{"type":"object","title":"a"}"#),
            of(r#"{"title":"a","type":"object"}"#)
        );
        assert_ne!(
            of(r#"{"type":"object","title":"a"}"#),
            of(r#"{"type":"object","title":"b"}"#)
        );
        let believing = Options {
            believe_annotations: true,
            ..Options::default()
        };
        let one = offer("n".into(), told(json!({ "type": "object" })), &believing);
        assert!(one.is_repeatable);
        assert_ne!(
            one.sha256,
            offer(
                "n".into(),
                told(json!({ "type": "object" })),
                &Options::default()
            )
            .sha256
        );
        let changes = Told {
            only_reads: false,
            is_idempotent: true,
            ..told(json!({ "type": "object" }))
        };
        let other = offer("n".into(), changes, &believing);
        assert!(other.is_repeatable && !other.only_reads);
        assert_ne!(
            one.sha256, other.sha256,
            "one that changes something is another one"
        );
    }
}
