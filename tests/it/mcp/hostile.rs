//! Servers that mean harm, by the data they write, send, leave behind or keep open.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// A program that answers a call by the code `$1`, with the id of the call in `$id`.
const SCRIPT: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
text() { printf '{"content":[{"type":"text","text":"%s"}]}' "$1"; }
BEGIN
while IFS= read -r line; do
  rest=${line#*\"id\":}; id=${rest%%[,\}]*}
  case "$line" in
    *'"initialize"'*) answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) answer "$id" '{"tools":[{"name":"work","inputSchema":{"type":"object"}},{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
    *'"tools/call"'*) WORK
 ;;
  esac
done
END
"#;

fn program(medium: Medium, stub: &Stub, begin: &str, work: &str, end: &str) -> Setup {
    let toml = "[tools.mcp.sh]\ncommand = \"sh\"\nargs = [\"server.sh\"]\ntimeout_ms = 5000\n";
    let script = SCRIPT
        .replace("BEGIN", begin)
        .replace("WORK", work)
        .replace("END", end);
    let setup = Setup::new(medium, stub)
        .file("thinkd.toml", toml)
        .file("server.sh", &script);
    setup.env("PATH", std::env::var("PATH").unwrap())
}

/// Returns the result of the last call.
async fn came(app: &App, stub: &Stub) -> Value {
    came_of(app, stub, "mcp__sh__work").await
}

async fn came_of(app: &App, stub: &Stub, name: &str) -> Value {
    stub.script(decision, [call(name, json!({})), reply("seen")]);
    app.tell("work").await;
    let log = app.public_log().await;
    (*with(&log, &["result", &format!("tool:{name}")])
        .last()
        .unwrap_or_else(|| panic!("{}", story(&log))))
    .clone()
}

/// Waits until the process is gone with the number in this file.
async fn gone(app: &App, file: &str) {
    let file = app.folder().join(file);
    polled("the end of a process", async || {
        let number = std::fs::read_to_string(&file).unwrap_or_default();
        let is_there = |number: &str| {
            std::fs::read_to_string(format!("/proc/{number}/stat"))
                .is_ok_and(|it| !it.contains(") Z "))
        };
        !number.trim().is_empty() && !is_there(number.trim())
    })
    .await;
}

/// Writes the process ids of its first run and of that run's child: a program that has died is
/// started again.
const CHILD: &str =
    "trap '' TERM INT HUP; sleep 1000 & [ -e child ] || { echo $! > child; echo $$ > leader; }";

