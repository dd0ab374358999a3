//! The means of a pipeline: the log, and a model to ask. Every call of the model leaves its record
//! in the run's thread.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use thinkd_event::envelope::Event;
use thinkd_event::fact::run::RunKey;
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::query::Query;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::call::{Ended, ModelClient, PromptView, Question, Ready, TurnPlace, Until};
use thinkd_model::prompt::{Prompts, Template};
use thinkd_model::provider::{Answer, Tier, ToolChoice, ToolSpecs};
use thinkd_thread::quota::Purse;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::text::Text;

/// The server, for the nodes of one run. Cheap to clone; given to nodes as an argument.
#[derive(Clone)]
pub struct Host(Arc<Parts>);

/// The same for all nodes of a run: nothing that a journal would have to compare.
impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

/// The parts of a host: all that a run gets.
pub struct Parts {
    /// The model and the log.
    pub client: Arc<ModelClient>,
    /// The run.
    pub run: RunKey,
    /// Its space.
    pub space: Space,
    /// Longest time of one answer of a model, in milliseconds.
    pub ask_ms: u64,
    /// The budget that calls draw on.
    pub purse: Purse,
    /// The tasks in which calls end that their run no longer waits for.
    pub beside: TaskTracker,
    /// Ends the calls that are under way.
    pub stop: CancellationToken,
}

impl Host {
    /// The server for the nodes of a run.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    fn store(&self) -> &dyn Store {
        &**self.0.client.store()
    }

    /// The prompts that come with the server.
    pub fn prompts(&self) -> &Prompts {
        self.0.client.prompts()
    }

    /// A thread's row.
    pub async fn thread(&self, thread: &ThreadId) -> Result<ThreadRow, Failure> {
        let row = self
            .store()
            .thread(&self.0.space, thread)
            .await
            .map_err(failed)?;
        row.ok_or_else(|| wrong(format!("there is no thread {thread}")))
    }

    /// A page of the log.
    pub async fn events(&self, query: &Query) -> Result<Vec<Event>, Failure> {
        self.store()
            .events(&self.0.space, query)
            .await
            .map_err(failed)
    }

    /// Asks a model to do something with a text. When no caller waits any more, the call is
    /// stopped.
    pub async fn ask(&self, tier: Tier, instructions: &str, text: &str) -> Result<String, Failure> {
        let answer = self
            .answer(self.ready(tier, instructions, text).await?)
            .await?;
        let words = answer.whole_words()?;
        if words.trim().is_empty() {
            return Err(Failure::new(FailureKind::Model, "the model answered nothing").retryable());
        }
        Ok(words.to_owned())
    }

    /// Makes the call of this record once more, with another prompt in the place of its asker's.
    /// The answer is not acted on.
    pub async fn ask_again(&self, record: Uuid, prompt: &str) -> Result<Answer, Failure> {
        let gone = || wrong(format!("there is no record of a model call {record}"));
        let event = self
            .store()
            .event(&self.0.space, record)
            .await
            .map_err(failed)?
            .ok_or_else(gone)?;
        let who = self.0.run.who();
        let ready = self
            .0
            .client
            .prepare_again(&self.place(), &event, prompt, &who)
            .await
            .map_err(failed)?;
        let unmade = || {
            wrong(format!(
                "what the call {record} saw cannot be shown again: some of it is gone"
            ))
        };
        self.answer(ready.ok_or_else(unmade)?).await
    }

    async fn answer(&self, ready: Ready) -> Result<Answer, Failure> {
        let stop = self.0.stop.child_token();
        let _stopped_when_dropped = stop.clone().drop_guard();
        // A task of its own: a call that is stopped has cost something, too, and leaves its record.
        let ended = self.0.beside.spawn(self.clone().call(ready, stop)).await;
        match ended
            .unwrap_or_else(|broke| Err(Failure::new(FailureKind::Internal, broke.to_string())))?
        {
            Ended::Answered(answer) => Ok(answer),
            Ended::Failed(failure) => Err(failure),
            // The run is being dropped, perhaps to go on elsewhere: this must not be taken for a node's failure.
            Ended::Stopped => std::future::pending().await,
        }
    }

    async fn call(self, ready: Ready, stop: CancellationToken) -> Result<Ended, Failure> {
        let ended = self
            .0
            .client
            .ask(&ready, Until::ms(self.0.ask_ms), &stop, |_| {})
            .await;
        let record = ready.record(&self.place(), &ended, json!({ "run": self.0.run.id }));
        let append = Append::free(&self.0.space, vec![record]);
        self.store().append(append).await.map_err(failed)?;
        Ok(ended)
    }

    async fn ready(&self, tier: Tier, instructions: &str, text: &str) -> Result<Ready, Failure> {
        let question = Question {
            who: self.0.run.who(),
            purpose: "node",
            round: 0,
            system: Text::new(instructions),
            tail: Template::parse(""),
            values: Vec::new(),
            prompt: Some(text.to_owned()),
            own: Vec::new(),
            tools: ToolSpecs::new(Vec::new()),
            choice: ToolChoice::Auto,
            tier,
        };
        // What it sees of the log is in the text: the view itself holds no event.
        let view = PromptView::of_nothing(self.thread(&self.0.run.thread()).await?);
        self.0
            .client
            .prepare(&self.place(), &view, &question)
            .await
            .map_err(failed)
    }

    /// A run is its thread's only turn.
    fn place(&self) -> TurnPlace {
        let Parts {
            space, run, purse, ..
        } = &*self.0;
        TurnPlace {
            space: space.clone(),
            thread: run.thread(),
            turn: 1,
            purse: purse.clone(),
        }
    }
}

fn wrong(text: String) -> Failure {
    Failure::new(FailureKind::Node, text)
}

fn failed(error: StoreError) -> Failure {
    Failure::new(FailureKind::Store, error.to_string()).retryable()
}
