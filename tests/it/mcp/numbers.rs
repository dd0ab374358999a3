//! Numbers that not every reader keeps. A person is shown the number that runs, digit by digit; a call that waits for a person is refused where
//! the number that runs would be another one. Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// Numbers that the server keeps, some of which JavaScript does not, and as the server writes them.
const KEPT: [(&str, &str); 9] = [
    ("9007199254740993", "9007199254740993"),
    ("-9007199254740993", "-9007199254740993"),
    ("18446744073709551615", "18446744073709551615"),
    ("-9223372036854775808", "-9223372036854775808"),
    ("1e300", "1e+300"),
    ("-0", "-0.0"),
    ("1.50", "1.5"),
    ("0.100000000000000000000000000000", "0.1"),
    ("5e-324", "5e-324"),
];

/// Numbers that it would run as others.
const UNKEPT: [&str; 6] = [
    "0.100000000000000005551115123126",
    "18446744073709551616",
    "-123456789012345678901234567890",
    "9007199254740993.0",
    "1e-400",
    "1e400",
];

/// Two tools that take anything, of which `set` waits for a person.
async fn setup_of_two(medium: Medium, stub: &Stub) -> (ToolServer, Setup) {
    let two = ["set", "see"].map(|name| {
        let properties = json!({ "to": { "type": "string" }, "n": { "type": "number" }, "list": {} });
        json!({ "name": name, "description": "Does it.", "inputSchema": { "type": "object", "properties": properties } })
    });
    let server = ToolServer::start(two.into()).await;
    let setup = setup(
        medium,
        stub,
        &server,
        "[tools]\napproval = [\"mcp__it__set\"]\n",
    );
    (server, setup)
}

