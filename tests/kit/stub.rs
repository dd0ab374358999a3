//! A scripted model server: it speaks the OpenAI chat completions protocol on loopback, records every request and answers by rules.
//! The first rule that matches and is not used up answers. Without one, voices say `<name>: noted.` and pass at follow-ups, and the
//! decision replies `ok: <what the user said last>`.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::answer::{Answer, reply, text};
use super::within;

/// The fate of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Still being answered.
    Open,
    /// Answered to the end.
    Answered,
    /// The client closed the connection before the answer was whole.
    Closed,
}

/// A request as it came.
pub struct Request {
    /// Its number, from 0, over all modules.
    pub index: usize,
    /// Header `x-thinkd-thread`.
    pub thread: String,
    /// Header `x-thinkd-module`.
    pub module: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Value,
    /// The body's bytes.
    pub bytes: Bytes,
    /// When it came.
    pub at: Instant,
    /// When it came, by the wall clock.
    pub wall: thinkd_words::time::Timestamp,
    fate: watch::Sender<Fate>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "#{} {} in {}: {}",
            self.index,
            self.module,
            self.thread,
            self.text()
        )
    }
}

impl Request {
    /// Returns whether the decision asks.
    pub fn is_decision(&self) -> bool {
        self.module == "decision"
    }

    /// Returns whether a voice asks.
    pub fn is_voice(&self) -> bool {
        self.module.starts_with("submodule:")
    }

    /// The voice's name; empty for others.
    pub fn voice(&self) -> &str {
        self.module.strip_prefix("submodule:").unwrap_or_default()
    }

    /// Its messages.
    pub fn messages(&self) -> &[Value] {
        self.body["messages"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// All text of all messages, a line between messages.
    pub fn text(&self) -> String {
        self.messages()
            .iter()
            .map(|message| text_of(&message["content"]))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The text of the last message.
    pub fn last(&self) -> String {
        self.messages()
            .last()
            .map(|message| text_of(&message["content"]))
            .unwrap_or_default()
    }

    /// Returns whether the text occurs anywhere in the messages.
    pub fn says(&self, text: &str) -> bool {
        self.text().contains(text)
    }

    /// Returns whether a voice is asked for a follow-up. The kinds of requests are a first comment,
    /// a follow-up, the answer to a question; a decision, its repair. They are told by the
    /// sentences of `prompts/`, here and nowhere else.
    pub fn is_follow_up(&self) -> bool {
        self.is_voice() && self.last().contains("has been made: ")
    }

    /// Returns whether the decision asks this voice something.
    pub fn is_question(&self) -> bool {
        self.is_voice() && self.last().contains("asks you the question")
    }

    /// Returns whether it is a voice's first comment on something new.
    pub fn is_comment(&self) -> bool {
        self.is_voice() && !self.is_follow_up() && !self.is_question()
    }

    /// Returns whether a decision that only talked is asked to use the tool.
    pub fn is_repair(&self) -> bool {
        self.is_decision() && self.last().contains("so nobody received it")
    }

    /// The entries of the log that it shows: position, author, text.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for line in self.text().lines() {
            match (entry(line), entries.last_mut(), line.strip_prefix("    ")) {
                (Some(entry), ..) => entries.push(entry),
                (None, Some(last), Some(more)) => last.text = format!("{}\n{more}", last.text),
                _ => {}
            }
        }
        entries
    }

    /// The positions it is asked about (`To be decided now: #7, #9.`).
    pub fn batch(&self) -> Vec<i64> {
        let last = self.last();
        let asked = [
            "To be decided now: ",
            "asked about: ",
            "New for you: ",
            "This step is about ",
        ]
        .into_iter()
        .find_map(|words| last.rsplit_once(words));
        let numbers = asked
            .map(|(_, rest)| rest.split('.').next().unwrap_or_default())
            .unwrap_or_default();
        numbers
            .split(", ")
            .filter_map(|number| number.trim().strip_prefix('#')?.parse().ok())
            .collect()
    }

    /// Returns the text of a user's last entry; empty without one.
    pub fn last_user(&self) -> String {
        let heard = self
            .entries()
            .into_iter()
            .rfind(|entry| entry.who.starts_with("user"));
        heard.map(|entry| entry.text).unwrap_or_default()
    }

    /// The positions of the entries that it shows.
    pub fn seqs(&self) -> Vec<i64> {
        self.entries().iter().map(|entry| entry.seq).collect()
    }

    /// The names of the tools offered.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        tools
            .iter()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .map(str::to_owned)
            .collect()
    }

