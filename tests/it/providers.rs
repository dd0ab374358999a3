//! Habits of providers, a file each in `tests/providers`: the bytes of an answer, and the words that the user gets.
//! `tests/providers/README.md` has the form of a file. Each habit is met by a server of its own, streamed and plain.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Value, json};

use kit::generated::is_fresh;
use kit::media::PNG;
use kit::*;

/// Habits that are tried at the same time.
const AT_ONCE: usize = 4;

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Habit {
    #[serde(skip)]
    name: String,
    /// The product where it was seen.
    product: String,
    /// The report or the version.
    seen: String,
    /// The heading below which the table has it.
    class: Class,
    /// The provider's habit, with the provider as the subject left out: `numbers all calls 0`.
    habit: String,
    /// The reading of it, with thinkd as the subject left out.
    reading: String,
    /// `red`: it failed before it had a file. `green`: it passed.
    was: Was,
    /// Names of settings and their values.
    #[serde(default)]
    settings: toml::Table,
    /// Only with this value of `stream`; absent: with both that the answers allow.
    stream: Option<bool>,
    answers: Vec<Reply>,
    /// The first message, where it is not the usual one.
    says: Option<String>,
    /// The first message has a picture.
    #[serde(default)]
    picture: bool,
    /// The replies that the user gets.
    #[serde(default)]
    replies: Vec<String>,
    /// The remark of a voice `owl`, which is asked instead of the decision.
    remark: Option<String>,
    /// Words of a failure in the thread, each of them.
    #[serde(default)]
    failure: Vec<String>,
    /// The most requests of the turn.
    requests: Option<usize>,
    /// The most requests of a second turn, which has the same replies.
    later_requests: Option<usize>,
    /// Parts of the last request's body.
    #[serde(default)]
    sent: Vec<String>,
    /// Parts that the last request's body does not have.
    #[serde(default)]
    not_sent: Vec<String>,
    /// Tokens of the answer, as they are counted.
    output_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Class {
    Calls,
    Arguments,
    Endings,
    Thinking,
    Frames,
    Usage,
    Refusals,
    Waits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Was {
    Red,
    Green,
}

/// One answer of the provider. The first that fits answers; each answers as often as it fits.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    /// A part of the request's body.
    when: Option<String>,
    /// The number of requests that it answers; absent: all.
    times: Option<usize>,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: toml::Table,
    /// The content type, where it is not the usual one.
    mime: Option<String>,
    /// Deltas of a streamed answer, as JSON; one per chunk.
    deltas: Option<Vec<String>>,
    /// The message of a plain answer, as JSON.
    message: Option<String>,
    #[serde(default = "stop")]
    finish: String,
    /// The usage, as JSON.
    usage: Option<String>,
    /// The body, instead of all these.
    body: Option<String>,
    /// The parts of the body, with pauses between them.
    parts: Option<Vec<String>>,
    #[serde(default)]
    gap_ms: u64,
    #[serde(default)]
    delay_ms: u64,
}

fn ok() -> u16 {
    200
}

fn stop() -> String {
    "stop".to_owned()
}

fn folder() -> PathBuf {
    Path::new(kit::ROOT).join("tests/providers")
}

fn habits() -> Vec<Habit> {
    let mut files: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let habit: Habit = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        Habit { name, ..habit }
    };
    files.iter().map(read).collect()
}

impl Reply {
    fn json(text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// The parts of the body that a request gets.
    fn parts(&self, streams: bool) -> Vec<Vec<u8>> {
        if let Some(parts) = &self.parts {
            return parts.iter().map(|part| part.clone().into_bytes()).collect();
        }
        if let Some(body) = &self.body {
            return vec![body.clone().into_bytes()];
        }
        let usage = self.usage.as_deref().map(Self::json);
        let head = json!({ "id": "x", "created": 1, "model": "stub" });
        let whole = |object: &str, choices: Value| {
            let mut whole = head.clone();
            whole["object"] = json!(object);
            whole["choices"] = choices;
            whole
        };
        let (true, Some(deltas)) = (streams, &self.deltas) else {
            let message = self
                .message
                .as_deref()
                .map_or_else(|| json!({}), Self::json);
            let choice = json!([{ "index": 0, "message": message, "finish_reason": self.finish }]);
            let mut body = whole("chat.completion", choice);
            body["usage"] = usage.unwrap_or_default();
            return vec![body.to_string().into_bytes()];
        };
        let chunk = |delta: Value, finish: Value| {
            let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
            whole("chat.completion.chunk", choice)
        };
        let said = deltas
            .iter()
            .map(|delta| chunk(Self::json(delta), Value::Null));
        let mut chunks: Vec<Value> = said.chain([chunk(json!({}), json!(self.finish))]).collect();
        chunks.extend(usage.map(|usage| {
            let mut last = whole("chat.completion.chunk", json!([]));
            last["usage"] = usage;
            last
        }));
        let lines = chunks
            .iter()
            .map(|chunk| format!("data: {chunk}\n\n").into_bytes());
        lines.chain([b"data: [DONE]\n\n".to_vec()]).collect()
    }

    fn answer(&self, streams: bool) -> Answer {
        let is_streamed = streams && self.deltas.is_some() && self.body.is_none();
        let usual = if is_streamed {
            "text/event-stream"
        } else {
            "application/json"
        };
        let mime = self.mime.as_deref().unwrap_or(usual);
        let mut answer = raw_parts(self.parts(streams))
            .with_status(self.status)
            .header("content-type", mime)
            .gap(ms(self.gap_ms))
            .after(ms(self.delay_ms));
        for (name, value) in &self.headers {
            let name: &'static str = name.clone().leak();
            answer = answer.header(name, value.as_str().unwrap());
        }
        answer
    }
}

impl Habit {
    /// The values of `stream` with which it is met.
    fn streams(&self) -> Vec<bool> {
        let has_bytes = |reply: &Reply| reply.body.is_some() || reply.parts.is_some();
        let can = |stream: bool| {
            let fits = |reply: &Reply| match stream {
                true => has_bytes(reply) || reply.deltas.is_some(),
                false => has_bytes(reply) || reply.message.is_some(),
            };
            self.answers.iter().all(fits)
        };
        let wanted = |stream: &bool| self.stream.is_none_or(|only| only == *stream) && can(*stream);
        [true, false].into_iter().filter(wanted).collect()
    }

