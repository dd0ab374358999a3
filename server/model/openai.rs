//! A model behind any OpenAI-compatible endpoint: chat completions with tools, streamed or plain.
//! Here: what may be configured, the bytes of a request, and the course of a call (tries, time limits, pieces).
//! One exchange over the network is in `wire.rs`; how answers are read, in `answer.rs`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::answer::Draft;
use super::at_once::AtOnce;
use super::endpoint::{Calling, Options};
use super::provider::{
    Content, Message, Model, Piece, Pieces, Prepared, Request, Role, Schemas, ToolChoice, ToolSpec,
};
use super::refused_tools;
use super::schema_form;
use super::waited::Waited;
use super::wire::{Events, Trouble, Wire};
use crate::tasks::share::Place;
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::text::Json;

/// What is kept out of the log: the client library writes whole answers that it cannot read; we say it shortly, as a failure event.
pub const QUIET: &str = "async_openai=off";

/// How long an answer that has said why it ends is waited for, for its usage.
const AFTER_FINISH: Duration = Duration::from_secs(1);

/// The longest pause that a provider may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The longest pause we choose ourselves.
const BACKOFF_MAX: Duration = Duration::from_secs(8);

/// Calls that were tried again, each time.
pub const RETRIES: &str = "thinkd_model_retries_total";

impl Options {
    fn parameters(&self, request: &Request) -> Map<String, Value> {
        let mut parameters = self.parameters.clone();
        parameters.insert("stream".into(), self.stream.into());
        if self.stream && self.usage_in_stream {
            parameters.insert("stream_options".into(), json!({ "include_usage": true }));
        }
        if let Some(temperature) = self.temperature {
            // Through its shortest decimal form: 0.2, not 0.20000000298.
            let exact = temperature.to_string().parse::<f64>().unwrap_or_default();
            parameters.insert("temperature".into(), exact.into());
        }
        if let Some(max_tokens) = self.max_tokens {
            parameters.insert("max_tokens".into(), max_tokens.into());
        }
        if self.must_call(request) {
            parameters.insert("tool_choice".into(), "required".into());
        }
        parameters
    }

    fn must_call(&self, request: &Request) -> bool {
        let wanted = self.tool_choice == Calling::Required && request.module == Who::Decision;
        (wanted || request.choice != ToolChoice::Auto) && offered(request).next().is_some()
    }
}

/// A model behind an OpenAI-compatible endpoint.
pub struct OpenAi {
    options: Arc<Options>,
    wire: Arc<Wire>,
    queue: Arc<AtOnce>,
}

impl OpenAi {
    /// The model, not yet asked anything. Fails when the options make no endpoint.
    pub fn new(options: Options) -> Result<Self, Failure> {
        let wire = Wire::new(&options)?;
        Ok(Self {
            queue: AtOnce::of(&options),
            options: Arc::new(options),
            wire: Arc::new(wire),
        })
    }
}

impl Model for OpenAi {
    fn prepare(&self, request: &Request) -> Prepared {
        prepare(&self.options, request)
    }

    fn ask(&self, prepared: Prepared) -> Pieces {
        let call = Call {
            options: self.options.clone(),
            wire: self.wire.clone(),
            queue: self.queue.clone(),
            prepared,
            place: None,
            deadline: Instant::now(),
        };
        let pieces = stream::unfold(State::Start(Box::new(call)), |state| state.advance());
        pieces.flat_map(stream::iter).boxed()
    }

    fn name(&self) -> String {
        self.wire.name().to_owned()
    }
}

/// What would be sent with these options.
pub(super) fn prepare(options: &Options, request: &Request) -> Prepared {
    let parameters = options.parameters(request);
    let mut body: BTreeMap<&str, Member<'_>> = BTreeMap::new();
    body.extend(
        parameters
            .iter()
            .map(|(name, value)| (name.as_str(), Member::Parameter(value))),
    );
    body.insert("model", Member::Model(&options.model));
    body.insert(
        "messages",
        Member::Messages(request.messages.iter().map(message).collect()),
    );
    let tools: Vec<_> = offered(request)
        .map(|tool| function(tool, options.strict_tools, request.schemas))
        .collect();
    if !tools.is_empty() {
        body.insert("tools", Member::Tools(tools));
    }
    let body = Json::of(&body);
    Prepared {
        space: request.space.clone(),
        thread: request.thread.clone(),
        module: request.module.clone(),
        tier: request.tier,
        model: options.model.clone(),
        parameters: parameters.into(),
        body,
        waited: Waited::default(),
    }
}

