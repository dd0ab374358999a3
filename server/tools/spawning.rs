//! Makes subthreads: what all tools need that do so, and a sequence that goes on to its next step. The core gives a subthread its id;
//! a label is a wish.

use std::sync::Arc;

use serde_json::{Value, json};

use super::contacts::{Contacts, PARENT, SELF, unreadable};
use super::supplies::Supplies;
use super::tool::{CallSite, Output};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::gather::Gather;
use crate::event::process::{ErrorCode, Feedback};
use crate::log::store::{Store, ThreadRow};
use crate::thread::settings::{Gathered, Kind, Settings};
use crate::words::budget::Budget;
use crate::words::failure::{Failure, FailureKind};
use crate::words::id::{self, Name, ThreadId};

/// Makes subthreads.
#[derive(Clone)]
pub struct Spawner {
    store: Arc<dyn Store>,
    contacts: Contacts,
    budget: Arc<Budget>,
    /// Most threads of a space that have not ended.
    threads: u64,
    /// Most bytes of a prompt.
    text_bytes: usize,
}

impl Spawner {
    /// Within these limits.
    pub fn new(supplies: &Supplies) -> Self {
        let Supplies { store, budget, limits, .. } = supplies.clone();
        let contacts = Contacts::new(supplies);
        Self { store, contacts, budget, threads: limits.threads, text_bytes: limits.text_bytes }
    }

    /// Refuses a prompt for a subthread that is longer than a client's text may be: it stands in every request of that thread.
    pub fn check_prompt(&self, prompt: Option<&str>) -> Result<(), Failure> {
        let (bytes, most) = (prompt.map_or(0, str::len), self.text_bytes);
        if bytes <= most {
            return Ok(());
        }
        let text = format!(
            "a prompt has at most {most} bytes (limits.text_bytes); this one has {bytes}: put what is long into the first message"
        );
        Err(Failure::new(FailureKind::Tool, text))
    }

    /// Begins with the subthreads that the thread's rows know.
    pub async fn begin(&self, site: &CallSite) -> Result<Spawning, Failure> {
        let row = self.store.thread(&site.space, &site.thread).await.map_err(unreadable)?;
        let contacts = self.contacts.known(site).await?.into_keys().collect();
        let used = row.as_ref().map_or(0, |row| u64::from(row.standing.subthreads));
        let room = self.budget.subthreads.saturating_sub(used);
        let space_room = self.threads.saturating_sub(self.store.living(&site.space).await.map_err(unreadable)?);
        Ok(Spawning { spawner: self.clone(), row, contacts, made: Vec::new(), put_aside: Vec::new(), room, space_room })
    }
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
pub struct Spawning {
    spawner: Spawner,
    row: Option<ThreadRow>,
    contacts: Vec<Name>,
    made: Vec<ThreadId>,
    put_aside: Vec<ThreadId>,
    room: u64,
    /// Room in the space.
    space_room: u64,
}

impl Spawning {
    /// The new thread and the events that make it, or why it cannot be made.
    pub async fn spawn(
        &mut self,
        site: &CallSite,
        child: Child<'_>,
    ) -> Result<Result<(ThreadId, Vec<Draft>), Output>, Failure> {
        let given = child.label.unwrap_or("");
        let label = match child.label.map(Name::parse).transpose() {
            Ok(label) => label,
            Err(error) => return Ok(Err(refusal(site, given, ErrorCode::InvalidLabel, &error.to_string()))),
        };
        if self.row.as_ref().is_some_and(|row| row.status.is_final()) {
            let text = "not made: this thread has ended";
            return Ok(Err(refusal(site, given, ErrorCode::UnknownThread, text)));
        }
        let depth = site.thread.as_str().split('.').count() as u64 + 1;
        if depth > self.spawner.budget.depth {
            let text = format!(
                "threads may be nested {} deep (budget.depth); do it here, or in a thread further up",
                self.spawner.budget.depth
            );
            return Ok(Err(refusal(site, given, ErrorCode::DepthLimit, &text)));
        }
        let sends = self.row.as_ref().map_or(0, |row| u64::from(row.standing.sends)) + self.made.len() as u64;
        if sends >= self.spawner.budget.sends {
            let text = format!(
                "not made: the thread has made subthreads and sent messages {} times, and may do so no more before something \
                 comes from outside (budget.sends)",
                self.spawner.budget.sends
            );
            return Ok(Err(refusal(site, given, ErrorCode::SendLimit, &text)));
        }
        if self.made.len() as u64 >= self.space_room {
            let text = format!(
                "not made: there are {} threads at work in the whole mind (limits.threads); end some that are not needed",
                self.spawner.threads
            );
            return Ok(Err(refusal(site, given, ErrorCode::SubthreadLimit, &text)));
        }
        let mut drafts = Vec::new();
        if self.room == 0 {
            match self.idle(site).await? {
                Some(idle) => {
                    drafts.extend(archive(site, &idle));
                    self.put_aside.push(idle.thread);
                }
                None => {
                    let limit = self.spawner.budget.subthreads;
                    let text = format!(
                        "there are {limit} subthreads at work already (budget.subthreads); wait until one ends"
                    );
                    return Ok(Err(refusal(site, given, ErrorCode::SubthreadLimit, &text)));
                }
            }
        } else {
            self.room -= 1;
        }
        for label in labels(label.as_ref()) {
            let Ok(thread) = site.thread.child(&label) else {
                let text = "the id would be too long; use a shorter label";
                return Ok(Err(refusal(site, given, ErrorCode::InvalidLabel, text)));
            };
            let taken = self.made.contains(&thread)
                || self.contacts.contains(&label)
                || self.spawner.store.thread(&site.space, &thread).await.map_err(unreadable)?.is_some();
            if !taken && ![PARENT, SELF].contains(&label.as_str()) && !thread.is_of_runs() {
                if let Err(failure) = site.so_far.purse.take_thread() {
                    return Ok(Err(refusal(site, given, ErrorCode::SubthreadLimit, &failure.text)));
                }
                drafts.extend(self.events(site, &thread, &label, child));
                self.made.push(thread.clone());
                self.contacts.push(label);
                return Ok(Ok((thread, drafts)));
            }
        }
        Ok(Err(refusal(site, given, ErrorCode::InvalidLabel, "no free id was found for the label; choose another")))
    }

