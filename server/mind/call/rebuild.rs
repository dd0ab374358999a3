//! The rebuilding of a recorded call: from its record, the log and the kept texts to the same request.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::sections::Around;
use super::summing::noted;
use super::{ModelClient, Question, Ready, TurnPlace, sections};
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::log::error::StoreError;
use crate::log::query::{Order, Query, Show};
use crate::model::prompt::Template;
use crate::model::provider::{Request, Schemas, Tier, ToolChoice, ToolSpec, ToolSpecs};
use crate::model::schema_form::FORM;
use crate::thread::history::{self, Block, Clock, Entry, Lengths, Omitted, Style, Summary};
use crate::thread::quota::Purse;
use crate::words::failure::{By, Who};
use crate::words::id::{Name, Seq, Space, ThreadId};
use crate::words::text::{Text, sha256};

/// What a recorded call was made of.
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
        let own = question
            .own
            .iter()
            .map(|event| Arc::new(Entry::of(event, style, &self.prompts)));
        let own = Vec::from_iter(own);
        let around = Around {
            corrections: &corrections,
            own: &own,
            now: now.as_deref().unwrap_or_default(),
        };
        let sections = sections::sections(&question, &summaries, &entries, &around);
        let input_tokens = call
            .get("usage")
            .and_then(|usage| usage.get("input_tokens"))
            .and_then(Value::as_u64);
        let asked = (&question, &question.system, now.as_deref());
        let request = Request {
            schemas: schemas(&view),
            ..self.request(&place, blocks, asked, media, style).await?
        };
        let prepared = self.model.prepare(&request);
        let exact = call.get("request_sha256").and_then(Value::as_str)
            == Some(&sha256(prepared.body.as_str().as_bytes()));
        let body: Value = serde_json::from_str(prepared.body.as_str()).unwrap_or_default();
        let recorded = |key: &str| call.get(key).cloned();
        Ok(json!({
            "call": record.event_id, "thread": record.thread, "module": recorded("module"), "purpose": recorded("purpose"),
            "model": recorded("model"), "usage": recorded("usage"), "exact": exact, "request": body,
            "sections": sections::shown(&sections, input_tokens),
        }))
    }

    /// Makes a recorded call ready once more, with another prompt in the place of the asker's of then: of the same model, and recorded as a call of `who`. None:
    /// its view cannot be made again, because the record is of no call that had a prompt, or because what it saw is gone.
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
        let Some(mut view) = call
            .get("view")
            .filter(|view| view.get("prompt").is_some_and(Value::is_string))
            .cloned()
        else {
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
        let prepared = self
            .model
            .prepare(&self.request(place, blocks, asked, media, style).await?);
        view["schemas"] = json!(FORM);
        view["thread"] = json!(thread_seen(record, &view));
        view["as"] = json!(question.who.to_string());
        view["prompt"] = json!(self.keep(&place.space, &Text::new(prompt)).await?);
        let record = Map::from_iter([
            ("purpose".to_owned(), Value::from("trial")),
            ("round".to_owned(), Value::from(0)),
            ("model".to_owned(), Value::from(prepared.model.as_str())),
            ("parameters".to_owned(), prepared.parameters.clone()),
            (
                "request_sha256".to_owned(),
                Value::from(sha256(prepared.body.as_str().as_bytes())),
            ),
            ("view".to_owned(), view),
        ]);
        Ok(Some(Ready {
            prepared,
            place: place.clone(),
            who: who.clone(),
            record,
            begin: Instant::now(),
            first_piece: OnceLock::new(),
            before: Vec::new(),
            // Nothing that it answers is run.
            offered: Vec::new().into(),
        }))
    }

    /// Whether the kept texts of a view, but for the prompt, and its media are there.
    async fn is_all_there(
        &self,
        space: &Space,
        view: &Value,
        blocks: &[Block],
    ) -> Result<bool, StoreError> {
        let texts = ["system", "tail", "tools"]
            .into_iter()
            .filter_map(|key| view.get(key).and_then(Value::as_str));
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
        let entry_bytes = if view.get("entry_bytes").is_some() {
            size("entry_bytes")
        } else {
            usize::MAX
        };
        let lengths = Lengths {
            event_chars: size("event_chars"),
            entry_bytes,
        };
        let zones = view.get("zones").and_then(Value::as_i64).unwrap_or(0);
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
        let entries = events
            .iter()
            .map(|event| Arc::new(Entry::of(event, style, &self.prompts)));
        let entries = history::refused(
            Vec::from_iter(entries),
            &seqs_of(view, "refused"),
            &self.prompts,
        );
        let entries = slice.of(&entries);
        let mut blocks =
            history::summed(&summaries, &entries, omitted, size("media"), &self.prompts);
        // What was said then, whatever became of it since.
        let corrections = view
            .get("corrections")
            .and_then(Value::as_str)
            .unwrap_or_default();
        blocks.push(Block::Text(corrections.to_owned()));
        let now = view.get("self").and_then(Value::as_str).map(str::to_owned);
        let (corrections, media) = (corrections.to_owned(), size("media"));
        Ok(Recorded {
            question,
            summaries,
            entries,
            corrections,
            now,
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
        let values = view
            .get("values")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let value = |pair: &Value| {
            Some((
                pair.get(0)?.as_str()?.to_owned(),
                pair.get(1)?.as_str()?.to_owned(),
            ))
        };
        let has_prompt = view.get("prompt").is_some_and(|prompt| !prompt.is_null());
        let tools: Vec<ToolSpec> =
            serde_json::from_str(&self.kept(space, view, "tools").await?).unwrap_or_default();
        let only = view.get("only").and_then(Value::as_str);
        Ok(Question {
            who: who(record, view),
            purpose: "",
            round: 0,
            system: Text::new(self.kept(space, view, "system").await?),
            tail: Template::parse(&self.kept(space, view, "tail").await?),
            values: values.filter_map(value).collect(),
            prompt: if has_prompt {
                Some(self.kept(space, view, "prompt").await?)
            } else {
                None
            },
            own: self
                .own_events(space, &thread_seen(record, view), view)
                .await?,
            tools: ToolSpecs::new(tools),
            choice: only.map_or(ToolChoice::Auto, |name| ToolChoice::Only(name.to_owned())),
            tier: if view.get("tier").and_then(Value::as_str) == Some("high") {
                Tier::High
            } else {
                Tier::Low
            },
        })
    }

    async fn recorded_events(
        &self,
        space: &Space,
        thread: &ThreadId,
        view: &Value,
    ) -> Result<Vec<Event>, StoreError> {
        let number = |key: &str| view.get(key).and_then(Value::as_i64);
        let (Some(from), Some(up_to), Some(limit)) =
            (number("from"), number("up_to"), number("events"))
        else {
            return Ok(Vec::new());
        };
        let heard = view.get("show").and_then(Value::as_str) == Some("heard");
        let left_out = seqs_of(view, "left_out");
        let read = async |from: Seq, up_to: Seq| {
            let query = Query {
                thread: Some(thread.clone()),
                show: if heard { Show::Heard } else { Show::Visible },
                after: Some(from - 1),
                before: Some(up_to + 1),
                order: Order::Ascending,
                limit: u32::try_from(limit + left_out.len() as i64)
                    .unwrap_or(u32::MAX)
                    .max(1),
                ..Query::default()
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
        thread: &ThreadId,
        view: &Value,
    ) -> Result<Vec<Event>, StoreError> {
        let seqs = seqs_of(view, "own");
        let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else {
            return Ok(Vec::new());
        };
        let query = Query {
            thread: Some(thread.clone()),
            show: Show::All,
            after: Some(first - 1),
            before: Some(last + 1),
            order: Order::Ascending,
            limit: u32::try_from(last - first + 1).unwrap_or(u32::MAX),
            ..Query::default()
        };
        let mut events = self.store.events(space, &query).await?;
        events.retain(|event| seqs.contains(&event.seq));
        Ok(events)
    }

    async fn kept(&self, space: &Space, view: &Value, key: &str) -> Result<String, StoreError> {
        let Some(hash) = view.get(key).and_then(Value::as_str) else {
            return Ok(String::new());
        };
        let blob = self.store.blob(space, hash).await?;
        Ok(blob
            .map(|blob| String::from_utf8_lossy(&blob.bytes).into_owned())
            .unwrap_or_default())
    }
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
    let seqs = view.get(key).and_then(Value::as_array);
    let seqs = seqs.into_iter().flatten();
    seqs.filter_map(Value::as_i64).collect()
}

/// Between which two events a recorded view left some out.
fn gap(view: &Value) -> Option<(Seq, Seq)> {
    let seq = |index: usize| view.get("gap")?.get(index)?.as_i64();
    Some((seq(0)?, seq(1)?))
}

/// The thread that a recorded call saw: its own, where it does not name another.
fn thread_seen(record: &Event, view: &Value) -> ThreadId {
    let other = view
        .get("thread")
        .and_then(Value::as_str)
        .and_then(|thread| ThreadId::parse(thread).ok());
    other.unwrap_or_else(|| record.thread.clone())
}

/// As whom a recorded call was made: the one who made it, where the view does not name another.
fn who(record: &Event, view: &Value) -> Who {
    let by = match record.fact() {
        Fact::Call(call) => view
            .get("as")
            .and_then(Value::as_str)
            .and_then(By::parse)
            .or_else(|| call.by()),
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