/// A member of the request body. The body is written as it is borrowed: a view is long, and most of what is said does not change.
#[derive(Serialize)]
#[serde(untagged)]
enum Member<'a> {
    Parameter(&'a Value),
    Model(&'a str),
    Messages(Vec<Said<'a>>),
    Tools(Vec<Offered<'a>>),
}

#[derive(Serialize)]
struct Said<'a> {
    content: Words<'a>,
    role: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Words<'a> {
    Text(&'a str),
    Parts(Vec<Value>),
}

#[derive(Serialize)]
struct Offered<'a> {
    function: Function<'a>,
    r#type: &'static str,
}

#[derive(Serialize)]
struct Function<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    description: Cow<'a, str>,
    name: &'a str,
    parameters: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// The tools a request may call. One that must call a certain tool is shown no other: servers that know no more than
/// `"tool_choice": "required"`, or nothing of it, then still do what is meant.
fn offered(request: &Request) -> impl Iterator<Item = &ToolSpec> {
    request.tools.iter().filter(|tool| match &request.choice {
        ToolChoice::Auto => true,
        ToolChoice::Only(name) => tool.name == *name,
    })
}

fn message(message: &Message) -> Said<'_> {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
    };
    // Plain text where it is only that: the one form that every server reads.
    let content = match message.content.as_slice() {
        [Content::Text(text)] => Words::Text(text),
        parts => Words::Parts(parts.iter().map(part).collect()),
    };
    Said { content, role }
}

fn part(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({ "type": "text", "text": text }),
        Content::Media { mime, bytes } => match mime.strip_prefix("audio/") {
            Some(kind) => {
                let audio = json!({ "data": BASE64.encode(bytes), "format": audio_format(kind) });
                json!({ "type": "input_audio", "input_audio": audio })
            }
            None => {
                let url = format!("data:{mime};base64,{}", BASE64.encode(bytes));
                json!({ "type": "image_url", "image_url": { "url": url } })
            }
        },
    }
}

/// The provider's word for a kind of sound: the media type's, where it has no other.
fn audio_format(kind: &str) -> &str {
    match kind.split(';').next().unwrap_or(kind) {
        "wave" | "x-wav" | "vnd.wave" => "wav",
        "mpeg" => "mp3",
        other => other,
    }
}

fn function(tool: &ToolSpec, strict: bool, schemas: Schemas) -> Offered<'_> {
    let is_strict = strict && tool.is_strict;
    let (description, parameters) = match schemas {
        Schemas::Formed => schema_form::of(tool, is_strict),
        Schemas::AsTold => (Cow::Borrowed(&*tool.description), tool.parameters.clone()),
    };
    let function = Function {
        description,
        name: &tool.name,
        parameters,
        strict: is_strict.then_some(true),
    };
    Offered {
        function,
        r#type: "function",
    }
}

/// One call under way.
struct Call {
    options: Arc<Options>,
    wire: Arc<Wire>,
    queue: Arc<AtOnce>,
    prepared: Prepared,
    /// Its place among the calls at a time, from when it is sent until it is over.
    place: Option<Place>,
    deadline: Instant,
}

/// Where a call stands. Boxed, since it moves with every piece.
enum State {
    Start(Box<Call>),
    Coming(Box<(Call, Events, Draft)>),
    Over,
}

/// What one step of a call yields, and where it stands then.
type Step = (Vec<Result<Piece, Failure>>, State);

impl State {
    async fn advance(self) -> Option<(Vec<Result<Piece, Failure>>, Self)> {
        match self {
            Self::Start(call) => Some(call.begin().await),
            Self::Coming(coming) => {
                let (call, events, draft) = *coming;
                Some(call.go_on(events, draft).await)
            }
            Self::Over => None,
        }
    }
}

