//! One model call: from a view of the log to an answer, and the record from which the call can be made again byte for byte.
//! Who asks what, and what is done with the answer, is decided by voices and decision.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::log::query::{self, Query, Show};
use crate::log::store::{self, Blob, Store};
use crate::model::prompt::{Prompts, Template};
use crate::model::provider::{
    Answer, Content, Message, Model, Piece, Prepared, Request, Role, Tier, ToolChoice, ToolSpec, ToolSpecs,
};
use crate::thread::history::{self, Block, Entry, Lengths, Omitted};
use crate::thread::quota::Purse;
use crate::words::failure::{By, Failure, FailureKind, Who};
use crate::words::id::{Name, Seq, Space, ThreadId};
use crate::words::text::{Text, sha256};
use recent::Recent;

pub use look::{Look, Scope};

mod look;
mod recent;

/// Prompts whose blobs are known to be stored; more than so many and the set starts anew.
const KNOWN_MAX: usize = 4096;

/// Where a call is made.
#[derive(Debug, Clone)]
pub struct Place {
    /// The space.
    pub space: Space,
    /// The thread.
    pub thread: ThreadId,
    /// The turn.
    pub turn: u64,
    /// What its calls draw on.
    pub purse: Purse,
}

/// Everything about one call but the log.
#[derive(Debug, Clone)]
pub struct Question {
    /// Who asks.
    pub who: Who,
    /// Why (`turn`, `follow-up`, `answer`, `decide`, `repair`); part of the record.
    pub purpose: &'static str,
    /// Which call of its kind in the turn, from 0.
    pub round: u64,
    /// The fixed instructions.
    pub system: Text,
    /// What follows the log.
    pub tail: Template,
    /// What is filled into `tail`.
    pub values: Vec<(String, String)>,
    /// The asker's own prompt, after the tail.
    pub prompt: Option<String>,
    /// The asker's own calls and results in this turn, last of all.
    pub own: Vec<Event>,
    /// The tools.
    pub tools: ToolSpecs,
    /// What must be called.
    pub choice: ToolChoice,
    /// The tier.
    pub tier: Tier,
}

/// A call ready to be made, with what is known of its record.
#[derive(Debug, Clone)]
pub struct Ready {
    prepared: Prepared,
    purse: Purse,
    who: Who,
    record: Map<String, Value>,
    begin: Instant,
    /// What is told of a call in its place that was refused.
    before: Vec<Draft>,
}

/// When an answer must be there, and the limit that this comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until {
    at: Instant,
    ms: u64,
}

impl Until {
    /// So many milliseconds from now.
    pub fn ms(ms: u64) -> Self {
        Self { at: Instant::now() + Duration::from_millis(ms), ms }
    }
}

/// How a call ended.
#[derive(Debug)]
pub enum Ended {
    /// With an answer.
    Answered(Answer),
    /// With a failure.
    Failed(Failure),
    /// It was stopped; the connection is closed.
    Stopped,
}

/// Asks a model in the name of threads.
pub struct Caller {
    store: Arc<dyn Store>,
    model: Arc<dyn Model>,
    prompts: Arc<Prompts>,
    options: history::Options,
    // A plain mutex: held for a set look-up, never across an await.
    known: Mutex<HashSet<(Space, String)>>,
    recent: Recent,
}

impl Caller {
    /// A caller on this store and model.
    pub fn new(store: Arc<dyn Store>, model: Arc<dyn Model>, prompts: Arc<Prompts>, options: history::Options) -> Self {
        Self { store, model, prompts, options, known: Mutex::default(), recent: Recent::default() }
    }

    /// The prompts it asks with.
    pub fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// The store it reads.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// How many bytes of a view an event takes at least.
    pub fn least(&self, event: &Event) -> usize {
        history::least(event, &self.options, &self.prompts)
    }

    /// Most bytes that what a turn is about may take at least.
    pub fn batch_bytes(&self) -> usize {
        self.options.bytes / history::BATCH_PART
    }

