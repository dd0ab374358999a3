//! The place of a message: the thread in which a client's conversation goes on, or a fork of it
//! where the client says something in place of an earlier message. The log is asked by the marks of its
//! inputs; nothing else is kept.

use uuid::Uuid;

use super::marks::{marks, of_client};
use super::place::{Asked, Place, Previous, said_before};
use super::request::{Chat, Exchange};
use super::steering;
use super::telling::{from_client, parts};
use super::tools::request_of;
use super::turns::{Turn, Until, turn_about};
use crate::context::Edge;
use crate::problem::{Problem, Slug};
use thinkd_event::draft::Part;
use thinkd_event::envelope::{Event, TurnOutcome, tag};
use thinkd_event::fact::input::Mark;
use thinkd_event::request::FromClient;
use thinkd_log::appended::Placed;
use thinkd_log::query::Query;
use thinkd_runtime::fork::NewFork;
use thinkd_runtime::turns::input::{InputContent, Received};
use thinkd_session::handle::Session;
use thinkd_thread::new_thread::NewThread;
use thinkd_thread::settings::Settings;
use thinkd_words::id::{Key, Seq, ThreadId};

/// Inputs with one mark that are looked at.
const SAME: u32 = 64;
/// Exchanges that are looked for where the last one is not known.
const BACK: usize = 32;
/// Replies of a named thread among which the client's last answer is looked for.
const NEWEST: u32 = 50;

/// The place in which a message is said.
enum Where {
    /// In a conversation of its own.
    New,
    /// In this thread.
    In(ThreadId),
    /// In this thread, the turn of which has so many of its pieces.
    Joins(ThreadId, usize),
    /// Behind the first of these turns, in a thread that has not gone on: several people may have had the
    /// same conversation so far.
    Behind(Vec<Behind>),
    /// In a fork.
    Fork(Box<NewFork>),
    /// An earlier request said the message.
    Said(Event),
}

/// A turn that a message may go on behind.
struct Behind {
    thread: ThreadId,
    /// The input that it was about.
    seq: Seq,
    /// Its end; none: it has none yet.
    end: Option<Seq>,
    /// False: the thread has gone on.
    is_free: bool,
}

/// Says the new message in its place, unless an earlier request has.
pub async fn place(
    session: &Session,
    edge: &Edge,
    chat: &Chat,
    asked: &Asked,
) -> Result<Place, Problem> {
    let mut all = marks(&asked.scope, &chat.before, &chat.said);
    let mark = all.last_mut();
    let mark = mark.ok_or_else(|| Problem::new(Slug::Internal, "a message without a mark"))?;
    mark.id = asked.event_id;
    let mut mark = mark.clone();
    let looking = Looking {
        session,
        chat,
        asked,
    };
    let (found, known) = looking.find(&all).await?;
    let thread = match &found {
        Where::Said(event) => return Ok(said_before(event)),
        Where::New => None,
        Where::In(thread) | Where::Joins(thread, _) => Some(thread),
        Where::Behind(turns) => turns.first().map(|turn| &turn.thread),
        Where::Fork(fork) => Some(&fork.thread),
    };
    let told = match thread {
        None => None,
        Some(thread) => looking.instructions(thread).await?,
    };
    let had = match &found {
        Where::Joins(_, pieces) => *pieces,
        _ => 0,
    };
    let (before, said) = (&chat.before[known..], &chat.said[had..]);
    let (parts, spans) = parts(session, edge, (chat, told, before, said)).await?;
    mark.request = asked.request.as_ref().map(|kept| kept.with(said, &spans));
    let saying = Saying {
        session,
        asked,
        mark,
        parts,
        from: from_client(session, chat, asked).await?,
    };
    let placed = match found {
        Where::Said(event) => Ok(said_before(&event)),
        Where::Fork(fork) => saying.forked(*fork).await,
        Where::In(thread) | Where::Joins(thread, _) => saying.within(thread, None).await,
        Where::New => {
            let instructions = Some(chat.instructions.clone());
            let settings = Settings {
                prompt: instructions.filter(|text| !text.is_empty()),
                ..Settings::default()
            };
            let new = NewThread {
                settings,
                ..NewThread::default()
            };
            let thread = session.create_thread(new).await?.thread;
            let key = saying.mark.id.and_then(Key::new);
            saying.within(thread, key).await
        }
        Where::Behind(turns) => saying.behind(turns).await,
    };
    match placed {
        // The same request came twice at once.
        Err(problem) if problem.slug() == Slug::EventConflict && saying.mark.id.is_some() => {
            let found = looking.by_id(&saying.mark).await?;
            found.map(|event| said_before(&event)).ok_or(problem)
        }
        placed => placed,
    }
}

