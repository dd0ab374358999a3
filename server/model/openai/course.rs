//! The course of a call: its place among others, tries, time limits, habits, and the end of its answer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use tokio::time::Instant;

use super::OpenAi;
use crate::answer::{Draft, Ending, Manner, Unreadable};
use crate::at_once::AtOnce;
use crate::endpoint::Options;
use crate::habits::{self, Habit, Habits};
use crate::provider::{Piece, Pieces, Prepared};
use crate::refused_tools;
use crate::wire::{Events, Trouble, Wire};
use thinkd_tasks::share::Place;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::text::Json;

mod judged;

/// The wait for the usage of an answer, behind its finish reason.
const AFTER_FINISH: Duration = Duration::from_secs(1);

/// The wait for the words of an answer that has ended empty, while its server says nothing but that
/// it is alive: some say the end first.
const AFTER_EMPTY: Duration = Duration::from_secs(2);

/// The longest pause we choose ourselves.
const BACKOFF_MAX: Duration = Duration::from_secs(8);

/// Calls that were tried again, each time.
pub const RETRIES: &str = "thinkd_model_retries_total";

/// One call under way.
pub(super) struct Call {
    options: Arc<Options>,
    wire: Arc<Wire>,
    queue: Arc<AtOnce>,
    habits: Arc<Habits>,
    /// The model's habits that were known when the call began.
    known: Vec<Habit>,
    /// Habits that refusals of this call showed, with the provider's words. An answer confirms them.
    found: Vec<(Habit, String)>,
    prepared: Prepared,
    /// Its place among the calls at a time, from when it is sent until it is over.
    place: Option<Place>,
    deadline: Instant,
    /// The time at which an answer that has ended is taken as it is, and the amount of content that had come then.
    settles: Option<(usize, Instant)>,
}

/// The state of a call. Boxed, since it moves with every piece.
enum State {
    Start(Box<Call>),
    Coming(Box<(Call, Events, Draft)>),
    Over,
}

/// The pieces of one step of a call, and its state then.
type Step = (Vec<Result<Piece, Failure>>, State);

impl State {
    async fn advance(self) -> Option<(Vec<Result<Piece, Failure>>, Self)> {
        match self {
            Self::Start(call) => Some(call.begin().await),
            Self::Coming(coming) => {
                let (call, events, draft) = *coming;
                Some(call.go_on(events, draft).await)
            }
            Self::Over => None,
        }
    }
}

impl Call {
    /// A call that is not sent yet.
    pub fn new(model: &OpenAi, prepared: Prepared) -> Self {
        let learned = model.habits.now().into_iter().map(|learned| learned.habit);
        Self {
            options: model.options.clone(),
            wire: model.wire.clone(),
            habits: model.habits.clone(),
            known: learned.collect(),
            found: Vec::new(),
            queue: model.queue.clone(),
            prepared,
            place: None,
            deadline: Instant::now(),
            settles: None,
        }
    }

    /// Sends it; the pieces of its answer.
    pub fn pieces(self) -> Pieces {
        let start = State::Start(Box::new(self));
        let pieces = stream::unfold(start, |state| state.advance());
        pieces.flat_map(stream::iter).boxed()
    }

    /// Tries until the first piece is there, a failure that trying again cannot cure, or the tries or the time are used up.
    async fn begin(mut self) -> Step {
        let place = self.queue.place(&self.prepared).await;
        self.placed(place);
        let mut tries = 1;
        let mut before: Option<String> = None;
        loop {
            let trouble = match self.first().await {
                Ok((events, draft, pieces)) => {
                    self.confirm(&events);
                    return self.coming(events, draft, pieces);
                }
                Err(trouble) => trouble,
            };
            if self.adjust(&trouble) {
                continue;
            }
            let Some(trouble) = self.unless_busy(trouble).await else {
                continue;
            };
            let pause = match trouble.pause {
                Some(asked) => asked,
                None => backoff(self.options.backoff_ms, tries),
            };
            let begins = Instant::now().checked_add(pause);
            let has_time = begins.is_some_and(|begins| begins < self.asker_leaves());
            let is_over = !trouble.failure.retryable || tries > self.options.retries;
            if is_over || !has_time || trouble.stays(before.as_deref()) {
                let trouble = refused_tools::marked(trouble, &self.prepared.body);
                return fail(trouble.failure, tries);
            }
            tracing::warn!(tries, ?pause, reason = %trouble.failure, "asking the model again");
            metrics::counter!(RETRIES).increment(1);
            tokio::time::sleep(pause).await;
            tries += 1;
            before = Some(trouble.said);
        }
    }

    /// The call may be sent: its time begins.
    fn placed(&mut self, place: Place) {
        self.place = Some(place);
        self.deadline = Instant::now() + Duration::from_millis(self.options.timeout_ms);
    }

    /// Waits for a new place where the server is busy with other calls of ours. Returns any other trouble.
    async fn unless_busy(&mut self, trouble: Trouble) -> Option<Trouble> {
        let Some(place) = self.place.take() else {
            return Some(trouble);
        };
        match self.queue.again(&self.prepared, place, &trouble).await {
            Ok(place) => {
                self.placed(place);
                None
            }
            Err(place) => {
                self.place = Some(place);
                Some(trouble)
            }
        }
    }

