//! Requests that wait for people (tool calls and questions): the terminal finds and shows them, and
//! takes a person's word to the server. `thinkd inbox` and `thinkd chat` use it.

use anyhow::bail;
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::Server;
use super::paint::{ALARM, BOLD, CODE, FAINT, painted};
use super::safe::safe;
use crate::program::telemetry::escaped;
use thinkd_event::envelope::Event;
use thinkd_words::id::OWN_END;
use thinkd_words::spelling::words;
use thinkd_words::time::{self, Timestamp};

/// Digits of the end of an id that name a request. The beginnings of ids are their times: requests
/// of the same moment begin the same.
const END: usize = 8;
/// The fewest digits of an id's end that name a request.
const END_MIN: usize = 6;
/// The fewest digits of an id's beginning: up to the millisecond.
const BEGIN_MIN: usize = 12;
/// Most characters of a line about a request.
const LINE: usize = 100;

words! {
    /// The kind of a request.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Kind {
        /// A tool call, for a verdict.
        Approval = "approval",
        /// A question, for an answer.
        Question = "question",
    }
}

impl Kind {
    fn path(self) -> String {
        format!("/{}s", self.as_str())
    }
}

/// A request to people that is open.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// The kind.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// The thread that asked.
    pub thread: String,
    /// Since when it waits, where that is known.
    pub since: Option<Timestamp>,
    /// The data of its event.
    pub asked: Value,
}

/// The word of a person.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// The call runs, with these arguments or as it was proposed.
    Approve(Option<Value>),
    /// The call does not run.
    Reject,
    /// The call does not run; this is its result.
    Respond(String),
    /// The answer to a question.
    Answer(String),
}

impl Word {
    const fn kind(&self) -> Kind {
        match self {
            Self::Answer(_) => Kind::Question,
            Self::Approve(_) | Self::Reject | Self::Respond(_) => Kind::Approval,
        }
    }
}

impl Waiting {
    /// Returns a request, made of its event or of the server's account of it.
    pub fn new(kind: Kind, asked: Value) -> Self {
        let text = |key: &str| asked[key].as_str().unwrap_or_default().to_owned();
        let id = text(&format!("{}_id", kind.as_str()));
        let thread = text("thread");
        Self {
            kind,
            since: made_at(&id),
            id,
            thread,
            asked,
        }
    }

    fn text(&self, key: &str) -> &str {
        self.asked[key].as_str().unwrap_or_default()
    }

    /// The name by which people call it: the last digits of its id that it shares with no other. The whole id, should another of these be called so.
    pub fn handle(&self, among: &[Self]) -> String {
        let name = self.short_name();
        let same = among.iter().filter(|other| other.short_name() == name);
        let is_alone = same.count() < 2;
        if is_alone { name } else { self.id.clone() }
    }

    fn short_name(&self) -> String {
        let digits = digits(&self.id);
        let drawn = drawn(&digits);
        let before = drawn.chars().count().saturating_sub(END);
        drawn.chars().skip(before).collect()
    }

    fn is_named(&self, given: &str) -> bool {
        let id = digits(&self.id);
        let end = drawn(given);
        let is_begun_so = given.len() >= BEGIN_MIN && id.starts_with(given);
        is_begun_so || (end.len() >= END_MIN && drawn(&id).ends_with(end))
    }

    /// Returns its subject in one line: the call, or the question.
    pub fn about(&self) -> String {
        let about = match self.kind {
            Kind::Approval => {
                let arguments = self.asked.get("arguments").map(Value::to_string);
                let arguments = arguments.unwrap_or_default();
                format!("{} {arguments}", self.text("tool"))
            }
            Kind::Question => self.text("text").to_owned(),
        };
        let about = escaped(&about);
        match about.char_indices().nth(LINE) {
            Some((end, _)) => format!("{}…", &about[..end]),
            None => about,
        }
    }

    /// Since when and until when it waits.
    pub fn times(&self) -> String {
        let now = time::now().micros();
        let until = Timestamp::parse(self.text("expires_at"));
        let since = self.since.map(|it| now - it.micros());
        let left = until.map(|it| it.micros() - now);
        let since = since.map(|it| format!("{} ago", span(it / 1_000_000)));
        let left = left.map(|it| format!("expires in {}", span(it / 1_000_000)));
        Vec::from_iter(since.into_iter().chain(left)).join(", ")
    }

    /// Returns all of it: the call with its arguments and changes, or the question and the required
    /// form of its answer.
    pub fn described(&self, colours: bool) -> String {
        let mut lines = Vec::new();
        let mut put = |name: &str, text: &str| {
            let name = painted(colours, &[FAINT], &format!("{name:<9}"));
            lines.push(format!("{name} {}", safe(text)));
        };
        put(self.kind.as_str(), &self.id);
        put("thread", &self.thread);
        let times = format!("{} ({})", self.times(), self.text("expires_at"));
        put("waits", &times);
        match self.kind {
            Kind::Approval => {
                put("tool", self.text("tool"));
                put("arguments", &pretty(self.asked.get("arguments")));
            }
            Kind::Question => {
                put("asks", self.text("text"));
                for name in ["choices", "who", "schema"] {
                    if let Some(said) = self.asked.get(name).filter(|said| !said.is_null()) {
                        put(name, &pretty(Some(said)));
                    }
                }
            }
        }
        if let Some(diff) = self.diff() {
            lines.push(String::new());
            let line = |line| painted(colours, &[look(line)], &safe(line));
            lines.extend(diff.lines().map(line));
        }
        lines.join("\n")
    }

