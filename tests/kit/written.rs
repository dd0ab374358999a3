//! Tool calls that models write as text.

/// A call of `reply` with the text `hi`, in each form: its name, and the text.
pub const FORMS: [(&str, &str); 36] = [
    (
        "Hermes",
        "<tool_call>\n{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}\n</tool_call>",
    ),
    (
        "Hermes, arguments as text",
        "<tool_call>{\"name\": \"reply\", \"arguments\": \"{\\\"text\\\": \\\"hi\\\"}\"}</tool_call>",
    ),
    (
        "Hermes, without its end",
        "<tool_call>\n{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}",
    ),
    (
        "Hermes, the end of the answer passed on",
        "<tool_call>{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}</tool_call><|im_end|>",
    ),
    (
        "function_call",
        "<function_call>{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}</function_call>",
    ),
    (
        "tool_calls, a list",
        "<tool_calls>[{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}]</tool_calls>",
    ),
    ("Qwen", "✿FUNCTION✿: reply\n✿ARGS✿: {\"text\": \"hi\"}"),
    (
        "Qwen, with its stop word",
        "✿FUNCTION✿: reply\n✿ARGS✿: {\"text\": \"hi\"}\n✿RESULT✿:",
    ),
    (
        "Qwen's coders",
        "<tool_call>\n<function=reply>\n<parameter=text>\nhi\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "Qwen's coders, without the outer element",
        "<function=reply>\n<parameter=text>\nhi\n</parameter>\n</function>",
    ),
    (
        "Llama, its own function element",
        "<function=reply>{\"text\": \"hi\"}</function>",
    ),
    (
        "Llama, python tag",
        "<|python_tag|>{\"name\": \"reply\", \"parameters\": {\"text\": \"hi\"}}<|eom_id|>",
    ),
    (
        "Llama, bare",
        "{\"name\": \"reply\", \"parameters\": {\"text\": \"hi\"}}",
    ),
    (
        "Llama, bare with type",
        "{\"type\": \"function\", \"name\": \"reply\", \"parameters\": {\"text\": \"hi\"}}",
    ),
    (
        "OpenAI, bare",
        "{\"type\": \"function\", \"function\": {\"name\": \"reply\", \"arguments\": \"{\\\"text\\\": \\\"hi\\\"}\"}}",
    ),
    (
        "OpenAI, a message",
        "{\"content\": null, \"tool_calls\": [{\"id\": \"1\", \"type\": \"function\", \"function\": {\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}}]}",
    ),
    (
        "a bare list",
        "[{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}]",
    ),
    ("Llama, pythonic", "[reply(text=\"hi\")]"),
    (
        "Llama, pythonic, the other quotes",
        "<|python_tag|>[reply(text='hi',)]<|eot_id|>",
    ),
    (
        "Mistral",
        "[TOOL_CALLS] [{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}]</s>",
    ),
    ("Mistral, newer", "[TOOL_CALLS]reply{\"text\": \"hi\"}"),
    (
        "Mistral, with an id",
        "[TOOL_CALLS]reply[CALL_ID]a1b2c3d4e[ARGS]{\"text\": \"hi\"}",
    ),
    (
        "DeepSeek",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>reply\n```json\n{\"text\": \"hi\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    ),
    (
        "DeepSeek, newer",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>reply<｜tool▁sep｜>{\"text\": \"hi\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "Kimi",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.reply:0<|tool_call_argument_begin|>{\"text\": \"hi\"}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "GLM",
        "<tool_call>reply\n<arg_key>text</arg_key>\n<arg_value>hi</arg_value>\n</tool_call>",
    ),
    (
        "invoke",
        "<function_calls>\n<invoke name=\"reply\">\n<parameter name=\"text\">hi</parameter>\n</invoke>\n</function_calls>",
    ),
    (
        "Phi",
        "<|tool_call|>[{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}]<|/tool_call|>",
    ),
    (
        "gpt-oss",
        "<|channel|>analysis<|message|>A greeting.<|end|><|start|>assistant<|channel|>commentary to=functions.reply <|constrain|>json<|message|>{\"text\": \"hi\"}<|call|>",
    ),
    ("the thinking language", "<reply>hi</reply>"),
    (
        "Gemma 3",
        "```tool_code\nprint(default_api.reply(text=\"hi\"))\n```",
    ),
    (
        "a fence of a call",
        "```tool_call\n{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}\n```",
    ),
    (
        "Qwen's coders, tools",
        "<tools>\n{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}\n</tools>",
    ),
    (
        "Claude through proxies",
        "<tool_use>\n<name>reply</name>\n<arguments>{\"text\": \"hi\"}</arguments>\n</tool_use>",
    ),
    (
        "Claude through proxies, elements",
        "<tool_use><tool_name>reply</tool_name><parameters><text>hi</text></parameters></tool_use>",
    ),
    (
        "Claude, a block",
        "{\"type\": \"tool_use\", \"id\": \"toolu_1\", \"name\": \"reply\", \"input\": {\"text\": \"hi\"}}",
    ),
];

/// Marks that words have as well.
pub fn is_marked(call: &str) -> bool {
    call.starts_with("[TOOL_CALLS]")
        || !call.starts_with(['{', '[', '`']) && !call.starts_with("<reply>")
}