impl Call {
    /// Tries until the first piece is there, a failure that trying again cannot cure, or the tries or the time are used up.
    async fn begin(mut self) -> Step {
        let place = self.queue.place(&self.prepared).await;
        self.placed(place);
        let mut tries = 1;
        loop {
            let trouble = match self.first().await {
                Ok((events, draft, pieces)) => return self.coming(events, draft, pieces),
                Err(trouble) => trouble,
            };
            let Some(trouble) = self.unless_busy(trouble).await else {
                continue;
            };
            let pause = trouble.pause.map_or_else(
                || backoff(self.options.backoff_ms, tries),
                |p| p.min(PAUSE_MAX),
            );
            let has_time = Instant::now() + pause < self.deadline;
            if !trouble.failure.retryable || tries > self.options.retries || !has_time {
                let trouble = refused_tools::marked(trouble, &self.prepared.body);
                return fail(trouble.failure, tries);
            }
            tracing::warn!(tries, ?pause, reason = %trouble.failure, "asking the model again");
            metrics::counter!(RETRIES).increment(1);
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }

    /// The call may be sent: its time begins.
    fn placed(&mut self, place: Place) {
        self.place = Some(place);
        self.deadline = Instant::now() + Duration::from_millis(self.options.timeout_ms);
    }

    /// Waits for a new place where the server is busy with other calls of ours. Returns any other trouble.
    async fn unless_busy(&mut self, trouble: Trouble) -> Option<Trouble> {
        let Some(place) = self.place.take() else {
            return Some(trouble);
        };
        match self.queue.again(&self.prepared, place, &trouble).await {
            Ok(place) => {
                self.placed(place);
                None
            }
            Err(place) => {
                self.place = Some(place);
                Some(trouble)
            }
        }
    }

    /// One try, up to the first piece.
    async fn first(&self) -> Result<(Events, Draft, Vec<Piece>), Trouble> {
        let limit = Duration::from_millis(self.options.first_piece_timeout_ms);
        let limit = if self.options.stream {
            self.until(limit)
        } else {
            self.deadline
        };
        let first = async {
            let mut events = self.wire.send(&self.prepared, self.options.stream).await?;
            let mut draft = Draft::default();
            loop {
                match events.next().await? {
                    Some(chunk) => {
                        let pieces = draft
                            .take(&chunk)
                            .map_err(|error| self.wire.unreadable(error))?;
                        if !pieces.is_empty() || draft.is_finished() {
                            return Ok((events, draft, pieces));
                        }
                    }
                    None if draft.begun && events.was_ended() => {
                        return Ok((events, draft, Vec::new()));
                    }
                    None => return Err(self.wire.broken_off("its first piece")),
                }
            }
        };
        match tokio::time::timeout_at(limit, first).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self
                .late(
                    "gave no first piece of its answer",
                    self.options.first_piece_timeout_ms,
                )
                .into()),
        }
    }

    /// One more event of the answer.
    async fn go_on(self, mut events: Events, mut draft: Draft) -> Step {
        let finished = draft.is_finished();
        let limit = if finished {
            AFTER_FINISH
        } else {
            Duration::from_millis(self.options.between_pieces_timeout_ms)
        };
        match tokio::time::timeout_at(self.until(limit), events.next()).await {
            Ok(Ok(Some(chunk))) => match draft.take(&chunk) {
                Ok(pieces) => self.coming(events, draft, pieces),
                Err(error) => fail(self.wire.unreadable(error).failure, 1),
            },
            Ok(Ok(None)) if finished || events.was_ended() => end(draft),
            Ok(Ok(None)) => fail(self.wire.broken_off("its end").failure, 1),
            // It was whole already: what went wrong behind it is of no concern.
            Ok(Err(_)) | Err(_) if finished => end(draft),
            Ok(Err(trouble)) => fail(trouble.failure, 1),
            Err(_) => fail(
                self.late(
                    "gave no more of its answer",
                    self.options.between_pieces_timeout_ms,
                ),
                1,
            ),
        }
    }

    fn coming(self, events: Events, draft: Draft, pieces: Vec<Piece>) -> Step {
        (
            pieces.into_iter().map(Ok).collect(),
            State::Coming(Box::new((self, events, draft))),
        )
    }

    fn until(&self, limit: Duration) -> Instant {
        self.deadline.min(Instant::now() + limit)
    }

    fn late(&self, what: &str, limit_ms: u64) -> Failure {
        let name = self.wire.name();
        let text = if Instant::now() < self.deadline {
            format!("{name} {what} within {limit_ms} ms")
        } else {
            format!(
                "{name} did not finish its answer within {} ms",
                self.options.timeout_ms
            )
        };
        Failure::new(FailureKind::Timeout, text).retryable()
    }
}

fn end(draft: Draft) -> Step {
    (vec![Ok(Piece::End(draft.finish()))], State::Over)
}

fn fail(mut failure: Failure, tries: u32) -> Step {
    if tries > 1 {
        failure.text.push_str(&format!(" (tried {tries} times)"));
    }
    (vec![Err(failure)], State::Over)
}

/// The pause after the given number of tries: doubling, and shortened by up to half so that callers spread out.
pub(super) fn backoff(first_ms: u64, tries: u32) -> Duration {
    use std::hash::{BuildHasher as _, RandomState};
    let full =
        Duration::from_millis(first_ms.saturating_mul(1 << (tries - 1).min(16))).min(BACKOFF_MAX);
    let chance = RandomState::new().hash_one(tries) % 1000;
    full.mul_f64(1.0 - chance as f64 / 2000.0)
}
