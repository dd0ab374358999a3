//! The real program as a process: tests start it, ask it, kill it, and start it again on the same data.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::http::{self, Reply};
use super::{Medium, Socket, Stub, ms, oracle, polled, polled_some, watchdog, within};

/// The configuration that a server is started with.
pub struct Setup {
    medium: Medium,
    env: BTreeMap<String, String>,
    voices: Vec<String>,
    arguments: Vec<String>,
    program: PathBuf,
    stderr: Option<fn() -> Stdio>,
}

/// A running (or killed) server and its database.
pub struct App {
    setup: Setup,
    process: Option<Process>,
    client: reqwest::Client,
    /// `127.0.0.1:<port>`.
    pub address: String,
    credentials: Option<String>,
}

/// One run of the program.
pub struct Process {
    child: Child,
    output: Arc<watch::Sender<String>>,
    address: watch::Receiver<Option<String>>,
}

impl Setup {
    /// A server on this database, with the stub as its model, and without the voices that a new
    /// mind begins with.
    pub fn new(medium: Medium, stub: &Stub) -> Self {
        Self::offline(medium)
            .env("THINKD_MODEL", "stub")
            .env("OPENAI_BASE_URL", stub.url())
            .env("OPENAI_API_KEY", "test")
    }

    /// A server on this database with nothing else configured.
    pub fn offline(medium: Medium) -> Self {
        let program = crate::program().into();
        let setup = Self {
            medium,
            env: BTreeMap::new(),
            voices: Vec::new(),
            arguments: Vec::new(),
            program,
            stderr: None,
        };
        let url = setup.medium.url().to_owned();
        let setup = setup
            .env("DATABASE_URL", url)
            .env("THINKD_LISTEN", "127.0.0.1:0");
        // Whoever comes after a killed server waits for its leases. Code computes beside tests that take all processors.
        setup
            .env("THINKD_TEST_RUNTIME__LEASE_MS", 3000)
            .env("THINKD_RUNTIME__DEFAULT_SUBMODULES", false)
            .env("THINKD_TOOLS__CODE__BACKGROUND", false)
    }

    /// With this variable in its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl ToString) -> Self {
        self.env.insert(name.to_owned(), value.to_string());
        self
    }

    /// With these voices.
    #[must_use]
    pub fn voices(mut self, names: &[&str]) -> Self {
        self.voices = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// With this file beside it: `thinkd.toml` is read, others are for the test.
    #[must_use]
    pub fn file(self, name: &str, content: &str) -> Self {
        let path = self.medium.folder().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// With these arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect();
        self
    }

    /// Another program than thinkd's own, such as this test binary itself, directed by its
    /// arguments.
    #[must_use]
    pub fn program(mut self, program: PathBuf) -> Self {
        self.program = program;
        self
    }

    /// With its log written there; `App::output` has nothing of it.
    #[must_use]
    pub fn stderr(mut self, stderr: fn() -> Stdio) -> Self {
        self.stderr = Some(stderr);
        self
    }

    /// Its environment.
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The folder it will run in.
    pub fn folder(&self) -> &std::path::Path {
        self.medium.folder()
    }

    /// Returns whether its database is Postgres.
    pub fn is_postgres(&self) -> bool {
        self.medium.is_shared()
    }

    /// The program with this setup, not yet started.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(&self.env)
            .current_dir(self.medium.folder());
        command
            .env("HOME", self.medium.folder())
            .env("RUST_BACKTRACE", "1");
        let stderr = self.stderr.map_or_else(Stdio::piped, |stderr| stderr());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr);
        command
    }

    /// Starts it without the default voices, waits until it serves, and gives it those that are asked for.
    pub async fn start(self) -> App {
        let mut app = self
            .env("THINKD_RUNTIME__DEFAULT_SUBMODULES", "false")
            .start_bare()
            .await;
        app.set_voices().await;
        app
    }

    /// Starts it and waits until it serves.
    pub async fn start_bare(self) -> App {
        let credentials = None;
        let mut app = App {
            setup: self,
            process: None,
            client: http::client(),
            address: String::new(),
            credentials,
        };
        app.start_again().await;
        app
    }
}

