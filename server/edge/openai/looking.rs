//! Looks for the place of a message: the thread in which a client's conversation goes on, or a fork of
//! it. The log is asked by the marks of its inputs; nothing else is kept.

use uuid::Uuid;

use super::asking::{Asked, Previous};
use super::found::{Behind, Found, Where};
use super::marks::of_client;
use super::request::{Chat, Exchange};
use super::steering;
use super::tools::request_of;
use super::turns::{Turn, Until, turn_about};
use crate::problem::{Problem, Slug};
use thinkd_event::envelope::{Event, TurnOutcome, tag};
use thinkd_event::fact::input::Mark;
use thinkd_log::query::{Order, Query};
use thinkd_runtime::fork::NewFork;
use thinkd_session::handle::Session;
use thinkd_thread::settings::{Policy, Settings};
use thinkd_words::id::ThreadId;

/// Inputs with one mark that are looked at.
const SAME: u32 = 64;
/// Events behind an input that are looked through for what clients of a door said there.
const LATER: u32 = 500;
/// Replies of a named thread among which the client's last answer is looked for.
const NEWEST: u32 = 50;

/// See the module.
pub struct Looking<'a> {
    /// The client.
    pub session: &'a Session,
    /// Its conversation.
    pub chat: &'a Chat,
    /// Its ids.
    pub asked: &'a Asked,
}

