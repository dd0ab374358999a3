//! Servers of tools that others wrote, from their registry: `.ci/run mcp` brings them along, in the folder that `THINKD_MCP_SERVERS` names.
//! Everything else about servers of tools is tested without them.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::*;

/// The folder of the installed servers; none: they are not installed.
pub(super) fn place() -> Option<PathBuf> {
    std::env::var_os("THINKD_MCP_SERVERS").map(PathBuf::from)
}

/// The program of a server, if they are here.
fn server(package: &str) -> Option<PathBuf> {
    let folder = place()?.join("npm/node_modules/@modelcontextprotocol");
    let program = folder.join(package).join("dist/index.js");
    assert!(program.exists(), "{} is not there", program.display());
    Some(program)
}

/// Returns a free port.
pub(super) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A server at an address; it ends with this.
pub(super) struct Web(Child);

impl Web {
    pub(super) async fn start(mut command: Command, port: u16) -> Self {
        let web = Self(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()
                .unwrap(),
        );
        polled("the server", async || {
            let connected = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
            connected.is_ok()
        })
        .await;
        web
    }

    async fn everything(program: &std::path::Path, port: u16) -> Self {
        let mut command = Command::new("node");
        command
            .arg(program)
            .arg("streamableHttp")
            .env("PORT", port.to_string());
        Self::start(command, port).await
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        // With all that it started: `node` may be a script around the program.
        let kill = format!("kill -9 -{}", self.0.id());
        let _ = Command::new("sh").args(["-c", &kill]).status();
        let _ = self.0.wait();
    }
}

/// Returns the content of the result of the last call of a tool.
pub(super) async fn outcome(app: &App, stub: &Stub, tool: &str, arguments: Value) -> Value {
    stub.script(decision, [call(tool, arguments), reply("seen")]);
    app.tell("go").await;
    let log = app.public_log().await;
    (*with(&log, &["result", &format!("tool:{tool}")])
        .last()
        .unwrap_or_else(|| panic!("{}", story(&log))))
    .clone()
}

/// Lists, calls, has pictures, JSON, progress, and a call that takes too long.
async fn serves(app: &App, stub: &Stub, name: &str) {
    let tool = |tool: &str| format!("mcp__{name}__{tool}");
    let echo = outcome(app, stub, &tool("echo"), json!({ "message": "hello" })).await;
    assert_eq!(echo["payload"]["output"], "Echo: hello", "{}", app.output());
    let sum = outcome(app, stub, &tool("get-sum"), json!({ "a": 2, "b": 40 })).await;
    assert!(said(&sum).contains("42"), "{sum}");
    let picture = outcome(app, stub, &tool("get-tiny-image"), json!({})).await;
    let media = &picture["payload"]["output"]["media"][0];
    assert_eq!(media["mime"], "image/png", "{picture}");
    app.get(&format!("/blobs/{}", media["blob"].as_str().unwrap()))
        .await;
    let weather = outcome(
        app,
        stub,
        &tool("get-structured-content"),
        json!({ "location": "Chicago" }),
    )
    .await;
    assert!(
        weather["payload"]["output"]["temperature"].is_number(),
        "{weather}"
    );
    let links = outcome(
        app,
        stub,
        &tool("get-resource-links"),
        json!({ "count": 2 }),
    )
    .await;
    assert_eq!(
        links["payload"]["output"]["links"].as_array().map(Vec::len),
        Some(2),
        "{links}"
    );
    let slowly = outcome(
        app,
        stub,
        &tool("trigger-long-running-operation"),
        json!({ "duration": 1, "steps": 5 }),
    )
    .await;
    assert!(!has(&slowly, "failure"), "{slowly}");
    let late = outcome(
        app,
        stub,
        &tool("trigger-long-running-operation"),
        json!({ "duration": 60, "steps": 5 }),
    )
    .await;
    assert_eq!(late["payload"]["problem"]["kind"], "timeout", "{late}");
    let wrong = outcome(app, stub, &tool("echo"), json!({})).await;
    assert!(said(&wrong).contains("not valid"), "{wrong}");
    let reads = async |more: Value| {
        let nulls = ["list", "cursor", "limit", "uri", "prompt", "arguments"]
            .map(|key| (key.to_owned(), Value::Null));
        let mut arguments = serde_json::Map::from_iter(nulls);
        arguments.insert("server".into(), name.into());
        arguments.extend(more.as_object().unwrap().clone());
        outcome(app, stub, "mcp_read", arguments.into()).await["payload"]["output"].clone()
    };
    let resources = reads(json!({ "list": "resources" })).await;
    let uri = &resources["resources"][0]["uri"];
    assert!(
        reads(json!({ "uri": uri }))
            .await
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{resources}"
    );
    let prompts = reads(json!({ "list": "prompts" })).await;
    assert!(prompts.to_string().contains("args-prompt"), "{prompts}");
    let prompt = reads(json!({ "prompt": "args-prompt", "arguments": "{\"city\":\"Ulm\"}" })).await;
    assert!(
        prompt
            .as_str()
            .is_some_and(|text| text.starts_with("user: ") && text.contains("Ulm")),
        "{prompt}"
    );
    let answers = async {
        let question = within("the question", async {
            loop {
                if let Some(question) = app.pages("/questions?").await.pop() {
                    return question["question_id"].as_str().unwrap().to_owned();
                }
            }
        });
        app.post(
            &format!("/questions/{}", question.await),
            json!({ "value": { "name": "Ada" } }),
        )
        .await
        .expect(204);
    };
    let trigger = tool("trigger-elicitation-request");
    let (asked, ()) = tokio::join!(outcome(app, stub, &trigger, json!({})), answers);
    assert!(said(&asked).contains("Ada"), "{asked}");
    let env = outcome(app, stub, &tool("get-env"), json!({})).await;
    assert!(!env.to_string().contains("OPENAI_API_KEY"), "{env}");
}

