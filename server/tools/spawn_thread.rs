//! `spawn_thread`: makes a subthread, at once. The core gives it its id; a label is a wish.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::contacts::{PARENT, SELF, known, unreadable};
use super::tool::{Desk, Effect, Output, Typed};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::process::ErrorCode;
use crate::log::store::ThreadRow;
use crate::thread::settings::{Gathered, Kind, Settings};
use crate::words::failure::{Failure, FailureKind};
use crate::words::id::{self, Name, ThreadId};

/// See the module.
pub struct SpawnThread;

/// What it is to be like.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// A wish for its id, of a-z, 0-9, _ and -.
    label: Option<String>,
    /// What it is for.
    prompt: Option<String>,
    /// Its first message; null: it sleeps until it gets one.
    payload: Option<String>,
}

#[async_trait]
impl Typed for SpawnThread {
    type Input = Input;
    const NAME: &'static str = "spawn_thread";
    const EFFECT: Effect = Effect::Events;
    const COUNTS: bool = true;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        let label = input.label.filter(|label| !label.trim().is_empty());
        check_prompt(desk, input.prompt.as_deref())?;
        let mut nest = Nest::of(desk).await?;
        let child = Child { label: label.as_deref(), prompt: input.prompt, payload: input.payload, gathered: None };
        Ok(match nest.hatch(desk, child).await? {
            Ok((_, drafts)) => Output::events(drafts),
            Err(refusal) => refusal,
        })
    }
}

/// Refuses a prompt for a subthread that is longer than a client's text may be: it stands in every request of that thread.
pub fn check_prompt(desk: &Desk, prompt: Option<&str>) -> Result<(), Failure> {
    let (bytes, most) = (prompt.map_or(0, str::len), desk.text_bytes);
    if bytes <= most {
        return Ok(());
    }
    let text = format!(
        "a prompt has at most {most} bytes (limits.text_bytes); this one has {bytes}: put what is long into the first message"
    );
    Err(Failure::new(FailureKind::Tool, text))
}

/// A subthread to be.
pub struct Child<'a> {
    /// A wish for the last part of its id.
    pub label: Option<&'a str>,
    /// What it is for.
    pub prompt: Option<String>,
    /// Its first message.
    pub payload: Option<String>,
    /// Which of a gathering it is.
    pub gathered: Option<Gathered>,
}

/// The subthreads that are there already, and those that one call adds to them.
pub struct Nest {
    row: Option<ThreadRow>,
    contacts: Vec<Name>,
    made: Vec<ThreadId>,
    put_aside: Vec<ThreadId>,
    room: u64,
    /// Room in the space.
    space_room: u64,
}

impl Nest {
    /// As the thread's rows stand.
    pub async fn of(desk: &Desk) -> Result<Self, Failure> {
        let row = desk.store.thread(&desk.space, &desk.thread).await.map_err(unreadable)?;
        let contacts = known(desk).await?.into_keys().collect();
        let used = row.as_ref().map_or(0, |row| u64::from(row.standing.subthreads));
        let room = desk.budget.subthreads.saturating_sub(used);
        let space_room = desk.threads.saturating_sub(desk.store.living(&desk.space).await.map_err(unreadable)?);
        Ok(Self { row, contacts, made: Vec::new(), put_aside: Vec::new(), room, space_room })
    }