/// Runs the program to its end, with this environment and no other. Returns its exit code and its
/// output.
pub async fn ran(folder: &Path, env: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = tokio::process::Command::new(crate::program());
    command
        .args(arguments)
        .env_clear()
        .envs(env.iter().copied())
        .current_dir(folder)
        .stdin(Stdio::null());
    let output = within("the end of a command", command.kill_on_drop(true).output())
        .await
        .unwrap();
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), said.concat())
}

/// Runs a command on the database of a server: its success and its output.
pub async fn command(app: &App, arguments: &[&str]) -> (bool, String) {
    let (code, said) = ran(
        &app.folder(),
        &[("DATABASE_URL", app.database())],
        arguments,
    )
    .await;
    (code == Some(0), said)
}

/// Stops the server and asserts that its rows agree with the log.
pub async fn rows_are_what_the_log_says(app: &mut App) {
    assert!(app.stop().await.success());
    let (ok, said) = command(app, &["rebuild", "--check"]).await;
    assert!(
        ok && said.contains("everything was what the log says"),
        "{said}"
    );
}

impl Process {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        watchdog::watch(child.id());
        let output = Arc::new(watch::Sender::new(String::new()));
        let (found, address) = watch::channel(None);
        let found = Arc::new(found);
        collect(child.stdout.take().unwrap(), output.clone(), found.clone());
        child
            .stderr
            .take()
            .into_iter()
            .for_each(|stderr| collect(stderr, output.clone(), found.clone()));
        Self {
            child,
            output,
            address,
        }
    }

    fn output(&self) -> String {
        self.output.borrow().clone()
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        watchdog::forget(self.child.id());
    }

    async fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        let status =
            polled_some("the end of the process", async || child.try_wait().unwrap()).await;
        watchdog::forget(self.child.id());
        // Its last lines may still be in the pipes: both readers hold a sender until then. A grandchild may keep one open.
        let read = async { while self.address.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(ms(2_000), read).await;
        status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let ended = self.child.try_wait().ok().flatten();
        self.kill();
        if std::thread::panicking() {
            let how = ended.map_or_else(
                || "was still running".to_owned(),
                |status| format!("had ended by itself: {status}"),
            );
            eprintln!(
                "the server of a test that failed {how}; it said:\n{}",
                self.output()
            );
        }
    }
}

/// Reads the output of the process, line by line, in a thread, and finds the address it listens on.
fn collect(
    from: impl Read + Send + 'static,
    into: Arc<watch::Sender<String>>,
    found: Arc<watch::Sender<Option<String>>>,
) {
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if let Some(address) = address_in(&line) {
                found.send_if_modified(|known| known.is_none() && known.replace(address).is_none());
            }
            into.send_modify(|output| {
                output.push_str(&line);
                output.push('\n');
            });
        }
    });
}

/// `127.0.0.1:<port>` in a line that says where the server listens.
fn address_in(line: &str) -> Option<String> {
    if !line.to_lowercase().contains("listen") && !line.contains("http://") {
        return None;
    }
    let after = line.split("127.0.0.1:").nth(1)?;
    let port: String = after.chars().take_while(char::is_ascii_digit).collect();
    (port.parse::<u16>().ok()? != 0).then(|| format!("127.0.0.1:{port}"))
}

impl App {
    /// A server on this database with the stub as its model, without voices.
    pub async fn start(medium: Medium, stub: &Stub) -> Self {
        Setup::new(medium, stub).start().await
    }

    /// Starts the program (again), on the same data.
    pub async fn start_again(&mut self) {
        let process = Process::start(self.setup.command());
        let mut address = process.address.clone();
        self.process = Some(process);
        let found = within(
            "the address it listens on",
            address.wait_for(Option::is_some),
        )
        .await
        .map(|a| a.clone());
        match found {
            Ok(Some(address)) => self.address = address,
            _ => panic!("the server ended instead of listening: {}", self.output()),
        }
        self.ready().await;
    }

