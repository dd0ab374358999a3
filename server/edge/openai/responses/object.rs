//! A response as the log has it: the message that it answers, the members of the request that stand
//! with it, and the answer so far.

use serde_json::{Value, json};

use super::ids::{message_id, response_id};
use super::tools;
use crate::openai::kept::{Instructions, Kept};
use crate::openai::place::{Place, said_before};
use crate::openai::reply::{End, How, Next, Reply, Used, Wanted};
use crate::problem::Problem;
use thinkd_event::envelope::Event;
use thinkd_session::handle::Session;
use thinkd_thread::settings::Settings;
use thinkd_tools::toolbox::client::{Offer, offered};

/// A response, apart from its answer.
pub struct Head {
    /// The message.
    pub event: Event,
    kept: Kept,
    instructions: Option<String>,
    offer: Option<Offer>,
}

/// An answer so far.
#[derive(Default)]
pub struct Answer {
    /// True if the log has the beginning of a turn about the message.
    pub has_begun: bool,
    /// True if its turn runs, or is the next one of its thread.
    pub is_next: bool,
    /// The words.
    pub text: String,
    /// The calls that the client is to run.
    pub calls: Vec<Wanted>,
    /// The end; none: it is not over.
    pub end: Option<End>,
}

impl Head {
    /// Reads the response to a message.
    pub async fn read(session: &Session, event: Event) -> Result<Self, Problem> {
        let kept = Kept::of(&event).unwrap_or_else(|| Kept {
            model: format!("{}/{}", crate::openai::asking::MODEL, event.thread),
            ..Kept::default()
        });
        let instructions = match kept.instructions {
            Some(Instructions::Told(from, len)) => {
                let text = first_text(session, &event).await?;
                text.get(from..from.saturating_add(len)).map(str::to_owned)
            }
            Some(Instructions::Prompt(true)) => {
                let row = session.thread(&event.thread).await?;
                row.and_then(|row| Settings::of(&row.settings).prompt)
            }
            Some(Instructions::Prompt(false)) | None => None,
        };
        let blob = match offered(&event) {
            Some(offered) => session.blob(&offered.tools).await?,
            None => None,
        };
        Ok(Self {
            event,
            kept,
            instructions,
            offer: blob.and_then(|blob| serde_json::from_slice(&blob.bytes).ok()),
        })
    }

    /// True if its client does not wait for it.
    pub const fn is_background(&self) -> bool {
        self.kept.background
    }

    /// The id.
    pub fn id(&self) -> String {
        response_id(self.event.event_id)
    }

    /// Returns the message that the answer is, in this state.
    pub fn message(&self, status: &str, content: &Value) -> Value {
        json!({
            "id": message_id(self.event.event_id), "type": "message", "role": "assistant",
            "status": status, "content": content,
        })
    }

    /// The response with this answer.
    pub fn shown(&self, answer: &Answer) -> Value {
        let kept = &self.kept;
        let status = answer.status();
        let text = answer.text();
        let mut output = Vec::new();
        if !text.is_empty() {
            let content = json!([part(text)]);
            output.push(self.message(answer.item_status(), &content));
        }
        let calls = answer.calls.iter();
        output.extend(calls.map(|call| tools::item(call, "completed", &call.arguments)));
        let incomplete = (status == "incomplete").then(|| json!({ "reason": "max_output_tokens" }));
        let end = answer.end.as_ref();
        let (tools, is_parallel) = match &self.offer {
            Some(offer) => (tools::offered(offer), !offer.one_at_a_time),
            None => (json!([]), true),
        };
        json!({
            "id": self.id(), "object": "response", "created_at": self.event.ts.seconds(),
            "completed_at": end.filter(|_| status == "completed").map(|end| end.ts.seconds()),
            "status": status, "background": kept.background, "error": answer.error(),
            "incomplete_details": incomplete, "instructions": self.instructions,
            "metadata": kept.metadata, "model": kept.model, "output": output,
            "previous_response_id": kept.previous, "user": kept.user, "store": true,
            "usage": end.map(|end| usage(end.used)),
            "max_output_tokens": null, "parallel_tool_calls": is_parallel, "temperature": null,
            "tool_choice": kept.tool_choice.as_ref().unwrap_or(&json!("auto")),
            "tools": tools, "top_p": null, "truncation": "disabled",
        })
    }
}

/// The text of an answer, as a part of its message.
pub fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

/// The usage as this protocol says it.
fn usage(used: Used) -> Value {
    json!({
        "input_tokens": used.input,
        "input_tokens_details": { "cached_tokens": used.cached, "cache_write_tokens": 0 },
        "output_tokens": used.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": used.input + used.output,
    })
}

impl Answer {
    /// Reads the answer as the log has it now.
    pub async fn read(session: &Session, event: &Event) -> Result<Self, Problem> {
        let is_next = session.is_next(&event.thread, event.seq).await?;
        let place = Place {
            is_next,
            ..said_before(event)
        };
        let mut reply = Reply::to(session, &place).await?;
        let mut answer = Self {
            is_next,
            ..Self::default()
        };
        loop {
            match reply.next().await? {
                Next::CaughtUp => return Ok(answer),
                Next::Over(end) => {
                    answer.end = Some(end);
                    return Ok(answer);
                }
                next => answer.take(&next),
            }
        }
    }

    /// Takes the next thing of the answer, but for its end.
    pub fn take(&mut self, next: &Next) {
        match next {
            Next::Begun => self.has_begun = true,
            Next::Words(words) => self.text.push_str(words),
            Next::Call(_, call) => self.calls.push(call.clone()),
            Next::Remark(_) | Next::CaughtUp | Next::Over(_) => {}
        }
    }

    /// The words: of one that is over, those that are stored.
    pub fn text(&self) -> &str {
        self.end.as_ref().map_or(&self.text, |end| &end.text)
    }

    /// The state of the response.
    pub fn status(&self) -> &'static str {
        match self.end.as_ref().map(|end| &end.how) {
            None if self.has_begun || self.is_next => "in_progress",
            None => "queued",
            Some(How::Done | How::Calls) => "completed",
            Some(How::CutOff) => "incomplete",
            Some(How::Cancelled | How::TakenBack) => "cancelled",
            Some(How::Failed(_) | How::ThreadEnded) => "failed",
        }
    }

    /// The state of the message that the answer is.
    pub fn item_status(&self) -> &'static str {
        match self.status() {
            "completed" => "completed",
            "queued" | "in_progress" => "in_progress",
            _ => "incomplete",
        }
    }

    /// The reason for which it failed.
    fn error(&self) -> Option<Value> {
        let problem = self.failure()?;
        Some(json!({ "code": "server_error", "message": problem.detail }))
    }

    fn failure(&self) -> Option<Problem> {
        let end = self.end.as_ref()?;
        end.how.problem().filter(|_| self.status() == "failed")
    }

    /// The problem that a failed response is for a client that waits for it.
    pub fn problem(&self, id: &str) -> Option<Problem> {
        let failure = self.failure()?;
        let detail = format!("{} (response {id})", failure.detail);
        Some(Problem::new(failure.slug(), detail))
    }
}

/// Returns the words of a message: of its first part.
async fn first_text(session: &Session, event: &Event) -> Result<String, Problem> {
    let parts = super::parts::of(session, event).await?;
    Ok(parts
        .first()
        .map(|part| part.text().to_owned())
        .unwrap_or_default())
}
