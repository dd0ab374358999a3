//! Calls beside the turns: a text that is none of the log's, for a person or a client. The record of
//! such a call says its cost, and not its words.

use serde_json::json;

use super::{ModelClient, Ready, TurnPlace};
use thinkd_log::error::StoreError;
use thinkd_model::provider::{Content, Message, Request, Role, Schemas, Tier, ToolChoice};
use thinkd_words::failure::Who;

/// A question beside the turns.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    /// Why; part of the record.
    pub purpose: &'static str,
    /// The fixed instructions.
    pub system: &'a str,
    /// The text that they are about.
    pub user: &'a str,
}

impl ModelClient {
    /// Returns a call of the tier `low` that is made beside the turns of a thread.
    pub async fn prepare_beside(
        &self,
        place: &TurnPlace,
        asked: Beside<'_>,
    ) -> Result<Ready, StoreError> {
        place.purse.read().await?;
        let message = |(role, text): (Role, &str)| Message {
            role,
            content: vec![Content::Text(text.to_owned())],
        };
        let messages = [(Role::System, asked.system), (Role::User, asked.user)];
        let said = messages.into_iter().filter(|(_, text)| !text.is_empty());
        let request = Request {
            space: place.space.clone(),
            thread: place.thread.clone(),
            module: Who::Core,
            tier: Tier::Low,
            messages: said.map(message).collect(),
            tools: Vec::new().into(),
            choice: ToolChoice::Auto,
            schemas: Schemas::Formed,
        };
        let prepared = self.model.prepare(&request);
        Ok(Ready::new(prepared, place, (asked.purpose, 0), json!({})))
    }
}
