//! The messages that a chat receives from the server, and their display on the screen.

use tokio::time::Instant;
use uuid::Uuid;

use super::{AGENT, Chat, Thinking};
use crate::program::command::screen::Manner;
use crate::program::command::waiting::Kind;
use crate::program::command::words::{what, who};
use thinkd_edge::ack::Placement;
use thinkd_edge::websocket::outgoing::{Hello, ProblemFrame, ServerFrame};
use thinkd_event::envelope::{Event, Modality, TurnOutcome};
use thinkd_event::fact::Fact;
use thinkd_log::hint::DeltaOutcome;

impl Chat {
    pub(super) async fn hear(&mut self, text: &str) -> anyhow::Result<()> {
        // What a later server says beside is not for us.
        let Ok(frame) = serde_json::from_str(text) else {
            return Ok(());
        };
        match frame {
            ServerFrame::Event(shown) => self.show(&shown.event).await?,
            ServerFrame::Ack(ack) => self.acknowledged(ack.id.as_deref(), &ack.events),
            ServerFrame::Delta(delta) if delta.thread == self.thread => {
                self.grow(delta.event_id, delta.at, &delta.text).await?;
            }
            ServerFrame::DeltaEnd(end) => self.grown(end.event_id, end.outcome).await?,
            ServerFrame::Status(status) if status.thread == self.thread => {
                match status.status.as_str() {
                    "thinking" => self.think().await?,
                    _ => self.rest().await?,
                }
            }
            ServerFrame::Problem(refused) => self.complain(&refused).await?,
            _ => {}
        }
        Ok(())
    }

    /// Another connection begins: from where we were, or, in another log, from its end.
    pub(super) async fn again(&mut self, hello: &Hello) -> anyhow::Result<()> {
        if self.epoch == hello.epoch && hello.head >= self.after {
            self.notice("(connected again)").await?;
            return Ok(());
        }
        (self.epoch, self.after, self.woken, self.handled) = (hello.epoch, hello.head, 0, 0);
        self.screen
            .show(
                Manner::Alarm,
                "",
                "(the log was replaced; going on at its end)",
            )
            .await
    }

    /// A turn goes on.
    async fn think(&mut self) -> anyhow::Result<()> {
        self.thinking.get_or_insert_with(|| Thinking {
            since: Instant::now(),
            spoken: Vec::new(),
        });
        self.show_thinking().await
    }

    /// No turn goes on.
    pub(super) async fn rest(&mut self) -> anyhow::Result<()> {
        self.thinking = None;
        self.show_thinking().await
    }

    pub(super) async fn show_thinking(&mut self) -> anyhow::Result<()> {
        self.screen
            .status(self.thinking.as_ref().map(Thinking::describe))
            .await
    }

    fn acknowledged(&mut self, id: Option<&str>, events: &[Placement]) {
        let Some(id) = id.and_then(|id| Uuid::parse_str(id).ok()) else {
            return;
        };
        self.unsent.retain(|(unsent, ..)| *unsent != id);
        let own = events.iter().filter(|event| event.thread == self.thread);
        let last = own.map(|event| event.seq).max();
        self.woken = self.woken.max(last.unwrap_or(0));
    }