    fn setup(&self, stub: &Stub, stream: bool) -> Setup {
        let mut setup = Setup::new(Medium::sqlite(), stub)
            .env("THINKD_MODELS__LOW__STREAM", stream)
            .env("THINKD_TEST_MODELS__LOW__BACKOFF_MS", 1);
        for (name, value) in &self.settings {
            let name = name.to_uppercase().replace('.', "__");
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            setup = setup.env(&format!("THINKD_{name}"), value);
        }
        if self.remark.is_some() {
            setup.voices(&["owl"])
        } else {
            setup
        }
    }

    fn script(&self, stub: &Stub) {
        let module = if self.remark.is_some() {
            "submodule:owl"
        } else {
            "decision"
        };
        for reply in self.answers.clone() {
            let when = reply.when.clone();
            let fits = move |request: &Request| {
                let body = String::from_utf8_lossy(&request.bytes);
                request.module == module && when.as_ref().is_none_or(|part| body.contains(part))
            };
            match reply.times {
                None => stub.on_each(fits, move |request| reply.answer(request.streams())),
                Some(times) => {
                    // A scripted answer does not see its request: all of its parts are bytes.
                    let streams = self.streams().contains(&true);
                    stub.script(fits, vec![reply.answer(streams); times])
                }
            };
        }
    }

    /// Meets the habit once; returns the differences from the file.
    async fn differences(&self, stream: bool) -> Vec<String> {
        let stub = Stub::start().await;
        self.script(&stub);
        let app = self.setup(&stub, stream).start().await;
        let mut wrong = Vec::new();
        let mut message = json!({ "text": self.says.as_deref().unwrap_or("hello") });
        if self.picture {
            message["images"] = json!([{ "data": PNG, "mimeType": "image/png" }]);
        }
        let turn = (&app, &stub);
        let first = self.turn(turn, message, self.requests, &mut wrong).await;
        if let Some(most) = self.later_requests {
            let message = json!({ "text": "hello" });
            let most = Some(first + most);
            self.turn(turn, message, most, &mut wrong).await;
        }
        let last = stub.all(|request| self.is_asked(request)).pop();
        let body = last.map_or_else(String::new, |it| {
            String::from_utf8_lossy(&it.bytes).into_owned()
        });
        let missing = self.sent.iter().filter(|part| !body.contains(*part));
        wrong.extend(missing.map(|part| format!("the last request lacks {part}")));
        let extra = self.not_sent.iter().filter(|part| body.contains(*part));
        wrong.extend(extra.map(|part| format!("the last request has {part}")));
        wrong
    }

    fn is_asked(&self, request: &Request) -> bool {
        if self.remark.is_some() {
            request.module == "submodule:owl"
        } else {
            request.is_decision()
        }
    }