    fn write(&self, events: &[Event], omitted: Omitted, media: usize, lengths: Lengths) -> Vec<Block> {
        let entries = events.iter().map(|event| Arc::new(Entry::of(event, lengths, &self.prompts)));
        history::joined(&Vec::from_iter(entries), omitted, media, &self.prompts)
    }

    /// Makes a call ready: writes the view, and keeps what it is made of besides events.
    pub async fn prepare(&self, place: &Place, look: &Look, question: &Question) -> Result<Ready, store::Error> {
        place.purse.read().await?;
        let request = self.request(place, look.blocks.clone(), question, self.options.media, look.lengths).await?;
        let prepared = self.model.prepare(&request);
        let prompt = async {
            match &question.prompt {
                Some(prompt) => self.keep(&place.space, &Text::new(prompt.as_str())).await.map(Some),
                None => Ok(None),
            }
        };
        // At once: one commit, where they are new.
        let (system, tail, tools, prompt) = tokio::try_join!(
            self.keep(&place.space, &question.system),
            self.keep(&place.space, question.tail.source()),
            self.keep(&place.space, &question.tools.text),
            prompt,
        )?;
        let mut view = json!({
            "renderer": history::RENDERER,
            "show": if look.window.show == Show::Heard { "heard" } else { "visible" },
            "from": look.entries.first().map(|entry| entry.seq),
            "upto": look.entries.last().map(|entry| entry.seq),
            "events": look.entries.len(),
            "omitted": look.window.omitted,
            "media": self.options.media,
            "event_chars": look.lengths.event_chars,
            "entry_bytes": look.lengths.entry_bytes,
            "bytes": look.bytes,
            "system": system,
            "tail": tail,
            "values": question.values.iter().map(|(name, value)| json!([name, value])).collect::<Vec<_>>(),
            "prompt": prompt,
            "own": question.own.iter().map(|event| event.seq).collect::<Vec<_>>(),
            "tools": tools,
            "only": match &question.choice { ToolChoice::Only(name) => Some(name), ToolChoice::Auto => None },
            "tier": if question.tier == Tier::High { "high" } else { "low" },
        });
        if !look.left_out.is_empty() {
            view["left_out"] = json!(look.left_out);
        }
        if let Some(gap) = look.gap {
            view["gap"] = json!(gap);
        }
        let record = Map::from_iter([
            ("purpose".to_owned(), Value::from(question.purpose)),
            ("round".to_owned(), Value::from(question.round)),
            ("model".to_owned(), Value::from(prepared.model.as_str())),
            ("parameters".to_owned(), prepared.parameters.clone()),
            ("request_sha256".to_owned(), Value::from(sha256(prepared.body.as_str().as_bytes()))),
            ("view".to_owned(), view),
        ]);
        let (purse, who) = (place.purse.clone(), question.who.clone());
        Ok(Ready { prepared, purse, who, record, begin: Instant::now(), before: Vec::new() })
    }

    /// Makes the call, which has `until` to answer. `on_piece` sees every piece as it comes; `stop` ends it, down to the
    /// provider's connection.
    pub async fn ask(
        &self,
        ready: &Ready,
        until: Until,
        stop: &CancellationToken,
        mut on_piece: impl FnMut(&Piece) + Send,
    ) -> Ended {
        if let Err(failure) = ready.purse.take_call() {
            return Ended::Failed(failure);
        }
        let mut pieces = self.model.ask(ready.prepared.clone());
        let late = tokio::time::sleep_until(until.at);
        tokio::pin!(late);
        loop {
            let piece = tokio::select! {
                biased;
                () = stop.cancelled() => return Ended::Stopped,
                () = &mut late => return Ended::Failed(too_late(&ready.who, until.ms)),
                piece = pieces.next() => piece,
            };
            match piece {
                Some(Ok(Piece::End(answer))) => {
                    ready.purse.used(answer.usage.tokens());
                    return Ended::Answered(answer);
                }
                Some(Ok(piece)) => on_piece(&piece),
                Some(Err(failure)) => return Ended::Failed(failure),
                None => {
                    let text = format!("the answer for {} broke off", ready.who);
                    return Ended::Failed(Failure::new(FailureKind::Model, text).retryable());
                }
            }
        }
    }