#[tokio::test]
async fn t1_01_real_servers_of_others_serve_their_tools() {
    let (Some(everything), Some(memory)) = (server("server-everything"), server("server-memory"))
    else {
        return;
    };
    let port = free_port();
    let web = Web::everything(&everything, port).await;
    let toml = format!(
        "[tools.mcp.all]\ncommand = \"node\"\nargs = [{everything:?}, \"stdio\"]\ntimeout_ms = 3000\n\
         [tools.mcp.web]\nurl = \"http://127.0.0.1:{port}/mcp\"\ntimeout_ms = 3000\n\
         [tools.mcp.memory]\ncommand = \"node\"\nargs = [{memory:?}]\nenv = {{ MEMORY_FILE_PATH = \"/dev/null\" }}\n"
    );
    let stub = Stub::start().await;
    let setup = Setup::new(Medium::sqlite(), &stub).file("thinkd.toml", &toml);
    let app = setup
        .env("PATH", std::env::var("PATH").unwrap())
        .start()
        .await;
    // They need a moment to start; the first turn waits for none of them for long.
    within("all servers", async {
        loop {
            stub.script(decision, [reply("yet")]);
            app.tell("are they there?").await;
            let all = app.get("/tools").await.expect(200);
            if all["servers"]
                .as_array()
                .unwrap()
                .iter()
                .all(|server| server["connected"] == true)
            {
                break;
            }
        }
    })
    .await;
    serves(&app, &stub, "all").await;
    serves(&app, &stub, "web").await;
    let graph = outcome(&app, &stub, "mcp__memory__read_graph", json!({})).await;
    assert!(!has(&graph, "failure"), "{graph}");
    // The client connects again after a restart, whether or not a call found the port closed.
    drop(web);
    let gone = outcome(&app, &stub, "mcp__web__echo", json!({ "message": "a" })).await;
    assert!(has(&gone, "failure"), "{gone}");
    let web = Web::everything(&everything, port).await;
    comes_back(&app, &stub).await;
    drop(web);
    let _web = Web::everything(&everything, port).await;
    comes_back(&app, &stub).await;
}

async fn comes_back(app: &App, stub: &Stub) {
    within("the server that came back", async {
        while has(
            &outcome(app, stub, "mcp__web__echo", json!({ "message": "b" })).await,
            "failure",
        ) {}
    })
    .await;
}
