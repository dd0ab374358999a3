//! The rebuilding of a recorded call: from its record, the log and the kept texts to the same request.

use std::sync::Arc;

use serde_json::{Value, json};

use super::sections::Around;
use super::{ModelClient, Question, Ready, TurnPlace, sections};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_log::error::StoreError;
use thinkd_log::query::{Order, Query, Show};
use thinkd_model::prompt::Template;
use thinkd_model::provider::{Request, Schemas, Tier, ToolChoice, ToolSpec, ToolSpecs};
use thinkd_model::schema_form::FORM;
use thinkd_thread::history::{self, Block, Clock, Entry, Lengths, Omitted, Slice, Style, Summary};
use thinkd_thread::quota::Purse;
use thinkd_words::failure::{By, Who};
use thinkd_words::id::{Name, Seq, Space, ThreadId};
use thinkd_words::text::Text;

/// The parts of a recorded call.
struct Recorded {
    question: Question,
    summaries: Vec<Arc<Summary>>,
    entries: Vec<Arc<Entry>>,
    corrections: String,
    now: Option<String>,
    blocks: Vec<Block>,
    lengths: Lengths,
    clock: Clock,
    media: usize,
}

impl ModelClient {
    /// Makes the view of a recorded call anew. `exact`: its request is, byte for byte, the one that was sent.
    pub async fn rebuild(&self, space: &Space, record: &Event) -> Result<Value, StoreError> {
        let Fact::Call(call) = record.fact() else {
            return Ok(Value::Null);
        };
        let view = call.get("view").cloned().unwrap_or_default();
        let Recorded {
            question,
            summaries,
            entries,
            corrections,
            now,
            blocks,
            lengths,
            clock,
            media,
        } = self.recorded(space, record, &view).await?;
        let clock = &clock;
        let style = Style { lengths, clock };
        let place = TurnPlace {
            space: space.clone(),
            thread: record.thread.clone(),
            turn: record.turn().unwrap_or(0),
            purse: Purse::default(),
        };
        let around = Around {
            corrections: &corrections,
            own: &self.written(&question.own, style),
            now: now.as_deref().unwrap_or_default(),
        };
        let sections = sections::sections(&question, &summaries, &entries, &around);
        let usage = call.get("usage").and_then(|it| it.get("input_tokens"));
        let input_tokens = usage.and_then(Value::as_u64);
        let asked = (&question, &question.system, now.as_deref());
        let request = Request {
            schemas: schemas(&view),
            ..self.request(&place, blocks, asked, media, style).await?
        };
        let prepared = self.model.prepare(&request);
        let sent = call.get("request_sha256").and_then(Value::as_str);
        let exact = sent == Some(&prepared.sha256());
        let body: Value = serde_json::from_str(prepared.body.as_str()).unwrap_or_default();
        let recorded = |key: &str| call.get(key).cloned();
        Ok(json!({
            "call": record.event_id, "thread": record.thread, "module": recorded("module"), "purpose": recorded("purpose"),
            "model": recorded("model"), "usage": recorded("usage"), "exact": exact, "request": body,
            "sections": sections::shown(&sections, input_tokens),
        }))
    }

    /// Returns a recorded call, ready to be made once more, with another prompt in the place of the
    /// asker's of then. It is of the same model, and recorded as a call of `who`. None: its view
    /// cannot be made again, because the record is of no call that had a prompt, or because a part
    /// of the view is gone.
    pub async fn prepare_again(
        &self,
        place: &TurnPlace,
        record: &Event,
        prompt: &str,
        who: &Who,
    ) -> Result<Option<Ready>, StoreError> {
        let Fact::Call(call) = record.fact() else {
            return Ok(None);
        };
        let has_prompt = |view: &&Value| text(view, "prompt").is_some();
        let Some(mut view) = call.get("view").filter(has_prompt).cloned() else {
            return Ok(None);
        };
        place.purse.read().await?;
        let Recorded {
            mut question,
            now,
            blocks,
            lengths,
            clock,
            media,
            ..
        } = self.recorded(&place.space, record, &view).await?;
        if !self.is_all_there(&place.space, &view, &blocks).await? {
            return Ok(None);
        }
        question.prompt = Some(prompt.to_owned());
        let clock = &clock;
        let style = Style { lengths, clock };
        let asked = (&question, &question.system, now.as_deref());
        let request = self.request(place, blocks, asked, media, style).await?;
        view["schemas"] = json!(FORM);
        view["thread"] = json!(thread_seen(record, &view));
        view["as"] = json!(question.who.to_string());
        view["prompt"] = json!(self.keep(&place.space, &Text::new(prompt)).await?);
        Ok(Some(Ready {
            who: who.clone(),
            ..Ready::new(self.model.prepare(&request), place, ("trial", 0), view)
        }))
    }

