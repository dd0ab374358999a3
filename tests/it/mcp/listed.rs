//! Third-party MCP servers of several languages and libraries: each entry of `tests/real-servers.toml` lists all its tools and answers its calls.
//! `.ci/run mcp` installs them; `real.rs` tries one server in full.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::real::{Web, free_port, outcome, place};
use super::*;

/// Most servers of one thinkd: each is a program, and they start together.
const AT_A_TIME: usize = 10;
/// The time limit for connecting them.
const BEGUN: std::time::Duration = std::time::Duration::from_secs(120);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    servers: Vec<Server>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    name: String,
    npm: Option<String>,
    pypi: Option<String>,
    as_of: Option<String>,
    made_with: String,
    start: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    needs: Option<String>,
    tools: usize,
    #[serde(default)]
    withheld: usize,
    calls: Vec<Call>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    #[serde(default = "none")]
    arguments: Value,
    says: Option<String>,
    fails: Option<String>,
}

fn none() -> Value {
    json!({})
}

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(kit::ROOT).join(file)).unwrap()
}

fn listed() -> Vec<Server> {
    let listed: Listed = toml::from_str(&read("tests/real-servers.toml")).unwrap();
    listed.servers
}

/// Replaces each `{name}` in a text by its value.
fn filled(text: &str, names: &[(&str, &str)]) -> String {
    names.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}