on_sqlite!(
    t1_03_a_program_that_will_not_go_goes_with_all_that_it_started,
    |medium| {
        let stub = Stub::start().await;
        let end = "while :; do sleep 1; done";
        let mut app = program(medium, &stub, CHILD, r#"answer "$id" "$(text done)""#, end)
            .start()
            .await;
        assert_eq!(came(&app, &stub).await["payload"]["output"], "done");
        app.stop().await;
        gone(&app, "leader").await;
        gone(&app, "child").await;
    }
);

// The child holds the pipes of its parent open.
on_sqlite!(
    t1_03_what_a_program_leaves_behind_when_it_dies_goes_too,
    |medium| {
        let stub = Stub::start().await;
        let app = program(medium, &stub, CHILD, "exit 3", "").start().await;
        let result = came(&app, &stub).await;
        assert_eq!(
            result["payload"]["problem"]["kind"], "outcome_unknown",
            "{result}"
        );
        assert!(
            result["payload"]["duration_ms"].as_u64().unwrap() < 4000,
            "not at its limit: {result}"
        );
        gone(&app, "child").await;
    }
);

on_sqlite!(
    t1_03_what_is_no_message_or_answers_nobody_is_passed_over,
    |medium| {
        let stub = Stub::start().await;
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let noise = "printf '\\377\\376\\n'; echo not json; answer 4242 '{}'; answer '\"x\"' '{}'; answer $((id + 1)) \"$(text forged)\"\n\
         cat deep; answer \"$id\" \"$(text \"real $id\")\"; answer \"$id\" \"$(text again)\"";
        let app = program(medium, &stub, "", noise, "")
            .file("deep", &format!("{deep}\n"))
            .start()
            .await;
        for _ in 0..3 {
            let result = came(&app, &stub).await;
            assert!(
                said(&result).starts_with("real "),
                "{result}\n{}",
                app.output()
            );
        }
    }
);

on_sqlite!(
    t1_03_an_answer_that_is_too_long_or_too_deep_costs_its_call_and_nothing_else,
    |medium| {
        let stub = Stub::start().await;
        let deep = format!(
            "{}{}",
            "{\"a\":".repeat(90),
            "1".to_owned() + &"}".repeat(90)
        );
        let work = format!("answer \"$id\" '{{\"content\":[],\"structuredContent\":{deep}}}'");
        let app = program(medium, &stub, "", &work, "").start().await;
        let result = came(&app, &stub).await;
        assert!(
            result["payload"]["output"].is_string() || has(&result, "failure"),
            "{result}"
        );
        assert!(app.public_log().await.len() > 3, "the log can be read");
    }
);

on_sqlite!(
    t1_03_a_message_that_is_too_long_cuts_its_server_off,
    |medium| {
        let stub = Stub::start().await;
        let work = "head -c 9000000 /dev/zero | tr '\\0' 'x'; echo";
        let app = program(medium, &stub, "", work, "").start().await;
        let result = came(&app, &stub).await;
        assert_eq!(
            result["payload"]["problem"]["kind"], "outcome_unknown",
            "{result}"
        );
        assert!(
            result["payload"]["duration_ms"].as_u64().unwrap() < 4000,
            "not at its limit: {result}"
        );
        // The log is written once the program is gone.
        app.until_says("a message of more bytes than may be").await;
    }
);

on_sqlite!(
    t1_03_an_answer_of_more_bytes_than_may_be_is_not_read,
    |medium| {
        let server = ToolServer::start(vec![tool("whole", "W."), tool("streamed", "S.")]).await;
        let long = words(&"x".repeat(9_000_000));
        server.does("whole", Does::Answers(long.clone()));
        server.does("streamed", Does::Sends(Vec::new(), long));
        let stub = Stub::start().await;
        let app = setup(medium, &stub, &server, "").start().await;
        for name in ["mcp__it__whole", "mcp__it__streamed"] {
            let result = within("a result", async {
                loop {
                    stub.script(decision, [call(name, arguments("a")), reply("seen")]);
                    app.tell("go").await;
                    let log = app.public_log().await;
                    let last = with(&log, &["result", &format!("tool:{name}")])
                        .pop()
                        .unwrap()
                        .clone();
                    // The first one may have cost the connection.
                    if last["payload"]["problem"]["detail"]["reason"] != "server_away" {
                        return last;
                    }
                }
            })
            .await;
            assert!(has(&result, "failure"), "{}", story(&[result]));
        }
    }
);

on_sqlite!(
    t1_03_a_program_that_floods_standard_error_fills_no_log,
    |medium| {
        let stub = Stub::start().await;
        let flood = "head -c 20000000 /dev/zero | tr '\\0' 'x' >&2; yes >&2 & noise=$!";
        let app = program(
            medium,
            &stub,
            flood,
            r#"answer "$id" "$(text done)""#,
            "kill $noise",
        )
        .start()
        .await;
        assert_eq!(came(&app, &stub).await["payload"]["output"], "done");
        assert!(app.output().len() < 200_000, "{} bytes", app.output().len());
    }
);

// One that does not answer at all delays the first turn, for it may need a moment to start; not those after it.
on_sqlite!(
    t1_03_a_program_that_says_nothing_delays_only_the_first_turn,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, reply("alone"));
        let app = program(medium, &stub, "sleep 1000", "", "").start().await;
        app.tell("one").await;
        let begin = std::time::Instant::now();
        for _ in 0..3 {
            app.tell("more").await;
        }
        assert!(
            begin.elapsed() < ms(2000),
            "three turns took {:?}",
            begin.elapsed()
        );
    }
);

