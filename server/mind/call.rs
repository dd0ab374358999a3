//! The model client makes one model call: from a view of the log to an answer and a record, from
//! which the call can be rebuilt byte for byte. Submodules and the decision choose the question and
//! the use of the answer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::OptionFuture;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::plain_words::PlainWords;
use recent::Recent;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::query::Show;
use thinkd_model::prompt::{Prompts, Template};
use thinkd_model::provider::{
    Answer, AskedModel, Content, Message, Model, Piece, Prepared, Request, Role, Schemas, Tier,
    ToolChoice, ToolSpecs,
};
use thinkd_model::refused_tools::RefusedTools;
use thinkd_model::schema_form::FORM;
use thinkd_thread::history::{self, Block, Entry, Omitted, Slice, Style};
use thinkd_thread::quota::Purse;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::text::Text;

pub use beside::Beside;
pub use prompt_view::PromptView;
pub use record::Ready;
pub use scope::Scope;
pub use self_block::Identity;
pub use summing::{Summing, ToSumUp};
pub use working::Working;

mod beside;
mod clock;
mod fits;
mod kept;
mod left_out;
mod offering;
mod pieces;
mod prompt_view;
mod rebuild;
mod recent;
mod record;
mod refused;
mod scope;
mod sections;
mod self_block;
mod summing;
mod whom;
mod working;

/// The place of a call.
#[derive(Debug, Clone)]
pub struct TurnPlace {
    /// The space.
    pub space: Space,
    /// The thread.
    pub thread: ThreadId,
    /// The turn.
    pub turn: u64,
    /// The purse that its calls draw on.
    pub purse: Purse,
}

impl TurnPlace {
    /// The event of a failure there.
    pub fn failure(&self, who: &Who, failure: &Failure) -> Draft {
        Draft::failure(&self.thread, Some(self.turn), who, failure)
    }
}

/// Everything about one call but the log.
#[derive(Debug, Clone)]
pub struct Question {
    /// The asker.
    pub who: Who,
    /// Why (`turn`, `follow-up`, `answer`, `decide`, `repair`); part of the record.
    pub purpose: &'static str,
    /// The number of the call among those of its kind in the turn, from 0.
    pub round: u64,
    /// The fixed instructions.
    pub system: Text,
    /// The text after the log.
    pub tail: Template,
    /// The values that are filled into `tail`.
    pub values: Vec<(String, String)>,
    /// The asker's own prompt, after the tail.
    pub prompt: Option<String>,
    /// The asker's own calls and results in this turn, last of all.
    pub own: Vec<Event>,
    /// The tools.
    pub tools: ToolSpecs,
    /// The tools that the model may or must call.
    pub choice: ToolChoice,
    /// The tier.
    pub tier: Tier,
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
        Self {
            at: Instant::now() + Duration::from_millis(ms),
            ms,
        }
    }

    /// Returns the later limit of a call that has waited in the queue of its model.
    fn later(&self, ready: &Ready) -> Result<Instant, Failure> {
        let waited = &ready.prepared.waited;
        waited.later(&ready.who, self.at, Duration::from_millis(self.ms))
    }
}

/// The end of a call.
#[derive(Debug)]
pub enum Ended {
    /// With an answer.
    Answered(Answer),
    /// With a failure.
    Failed(Failure),
    /// Stopped; the connection is closed.
    Stopped,
}

/// Asks a model in the name of threads.
pub struct ModelClient {
    store: Arc<dyn Store>,
    model: Arc<dyn Model>,
    prompts: Arc<Prompts>,
    options: history::Options,
    /// Models are told their identity and their mood.
    tells_self: bool,
    known: kept::StoredBlobs,
    recent: Recent,
    fits: fits::Fits,
    summed: summing::Kept,
    refused_tools: RefusedTools,
    clocks: clock::Clocks,
    plain_words: PlainWords,
}

impl ModelClient {
    /// A client on this store and model.
    pub fn new(
        store: Arc<dyn Store>,
        model: Arc<dyn Model>,
        prompts: Arc<Prompts>,
        options: history::Options,
    ) -> Self {
        Self {
            store,
            model,
            prompts,
            options,
            tells_self: false,
            known: Default::default(),
            recent: Default::default(),
            fits: Default::default(),
            summed: Default::default(),
            refused_tools: Default::default(),
            clocks: Default::default(),
            plain_words: Default::default(),
        }
    }

