//! The model that a call goes to, and the tools that it may call.

use std::sync::Arc;

use super::{ModelClient, Question, TurnPlace};
use crate::plain_words::PlainWords;
use thinkd_model::habits::Habit;
use thinkd_model::provider::{Request, Schemas, Tier, ToolChoice, ToolSpec};
use thinkd_words::failure::Who;

impl Question {
    /// The task that follows the log, filled in.
    pub(super) fn task(&self) -> String {
        let values = self.values.iter();
        let values = Vec::from_iter(values.map(|(name, value)| (&**name, &**value)));
        self.tail.fill(&values)
    }

    /// The tools that the model may call.
    pub(super) fn offered(&self) -> Arc<[ToolSpec]> {
        match &self.choice {
            ToolChoice::Auto => self.tools.list.clone(),
            ToolChoice::Only(names) => {
                let tools = self.tools.list.iter();
                let only = tools.filter(|tool| names.contains(&tool.name));
                only.cloned().collect()
            }
        }
    }
}

impl ModelClient {
    /// The meaning of the words of its models, as it was learned.
    pub fn plain_words(&self) -> &PlainWords {
        &self.plain_words
    }

    /// The number of tools that the model takes, where its provider refused more.
    pub fn tools_most(&self, module: &Who, tier: Tier) -> Option<usize> {
        let name = self.model.asked(module, tier);
        let models = self.model.known().into_iter().filter(|it| it.name == name);
        let learned = models.flat_map(|model| model.learned);
        let most = learned.filter_map(|it| match it.habit {
            Habit::TakesTools(most) => Some(most),
            _ => None,
        });
        most.min()
    }

    /// The name of the model that would be asked.
    pub fn model_of(&self, place: &TurnPlace, module: Who, tier: Tier) -> String {
        let request = Request {
            space: place.space.clone(),
            thread: place.thread.clone(),
            module,
            tier,
            messages: Vec::new(),
            tools: Vec::new().into(),
            choice: ToolChoice::Auto,
            schemas: Schemas::Formed,
        };
        self.model.prepare(&request).model
    }
}
