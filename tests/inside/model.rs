//! The language models by themselves: their requests, the reading of answers, the treatment of
//! faults. No server, no log.

mod any_bytes;
mod at_once;
mod builtin;
mod embedding;
mod faults;
mod provider;
mod reading;
mod refused;
mod schemas;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use thinkd::model::endpoint::Options;
use thinkd::model::metered::metered;
use thinkd::model::models::Models;
use thinkd::model::offline::Offline;
use thinkd::model::openai::OpenAi;
use thinkd::model::provider::{
    Answer, Content, Message, Model, Piece, Request, Role, Schemas, Tier, ToolChoice, ToolSpec,
    Usage,
};
use thinkd::model::scripted::Scripted;
use thinkd::words::failure::{Failure, FailureKind, Who};
use thinkd::words::id::{Name, Space, ThreadId};
use thinkd::words::text::Json;

use kit::{self, Stub, any, ms, within};
use provider::{Provider, Say};

fn options(url: &str) -> Options {
    Options {
        base_url: url.to_owned(),
        backoff_ms: 1,
        retries: 2,
        ..Options::new("m-1")
    }
}

fn tool(name: &str) -> ToolSpec {
    let parameters = json!({
        "type": "object", "properties": { "text": { "type": "string" } },
        "required": ["text"], "additionalProperties": false,
    });
    ToolSpec {
        name: name.to_owned(),
        description: format!("{name}s"),
        parameters: Json::of(&parameters),
        is_strict: true,
    }
}

fn request(text: &str) -> Request {
    Request {
        space: Space::default(),
        thread: ThreadId::default(),
        module: Who::Decision,
        tier: Tier::Low,
        messages: vec![
            Message {
                role: Role::System,
                content: vec![Content::Text("be brief".to_owned())],
            },
            Message {
                role: Role::User,
                content: vec![Content::Text(text.to_owned())],
            },
        ],
        tools: Arc::from([tool("reply"), tool("think")]),
        choice: ToolChoice::Auto,
        schemas: Schemas::Formed,
    }
}

/// All pieces and how it ended.
async fn ask(model: &dyn Model, request: &Request) -> (Vec<Piece>, Result<Answer, Failure>) {
    let mut pieces = model.ask(model.prepare(request));
    let mut seen = Vec::new();
    loop {
        match within("the model's next piece", pieces.next()).await {
            Some(Ok(Piece::End(answer))) => {
                assert!(
                    pieces.next().await.is_none(),
                    "something came after the end"
                );
                return (seen, Ok(answer));
            }
            Some(Ok(piece)) => seen.push(piece),
            Some(Err(failure)) => {
                assert!(
                    pieces.next().await.is_none(),
                    "something came after the failure"
                );
                return (seen, Err(failure));
            }
            None => panic!("the pieces ended without an end"),
        }
    }
}

async fn answer(model: &dyn Model) -> Answer {
    ask(model, &request("hello")).await.1.unwrap()
}

async fn failure(model: &dyn Model) -> Failure {
    ask(model, &request("hello")).await.1.unwrap_err()
}

/// The answer that pieces add up to.
fn joined(pieces: &[Piece]) -> (String, Vec<(String, String)>) {
    let mut text = String::new();
    let mut calls = Vec::<(String, String)>::new();
    for piece in pieces {
        match piece {
            Piece::Text(more) => text.push_str(more),
            Piece::Call {
                index,
                name,
                arguments,
            } => {
                if *index == calls.len() {
                    calls.push((name.clone().unwrap(), String::new()));
                }
                calls[*index].1.push_str(arguments);
            }
            Piece::End(_) => unreachable!(),
        }
    }
    (text, calls)
}

/// D4.08: streamed or plain, the same answer.
#[tokio::test]
async fn streamed_and_plain_answers_are_the_same() {
    let stub = Stub::start().await;
    let said = kit::reply("Grüße, Jürgen")
        .and("think", json!({ "thought": "…" }))
        .saying("Let me see.");
    stub.on(any, said.usage(120, 30, 64));
    let mut answers = Vec::new();
    for stream in [true, false] {
        let model = OpenAi::new(Options {
            stream,
            ..options(&stub.url())
        })
        .unwrap();
        let (pieces, answer) = ask(&model, &request("hello")).await;
        let answer = answer.unwrap();
        let (text, calls) = joined(&pieces);
        assert_eq!(text, answer.text);
        assert_eq!(
            calls,
            answer
                .calls
                .iter()
                .map(|c| (c.name.clone(), c.arguments.clone()))
                .collect::<Vec<_>>()
        );
        assert_eq!(pieces.len() > 5, stream, "{pieces:?}");
        answers.push(answer);
    }
    for answer in &mut answers {
        answer.calls.iter_mut().for_each(|call| call.id.clear());
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0].text, "Let me see.");
    assert_eq!(answers[0].calls[0].arguments, r#"{"text":"Grüße, Jürgen"}"#);
    assert_eq!(
        answers[0].usage,
        Usage {
            input_tokens: 120,
            output_tokens: 30,
            cached_tokens: 64
        }
    );
    assert_eq!(answers[0].finish, "tool_calls");
}

