//! Requests to people: their answers to calls that wait and to open questions, and the end of both
//! when the thread ends, is cancelled or fails. Of several answers to one request at once, the
//! append accepts the first.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::append::append_told;
use super::mailbox::PAGE;
use super::refused::Refused;
use thinkd_event::condition::{Condition, RequestState};
use thinkd_event::draft::{DEPTH_MAX, Draft, is_within_depth};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::approval::{self, Ruling, Verdict};
use thinkd_event::fact::question::Answer;
use thinkd_event::method;
use thinkd_event::request::{Parked, Said, Settled};
use thinkd_event::statement::Claimant;
use thinkd_event::statement::people::chosen_by_people;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::requests::RequestRow;
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::driver::OnStored;
use thinkd_thread::settings::Settings;
use thinkd_tools::approval::hash_of;
use thinkd_tools::gate::version_of;
use thinkd_tools::schema;
use thinkd_tools::tool::Tool;
use thinkd_tools::toolbox::Tools;
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::time::{self, Timestamp};

pub mod client;
mod tidying;

/// Deepest answer: it is stored inside of two events.
const VALUE_DEPTH: usize = DEPTH_MAX - 4;

/// Settles requests; cheap to clone.
#[derive(Clone)]
pub struct Requests {
    /// The store of the requests.
    pub store: Arc<dyn Store>,
    /// The tools, for checks of arguments.
    pub tools: Arc<Tools>,
    /// Is told of every stored event.
    pub on_stored: OnStored,
    /// Most bytes of a result that a client gives.
    pub output_bytes: usize,
    /// Cancelled: the server goes.
    pub all: CancellationToken,
}

/// A person's answer to a question: words, or JSON where it has a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The words.
    pub text: String,
    /// The JSON.
    pub value: Option<Value>,
}

