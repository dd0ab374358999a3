//! Tools that a client offers and runs itself, and the items of their calls; tools of OpenAI's
//! servers are refused.

use serde_json::{Map, Value, json};

use super::ids::item_of_call;
use super::item::Item;
use crate::openai::reply::Wanted;
use crate::openai::request::{ToolResult, pieces};
use crate::openai::tools::request_of;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_tools::toolbox::client::Offer;

/// Refuses tools that are not the client's, by their names, unless the client says that none is to
/// be called.
pub fn check(tools: Option<&Vec<Value>>, choice: Option<&Value>, wrongs: &mut Wrongs) {
    if choice.is_some_and(|it| it == "none") {
        return;
    }
    for (index, tool) in tools.into_iter().flatten().enumerate() {
        let kind = match tool.get("type").and_then(Value::as_str) {
            None | Some("function") => continue,
            Some(kind) => kind,
        };
        let detail = match kind {
            "custom" => "a tool of the client is a function, with parameters: no custom tool is \
                         offered to the decision"
                .to_owned(),
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

/// Returns the tools of an offer as the client sent them.
pub fn offered(offer: &Offer) -> Value {
    let shown = offer.tools.iter().map(|tool| {
        let parameters = serde_json::from_str(tool.parameters.as_str());
        let description = (!tool.description.is_empty()).then_some(&tool.description);
        json!({
            "type": "function", "name": tool.name, "description": description,
            "parameters": parameters.unwrap_or(Value::Null), "strict": tool.is_strict,
        })
    });
    shown.collect()
}

/// Returns a call as an item, with so much of its arguments.
pub fn item(call: &Wanted, status: &str, arguments: &str) -> Value {
    let id = request_of(&call.id).map(item_of_call);
    json!({
        "id": id, "type": "function_call", "call_id": call.id, "name": call.name,
        "arguments": arguments, "status": status,
    })
}

/// Reads an item of a call, or of its result; others are refused.
pub fn read(kind: &str, mut item: Map<String, Value>, place: &str) -> Result<Item, Problem> {
    let output = item.remove("output").unwrap_or_default();
    let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
    let its = format!("{place}/call_id");
    let call = text("call_id")
        .ok_or_else(|| Problem::at(Slug::InvalidFrame, &its, "a call has its id: call_id"));
    match kind {
        "function_call" => {
            let name = text("name");
            let arguments = text("arguments").unwrap_or_default();
            let act = name.map(|name| format!("calls {name}: {arguments}"));
            Ok(Item::Call(call?, act))
        }
        "function_call_output" => {
            let call = call?;
            let pieces = pieces(output, &format!("{place}/output"))?;
            let place = its;
            Ok(Item::Result(ToolResult {
                place,
                call,
                pieces,
            }))
        }
        _ => {
            let kind: String = kind.chars().take(40).collect();
            let detail = format!(
                "{kind:?} is no type of item here: message, function_call, function_call_output, \
                 item_reference or reasoning (which is read over)"
            );
            Err(Problem::at(Slug::Unprocessable, place, detail))
        }
    }
}
