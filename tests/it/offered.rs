//! The tools of a request as providers take them: their schemas, their number, and those that a provider refuses. Every
//! `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

fn setup(medium: Medium, stub: &Stub, server: &ToolServer, more: &str) -> Setup {
    Setup::new(medium, stub).file(
        "thinkd.toml",
        &format!("{more}\n[tools.mcp.x]\nurl = \"{}\"\n", server.url()),
    )
}

fn tool_of(name: &str, schema: &Value) -> Value {
    json!({ "name": name, "description": "Does it.", "inputSchema": schema })
}

fn plain(name: &str) -> Value {
    tool_of(name, &json!({ "type": "object", "properties": {} }))
}

/// A refusal as OpenAI writes it.
fn refusal(words: &str) -> Answer {
    let error = json!({ "message": words, "type": "invalid_request_error", "code": "invalid_function_parameters" });
    raw(json!({ "error": error }).to_string()).with_status(400)
}

/// True where a request has an array without items among its tools.
fn has_bare_array(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            (members.get("type") == Some(&json!("array")) && !members.contains_key("items"))
                || members.values().any(has_bare_array)
        }
        Value::Array(items) => items.iter().any(has_bare_array),
        _ => false,
    }
}

/// The tool as people see it.
async fn shown(app: &App, name: &str) -> Value {
    let tools = app.get("/tools").await.expect(200);
    let mut tools = tools["items"].as_array().unwrap().clone();
    let at = tools.iter().position(|tool| tool["name"] == name);
    tools.swap_remove(at.unwrap_or_else(|| panic!("no {name} in {tools:?}")))
}

/// The types in the tools of a request that are lists.
fn lists_of_types(tools: &Value) -> Vec<String> {
    let mut found = Vec::new();
    match tools {
        Value::Object(members) => {
            found.extend(
                members
                    .get("type")
                    .filter(|kind| kind.is_array())
                    .map(Value::to_string),
            );
            found.extend(members.values().flat_map(lists_of_types));
        }
        Value::Array(items) => found.extend(items.iter().flat_map(lists_of_types)),
        _ => {}
    }
    found
}

// An array without items mutes nobody: it gets some.
on_sqlite!(
    a_schema_that_a_provider_refuses_is_sent_in_a_form_that_it_takes,
    |medium| {
        let bare = json!({ "type": "object", "properties": { "a": { "type": "array" } } });
        let server = ToolServer::start(vec![tool_of("t", &bare), plain("other")]).await;
        let stub = Stub::start().await;
        let words = "Invalid schema for function 'mcp__x__t': In context=('properties', 'a'), array schema missing items.";
        stub.on(
            |request| has_bare_array(&request.body["tools"]),
            refusal(words),
        );
        stub.script(
            decision,
            [call("mcp__x__t", json!({ "a": [1, "b"] })), reply("done")],
        );
        let app = setup(medium, &stub, &server, "").start().await;
        assert_eq!(said(&app.tell("hello").await[0]), "done");
        assert_eq!(stub.requests().len(), 2, "nothing was refused");
        assert_eq!(shown(&app, "mcp__x__t").await["state"], "ready");
        let called = server.hears("tools/call", 1).await;
        assert_eq!(
            called["params"]["arguments"],
            json!({ "a": [1, "b"] }),
            "{called}"
        );
        // The tool has its own schema still.
        assert_eq!(shown(&app, "mcp__x__t").await["schema"], bare);
    }
);

// A provider that takes fewer tools than others: the rest can be opened, and is in the place of nothing that is needed.
on_sqlite!(
    tools_that_are_too_many_for_a_provider_are_behind_more_tools,
    |medium| {
        const MOST: usize = 8;
        let server =
            ToolServer::start((0..20).map(|at| plain(&format!("t{at:02}"))).collect()).await;
        let stub = Stub::start().await;
        let are_many = |request: &Request| request.tools().len() > MOST;
        let words = format!("Too many tools: at most {MOST} tools per request");
        stub.on(are_many, refusal(&words));
        let open = |name: &str| call("more_tools", json!({ "names": [name] }));
        let asked = |request: &Request| request.is_decision() && request.tools().len() <= MOST;
        let script = [
            reply("one"),
            open("mcp__x__t19"),
            call("mcp__x__t19", json!({})),
        ];
        stub.script(asked, script.into_iter().chain([reply("two")]));
        let app = setup(medium, &stub, &server, "").start().await;
        assert_eq!(said(&app.tell("hello").await[0]), "one");
        assert_eq!(stub.count(are_many), 1, "it was refused once");
        assert_eq!(said(&app.tell("and now?").await[0]), "two");
        assert_eq!(stub.count(are_many), 1, "and never again");
        let last = stub.all(asked).pop().unwrap().tools();
        assert!(last.contains(&"reply".to_owned()), "{last:?}");
        assert!(last.contains(&"more_tools".to_owned()), "{last:?}");
        assert_eq!(last.last().unwrap(), "mcp__x__t19", "{last:?}");
        server.hears("tools/call", 1).await;
        let models = app.get("/models").await.expect(200).to_string();
        assert!(models.contains("takes at most 8 tools"), "{models}");
    }
);

