//! Questions of a chat to the server beside talking: earlier messages, the voices, and the prompt
//! of the last reply.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{AGENT, Chat};
use crate::program::command::client::Page;
use crate::program::command::screen::Manner;
use crate::program::command::words::{what, who};
use thinkd_event::envelope::{Event, tag};
use thinkd_event::fact::Fact;

#[derive(Deserialize)]
struct Submodule {
    name: String,
    prompt: String,
}

/// The view of a model call, as far as it is shown.
#[derive(Deserialize)]
struct View {
    model: Option<String>,
    #[serde(default)]
    request: Value,
}

impl Chat {
    /// Shows the last things said in the thread, up to where following it begins.
    pub(super) async fn recall(&mut self, count: u32) -> anyhow::Result<()> {
        let query = [
            ("tags", tag::INPUT.to_owned()),
            ("tags", tag::RESPONSE.to_owned()),
            ("thread", self.thread.to_string()),
            ("before", (self.after + 1).to_string()),
            ("limit", count.to_string()),
        ];
        let Some(Page { items, .. }) = self.answer::<Page<Event>>("/events", &query).await? else {
            return Ok(());
        };
        if items.is_empty() {
            self.notice("(nothing was said here yet)").await?;
        }
        for event in items.iter().rev() {
            if matches!(event.fact(), Fact::Reply(_)) {
                self.replied = Some(event.event_id);
                self.screen.show(Manner::Reply, AGENT, event.text()).await?;
            } else {
                let who = who(event);
                let what = what(event);
                self.screen.show(Manner::Input, &who, &what).await?;
            }
        }
        Ok(())
    }

    /// Shows the voices, each with its prompt.
    pub(super) async fn submodules(&mut self) -> anyhow::Result<()> {
        let page: Option<Page<Submodule>> = self.answer("/submodules", &[]).await?;
        let Some(Page { items, .. }) = page else {
            return Ok(());
        };
        if items.is_empty() {
            let text = "(no submodules: POST /submodules adds one)";
            self.notice(text).await?;
        }
        for Submodule { name, prompt } in items {
            let prompt = prompt.trim();
            self.screen.show(Manner::Thought, &name, prompt).await?;
        }
        Ok(())
    }

    /// Shows the view of the model before it gave the last reply: the very messages of the request.
    pub(super) async fn why(&mut self) -> anyhow::Result<()> {
        let Some(reply) = self.replied else {
            self.notice("(there is no reply yet)").await?;
            return Ok(());
        };
        let path = format!("/prompt-views/{reply}");
        let Some(View { model, request }) = self.answer(&path, &[]).await? else {
            return Ok(());
        };
        for message in request["messages"].as_array().into_iter().flatten() {
            let role = message["role"].as_str().unwrap_or("message");
            let text = content(&message["content"]);
            self.screen.show(Manner::Thought, role, &text).await?;
        }
        let tools = request["tools"].as_array().into_iter().flatten();
        let names = tools.filter_map(|tool| tool["function"]["name"].as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        let model = model.as_deref().unwrap_or("a model");
        self.notice(&format!(
            "({model} saw this, with the tools {names}; GET /prompt-views/{reply} is all of it)"
        ))
        .await?;
        Ok(())
    }

    /// Returns the server's answer; none: it refused, which is shown.
    async fn answer<T: DeserializeOwned>(
        &mut self,
        path: &str,
        query: &[(&str, String)],
    ) -> anyhow::Result<Option<T>> {
        match self.server.ask(&self.http, path, query).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) => self.not_answered(&error).await.map(|()| None),
        }
    }

    pub(super) async fn not_answered(&mut self, error: &anyhow::Error) -> anyhow::Result<()> {
        let text = format!("{error:#}");
        self.screen.show(Manner::Alarm, "", &text).await
    }
}

/// A message's text; of media, that they were there.
fn content(content: &Value) -> String {
    let text = |part: &Value| part["text"].as_str().unwrap_or("[media]").to_owned();
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