on_sqlite!(
    t1_03_a_server_that_forgets_the_session_gets_no_call_twice,
    |medium| {
        let server = ToolServer::start(vec![tool("pay", "Pays.")]).await;
        server.does("pay", Does::Forgets);
        let stub = Stub::start().await;
        stub.script(
            decision,
            [
                call("mcp__it__pay", arguments("a")),
                reply("I cannot tell."),
            ],
        );
        let app = setup(medium, &stub, &server, "").start().await;
        app.tell("pay").await;
        let log = app.public_log().await;
        let result = one(&log, &["result", "tool:mcp__it__pay"]);
        assert_eq!(
            result["payload"]["problem"]["kind"],
            "outcome_unknown",
            "{}",
            story(&log)
        );
        assert_eq!(server.heard("tools/call").len(), 1);
        // It is connected anew, and asked for its list.
        server.hears("tools/list", 2).await;
    }
);

on_sqlite!(t1_03_a_server_that_sends_on_is_not_followed, |medium| {
    let other = ToolServer::start(vec![tool("say", "Say it.")]).await;
    let server = ToolServer::start(Vec::new()).await;
    server.sends_on(&other);
    let stub = Stub::start().await;
    stub.on(decision, reply("alone"));
    let headers = "[tools.mcp.it.headers]\nAuthorization = \"Bearer word-of-header\"\n";
    let toml = format!("[tools.mcp.it]\nurl = \"{}\"\n{headers}", server.url());
    let app = Setup::new(medium, &stub)
        .file("thinkd.toml", &toml)
        .start()
        .await;
    app.tell("one").await;
    assert!(outside(&*stub.nth(0, decision).await).is_empty());
    assert!(other.headers().is_empty(), "the other one was asked");
    app.tell("two").await;
    let log = app.public_log().await;
    assert!(
        said(with(&log, &["failure", "tool:mcp__it"])[0]).contains("it is away"),
        "{}",
        story(&log)
    );
});

on_sqlite!(t1_03_a_header_that_would_be_two_is_none, |medium| {
    let server = ToolServer::start(vec![tool("say", "Say it.")]).await;
    let stub = Stub::start().await;
    stub.on(decision, reply("alone"));
    let headers = "[tools.mcp.it.headers]\nX-Key = \"word-of-header\\r\\nX-Other: 1\"\n";
    let toml = format!("[tools.mcp.it]\nurl = \"{}\"\n{headers}", server.url());
    let app = Setup::new(medium, &stub)
        .file("thinkd.toml", &toml)
        .start()
        .await;
    app.tell("one").await;
    app.tell("two").await;
    assert!(server.headers().is_empty(), "it was asked");
    let log = app.public_log().await;
    let told = said(with(&log, &["failure", "tool:mcp__it"])[0]);
    assert!(
        told.contains("X-Key") && !told.contains("word-of") && !app.output().contains("word-of"),
        "{told}"
    );
});

on_sqlite!(
    t1_03_a_list_that_changes_all_the_time_is_read_ever_more_seldom,
    |medium| {
        let server = ToolServer::start(vec![tool("a", "A.")]).await;
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let app = setup(medium, &stub, &server, "").start().await;
        app.tell("one").await;
        for turn in 0..150 {
            server.changes(vec![tool(&format!("t{turn}"), "T.")]);
            // The pace of the changes: three seconds of them in all.
            tokio::time::sleep(ms(20)).await;
        }
        let lists = server.heard("tools/list").len();
        assert!((2..8).contains(&lists), "it was read {lists} times in 3 s");
        server.hears("tools/list", lists + 1).await;
    }
);