// The voices' tools, too.
#[tokio::test]
async fn no_type_is_a_list() {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [call(
            "more_tools",
            json!({ "names": ["plan", "set_timer", "watch"] }),
        )],
    );
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&["owl"])
        .start()
        .await;
    app.tell("hello").await;
    app.process("p", json!({})).await;
    app.say_in("p", "hello").await;
    stub.request(at("p")).await;
    let mut nullable = 0;
    for request in stub.requests() {
        let tools = &request.body["tools"];
        assert_eq!(lists_of_types(tools), Vec::<String>::new(), "{request:?}");
        nullable += tools.to_string().matches(r#"{"type":"null"}"#).count();
        let is_strict = tools.to_string().contains("additionalProperties");
        assert_eq!(is_strict, !tools.is_null(), "{tools}");
    }
    assert!(nullable > 0);
}

// A member that may be null comes back absent, one that is optional comes back as null: the tool gets what its schema says.
on_sqlite!(
    null_and_absent_reach_a_tool_as_its_schema_has_them,
    |medium| {
        let schema = json!({
            "type": "object",
            "properties": { "must": { "type": ["string", "null"] }, "may": { "type": "string" } },
            "required": ["must"],
        });
        let server = ToolServer::start(vec![tool_of("t", &schema)]).await;
        let stub = Stub::start().await;
        stub.script(
            decision,
            [call("mcp__x__t", json!({ "may": null })), reply("done")],
        );
        let app = setup(medium, &stub, &server, "").start().await;
        assert_eq!(said(&app.tell("hello").await[0]), "done");
        let called = server.hears("tools/call", 1).await;
        assert_eq!(
            called["params"]["arguments"],
            json!({ "must": null }),
            "{called}"
        );
    }
);

// A refusal costs the tool that it names, once, and nobody else anything.
on_sqlite!(
    a_refusal_that_names_a_tool_costs_that_tool_alone,
    |medium| {
        let server = ToolServer::start(vec![plain("bad"), plain("good")]).await;
        let stub = Stub::start().await;
        let words = "Invalid schema for function 'mcp__x__bad': the provider's words";
        stub.on(
            |request| request.tools().iter().any(|tool| tool == "mcp__x__bad"),
            refusal(words),
        );
        let app = setup(medium, &stub, &server, "").start().await;
        for thread in ["main", "main", "other"] {
            assert_eq!(said(&app.tell_in(thread, "hello").await[0]), "ok: hello");
        }
        let tools: Vec<bool> = stub
            .requests()
            .iter()
            .map(|request| request.tools().contains(&"mcp__x__bad".to_owned()))
            .collect();
        assert_eq!(tools, [true, false, false, false], "it was refused once");
        assert!(
            stub.requests()[1]
                .tools()
                .contains(&"mcp__x__good".to_owned())
        );
        let tool = shown(&app, "mcp__x__bad").await;
        assert_eq!(tool["state"], "withheld", "{tool}");
        assert!(
            tool["why"]
                .as_str()
                .unwrap()
                .contains("the provider's words"),
            "{tool}"
        );
        assert_eq!(shown(&app, "mcp__x__good").await["state"], "ready");
        let log = app.log().await;
        let told = one(&log, &["failure", "tool:mcp__x__bad"]);
        assert_eq!(
            told["payload"]["detail"]["reason"], "refused_by_provider",
            "{told}"
        );
        assert!(said(told).contains("the provider's words"), "{told}");
        // Each call has its record, and each can be made again byte for byte.
        let records = with(&log, &["call:decision"]);
        assert_eq!(records.len(), 4, "{}", story(&log));
        for record in records {
            let path = format!("/prompt-views/{}", record["event_id"].as_str().unwrap());
            assert_eq!(app.get(&path).await.expect(200)["exact"], true, "{record}");
        }
        // What is said of it changes: it is offered again.
        server.changes(vec![
            tool_of(
                "bad",
                &json!({ "type": "object", "properties": { "b": { "type": "string" } } }),
            ),
            plain("good"),
        ]);
        stub.clear();
        let before = stub.requests().len();
        within("the tool as it is now", async {
            loop {
                let tool = shown(&app, "mcp__x__bad").await;
                if tool["state"] == "changed" {
                    let path = "/tools/mcp__x__bad/approve";
                    app.post(path, json!({ "sha256": tool["sha256"] })).await;
                } else if tool["state"] == "ready" {
                    return;
                }
                app.tell("again").await;
            }
        })
        .await;
        app.tell("now").await;
        let last = stub.requests().last().unwrap().clone();
        assert!(stub.requests().len() > before && last.tools().contains(&"mcp__x__bad".to_owned()));
    }
);

