//! Calls with reports of progress by their servers: progress lengthens them where that is
//! configured, and never without end.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// Tells of its progress every fifth of a second, so often, and then answers.
const SCRIPT: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
  rest=${line#*\"id\":}; id=${rest%%[,\}]*}
  rest=${line#*\"progressToken\":}; token=${rest%%[,\}]*}
  case "$line" in
    *'"initialize"'*) answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) answer "$id" '{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
      for step in $(seq TIMES); do
        sleep 0.2
        printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%s}}\n' "$token" "$step"
      done
      answer "$id" '{"content":[{"type":"text","text":"done"}]}' ;;
  esac
done
"#;

async fn works(medium: Medium, times: u32, progress_ms: &str) -> Value {
    let stub = Stub::start().await;
    stub.script(decision, [call("mcp__sh__work", json!({})), reply("Done.")]);
    let toml = "[tools.mcp.sh]\ncommand = \"sh\"\nargs = [\"server.sh\"]\ntimeout_ms = 1000\n";
    let setup = Setup::new(medium, &stub)
        .file("thinkd.toml", toml)
        .file("server.sh", &SCRIPT.replace("TIMES", &times.to_string()))
        .env("THINKD_TEST_TOOLS__MCP__SH__PROGRESS_MS", progress_ms)
        .env("PATH", std::env::var("PATH").unwrap());
    let app = setup.start().await;
    app.tell("work").await;
    let log = app.public_log().await;
    one(&log, &["result", "tool:mcp__sh__work"])["payload"].clone()
}

on_sqlite!(t1_04_progress_lengthens_a_call_by_choice, |medium| {
    let result = works(medium, 8, "60000").await;
    assert_eq!(result["output"], "done", "{result}");
});

on_sqlite!(t1_04_progress_alone_lengthens_no_call, |medium| {
    let result = works(medium, 8, "1000").await;
    assert_eq!(result["problem"]["kind"], "timeout", "{result}");
    assert_eq!(result["problem"]["detail"]["limit_ms"], 1000, "{result}");
});

on_sqlite!(t1_04_progress_lengthens_no_call_for_ever, |medium| {
    let result = works(medium, 500, "2000").await;
    assert_eq!(result["problem"]["kind"], "timeout", "{result}");
    assert_eq!(result["problem"]["detail"]["limit_ms"], 2000, "{result}");
});