    async fn ready(&self) {
        polled("readiness", async || {
            let answer = self.client.get(self.url("/readyz")).send().await;
            !answer.is_ok_and(|answer| !answer.status().is_success())
        })
        .await;
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    /// `kill -TERM`, without waiting.
    pub fn terminate(&self) {
        let pid = self.process.as_ref().unwrap().child.id();
        // The shell's own: a bare machine has no other.
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -TERM {pid}")])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// `kill -TERM`, and waits for its end.
    pub async fn stop(&mut self) -> ExitStatus {
        self.terminate();
        self.ended().await
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> ExitStatus {
        self.process.as_mut().unwrap().ended().await
    }

    /// Kills it and starts it again on the same data.
    pub async fn restart(&mut self) {
        self.kill();
        self.start_again().await;
    }

    /// Another environment from the next start on.
    pub fn set_env(&mut self, name: &str, value: impl ToString) {
        self.setup.env.insert(name.to_owned(), value.to_string());
    }

    /// Another program from the next start on.
    pub fn set_program(&mut self, program: PathBuf, arguments: &[&str]) {
        self.setup.program = program;
        self.setup.arguments = arguments
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect();
    }

    /// Another server on the same database (on Postgres).
    pub async fn beside(&self) -> Self {
        let Setup {
            env,
            arguments,
            program,
            ..
        } = &self.setup;
        let medium = self.setup.medium.beside();
        // All servers of a database have the same settings.
        let file = self.folder().join("thinkd.toml");
        if file.exists() {
            std::fs::copy(file, medium.folder().join("thinkd.toml")).unwrap();
        }
        let setup = Setup {
            medium,
            env: env.clone(),
            voices: Vec::new(),
            arguments: arguments.clone(),
            program: program.clone(),
            stderr: None,
        };
        setup.start_bare().await
    }

    /// Returns the output of the program in this run.
    pub fn output(&self) -> String {
        self.process
            .as_ref()
            .map(Process::output)
            .unwrap_or_default()
    }

    /// Waits until the output has the text. A line comes through a pipe: later than the change of which it tells.
    pub async fn until_says(&self, text: &str) {
        self.until_output(text, |output| output.contains(text))
            .await;
    }

    /// Waits until the output is as it should be.
    pub async fn until_output(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let mut output = self.process.as_ref().unwrap().output.subscribe();
        let says = output.wait_for(|output| is_so(output));
        let came = tokio::time::timeout(ms(90_000), says).await.map(drop);
        came.unwrap_or_else(|_| panic!("no {what:?} in {}", self.output()));
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().unwrap().child.id()
    }

    /// The test's folder.
    pub fn folder(&self) -> PathBuf {
        self.setup.medium.folder().to_owned()
    }

    /// Returns whether the database is Postgres.
    pub fn is_postgres(&self) -> bool {
        self.setup.medium.is_shared()
    }

    /// The database's URL.
    pub fn database(&self) -> &str {
        self.setup.medium.url()
    }

    /// Postgres: the URL of another database on the same server, and this one's name.
    pub fn admin(&self) -> Option<(&str, &str)> {
        self.setup.medium.admin()
    }

    /// Requests of this client carry this `Authorization` from now on.
    pub fn authorize(&mut self, header: &str) {
        self.credentials = Some(header.to_owned());
    }

    /// The full address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A connected socket that has read its `hello`.
    pub async fn socket(&self) -> Socket {
        let mut socket = self.raw_socket().await;
        socket.of_type("hello").await;
        socket
    }

    /// A connected socket that has read nothing.
    pub async fn raw_socket(&self) -> Socket {
        let url = format!("ws://{}/ws", self.address);
        match &self.credentials {
            Some(credentials) => {
                Socket::connect_with(&url, &[("authorization", credentials)]).await
            }
            None => Socket::connect(&url).await,
        }
    }

    /// A request to be added to.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method.parse().unwrap(), self.url(path));
        match &self.credentials {
            Some(credentials) => request.header("authorization", credentials),
            None => request,
        }
    }

    /// `GET`.
    pub async fn get(&self, path: &str) -> Reply {
        http::send(self.request("GET", path)).await
    }

    /// `POST` with a JSON body.
    pub async fn post(&self, path: &str, body: Value) -> Reply {
        http::send(self.request("POST", path).json(&body)).await
    }

    /// The same, with any answer or none.
    pub async fn post_raw(&self, path: &str, body: Value) {
        let _ = self.request("POST", path).json(&body).send().await;
    }

    /// `PATCH` with a JSON body.
    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        http::send(self.request("PATCH", path).json(&body)).await
    }

    /// `DELETE`.
    pub async fn delete(&self, path: &str) -> Reply {
        http::send(self.request("DELETE", path)).await
    }

    /// Says something in `main` over HTTP and waits until it is handled: the events of the answer.
    pub async fn tell(&self, text: &str) -> Vec<Value> {
        self.tell_in("main", text).await
    }

    /// Says something in a thread over HTTP and waits until it is handled: the responses.
    pub async fn tell_in(&self, thread: &str, text: &str) -> Vec<Value> {
        // Shorter than `PATIENCE`: what came of it so far is said, rather than that no answer came.
        let path = format!("/threads/{thread}/messages?wait=15");
        let answer = self.post(&path, json!({ "text": text })).await;
        if answer.status == 202 {
            let row = self.get(&format!("/threads/{thread}")).await.body;
            let log = self.log().await;
            let last = &log[log.len().saturating_sub(12)..];
            panic!(
                "not handled within 15 s: {text:?} in {row}; the last of the log:\n{}",
                super::story(last)
            );
        }
        let answer = answer.expect(200);
        answer["responses"]
            .as_array()
            .unwrap_or_else(|| panic!("no responses: {answer}"))
            .clone()
    }

    /// All pages of a list, from a path with a query (`/events?order=asc&`, `/threads?`).
    pub async fn pages(&self, path: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self
                .get(&format!("{path}limit=500{cursor}"))
                .await
                .expect(200);
            items.extend(
                page["items"]
                    .as_array()
                    .unwrap_or_else(|| panic!("no items: {page}"))
                    .iter()
                    .cloned(),
            );
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return items,
            }
        }
    }

    /// The whole log, `debug` too, in order. Read again until no `debug` event came between the two questions: while turns run, a later
    /// `debug` event would stand behind a gap.
    pub async fn log(&self) -> Vec<Value> {
        loop {
            let debug = self.pages("/events?order=asc&tags=debug&").await;
            let mut events = self.pages("/events?order=asc&").await;
            if self.pages("/events?order=asc&tags=debug&").await == debug {
                events.extend(debug);
                events.sort_by_key(super::seq);
                events.dedup();
                return events;
            }
        }
    }

    /// The log without `debug`, in order.
    pub async fn public_log(&self) -> Vec<Value> {
        self.pages("/events?order=asc&").await
    }

    /// The log after a position, without `debug`.
    pub async fn since(&self, after: i64) -> Vec<Value> {
        self.pages(&format!("/events?order=asc&after={after}&"))
            .await
    }

    /// Creates a conversation; its id.
    pub async fn conversation(&self, mut settings: Value) -> String {
        settings["kind"] = json!("conversation");
        let thread = self.post("/threads", settings).await.expect(201);
        thread["id"]
            .as_str()
            .unwrap_or_else(|| panic!("no id: {thread}"))
            .to_owned()
    }

    /// Creates a process; as the server shows it. Fails unless it gets this id.
    pub async fn process(&self, label: &str, mut settings: Value) -> Value {
        settings["kind"] = json!("process");
        settings["label"] = json!(label);
        let thread = self.post("/threads", settings).await.expect(201);
        assert_eq!(thread["id"], label, "{thread}");
        thread
    }

    /// Says something in a thread without waiting for the outcome. Returns the ack.
    pub async fn say_in(&self, thread: &str, text: &str) -> Value {
        self.post(
            &format!("/threads/{thread}/messages"),
            json!({ "text": text }),
        )
        .await
        .expect(202)
    }

    /// One event, by its id.
    pub async fn event(&self, id: &str) -> Value {
        self.get(&format!("/events/{id}")).await.expect(200)
    }

    async fn set_voices(&mut self) {
        for name in self.setup.voices.clone() {
            self.add_voice(&name).await;
        }
    }

    /// Adds a voice with a prompt that names it.
    pub async fn add_voice(&self, name: &str) -> Value {
        let prompt = format!("You are the voice {name}. Say what {name} has to say.");
        self.post("/submodules", json!({ "name": name, "prompt": prompt }))
            .await
            .expect(201)
    }
}

impl Drop for App {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- what the server printed ---\n{}", self.output());
            return;
        }
        self.kill();
        oracle::check(self.database());
    }
}