    /// Asks about a look at the log; where the provider finds it too long, once more about half as much. Which look that was
    /// is left in `look`.
    pub async fn ask_about<F>(
        &self,
        place: &Place,
        look: &mut Arc<Look>,
        question: F,
        until: Until,
        stop: &CancellationToken,
        on_piece: &mut (dyn FnMut(&Piece) + Send),
    ) -> Result<(Ready, Ended), store::Error>
    where
        F: Fn(&Look) -> Question + Send + Sync,
    {
        let ready = self.prepare(place, look, &question(look)).await?;
        let ended = self.ask(&ready, until, stop, &mut *on_piece).await;
        let Ended::Failed(failure) = &ended else { return Ok((ready, ended)) };
        if !failure.is_too_long() {
            return Ok((ready, ended));
        }
        let refused = ready.refused(place, look, &ended, failure);
        *look = Arc::new(self.look_less(place, look).await?);
        let ready = Ready { before: refused, ..self.prepare(place, look, &question(look)).await? };
        let ended = self.ask(&ready, until, stop, on_piece).await;
        Ok((ready, ended))
    }

    async fn request(
        &self,
        place: &Place,
        mut blocks: Vec<Block>,
        question: &Question,
        media: usize,
        lengths: Lengths,
    ) -> Result<Request, store::Error> {
        let values: Vec<_> = question.values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let prompt = question.prompt.iter().map(|prompt| format!("\n{prompt}"));
        let rest: String = std::iter::once(format!("\n{}", question.tail.fill(&values))).chain(prompt).collect();
        // Prompts and what is filled in are others' words, too.
        blocks.push(Block::Text(history::beside(&rest)));
        if !question.own.is_empty() {
            blocks.push(Block::Text(format!("\n\n{}\n", self.prompts.submodule_own.source().as_str())));
            blocks.extend(self.write(&question.own, Omitted::default(), media, lengths));
        }
        let system = Message { role: Role::System, content: vec![Content::Text(question.system.as_str().to_owned())] };
        let user = Message { role: Role::User, content: self.contents(&place.space, blocks).await? };
        Ok(Request {
            thread: place.thread.clone(),
            module: question.who.clone(),
            tier: question.tier,
            messages: vec![system, user],
            tools: question.tools.list.clone(),
            choice: question.choice.clone(),
        })
    }

    /// Blocks as message content: neighbouring texts joined, media fetched. Media that is gone is left out: its line stays.
    async fn contents(&self, space: &Space, blocks: Vec<Block>) -> Result<Vec<Content>, store::Error> {
        let mut contents = Vec::new();
        for block in blocks {
            match block {
                Block::Text(more) => match contents.last_mut() {
                    Some(Content::Text(text)) => text.push_str(&more),
                    _ => contents.push(Content::Text(more)),
                },
                Block::Blob { sha256, mime } => {
                    if let Some(blob) = self.store.blob(space, &sha256).await? {
                        contents.push(Content::Media { mime, bytes: blob.bytes });
                    }
                }
            }
        }
        Ok(contents)
    }

    /// Keeps a text as a blob, once, and returns its hash.
    async fn keep(&self, space: &Space, text: &Text) -> Result<String, store::Error> {
        let key = (space.clone(), text.sha256().to_owned());
        if self.lock_known().contains(&key) {
            return Ok(key.1);
        }
        let bytes = bytes::Bytes::copy_from_slice(text.as_str().as_bytes());
        let hash = self.store.put_blob(space, Blob { mime: "text/plain; charset=utf-8".into(), bytes }).await?;
        let mut known = self.lock_known();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(key);
        Ok(hash)
    }