    /// The model asked for.
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// Returns whether a streamed answer is wanted.
    pub fn streams(&self) -> bool {
        self.body["stream"] == json!(true)
    }

    /// Returns the bytes of its messages, in order: the bytes that a provider's cache compares.
    pub fn prompt_bytes(&self) -> String {
        self.messages().iter().map(ToString::to_string).collect()
    }

    /// Returns its fate so far.
    pub fn fate(&self) -> Fate {
        *self.fate.borrow()
    }

    /// Waits until the client closes the connection without having the whole answer.
    pub async fn closed(&self) {
        let mut fate = self.fate.subscribe();
        let what = format!(
            "the end of the connection of {} in {}",
            self.module, self.thread
        );
        within(&what, fate.wait_for(|fate| *fate == Fate::Closed))
            .await
            .map(drop)
            .unwrap();
    }
}

/// One entry of the log, as a prompt view shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its position.
    pub seq: i64,
    /// Its author.
    pub who: String,
    /// Its text.
    pub text: String,
}

/// `#12 [2026-11-21 04:25] user: hello`
fn entry(line: &str) -> Option<Entry> {
    let (seq, rest) = line.strip_prefix('#')?.split_once(" [")?;
    let (who, text) = rest.split_once("] ")?.1.split_once(':')?;
    Some(Entry {
        seq: seq.parse().ok()?,
        who: who.to_owned(),
        text: text.strip_prefix(' ').unwrap_or(text).to_owned(),
    })
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// Decides whether a rule is meant.
type Matches = Box<dyn Fn(&Request) -> bool + Send>;
/// Makes a rule's answer.
type Answers = Box<dyn FnMut(&Request) -> Option<Answer> + Send>;

/// Requests of the decision.
pub fn decision(request: &Request) -> bool {
    request.is_decision()
}

/// Requests of the decision of this thread.
pub fn at(thread: &str) -> impl Fn(&Request) -> bool + Send + Clone + use<> {
    let thread = thread.to_owned();
    move |request| request.is_decision() && request.thread == thread
}

/// Requests of the voice.
pub fn voice(name: &str) -> impl Fn(&Request) -> bool + Send + use<> {
    let module = format!("submodule:{name}");
    move |request| request.module == module
}

/// Any request.
pub fn any(_: &Request) -> bool {
    true
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Arc<Request>>>,
    rules: Mutex<Vec<(Matches, Answers)>>,
    count: watch::Sender<usize>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The scripted model server. Stops when dropped.
pub struct Stub {
    shared: Arc<Shared>,
    address: SocketAddr,
    serving: AbortHandle,
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Stub {
    /// Starts one on a free port.
    pub async fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(shared.clone());
        let router = router.layer(axum::extract::DefaultBodyLimit::disable());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() })
            .abort_handle();
        Self {
            shared,
            address,
            serving,
        }
    }

    /// Returns the value for `OPENAI_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Answers every request that matches like this.
    pub fn on(&self, matches: impl Fn(&Request) -> bool + Send + 'static, answer: Answer) -> &Self {
        self.on_each(matches, move |_| answer.clone())
    }

    /// Answers every request that matches with the function's answer to it.
    pub fn on_each(
        &self,
        matches: impl Fn(&Request) -> bool + Send + 'static,
        mut answer: impl FnMut(&Request) -> Answer + Send + 'static,
    ) -> &Self {
        lock(&self.shared.rules).push((
            Box::new(matches),
            Box::new(move |request| Some(answer(request))),
        ));
        self
    }

    /// Answers the next requests that match with these, one each; requests after them are for later
    /// rules.
    pub fn script(
        &self,
        matches: impl Fn(&Request) -> bool + Send + 'static,
        answers: impl IntoIterator<Item = Answer>,
    ) -> &Self {
        let mut left: VecDeque<Answer> = answers.into_iter().collect();
        lock(&self.shared.rules).push((Box::new(matches), Box::new(move |_| left.pop_front())));
        self
    }

    /// Forgets all rules.
    pub fn clear(&self) {
        lock(&self.shared.rules).clear();
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Arc<Request>> {
        lock(&self.shared.requests).clone()
    }

    /// The requests so far that match.
    pub fn all(&self, matches: impl Fn(&Request) -> bool) -> Vec<Arc<Request>> {
        self.requests()
            .into_iter()
            .filter(|request| matches(request))
            .collect()
    }

    /// Returns the number of requests so far that match.
    pub fn count(&self, matches: impl Fn(&Request) -> bool) -> usize {
        self.all(matches).len()
    }

    /// Waits for the first request that matches (it may have come already).
    pub async fn request(&self, matches: impl Fn(&Request) -> bool) -> Arc<Request> {
        self.nth(0, matches).await
    }

    /// Waits for the request number `nth` (from 0) of those that match.
    pub async fn nth(&self, nth: usize, matches: impl Fn(&Request) -> bool) -> Arc<Request> {
        self.some(nth + 1, matches).await.swap_remove(nth)
    }

    /// Waits until no request came for so long.
    pub async fn quiet(&self, time: Duration) {
        let mut changed = self.shared.count.subscribe();
        let quiet = async { while tokio::time::timeout(time, changed.changed()).await.is_ok() {} };
        within("an end of the requests to the model", quiet).await;
    }

    /// Waits for `count` requests that match.
    pub async fn some(
        &self,
        count: usize,
        matches: impl Fn(&Request) -> bool,
    ) -> Vec<Arc<Request>> {
        let mut changed = self.shared.count.subscribe();
        let found = async {
            loop {
                let found = self.all(&matches);
                if found.len() >= count {
                    return found;
                }
                changed.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(super::PATIENCE, found).await {
            Ok(found) => found,
            Err(_) => panic!(
                "{count} such requests to the model did not come; these did: {:#?}",
                self.requests()
            ),
        }
    }
}

fn default_answer(request: &Request) -> Answer {
    if request.is_comment() || request.is_question() {
        return text(&format!("{}: noted.", request.voice()));
    }
    if request.is_voice() {
        return text("PASS");
    }
    reply(&format!("ok: {}", request.last_user()))
}

/// Records the fate of a request when it is dropped.
struct Ending {
    request: Arc<Request>,
    fate: Fate,
}

impl Ending {
    fn whole(mut self) {
        self.fate = Fate::Answered;
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.request.fate.send_replace(self.fate);
    }
}

async fn answer(State(shared): State<Arc<Shared>>, headers: HeaderMap, bytes: Bytes) -> Response {
    let request = record(&shared, headers, bytes);
    let answer = {
        let mut rules = lock(&shared.rules);
        let mut fitting = rules.iter_mut().filter(|(matches, _)| matches(&request));
        fitting
            .find_map(|(_, answers)| answers(&request))
            .unwrap_or_else(|| default_answer(&request))
    };
    // Dropped with this future when the client goes away.
    let ending = Ending {
        request: request.clone(),
        fate: Fate::Closed,
    };
    shared.count.send_modify(|count| *count += 1);
    // The delay of the script.
    tokio::time::sleep(answer.delay).await;
    if let Some(gate) = &answer.gate {
        gate.pass().await;
    }
    respond(&request, answer, ending)
}

fn record(shared: &Shared, headers: HeaderMap, bytes: Bytes) -> Arc<Request> {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    let mut requests = lock(&shared.requests);
    let request = Arc::new(Request {
        index: requests.len(),
        thread: header("x-thinkd-thread"),
        module: header("x-thinkd-module"),
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
        headers,
        bytes,
        at: Instant::now(),
        wall: thinkd_words::time::now(),
        fate: watch::Sender::new(Fate::Open),
    });
    requests.push(request.clone());
    request
}

fn respond(request: &Request, answer: Answer, ending: Ending) -> Response {
    let streamed = answer.raw.is_none() && request.streams();
    let chunks = match &answer.raw {
        Some(parts) => parts.iter().cloned().collect(),
        None if streamed => answer.chunks(request),
        None => halves(answer.plain(request)),
    };
    let mime = if streamed {
        "text/event-stream"
    } else {
        "application/json"
    };
    let mut response = Response::builder().status(StatusCode::from_u16(answer.status).unwrap());
    if !answer
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
    {
        response = response.header("content-type", mime);
    }
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    response
        .body(Body::from_stream(sent(chunks, answer, ending)))
        .unwrap()
}

fn halves(bytes: Bytes) -> VecDeque<Bytes> {
    let middle = bytes.len() / 2;
    [bytes.slice(..middle), bytes.slice(middle..)].into()
}

/// The chunks as they are sent: with gaps, pauses, and the cut.
fn sent(
    chunks: VecDeque<Bytes>,
    answer: Answer,
    ending: Ending,
) -> impl stream::Stream<Item = Result<Bytes, std::io::Error>> {
    stream::unfold(
        (0, chunks, answer, ending),
        |(sent, mut chunks, answer, mut ending)| async move {
            if let Some((_, gate)) = answer.pause.as_ref().filter(|(at, _)| *at == sent) {
                gate.pass().await;
            }
            if answer.cut.is_some_and(|at| sent >= at.max(1)) {
                ending.fate = Fate::Answered;
                chunks.clear();
                return Some((
                    Err(std::io::Error::other("cut by the script")),
                    (
                        0,
                        chunks,
                        Answer {
                            cut: None,
                            ..answer
                        },
                        ending,
                    ),
                ));
            }
            let Some(chunk) = chunks.pop_front() else {
                ending.whole();
                return None;
            };
            if sent > 0 {
                // The pace of the script.
                tokio::time::sleep(answer.gap).await;
            }
            Some((
                Ok::<_, std::io::Error>(chunk),
                (sent + 1, chunks, answer, ending),
            ))
        },
    )
}

/// Tests of the stub itself: its records and its answers.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gate, status};

    async fn ask(stub: &Stub, module: &str, stream: bool) -> reqwest::Response {
        let body = json!({ "model": "m", "stream": stream, "messages": [{ "role": "user", "content": "hello\n#1 [now] user x: hi" }] });
        let request = crate::http::client().post(format!("{}/chat/completions", stub.url()));
        request
            .header("x-thinkd-module", module)
            .json(&body)
            .send()
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn the_stub_answers_by_its_script_then_by_default() {
        let stub = Stub::start().await;
        stub.script(decision, [text("first")])
            .on(voice("a"), status(500).header("retry-after", "1"));
        let first: Value = ask(&stub, "decision", false).await.json().await.unwrap();
        assert_eq!(first["choices"][0]["message"]["content"], "first");
        let second: Value = ask(&stub, "decision", false).await.json().await.unwrap();
        assert_eq!(
            second["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"],
            r#"{"text":"ok: hi"}"#
        );
        assert_eq!(ask(&stub, "submodule:a", false).await.status(), 500);
        assert!(stub.request(voice("a")).await.says("hello"));
        let streamed = ask(&stub, "submodule:b", true).await.text().await.unwrap();
        assert!(
            streamed.contains(r#"{"content":"b: no"}"#) && streamed.ends_with("data: [DONE]\n\n"),
            "{streamed}"
        );
    }

    #[tokio::test]
    async fn the_stub_sees_a_client_go_away() {
        let stub = Stub::start().await;
        stub.on(voice("never"), text("").never()).on(
            voice("half"),
            text("many more words than a chunk holds").paused(2, &Gate::new()),
        );
        tokio::select! {
            _ = ask(&stub, "submodule:never", false) => panic!("the stub answered what it was to hold back"),
            _ = stub.request(voice("never")) => {}
        }
        stub.request(voice("never")).await.closed().await;
        let half = ask(&stub, "submodule:half", true).await;
        let request = stub.request(voice("half")).await;
        assert_eq!(request.fate(), Fate::Open);
        drop(half);
        request.closed().await;
    }
}