fn written(number: &str) -> String {
    format!(r#"{{"to": "bob", "n": {number}, "list": [[{{"id": {number}}}]]}}"#)
}

/// The arguments that a server of tools heard, as text.
fn arguments_of(heard: &Value) -> String {
    heard["params"]["arguments"].to_string()
}

on_sqlite!(s5_what_is_shown_of_a_number_is_what_runs, |medium| {
    let stub = Stub::start().await;
    let (server, setup) = setup_of_two(medium, &stub).await;
    let app = setup.start().await;
    for (at, (number, kept)) in KEPT.into_iter().enumerate() {
        stub.script(
            decision,
            [call_raw("mcp__it__set", &written(number)), reply("Asked.")],
        );
        app.tell("do it").await;
        let open = app.request("GET", "/approvals");
        let text = open.send().await.unwrap().text().await.unwrap();
        assert!(
            text.contains(&format!(r#""n":{kept},"#)),
            "{number}: {text}"
        );
        let shown = app.pages("/approvals?").await.remove(0);
        let id = shown["approval_id"].as_str().unwrap();
        // Another field is changed; all else goes back as it came.
        let mut arguments = shown["arguments"].clone();
        arguments["to"] = "anne".into();
        stub.script(decision, [reply("Done.")]);
        let verdict = json!({ "verdict": "edit", "arguments": arguments });
        app.post(&format!("/approvals/{id}"), verdict)
            .await
            .expect(200);
        let heard = server.hears("tools/call", at + 1).await;
        let ran = arguments_of(&heard);
        assert_eq!(ran, arguments.to_string(), "{number}");
        assert!(
            ran.contains(&format!(r#"{{"id":{kept}}}"#)),
            "{number}: {ran}"
        );
    }
});

on_sqlite!(
    s5_a_call_that_waits_and_cannot_be_shown_exactly_is_refused_with_advice,
    |medium| {
        let stub = Stub::start().await;
        let (_server, setup) = setup_of_two(medium, &stub).await;
        let app = setup.start().await;
        for number in UNKEPT {
            let plain = written(number);
            let said =
                format!(r#"<tool_call>{{"name":"mcp__it__set","arguments":{plain}}}</tool_call>"#);
            let ways = [
                call_raw("mcp__it__set", &plain),
                call_raw("mcp__it__set", &json!(plain).to_string()),
                call_raw("mcp__it__set", &format!(r#"{{"arguments": {plain}}}"#)),
                call_raw("mcp__it__set", &format!("{{n: {number}, 'to': \"bob\"}}")),
                call_raw("mcp__it__set", &format!(r#"{{"n": "{number}"}}"#)),
                text(&said),
            ];
            for way in ways {
                stub.script(decision, [way, reply("It cannot be.")]);
                app.tell("do it").await;
            }
        }
        assert_eq!(app.pages("/approvals?").await, Vec::<Value>::new());
        let log = app.public_log().await;
        let refused = with(&log, &["result", "failure", "tool:mcp__it__set"]);
        for result in &refused {
            assert_eq!(
                result["payload"]["problem"]["detail"]["reason"], "invalid_arguments",
                "{result}"
            );
        }
        // 1e400 in a text is a text, which the tool does not take, and among words it is one of them.
        let advised = refused
            .iter()
            .filter(|result| said(result).contains("write it as text"));
        assert_eq!(advised.count(), UNKEPT.len() * 6 - 3, "{}", story(&log));
    }
);

on_sqlite!(
    s5_a_call_that_needs_nobody_runs_and_a_text_keeps_its_digits,
    |medium| {
        let stub = Stub::start().await;
        let (server, setup) = setup_of_two(medium, &stub).await;
        let app = setup.start().await;
        let all = ["0.100000000000000005551115123126", "18446744073709551616"];
        for (at, number) in all.into_iter().enumerate() {
            stub.script(
                decision,
                [call_raw("mcp__it__see", &written(number)), reply("Done.")],
            );
            app.tell("do it").await;
            let heard = server.hears("tools/call", at + 1).await;
            let float: f64 = number.parse().unwrap();
            assert_eq!(heard["params"]["arguments"]["n"], float, "as ever");
        }
        for number in UNKEPT {
            stub.script(
                decision,
                [
                    call_raw("mcp__it__set", &format!(r#"{{"to": {number}}}"#)),
                    reply("Asked."),
                ],
            );
            app.tell("do it").await;
            let open = app.pages("/approvals?").await;
            let shown = open.last().map(|it| &it["arguments"]["to"]);
            assert_eq!(shown, Some(&json!(number)), "{open:?}");
        }
    }
);

on_sqlite!(
    s5_a_person_is_told_of_a_number_that_would_run_as_another,
    |medium| {
        let stub = Stub::start().await;
        let (server, setup) = setup_of_two(medium, &stub).await;
        let app = setup.start().await;
        stub.script(
            decision,
            [call_raw("mcp__it__set", &written("1")), reply("Asked.")],
        );
        app.tell("do it").await;
        let shown = app.pages("/approvals?").await.remove(0);
        let path = format!("/approvals/{}", shown["approval_id"].as_str().unwrap());
        for number in UNKEPT {
            let body = format!(r#"{{"verdict": "edit", "arguments": {}}}"#, written(number));
            let request = app.request("POST", &path);
            let request = request
                .header("content-type", "application/json")
                .body(body);
            let problem = http::send(request)
                .await
                .expect_problem(400, "invalid-frame");
            assert_eq!(problem["errors"][0]["pointer"], "/arguments", "{problem}");
            assert!(
                problem["errors"][0]["detail"].to_string().contains(number),
                "{problem}"
            );
        }
        assert_eq!(server.heard("tools/call"), Vec::<Value>::new());
    }
);

on_sqlite!(s5_a_result_is_never_refused_for_its_numbers, |medium| {
    let stub = Stub::start().await;
    let (server, setup) = setup_of_two(medium, &stub).await;
    let app = setup.start().await;
    let digits = "0.100000000000000005551115123126";
    let answers = [
        (r#"{"n":1e400}"#, r#"{"n":1e400}"#, json!({ "n": "1e400" })),
        (r#"{"n":NaN}"#, "", json!({ "n": "NaN" })),
        (r#"{"n":"\ud83d!"}"#, "", json!({ "n": "\u{fffd}!" })),
        (
            r#"{"n":9007199254740993}"#,
            "",
            json!({ "n": 9_007_199_254_740_993_u64 }),
        ),
        (
            &format!(r#"{{"n":{digits}}}"#),
            &format!(r#"{{"n":{digits}}}"#),
            json!({ "n": 0.1 }),
        ),
    ];
    for (structured, words, kept) in answers {
        let content = match words {
            "" => json!([]),
            words => json!([{ "type": "text", "text": words }]),
        };
        let result = format!(r#"{{"content":{content},"structuredContent":{structured}}}"#);
        let answer = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{result}}}\n\n");
        server.does(
            "see",
            Does::Begins("text/event-stream", answer, Then::Stays),
        );
        stub.script(
            decision,
            [call("mcp__it__see", json!({ "to": "bob" })), reply("Done.")],
        );
        app.tell("do it").await;
        let log = app.public_log().await;
        let result = *with(&log, &["result", "tool:mcp__it__see"]).last().unwrap();
        assert!(!has(result, "failure"), "{result}");
        let output = &result["payload"]["output"];
        let own = output.get("structured").unwrap_or(output);
        assert_eq!(*own, kept, "{result}");
        // Words with more digits stand beside it.
        let beside = output.get("text").map_or("", |text| text.as_str().unwrap());
        assert_eq!(beside, words, "{result}");
    }
});

/// A program with a tool that has a number beyond all floats, and another in its answer.
const FAR: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
  rest=${line#*\"id\":}; id=${rest%%[,\}]*}
  case "$line" in
    *'"initialize"'*) answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) answer "$id" '{"tools":[{"name":"far","inputSchema":{"type":"object","properties":{"n":{"enum":[1,1e400]}}}}]}' ;;
    *'"tools/call"'*) answer "$id" '{"content":[],"structuredContent":{"n":[1e400,-1e999,2.50,NaN,"\ud800"]}}' ;;
  esac
done
"#;

on_sqlite!(s5_a_program_may_answer_with_a_number_beyond_all, |medium| {
    let stub = Stub::start().await;
    let toml = "[tools.mcp.sh]\ncommand = \"sh\"\nargs = [\"far.sh\"]\n";
    let setup = Setup::new(medium, &stub).file("thinkd.toml", toml);
    let setup = setup.file("far.sh", FAR);
    let path = std::env::var("PATH").unwrap();
    let app = setup.env("PATH", path).start().await;
    let far = call("mcp__sh__far", json!({ "n": 1 }));
    stub.script(decision, [far, reply("Far.")]);
    app.tell("go").await;
    let log = app.public_log().await;
    let result = one(&log, &["result", "tool:mcp__sh__far"]);
    let output = json!({ "n": ["1e400", "-1e999", 2.5, "NaN", "\u{fffd}"] });
    assert_eq!(result["payload"]["output"], output, "{}", story(&log));
});
