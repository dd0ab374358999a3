//! The tools of a request, read: those that the client runs itself, its wish which of them are
//! called, and the ids of calls.

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::problem::{Problem, Slug};
use thinkd_model::provider::ToolSpec;
use thinkd_tools::toolbox::client::{Offer, Wrong, parameters};

/// Begins the ids of calls, as this protocol has them.
const CALL: &str = "call_";

/// The place of a tool's members within it: in chat completions, and in responses.
pub const CHAT: &str = "/function";
/// See [`CHAT`].
pub const RESPONSES: &str = "";

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    strict: Option<bool>,
}

/// The client's wish which tools are called.
enum Choice {
    Auto,
    None,
    AnyOne,
    This(String),
}

/// Returns the tools that a request offers, if it offers any. Errors name the place in the body.
pub fn offer(
    tools: Vec<Value>,
    (wish, within): (Option<Value>, &str),
    one_at_a_time: bool,
    wait_ms: u64,
) -> Result<Option<Offer>, Problem> {
    let choice = choice(wish, within)?;
    if matches!(choice, Choice::None) {
        return Ok(None);
    }
    let tools = tools.into_iter().enumerate();
    let tools = tools.map(|(index, tool)| told(&tool, within, &format!("/tools/{index}")));
    let tools = tools.collect::<Result<Vec<_>, Problem>>()?;
    let wants = matches!(choice, Choice::AnyOne | Choice::This(_));
    let must = match choice {
        Choice::Auto | Choice::None => Vec::new(),
        Choice::This(name) => vec![name],
        Choice::AnyOne => tools.iter().map(|tool| tool.name.clone()).collect(),
    };
    let is_named = |name: &String| tools.iter().any(|tool| tool.name == *name);
    if !must.iter().all(is_named) || (wants && must.is_empty()) {
        let detail = "tool_choice wants a tool that is not among tools";
        return Err(Problem::at(Slug::InvalidFrame, "/tool_choice", detail));
    }
    if tools.is_empty() {
        return Ok(None);
    }
    let offer = Offer {
        tools,
        must,
        one_at_a_time,
        wait_ms,
    };
    let checked = offer.check().map_err(|wrong| problem(&wrong, within));
    checked.map(|()| Some(offer))
}

fn problem(wrong: &Wrong, within: &str) -> Problem {
    let place = match wrong.tool {
        Some(index) => format!("/tools/{index}{within}/{}", wrong.member),
        None => "/tools".to_owned(),
    };
    Problem::at(Slug::InvalidFrame, place, wrong.text.clone())
}

fn told(tool: &Value, within: &str, place: &str) -> Result<ToolSpec, Problem> {
    let wrong = |detail: String| Problem::at(Slug::InvalidFrame, place, detail);
    let no_tool = |error: serde_json::Error| wrong(format!("no tool: {error}"));
    let Kind { kind } = Kind::deserialize(tool).map_err(no_tool)?;
    let function = tool.pointer(within).filter(|it| !it.is_null());
    let Some(function) = function.filter(|_| kind == "function") else {
        let kind: String = kind.chars().take(40).collect();
        let detail =
            format!("a tool of the type {kind:?} is not offered: function, with its function");
        return Err(Problem::at(
            Slug::Unprocessable,
            format!("{place}/type"),
            detail,
        ));
    };
    let function = Function::deserialize(function).map_err(no_tool)?;
    Ok(ToolSpec {
        name: function.name,
        description: function.description.unwrap_or_default(),
        parameters: parameters(function.parameters),
        is_strict: function.strict == Some(true),
    })
}

fn choice(choice: Option<Value>, within: &str) -> Result<Choice, Problem> {
    let place = "/tool_choice";
    match choice {
        None | Some(Value::Null) => Ok(Choice::Auto),
        Some(Value::String(word)) => match &*word {
            "auto" => Ok(Choice::Auto),
            "none" => Ok(Choice::None),
            "required" => Ok(Choice::AnyOne),
            _ => {
                let detail = "tool_choice is none, auto, required, or one function";
                Err(Problem::at(Slug::InvalidFrame, place, detail))
            }
        },
        Some(named) => match named.pointer(&format!("{within}/name")) {
            Some(Value::String(name)) if named["type"] == "function" => {
                Ok(Choice::This(name.to_owned()))
            }
            _ => {
                let detail = "this tool_choice is not known: none, auto, required, or one function by its name";
                Err(Problem::at(Slug::Unprocessable, place, detail))
            }
        },
    }
}

/// Returns the id of a call, as clients are told of it, by that of the event that asked.
pub fn shown_id(request: &str) -> String {
    format!("{CALL}{}", request.replace('-', ""))
}

/// Returns the id of the event that asked for a call of this id; none: the id is none of ours.
pub fn request_of(id: &str) -> Option<Uuid> {
    let hex = id.strip_prefix(CALL).filter(|hex| hex.len() == 32)?;
    Uuid::try_parse(hex).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(more: Value) -> Result<Option<Offer>, Problem> {
        let tools = more["tools"].as_array().cloned().unwrap_or_default();
        let one_at_a_time = more["parallel_tool_calls"] == false;
        let choice = more.get("tool_choice").cloned();
        offer(tools, (choice, CHAT), one_at_a_time, 1000)
    }

    fn tool(name: &str) -> Value {
        json!({ "type": "function", "function": { "name": name } })
    }

    #[test]
    fn a_choice_is_kept_and_one_of_another_tool_is_refused() {
        let offered = |more: Value| read(more).unwrap();
        let both = json!([tool("a"), tool("b")]);
        let auto = offered(json!({ "tools": both })).unwrap();
        assert!(auto.must.is_empty() && !auto.one_at_a_time);
        let any = offered(json!({ "tools": both, "tool_choice": "required" })).unwrap();
        assert_eq!(any.must, ["a", "b"]);
        let this = json!({ "type": "function", "function": { "name": "b" } });
        let one = json!({ "tools": both, "tool_choice": this, "parallel_tool_calls": false });
        let one = offered(one).unwrap();
        assert_eq!(
            (&*one.must, one.one_at_a_time),
            (&["b".to_owned()][..], true)
        );
        assert_eq!(
            offered(json!({ "tools": both, "tool_choice": "none" })),
            None
        );
        assert_eq!(offered(json!({ "tools": [] })), None);
        for (more, place) in [
            (
                json!({ "tools": both, "tool_choice": tool("c") }),
                "/tool_choice",
            ),
            (json!({ "tool_choice": tool("c") }), "/tool_choice"),
            (json!({ "tool_choice": "required" }), "/tool_choice"),
            (
                json!({ "tools": both, "tool_choice": "any" }),
                "/tool_choice",
            ),
            (json!({ "tools": [{ "type": "custom" }] }), "/tools/0/type"),
            (
                json!({ "tools": [tool("a"), tool("a b")] }),
                "/tools/1/function/name",
            ),
            (json!({ "tools": ["a"] }), "/tools/0"),
        ] {
            let refused = read(more.clone()).unwrap_err();
            assert_eq!(refused.errors[0].pointer, place, "{more}");
        }
    }

    #[test]
    fn an_id_of_a_call_is_read_as_it_was_shown() {
        let id = Uuid::from_u128(0x0193_a1b2_5c3d_7e4f_8a9b_0c1d_2e3f_4a5b);
        assert_eq!(request_of(&shown_id(&id.to_string())), Some(id));
        for other in ["call_x", "0193a1b25c3d7e4f8a9b0c1d2e3f4a5b", "call_", ""] {
            assert_eq!(request_of(other), None, "{other}");
        }
    }
}
