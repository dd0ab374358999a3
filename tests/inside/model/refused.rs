//! Refusals that name a tool, in the words of providers.

use thinkd::model::refused_tools::named;

#[test]
fn refusals_name_their_tools_by_name_or_by_place() {
    let tools = ["reply", "wait", "query_events", "mcp__x__t", "mcp__x__t2"].map(str::to_owned);
    let cases: [(&str, &[usize]); 22] = [
        (
            "Invalid schema for function 'mcp__x__t': In context=('properties', 'a'), array schema missing items.",
            &[3],
        ),
        (
            "Invalid schema for function 'wait': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
            &[1],
        ),
        (
            r#"{"error":{"message":"Invalid schema for function \"reply\"","param":null}}"#,
            &[0],
        ),
        (
            r#"{"error":{"message":"array schema missing items","param":"tools[3].function.parameters"}}"#,
            &[3],
        ),
        (
            "tools.3.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
            &[3],
        ),
        (
            "tools.1.function.parameters: Input should be a valid dictionary",
            &[1],
        ),
        (
            "Invalid 'tools[4].function.description': string too long. Expected a string with maximum length 1024",
            &[4],
        ),
        (
            "tools[2].***.parameters must be valid JSON (line 1, column 1)",
            &[2],
        ),
        (
            "* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties[a].items: missing field.\n* \
             GenerateContentRequest.tools[0].function_declarations[4].parameters.properties[b].enum: only allowed for STRING type",
            &[2, 4],
        ),
        (
            "Unknown name \"const\" at 'request.tools[0].functionDeclarations[3].parameters': Cannot find field.",
            &[3],
        ),
        (
            r#"{"detail":[{"loc":["body","tools",3,"function","parameters"],"msg":"field required"}]}"#,
            &[3],
        ),
        ("functions[2].parameters is not of type object", &[2]),
        ("The tool mcp__x__t2 has an invalid schema", &[4]),
        ("Tool `wait` has no parameters", &[1]),
        ("function wait: unsupported keyword", &[1]),
        // None of these is about one tool.
        (
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 3 instead.",
            &[],
        ),
        ("Please wait and reply later; tools are busy", &[]),
        (
            "tools.function.parameters is not a valid moonshot flavored json schema",
            &[],
        ),
        (
            r#"{"error":{"code":"tool_use_failed","message":"Failed to call a function 'query_events'"}}"#,
            &[],
        ),
        (
            "attempted to call tool 'mcp__x__t' which was not in request.tools",
            &[],
        ),
        ("tools[17].function.name: odd", &[]),
        ("query_events is what the user said", &[]),
    ];
    for (said, expected) in cases {
        assert_eq!(named(said, &tools), expected, "{said}");
    }
}