    /// Returns the same, that tells models their identity and their mood, or does not.
    #[must_use]
    pub fn telling_self(self, tells_self: bool) -> Self {
        Self { tells_self, ..self }
    }

    /// The models that it asks, with the habits learned of each.
    pub fn models(&self) -> Vec<AskedModel> {
        self.model.known()
    }

    /// The prompts it asks with.
    pub fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// Most bytes of the log in a prompt.
    pub const fn view_bytes(&self) -> usize {
        self.options.bytes
    }

    /// The store it reads.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the bytes of a view that an event takes at least.
    pub fn least(&self, event: &Event) -> usize {
        history::least(event, &self.options, &self.prompts)
    }

    /// Most bytes that the batch of a turn of this thread may take at least.
    pub fn batch_bytes(&self, thread: (&Space, &ThreadId)) -> usize {
        let fewest = self.fits.fewest(thread).unwrap_or(usize::MAX);
        self.options.bytes.min(fewest) / history::BATCH_PART
    }

    /// Events as views show them.
    fn written<'e>(
        &self,
        events: impl IntoIterator<Item = &'e Event>,
        style: Style<'_>,
    ) -> Vec<Arc<Entry>> {
        let entry = |event| Arc::new(Entry::of(event, style, &self.prompts));
        events.into_iter().map(entry).collect()
    }

    /// Makes a call ready and returns it: writes the view, and keeps the call's texts besides
    /// events.
    pub async fn prepare(
        &self,
        place: &TurnPlace,
        view: &PromptView,
        question: &Question,
    ) -> Result<Ready, StoreError> {
        let ((), block) =
            tokio::try_join!(place.purse.read(), self.self_block(place, view, question))?;
        let (system, now) = match &block {
            Some(block) => (&block.system, Some(block.now.as_str())),
            None => (&question.system, None),
        };
        let asked = (question, system, now);
        let media = self.options.media;
        let request = self.request(place, view.blocks.clone(), asked, media, view.style());
        let prepared = self.model.prepare(&request.await?);
        let prompt = question.prompt.as_deref().map(Text::new);
        let prompt = prompt
            .as_ref()
            .map(|prompt| self.keep(&place.space, prompt));
        // At once: one commit, where they are new.
        let (system, tail, tools, prompt) = tokio::try_join!(
            self.keep(&place.space, system),
            self.keep(&place.space, question.tail.source()),
            self.keep(&place.space, &question.tools.text),
            async { OptionFuture::from(prompt).await.transpose() },
        )?;
        let mut shown = json!({
            "renderer": history::RENDERER,
            "show": if view.window.show == Show::Heard { "heard" } else { "visible" },
            "from": view.entries.first().map(|entry| entry.seq),
            "up_to": view.entries.last().map(|entry| entry.seq),
            "events": view.entries.len(),
            "omitted": view.window.omitted,
            "media": media,
            "event_chars": view.lengths.event_chars,
            "entry_bytes": view.lengths.entry_bytes,
            "bytes": view.bytes,
            "system": system,
            "tail": tail,
            "values": question.values,
            "prompt": prompt,
            "own": question.own.iter().map(|event| event.seq).collect::<Vec<_>>(),
            "tools": tools,
            "schemas": FORM,
            "only": only(&question.choice),
            "tier": if question.tier == Tier::High { "high" } else { "low" },
        });
        let Slice { skip, upto } = view.slice;
        let refused = view.entries.iter().filter(|entry| entry.is_refused());
        let refused = Vec::from_iter(refused.map(|entry| entry.seq));
        let zones = view.clock.seq();
        let is_corrected = !view.corrections.is_empty();
        let listed = |seqs: &[Seq]| (!seqs.is_empty()).then(|| json!(seqs));
        let summaries = Vec::from_iter(view.summaries.iter().map(|summary| summary.seq));
        // Members that most calls have no use for.
        let more = [
            ("left_out", listed(&view.left_out)),
            ("corrections", is_corrected.then(|| json!(view.corrections))),
            ("gap", view.gap.map(|gap| json!(gap))),
            ("zones", (zones > 0).then(|| json!(zones))),
            ("self", now.map(|now| json!(now))),
            ("refused", listed(&refused)),
            ("summaries", listed(&summaries)),
            (
                "slice",
                (!view.slice.is_whole()).then(|| json!([skip, upto])),
            ),
        ];
        for (name, value) in more {
            if let Some(value) = value {
                shown[name] = value;
            }
        }
        let purpose = (question.purpose, question.round);
        Ok(Ready {
            offered: question.offered(),
            ..Ready::new(prepared, place, purpose, shown)
        })
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
        if let Err(failure) = ready.place.purse.take_call() {
            return Ended::Failed(failure);
        }
        let _working = ready.working(&self.store, until.ms);
        let prepared = Prepared {
            until: Some(until.at),
            ..ready.prepared.clone()
        };
        let mut pieces = self.model.ask(prepared);
        let late = tokio::time::sleep_until(until.at);
        tokio::pin!(late);
        loop {
            let piece = tokio::select! {
                biased;
                () = stop.cancelled() => return Ended::Stopped,
                () = &mut late => match until.later(ready) {
                    Ok(at) => {
                        late.as_mut().reset(at);
                        continue;
                    }
                    Err(failure) => return Ended::Failed(failure),
                },
                piece = pieces.next() => piece,
            };
            match piece {
                Some(Ok(Piece::End(answer))) => {
                    ready.place.purse.used(answer.usage.tokens());
                    return Ended::Answered(answer);
                }
                Some(Ok(piece)) => {
                    ready.first_piece.get_or_init(Instant::now);
                    on_piece(&piece);
                }
                Some(Err(failure)) => return Ended::Failed(failure),
                None => {
                    let text = format!("the answer for {} broke off", ready.who);
                    return Ended::Failed(Failure::new(FailureKind::Model, text).retryable());
                }
            }
        }
    }

    async fn request(
        &self,
        place: &TurnPlace,
        mut blocks: Vec<Block>,
        (question, system, now): (&Question, &Text, Option<&str>),
        media: usize,
        style: Style<'_>,
    ) -> Result<Request, StoreError> {
        let mut rest = format!("\n{}", question.task());
        if let Some(prompt) = &question.prompt {
            rest.push('\n');
            rest.push_str(prompt);
        }
        // Prompts and what is filled in are others' words, too.
        blocks.push(Block::Text(history::beside(&rest)));
        if !question.own.is_empty() {
            let head = self.prompts.submodule_own.source().as_str();
            blocks.push(Block::Text(format!("\n\n{head}\n")));
            let own = self.written(&question.own, style);
            blocks.extend(history::joined(
                &own,
                Omitted::default(),
                media,
                &self.prompts,
            ));
        }
        // Last of all, since it is what changes.
        blocks.extend(now.map(|now| Block::Text(history::beside(now))));
        let message = |role, content| Message { role, content };
        let system = vec![Content::Text(system.as_str().to_owned())];
        let user = self.contents(&place.space, blocks).await?;
        Ok(Request {
            space: place.space.clone(),
            thread: place.thread.clone(),
            module: question.who.clone(),
            tier: question.tier,
            messages: vec![message(Role::System, system), message(Role::User, user)],
            tools: question.tools.list.clone(),
            choice: question.choice.clone(),
            schemas: Schemas::Formed,
        })
    }

    /// Blocks as message content: neighbouring texts joined, media fetched. Media that is gone is left out: its line stays.
    async fn contents(
        &self,
        space: &Space,
        blocks: Vec<Block>,
    ) -> Result<Vec<Content>, StoreError> {
        let mut contents = Vec::new();
        for block in blocks {
            match block {
                Block::Text(more) => match contents.last_mut() {
                    Some(Content::Text(text)) => text.push_str(&more),
                    _ => contents.push(Content::Text(more)),
                },
                Block::Blob { sha256, mime } => {
                    let blob = self.store.blob(space, &sha256).await?;
                    contents.extend(blob.map(|blob| Content::Media {
                        mime,
                        bytes: blob.bytes,
                    }));
                }
            }
        }
        Ok(contents)
    }
}

/// The tools of which a model must call one, as the record of a call names them.
fn only(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => Value::Null,
        ToolChoice::Only(names) => match names.as_slice() {
            [name] => name.as_str().into(),
            names => json!(names),
        },
    }
}