/// A message on its way into a thread.
struct Saying<'a> {
    session: &'a Session,
    asked: &'a Asked,
    mark: Mark,
    parts: Vec<Part>,
    from: FromClient,
}

impl Saying<'_> {
    fn content(&self) -> InputContent {
        InputContent::Marked(self.mark.clone(), self.parts.clone())
    }

    async fn within(&self, thread: ThreadId, key: Option<Key>) -> Result<Place, Problem> {
        let manner = (self.asked.policy, self.from.clone());
        let said = (self.session).submit_from(thread.clone(), key, self.content(), manner);
        let (received, placed) = said.await?;
        placed_in(thread, &placed, received)
    }

    async fn forked(&self, fork: NewFork) -> Result<Place, Problem> {
        let wish = NewFork {
            message: Some(self.content()),
            // Who has not named the thread need not know that it has ended.
            of_ended: self.asked.thread.is_none(),
            client: self.from.clone(),
            ..fork
        };
        let made = self.session.fork(wish).await?;
        placed_in(made.thread, &made.said, Received::Started)
    }

    /// Says the message in the first thread that has not gone on from here. The id of its event is
    /// made of the place, so of two that go on at once the store lets one in.
    async fn behind(&self, turns: Vec<Behind>) -> Result<Place, Problem> {
        let slot = |thread: &ThreadId| {
            let place = format!("{thread} {}", self.mark.after);
            Uuid::new_v5(&Uuid::NAMESPACE_OID, place.as_bytes())
        };
        for turn in turns.iter().filter(|turn| turn.is_free) {
            let thread = turn.thread.clone();
            let key = Key::new(slot(&thread));
            match self.within(thread, key).await {
                Ok(place) if !place.was_said || self.mark.id.is_some() => return Ok(place),
                Ok(_) => {}
                Err(problem) if problem.slug() == Slug::EventConflict => {}
                Err(problem)
                    if problem.slug() == Slug::ThreadEnded && self.asked.thread.is_none() => {}
                Err(problem) => return Err(problem),
            }
        }
        let Some(turn) = turns.first() else {
            return Err(Problem::new(Slug::Internal, "no thread to go on in"));
        };
        let fork = match turn.end {
            Some(end) => NewFork {
                thread: turn.thread.clone(),
                at: Some(end),
                ..NewFork::default()
            },
            None => instead_of(turn.thread.clone(), slot(&turn.thread)),
        };
        self.forked(fork).await
    }
}

fn placed_in(thread: ThreadId, placed: &[Placed], received: Received) -> Result<Place, Problem> {
    let last = placed.last().map(|placed| &placed.shown.event);
    let last = last.ok_or_else(|| Problem::new(Slug::Internal, "a message without an event"))?;
    Ok(Place {
        thread,
        event_id: last.event_id,
        seq: last.seq,
        is_next: received == Received::Started,
        was_said: received == Received::Duplicate,
    })
}

struct Looking<'a> {
    session: &'a Session,
    chat: &'a Chat,
    asked: &'a Asked,
}

