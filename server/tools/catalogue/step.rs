//! The tools of sub-steps, which fill a step field by field, besides `send`, `connect`,
//! `disconnect` and `set_wait`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::draft::Draft;
use thinkd_event::intent::{Intent, Operation};
use thinkd_words::failure::Failure;

/// `focus`: the operation to go on with.
pub struct Focus;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FocusInput {
    operation: Operation,
}

impl Typed for Focus {
    type Input = FocusInput;
    const NAME: &'static str = "focus";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/focus.md");
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, input: FocusInput, _: &CallSite) -> Result<Output, Failure> {
        Ok(Output::intent(
            Intent::Focus {
                operation: input.operation,
            },
            "so be it",
        ))
    }
}

/// `note`: thinking aloud.
pub struct Note;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteInput {
    text: String,
}

impl Typed for Note {
    type Input = NoteInput;
    const NAME: &'static str = "note";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/note.md");
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, input: NoteInput, site: &CallSite) -> Result<Output, Failure> {
        let draft = Draft::decision_said(&site.thread, site.turn, &input.text);
        Ok(Output::done(vec![draft], "noted"))
    }
}

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// `sends_done`: those are all messages.
pub struct SendsDone;

impl Typed for SendsDone {
    type Input = Nothing;
    const NAME: &'static str = "sends_done";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/sends_done.md");
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, _: Nothing, _: &CallSite) -> Result<Output, Failure> {
        Ok(Output::intent(
            Intent::SendsDone,
            "no more messages in this step",
        ))
    }
}

/// `contacts_done`: those are all changes of contacts.
pub struct ContactsDone;

impl Typed for ContactsDone {
    type Input = Nothing;
    const NAME: &'static str = "contacts_done";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/contacts_done.md");
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, _: Nothing, _: &CallSite) -> Result<Output, Failure> {
        Ok(Output::intent(
            Intent::ContactsDone,
            "no more changes of contacts in this step",
        ))
    }
}
