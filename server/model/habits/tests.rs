//! The words of refusals, each with the habit that it shows.

use serde_json::json;

use super::*;

fn habit(words: &str, stream: bool) -> Option<Habit> {
    let body = json!({
        "model": "m", "stream": stream, "max_tokens": 20000, "temperature": 0.2, "reasoning_effort": "low",
        "tool_choice": "required", "messages": [{ "role": "system", "content": "x" }],
        "tools": [{ "type": "function", "function": { "name": "reply", "strict": true } }],
    });
    Habit::of_refusal(words, body.as_object().unwrap(), false)
}

fn all(cases: &[&str], stream: bool, expected: Option<&Habit>) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|words| (words, habit(words, stream)))
        .filter(|(_, it)| it.as_ref() != expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn refuses(name: &str) -> Option<Habit> {
    Some(Habit::Refuses(name.to_owned()))
}

#[test]
fn tools_are_refused_in_any_words_and_one_of_them_is_not_all() {
    let tools = [
        "`tool calling` is not supported with this model",
        "This model doesn't support tools.",
        "Tools are not available for this model",
        "Tool calls aren't supported by the chat template",
        "Function calling is disabled on this endpoint",
        "this model has no tool support",
        "Unknown field: tools",
        "Tool use has not been enabled, because it is unsupported",
        "该模型不支持函数调用",
        r#"[{"type":"extra_forbidden","loc":["body","tools"],"msg":"Extra inputs are not permitted"}]"#,
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
    ];
    all(&tools, true, refuses("tools").as_ref());
    let others = [
        "Invalid schema for function 'reply': x",
        "Too many tools: at most 128 tools per request",
    ];
    all(&others, true, None);
    let strict = [
        "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
        "Failed to initialize samplers: failed to parse grammar",
        "Unknown name \"strict\" at 'tools[0].function': Cannot find field.",
        r#"[{"loc":["body","tools",0,"function","strict"],"msg":"Extra inputs are not permitted"}]"#,
    ];
    all(&strict, true, refuses("strict").as_ref());
    let choice = ["tool_choice 'required' is not supported, only 'auto' and 'none' are"];
    all(&choice, true, refuses("tool_choice").as_ref());
}

#[test]
fn roles_that_a_template_does_not_know_are_the_system_s() {
    let system = [
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "After the optional system message, conversation roles must alternate user and assistant \
         roles except for tool calls and results.",
        "Jinja Exception: System message must be at the beginning. {%- if tools %}",
        "Only user and assistant roles are supported!",
        "messages: first message must use the \"user\" role",
        "The conversation must start with a user message",
        "Please ensure that multiturn requests alternate between user and model.",
    ];
    all(&system, true, Some(&Habit::RefusesSystem));
}

#[test]
fn a_number_of_tools_is_read_where_more_were_sent() {
    let most = |words: &str| {
        let tools = vec![json!({ "type": "function", "function": { "name": "x" } }); 100];
        let body = json!({ "model": "m", "messages": [], "tools": tools });
        Habit::of_refusal(words, body.as_object().unwrap(), false)
    };
    for words in [
        "Too many tools: at most 64 tools per request",
        "You may not include more than 64 tools in your request.",
        "Maximum tools limit reached. 100 tools have been provided but the maximum is 64.",
        "'tools' : maximum number of items is 64",
        "number of tools exceeds 64",
        "Invalid 'tools': array too long. Expected an array with maximum length 64, but got an \
         array with length 100 instead.",
    ] {
        assert_eq!(most(words), Some(Habit::TakesTools(64)), "{words}");
    }
    for words in [
        "Invalid 'tools[3].function.name': string too long. Expected maximum length 64",
        "Function names may have at most 64 characters",
        "Too many tools: at most 128 tools per request",
    ] {
        assert_eq!(most(words), None, "{words}");
    }
    for words in [
        "Too many tools",
        "The number of tools exceeds the limit of this model.",
        "Request has more than the maximum number of functions",
    ] {
        assert_eq!(most(words), Some(Habit::TakesTools(50)), "{words}");
    }
}

#[test]
fn streams_are_refused_or_wanted() {
    let plain = [
        "This model doesn't support streaming",
        "This model doesn't support tool use in streaming mode.",
        "Streaming is disabled for this deployment",
        "stream must be false",
    ];
    all(&plain, true, Some(&Habit::Streams(false)));
    let streamed = [
        "This model requires stream=true",
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "This model only supports streaming",
        "Non-streaming requests are not supported",
        "Please set stream to true",
    ];
    all(&streamed, false, Some(&Habit::Streams(true)));
    all(&["upstream error: connection not available"], true, None);
}

#[test]
fn a_member_that_is_named_goes_first() {
    let effort =
        "Unsupported value for reasoning_effort. This message was generated by the system.";
    all(&[effort], true, refuses("reasoning_effort").as_ref());
    let output = [
        "max_tokens参数非法。取值范围 [1,4095]",
        "max_tokens: 20000 > 8192, which is the maximum allowed number of output tokens for x",
        "'max_tokens' or 'max_completion_tokens' is too large: 20000.",
        "The maximum tokens you requested exceeds the model limit of 8192.",
        "Requested tokens 20,000 > max output 8192",
    ];
    all(&output, true, refuses("max_tokens").as_ref());
    let other = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    all(&[other], true, Some(&Habit::WantsCompletionTokens));
    let system = [
        "System role not supported",
        "messages: Unexpected role \"system\".",
    ];
    all(&system, true, Some(&Habit::RefusesSystem));
}