impl Requests {
    /// Settles an approval. `by`: the person that decides.
    pub async fn decide(
        &self,
        space: &Space,
        id: &str,
        said: Said,
        reason: &str,
        by: &str,
    ) -> Result<&'static str, Refused> {
        let (row, parked) = self.open(space, id, RequestState::Approval).await?;
        let by = Some(by);
        let thread = &row.thread;
        let (drafts, word) = match said {
            Said::Approve(edited) => {
                let grant = self.grant(space, &row, &parked, edited, reason, by);
                (vec![grant.await?], "granted")
            }
            Said::Reject => {
                let denied = Settled::Denied { by, reason };
                (parked.settled(thread, denied), "denied")
            }
            Said::Respond(text) => {
                let answered = Settled::Answered {
                    by,
                    text: &text,
                    value: None,
                };
                (parked.settled(thread, answered), "answered")
            }
        };
        self.append_first(space, &row, drafts).await?;
        Ok(word)
    }

    /// Answers a question. `by`: the person that answers.
    pub async fn answer(
        &self,
        space: &Space,
        id: &str,
        reply: Reply,
        by: Option<&str>,
    ) -> Result<(), Refused> {
        let (row, parked) = self.open(space, id, RequestState::Question).await?;
        let reply = checked_answer(&row.asked(), reply, by)?;
        if let Some(trial) = &parked.trial {
            self.may_test(space, &trial.statement, by).await?;
        }
        let settled = Settled::Answered {
            by,
            text: &reply.text,
            value: reply.value.as_ref(),
        };
        self.append_first(space, &row, parked.settled(&row.thread, settled))
            .await
    }

    /// Checks that a person may test a statement. A claimant of it is no instrument for it, and
    /// would only repeat it.
    async fn may_test(
        &self,
        space: &Space,
        statement: &str,
        by: Option<&str>,
    ) -> Result<(), Refused> {
        let row = self.store.statement(space, statement).await?;
        let sources = row.into_iter().flat_map(|row| row.sources);
        let claimants: Vec<Claimant> = sources.map(|source| source.by).collect();
        if method::may_answer(&claimants, by) {
            return Ok(());
        }
        let text = match by {
            Some(by) => {
                format!("{by} claims this, and does not test it: somebody else is to answer")
            }
            None => "a claim of somebody is tested by somebody else: say who you are".to_owned(),
        };
        Err(Refused::NotYours(text))
    }

    /// Returns the request, if it is open. One past its time limit is not, whether that was written
    /// down yet or not.
    async fn open(
        &self,
        space: &Space,
        id: &str,
        state: RequestState,
    ) -> Result<(RequestRow, Parked), Refused> {
        let row = self.store.request(space, id).await?;
        let Some(row) = row.filter(|row| row.state == state) else {
            return Err(self.gone(space, id, state).await?);
        };
        let thread = self.store.thread(space, &row.thread).await?;
        if !row.is_of_trial() && thread.is_none_or(|thread| thread.status.is_final()) {
            self.tidy(space, &row.thread).await?;
            return Err(self.gone(space, id, state).await?);
        }
        let asked = row.asked();
        if has_expired(&asked) {
            let text = format!("{} {id} has expired", noun(state));
            return Err(Refused::Settled(text));
        }
        let parked = Parked::of(id, &asked);
        let parked =
            parked.ok_or_else(|| StoreError::Broken(format!("the request {id} cannot be read")))?;
        Ok((row, parked))
    }

    /// Returns why a request is not open: it never was one, or it is settled.
    async fn gone(
        &self,
        space: &Space,
        id: &str,
        state: RequestState,
    ) -> Result<Refused, StoreError> {
        let unknown = || {
            let id: String = id.chars().take(60).collect();
            Refused::NotFound(format!("{} {id:?}", noun(state)))
        };
        let Ok(event_id) = id.parse() else {
            return Ok(unknown());
        };
        let Some(asked) = self.store.event(space, event_id).await? else {
            return Ok(unknown());
        };
        let is_one = match asked.fact() {
            Fact::ApprovalPending(_) => state == RequestState::Approval,
            Fact::Question(_) => state == RequestState::Question,
            _ => false,
        };
        if !is_one {
            return Ok(unknown());
        }
        let how = self.settled(space, &asked, id).await?.unwrap_or_default();
        let text = format!("{} {id} is settled already{how}", noun(state));
        Ok(Refused::Settled(text))
    }

    /// Returns the way in which a request was settled, if that is not far behind it in the log of
    /// its thread.
    async fn settled(
        &self,
        space: &Space,
        asked: &Event,
        id: &str,
    ) -> Result<Option<String>, StoreError> {
        let query = Query {
            thread: Some(asked.thread.clone()),
            after: Some(asked.seq),
            tags: vec!["approval".into(), "answer".into()],
            // What trials ask is of modality `state`.
            show: Show::Public,
            order: Order::Ascending,
            limit: PAGE,
            ..Query::default()
        };
        let events = self.store.events(space, &query).await?;
        let how = |event: &Event| {
            let (word, by) = match event.fact() {
                Fact::ApprovalVerdict(verdict) if verdict.approval == id => {
                    (verdict.ruling.as_str(), verdict.by.map(str::to_owned))
                }
                Fact::Answer(Answer { question, .. }) if question == id => ("answered", None),
                Fact::Input(input) if input.answers == Some(id) => {
                    ("answered", input.user.map(str::to_owned))
                }
                _ => return None,
            };
            let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
            Some(format!(": {word}{by} at {}", event.ts))
        };
        Ok(events.iter().find_map(how))
    }

    async fn grant(
        &self,
        space: &Space,
        row: &RequestRow,
        parked: &Parked,
        edited: Option<Value>,
        reason: &str,
        by: Option<&str>,
    ) -> Result<Draft, Refused> {
        let asked = row.asked();
        let word = |key: &str| asked.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = word("tool");
        let version = word("tool_version");
        let thread = self.store.thread(space, &row.thread).await?;
        let tool = self.tool(space, thread.as_ref(), name).await?;
        let Some(tool) = tool.filter(|tool| version_of(tool.spec()) == version) else {
            let text = format!(
                "the tool {name} is gone, or is another one than what was proposed; reject the call, or respond to it"
            );
            return Err(Refused::ToolChanged(text));
        };
        if let Some(arguments) = &edited {
            tool.check(arguments)
                .map_err(|failure| Refused::InvalidArguments(failure.text))?;
        }
        let is_edited = edited.is_some();
        let proposed = || asked.get("arguments").cloned().unwrap_or_default();
        let arguments = edited.unwrap_or_else(proposed);
        let granted = approval::Granted {
            arguments: &arguments,
            arguments_sha256: &hash_of(&arguments),
            tool_version: version,
            is_edited,
        };
        let verdict = Verdict {
            approval: &row.id,
            call_id: &parked.call_id,
            tool: name,
            ruling: Ruling::Granted(granted),
            by,
            reason,
        };
        let open = Condition::Request {
            id: row.id.clone(),
            state: RequestState::Approval,
        };
        Ok(Fact::ApprovalVerdict(verdict)
            .encode(&row.thread)
            .only_if(open)
            .only_if(Condition::NotEnded))
    }

    async fn tool(
        &self,
        space: &Space,
        thread: Option<&ThreadRow>,
        name: &str,
    ) -> Result<Option<Arc<dyn Tool>>, StoreError> {
        let settings = thread
            .map(|row| Settings::of(&row.settings))
            .unwrap_or_default();
        let shelf = self.tools.of(&settings);
        shelf.prepare(space).await?;
        Ok(shelf.now(space).get(name).cloned())
    }

    /// Stores the events that settle a request, unless it is settled already.
    async fn append_first(
        &self,
        space: &Space,
        row: &RequestRow,
        drafts: Vec<Draft>,
    ) -> Result<(), Refused> {
        match self.append(space, drafts).await {
            Ok(()) => Ok(()),
            Err(StoreError::Unmet(Condition::NotEnded)) => {
                self.tidy(space, &row.thread).await?;
                Err(self.gone(space, &row.id, row.state).await?)
            }
            Err(StoreError::Unmet(_)) => Err(self.gone(space, &row.id, row.state).await?),
            Err(error) => Err(error.into()),
        }
    }

    async fn append(&self, space: &Space, drafts: Vec<Draft>) -> Result<(), StoreError> {
        append_told(&*self.store, &self.on_stored, space, drafts)
            .await
            .map(drop)
    }

    /// Withdraws the open requests of a cancelled thread. Returns whether there were any.
    pub async fn withdraw(
        &self,
        space: &Space,
        thread: &ThreadId,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let mut any = false;
        for row in self.store.requests_of(space, thread).await? {
            if !matches!(row.state, RequestState::Granted | RequestState::Started)
                && !row.is_of_trial()
            {
                let withdrawn = Settled::Withdrawn { reason };
                any |= self.settle(space, &row, withdrawn).await?;
            }
        }
        Ok(any)
    }

    /// Answers all open questions of a space with "away".
    pub async fn answer_away(&self, space: &Space) -> Result<(), StoreError> {
        let mut after = 0;
        loop {
            let page = self
                .store
                .requests(space, RequestState::Question, after, PAGE);
            let page = page.await?;
            for row in &page {
                self.settle(space, row, Settled::Away).await?;
                after = row.seq;
            }
            if page.len() < PAGE as usize {
                return Ok(());
            }
        }
    }

    /// Does the same, if people are away, and then tidies the thread: a question may be asked while
    /// they go, or while its thread ends.
    pub async fn answer_if_away(&self, space: &Space, thread: &ThreadId) -> Result<(), StoreError> {
        if self.store.is_user_away(space).await? {
            self.answer_away(space).await?;
        }
        self.tidy(space, thread).await
    }

    /// Withdraws the open requests of a cancelled thread, and settles those that its turn left.
    pub async fn cancelled(&self, space: &Space, thread: &ThreadId) -> Result<(), StoreError> {
        self.tidy(space, thread).await?;
        let reason = "the thread was cancelled";
        self.withdraw(space, thread, reason).await.map(drop)
    }

    /// Settles a request. Returns whether this call settled it.
    async fn settle(
        &self,
        space: &Space,
        row: &RequestRow,
        how: Settled<'_>,
    ) -> Result<bool, StoreError> {
        let Some(parked) = Parked::of(&row.id, &row.asked()) else {
            return Ok(false);
        };
        let drafts = parked.settled(&row.thread, how);
        self.unless_settled(space, drafts).await
    }

    async fn unless_settled(&self, space: &Space, drafts: Vec<Draft>) -> Result<bool, StoreError> {
        match self.append(space, drafts).await {
            Ok(()) => Ok(true),
            Err(StoreError::Unmet(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn noun(state: RequestState) -> &'static str {
    match state {
        RequestState::Question => "question",
        _ => "approval",
    }
}

/// Returns whether the time of a request is over, written down or not.
pub fn has_expired(asked: &Value) -> bool {
    let expires = asked.get("expires_at").and_then(Value::as_str);
    let expires = expires.and_then(Timestamp::parse);
    expires.is_some_and(|expires| expires <= time::now())
}

/// Returns the answer, if it fits the question, and comes from a person that may answer it.
pub fn checked_answer(asked: &Value, reply: Reply, by: Option<&str>) -> Result<Reply, Refused> {
    let list = |key: &str| -> Vec<&str> {
        let list = asked.get(key).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    };
    let who = list("who");
    let choices = list("choices");
    if !who.is_empty() && !by.is_some_and(|by| who.contains(&by)) {
        let text = format!(
            "this question is for {}; say who you are, or leave it to them",
            who.join(", ")
        );
        return Err(Refused::NotYours(text));
    }
    // Those who answer a trial's question may say why.
    let (is_choice, why) = match asked.get("statement") {
        Some(_) => {
            let chosen = chosen_by_people(&reply.text);
            (chosen.is_some(), "; and behind a colon, why")
        }
        None => {
            let is_free = choices.is_empty();
            (is_free || choices.contains(&reply.text.trim()), "")
        }
    };
    if !is_choice {
        let choices = choices.join(", ");
        let text = format!("the answer is one of: {choices}{why}");
        return Err(Refused::InvalidArguments(text));
    }
    let Some(schema) = asked.get("schema") else {
        return Ok(Reply {
            value: None,
            ..reply
        });
    };
    let Some(value) = &reply.value else {
        let text = "the answer is JSON, as the question's schema says: give `value`";
        return Err(Refused::InvalidArguments(text.into()));
    };
    if !is_within_depth(value, VALUE_DEPTH) {
        let text = format!("the answer is nested more than {VALUE_DEPTH} deep");
        return Err(Refused::InvalidArguments(text));
    }
    schema::fits(schema, value).map_err(Refused::InvalidArguments)?;
    Ok(reply)
}
