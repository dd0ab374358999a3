//! Tools that a client brings, and the items of their calls: none is taken yet. All of the seam is
//! here.

use serde_json::Value;

use crate::problem::{Problem, Slug, Wrongs};

/// Refuses tools by their names, unless the client says that none is to be called.
pub fn check(tools: Option<&Vec<Value>>, choice: Option<&Value>, wrongs: &mut Wrongs) {
    if choice.is_some_and(|it| it == "none") {
        return;
    }
    for (index, tool) in tools.into_iter().flatten().enumerate() {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
        let detail = match kind {
            "function" | "custom" => {
                "functions of the client are not offered to the decision: leave them out; tools \
                 are added to the server (docs/add-a-tool.md, docs/mcp.md)"
                    .to_owned()
            }
            _ => {
                let kind: String = kind.chars().take(40).collect();
                format!(
                    "{kind:?} is a tool of OpenAI's servers, and not here: leave it out; tools are \
                     added to the server (docs/add-a-tool.md, docs/mcp.md)"
                )
            }
        };
        wrongs.add(Slug::Unprocessable, format!("/tools/{index}"), detail);
    }
}

/// Refuses an item of this type, which is no message.
pub fn refused(kind: &str, place: &str) -> Problem {
    match kind {
        "function_call"
        | "function_call_output"
        | "custom_tool_call"
        | "custom_tool_call_output" => {
            let detail = "no call of a client's function waits for a result: leave the item out";
            Problem::at(Slug::Unprocessable, place, detail)
        }
        _ => {
            let kind: String = kind.chars().take(40).collect();
            let detail = format!(
                "{kind:?} is no type of item here: message, item_reference or reasoning (which is read over)"
            );
            Problem::at(Slug::Unprocessable, place, detail)
        }
    }
}