    /// One turn; returns the number of requests so far.
    async fn turn(
        &self,
        (app, stub): (&App, &Stub),
        message: Value,
        most: Option<usize>,
        wrong: &mut Vec<String>,
    ) -> usize {
        let told = app
            .post("/threads/t/messages?wait=20", message)
            .await
            .expect(200);
        let said = |list: &Value| -> Vec<String> {
            let texts = list.as_array().into_iter().flatten();
            texts
                .map(|it| {
                    it["payload"]["text"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned()
                })
                .collect()
        };
        let replies = said(&told["responses"]);
        if self.remark.is_none() && replies != self.replies {
            wrong.push(format!("the user gets {replies:?}, not {:?}", self.replies));
        }
        let log = app.log().await;
        if let Some(remark) = &self.remark {
            let found = log.iter().any(|event| {
                event["meta"]["tags"].to_string().contains("owl")
                    && event["payload"]["text"] == remark.as_str()
            });
            if !found {
                wrong.push(format!("no remark {remark:?}"));
            }
        }
        let failures: Vec<&str> = log
            .iter()
            .filter(|event| has(event, "failure"))
            .filter_map(|event| event["payload"]["text"].as_str())
            .collect();
        let lacking = self
            .failure
            .iter()
            .filter(|part| !failures.iter().any(|it| it.contains(*part)));
        wrong.extend(lacking.map(|part| format!("no failure says {part:?}")));
        if self.failure.is_empty() && !failures.is_empty() {
            wrong.push("there are failures".to_owned());
        }
        let count = stub.count(|request| self.is_asked(request));
        if most.is_some_and(|most| count > most) {
            wrong.push(format!("{count} requests, more than {most:?}"));
        }
        if let Some(tokens) = self.output_tokens {
            let usage = app.get("/usage").await.expect(200);
            let counted = format!("\"output\":{tokens}");
            if !usage.to_string().contains(&counted) {
                wrong.push(format!("not {counted} in {usage}"));
            }
        }
        if !wrong.is_empty() {
            wrong.push(format!("failures: {failures:?}"));
        }
        count
    }
}

/// D4.08: each habit of a provider is read as its file says. `PROVIDER=name` tries the habits with
/// a name that contains it.
#[tokio::test]
async fn each_habit_of_a_provider_is_read_as_its_file_says() {
    let only = std::env::var("PROVIDER").unwrap_or_default();
    let habits = habits();
    let chosen = habits.iter().filter(|habit| habit.name.contains(&only));
    let runs = chosen.flat_map(|habit| {
        habit
            .streams()
            .into_iter()
            .map(move |stream| (habit, stream))
    });
    let outcomes = stream::iter(runs).map(|(habit, stream)| async move {
        let differences = habit.differences(stream).await;
        (!differences.is_empty()).then(|| {
            format!(
                "{} (stream = {stream}):\n  {}",
                habit.name,
                differences.join("\n  ")
            )
        })
    });
    let wrong: Vec<Option<String>> = outcomes.buffered(AT_ONCE).collect().await;
    let red = habits.iter().filter(|habit| habit.was == Was::Red).count();
    println!(
        "{} habits, {red} were red, met {} times",
        habits.len(),
        wrong.len()
    );
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(
        wrong.is_empty(),
        "{} went wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Every file can be met, and says another thing than the others.
#[test]
fn habits_differ_and_can_be_met() {
    let habits = habits();
    for habit in &habits {
        assert!(
            !habit.streams().is_empty(),
            "{}: no answer fits",
            habit.name
        );
        let same = habits
            .iter()
            .filter(|other| other.habit == habit.habit && other.product == habit.product);
        assert_eq!(
            same.count(),
            1,
            "{}: another file has this habit",
            habit.name
        );
    }
}

/// The table of `docs/models.md` is written from the files.
#[test]
fn the_table_of_habits_is_fresh() {
    let habits = habits();
    let classes = [
        (Class::Calls, "Which call a piece belongs to"),
        (Class::Arguments, "Arguments that are almost JSON"),
        (Class::Endings, "Why an answer ended"),
        (Class::Thinking, "Thinking"),
        (Class::Frames, "The frame of an answer"),
        (Class::Usage, "Tokens"),
        (Class::Refusals, "Refusals"),
        (Class::Waits, "Waits"),
    ];
    let mut table = String::new();
    for (class, title) in classes {
        let of_class: Vec<_> = habits.iter().filter(|habit| habit.class == class).collect();
        if of_class.is_empty() {
            continue;
        }
        let _ = write!(
            table,
            "\n### {title}\n\n| provider | habit | thinkd |\n| --- | --- | --- |\n"
        );
        for habit in of_class {
            let cell = |text: &str| text.replace('|', "\\|");
            let Habit {
                product,
                seen,
                habit,
                reading,
                ..
            } = habit;
            let (product, seen, habit, reading) =
                (cell(product), cell(seen), cell(habit), cell(reading));
            let _ = writeln!(table, "| {product} ({seen}) | {habit} | {reading} |");
        }
    }
    let page = include_str!("../../docs/models.md");
    let mark = "<!-- habits, from tests/providers -->\n";
    let (before, _) = page.split_once(mark).expect("the page has the mark");
    let (_, after) = page
        .split_once("<!-- end of habits -->")
        .expect("the page has its end");
    let fresh = format!("{before}{mark}{table}\n<!-- end of habits -->{after}");
    is_fresh("docs/models.md", &fresh);
}