    /// The new thread and the events that make it, or why it cannot be made.
    pub async fn hatch(
        &mut self,
        desk: &Desk,
        child: Child<'_>,
    ) -> Result<Result<(ThreadId, Vec<Draft>), Output>, Failure> {
        let given = child.label.unwrap_or("");
        let label = match child.label.map(Name::parse).transpose() {
            Ok(label) => label,
            Err(error) => return Ok(Err(refusal(desk, given, ErrorCode::InvalidLabel, &error.to_string()))),
        };
        if self.row.as_ref().is_some_and(|row| row.status.is_final()) {
            let text = "not made: this thread has ended";
            return Ok(Err(refusal(desk, given, ErrorCode::UnknownThread, text)));
        }
        let depth = desk.thread.as_str().split('.').count() as u64 + 1;
        if depth > desk.budget.depth {
            let text = format!(
                "threads may be nested {} deep (budget.depth); do it here, or in a thread further up",
                desk.budget.depth
            );
            return Ok(Err(refusal(desk, given, ErrorCode::DepthLimit, &text)));
        }
        let sends = self.row.as_ref().map_or(0, |row| u64::from(row.standing.sends)) + self.made.len() as u64;
        if sends >= desk.budget.sends {
            let text = format!(
                "not made: the thread has made subthreads and sent messages {} times, and may do so no more before something \
                 comes from outside (budget.sends)",
                desk.budget.sends
            );
            return Ok(Err(refusal(desk, given, ErrorCode::SendLimit, &text)));
        }
        if self.made.len() as u64 >= self.space_room {
            let text = format!(
                "not made: there are {} threads at work in the whole mind (limits.threads); end some that are not needed",
                desk.threads
            );
            return Ok(Err(refusal(desk, given, ErrorCode::SubthreadLimit, &text)));
        }
        let mut drafts = Vec::new();
        if self.room == 0 {
            match self.idle(desk).await? {
                Some(idle) => {
                    drafts.extend(archive(desk, &idle));
                    self.put_aside.push(idle.thread);
                }
                None => {
                    let limit = desk.budget.subthreads;
                    let text = format!(
                        "there are {limit} subthreads at work already (budget.subthreads); wait until one ends"
                    );
                    return Ok(Err(refusal(desk, given, ErrorCode::SubthreadLimit, &text)));
                }
            }
        } else {
            self.room -= 1;
        }
        for label in labels(label.as_ref()) {
            let Ok(thread) = desk.thread.child(&label) else {
                let text = "the id would be too long; use a shorter label";
                return Ok(Err(refusal(desk, given, ErrorCode::InvalidLabel, text)));
            };
            let taken = self.made.contains(&thread)
                || self.contacts.contains(&label)
                || desk.store.thread(&desk.space, &thread).await.map_err(unreadable)?.is_some();
            if !taken && ![PARENT, SELF].contains(&label.as_str()) && !thread.is_of_runs() {
                if let Err(failure) = desk.purse.take_thread() {
                    return Ok(Err(refusal(desk, given, ErrorCode::SubthreadLimit, &failure.text)));
                }
                drafts.extend(self.events(desk, &thread, &label, child));
                self.made.push(thread.clone());
                self.contacts.push(label);
                return Ok(Ok((thread, drafts)));
            }
        }
        Ok(Err(refusal(desk, given, ErrorCode::InvalidLabel, "no free id was found for the label; choose another")))
    }

    /// Those that were to be made are not made after all.
    pub fn leave(self, desk: &Desk) {
        desk.purse.give_back_threads(self.made.len() as u64);
    }

    fn events(&self, desk: &Desk, thread: &ThreadId, label: &Name, child: Child<'_>) -> Vec<Draft> {
        let settings = Settings {
            kind: Kind::Process,
            spawned_by: Some(desk.thread.clone()),
            gathered: child.gathered,
            prompt: child.prompt,
            ..self.row.as_ref().map(|row| Settings::of(&row.settings).for_child()).unwrap_or_default()
        };
        let about = settings.prompt.as_deref().unwrap_or("a subthread of yours").chars().take(200).collect::<String>();
        let mut drafts = vec![
            Draft::created(thread, &json!(settings)).only_if(Condition::FewerThreads(desk.threads)),
            Draft::contact(&desk.thread, label, thread, &about),
            Draft::spawned(&desk.thread, Some(desk.turn), thread, Some(label)).of_call(&desk.call_id),
        ];
        let payload = child.payload.filter(|payload| !payload.trim().is_empty());
        drafts.extend(payload.map(|payload| Draft::message(thread, &desk.thread, &payload)));
        drafts
    }

    /// The subthread that has had nothing to do for longest.
    async fn idle(&self, desk: &Desk) -> Result<Option<ThreadRow>, Failure> {
        let below = desk.store.below(&desk.space, &desk.thread, None, 1000).await.map_err(unreadable)?;
        let idle = |row: &ThreadRow| {
            row.thread.parent().as_ref() == Some(&desk.thread)
                && row.is_asleep()
                && !row.standing.archived
                && !self.put_aside.contains(&row.thread)
                && row.turn > 0
        };
        Ok(below.into_iter().filter(idle).min_by_key(|row| row.updated))
    }
}

fn archive(desk: &Desk, idle: &ThreadRow) -> [Draft; 2] {
    let attributes = [("id", Value::from(idle.thread.as_str()))];
    let told =
        Draft::feedback(&desk.thread, Some(desk.turn), crate::event::process::Feedback::Archived, &attributes, "");
    [Draft::changed(&idle.thread, "thread", idle.thread.as_str(), json!({ "archived": true })), told]
}

fn refusal(desk: &Desk, given: &str, code: ErrorCode, text: &str) -> Output {
    let given: String = given.chars().take(100).collect();
    let error = Draft::thread_error(&desk.thread, Some(desk.turn), &given, code, text);
    let kind = if code == ErrorCode::InvalidLabel { FailureKind::Tool } else { FailureKind::Budget };
    Output::failed(vec![error], Failure::new(kind, text).with(json!({ "reason": code.as_str() })))
}

/// Ids to try for a label: itself, then with numbers.
pub fn labels(label: Option<&Name>) -> Vec<Name> {
    let drawn = || format!("t-{}", &id::fresh().simple().to_string()[20..]);
    let stem = label.map_or_else(drawn, |label| label.as_str().to_owned());
    let short = &stem[..stem.len().min(28)];
    let numbered = (2..100).map(|number| format!("{short}-{number}"));
    std::iter::once(stem.clone()).chain(numbered).filter_map(|label| Name::parse(&label).ok()).collect()
}
