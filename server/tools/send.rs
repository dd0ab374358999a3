//! `send`: a message to contacts, the parent or the thread itself. Who of them got it, and who did not, is reported one by one.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::contacts::{SELF, nobody, resolve, unreadable};
use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::event::intent::Intent;
use crate::event::process::ErrorCode;
use crate::words::failure::{Failure, FailureKind, self_messages};

/// See the module.
pub struct Send;

/// Whom and what.
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

#[async_trait]
impl Typed for Send {
    type Input = Input;
    const NAME: &'static str = "send";
    const EFFECT: Effect = Effect::Events;
    const COUNTS: bool = true;
    const BRINGS_BACK: bool = false;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        if input.text.trim().is_empty() || input.to.is_empty() {
            return Err(Failure::new(FailureKind::Tool, "send needs a recipient and a text that is not empty"));
        }
        if let Some(refused) = over(&input, desk).await? {
            return Ok(refused);
        }
        let (mut to, mut sent, mut errors, mut texts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for given in &input.to {
            match resolve(desk, given).await? {
                Some(thread) if to.contains(&thread) => {}
                Some(thread) => {
                    sent.push(given.clone());
                    to.push(thread);
                }
                None => {
                    let (error, text) = nobody(desk, given);
                    errors.push(error);
                    texts.push(text);
                }
            }
        }
        let mut drafts = errors;
        if desk.immediate {
            drafts.extend(to.iter().map(|to| Draft::message(to, &desk.thread, &input.text)));
        }
        let others = to.iter().filter(|to| **to != desk.thread).count() as u64;
        let failure = (!texts.is_empty()).then(|| {
            let failed = texts.join("; ");
            let text = if sent.is_empty() { failed } else { format!("sent to {}; but {failed}", sent.join(", ")) };
            Failure::new(FailureKind::Tool, text).with(json!({ "sent": sent, "failed": texts.len() }))
        });
        let intent = (!to.is_empty()).then_some(Intent::Send { to, text: input.text });
        Ok(Output { drafts, value: Some(json!({ "sent": sent })), failure, intent, sent: others })
    }
}

/// The refusal, when the thread has sent too much on its own.
async fn over(input: &Input, desk: &Desk) -> Result<Option<Output>, Failure> {
    let row = desk.store.thread(&desk.space, &desk.thread).await.map_err(unreadable)?;
    let (sent, own) = row.map_or((0, 0), |row| (u64::from(row.standing.sends), u64::from(row.self_messages)));
    let to_itself = input.to.iter().any(|to| to.trim() == SELF || to.trim() == desk.thread.as_str());
    if to_itself && own >= desk.budget.self_messages {
        return Err(self_messages(desk.budget.self_messages));
    }
    let limit = desk.budget.sends;
    if sent + input.to.len() as u64 <= limit {
        return Ok(None);
    }
    let text = format!(
        "not sent: the thread has sent {limit} messages to others, and may send no more before something comes from outside \
         (budget.sends)"
    );
    let given = input.to.join(", ");
    let error = Draft::thread_error(&desk.thread, Some(desk.turn), &given, ErrorCode::SendLimit, &text);
    let failure = Failure::new(FailureKind::Budget, text).with(json!({ "limit": limit, "key": "budget.sends" }));
    Ok(Some(Output::failed(vec![error], failure)))
}
