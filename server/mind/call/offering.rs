//! A call that offers tools: those that the model's provider refused lately are left out. Where it refuses one now, the call is
//! made again at once without it, and the thread is told.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Ended, ModelClient, PromptView, Question, Ready, TurnPlace, Until};
use thinkd_event::draft::Draft;
use thinkd_log::error::StoreError;
use thinkd_model::provider::{Piece, ToolChoice, ToolSpec, ToolSpecs};
use thinkd_model::refused_tools::{self, RefusedTools};
use thinkd_words::failure::{Failure, FailureKind, Who};

/// The tool without which there is no answer.
const REPLY: &str = "reply";

/// Most times that a call is made again without a tool.
const AGAIN_MAX: usize = 32;

/// A tool that the provider refused, and its words.
type Refused = (ToolSpec, Failure);

impl ModelClient {
    /// The tools that providers refused lately.
    pub fn refused_tools(&self) -> &RefusedTools {
        &self.refused_tools
    }

    /// Makes a call ready and makes it.
    pub(super) async fn ask_offering(
        &self,
        (place, view): (&TurnPlace, &PromptView),
        mut question: Question,
        (until, stop): (Until, &CancellationToken),
        on_piece: &mut (dyn FnMut(&Piece) + Send),
    ) -> Result<(Ready, Ended), StoreError> {
        let model = self.model.asked(&question.who, question.tier);
        let choice = question.choice.clone();
        let is_kept = |tool: &str| is_kept(&choice, tool);
        question.tools = self.refused_tools.offered(&model, &question.tools, is_kept);
        let mut refused: Vec<Refused> = Vec::new();
        let mut before = Vec::new();
        loop {
            let mut ready = self.prepare(place, view, &question).await?;
            let ended = self.ask(&ready, until, stop, &mut *on_piece).await;
            if let Ended::Failed(failure) = &ended
                && refused.len() < AGAIN_MAX
                && let Some((left, gone)) = without(&question, failure)
            {
                before.push(ready.record(place, &ended, json!({ "last": false })));
                refused.extend(gone.into_iter().map(|tool| (tool, failure.clone())));
                question.tools = left;
                continue;
            }
            // A request that is refused without them as well was not refused for their sake.
            if !is_refused(&ended) {
                before.extend(self.learn(place, &model, &refused));
            }
            ready.before = before;
            return Ok((ready, ended));
        }
    }

    /// Remembers the refused tools. Returns the failures that tell of new ones.
    fn learn(&self, place: &TurnPlace, model: &str, refused: &[Refused]) -> Vec<Draft> {
        let new = refused
            .iter()
            .filter(|(tool, words)| self.refused_tools.learn(model, tool, words));
        let told = |(tool, words): &Refused| {
            let text = format!(
                "the tool {} is not offered to this model any more, until what is said of it changes: its provider refused it. {}",
                tool.name, words.text
            );
            let failure = Failure::new(FailureKind::Tool, text)
                .with(json!({ "reason": "refused_by_provider", "tool": tool.name }));
            let who = Who::Tool(tool.name.clone());
            place.failure(&who, &failure)
        };
        new.map(told).collect()
    }
}

/// Keeps a tool although it was refused: without it there is no answer.
fn is_kept(choice: &ToolChoice, tool: &str) -> bool {
    tool == REPLY || matches!(choice, ToolChoice::Only(only) if only.iter().any(|it| it == tool))
}

/// The tools of a question without those that a failure names, and those; none where it names none that can be left out.
fn without(question: &Question, failure: &Failure) -> Option<(ToolSpecs, Vec<ToolSpec>)> {
    let named = refused_tools::of(failure);
    let named = Vec::from_iter(named.filter(|name| !is_kept(&question.choice, name)));
    let tools = question.tools.list.iter().cloned();
    let (gone, left): (Vec<ToolSpec>, _) =
        tools.partition(|tool| named.contains(&tool.name.as_str()));
    (!gone.is_empty()).then(|| (ToolSpecs::new(left), gone))
}

/// True for a request that the provider refused as it was.
fn is_refused(ended: &Ended) -> bool {
    let Ended::Failed(failure) = ended else {
        return false;
    };
    let status = failure.detail["status"].as_u64();
    refused_tools::of(failure).next().is_some() || matches!(status, Some(400 | 422))
}
