//! What a chat can ask the server about beside talking: what was said before, which voices there are, what the last reply's call saw.

use serde::Deserialize;
use serde_json::Value;

use super::{Chat, MIND};
use crate::event::envelope::{Event, tag};
use crate::event::fact::Fact;
use crate::program::command::screen::Manner;
use crate::program::command::words::{what, who};

#[derive(Deserialize)]
struct Page {
    items: Vec<Event>,
}

#[derive(Deserialize)]
struct Submodules {
    items: Vec<Submodule>,
}

#[derive(Deserialize)]
struct Submodule {
    name: String,
    prompt: String,
}

/// What a model call saw, as far as it is shown.
#[derive(Deserialize)]
struct View {
    model: Option<String>,
    #[serde(default)]
    request: Value,
}

impl Chat {
    /// Shows the last things said in the thread, up to where following it begins.
    pub(super) async fn recall(&mut self, count: u32) -> anyhow::Result<()> {
        let tags = [tag::INPUT, tag::RESPONSE].map(|tag| ("tags", tag.to_owned()));
        let [thread, before] = [
            ("thread", self.thread.to_string()),
            ("before", (self.after + 1).to_string()),
        ];
        let query = [&tags[..], &[thread, before, ("limit", count.to_string())]].concat();
        let page: Page = match self.server.ask(&self.http, "/events", &query).await {
            Ok(page) => page,
            Err(error) => return self.not_answered(&error).await,
        };
        if page.items.is_empty() {
            self.notice("(nothing was said here yet)").await?;
            return Ok(());
        }
        for event in page.items.iter().rev() {
            if matches!(event.fact(), Fact::Reply(_)) {
                self.replied = Some(event.event_id);
                self.screen.show(Manner::Reply, MIND, event.text()).await?;
            } else {
                self.screen
                    .show(Manner::Input, &who(event), &what(event))
                    .await?;
            }
        }
        Ok(())
    }

    /// Shows who comments, and on what.
    pub(super) async fn submodules(&mut self) -> anyhow::Result<()> {
        let submodules: Submodules = match self.server.ask(&self.http, "/submodules", &[]).await {
            Ok(submodules) => submodules,
            Err(error) => return self.not_answered(&error).await,
        };
        if submodules.items.is_empty() {
            self.notice("(no voices: POST /submodules adds one)")
                .await?;
        }
        for Submodule { name, prompt } in submodules.items {
            self.screen
                .show(Manner::Thought, &name, prompt.trim())
                .await?;
        }
        Ok(())
    }

    /// Shows what the model saw before it gave the last reply: the very messages of the request.
    pub(super) async fn why(&mut self) -> anyhow::Result<()> {
        let Some(reply) = self.replied else {
            self.notice("(there is no reply yet)").await?;
            return Ok(());
        };
        let view: View = match self
            .server
            .ask(&self.http, &format!("/prompt-views/{reply}"), &[])
            .await
        {
            Ok(view) => view,
            Err(error) => return self.not_answered(&error).await,
        };
        let list = |name: &str| {
            view.request
                .get(name)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        for message in list("messages") {
            let role = message
                .get("role")
                .and_then(Value::as_str)
                .unwrap_or("message");
            self.screen
                .show(Manner::Thought, role, &content(&message))
                .await?;
        }
        let tools = list("tools");
        let names = tools
            .iter()
            .filter_map(|tool| tool.pointer("/function/name")?.as_str());
        let (model, names) = (
            view.model.as_deref().unwrap_or("a model"),
            names.collect::<Vec<_>>().join(", "),
        );
        self.notice(&format!(
            "({model} saw this, with the tools {names}; GET /prompt-views/{reply} is all of it)"
        ))
        .await?;
        Ok(())
    }

    pub(super) async fn not_answered(&mut self, error: &anyhow::Error) -> anyhow::Result<()> {
        Ok(self
            .screen
            .show(Manner::Alarm, "", &format!("{error:#}"))
            .await?)
    }
}

/// A message's text; of media, that they were there.
fn content(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let text = |part: &Value| {
                part.get("text")
                    .and_then(Value::as_str)
                    .map_or("[media]".to_owned(), str::to_owned)
            };
            parts.iter().map(text).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