impl Looking<'_> {
    /// Returns the place of the new message.
    pub async fn find(&self, all: &[Mark]) -> Result<Found, Problem> {
        let mut taken_back = None;
        let found = self.look(all, &mut taken_back).await?;
        Ok(Found {
            taken_back,
            ..found
        })
    }

    async fn look(&self, all: &[Mark], taken_back: &mut Option<Uuid>) -> Result<Found, Problem> {
        let chat = self.chat;
        let scope = &self.asked.scope;
        let n = chat.before.len();
        let Some((mark, before)) = all.split_last() else {
            return Ok(Found::whole(Where::New, 0));
        };
        let tag = mark.tag();
        let joins = self.asked.policy.is_some();
        let is_led = self.asked.previous.is_some();
        // A first message begins a conversation, also one that another client has said before.
        let goes_on = n > 0 || scope.chat.is_some();
        let repeated = match !is_led && (goes_on || scope.thread.is_some() || joins) {
            true => steering::repeated(chat, scope),
            false => Vec::new(),
        };
        // A retry, too, where it cannot be the first message of another one.
        let is_retry = scope.thread.is_some() || !repeated.is_empty();
        let is_own = goes_on || (self.asked.is_retry && is_retry);
        let tags = is_own.then(|| tag.clone()).into_iter();
        let tags = tags.chain(before.last().map(Mark::tag));
        let tags = Vec::from_iter(tags.chain(repeated.iter().map(|(mark, _)| mark.tag())));
        let found = match is_led || tags.is_empty() {
            true => Vec::new(),
            false => self.tagged(tags, SAME).await?,
        };
        let with = |tag: &str| {
            let has = |event: &&Event| event.meta.tags.iter().any(|it| it == tag);
            Vec::from_iter(found.iter().filter(has).cloned())
        };
        // The client sends messages again to which it has no answer: their turns were cut off.
        let mut cut = Vec::new();
        let mut had = 0;
        for (mark, pieces) in &repeated {
            cut = self
                .behind(&with(&mark.tag()), &mark.with, Turn::is_cut)
                .await?;
            if !cut.is_empty() {
                had = *pieces;
                break;
            }
        }
        if let Some(event) = self.by_id(mark).await? {
            let id = event.event_id;
            if let Some(place) = self.once_more(event, true).await? {
                let known = if is_led { 0 } else { n };
                return Ok(Found::new(place, known, had));
            }
            *taken_back = Some(id);
        }
        if let Some(previous) = &self.asked.previous {
            let place = self.after(previous, mark, taken_back).await?;
            return Ok(Found::whole(place, 0));
        }
        if let Some(event) = with(&tag).into_iter().next().filter(|_| is_own) {
            let id = event.event_id;
            if let Some(place) = self.once_more(event, self.asked.is_retry).await? {
                return Ok(Found::new(place, n, had));
            }
            *taken_back = Some(id);
        }
        // With a policy the client knows that a turn runs; without one it says what it has no answer to.
        let running = match joins {
            true => found.clone(),
            false => repeated
                .iter()
                .flat_map(|(mark, _)| with(&mark.tag()))
                .collect(),
        };
        if let Some((thread, had)) = steering::joins(self.session, &running, &repeated).await? {
            return Ok(Found::new(Where::In(thread), n, had));
        }
        if !cut.is_empty() {
            let place = Where::Behind(self.apart(cut, mark).await?);
            return Ok(Found::new(place, n, had));
        }
        let (Some(last), Some(before)) = (chat.before.last(), before.last()) else {
            let there = self.asked.thread.clone();
            return Ok(Found::whole(there.map_or(Where::New, Where::In), 0));
        };
        let found = with(&before.tag());
        let answered = |turn: &Turn| turn.is_answered(&last.answer);
        let mut behind = self.behind(&found, &mark.after, answered).await?;
        // Of conversations that are alike so far, the one that made the client's calls is its own.
        let own = self.called_in().await?;
        if behind.iter().any(|turn| Some(&turn.thread) == own.as_ref()) {
            behind.retain(|turn| Some(&turn.thread) == own.as_ref());
        }
        if !behind.is_empty() {
            let place = Where::Behind(self.apart(behind, mark).await?);
            return Ok(Found::whole(place, n));
        }
        // The words that the client has in the place of an answer that was cut off are told.
        let cut = self.behind(&found, &mark.after, Turn::is_cut).await?;
        if !cut.is_empty() {
            let place = Where::Behind(self.apart(cut, mark).await?);
            return Ok(Found::whole(place, n - 1));
        }
        if let Some((place, known)) = self.further_back(all).await? {
            return Ok(Found::whole(place, known));
        }
        let (place, known) = self.unknown(last).await?;
        Ok(Found::whole(place, known))
    }

    /// Returns the place of a message behind a response that the client names: the tree of its
    /// responses is the client's, and the same message again is another branch.
    async fn after(
        &self,
        previous: &Previous,
        mark: &Mark,
        taken_back: &mut Option<Uuid>,
    ) -> Result<Where, Problem> {
        if self.asked.is_retry
            && let Some(event) = self.tagged(vec![mark.tag()], 1).await?.pop()
        {
            let id = event.event_id;
            if let Some(place) = self.once_more(event, true).await? {
                return Ok(place);
            }
            *taken_back = Some(id);
        }
        let Previous {
            thread, seq, end, ..
        } = previous.clone();
        if end.is_none() && self.asked.policy == Some(Policy::Steer) {
            return Ok(Where::In(thread));
        }
        if previous.is_last {
            return Ok(Where::Behind(vec![Behind {
                thread,
                seq,
                mark: mark.after.clone(),
                end,
                is_free: true,
            }]));
        }
        Ok(Where::Fork(Box::new(NewFork {
            thread,
            at: end,
            ..NewFork::default()
        })))
    }

    /// Returns the turns about these inputs that a client may go on behind. `mark`: of the
    /// conversation up to there.
    async fn behind(
        &self,
        inputs: &[Event],
        mark: &str,
        fits: impl Fn(&Turn) -> bool,
    ) -> Result<Vec<Behind>, Problem> {
        let mut behind = Vec::new();
        for event in inputs {
            let turn = turn_about(self.session, event, Until::Exchange).await?;
            if let Some(turn) = turn.filter(&fits) {
                behind.push(Behind {
                    thread: event.thread.clone(),
                    seq: event.seq,
                    mark: mark.to_owned(),
                    end: turn.outcome.map(|_| turn.last),
                    is_free: true,
                });
            }
        }
        Ok(behind)
    }

    /// Returns true if no client of a door has said something behind a turn. Messages that joined
    /// the turn stand behind its input, and are part of it. A thread that clients name takes the
    /// words of all.
    async fn is_last(&self, one: &Behind) -> Result<bool, Problem> {
        if self.asked.thread.is_some() || one.end.is_none() {
            return Ok(true);
        }
        // Without tags: the end of the log is read as it is, and the index need not be written.
        let later = Query {
            thread: Some(one.thread.clone()),
            after: Some(one.seq),
            order: Order::Ascending,
            limit: LATER,
            ..Query::default()
        };
        for event in self.session.events(&later).await? {
            if is_marked(&event) {
                let turn = turn_about(self.session, &event, Until::Exchange).await?;
                if turn.is_none_or(|turn| Some(turn.last) != one.end && !turn.is_taken_back) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns the thread that made the calls of the client's last answer.
    async fn called_in(&self) -> Result<Option<ThreadId>, Problem> {
        let Some(request) = self.chat.calls.first().and_then(|id| request_of(id)) else {
            return Ok(None);
        };
        let client = of_client(&self.asked.scope);
        let call = self.session.client_call(request, &client).await?;
        Ok(call.map(|call| call.thread().clone()))
    }

    /// Returns the same turns, in the order in which the message looks for a free thread. Several
    /// cannot be told apart: then a thread that has gone on, in any way, is taken by no other. An
    /// only one is free unless another client of a door has gone on there.
    async fn apart(&self, mut all: Vec<Behind>, mark: &Mark) -> Result<Vec<Behind>, Problem> {
        if let [one] = &mut all[..] {
            one.is_free = self.is_last(one).await?;
            return Ok(all);
        }
        for one in &mut all {
            let later = Query {
                thread: Some(one.thread.clone()),
                tags: vec![tag::INPUT.into()],
                after: Some(one.seq),
                limit: 1,
                ..Query::default()
            };
            one.is_free = self.session.events(&later).await?.is_empty();
        }
        // People who go on at once begin to look at different ones.
        let first = usize::from_str_radix(&mark.with[..4], 16).unwrap_or(0) % all.len();
        all.rotate_left(first);
        Ok(all)
    }

    /// Returns the message that has the client's id. An id of another message is refused.
    pub async fn by_id(&self, mark: &Mark) -> Result<Option<Event>, Problem> {
        let (Some(id), Some(tag)) = (mark.id, mark.id_tag()) else {
            return Ok(None);
        };
        // Of an answer that was cut off there is a later one with the same id.
        let newest = self.tagged(vec![tag], 1).await?.pop();
        let event = match newest {
            Some(event) => Some(event),
            // It may have come since.
            None => self.session.event(id).await?,
        };
        let Some(event) = event else {
            return Ok(None);
        };
        if event.meta.tags.contains(&mark.tag()) {
            return Ok(Some(event));
        }
        let detail = "an earlier request with this id said something else: draw another id";
        Err(Problem::new(Slug::EventConflict, detail))
    }

    /// Returns the place of a message that was said before, at the same place of the conversation.
    /// While its turn runs it is not said again; neither is it for a client that asks for the same
    /// answer (`is_retry`), unless that was cut off. None: it was taken back, and is said as if it had
    /// not been.
    async fn once_more(&self, event: Event, is_retry: bool) -> Result<Option<Where>, Problem> {
        let turn = turn_about(self.session, &event, Until::Turn).await?;
        if turn.as_ref().is_some_and(|turn| turn.is_taken_back) {
            return Ok(None);
        }
        let outcome = turn.and_then(|turn| turn.outcome);
        Ok(Some(match outcome {
            None => Where::Said(event),
            Some(TurnOutcome::Done | TurnOutcome::Failed) if is_retry => Where::Said(event),
            Some(_) => Where::Fork(Box::new(instead_of(event.thread, event.event_id))),
        }))
    }

    /// Returns the place behind the last exchange that the log has, and the number of exchanges up to
    /// it: a fork, unless the thread has all exchanges behind it, too.
    async fn further_back(&self, all: &[Mark]) -> Result<Option<(Where, usize)>, Problem> {
        let Some(new) = all.last() else {
            return Ok(None);
        };
        // Neither the new message nor the last exchange.
        let Some(known) = all.split_last_chunk::<2>().map(|(known, _)| known) else {
            return Ok(None);
        };
        if known.is_empty() {
            return Ok(None);
        }
        let first = self.chat.before.len() - 1 - known.len();
        let tags = known.iter().map(Mark::tag).collect();
        let found = self.tagged(tags, SAME).await?;
        for (index, mark) in known.iter().enumerate().rev() {
            let tag = mark.tag();
            for event in found.iter().filter(|it| it.meta.tags.contains(&tag)) {
                let exchange = &self.chat.before[first + index];
                let turn = turn_about(self.session, event, Until::Exchange).await?;
                let Some(turn) = turn.filter(|turn| turn.is_answered(&exchange.answer)) else {
                    continue;
                };
                let known = first + index + 1;
                if let Some(behind) = self.behind_all(event, known, new).await? {
                    let place = Where::Behind(self.apart(vec![behind], new).await?);
                    return Ok(Some((place, self.chat.before.len())));
                }
                let fork = NewFork {
                    thread: event.thread.clone(),
                    at: Some(turn.last),
                    ..NewFork::default()
                };
                return Ok(Some((Where::Fork(Box::new(fork)), known)));
            }
        }
        Ok(None)
    }

    /// Returns the turn about the last exchange, if the messages behind this one in its thread are
    /// those of the client's exchanges. A message that came while a turn ran has a mark without the
    /// answer of that turn.
    async fn behind_all(
        &self,
        event: &Event,
        known: usize,
        new: &Mark,
    ) -> Result<Option<Behind>, Problem> {
        let later = Query {
            thread: Some(event.thread.clone()),
            after: Some(event.seq),
            order: Order::Ascending,
            limit: LATER,
            ..Query::default()
        };
        let later = self.session.events(&later).await?;
        let mut said = later.iter().filter(|it| is_marked(it));
        let mut last = None;
        for exchange in &self.chat.before[known..] {
            let Some(event) = said.next().filter(|it| exchange.is_said_by(it.text())) else {
                return Ok(None);
            };
            let turn = turn_about(self.session, event, Until::Exchange).await?;
            let Some(turn) = turn.filter(|turn| turn.is_answered(&exchange.answer)) else {
                return Ok(None);
            };
            last = Some(Behind {
                thread: event.thread.clone(),
                seq: event.seq,
                mark: new.after.clone(),
                end: turn.outcome.map(|_| turn.last),
                is_free: true,
            });
        }
        Ok(last)
    }

    /// Returns the place of a message behind a conversation that the log does not have. In a named
    /// thread another client may have led it: then its last answer is there.
    async fn unknown(&self, last: &Exchange) -> Result<(Where, usize), Problem> {
        let n = self.chat.before.len();
        let Some(thread) = &self.asked.thread else {
            return Ok((Where::New, 0));
        };
        let Some(row) = self.session.thread(thread).await? else {
            return Ok((Where::In(thread.clone()), 0));
        };
        let newest = Query {
            thread: Some(thread.clone()),
            tags: vec![tag::RESPONSE.into()],
            limit: NEWEST,
            ..Query::default()
        };
        let newest = self.session.events(&newest).await?;
        let answer = last.answer.trim();
        if newest.iter().any(|reply| reply.text().trim() == answer) {
            return Ok((Where::In(thread.clone()), n));
        }
        let fork = NewFork {
            thread: thread.clone(),
            at: Some(row.head),
            ..NewFork::default()
        };
        Ok((Where::Fork(Box::new(fork)), 0))
    }

    /// Returns the inputs with any of these tags, the newest first.
    async fn tagged(&self, tags: Vec<String>, limit: u32) -> Result<Vec<Event>, Problem> {
        let query = Query {
            tags,
            limit,
            ..Query::default()
        };
        let found = self.session.events(&query).await?;
        Ok(found.into_iter().filter(Event::wakes).collect())
    }

    /// Returns the instructions that the thread has not: with a named one they are told once.
    pub async fn instructions(&self, thread: &ThreadId) -> Result<Option<&str>, Problem> {
        let instructions = Some(self.chat.instructions.as_str()).filter(|text| !text.is_empty());
        if instructions.is_none() || (self.asked.thread.is_some() && !self.chat.before.is_empty()) {
            return Ok(None);
        }
        let row = self.session.thread(thread).await?;
        let known = row.and_then(|row| Settings::of(&row.settings).prompt);
        Ok(instructions.filter(|text| known.as_deref() != Some(*text)))
    }
}

/// Returns true for a message of a client of a door.
fn is_marked(event: &Event) -> bool {
    let tags = &event.meta.tags;
    tags.iter().any(|it| it.starts_with(tag::MARKS[0]))
}

/// Returns a fork in which a message is said in the place of this one.
pub fn instead_of(thread: ThreadId, input: Uuid) -> NewFork {
    NewFork {
        thread,
        instead_of: Some(input),
        ..NewFork::default()
    }
}
