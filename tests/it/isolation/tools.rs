//! Places at a server of tools that all spaces use.

use super::*;

fn tool_server(medium: Medium, stub: &Stub, server: &ToolServer, more: &str) -> Setup {
    let toml = format!(
        "{TENANTS}[tools.mcp.it]\nurl = \"{}\"\n{more}",
        server.url()
    );
    Setup::new(medium, stub).file("thinkd.toml", &toml)
}

fn is_slow(request: &Request) -> bool {
    request.is_decision() && request.thread.starts_with("slow") && !request.says("mcp__it__slow")
}

on_both!(
    slow_calls_of_one_space_do_not_delay_a_quick_one_of_another,
    |medium| {
        let server = ToolServer::start(vec![tool("slow", "Slow."), tool("quick", "Quick.")]).await;
        let gate = Gate::new();
        server.does("slow", Does::Waits(gate.clone(), words("at last")));
        let stub = Stub::start().await;
        let argument = json!({ "text": "a" });
        stub.on(is_slow, call("mcp__it__slow", argument.clone()));
        stub.script(
            at("main"),
            [call("mcp__it__quick", argument), reply("It was quick.")],
        );
        let app = tool_server(medium, &stub, &server, "")
            .env("THINKD_TEST_RUNTIME__WORKERS", 128)
            .start_bare()
            .await;
        for number in 0..90 {
            a(&app).say(&format!("slow-{number}"), "hello").await;
        }
        // Three quarters of 64.
        taken(&app, "tool_server_calls", 48).await;
        assert_eq!(b(&app).chat("hello").await, "It was quick.");
        gate.open();
    }
);

// A call that had no place was not sent, and says so; one that was sent had its whole time.
on_both!(
    a_call_that_was_never_sent_says_that_and_may_be_repeated,
    |medium| {
        let server = ToolServer::start(vec![tool("slow", "Slow.")]).await;
        server.does("slow", Does::Hangs);
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(
            is_slow,
            call("mcp__it__slow", json!({ "text": "a" })).held(&gate),
        );
        let app = tool_server(medium, &stub, &server, "timeout_ms = 700\n")
            .env("THINKD_TEST_RUNTIME__WORKERS", 200)
            .start_bare()
            .await;
        for number in 0..140 {
            a(&app).say(&format!("slow-{number}"), "hello").await;
        }
        stub.some(140, is_slow).await;
        gate.open();
        let results = a(&app)
            .socket()
            .await
            .until_some("all results", async || {
                let page = a(&app)
                    .get("/events?tags=tool:mcp__it__slow&limit=500")
                    .await;
                let page = page.expect(200);
                let items = page["items"].as_array().unwrap();
                let items: Vec<Value> = items
                    .iter()
                    .filter(|it| has(it, "result"))
                    .cloned()
                    .collect();
                (items.len() == 140).then_some(items)
            })
            .await;
        let (busy, sent): (Vec<_>, Vec<_>) = results
            .iter()
            .partition(|result| result["payload"]["problem"]["detail"]["reason"] == "server_busy");
        assert!(!busy.is_empty(), "{results:?}");
        for result in &busy {
            assert_eq!(result["payload"]["problem"]["retryable"], true, "{result}");
            assert!(said(result).contains("was not called"), "{result}");
        }
        for result in &sent {
            assert_eq!(result["payload"]["problem"]["kind"], "timeout", "{result}");
        }
        assert_eq!(server.heard("tools/call").len(), sent.len());
    }
);