impl Looking<'_> {
    /// Returns the place of the new message, and the number of exchanges that the log has there.
    async fn find(&self, all: &[Mark]) -> Result<(Where, usize), Problem> {
        let n = self.chat.before.len();
        let Some(mark) = all.last() else {
            return Ok((Where::New, 0));
        };
        if let Some(event) = self.by_id(mark).await? {
            let known = if self.asked.previous.is_some() { 0 } else { n };
            return Ok((self.once_more(event, true).await?, known));
        }
        let tag = mark.tag();
        if let Some(previous) = &self.asked.previous {
            return Ok((self.after(previous, tag).await?, 0));
        }
        // A first message begins a conversation, also one that another client has said before.
        let again = (n > 0 || self.asked.scope.chat.is_some()).then(|| tag.clone());
        let before = n.checked_sub(1).map(|last| all[last].tag());
        let tags = Vec::from_iter(again.into_iter().chain(before));
        let found = match tags.is_empty() {
            true => Vec::new(),
            false => self.tagged(tags, SAME).await?,
        };
        let is_same = |event: &&Event| event.meta.tags.contains(&tag);
        if let Some(event) = found.iter().find(is_same) {
            return Ok((self.once_more(event.clone(), self.asked.is_retry).await?, n));
        }
        let asks = (self.chat, self.asked);
        if let Some((thread, had)) = steering::joins(self.session, asks, all).await? {
            return Ok((Where::Joins(thread, had), n));
        }
        let Some(last) = self.chat.before.last() else {
            let there = self.asked.thread.clone();
            return Ok((there.map_or(Where::New, Where::In), 0));
        };
        let answered = |turn: &Turn| turn.is_answered(&last.answer);
        let mut behind = self.behind(&found, answered).await?;
        // Of conversations that are alike so far, the one that made the client's calls is its own.
        let own = self.called_in().await?;
        if behind.iter().any(|turn| Some(&turn.thread) == own.as_ref()) {
            behind.retain(|turn| Some(&turn.thread) == own.as_ref());
        }
        if !behind.is_empty() {
            return Ok((Where::Behind(self.apart(behind, mark).await?), n));
        }
        // The words that the client has in the place of an answer that was cut off are told.
        let cut = self.behind(&found, Turn::is_cut).await?;
        if !cut.is_empty() {
            return Ok((Where::Behind(self.apart(cut, mark).await?), n - 1));
        }
        if let Some((fork, known)) = self.further_back(all).await? {
            return Ok((Where::Fork(Box::new(fork)), known));
        }
        self.unknown(last).await
    }

    /// Returns the place of a message behind a response that the client names: the tree of its
    /// responses is the client's, and the same message again is another branch.
    async fn after(&self, previous: &Previous, tag: String) -> Result<Where, Problem> {
        if self.asked.is_retry
            && let Some(event) = self.tagged(vec![tag], 1).await?.pop()
        {
            return self.once_more(event, true).await;
        }
        let Previous {
            thread, seq, end, ..
        } = previous.clone();
        let Some(at) = end else {
            return Ok(Where::Joins(thread, 0));
        };
        if previous.is_last {
            return Ok(Where::Behind(vec![Behind {
                thread,
                seq,
                end,
                is_free: true,
            }]));
        }
        Ok(Where::Fork(Box::new(NewFork {
            thread,
            at: Some(at),
            event_id: self.asked.event_id.and_then(Key::new),
            ..NewFork::default()
        })))
    }

    /// Returns the turns about these inputs that a client may go on behind.
    async fn behind(
        &self,
        inputs: &[Event],
        fits: impl Fn(&Turn) -> bool,
    ) -> Result<Vec<Behind>, Problem> {
        let mut behind = Vec::new();
        for event in inputs {
            let turn = turn_about(self.session, event, Until::Exchange).await?;
            if let Some(turn) = turn.filter(&fits) {
                behind.push(Behind {
                    thread: event.thread.clone(),
                    seq: event.seq,
                    end: turn.outcome.map(|_| turn.last),
                    is_free: true,
                });
            }
        }
        Ok(behind)
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
    /// cannot be told apart: then a thread that has gone on, in any way, is taken by no other.
    async fn apart(&self, mut all: Vec<Behind>, mark: &Mark) -> Result<Vec<Behind>, Problem> {
        if all.len() < 2 {
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
    async fn by_id(&self, mark: &Mark) -> Result<Option<Event>, Problem> {
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
    /// answer (`is_retry`), unless that was cut off.
    async fn once_more(&self, event: Event, is_retry: bool) -> Result<Where, Problem> {
        let turn = turn_about(self.session, &event, Until::Turn).await?;
        let outcome = turn.and_then(|turn| turn.outcome);
        Ok(match outcome {
            None => Where::Said(event),
            Some(TurnOutcome::Done | TurnOutcome::Failed) if is_retry => Where::Said(event),
            Some(_) => Where::Fork(Box::new(instead_of(event.thread, event.event_id))),
        })
    }

    /// Returns a fork at the last exchange that the log has, and the number of exchanges up to it.
    async fn further_back(&self, all: &[Mark]) -> Result<Option<(NewFork, usize)>, Problem> {
        let n = self.chat.before.len();
        let first = n.saturating_sub(1 + BACK);
        let known = &all[first..n - 1];
        if known.is_empty() {
            return Ok(None);
        }
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
                let fork = NewFork {
                    thread: event.thread.clone(),
                    at: Some(turn.last),
                    ..NewFork::default()
                };
                return Ok(Some((fork, first + index + 1)));
            }
        }
        Ok(None)
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
    async fn instructions(&self, thread: &ThreadId) -> Result<Option<&str>, Problem> {
        let instructions = Some(self.chat.instructions.as_str()).filter(|text| !text.is_empty());
        if instructions.is_none() || (self.asked.thread.is_some() && !self.chat.before.is_empty()) {
            return Ok(None);
        }
        let row = self.session.thread(thread).await?;
        let known = row.and_then(|row| Settings::of(&row.settings).prompt);
        Ok(instructions.filter(|text| known.as_deref() != Some(*text)))
    }
}

fn instead_of(thread: ThreadId, input: Uuid) -> NewFork {
    NewFork {
        thread,
        instead_of: Some(input),
        ..NewFork::default()
    }
}
