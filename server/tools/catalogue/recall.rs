//! `recall`: finds memories that are held and relevant. Its result is in the log, and is no claim:
//! `remember` of the same joins the statement that is there.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed, refused};
use thinkd_recall::finder::{Error, Found, HITS_MAX, QUESTION_MAX, Question, Recall as Finder};
use thinkd_recall::held::Memory;
use thinkd_recall::memories;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::Space;

/// See the module.
pub struct Recall {
    recall: Arc<Finder>,
}

impl Recall {
    pub(super) fn new(supplies: &Supplies) -> Self {
        Self {
            recall: supplies.recall.clone(),
        }
    }
}

/// Hits of a call that does not say how many.
const HITS: u32 = 8;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    query: String,
    limit: Option<u32>,
    // The prompt says which there are: their schema would be sent with every call.
    #[serde(rename = "in")]
    #[schemars(with = "Option<Vec<String>>")]
    among: Option<Vec<Memory>>,
}

impl Recall {
    /// The statements, if they are asked for, and the rest, if any of it is.
    async fn found(
        &self,
        space: &Space,
        question: &Question,
        among: &[Memory],
    ) -> Result<Output, Error> {
        let found = match among.contains(&Memory::Statements) {
            true => self.recall.recall_for_models(space, question).await?,
            false => Found::default(),
        };
        let recalled = found.statements();
        let mut told = found.told();
        if among.iter().any(|memory| *memory != Memory::Statements) {
            let (others, _) = self.recall.others(space, question, among).await?;
            told["others"] = memories::told(&others);
        }
        Ok(Output {
            recalled,
            ..Output::value(told)
        })
    }
}

impl Typed for Recall {
    type Input = Input;
    const NAME: &'static str = "recall";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/recall.md");
    const EFFECT: Effect = Effect::Repeatable;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let text = input.query;
        if text.trim().is_empty() {
            return Err(refused("the query says nothing".to_owned(), "empty-input"));
        }
        let count = text.chars().count();
        if count > QUESTION_MAX {
            let text =
                format!("a query has at most {QUESTION_MAX} characters; this one has {count}");
            return Err(refused(text, "text-too-large"));
        }
        let question = Question {
            text,
            limit: input.limit.unwrap_or(HITS).clamp(1, HITS_MAX) as usize,
            ..Question::default()
        };
        let among = input.among.filter(|among| !among.is_empty());
        let among = among.unwrap_or_else(|| vec![Memory::Statements]);
        let found = self.found(&site.space, &question, &among).await;
        found.map_err(|error| match error {
            Error::Store(_) => Failure::new(FailureKind::Store, error.to_string()).retryable(),
            _ => refused(error.to_string(), "recall"),
        })
    }
}
