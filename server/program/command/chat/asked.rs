//! The requests of the mind to people in a chat: it shows waiting tool calls and questions as they
//! come. A person answers them by commands. Plain input is never a verdict.

use serde_json::Value;

use super::Chat;
use crate::program::command::screen::Manner;
use crate::program::command::waiting::{Kind, Waiting, Word};
use thinkd_event::envelope::Event;

impl Chat {
    /// Shows a request that has come.
    pub(super) async fn show_request(&mut self, kind: Kind, event: &Event) -> anyhow::Result<()> {
        let mut waiting = Waiting::new(kind, Value::Object(event.payload.clone()));
        (waiting.thread, waiting.since) = (event.thread.to_string(), Some(event.ts));
        self.show_waiting(&waiting, &[]).await
    }

    async fn show_waiting(&mut self, waiting: &Waiting, among: &[Waiting]) -> anyhow::Result<()> {
        let handle = waiting.handle(among);
        let mut lines = vec![waiting.about()];
        lines.extend(waiting.diff().map(|diff| diff.trim_end().to_owned()));
        lines.push(match waiting.kind {
            Kind::Approval => {
                format!(
                    "/approve {handle}, /reject {handle} WHY or /respond {handle} RESULT ({})",
                    waiting.times()
                )
            }
            Kind::Question => format!("/answer {handle} ANSWER ({})", waiting.times()),
        });
        if let Some(choices) = waiting.asked.get("choices").and_then(Value::as_array) {
            let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
            lines.insert(1, format!("one of: {}", choices.join(", ")));
        }
        self.screen
            .show(Manner::Input, waiting.kind.as_str(), &lines.join("\n"))
            .await
    }

    /// Shows the requests that wait in the thread. An empty list is told only if the person asked.
    pub(super) async fn inbox(&mut self, is_asked: bool) -> anyhow::Result<()> {
        let waiting = self.server.waiting(&self.http, Some(self.thread.as_str()));
        let all = match waiting.await {
            Ok(all) => all,
            // A server of before knows nothing of this.
            Err(_) if !is_asked => return Ok(()),
            Err(error) => return self.not_answered(&error).await,
        };
        if all.is_empty() && is_asked {
            self.notice("(nothing waits for a person here; `thinkd inbox` shows all threads)")
                .await?;
        }
        for waiting in &all {
            self.show_waiting(waiting, &all).await?;
        }
        Ok(())
    }

    /// Takes the text of a command to the request that it names.
    pub(super) async fn tell(&mut self, command: &str, rest: &str) -> anyhow::Result<bool> {
        let rest = rest.trim();
        let (id, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let text = text.trim();
        let (word, why) = match command {
            "/approve" if text.is_empty() => (Word::Approve(None), None),
            "/reject" => (Word::Reject, Some(text).filter(|text| !text.is_empty())),
            "/respond" if !text.is_empty() => (Word::Respond(text.to_owned()), None),
            "/answer" if !text.is_empty() => (Word::Answer(text.to_owned()), None),
            "/approve" => return self.notice("(/approve takes an ID and nothing else)").await,
            _ => {
                let usage = format!("({command} takes an ID and a text)");
                return self.notice(&usage).await;
            }
        };
        if id.is_empty() {
            let usage = format!("({command} takes an ID; /inbox shows what waits)");
            return self.notice(&usage).await;
        }
        match self.server.tell(&self.http, id, &word, why).await {
            Ok(done) => self.notice(&format!("({done})")).await,
            Err(error) => self.not_answered(&error).await.map(|()| false),
        }
    }
}
