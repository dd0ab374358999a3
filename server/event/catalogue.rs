//! The catalogue writes the documents of all facts from their specs and examples: `docs/events.md` for people, `docs/events.d.ts` for clients in
//! TypeScript.

use std::fmt::Write as _;

use serde_json::json;

use super::draft::Draft;
use super::envelope::Visibility;
use super::fact::{Kind, examples};
use super::raw::Raw;
use super::spec::{Spec, optional};

const HEAD: &str = "\
# Events

<!-- Generated: `thinkd facts > docs/events.md`. Not to be edited. -->

What thinkd writes into its log, kind by kind. Every event has the same envelope: `event_id`, `ts`, `source`, `modality`, `payload`, `meta.tags`,
`thread`, `seq`. What kind it is stands in its tags, in the order given here; a `?` marks what may be missing, a `*` what may be
there any number of times. An event of no kind in this list was written by a newer server: show its `payload.text`, and take it for nothing else.

*Seen by*: `everybody` is readers, decisions and submodules; `decision` is readers and the decision, no submodule; `readers` is clients, but no model;
`debug` is who asks for the tag `debug`. *Wakes*: it starts a turn of its thread. The examples leave out `event_id`, `ts` and `seq`.
";

const TYPES_HEAD: &str = "\
// Generated: `thinkd facts --typescript > docs/events.d.ts`. Not to be edited.
// What thinkd writes into its log, kind by kind: docs/events.md says what each means.

/** An event of any kind: of one that is not below, a newer server wrote it. Show `payload.text`, and take it for nothing else. */
export interface AnyEvent {
  event_id: string;
  ts: string;
  source: \"user\" | \"tool\" | \"system\" | \"internal\";
  modality: \"text\" | \"image\" | \"audio\" | \"state\";
  payload: { text?: string; [member: string]: unknown };
  meta: { tags: string[] };
  thread: string;
  seq: number;
}

interface Of<Tags extends string[], Payload> {
  event_id: string;
  ts: string;
  source: AnyEvent[\"source\"];
  modality: AnyEvent[\"modality\"];
  payload: Payload;
  meta: { tags: Tags };
  thread: string;
  seq: number;
}
";

/// The kinds of facts of features, with examples of them.
#[derive(Default)]
pub struct Facts {
    /// Their kinds.
    pub specs: Vec<Spec>,
    /// An example of each.
    pub examples: Vec<Draft>,
}

/// A kind with its examples.
struct Entry<'s> {
    spec: &'s Spec,
    examples: Vec<Draft>,
}

fn entries(more: &Facts) -> Vec<Entry<'_>> {
    let examples = examples();
    let of = |kind: Kind| {
        let examples = examples
            .iter()
            .filter(|draft| draft.fact().kind() == Some(kind))
            .cloned()
            .collect();
        Entry {
            spec: kind.spec(),
            examples,
        }
    };
    let added = |spec| {
        let is_one = |draft: &&Draft| Spec::faults(spec, Raw::from(*draft)).is_empty();
        let examples = more.examples.iter().filter(is_one).cloned().collect();
        Entry { spec, examples }
    };
    let kernel = Kind::all().into_iter().map(of);
    kernel.chain(more.specs.iter().map(added)).collect()
}