    async fn show(&mut self, event: &Event) -> anyhow::Result<()> {
        // A socket follows the whole space until it subscribes, and after that what came meanwhile comes again.
        if event.thread != self.thread || event.seq <= self.after {
            return Ok(());
        }
        self.after = event.seq;
        if event.wakes() {
            self.woken = self.woken.max(event.seq);
        }
        let fact = event.fact();
        let is_known = match &fact {
            Fact::TurnEnded(ended) => {
                self.handled = ended.handled.unwrap_or(0).max(self.handled);
                // An interrupted turn's input is answered by the next one.
                self.failed |= !matches!(
                    ended.outcome,
                    Some(TurnOutcome::Done | TurnOutcome::Interrupted)
                );
                true
            }
            Fact::Reply(reply) => return self.show_reply(event, reply.is_partial).await,
            fact if fact.is_failure() || matches!(fact, Fact::ClientFailure(_)) => {
                return self.tell_event(Manner::Alarm, event).await;
            }
            Fact::Input(_) | Fact::Trigger(_)
                if self.is_live && !self.said.contains(&event.event_id) =>
            {
                return self.tell_event(Manner::Input, event).await;
            }
            Fact::Input(_) | Fact::Trigger(_) => true,
            Fact::ApprovalPending(_) => return self.show_request(Kind::Approval, event).await,
            Fact::Question(_) => return self.show_request(Kind::Question, event).await,
            Fact::ApprovalVerdict(_) | Fact::Answer(_) => {
                let text = format!("({}: {})", who(event), what(event));
                return self.notice(&text).await.map(drop);
            }
            // The call of `reply` only says what the reply says.
            Fact::Action(action) => action.tool == "reply",
            // Of any other kind, a newer server's too: shown as a thought, unless no model sees it.
            _ => false,
        };
        let has_spoken = self.note_submodule(event, fact.submodule());
        let is_thought = event.modality != Modality::State && !is_known;
        if is_thought && self.thoughts {
            self.tell_event(Manner::Thought, event).await?;
        }
        if has_spoken {
            self.show_thinking().await
        } else {
            Ok(())
        }
    }

    async fn tell_event(&mut self, manner: Manner, event: &Event) -> anyhow::Result<()> {
        self.screen.show(manner, &who(event), &what(event)).await
    }

    /// Remembers the submodules that have spoken in this turn. Returns true if this one is new.
    fn note_submodule(&mut self, event: &Event, submodule: Option<&str>) -> bool {
        let is_beside = matches!(event.fact(), Fact::Remark(remark) if remark.is_follow_up);
        let (Some(thinking), Some(name), false) = (&mut self.thinking, submodule, is_beside) else {
            return false;
        };
        let is_new = !thinking.spoken.iter().any(|spoken| spoken == name);
        if is_new {
            thinking.spoken.push(name.to_owned());
        }
        is_new
    }

    /// Shows the whole reply in place of its streamed text, where all of that was seen.
    async fn show_reply(&mut self, event: &Event, is_partial: bool) -> anyhow::Result<()> {
        self.replied = Some(event.event_id);
        let grown = self.growing.take_if(|(id, _)| *id == event.event_id);
        if grown.is_some() {
            self.screen.grow(AGENT, event.text()).await?;
            self.screen.end();
        } else {
            self.screen.end();
            self.screen.show(Manner::Reply, AGENT, event.text()).await?;
        }
        if is_partial {
            self.screen.show(Manner::Notice, "", "  (cut off)").await?;
        }
        Ok(())
    }

    async fn grow(&mut self, id: Uuid, at: usize, text: &str) -> anyhow::Result<()> {
        if !self.screen.grows() {
            return Ok(());
        }
        match &mut self.growing {
            Some((growing, seen)) if *growing == id => {
                // A hole: wait for the whole reply.
                if at != seen.chars().count() {
                    return Ok(());
                }
                seen.push_str(text);
            }
            _ if at == 0 => {
                self.screen.end();
                self.growing = Some((id, text.to_owned()));
            }
            _ => return Ok(()),
        }
        let seen = self.growing.as_ref().map_or("", |(_, seen)| seen);
        self.screen.grow(AGENT, seen).await
    }

    async fn grown(&mut self, id: Uuid, outcome: DeltaOutcome) -> anyhow::Result<()> {
        let is_it = |(growing, _): &mut (Uuid, String)| *growing == id;
        if outcome == DeltaOutcome::Discarded && self.growing.take_if(is_it).is_some() {
            self.screen.end();
            self.notice("  (taken back)").await?;
        }
        Ok(())
    }

    async fn complain(&mut self, refused: &ProblemFrame) -> anyhow::Result<()> {
        let ProblemFrame { id, problem } = refused;
        if let Some(id) = id.as_deref().and_then(|id| Uuid::parse_str(id).ok()) {
            self.unsent.retain(|(unsent, ..)| *unsent != id);
        }
        // Without an id and unavailable: the thread cannot go on now, but will.
        self.failed |= id.is_some() || problem.status != 503;
        self.screen
            .show(Manner::Alarm, &problem.title, &problem.detail)
            .await
    }
}