    /// The time when the asker goes on without an answer: the wait in the queue does not count.
    fn asker_leaves(&self) -> Instant {
        let waited = self.prepared.waited.so_far().0;
        let until = self
            .prepared
            .until
            .map_or(self.deadline, |until| until + waited);
        until.min(self.deadline)
    }

    /// Changes the request by the words of a refusal on one of its members. False: it is about
    /// something else.
    fn adjust(&mut self, trouble: &Trouble) -> bool {
        let Some(words) = &trouble.refused else {
            return false;
        };
        let is_too_long = trouble.failure.is_too_long();
        let found = Habit::of_refusal(words, &habits::members(&self.body()), is_too_long);
        let Some(habit) = found.filter(|habit| !self.habits().contains(habit)) else {
            return false;
        };
        self.found.push((habit, trouble.failure.text.clone()));
        true
    }

    /// The habits by which the request is sent.
    fn habits(&self) -> Vec<Habit> {
        let found = self.found.iter().map(|(habit, _)| habit);
        self.known.iter().chain(found).cloned().collect()
    }

    fn body(&self) -> Json {
        habits::adjusted(&self.prepared.body, &self.habits())
    }

    /// Learns, now that an answer comes, the habits that made it come.
    fn confirm(&self, events: &Events) {
        let plain = (Habit::AnswersPlainly, String::new());
        let is_plain = self.options.stream && events.is_plain();
        for (habit, words) in self.found.iter().chain(is_plain.then_some(&plain)) {
            if self.habits.learn(habit, words) {
                tracing::info!(
                    model = self.wire.name(),
                    habit = habit.sentence(),
                    "learned of the model"
                );
            }
        }
    }

    fn manner(&self) -> Manner {
        // The thinking language is written where no tools are offered to the decision.
        let offers_tools = self.prepared.body.as_str().contains("\"tools\":");
        Manner {
            keeps_thought: self.prepared.module == Who::Decision && !offers_tools,
            holds_words: self.known.contains(&Habit::ClosesThinking),
        }
    }

    /// One try, up to the first piece.
    async fn first(&mut self) -> Result<(Events, Draft, Vec<Piece>), Trouble> {
        let body = self.body();
        let wait = match self.streams(&body) {
            true => Duration::from_millis(self.options.first_piece_timeout_ms),
            false => Duration::from_millis(self.options.timeout_ms),
        };
        let late = || {
            self.late(
                "gave no first piece of its answer",
                self.options.first_piece_timeout_ms,
            )
        };
        let sending = self.wire.send(&self.prepared, &body);
        let sent = tokio::time::timeout_at(self.until(wait), sending).await;
        let mut events = sent.map_err(|_| late())??;
        let mut draft = Draft::new(self.manner());
        let mut ended = None;
        loop {
            let next = match ended {
                Some(at) => match self.next_of_empty(&mut events, at, wait).await {
                    None => {
                        self.settles = Some((draft.content_chunks, Instant::now()));
                        return Ok((events, draft, Vec::new()));
                    }
                    next => next,
                },
                None => self.next(&mut events, wait).await,
            };
            match next.ok_or_else(late)?? {
                Some(chunk) => {
                    let pieces = draft
                        .take(&chunk)
                        .map_err(|error| self.wire.unreadable(error, &body))?;
                    if draft.ending() == Ending::Failed && !draft.has_words_or_calls() {
                        return Err(self.failed_answer(draft.word()).into());
                    }
                    if !pieces.is_empty() || draft.is_over() {
                        return Ok((events, draft, pieces));
                    }
                    let is_over = draft.is_over_empty();
                    ended = is_over.then(|| ended.unwrap_or_else(Instant::now));
                }
                None if draft.begun && (draft.is_ended() || events.was_ended()) => {
                    return Ok((events, draft, Vec::new()));
                }
                None => return Err(self.wire.broken_off("its first piece")),
            }
        }
    }

    /// True if an answer in pieces is expected.
    fn streams(&self, body: &Json) -> bool {
        body.as_str().contains("\"stream\":true") && !self.known.contains(&Habit::AnswersPlainly)
    }

    /// The next event. None: nothing came for so long, not even a ping or a thought.
    async fn next(
        &self,
        events: &mut Events,
        wait: Duration,
    ) -> Option<Result<Option<Value>, Trouble>> {
        let mut limit = self.until(wait);
        loop {
            if let Ok(event) = tokio::time::timeout_at(limit, events.next()).await {
                return Some(event);
            }
            let again = events
                .heard()
                .map(|heard| (heard + wait).min(self.deadline));
            limit = again.filter(|again| *again > Instant::now())?;
        }
    }

