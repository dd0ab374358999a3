//! The tools of sub-steps: what one says besides `send`, `connect`, `disconnect` and `set_wait` to fill a step, field by field.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::event::intent::{Intent, Operation};
use crate::words::failure::Failure;

/// `focus`: what to go on with.
pub struct Focus;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FocusInput {
    /// What to go on with.
    operation: Operation,
}

#[async_trait]
impl Typed for Focus {
    type Input = FocusInput;
    const NAME: &'static str = "focus";
    const EFFECT: Effect = Effect::Events;

    async fn run(input: FocusInput, _: &Desk) -> Result<Output, Failure> {
        Ok(Output::intent(Intent::Focus { operation: input.operation }, "so be it"))
    }
}

/// `note`: thinking aloud.
pub struct Note;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteInput {
    /// What you think.
    text: String,
}

#[async_trait]
impl Typed for Note {
    type Input = NoteInput;
    const NAME: &'static str = "note";
    const EFFECT: Effect = Effect::Events;

    async fn run(input: NoteInput, desk: &Desk) -> Result<Output, Failure> {
        let draft = Draft::decision_said(&desk.thread, desk.turn, &input.text);
        Ok(Output { drafts: vec![draft], value: Some(Value::from("noted")), ..Output::default() })
    }
}

/// Nothing to say.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// `sends_done`: those are all messages.
pub struct SendsDone;

#[async_trait]
impl Typed for SendsDone {
    type Input = Nothing;
    const NAME: &'static str = "sends_done";
    const EFFECT: Effect = Effect::Events;

    async fn run(_: Nothing, _: &Desk) -> Result<Output, Failure> {
        Ok(Output::intent(Intent::SendsDone, "no more messages in this step"))
    }
}

/// `contacts_done`: those are all changes of contacts.
pub struct ContactsDone;

#[async_trait]
impl Typed for ContactsDone {
    type Input = Nothing;
    const NAME: &'static str = "contacts_done";
    const EFFECT: Effect = Effect::Events;

    async fn run(_: Nothing, _: &Desk) -> Result<Output, Failure> {
        Ok(Output::intent(Intent::ContactsDone, "no more changes of contacts in this step"))
    }
}
