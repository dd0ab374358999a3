//! Servers that are programs: a few lines of the shell, which is on every machine.

use super::*;

/// Answers with its environment, and writes text on standard error that must not be printed.
const SCRIPT: &str = r#"
echo "the password is $PASSWORD" >&2
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
  rest=${line#*\"id\":}; id=${rest%%[,\}]*}
  case "$line" in
    *'"initialize"'*) answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) answer "$id" '{"tools":[{"name":"env","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *'"die"'*) exit 3 ;;
    *'"tools/call"'*) answer "$id" "{\"content\":[{\"type\":\"text\",\"text\":\"$(env | cut -d= -f1 | sort | tr '\n' ' ')\"}]}" ;;
  esac
done
echo "$$" > ended
"#;

fn program(medium: Medium, stub: &Stub) -> Setup {
    let toml = "[tools.mcp.sh]\ncommand = \"sh\"\nargs = [\"server.sh\"]\nenv = { COLOUR = \"red\" }\nsecrets_file = \"secrets\"\n";
    let setup = Setup::new(medium, stub)
        .file("thinkd.toml", toml)
        .file("server.sh", SCRIPT);
    setup
        .file("secrets", "# of the server\nPASSWORD=tell-nobody-9\n")
        .env("PATH", std::env::var("PATH").unwrap())
}

on_sqlite!(
    t1_01_a_program_gets_its_own_environment_and_none_of_ours,
    |medium| {
        let stub = Stub::start().await;
        stub.script(decision, [call("mcp__sh__env", json!({})), reply("Seen.")]);
        let mut app = program(medium, &stub).start().await;
        app.tell("look").await;
        let log = app.public_log().await;
        let names = said(one(&log, &["result", "tool:mcp__sh__env"]))
            .split_whitespace()
            .collect::<Vec<_>>();
        let known = [
            "COLOUR", "HOME", "OLDPWD", "PASSWORD", "PATH", "PWD", "SHLVL", "_",
        ];
        assert!(
            names.contains(&"PASSWORD") && names.iter().all(|name| known.contains(name)),
            "{names:?}"
        );
        app.until_says("the password is").await;
        assert!(!app.output().contains("tell-nobody-9"), "{}", app.output());
        app.stop().await;
        let ended = app.folder().join("ended");
        polled("the end of the program", async || ended.exists()).await;
    }
);

on_sqlite!(t1_04_a_program_that_dies_is_started_again, |medium| {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [call("mcp__sh__die", json!({})), reply("It died.")],
    );
    let app = program(medium, &stub).start().await;
    app.tell("die").await;
    let log = app.public_log().await;
    let result = one(&log, &["result", "tool:mcp__sh__die"]);
    assert_eq!(
        result["payload"]["problem"]["kind"],
        "outcome_unknown",
        "{}",
        story(&log)
    );
    for _ in 0..100 {
        stub.script(decision, [call("mcp__sh__env", json!({})), reply("Tried.")]);
        app.tell("again").await;
        let log = app.public_log().await;
        if with(&log, &["result", "tool:mcp__sh__env"])
            .iter()
            .any(|result| !has(result, "failure"))
        {
            return;
        }
    }
    panic!("it was not started again: {}", app.output());
});

#[tokio::test]
async fn t1_01_secrets_of_servers_are_printed_by_nobody() {
    let stub = Stub::start().await;
    let toml = "[tools.mcp.a]\nurl = \"http://ann:word-of-url@127.0.0.1:9/mcp?key=word-of-query\"\nheaders = { X-Key = \"word-of-header\" }\n\
                [tools.mcp.b]\ncommand = \"sh\"\nenv = { KEY = \"word-of-env\" }\n";
    let setup = Setup::new(Medium::sqlite(), &stub)
        .file("thinkd.toml", toml)
        .arguments(&["config"]);
    let output = setup.command().output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.contains("X-Key = \"(redacted)\"") && printed.contains("KEY = \"(redacted)\""),
        "{printed}"
    );
    assert!(!printed.contains("word-of"), "{printed}");
    for (toml, says) in [
        ("[tools.mcp.a]\n", "needs command"),
        ("[tools.mcp.A]\nurl = \"http://a\"\n", "server's name"),
        (
            "[tools.mcp.a]\nurl = \"http://a\"\nargs = [\"x\"]\n",
            "args and env",
        ),
        ("[tools.mcp.a]\nurl = \"file:///etc\"\n", "no address"),
        (
            "[tools.mcp.a]\nurl = 7\nheaders = \"word-of-header\"\n",
            "not shown",
        ),
    ] {
        let setup = Setup::new(Medium::sqlite(), &stub).file("thinkd.toml", toml);
        let output = setup.command().output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && said.contains(says) && !said.contains("word-of"),
            "{toml}: {said}"
        );
    }
}

#[tokio::test]
async fn t1_01_the_doctor_asks_each_server_of_tools() {
    let stub = Stub::start().await;
    let odd = json!({ "name": "odd", "inputSchema": "none" });
    let server = ToolServer::start(vec![tool("a", "A."), tool("b", "B.\u{e0041}"), odd]).await;
    let gone = "[tools.mcp.gone]\nurl = \"http://127.0.0.1:9/mcp\"\nheaders = { Authorization = \"Bearer word-of-header\" }\n";
    let setup = setup(Medium::sqlite(), &stub, &server, gone).arguments(&["doctor", "--json"]);
    let mut command = tokio::process::Command::from(setup.command());
    let output = within("the doctor", command.output()).await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains(
            "3 tools; calls run without a person: mcp__it__a; withheld: mcp__it__b (its name"
        ),
        "{said}"
    );
    assert!(
        said.contains("mcp__it__odd (its schema is no object)"),
        "{said}"
    );
    assert!(
        said.contains("tools of gone")
            && said.contains("does not serve tools")
            && !said.contains("word-of"),
        "{said}"
    );
    assert!(!output.status.success());
}

/// Says that it began, and takes longer than anybody waits.
const SLOW: &str = "echo begun >> begun; sleep 64";

// As long as the program takes: a minute that nobody has to wait for.
#[tokio::test]
async fn t1_04_a_program_that_takes_more_than_a_minute_to_begin_is_waited_for() {
    let stub = Stub::start().await;
    stub.on(decision, reply("yes"));
    let setup = program(Medium::sqlite(), &stub).file("server.sh", &format!("{SLOW}\n{SCRIPT}"));
    let app = setup.start().await;
    app.tell("one").await;
    app.until_says("a server of tools is connected").await;
    let begun = std::fs::read_to_string(app.folder().join("begun")).unwrap();
    assert_eq!(begun.lines().count(), 1, "it was begun once");
    app.tell("two").await;
    assert!(outside(&*stub.nth(1, decision).await).contains(&"mcp__sh__env".to_owned()));
}
