//! The place of a message: the thread in which a client's conversation goes on, or a fork of it
//! where the client says something in place of an earlier message (`openai/looking.rs`).

use std::borrow::Cow;

use uuid::Uuid;

use super::asking::Asked;
use super::found::{Behind, Found, Where};
use super::looking::{Looking, instead_of};
use super::marks::marks;
use super::place::{Place, said_before};
use super::request::{Chat, Exchange, Piece};
use super::results;
use super::telling::{from_client, parts};
use crate::context::Edge;
use crate::problem::{Problem, Slug};
use thinkd_event::fact::input::Mark;
use thinkd_event::request::FromClient;
use thinkd_log::appended::Placed;
use thinkd_runtime::fork::NewFork;
use thinkd_runtime::turns::input::{InputContent, Received};
use thinkd_session::handle::Session;
use thinkd_thread::new_thread::NewThread;
use thinkd_thread::settings::Settings;
use thinkd_tools::toolbox::client::offered;
use thinkd_words::id::{Key, ThreadId};

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
    let mark = mark.clone();
    let looking = Looking {
        session,
        chat,
        asked,
    };
    let Found {
        place,
        known,
        had,
        taken_back,
    } = looking.find(&all).await?;
    let thread = match &place {
        Where::Said(event) => return Ok(said_before(event)),
        Where::New => None,
        Where::In(thread) => Some(thread),
        Where::Behind(turns) => turns.first().map(|turn| &turn.thread),
        Where::Fork(fork) => Some(&fork.thread),
    };
    let told = match thread {
        None => None,
        Some(thread) => looking.instructions(thread).await?,
    };
    let before = &chat.before[known..];
    let called_in = match before.is_empty() && !chat.results.is_empty() {
        true => Some(results::call(session, chat, &asked.scope).await?),
        // They are told with their exchange.
        false => None,
    };
    let saying = Saying {
        session,
        edge,
        chat,
        asked,
        mark,
        taken_back,
        words: (told.map(str::to_owned), before, &chat.said[had..]),
        called_in: called_in.map(|call| call.thread().clone()),
        from: from_client(session, edge, (chat, asked)).await?,
    };
    let placed = match place {
        Where::Said(event) => Ok(said_before(&event)),
        Where::Fork(fork) => saying.forked(*fork).await,
        Where::In(thread) => {
            let key = saying.key(None);
            saying.within(thread, key).await
        }
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
            let key = saying.key(None);
            saying.within(thread, key).await
        }
        Where::Behind(turns) => saying.behind(turns).await,
    };
    match placed {
        // The same request came twice at once.
        Err(problem) if problem.slug() == Slug::EventConflict && saying.mark.id.is_some() => {
            saying.said_meanwhile().await?.ok_or(problem)
        }
        placed => placed,
    }
}

/// A message on its way into a thread.
struct Saying<'a> {
    session: &'a Session,
    edge: &'a Edge,
    chat: &'a Chat,
    asked: &'a Asked,
    mark: Mark,
    /// The same message as it was said before, and taken back.
    taken_back: Option<Uuid>,
    /// The instructions that are told, the exchanges that the log does not have, and the new words.
    words: (Option<String>, &'a [Exchange], &'a [Piece]),
    /// The thread with the calls that the client has results of.
    called_in: Option<ThreadId>,
    from: FromClient,
}

impl Saying<'_> {
    /// Returns the message as it is said in a thread; none: in a fork. Results are told in words
    /// where the thread has not their calls.
    async fn content(&self, thread: Option<&ThreadId>) -> Result<InputContent, Problem> {
        let (told, before, said) = &self.words;
        let mut before = Cow::Borrowed(*before);
        if self.called_in.is_some() && self.called_in.as_ref() != thread {
            let mut results = Exchange::default();
            let all = self.chat.results.iter();
            all.for_each(|result| results.gives(&result.pieces));
            before.to_mut().push(results);
        }
        let words = (self.chat, told.as_deref(), &*before, *said);
        let (parts, spans) = parts(self.session, self.edge, words).await?;
        let mut mark = self.mark.clone();
        let kept = self.asked.request.as_ref();
        mark.request = kept.map(|kept| kept.with(said, &spans));
        Ok(InputContent::Marked(mark, parts))
    }

    /// Returns the id of the message, made of the client's; none: the client gave none. `fork`: the
    /// place of one. A message that was taken back has its id still, and so has one that a fork
    /// replaces.
    fn key(&self, fork: Option<&NewFork>) -> Option<Key> {
        let id = self.mark.id?;
        let place = fork.map(|it| format!("{} {:?} {:?}", it.thread, it.at, it.instead_of));
        let id = match (&place, self.taken_back) {
            (Some(place), _) => Uuid::new_v5(&id, place.as_bytes()),
            (None, Some(before)) => Uuid::new_v5(&id, before.as_bytes()),
            (None, None) => id,
        };
        Key::new(id)
    }

    async fn within(&self, thread: ThreadId, key: Option<Key>) -> Result<Place, Problem> {
        let manner = (self.asked.policy, self.from.clone());
        let content = self.content(Some(&thread)).await?;
        let storing = self.edge.waiters.store(self.session.space(), &thread);
        let said = (self.session).submit_from(thread.clone(), key, content, manner);
        let (received, placed) = said.await?;
        let place = placed_in(thread, &placed, received)?;
        Ok(Place {
            storing: Some(storing),
            ..place
        })
    }

    async fn forked(&self, fork: NewFork) -> Result<Place, Problem> {
        let wish = NewFork {
            message: Some(self.content(None).await?),
            event_id: fork.event_id.or_else(|| self.key(Some(&fork))),
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
        let slot = |turn: &Behind| {
            let end = turn.end.filter(|_| self.asked.thread.is_none());
            let end = end.map_or_else(|| turn.mark.clone(), |end| end.to_string());
            let taken_back = self.taken_back.map(|id| id.to_string());
            let place = format!("{} {end}{}", turn.thread, taken_back.unwrap_or_default());
            Uuid::new_v5(&Uuid::NAMESPACE_OID, place.as_bytes())
        };
        for turn in turns.iter().filter(|turn| turn.is_free) {
            let thread = turn.thread.clone();
            let key = Key::new(slot(turn));
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
        if let Some(found) = self.said_meanwhile().await? {
            return Ok(found);
        }
        let fork = match turn.end {
            None if self.asked.previous.is_some() => {
                let detail = "a turn runs, and another message waits behind it: go on behind that one, or wait for its end";
                return Err(Problem::at(Slug::Busy, "/previous_response_id", detail));
            }
            Some(end) => NewFork {
                thread: turn.thread.clone(),
                at: Some(end),
                ..NewFork::default()
            },
            None => instead_of(turn.thread.clone(), slot(turn)),
        };
        self.forked(fork).await
    }

    /// Returns the place of the message, if the same request came at once, here or at another server.
    async fn said_meanwhile(&self) -> Result<Option<Place>, Problem> {
        let looking = Looking {
            session: self.session,
            chat: self.chat,
            asked: self.asked,
        };
        let found = looking.by_id(&self.mark).await?;
        let found = found.filter(|event| Some(event.event_id) != self.taken_back);
        Ok(found.map(|event| said_before(&event)))
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
        client: offered(last).map(|it| it.client),
        storing: None,
    })
}
