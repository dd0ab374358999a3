//! `remember`: claims something for the world model. The call only claims: a trial tests it, beside the conversation (`event/trial.rs`).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::event::condition::{Condition, Room};
use crate::event::draft::Draft;
use crate::event::envelope::Source as From;
use crate::event::statement::{
    Claim, Claimant, PREMISES_MAX, SENTENCE_MAX, STATEMENT_MAX, Source, spaced,
};
use crate::log::kernel::Store;
use crate::log::query::{Order, Query, Show};
use crate::tools::contacts::unreadable;
use crate::tools::supplies::Supplies;
use crate::tools::tool::{CallSite, Effect, Output, Typed};
use crate::words::failure::{Failure, FailureKind};
use crate::words::id;

/// See the module.
pub struct Remember {
    store: Arc<dyn Store>,
    /// Most claims of a space that wait for their trial.
    waiting: u32,
}

impl Remember {
    pub(super) fn new(supplies: &Supplies) -> Self {
        Self {
            store: supplies.store.clone(),
            waiting: supplies.limits.claims,
        }
    }

    /// Who claims it: the person whose words the turn goes back to, or, of what goes back to nobody's words, the mind itself.
    async fn source(&self, site: &CallSite, quote: Option<String>) -> Result<Source, Failure> {
        let Some(root) = site.so_far.purse.root() else {
            return match quote {
                None => Ok(Source {
                    by: Claimant::Mind,
                    seqs: Vec::new(),
                    quote: None,
                }),
                Some(_) => Err(invalid(
                    "quote: this turn goes back to nobody's words",
                    "quote-not-found",
                )),
            };
        };
        let (after, before) = (Some(root - 1), Some(root + 1));
        let query = Query {
            after,
            before,
            show: Show::All,
            order: Order::Ascending,
            limit: 1,
            ..Query::default()
        };
        let events = self
            .store
            .events(&site.space, &query)
            .await
            .map_err(unreadable)?;
        let by = match events.first() {
            Some(event) if event.source == From::User => Claimant::User {
                name: event
                    .payload
                    .get("user")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            },
            _ => Claimant::Mind,
        };
        let said = events
            .first()
            .map(|event| spaced(event.text()))
            .unwrap_or_default();
        if quote
            .as_ref()
            .is_some_and(|quote| !said.contains(&spaced(quote)))
        {
            let text =
                format!("quote: these words do not stand in event {root}, where it comes from");
            return Err(invalid(text, "quote-not-found"));
        }
        Ok(Source {
            by,
            seqs: vec![root],
            quote,
        })
    }
}

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    statement: String,
    quote: Option<String>,
    derived_from: Option<Vec<String>>,
}

impl Typed for Remember {
    type Input = Input;
    const NAME: &'static str = "remember";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/remember.md");
    const EFFECT: Effect = Effect::Events;
    // Others claim at the same time: how many wait is told by what is stored.
    const READS_ROWS: bool = true;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let Input {
            statement,
            quote,
            derived_from,
        } = input;
        let (text, premises) = (
            statement.trim().to_owned(),
            derived_from.unwrap_or_default(),
        );
        let count = text.chars().count();
        if count == 0 {
            return Err(invalid("the statement says nothing", "empty-input"));
        }
        if count > STATEMENT_MAX {
            let text =
                format!("a statement has at most {STATEMENT_MAX} characters; this one has {count}");
            return Err(invalid(text, "text-too-large"));
        }
        if premises.len() > PREMISES_MAX {
            let text = format!("a statement is derived from {PREMISES_MAX} others at most");
            return Err(invalid(text, "invalid_arguments"));
        }
        for premise in &premises {
            if self
                .store
                .statement(&site.space, premise)
                .await
                .map_err(unreadable)?
                .is_none()
            {
                return Err(invalid(
                    format!("derived_from: there is no statement {premise}"),
                    "invalid_arguments",
                ));
            }
        }
        let quote = quote
            .map(|quote| quote.trim().to_owned())
            .filter(|quote| !quote.is_empty());
        if quote
            .as_ref()
            .is_some_and(|quote| quote.chars().count() > SENTENCE_MAX)
        {
            return Err(invalid(
                format!("a quote has at most {SENTENCE_MAX} characters"),
                "text-too-large",
            ));
        }
        let room = self
            .store
            .room_for_claim(&site.space, self.waiting)
            .await
            .map_err(unreadable)?;
        if room == Room::None {
            let text = format!(
                "{} claims wait for their trial already (memory.waiting): claim it later",
                self.waiting
            );
            return Err(invalid(text, "too-many-claims"));
        }
        let id = id::fresh();
        let claim = Claim {
            text,
            source: self.source(site, quote).await?,
            premises,
            root: site.so_far.purse.root(),
        };
        let value = json!({ "statement": id, "status": "proposed", "note": "it is tested, and held only if it survives" });
        let mut drafts = Draft::claimed(&site.thread, id, claim);
        drafts[0]
            .conditions
            .extend((room == Room::Scarce).then_some(Condition::FewerWaiting(self.waiting)));
        Ok(Output {
            drafts: drafts.into(),
            ..Output::value(value)
        })
    }
}

fn invalid(text: impl Into<String>, reason: &str) -> Failure {
    Failure::new(FailureKind::Tool, text).with(json!({ "reason": reason }))
}