on_sqlite!(
    t1_03_a_stream_that_never_says_anything_ends_with_the_limit_of_the_call,
    |medium| {
        let server = ToolServer::start(vec![tool("hum", "Hums.")]).await;
        server.does("hum", Does::Hums);
        let stub = Stub::start().await;
        stub.script(
            decision,
            [call("mcp__it__hum", arguments("a")), reply("It hums.")],
        );
        let setup = setup(medium, &stub, &server, "").env("THINKD_TOOLS__MCP__IT__TIMEOUT_MS", 500);
        let app = setup.start().await;
        assert_eq!(said(&app.tell("hum").await[0]), "It hums.");
        let log = app.public_log().await;
        assert_eq!(
            one(&log, &["result", "failure"])["payload"]["problem"]["kind"],
            "timeout",
            "{}",
            story(&log)
        );
    }
);

// Whose answer such a line was nobody can know: who waits for it waits to the limit, and is told.
on_sqlite!(
    t1_03_what_is_no_message_is_logged_and_said_where_an_answer_is_missing,
    |medium| {
        let stub = Stub::start().await;
        let work = r#"echo "listening, $WORD"; printf '{"jsonrpc":"2.0","id":%s,\n' "$id"; echo '{"result":{"content":[]}}'"#;
        let setup = program(medium, &stub, "WORD=aloud", work, "")
            .env("THINKD_TOOLS__MCP__SH__TIMEOUT_MS", 500);
        let app = setup.start().await;
        let result = came(&app, &stub).await;
        assert_eq!(result["payload"]["problem"]["kind"], "timeout", "{result}");
        assert!(
            said(&result).contains("3 lines that are no messages")
                && said(&result).contains("not known"),
            "{result}"
        );
        app.until_says("listening, aloud").await;
    }
);

/// Answers that name their call and are none, by line.
const ODD: &str = r#"{"jsonrpc":"2.0","id":ID}
{"jsonrpc":"2.0","id":"ID"}
{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"error":{"code":1,"message":"both"}}
{"id":ID,"result":{"content":[]}}
{"jsonrpc":"2.0","id":ID,"error":"no"}
{"jsonrpc":"2.0","id":ID,"result":7}
{"jsonrpc":"2.0","id":ID,"result":null}
"#;

on_sqlite!(
    t1_03_an_answer_that_is_no_message_fails_the_call_that_it_names_at_once,
    |medium| {
        let stub = Stub::start().await;
        let work = r#"n=$((n + 1)); sed -n "${n}s/ID/$id/p" odd"#;
        let twice: String = ODD
            .lines()
            .flat_map(|line| [line, "\n", line, "\n"])
            .collect();
        let setup = program(medium, &stub, "n=0", work, "").file("odd", &twice);
        let app = setup
            .env("THINKD_TOOLS__MCP__SH__BELIEVE_ANNOTATIONS", true)
            .start()
            .await;
        for line in ODD.lines() {
            for (name, kind) in [
                ("mcp__sh__work", "outcome_unknown"),
                ("mcp__sh__look", "tool"),
            ] {
                let result = came_of(&app, &stub, name).await;
                let problem = &result["payload"]["problem"];
                assert_eq!(
                    (&problem["kind"], &problem["retryable"]),
                    (&json!(kind), &json!(false)),
                    "{line}: {result}"
                );
                assert!(
                    said(&result).contains("no answer that can be used"),
                    "{line}: {result}"
                );
            }
        }
    }
);

// What it is followed by ends at once, and it wants it to be opened anew at once.
on_sqlite!(
    t1_03_a_stream_of_news_that_ends_at_once_is_not_opened_without_end,
    |medium| {
        let server = ToolServer::start(vec![tool("say", "Says.")]).await;
        server.is_followed_by(200, "retry: 0\ndata: \n\n");
        let stub = Stub::start().await;
        stub.script(
            decision,
            [call("mcp__it__say", arguments("a")), reply("Said.")],
        );
        let app = setup(medium, &stub, &server, "").start().await;
        app.tell("say").await;
        server.hears("GET", 100).await;
        server.quiet(ms(1500)).await;
        assert!(
            server.heard("GET").len() <= 500,
            "{}",
            server.heard("GET").len()
        );
    }
);