    /// Returns true if the kept texts of a view, but for the prompt, and its media are there.
    async fn is_all_there(
        &self,
        space: &Space,
        view: &Value,
        blocks: &[Block],
    ) -> Result<bool, StoreError> {
        let texts = ["system", "tail", "tools"];
        let texts = texts.into_iter().filter_map(|key| text(view, key));
        let media = blocks.iter().filter_map(|block| match block {
            Block::Blob { sha256, .. } => Some(&**sha256),
            Block::Text(_) => None,
        });
        for hash in texts.chain(media) {
            if self.store.blob(space, hash).await?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn recorded(
        &self,
        space: &Space,
        record: &Event,
        view: &Value,
    ) -> Result<Recorded, StoreError> {
        let thread = thread_seen(record, view);
        let number = |key: &str| view.get(key).and_then(Value::as_u64).unwrap_or(0);
        let size = |key: &str| usize::try_from(number(key)).unwrap_or(usize::MAX);
        // Entries had no limit of their own once.
        let limit = view.get("entry_bytes").map(|_| size("entry_bytes"));
        let lengths = Lengths {
            event_chars: size("event_chars"),
            entry_bytes: limit.unwrap_or(usize::MAX),
        };
        let zones = seq(view, "zones").unwrap_or(0);
        let clock = self.clock(space).await?;
        let clock = clock.of_record(number("renderer"), zones);
        let style = Style {
            lengths,
            clock: &clock,
        };
        let events = self.recorded_events(space, &thread, view).await?;
        let question = self.recorded_question(space, record, view).await?;
        let omitted = Omitted {
            count: number("omitted"),
            gap: gap(view).map(|(_, end)| end),
        };
        let (seqs, slice) = noted(view);
        let summaries = self.written_summaries(space, &thread, &seqs).await?;
        let entries = self.written(&events, style);
        let entries = history::refused(entries, &seqs_of(view, "refused"), &self.prompts);
        let entries = slice.of(&entries);
        let media = size("media");
        let mut blocks = history::summed(&summaries, &entries, omitted, media, &self.prompts);
        // What was said then, whatever became of it since.
        let corrections = text(view, "corrections").unwrap_or_default().to_owned();
        blocks.push(Block::Text(corrections.clone()));
        Ok(Recorded {
            question,
            summaries,
            entries,
            corrections,
            now: text(view, "self").map(str::to_owned),
            blocks,
            lengths,
            clock,
            media,
        })
    }

    async fn recorded_question(
        &self,
        space: &Space,
        record: &Event,
        view: &Value,
    ) -> Result<Question, StoreError> {
        let said = |value: Option<&Value>| Some(value?.as_str()?.to_owned());
        let value = |pair: &Value| Some((said(pair.get(0))?, said(pair.get(1))?));
        let values = list(view, "values").filter_map(value);
        let has_prompt = view.get("prompt").is_some_and(|prompt| !prompt.is_null());
        let tools: Vec<ToolSpec> =
            serde_json::from_str(&self.kept(space, view, "tools").await?).unwrap_or_default();
        let only: Vec<String> = match &view["only"] {
            Value::String(name) => vec![name.clone()],
            names => serde_json::from_value(names.clone()).unwrap_or_default(),
        };
        Ok(Question {
            who: who(record, view),
            purpose: "",
            round: 0,
            system: Text::new(self.kept(space, view, "system").await?),
            tail: Template::parse(&self.kept(space, view, "tail").await?),
            values: values.collect(),
            prompt: match has_prompt {
                true => Some(self.kept(space, view, "prompt").await?),
                false => None,
            },
            own: self.own_events(space, record, view).await?,
            tools: ToolSpecs::new(tools),
            choice: match only.is_empty() {
                true => ToolChoice::Auto,
                false => ToolChoice::Only(only),
            },
            tier: match text(view, "tier") {
                Some("high") => Tier::High,
                _ => Tier::Low,
            },
        })
    }

    async fn recorded_events(
        &self,
        space: &Space,
        thread: &ThreadId,
        view: &Value,
    ) -> Result<Vec<Event>, StoreError> {
        let ends = ["from", "up_to", "events"].map(|key| seq(view, key));
        let [Some(from), Some(up_to), Some(count)] = ends else {
            return Ok(Vec::new());
        };
        let left_out = seqs_of(view, "left_out");
        let most = u32::try_from(count + left_out.len() as i64).unwrap_or(u32::MAX);
        let show = match text(view, "show") {
            Some("heard") => Show::Heard,
            _ => Show::Visible,
        };
        let read = async |from: Seq, up_to: Seq| {
            let query = Query {
                show,
                limit: most.max(1),
                ..between(thread, from, up_to)
            };
            self.store.events(space, &query).await
        };
        let mut events = match gap(view) {
            None => read(from, up_to).await?,
            Some((begin, end)) => [read(from, begin).await?, read(end, up_to).await?].concat(),
        };
        events.retain(|event| !left_out.contains(&event.seq));
        Ok(events)
    }

    async fn own_events(
        &self,
        space: &Space,
        record: &Event,
        view: &Value,
    ) -> Result<Vec<Event>, StoreError> {
        let seqs = seqs_of(view, "own");
        let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else {
            return Ok(Vec::new());
        };
        let query = Query {
            show: Show::All,
            limit: u32::try_from(last - first + 1).unwrap_or(u32::MAX),
            ..between(&thread_seen(record, view), *first, *last)
        };
        let mut events = self.store.events(space, &query).await?;
        events.retain(|event| seqs.contains(&event.seq));
        Ok(events)
    }

    async fn kept(&self, space: &Space, view: &Value, key: &str) -> Result<String, StoreError> {
        let Some(hash) = text(view, key) else {
            return Ok(String::new());
        };
        let bytes = self.store.blob(space, hash).await?.map(|blob| blob.bytes);
        Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
    }
}

/// Returns the query for events of a thread from one to another.
fn between(thread: &ThreadId, from: Seq, up_to: Seq) -> Query {
    Query {
        thread: Some(thread.clone()),
        after: Some(from - 1),
        before: Some(up_to + 1),
        order: Order::Ascending,
        ..Query::default()
    }
}

fn text<'v>(view: &'v Value, key: &str) -> Option<&'v str> {
    view.get(key).and_then(Value::as_str)
}

