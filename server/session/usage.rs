//! A session reads the use of models over a span of the log: by module, thread, model or purpose,
//! by time, and of one voice.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::calls::Record;
use thinkd_event::fact::set::{Change, Set};
use thinkd_log::query::{Order, Query, Show};
use thinkd_thread::usage::{Calls, Figures, VoiceTurns};
use thinkd_words::budget::Budget;
use thinkd_words::id::{Name, Seq};
use thinkd_words::spelling::words;
use thinkd_words::time::Timestamp;

/// Events that one answer is made of, at most, and how many are read at a time.
pub const EVENTS_MAX: usize = 10_000;
const PAGE: u32 = 500;

/// A span of the log; open where none is said.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    /// At or after.
    pub since: Option<Timestamp>,
    /// Strictly older.
    pub before: Option<Timestamp>,
}

words! {
    /// The key that calls are told apart by.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum By {
        /// The module that asked.
        Module = "module",
        /// The thread.
        Thread = "thread",
        /// The model.
        Model = "model",
        /// The purpose.
        Purpose = "purpose",
    }
}

/// The sums of calls.
#[derive(Debug, Default)]
pub struct Usage {
    /// By the key that they are told apart by.
    pub by: BTreeMap<String, Calls>,
    /// By time: the beginning of each step, in microseconds.
    pub steps: BTreeMap<i64, Calls>,
    /// Time of the earliest call that was read, if the span has more.
    pub cut: Option<Timestamp>,
}

/// The figures of a voice over a span.
#[derive(Debug)]
pub struct VoiceFigures {
    /// The figures.
    pub figures: Figures,
    /// Time of the earliest event that was read, if the span has more.
    pub cut: Option<Timestamp>,
}

/// The version of a voice from some event on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubmoduleVersion)]
pub struct VoiceVersion {
    /// The event that made it so.
    #[schema(value_type = i64)]
    pub seq: Seq,
    /// When.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub at: Timestamp,
    /// Its prompt from then on; null: it was removed.
    pub prompt: Option<String>,
}

impl By {
    fn key(self, event: &Event, record: &Record<'_>) -> String {
        let said = |key: &str| {
            let text = record.get(key).and_then(|value| value.as_str());
            text.unwrap_or("not known").to_owned()
        };
        match self {
            Self::Module => record.module.to_owned(),
            Self::Thread => event.thread.to_string(),
            Self::Model => said("model"),
            Self::Purpose => said("purpose"),
        }
    }
}

impl Session {
    /// Returns the sums of the newest calls of a span; with `step`, in microseconds, by time, too.
    pub async fn usage(&self, span: Span, by: By, step: Option<i64>) -> Acted<Usage> {
        let mut usage = Usage::default();
        let query = Query {
            tags: vec!["debug".into()],
            show: Show::All,
            ..Query::default()
        };
        let cut = self.newest(span, query, |event| {
            let Fact::Call(record) = event.fact() else {
                return;
            };
            let of_key = usage.by.entry(by.key(event, &record));
            of_key.or_default().add(&record);
            if let Some(step) = step {
                let begin = event.ts.micros().div_euclid(step) * step;
                usage.steps.entry(begin).or_default().add(&record);
            }
        });
        usage.cut = cut.await?;
        Ok(usage)
    }

    /// Returns the budget of turns, threads and the space.
    pub fn budget(&self) -> Acted<&Budget> {
        Ok(self.runtime(Right::Read)?.budget())
    }

    /// Returns the figures of a voice in the newest turns of a span.
    pub async fn voice_figures(&self, name: &Name, span: Span) -> Acted<VoiceFigures> {
        let mut turns = VoiceTurns::default();
        let tags = vec![
            format!("submodule:{name}"),
            format!("call:submodule:{name}"),
        ];
        let query = Query {
            tags,
            show: Show::All,
            ..Query::default()
        };
        let cut = self.newest(span, query, |event| turns.take(event)).await?;
        Ok(VoiceFigures {
            figures: turns.figures(name.as_str()),
            cut,
        })
    }

    /// Returns the versions of a voice, the newest first.
    pub async fn voice_versions(&self, name: &Name) -> Acted<Vec<VoiceVersion>> {
        let mut versions = Vec::new();
        let query = Query {
            tags: vec!["set:submodule".into()],
            ..Query::default()
        };
        let version = |event: &Event| {
            let Fact::Set(Set {
                key,
                change: Change::Submodule(voice),
                ..
            }) = event.fact()
            else {
                return;
            };
            if key == name.as_str() {
                let prompt = voice.map(|voice| voice.prompt);
                versions.push(VoiceVersion {
                    seq: event.seq,
                    at: event.ts,
                    prompt,
                });
            }
        };
        self.newest(Span::default(), query, version).await?;
        Ok(versions)
    }

    /// Hands over the events of a span that match the query, the newest first. If there are too
    /// many, returns the time of the last of them.
    async fn newest(
        &self,
        span: Span,
        query: Query,
        mut take: impl FnMut(&Event) + Send,
    ) -> Acted<Option<Timestamp>> {
        let store = self.store(Right::Read)?;
        let mut before = None;
        let mut read = 0;
        loop {
            let place = Query {
                since: span.since,
                before_ts: span.before,
                before,
                order: Order::Descending,
                limit: PAGE,
                ..query.clone()
            };
            let page = store.events(self.space(), &place).await?;
            page.iter().for_each(&mut take);
            read += page.len();
            let Some(last) = page.last().filter(|_| page.len() == PAGE as usize) else {
                return Ok(None);
            };
            before = Some(last.seq);
            if read >= EVENTS_MAX {
                return Ok(Some(last.ts));
            }
        }
    }
}