/// A chunk with this delta.
fn delta(delta: Value) -> String {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }).to_string()
}

fn word(word: &str) -> String {
    delta(json!({ "content": word }))
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const DONE: &str = "[DONE]";

async fn streaming(say: Say) -> (Provider, OpenAi) {
    let provider = Provider::says([say]).await;
    let model = OpenAi::new(options(&provider.url())).unwrap();
    (provider, model)
}

async fn plain(say: Say) -> (Provider, OpenAi) {
    let provider = Provider::says([say]).await;
    let model = OpenAi::new(Options {
        stream: false,
        ..options(&provider.url())
    })
    .unwrap();
    (provider, model)
}

/// Returns the answer read from a plain body.
async fn read(body: Value) -> Answer {
    answer(&plain(Say::plain(body.to_string())).await.1).await
}

/// Returns the answer read from streamed deltas.
async fn read_deltas(deltas: &[Value]) -> Answer {
    let mut events: Vec<String> = deltas.iter().map(|d| delta(d.clone())).collect();
    events.extend([STOP.to_owned(), DONE.to_owned()]);
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    answer(&streaming(Say::events(&events)).await.1).await
}

fn message(message: Value) -> Value {
    json!({ "choices": [{ "message": message, "finish_reason": "stop" }] })
}

fn called(name: &str, arguments: &str) -> (String, String) {
    (name.to_owned(), arguments.to_owned())
}

fn calls(answer: &Answer) -> Vec<(String, String)> {
    answer
        .calls
        .iter()
        .map(|call| (call.name.clone(), call.arguments.clone()))
        .collect()
}

// --- what is sent

#[tokio::test]
async fn what_is_prepared_is_what_is_sent() {
    let (provider, model) =
        plain(Say::plain(message(json!({ "content": "hi" })).to_string())).await;
    let mut request = request("hello");
    request.thread = ThreadId::parse("main.research").unwrap();
    request.module = Who::Submodule(Name::parse("critic").unwrap());
    let prepared = model.prepare(&request);
    assert_eq!(prepared, model.prepare(&request));
    ask(&model, &request).await.1.unwrap();
    let asked = &provider.asked()[0];
    assert_eq!(asked.body, prepared.body.as_str().as_bytes());
    for line in [
        "POST /v1/chat/completions HTTP/1.1",
        "x-thinkd-thread: main.research",
        "x-thinkd-module: submodule:critic",
    ] {
        assert!(asked.head.contains(line), "no {line} in {}", asked.head);
    }
    assert!(!asked.head.contains("authorization"), "{}", asked.head);
}

#[test]
fn a_request_says_what_is_configured() {
    let options = Options {
        parameters: json!({ "temperature": 0.2, "max_tokens": 99, "reasoning_effort": "low" })
            .as_object()
            .unwrap()
            .clone(),
        ..options("http://localhost/v1")
    };
    let body = |options: Options, request: &Request| -> Value {
        let prepared = OpenAi::new(options).unwrap().prepare(request);
        serde_json::from_str(prepared.body.as_str()).unwrap()
    };
    let function = |name: &str| {
        let spec = tool(name);
        json!({ "type": "function", "function": {
            "name": name, "description": spec.description, "parameters": spec.parameters, "strict": true,
        } })
    };
    let expected = json!({
        "model": "m-1", "stream": true, "stream_options": { "include_usage": true }, "temperature": 0.2, "max_tokens": 99,
        "reasoning_effort": "low", "tools": [function("reply"), function("think")],
        "messages": [{ "role": "system", "content": "be brief" }, { "role": "user", "content": "hello" }],
    });
    assert_eq!(body(options.clone(), &request("hello")), expected);

    let bare = Options {
        stream: false,
        ..options.clone()
    };
    let bare = body(bare, &request("hello"));
    assert_eq!(bare["stream"], false);
    assert_eq!(bare.get("stream_options"), None);

    // Only one tool: no other is shown, and one must be called.
    let only = Request {
        choice: ToolChoice::Only(vec!["reply".to_owned()]),
        ..request("hello")
    };
    let only = body(options.clone(), &only);
    assert_eq!(
        (&only["tools"], &only["tool_choice"]),
        (&json!([function("reply")]), &json!("required"))
    );
    let toolless = Request {
        tools: Arc::from([]),
        ..request("hello")
    };
    assert_eq!(body(options, &toolless).get("tools"), None);
}

#[test]
fn images_and_sounds_are_sent() {
    let model = OpenAi::new(options("http://localhost/v1")).unwrap();
    let mut request = request("hello");
    let media = |mime: &str| Content::Media {
        mime: mime.to_owned(),
        bytes: Bytes::from_static(b"\x01\x02\x03"),
    };
    request.messages[1].content = vec![
        Content::Text("look and listen".to_owned()),
        media("image/png"),
        media("audio/wav"),
        media("audio/x-wav"),
        media("audio/mpeg"),
    ];
    let body: Value = serde_json::from_str(model.prepare(&request).body.as_str()).unwrap();
    let sound = |format: &str| json!({ "type": "input_audio", "input_audio": { "data": "AQID", "format": format } });
    let expected = json!([
        { "type": "text", "text": "look and listen" },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,AQID" } },
        sound("wav"), sound("wav"), sound("mp3"),
    ]);
    assert_eq!(body["messages"][1]["content"], expected);
}

// --- secrets

#[tokio::test]
async fn the_key_is_sent_and_never_said() {
    const KEY: &str = "sk-canary-0123456789";
    let echo = format!(r#"{{"error":{{"message":"the key {KEY} is not known; {KEY}"}}}}"#);
    let event = format!(r#"{{"error":"{KEY}"}}"#);
    let says = [
        Say::status("401 Unauthorized", &[], echo.clone()),
        Say::status("500 Oh", &[], KEY),
        Say::status(
            "302 Found",
            &[&format!("location: http://{KEY}@elsewhere.example/")],
            "",
        ),
        Say::plain(echo),
        Say::plain(KEY),
        Say::events(&[&event]),
        Say::events(&[KEY]),
        Say::events(&[&word("hi")]).cut(),
    ];
    for say in says {
        for stream in [true, false] {
            let provider = Provider::says([say.clone()]).await;
            let options = Options {
                stream,
                api_key: Some(KEY.into()),
                ..options(&provider.url())
            };
            assert!(!format!("{options:?}").contains(KEY));
            let model = OpenAi::new(options).unwrap();
            let prepared = model.prepare(&request("hello"));
            let failure = failure(&model).await;
            assert!(
                provider.asked()[0]
                    .head
                    .contains(&format!("authorization: Bearer {KEY}"))
            );
            let all = format!("{failure} {failure:?} {prepared:?} {}", model.name());
            assert!(!all.contains(KEY), "{all}");
        }
    }
    let odd = OpenAi::new(Options {
        api_key: Some("sk-\u{7}canary".into()),
        ..options("http://localhost")
    })
    .err()
    .unwrap();
    assert!(!format!("{odd:?}").contains("canary"), "{odd}");
    let model = OpenAi::new(options("http://me:canary@localhost/v1?key=canary")).unwrap();
    assert_eq!(model.name(), "model m-1 at http://localhost/v1");
}

/// A provider that repeats a part of the key, or writes it in another way, is quoted without it.
#[tokio::test]
async fn a_key_that_is_echoed_shortened_or_encoded_is_never_said() {
    use base64::Engine as _;
    const KEY: &str = "sk-Proj_0aB1cD2eF3/gH4+iJ5=kL6mN7";
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let hex = |text: &str| {
        text.bytes()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let escaped = |text: &str| {
        text.chars()
            .map(|c| format!("\\u{:04x}", u32::from(c)))
            .collect::<String>()
    };
    let percent = |text: &str| {
        text.bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect::<String>()
    };
    let echoes = [
        KEY.to_owned(),
        KEY[..12].to_owned(),
        KEY[KEY.len() - 12..].to_owned(),
        KEY[8..20].to_owned(),
        format!("{}****************{}", &KEY[..8], &KEY[KEY.len() - 4..]),
        format!("{}…{}", &KEY[..6], &KEY[KEY.len() - 6..]),
        format!("{}...", &KEY[..5]),
        KEY.to_lowercase(),
        KEY.replace('/', "%2F")
            .replace('+', "%2B")
            .replace('=', "%3D"),
        percent(KEY),
        KEY.replace('/', "\\/"),
        escaped(KEY),
        base64(KEY),
        base64(&format!("Bearer {KEY}")),
        base64(&format!("x:{KEY}")),
        base64(KEY)
            .trim_end_matches('=')
            .replace('+', "-")
            .replace('/', "_"),
        hex(KEY),
        hex(KEY).to_uppercase(),
        base64(&KEY[..16]),
    ];
    for echo in &echoes {
        for around in [
            "the key {} is wrong",
            "key={}, which is wrong",
            "{\"got\":\"{}\"}",
            "<b>{}</b>",
            "'{}'",
        ] {
            let words = around.replace("{}", echo);
            let provider =
                Provider::says([Say::status("401 Unauthorized", &[], words.clone())]).await;
            let model = OpenAi::new(Options {
                api_key: Some(KEY.into()),
                ..options(&provider.url())
            })
            .unwrap();
            let told = failure(&model).await.text;
            assert!(told.contains("[api_key]"), "{words} was told as {told}");
            let left = told.to_lowercase();
            let pieces = [
                echo.to_lowercase(),
                KEY[..5].to_lowercase(),
                KEY[KEY.len() - 4..].to_lowercase(),
            ];
            assert!(
                pieces.iter().all(|piece| !left.contains(piece.as_str())),
                "{words} was told as {told}"
            );
        }
    }
    // What a provider says that has nothing to do with the key is quoted as it is.
    let words = "model-7b at https://provider.example/v1/chat is overloaded (code=529, request req_0123456789abcdef)";
    let provider = Provider::says([Say::status("400 Bad Request", &[], words)]).await;
    let model = OpenAi::new(Options {
        api_key: Some(KEY.into()),
        ..options(&provider.url())
    })
    .unwrap();
    assert!(failure(&model).await.text.contains(words));
    // What stands in the address is as secret.
    let says = Say::status(
        "302 Found",
        &["location: http://elsewhere.example/v1?key=canary-0123456789"],
        "",
    );
    let provider = Provider::says([says]).await;
    let model = OpenAi::new(options(&format!(
        "{}?key=canary-0123456789",
        provider.url()
    )))
    .unwrap();
    assert!(!failure(&model).await.text.contains("canary"));
}

// --- which model, and what it costs

/// T4: tiers and modules.
#[tokio::test]
async fn calls_go_to_the_module_s_model_or_the_tier_s() {
    let named = |name: &'static str| -> Arc<dyn Model> {
        Arc::new(Scripted::by(move |_| Ok(Answer::says(name))))
    };
    let critic = Who::Submodule(Name::parse("critic").unwrap());
    let models = Models::new(Some(named("low")), Some(named("high"))).unwrap();
    let models = models.with_module("submodule:critic", named("critic's"));
    let asked = async |models: &Models, module: Who, tier: Tier| {
        ask(
            models,
            &Request {
                module,
                tier,
                ..request("hello")
            },
        )
        .await
        .1
        .unwrap()
        .text
    };
    assert_eq!(asked(&models, Who::Decision, Tier::Low).await, "low");
    assert_eq!(asked(&models, Who::Decision, Tier::High).await, "high");
    assert_eq!(asked(&models, critic.clone(), Tier::Low).await, "critic's");
    assert_eq!(asked(&models, critic, Tier::High).await, "critic's");
    let low = Models::new(Some(named("low")), None).unwrap();
    assert_eq!(asked(&low, Who::Decision, Tier::High).await, "low");
    let high = Models::new(None, Some(named("high"))).unwrap();
    assert_eq!(asked(&high, Who::Decision, Tier::Low).await, "high");
    assert!(Models::new(None, None).is_none());
}

#[test]
fn calls_are_counted() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    metrics::with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let usage = Usage {
                input_tokens: 7,
                output_tokens: 5,
                cached_tokens: 2,
            };
            let answers = [Answer {
                usage,
                ..Answer::says("hi")
            }];
            let model = metered(Arc::new(Scripted::queue(answers)));
            let voice = Request {
                module: Who::Submodule(Name::parse("critic").unwrap()),
                ..request("hello")
            };
            drop(model.ask(model.prepare(&request("not waited for"))));
            let model = metered(Arc::new(Scripted::queue([Answer {
                usage,
                ..Answer::says("hi")
            }])));
            ask(model.as_ref(), &request("hello")).await.1.unwrap();
            ask(model.as_ref(), &voice).await.1.unwrap_err();
        });
    });
    let text = handle.render();
    for line in [
        r#"thinkd_model_calls_total{module_kind="decision",outcome="done"} 1"#,
        r#"thinkd_model_calls_total{module_kind="decision",outcome="cancelled"} 1"#,
        r#"thinkd_model_calls_total{module_kind="submodule",outcome="failed"} 1"#,
        r#"thinkd_model_tokens_total{direction="input"} 7"#,
        r#"thinkd_model_tokens_total{direction="output"} 5"#,
        r#"thinkd_model_tokens_total{direction="cached"} 2"#,
        r#"thinkd_model_call_seconds_count{module_kind="decision"} 2"#,
    ] {
        assert!(text.contains(line), "no {line} in\n{text}");
    }
}