/// Returns `docs/events.md`, with these kinds behind the kernel's.
pub fn markdown(more: &Facts) -> String {
    let mut text = HEAD.to_owned();
    for Entry { spec, examples } in entries(more) {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n## {}\n\n{}\n\n", spec.name, spec.about);
        let tags = spec
            .tags
            .iter()
            .map(|tag| format!("`{tag}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let seen = each(&examples, |draft| seen_by(draft.fact().visibility()));
        let wakes = each(
            &examples,
            |draft| if draft.fact().wakes() { "yes" } else { "no" },
        );
        let source = each(&examples, |draft| draft.source.as_str());
        let modality = each(&examples, |draft| draft.modality.as_str());
        let _ = write!(
            text,
            "Tags {tags}. Source {source}, modality {modality}. Seen by: {seen}. Wakes: {wakes}.\n\n\
             | payload | type | |\n| --- | --- | --- |\n"
        );
        for (name, kind, about) in &spec.members {
            let _ = writeln!(
                text,
                "| `{name}` | `{}` | {about} |",
                kind.replace('|', "\\|")
            );
        }
        if spec.open {
            text.push_str("\nOther members may be there.\n");
        }
        for draft in examples.iter().take(1) {
            let Draft {
                source,
                modality,
                payload,
                tags,
                thread,
                ..
            } = draft;
            let event = json!({
                "source": source, "modality": modality, "payload": payload, "meta": { "tags": tags }, "thread": thread,
            });
            let _ = write!(text, "\n```json\n{event}\n```\n");
        }
    }
    text
}

/// Returns the words that `of` gives for the examples, each once.
fn each(examples: &[Draft], of: impl Fn(&Draft) -> &'static str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in examples.iter().map(of) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" or ")
}

fn seen_by(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Debug => "debug",
        Visibility::State => "readers",
        Visibility::Submodule => "decision",
        Visibility::Heard => "everybody",
    }
}

/// Returns `docs/events.d.ts`, with these kinds behind the kernel's.
pub fn typescript(more: &Facts) -> String {
    let mut text = TYPES_HEAD.to_owned();
    let entries = entries(more);
    for Entry { spec, .. } in &entries {
        let tags = tags(&spec.tags);
        let mut members = String::new();
        for (name, kind, about) in &spec.members {
            let (name, may_miss) = optional(name);
            let mark = if may_miss { "?" } else { "" };
            let kind = kind.replace("object", "Record<string, unknown>");
            let _ = write!(members, "\n  /** {about} */\n  {name}{mark}: {kind};");
        }
        if spec.open {
            members.push_str("\n  [member: string]: unknown;");
        }
        let _ = write!(
            text,
            "\n/** {} */\nexport type {} = Of<{tags}, {{{members}\n}}>;\n",
            spec.about,
            camel(spec.name)
        );
    }
    let names = entries
        .iter()
        .map(|entry| format!("\n  | {}", camel(entry.spec.name)))
        .collect::<String>();
    let _ = write!(
        text,
        "\n/** Everything this version writes. */\nexport type ThinkdEvent ={names};\n"
    );
    text
}

/// Returns the tags as a tuple: those that may be missing, and the ones behind them, are any of the
/// rest.
fn tags(patterns: &[&str]) -> String {
    let varies = |pattern: &str| pattern.ends_with(['?', '*']);
    let fixed = patterns.iter().take_while(|pattern| !varies(pattern));
    let mut parts: Vec<String> = fixed.map(|pattern| union(pattern)).collect();
    let rest: Vec<String> = patterns[parts.len()..]
        .iter()
        .map(|pattern| union(pattern.trim_end_matches(['?', '*'])))
        .collect();
    if !rest.is_empty() {
        parts.push(format!("...({})[]", rest.join(" | ")));
    }
    format!("[{}]", parts.join(", "))
}

fn union(pattern: &str) -> String {
    pattern.split('|').map(word).collect::<Vec<_>>().join(" | ")
}

fn word(pattern: &str) -> String {
    match pattern.split_once('<') {
        None => format!("\"{pattern}\""),
        Some(("", _)) => "string".to_owned(),
        Some((begin, "number>")) => format!("`{begin}${{number}}`"),
        Some((begin, _)) => format!("`{begin}${{string}}`"),
    }
}

/// `turn-started` as a type is called.
fn camel(name: &str) -> String {
    let part = |part: &str| {
        let mut letters = part.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase())
            .into_iter()
            .chain(letters)
            .collect::<String>()
    };
    name.split('-').map(part).collect()
}
