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

use super::answer::{Draft, Ending, Manner, Whole};
use super::at_once::AtOnce;
use super::endpoint::{Calling, Options};
use super::habits::{self, Habit, Habits};
use super::provider::{
    Answer, Content, Known, Message, Model, Piece, Pieces, Prepared, Request, Role, Schemas,
    ToolChoice, ToolSpec,
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
    habits: Arc<Habits>,
}

impl OpenAi {
    /// The model, not yet asked anything. Fails when the options make no endpoint.
    pub fn new(options: Options) -> Result<Self, Failure> {
        let wire = Wire::new(&options)?;
        Ok(Self {
            queue: AtOnce::of(&options),
            options: Arc::new(options),
            wire: Arc::new(wire),
            habits: Arc::default(),
        })
    }
}

impl Model for OpenAi {
    fn prepare(&self, request: &Request) -> Prepared {
        prepare(&self.options, request)
    }

    fn ask(&self, prepared: Prepared) -> Pieces {
        let learned = self.habits.now().into_iter().map(|learned| learned.habit);
        let call = Call {
            options: self.options.clone(),
            wire: self.wire.clone(),
            habits: self.habits.clone(),
            known: learned.collect(),
            found: Vec::new(),
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

    fn known(&self) -> Vec<Known> {
        let (name, learned) = (self.name(), self.habits.now());
        vec![Known {
            of: Vec::new(),
            name,
            learned,
        }]
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
        until: None,
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
    habits: Arc<Habits>,
    /// The model's habits that were known when the call began.
    known: Vec<Habit>,
    /// Habits that refusals of this call showed, with the provider's words. An answer confirms them.
    found: Vec<(Habit, String)>,
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
                Ok((events, draft, pieces)) => {
                    self.confirm(&events);
                    return self.coming(events, draft, pieces);
                }
                Err(trouble) => trouble,
            };
            if self.adjust(&trouble) {
                continue;
            }
            let Some(trouble) = self.unless_busy(trouble).await else {
                continue;
            };
            let pause = match trouble.pause {
                Some(asked) => asked,
                None => backoff(self.options.backoff_ms, tries),
            };
            let begins = Instant::now().checked_add(pause);
            let has_time = begins.is_some_and(|begins| begins < self.asker_leaves());
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

    /// The time when the asker goes on without an answer: the wait in the queue does not count.
    fn asker_leaves(&self) -> Instant {
        let waited = self.prepared.waited.so_far().0;
        let until = self
            .prepared
            .until
            .map_or(self.deadline, |until| until + waited);
        until.min(self.deadline)
    }

    /// Changes the request by what a refusal says of one of its members. False: it is about something else.
    fn adjust(&mut self, trouble: &Trouble) -> bool {
        let Some(words) = &trouble.refused else {
            return false;
        };
        let found = Habit::of_refusal(words, &habits::members(&self.body()));
        let Some(habit) = found.filter(|habit| !self.habits().contains(habit)) else {
            return false;
        };
        self.found.push((habit, trouble.failure.text.clone()));
        true
    }

    /// The habits by which the request is sent.
    fn habits(&self) -> Vec<Habit> {
        let found = self.found.iter().map(|(habit, _)| habit);
        self.known.iter().chain(found).cloned().collect()
    }

    fn body(&self) -> Json {
        habits::adjusted(&self.prepared.body, &self.habits())
    }

    /// Learns, now that an answer comes, the habits that made it come.
    fn confirm(&self, events: &Events) {
        let plain = (Habit::AnswersPlainly, String::new());
        let is_plain = self.options.stream && events.is_plain();
        for (habit, words) in self.found.iter().chain(is_plain.then_some(&plain)) {
            if self.habits.learn(habit, words) {
                tracing::info!(
                    model = self.wire.name(),
                    habit = habit.sentence(),
                    "learned of the model"
                );
            }
        }
    }

    fn manner(&self) -> Manner {
        // The thinking language is written where no tools are offered to the decision.
        let offers_tools = self.prepared.body.as_str().contains("\"tools\":");
        Manner {
            keeps_thought: self.prepared.module == Who::Decision && !offers_tools,
            holds_words: self.known.contains(&Habit::ClosesThinking),
        }
    }

    /// One try, up to the first piece.
    async fn first(&self) -> Result<(Events, Draft, Vec<Piece>), Trouble> {
        let body = self.body();
        let wait = match self.streams(&body) {
            true => Duration::from_millis(self.options.first_piece_timeout_ms),
            false => Duration::from_millis(self.options.timeout_ms),
        };
        let late = || {
            self.late(
                "gave no first piece of its answer",
                self.options.first_piece_timeout_ms,
            )
        };
        let sending = self.wire.send(&self.prepared, &body);
        let sent = tokio::time::timeout_at(self.until(wait), sending).await;
        let mut events = sent.map_err(|_| late())??;
        let mut draft = Draft::new(self.manner());
        loop {
            match self.next(&mut events, wait).await.ok_or_else(late)?? {
                Some(chunk) => {
                    let pieces = draft
                        .take(&chunk)
                        .map_err(|error| self.wire.unreadable(error))?;
                    if draft.ending() == Ending::Failed && !draft.has_words_or_calls() {
                        return Err(self.failed_answer(draft.word()).into());
                    }
                    if !pieces.is_empty() || draft.is_over() {
                        return Ok((events, draft, pieces));
                    }
                }
                None if draft.begun && (draft.is_ended() || events.was_ended()) => {
                    return Ok((events, draft, Vec::new()));
                }
                None => return Err(self.wire.broken_off("its first piece")),
            }
        }
    }

    /// True if an answer in pieces is expected.
    fn streams(&self, body: &Json) -> bool {
        body.as_str().contains("\"stream\":true") && !self.known.contains(&Habit::AnswersPlainly)
    }

    /// The next event. None: nothing came for so long, not even a ping or a thought.
    async fn next(
        &self,
        events: &mut Events,
        wait: Duration,
    ) -> Option<Result<Option<Value>, Trouble>> {
        let mut limit = self.until(wait);
        loop {
            if let Ok(event) = tokio::time::timeout_at(limit, events.next()).await {
                return Some(event);
            }
            let again = events
                .heard()
                .map(|heard| (heard + wait).min(self.deadline));
            limit = again.filter(|again| *again > Instant::now())?;
        }
    }

    /// One more event of the answer.
    async fn go_on(self, mut events: Events, mut draft: Draft) -> Step {
        let limit = if draft.is_over() {
            AFTER_FINISH
        } else {
            Duration::from_millis(self.options.between_pieces_timeout_ms)
        };
        match self.next(&mut events, limit).await {
            Some(Ok(Some(chunk))) => match draft.take(&chunk) {
                Ok(pieces) => self.coming(events, draft, pieces),
                Err(error) => fail(self.wire.unreadable(error).failure, 1),
            },
            Some(Ok(None)) if draft.is_ended() || events.was_ended() || draft.has_whole_calls() => {
                self.end(draft)
            }
            Some(Ok(None)) => fail(self.wire.broken_off("its end").failure, 1),
            // It was whole already: trouble behind it is of no concern.
            Some(Err(_)) | None if draft.is_ended() => self.end(draft),
            Some(Err(trouble)) => fail(trouble.failure, 1),
            None => {
                let limit = self.options.between_pieces_timeout_ms;
                fail(self.late("gave no more of its answer", limit), 1)
            }
        }
    }

    /// The end of an answer: whole, or a failure that says why it is none.
    fn end(&self, draft: Draft) -> Step {
        let whole = draft.finish();
        if whole.unopened {
            self.habits.learn(&Habit::ClosesThinking, "");
        }
        let holds_words = self.known.contains(&Habit::ClosesThinking);
        let rest = match whole.unopened {
            true if holds_words => whole.answer.text.clone(),
            true => String::new(),
            false => whole.rest.clone(),
        };
        let rest = (!rest.is_empty()).then_some(Ok(Piece::Text(rest)));
        let end = match self.judged(whole) {
            Ok(answer) => Ok(Piece::End(answer)),
            Err(failure) => Err(failure),
        };
        (rest.into_iter().chain([end]).collect(), State::Over)
    }

    /// The answer, unless it was withheld, failed, or was cut before anything of it was whole.
    fn judged(&self, whole: Whole) -> Result<Answer, Failure> {
        let Whole {
            mut answer,
            ending,
            cut_calls,
            ..
        } = whole;
        let has_words = !answer.text.trim().is_empty();
        match ending {
            Ending::Filtered => return Err(self.withheld(&answer.finish)),
            Ending::Failed => return Err(self.failed_answer(&answer.finish)),
            Ending::Cut if answer.calls.is_empty() && cut_calls > 0 => {
                return Err(self.cut_off(
                    "in the middle of a tool call, which was not run",
                    &answer.finish,
                ));
            }
            Ending::Cut if answer.calls.is_empty() && !has_words => {
                return Err(self.cut_off("before its first word", &answer.finish));
            }
            _ => {}
        }
        answer.is_cut = ending == Ending::Cut;
        answer.adjusted = self.habits();
        answer.adjusted.retain(Habit::changes_requests);
        Ok(answer)
    }

    fn withheld(&self, word: &str) -> Failure {
        let failure = self.wire.failure(format_args!(
            "withheld its answer: the provider's filter stopped it ({word})"
        ));
        failure.with(json!({ "reason": "filtered", "finish": word }))
    }

    fn failed_answer(&self, word: &str) -> Failure {
        let failure = self
            .wire
            .failure(format_args!("failed while it answered ({word})"));
        failure.retryable().with(json!({ "finish": word }))
    }

    /// An answer that a limit of tokens cut. The advice names the limit that is set, if one is.
    fn cut_off(&self, place: &str, word: &str) -> Failure {
        let keys = ["max_tokens", "max_completion_tokens"];
        let set = keys
            .iter()
            .find_map(|key| Some((*key, self.prepared.parameters.get(key)?)))
            .filter(|_| !word.contains("window"));
        let advice = match set {
            Some((key, most)) => format!("{key} is {most}: raise it or leave it out"),
            None => {
                "the provider's own limit of tokens was reached: set max_tokens for this model, \
                or a smaller history.bytes where its window is full"
                    .to_owned()
            }
        };
        let failure = self
            .wire
            .failure(format_args!("was cut off {place}; {advice}"));
        failure.with(json!({ "reason": "cut_off", "key": "max_tokens" }))
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