    /// Those that were to be made are not made after all.
    pub fn undo(self, site: &CallSite) {
        site.so_far.purse.give_back_threads(self.made.len() as u64);
    }

    /// The events that begin the next step of a sequence, if there is one.
    pub async fn next_step(
        &mut self,
        site: &CallSite,
        id: &str,
        gather: &Gather,
    ) -> Result<Result<Vec<Draft>, Output>, Failure> {
        let Some((index, text)) = gather.next() else { return Ok(Ok(Vec::new())) };
        let label = format!("{id}-{index}");
        let begun = Gathered { id: id.to_owned(), index };
        for label in labels(Name::parse(&label).ok().as_ref()) {
            let Ok(child) = site.thread.child(&label) else { break };
            // A thread of that name may be anybody's: then the step has another one.
            let Some(row) = self.spawner.store.thread(&site.space, &child).await.map_err(unreadable)? else { break };
            if Settings::of(&row.settings).gathered.as_ref() == Some(&begun) {
                // Begun already, by a turn that left its mailbox as it was.
                return Ok(Ok(Vec::new()));
            }
        }
        let before = index.checked_sub(1).and_then(|before| gather.results.get(&before));
        let payload = match before {
            Some(back) => format!("{text}\n\n{}", back.text),
            None => text.to_owned(),
        };
        let child =
            Child { label: Some(&label), prompt: gather.prompt.clone(), payload: Some(payload), gathered: Some(begun) };
        Ok(self.spawn(site, child).await?.map(|(_, drafts)| drafts))
    }

    fn events(&self, site: &CallSite, thread: &ThreadId, label: &Name, child: Child<'_>) -> Vec<Draft> {
        let settings = Settings {
            kind: Kind::Process,
            spawned_by: Some(site.thread.clone()),
            gathered: child.gathered,
            prompt: child.prompt,
            ..self.row.as_ref().map(|row| Settings::of(&row.settings).for_child()).unwrap_or_default()
        };
        let about = settings.prompt.as_deref().unwrap_or("a subthread of yours").chars().take(200).collect::<String>();
        let mut drafts = vec![
            Draft::created(thread, &json!(settings)).only_if(Condition::FewerThreads(self.spawner.threads)),
            Draft::contact(&site.thread, label, thread, &about),
            Draft::spawned(&site.thread, Some(site.turn), thread, Some(label)).of_call(&site.call_id),
        ];
        let payload = child.payload.filter(|payload| !payload.trim().is_empty());
        drafts.extend(payload.map(|payload| Draft::message(thread, &site.thread, &payload)));
        drafts
    }

    /// The subthread that has had nothing to do for longest.
    async fn idle(&self, site: &CallSite) -> Result<Option<ThreadRow>, Failure> {
        let below = self.spawner.store.below(&site.space, &site.thread, None, 1000).await.map_err(unreadable)?;
        let idle = |row: &ThreadRow| {
            row.thread.parent().as_ref() == Some(&site.thread)
                && row.is_asleep()
                && !row.standing.archived
                && !self.put_aside.contains(&row.thread)
                && row.turn > 0
        };
        Ok(below.into_iter().filter(idle).min_by_key(|row| row.updated))
    }
}

fn archive(site: &CallSite, idle: &ThreadRow) -> [Draft; 2] {
    let attributes = [("id", Value::from(idle.thread.as_str()))];
    let told = Draft::feedback(&site.thread, Some(site.turn), Feedback::Archived, &attributes, "");
    [Draft::changed(&idle.thread, "thread", idle.thread.as_str(), json!({ "archived": true })), told]
}

fn refusal(site: &CallSite, given: &str, code: ErrorCode, text: &str) -> Output {
    let given: String = given.chars().take(100).collect();
    let error = Draft::thread_error(&site.thread, Some(site.turn), &given, code, text);
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
