//! `send`: a message to contacts, the parent or the thread itself. Success and failure are reported
//! for each recipient.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use crate::contacts::{SELF, nobody, resolve};
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::draft::Draft;
use thinkd_event::intent::Intent;
use thinkd_event::process::ErrorCode;
use thinkd_words::failure::{Failure, FailureKind, self_messages};

/// See the module.
pub struct Send(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[serde(deserialize_with = "one_or_more")]
    to: Vec<String>,
    text: String,
}

/// A list, or one name: models that send to one thread write it so.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(String),
        More(Vec<String>),
    }
    Ok(match Names::deserialize(deserializer)? {
        Names::One(name) => vec![name],
        Names::More(names) => names,
    })
}

impl Typed for Send {
    type Input = Input;
    const NAME: &'static str = "send";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/send.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;
    const ASKS_AGAIN: bool = false;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        if input.text.trim().is_empty() || input.to.is_empty() {
            let text = "send needs a recipient and a text that is not empty";
            return Err(Failure::new(FailureKind::Tool, text));
        }
        if let Some(refused) = self.refused(&input, site).await? {
            return Ok(refused);
        }
        let (mut to, mut sent, mut errors, mut texts) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for given in &input.to {
            match resolve(&self.0.store, site, given).await? {
                Some(thread) if to.contains(&thread) => {}
                Some(thread) => {
                    sent.push(given.clone());
                    to.push(thread);
                }
                None => {
                    let unknown = nobody(site, given);
                    errors.extend(unknown.drafts);
                    texts.extend(unknown.failure.map(|failure| failure.text));
                }
            }
        }
        let others = to.iter().filter(|to| **to != site.thread).count() as u64;
        let failure = (!texts.is_empty()).then(|| {
            let failed = texts.join("; ");
            let text = if sent.is_empty() {
                failed
            } else {
                format!("sent to {}; but {failed}", sent.join(", "))
            };
            Failure::new(FailureKind::Tool, text)
                .with(json!({ "sent": sent, "failed": texts.len() }))
        });
        let intent = (!to.is_empty()).then_some(Intent::Send {
            to,
            text: input.text,
        });
        let value = Some(json!({ "sent": sent }));
        Ok(Output {
            drafts: errors,
            value,
            failure,
            intent,
            sent: others,
            ..Output::default()
        })
    }
}

impl Send {
    /// The refusal, when the thread has sent too much on its own.
    async fn refused(&self, input: &Input, site: &CallSite) -> Result<Option<Output>, Failure> {
        let row = self.0.store.thread(&site.space, &site.thread).await?;
        let (sent, own) = row.map_or((0, 0), |row| {
            (u64::from(row.state.sends), u64::from(row.self_messages))
        });
        let to_itself = input
            .to
            .iter()
            .any(|to| to.trim() == SELF || to.trim() == site.thread.as_str());
        if to_itself && own >= self.0.budget.self_messages {
            return Err(self_messages(self.0.budget.self_messages));
        }
        let limit = self.0.budget.sends;
        if sent + input.to.len() as u64 <= limit {
            return Ok(None);
        }
        let text = format!(
            "not sent: the thread has sent {limit} messages to others, and may send no more before something comes from outside"
        );
        let given = input.to.join(", ");
        let error = Draft::thread_error(
            &site.thread,
            Some(site.turn),
            &given,
            ErrorCode::SendLimit,
            &text,
        );
        let failure = Failure::new(FailureKind::Budget, text)
            .with(json!({ "limit": limit, "key": "budget.sends" }));
        Ok(Some(Output::failed(vec![error], failure)))
    }
}