/// Writes the files on which servers work.
fn prepare(work: &Path) {
    let repo = work.join("repo");
    std::fs::create_dir_all(&repo).unwrap();
    let files = [
        ("owls.txt", "Two owls.\n"),
        (
            "owls.drawio",
            "<mxfile><diagram id=\"o\" name=\"Owls\"><mxGraphModel><root/></mxGraphModel></diagram></mxfile>",
        ),
        (
            "kubeconfig",
            "apiVersion: v1\nkind: Config\nclusters: [{name: owls, cluster: {server: 'http://127.0.0.1:9'}}]\n\
             contexts: [{name: owls, context: {cluster: owls, user: owls}}]\nusers: [{name: owls, user: {}}]\ncurrent-context: owls\n",
        ),
    ];
    for (name, content) in files {
        std::fs::write(work.join(name), content).unwrap();
    }
    std::fs::write(work.join("dot.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let commit = "-c user.name=Ada -c user.email=ada@example.org commit --quiet --allow-empty -m";
    let commit: Vec<&str> = commit.split(' ').chain(["The first owl"]).collect();
    for arguments in [&["init", "--quiet"][..], &commit] {
        let git = Command::new("git")
            .args(arguments)
            .current_dir(&repo)
            .status();
        assert!(git.unwrap().success(), "git {arguments:?}");
    }
}

/// A started server and its part of `thinkd.toml`.
struct Begun {
    server: Server,
    /// The process of a server with a `url`.
    _web: Option<Web>,
    toml: String,
}

async fn begin(server: Server, folder: &Path, work: &str) -> Begun {
    let port = free_port().to_string();
    let npm = folder.join("npm/node_modules");
    let pypi = folder.join("mcp/bin");
    let names = [
        ("npm", npm.to_str().unwrap()),
        ("pypi", pypi.to_str().unwrap()),
        ("work", work),
        ("port", &port),
    ];
    let start: Vec<String> = server.start.iter().map(|it| filled(it, &names)).collect();
    let env = server
        .env
        .iter()
        .map(|(name, value)| (name, filled(value, &names)));
    let env: BTreeMap<_, _> = env.collect();
    let name = &server.name;
    let mut web = None;
    let way = if let Some(url) = &server.url {
        let mut command = Command::new(&start[0]);
        command
            .args(&start[1..])
            .envs(&env)
            .env("HOME", work)
            .current_dir(work);
        web = Some(Web::start(command, port.parse().unwrap()).await);
        format!("url = {:?}\n", filled(url, &names))
    } else {
        let env: Vec<String> = env
            .iter()
            .map(|(name, it)| format!("{name} = {it:?}"))
            .collect();
        let env = env.join(", ");
        format!(
            "command = {:?}\nargs = {:?}\nenv = {{ {env} }}\n",
            start[0],
            &start[1..]
        )
    };
    let toml = format!("[tools.mcp.{name}]\n{way}timeout_ms = 20000\n");
    Begun {
        server,
        _web: web,
        toml,
    }
}

/// Waits until all servers are connected: the first turn waits only two seconds.
async fn wait_for_all(app: &App, stub: &Stub) {
    let all = async {
        loop {
            stub.script(decision, [reply("yet")]);
            app.tell("are they there?").await;
            let all = app.get("/tools").await.expect(200);
            let servers = all["servers"].as_array().unwrap();
            let away = servers.iter().find(|it| it["connected"] != true);
            let Some(away) = away else { return };
            assert!(
                !away["why"]
                    .as_str()
                    .is_some_and(|why| why.contains("program ended")),
                "{away}: {}",
                app.output()
            );
        }
    };
    let begun = tokio::time::timeout(BEGUN, all).await;
    assert!(begun.is_ok(), "not all are there: {}", app.output());
}

/// Checks the number of tools and the result of each listed call.
async fn check_server(app: &App, stub: &Stub, server: &Server, names: &[(&str, &str)]) {
    let name = &server.name;
    let all = app.get("/tools?thread=main").await.expect(200);
    let tools = all["items"].as_array().unwrap().iter();
    let tools: Vec<&Value> = tools.filter(|it| it["server"] == **name).collect();
    let withheld = tools.iter().filter(|it| it["state"] == "withheld").count();
    assert_eq!(
        (tools.len(), withheld),
        (server.tools, server.withheld),
        "{name}: {tools:?}"
    );
    let without = tools
        .iter()
        .find(|it| it["state"] != "withheld" && it["schema"]["type"] != "object");
    assert!(
        without.is_none(),
        "{name}: a tool without its schema: {without:?}"
    );
    for call in &server.calls {
        let tool = format!("mcp__{name}__{}", call.tool);
        let arguments = filled(&call.arguments.to_string(), names);
        let result = outcome(app, stub, &tool, arguments.parse().unwrap()).await;
        assert_eq!(
            has(&result, "failure"),
            call.fails.is_some(),
            "{tool}: {result}"
        );
        let wanted = call.says.as_ref().or(call.fails.as_ref());
        let wanted = filled(wanted.expect("says or fails"), names);
        let output = &result["payload"]["output"];
        let forms = [
            output.as_str().unwrap_or_default(),
            &output.to_string(),
            said(&result),
        ];
        assert!(
            forms.iter().any(|form| form.contains(&wanted)),
            "{tool} does not say {wanted:?}: {result}"
        );
    }
}

#[tokio::test]
async fn t1_01_listed_servers_have_all_their_tools_and_answer() {
    let Some(folder) = place() else { return };
    let mut servers = listed();
    let count = servers.len();
    while !servers.is_empty() {
        let stub = Stub::start().await;
        let setup = Setup::new(Medium::sqlite(), &stub);
        let work = setup.folder().join("work");
        prepare(&work);
        let work = work.to_str().unwrap().to_owned();
        let mut begun = Vec::new();
        for server in servers.drain(..AT_A_TIME.min(servers.len())) {
            begun.push(begin(server, &folder, &work).await);
        }
        let toml: String = begun.iter().map(|it| it.toml.as_str()).collect();
        let path = std::env::var("PATH").unwrap();
        let app = setup
            .file("thinkd.toml", &toml)
            .env("PATH", path)
            .start()
            .await;
        wait_for_all(&app, &stub).await;
        let url = app.url("");
        let names = [("work", work.as_str()), ("thinkd", &url)];
        for Begun { server, .. } in &begun {
            check_server(&app, &stub, server, &names).await;
        }
    }
    println!("{count} real servers of tools were asked");
}

#[test]
fn the_page_names_the_servers_that_are_listed() {
    let servers = listed();
    let names: BTreeSet<&str> = servers.iter().map(|it| it.name.as_str()).collect();
    assert!(
        names.len() == servers.len() && names.len() >= 20,
        "each is another"
    );
    let rows = servers.iter().map(|it| {
        let (package, of) = match (&it.npm, &it.pypi, &it.as_of) {
            (Some(package), None, None) => (package, "npm"),
            (None, Some(package), Some(_)) => (package, "PyPI"),
            _ => panic!("{}: npm, or pypi and as_of", it.name),
        };
        let way = if it.url.is_some() { "HTTP" } else { "stdio" };
        let calls: Vec<String> = it
            .calls
            .iter()
            .map(|call| format!("`{}`", call.tool))
            .collect();
        let calls: BTreeSet<String> = calls.into_iter().collect();
        let calls = Vec::from_iter(calls).join(", ");
        let needs = it.needs.as_ref();
        let needs = needs.map_or(String::new(), |it| format!("; no {it}"));
        let withheld = match it.withheld {
            0 => String::new(),
            withheld => format!(", {withheld} withheld"),
        };
        format!(
            "| `{package}` ({of}) | {} | {way} | {}{withheld} | {calls}{needs} |\n",
            it.made_with, it.tools
        )
    });
    let table: String = rows.collect();
    let page = read("docs/mcp.md");
    assert!(
        page.contains(&table),
        "docs/mcp.md needs these rows:\n{table}"
    );
}
