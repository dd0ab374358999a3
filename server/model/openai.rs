//! A model behind any OpenAI-compatible endpoint: chat completions with tools, streamed or plain.
//! Here: the parameters and the bytes of a request. `course.rs` has the course of a call, `wire.rs` one exchange over the network,
//! `answer.rs` the reading of answers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::at_once::AtOnce;
use super::endpoint::Options;
use super::habits::Habits;
use super::provider::{
    AskedModel, Content, Message, Model, Pieces, Prepared, Request, Role, Schemas, ToolChoice,
    ToolSpec,
};
use super::schema_form;
use super::waited::Waited;
use super::wire::Wire;
use course::Call;
use thinkd_words::failure::Failure;
use thinkd_words::text::Json;

pub use course::RETRIES;
pub(super) use course::backoff;

mod course;

/// The filter that keeps the client library out of the log. The library writes whole answers that
/// it cannot read; the server reports them shortly, as a failure event.
pub const QUIET: &str = "async_openai=off";

impl Options {
    fn parameters(&self, request: &Request) -> Map<String, Value> {
        let mut parameters = self.parameters.clone();
        parameters.insert("stream".into(), self.stream.into());
        if self.stream {
            parameters.insert("stream_options".into(), json!({ "include_usage": true }));
        }
        if must_call(request) {
            parameters.insert("tool_choice".into(), "required".into());
        }
        parameters
    }
}

fn must_call(request: &Request) -> bool {
    request.choice != ToolChoice::Auto && offered(request).next().is_some()
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
        Call::new(self, prepared).pieces()
    }

    fn name(&self) -> String {
        self.wire.name().to_owned()
    }

    fn known(&self) -> Vec<AskedModel> {
        vec![AskedModel {
            of: Vec::new(),
            name: self.name(),
            learned: self.habits.now(),
        }]
    }
}

/// Returns the request as it would be sent with these options.
pub(super) fn prepare(options: &Options, request: &Request) -> Prepared {
    let parameters = options.parameters(request);
    let parameter = |(name, value)| (String::as_str(name), Member::Parameter(value));
    let mut body = BTreeMap::from_iter(parameters.iter().map(parameter));
    body.insert("model", Member::Model(&options.model));
    let messages = request.messages.iter().map(message).collect();
    body.insert("messages", Member::Messages(messages));
    let tools = offered(request);
    let tools = tools.map(|tool| function(tool, request.schemas));
    let tools = Vec::from_iter(tools);
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

/// A member of the request body. The body is written as it is borrowed: a view is long, and most of
/// it does not change.
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

/// The tools a request may call. One that must call certain tools is shown no others. Then servers
/// that know no more than `"tool_choice": "required"`, or nothing of it, still do the right thing.
fn offered(request: &Request) -> impl Iterator<Item = &ToolSpec> {
    request.tools.iter().filter(|tool| match &request.choice {
        ToolChoice::Auto => true,
        ToolChoice::Only(names) => names.contains(&tool.name),
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

fn function(tool: &ToolSpec, schemas: Schemas) -> Offered<'_> {
    let (description, parameters) = match schemas {
        Schemas::Formed => schema_form::of(tool, tool.is_strict),
        Schemas::AsTold => (Cow::Borrowed(&*tool.description), tool.parameters.clone()),
    };
    let function = Function {
        description,
        name: &tool.name,
        parameters,
        strict: tool.is_strict.then_some(true),
    };
    Offered {
        function,
        r#type: "function",
    }
}