    /// The next event of an answer that ended empty. None: it stays so, for its server says only
    /// that it is alive, or nothing at all for as long as a first piece may take.
    async fn next_of_empty(
        &self,
        events: &mut Events,
        ended: Instant,
        wait: Duration,
    ) -> Option<Result<Option<Value>, Trouble>> {
        let settles = (ended + AFTER_EMPTY).max(Instant::now());
        let soon = tokio::time::timeout_at(settles.min(self.deadline), events.next()).await;
        match soon {
            Ok(event) => Some(event),
            Err(_) if events.heard().is_some_and(|heard| heard > ended) => None,
            Err(_) => {
                let limit = (ended + wait).min(self.deadline);
                tokio::time::timeout_at(limit, events.next()).await.ok()
            }
        }
    }

    /// One more event of the answer. None: nothing came that it waits for.
    async fn more(
        &mut self,
        events: &mut Events,
        draft: &Draft,
    ) -> Option<Result<Option<Value>, Trouble>> {
        let pause = Duration::from_millis(self.options.between_pieces_timeout_ms);
        if !draft.is_ended() {
            self.settles = None;
            return self.next(events, pause).await;
        }
        // Pings, empty chunks and the usage do not put the end off.
        let wait = if draft.is_over() { AFTER_FINISH } else { pause };
        let until = self.until(wait);
        let come = draft.content_chunks;
        let known = self.settles.filter(|(before, _)| *before == come);
        let settles = known.map_or(until, |(_, settles)| settles.min(until));
        self.settles = Some((come, settles));
        let next = tokio::time::timeout_at(settles, events.next()).await;
        next.ok()
    }

    /// Goes on with the answer by one event.
    async fn go_on(mut self, mut events: Events, mut draft: Draft) -> Step {
        match self.more(&mut events, &draft).await {
            Some(Ok(Some(chunk))) => match draft.take(&chunk) {
                Ok(pieces) => self.coming(events, draft, pieces),
                Err(Unreadable::Reported(_)) if draft.is_ended() => self.end(draft),
                Err(error) => {
                    let trouble = self.wire.unreadable(error, &self.body());
                    self.broken(draft, trouble.failure)
                }
            },
            Some(Ok(None)) if draft.is_ended() || events.was_ended() || draft.has_whole_calls() => {
                self.end(draft)
            }
            Some(Ok(None)) => self.broken(draft, self.wire.broken_off("its end").failure),
            // It was whole already: trouble behind it is of no concern.
            Some(Err(_)) | None if draft.is_ended() => self.end(draft),
            Some(Err(trouble)) => self.broken(draft, trouble.failure),
            None => {
                let limit = self.options.between_pieces_timeout_ms;
                self.broken(draft, self.late("gave no more of its answer", limit))
            }
        }
    }

    /// The failure of an answer in its middle, behind the words that were held back.
    fn broken(&self, draft: Draft, failure: Failure) -> Step {
        // Of a model that never opens its thinking, they may be that.
        let is_certain = !self.known.contains(&Habit::ClosesThinking);
        let rest = draft.finish().rest;
        let rest = (is_certain && !rest.is_empty()).then_some(Ok(Piece::Text(rest)));
        (
            rest.into_iter().chain([Err(failure)]).collect(),
            State::Over,
        )
    }

    /// The end of an answer: whole, or a failure that says why it is none.
    fn end(&self, draft: Draft) -> Step {
        let whole = draft.finish();
        if whole.unopened {
            self.habits.learn(&Habit::ClosesThinking, "");
        }
        let holds_words = self.known.contains(&Habit::ClosesThinking);
        let rest = match whole.unopened {
            true if holds_words => whole.answer.text.clone(),
            true => String::new(),
            false => whole.rest.clone(),
        };
        let rest = (!rest.is_empty()).then_some(Ok(Piece::Text(rest)));
        let end = match self.judged(whole) {
            Ok(answer) => Ok(Piece::End(answer)),
            Err(failure) => Err(failure),
        };
        (rest.into_iter().chain([end]).collect(), State::Over)
    }

    fn coming(self, events: Events, draft: Draft, pieces: Vec<Piece>) -> Step {
        (
            pieces.into_iter().map(Ok).collect(),
            State::Coming(Box::new((self, events, draft))),
        )
    }

    fn until(&self, limit: Duration) -> Instant {
        self.deadline.min(Instant::now() + limit)
    }

    fn late(&self, what: &str, limit_ms: u64) -> Failure {
        let name = self.wire.name();
        let text = if Instant::now() < self.deadline {
            format!("{name} {what} within {limit_ms} ms")
        } else {
            format!(
                "{name} did not finish its answer within {} ms",
                self.options.timeout_ms
            )
        };
        Failure::new(FailureKind::Timeout, text).retryable()
    }
}

fn fail(mut failure: Failure, tries: u32) -> Step {
    if tries > 1 {
        failure.text.push_str(&format!(" (tried {tries} times)"));
    }
    (vec![Err(failure)], State::Over)
}

/// The pause after the given number of tries: doubling, and shortened by up to half so that callers spread out.
pub(crate) fn backoff(first_ms: u64, tries: u32) -> Duration {
    use std::hash::{BuildHasher as _, RandomState};
    let full =
        Duration::from_millis(first_ms.saturating_mul(1 << (tries - 1).min(16))).min(BACKOFF_MAX);
    let chance = RandomState::new().hash_one(tries) % 1000;
    full.mul_f64(1.0 - chance as f64 / 2000.0)
}