    fn lock_known(&self) -> std::sync::MutexGuard<'_, HashSet<(Space, String)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the view of a recorded call anew. `exact`: its request is, byte for byte, the one that was sent.
    pub async fn rebuild(&self, space: &Space, record: &Event) -> Result<Value, store::Error> {
        let (view, call) = match record.fact() {
            Fact::Call(call) => (call.get("view").cloned().unwrap_or_default(), call),
            _ => return Ok(Value::Null),
        };
        let place = Place {
            space: space.clone(),
            thread: record.thread.clone(),
            turn: record.turn().unwrap_or(0),
            purse: Purse::default(),
        };
        let number = |key: &str| view.get(key).and_then(Value::as_u64).unwrap_or(0);
        let size = |key: &str| usize::try_from(number(key)).unwrap_or(usize::MAX);
        // Entries had no limit of their own once.
        let entry_bytes = if view.get("entry_bytes").is_some() { size("entry_bytes") } else { usize::MAX };
        let lengths = Lengths { event_chars: size("event_chars"), entry_bytes };
        let events = self.recorded_events(space, record, &view).await?;
        let question = self.recorded_question(space, record, &view).await?;
        let omitted = Omitted { count: number("omitted"), gap: gap(&view).map(|(_, end)| end) };
        let blocks = self.write(&events, omitted, size("media"), lengths);
        let prepared = self.model.prepare(&self.request(&place, blocks, &question, size("media"), lengths).await?);
        let exact =
            call.get("request_sha256").and_then(Value::as_str) == Some(&sha256(prepared.body.as_str().as_bytes()));
        let body: Value = serde_json::from_str(prepared.body.as_str()).unwrap_or_default();
        let recorded = |key: &str| call.get(key).cloned();
        Ok(json!({
            "call": record.event_id, "thread": record.thread, "module": recorded("module"), "purpose": recorded("purpose"),
            "model": recorded("model"), "usage": recorded("usage"), "exact": exact, "request": body,
        }))
    }

    async fn recorded_question(&self, space: &Space, record: &Event, view: &Value) -> Result<Question, store::Error> {
        let values = view.get("values").and_then(Value::as_array).into_iter().flatten();
        let value = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
        let has_prompt = view.get("prompt").is_some_and(|prompt| !prompt.is_null());
        let tools: Vec<ToolSpec> = serde_json::from_str(&self.kept(space, view, "tools").await?).unwrap_or_default();
        let only = view.get("only").and_then(Value::as_str);
        Ok(Question {
            who: who(record),
            purpose: "",
            round: 0,
            system: Text::new(self.kept(space, view, "system").await?),
            tail: Template::parse(&self.kept(space, view, "tail").await?),
            values: values.filter_map(value).collect(),
            prompt: if has_prompt { Some(self.kept(space, view, "prompt").await?) } else { None },
            own: self.own_events(space, &record.thread, view).await?,
            tools: ToolSpecs::new(tools),
            choice: only.map_or(ToolChoice::Auto, |name| ToolChoice::Only(name.to_owned())),
            tier: if view.get("tier").and_then(Value::as_str) == Some("high") { Tier::High } else { Tier::Low },
        })
    }

    async fn recorded_events(&self, space: &Space, record: &Event, view: &Value) -> Result<Vec<Event>, store::Error> {
        let number = |key: &str| view.get(key).and_then(Value::as_i64);
        let (Some(from), Some(upto), Some(limit)) = (number("from"), number("upto"), number("events")) else {
            return Ok(Vec::new());
        };
        let heard = view.get("show").and_then(Value::as_str) == Some("heard");
        let left_out: Vec<Seq> =
            view.get("left_out").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_i64).collect();
        let read = async |from: Seq, upto: Seq| {
            let query = Query {
                thread: Some(record.thread.clone()),
                show: if heard { Show::Heard } else { Show::Visible },
                after: Some(from - 1),
                before: Some(upto + 1),
                order: query::Order::Ascending,
                limit: u32::try_from(limit + left_out.len() as i64).unwrap_or(u32::MAX).max(1),
                ..Query::default()
            };
            self.store.events(space, &query).await
        };
        let mut events = match gap(view) {
            None => read(from, upto).await?,
            Some((begin, end)) => [read(from, begin).await?, read(end, upto).await?].concat(),
        };
        events.retain(|event| !left_out.contains(&event.seq));
        Ok(events)
    }

    async fn own_events(&self, space: &Space, thread: &ThreadId, view: &Value) -> Result<Vec<Event>, store::Error> {
        let seqs: Vec<Seq> =
            view.get("own").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_i64).collect();
        let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else { return Ok(Vec::new()) };
        let query = Query {
            thread: Some(thread.clone()),
            show: Show::All,
            after: Some(first - 1),
            before: Some(last + 1),
            order: query::Order::Ascending,
            limit: u32::try_from(last - first + 1).unwrap_or(u32::MAX),
            ..Query::default()
        };
        let mut events = self.store.events(space, &query).await?;
        events.retain(|event| seqs.contains(&event.seq));
        Ok(events)
    }

    async fn kept(&self, space: &Space, view: &Value, key: &str) -> Result<String, store::Error> {
        let Some(hash) = view.get(key).and_then(Value::as_str) else { return Ok(String::new()) };
        let blob = self.store.blob(space, hash).await?;
        Ok(blob.map(|blob| String::from_utf8_lossy(&blob.bytes).into_owned()).unwrap_or_default())
    }
}