    /// Returns the changes that its call would make.
    pub fn diff(&self) -> Option<&str> {
        self.asked.get("diff").and_then(Value::as_str)
    }
}

/// The digits of an id, however it is written.
fn digits(id: &str) -> String {
    id.replace('-', "").to_ascii_lowercase()
}

/// The digits of an id without those in which all ids of the server's own making end.
fn drawn(digits: &str) -> &str {
    digits.strip_suffix(OWN_END).unwrap_or(digits)
}

/// When an id was made, where it says so.
fn made_at(id: &str) -> Option<Timestamp> {
    let (seconds, nanos) = Uuid::parse_str(id).ok()?.get_timestamp()?.to_unix();
    let micros = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
    Some(Timestamp::from_micros(micros).after(i64::from(nanos / 1000)))
}

/// Returns the look of a line of a diff.
fn look(line: &str) -> &'static str {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => BOLD,
        [b'+', ..] => "32",
        [b'-', ..] => ALARM,
        [b'@', ..] => CODE,
        _ => "",
    }
}

fn pretty(value: Option<&Value>) -> String {
    value
        .and_then(|value| serde_json::to_string_pretty(value).ok())
        .unwrap_or_default()
}

/// A time in the largest unit that says enough.
fn span(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

impl Server {
    /// All that waits, of one thread or all, the oldest first.
    pub async fn waiting(
        &self,
        client: &reqwest::Client,
        thread: Option<&str>,
    ) -> anyhow::Result<Vec<Waiting>> {
        let of_thread = thread.map(|thread| ("thread", thread.to_owned()));
        let mut all = Vec::new();
        for kind in [Kind::Approval, Kind::Question] {
            let asked = self.all(client, &kind.path(), of_thread.as_slice()).await?;
            all.extend(asked.into_iter().map(|asked| Waiting::new(kind, asked)));
        }
        for waiting in all.iter_mut().filter(|waiting| waiting.since.is_none()) {
            // A request whose event cannot be read is one all the same, of an age that nobody knows.
            let path = format!("/events/{}", waiting.id);
            let event = self.ask::<Event>(client, &path, &[]).await;
            waiting.since = event.ok().map(|event| event.ts);
        }
        all.sort_by(|one, other| (one.since, &one.id).cmp(&(other.since, &other.id)));
        Ok(all)
    }

    /// Returns the open request that an id, its end or its beginning names.
    pub async fn waits(
        &self,
        client: &reqwest::Client,
        given: &str,
    ) -> anyhow::Result<Option<Waiting>> {
        let digits = digits(given.trim());
        if drawn(&digits).len() < END_MIN {
            bail!(
                "{given:?} is too short to name what waits: give the name that `thinkd inbox` lists, or more of the id"
            );
        }
        let all = self.waiting(client, None).await?;
        let named: Vec<&Waiting> = all.iter().filter(|it| it.is_named(&digits)).collect();
        match named[..] {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            [first, second, ..] => {
                let count = named.len();
                bail!(
                    "{given} names {count} of those that wait, {} and {} among them: give more of the id",
                    first.id,
                    second.id
                )
            }
        }
    }

    /// Takes a person's word to the request that an id names. Returns the outcome.
    pub async fn tell(
        &self,
        client: &reqwest::Client,
        given: &str,
        word: &Word,
        why: Option<&str>,
    ) -> anyhow::Result<String> {
        let kind = word.kind();
        let waiting = match self.waits(client, given).await? {
            Some(waiting) => waiting,
            // Whole ids go to the server: it knows how they were settled.
            None if Uuid::parse_str(given.trim()).is_ok() => {
                let key = format!("{}_id", kind.as_str());
                Waiting::new(kind, json!({ key: given.trim() }))
            }
            None => bail!(
                "nothing that waits has an id like {given:?}; `thinkd inbox` lists what waits"
            ),
        };
        let id = &waiting.id;
        match (waiting.kind, kind) {
            (Kind::Question, Kind::Approval) => {
                bail!("{id} is a question: it takes an answer, no verdict")
            }
            (Kind::Approval, Kind::Question) => {
                bail!("{id} is an approval: approve it, reject it, or respond to it")
            }
            _ => {}
        }
        let mut body = match word {
            Word::Approve(None) => json!({ "verdict": "approve" }),
            Word::Approve(Some(arguments)) => json!({ "verdict": "edit", "arguments": arguments }),
            Word::Reject => json!({ "verdict": "reject" }),
            Word::Respond(text) => json!({ "verdict": "respond", "text": text }),
            Word::Answer(text) => answer(&waiting, text)?,
        };
        if let Some(why) = why {
            body["reason"] = why.into();
        }
        let path = format!("{}/{}", kind.path(), waiting.id);
        let answered = self.post(client, &path, &body).await?;
        let status = answered["status"].as_str().unwrap_or("answered");
        let known = !waiting.thread.is_empty();
        let about = known.then(|| format!(": {} in {}", waiting.about(), escaped(&waiting.thread)));
        Ok(format!("{}{}", escaped(status), about.unwrap_or_default()))
    }
}

fn answer(waiting: &Waiting, text: &str) -> anyhow::Result<Value> {
    if waiting.asked.get("schema").is_none_or(Value::is_null) {
        return Ok(json!({ "text": text }));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => Ok(json!({ "text": text, "value": value })),
        Err(error) => {
            bail!(
                "the answer to this question is JSON, as its schema says ({error}): show it to see the schema"
            )
        }
    }
}