// Without `reply` there is no answer: a refusal of it is told in its words. One that does not go away with the tools takes none.
#[tokio::test]
async fn a_refusal_that_no_tool_cures_costs_none() {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [refusal("Invalid schema for function 'reply': odd")],
    );
    let server = ToolServer::start(vec![plain("a"), plain("b")]).await;
    let app = setup(Medium::sqlite(), &stub, &server, "").start().await;
    assert!(app.tell("hello").await.is_empty());
    let log = app.log().await;
    assert!(
        said(one(&log, &["failure"])).contains("function 'reply': odd"),
        "{}",
        story(&log)
    );
    assert_eq!(stub.requests().len(), 1);
    // Whatever the first tool is, it is refused.
    stub.on_each(decision, |request| {
        let tools = request.tools();
        let first = tools
            .iter()
            .find(|tool| tool.starts_with("mcp__"))
            .unwrap_or(&tools[0]);
        refusal(&format!(
            "Invalid schema for function '{first}': this model takes no tools"
        ))
    });
    assert!(app.tell("hello").await.is_empty());
    for tool in ["mcp__x__a", "mcp__x__b"] {
        assert_eq!(shown(&app, tool).await["state"], "ready", "{tool}");
    }
    let log = app.log().await;
    assert!(
        with(&log, &["failure", "tool:mcp__x__a"]).is_empty(),
        "{}",
        story(&log)
    );
}

// More tools than a request may have: the rest is to be opened, said by `GET /tools`.
on_sqlite!(
    a_request_has_at_most_128_tools_and_the_others_can_be_opened,
    |medium| {
        let many = (0..150).map(|at| plain(&format!("t{at:03}"))).collect();
        let server = ToolServer::start(many).await;
        let stub = Stub::start().await;
        stub.on(|request| request.tools().len() > 128, status(400));
        let far = "mcp__x__t149";
        stub.script(
            decision,
            [
                reply("one"),
                call("more_tools", json!({ "names": [far] })),
                call(far, json!({})),
                reply("two"),
            ],
        );
        let app = setup(medium, &stub, &server, "").start().await;
        assert_eq!(said(&app.tell("hello").await[0]), "one");
        assert_eq!(shown(&app, "mcp__x__t000").await["state"], "ready");
        let tool = shown(&app, far).await;
        assert_eq!(tool["state"], "rare", "{tool}");
        assert!(
            tool["why"].as_str().unwrap().contains("more_tools"),
            "{tool}"
        );
        assert_eq!(said(&app.tell("again").await[0]), "two");
        let requests = stub.requests();
        let second = &requests[1];
        let third = &requests[2];
        assert!(!second.tools().contains(&far.to_owned()));
        assert_eq!(third.tools().last().unwrap(), far, "behind the others");
        assert_eq!(
            second.body["tools"].as_array().unwrap()[..],
            third.body["tools"].as_array().unwrap()[..second.tools().len()],
            "which stay as they are"
        );
        server.hears("tools/call", 1).await;
        let (ok, said) = kit::app::command(&app, &["doctor", "--json"]).await;
        assert!(
            said.contains("more_tools") && said.contains("128"),
            "{ok} {said}"
        );
    }
);
