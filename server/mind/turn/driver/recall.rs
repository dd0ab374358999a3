//! The recall of a turn before any model thinks: the text of its batch is the question. The result
//! is an event, which all models of the turn are shown, so that a turn that is taken up again does
//! not recall again. Any failure is said in the log, and the turn goes on.

use std::time::Duration;

use tokio::time::timeout;

use super::Driver;
use crate::turn::recalling::{Recalling, asks};
use crate::turn_writer::Lost;
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_event::fact::Fact;
use thinkd_event::fact::recalled::Recalled;
use thinkd_log::error::StoreError;
use thinkd_log::query::{Order, Query, Show};
use thinkd_recall::finder::{Error, Found, QUESTION_MAX, Question};
use thinkd_recall::fusion::{keep_fitting, tokens};
use thinkd_recall::shown::line;
use thinkd_words::failure::{Failure, FailureKind, Who};

/// Most statements that a turn recalls.
const HITS: usize = 8;
/// Most events of a batch that are part of the question, the newest.
const EVENTS: u32 = 32;
/// Most tries of a recall: it begins again where a statement that it found changed before that was
/// stored.
const TRIES: usize = 3;

impl Driver {
    /// Recalls the statements that are held and relevant to the batch, before any model thinks.
    pub(super) async fn recall(&mut self) -> Result<Option<TurnOutcome>, Lost> {
        let is_bare = self.mind.recalling.finder.is_bare(&self.place.space).await;
        if is_bare? {
            return Ok(self.recalls_nothing());
        }
        let text = self.question().await?;
        if text.is_empty() {
            return Ok(self.recalls_nothing());
        }
        for left in (0..TRIES).rev() {
            let Recalling {
                finder,
                tokens,
                limit,
            } = self.mind.recalling.clone();
            let question = Question {
                text: text.clone(),
                limit: HITS,
                tokens: Some(tokens),
                ..Question::default()
            };
            let found = tokio::select! {
                found = timeout(limit, finder.recall_for_models(&self.place.space, &question)) => found,
                () = self.stop.token().cancelled() => return Ok(None),
            };
            let drafts = match found {
                Ok(Ok(found)) if found.is_bare => return Ok(self.recalls_nothing()),
                Ok(Ok(found)) => vec![self.recalled(found, tokens as usize)],
                Ok(Err(error)) => self.not_recalled(&self.failed(&error)),
                Err(_) => self.not_recalled(&late(limit)),
            };
            match self.write(drafts).await {
                // Something became of what was found: what is shown is held.
                Err(Lost::Store(StoreError::Unmet(_))) if left > 0 => {}
                Err(Lost::Store(StoreError::Unmet(_))) => break,
                written => return written.map(|_| None),
            }
        }
        let text = "what was found changed again and again: the turn goes on without";
        let failure = Failure::new(FailureKind::Store, text).retryable();
        self.write(self.not_recalled(&failure)).await.map(|_| None)
    }

    /// Goes on without an event: nothing is asked, or the space holds nothing. Only a turn that is taken up again looks again.
    fn recalls_nothing(&mut self) -> Option<TurnOutcome> {
        self.turn = self.turn.clone().recalling(false);
        None
    }

    /// The newest texts of the batch, as far as a question goes.
    async fn question(&self) -> Result<String, StoreError> {
        let batch = self.turn.batch();
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else {
            return Ok(String::new());
        };
        let query = Query {
            thread: Some(self.place.thread.clone()),
            show: Show::Visible,
            after: Some(first - 1),
            before: Some(last + 1),
            order: Order::Descending,
            limit: EVENTS,
            ..Query::default()
        };
        let events = self.store().events(&self.place.space, &query).await?;
        let mut texts = Vec::new();
        let mut room = QUESTION_MAX;
        let is_asked = |event: &&Event| batch.contains(&event.seq) && asks(event);
        for event in events.iter().filter(is_asked) {
            let text: String = event.text().trim().chars().take(room).collect();
            room = room.saturating_sub(text.chars().count() + 1);
            texts.push(text);
        }
        texts.reverse();
        Ok(texts.join("\n").trim().to_owned())
    }

    /// Returns the event of the found statements, as far as they have room. It is stored only while
    /// all of them are held.
    fn recalled(&self, mut found: Found, most: usize) -> Draft {
        let head = self.mind.client.prompts().recalled.source();
        let head = head.as_str().trim().to_owned();
        let room = most.saturating_sub(tokens(&head));
        // With the end of its line.
        keep_fitting(&mut found.hits, room, |hit| tokens(&line(hit)) + 1);
        let statements = found.statements();
        if statements.is_empty() {
            return self
                .nothing("nothing that is held is relevant, or nothing of it has room (memory.recall_in_turns)");
        }
        let lines = std::iter::once(head).chain(found.hits.iter().map(line));
        let text = Vec::from_iter(lines).join("\n");
        let statements = statements.iter().map(String::as_str).collect();
        let draft = self.recalled_text(&text, statements);
        let seen = found.seen().into_iter();
        seen.fold(draft, |draft, (id, changed)| {
            draft.only_if(Condition::StatementAt { id, changed })
        })
    }

    fn recalled_text(&self, text: &str, statements: Vec<&str>) -> Draft {
        let recalled = Recalled {
            turn: self.turn.number(),
            text,
            statements,
        };
        Fact::Recalled(recalled).encode(&self.place.thread)
    }

    fn nothing(&self, text: &str) -> Draft {
        self.recalled_text(text, Vec::new())
    }

    fn not_recalled(&self, failure: &Failure) -> Vec<Draft> {
        vec![
            self.failure(&Who::Core, failure),
            self.nothing("nothing could be recalled"),
        ]
    }

    fn failed(&self, error: &Error) -> Failure {
        let kind = match error {
            Error::Store(_) => FailureKind::Store,
            _ => FailureKind::Tool,
        };
        let text = format!("the turn goes on without what is held: {error}");
        Failure::new(kind, text)
    }
}

fn late(limit: Duration) -> Failure {
    let ms = limit.as_millis();
    let text = format!("the turn goes on without what is held: a recall took longer than {ms} ms");
    Failure::new(FailureKind::Timeout, text).retryable()
}