fn seq(view: &Value, key: &str) -> Option<Seq> {
    view.get(key).and_then(Value::as_i64)
}

fn list<'v>(view: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    let list = view.get(key).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// The manner in which a recorded call sent its schemas: records from before there was a form name none.
fn schemas(view: &Value) -> Schemas {
    match view.get("schemas") {
        Some(_) => Schemas::Formed,
        None => Schemas::AsTold,
    }
}

/// The positions that a recorded view keeps under a key.
fn seqs_of(view: &Value, key: &str) -> Vec<Seq> {
    list(view, key).filter_map(Value::as_i64).collect()
}

/// Returns the summaries of a recorded view, and the part that it showed of its first and last
/// entry.
fn noted(view: &Value) -> (Vec<Seq>, Slice) {
    let chars = |index: usize| view.get("slice")?.get(index)?.as_u64();
    let slice = Slice {
        skip: chars(0).unwrap_or(0),
        upto: chars(1),
    };
    (seqs_of(view, "summaries"), slice)
}

/// Between which two events a recorded view left some out.
fn gap(view: &Value) -> Option<(Seq, Seq)> {
    let seq = |index: usize| view.get("gap")?.get(index)?.as_i64();
    Some((seq(0)?, seq(1)?))
}

/// The thread that a recorded call saw: its own, where it does not name another.
fn thread_seen(record: &Event, view: &Value) -> ThreadId {
    let other = text(view, "thread").and_then(|thread| ThreadId::parse(thread).ok());
    other.unwrap_or_else(|| record.thread.clone())
}

/// Returns the asker of a recorded call: its maker, where the view does not name another.
fn who(record: &Event, view: &Value) -> Who {
    let by = match record.fact() {
        Fact::Call(call) => text(view, "as").and_then(By::parse).or_else(|| call.by()),
        _ => None,
    };
    let who = match by {
        Some(By::Submodule(name)) => Name::parse(name).map(Who::Submodule).ok(),
        Some(By::Pipeline(name)) => Name::parse(name).map(Who::Pipeline).ok(),
        Some(By::Mission(node)) => Name::parse(node).map(Who::Mission).ok(),
        Some(By::Trial) => Some(Who::Trial),
        Some(By::Summary) => Some(Who::Summary),
        Some(By::Decision | By::Tool(_) | By::Core) | None => None,
    };
    who.unwrap_or(Who::Decision)
}