impl Ready {
    /// The record of the call, after what is told of one in its place that was refused.
    pub fn records(&self, place: &Place, ended: &Ended, more: Value) -> Vec<Draft> {
        let mut records = self.before.clone();
        records.push(self.record(place, ended, more));
        records
    }

    /// What is told of a call that was refused for its length: its record, and that it is made again with half.
    fn refused(&self, place: &Place, look: &Look, ended: &Ended, failure: &Failure) -> Vec<Draft> {
        let half = look.bytes / 2;
        let text = format!(
            "{} was asked about {} bytes of the log, more than its model takes, and is asked again about at most {half}; set \
             history.bytes to what the model takes. {}",
            self.who,
            look.entries.iter().map(|entry| entry.written()).sum::<usize>(),
            failure.text
        );
        let detail = json!({ "module": self.who.to_string(), "bytes": half, "key": "history.bytes" });
        let failure = Failure::new(FailureKind::Model, text).retryable().with(detail);
        let record = self.record(place, ended, json!({ "last": false }));
        vec![record, Draft::failure(&place.thread, Some(place.turn), &Who::Core, &failure)]
    }

    /// The event that records the call: what it saw, what it cost, and `more` of what became of it.
    pub fn record(&self, place: &Place, ended: &Ended, more: Value) -> Draft {
        let mut record = self.record.clone();
        let ms = u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        record.insert("duration_ms".into(), ms.into());
        match ended {
            Ended::Answered(answer) => {
                let usage = answer.usage;
                record.insert("outcome".into(), "answered".into());
                record.insert("finish".into(), answer.finish.as_str().into());
                record.insert(
                    "usage".into(),
                    json!({
                        "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
                        "cached_tokens": usage.cached_tokens,
                    }),
                );
            }
            Ended::Failed(failure) => {
                // What a budget refuses was not asked.
                let outcome = if failure.kind == FailureKind::Budget { "refused" } else { "failed" };
                record.insert("outcome".into(), outcome.into());
                record.insert("failure".into(), failure.text.as_str().into());
            }
            Ended::Stopped => {
                record.insert("outcome".into(), "stopped".into());
            }
        }
        if let Value::Object(more) = more {
            record.extend(more);
        }
        Draft::call_record(&place.thread, place.turn, &self.who, Value::Object(record))
    }
}

fn too_late(who: &Who, ms: u64) -> Failure {
    Failure::new(FailureKind::Timeout, format!("{who} had no answer within {ms} ms")).retryable()
}

/// Between which two events a recorded view left some out.
fn gap(view: &Value) -> Option<(Seq, Seq)> {
    let seq = |index: usize| view.get("gap")?.get(index)?.as_i64();
    Some((seq(0)?, seq(1)?))
}

/// Who made a recorded call.
fn who(record: &Event) -> Who {
    let by = match record.fact() {
        Fact::Call(call) => call.by(),
        _ => None,
    };
    let who = match by {
        Some(By::Submodule(name)) => Name::parse(name).map(Who::Submodule).ok(),
        Some(By::Pipeline(name)) => Name::parse(name).map(Who::Pipeline).ok(),
        Some(By::Decision | By::Tool(_) | By::Core) | None => None,
    };
    who.unwrap_or(Who::Decision)
}
