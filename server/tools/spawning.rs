//! The creation of subthreads by tools, and the next step of a sequence. The core assigns the id of a subthread; a label is a wish.

use serde_json::json;

use super::contacts::{PARENT, SELF, known};
use super::supplies::Supplies;
use super::tool::{CallSite, Output};
use thinkd_event::draft::Draft;
use thinkd_event::fork::RANGES_MAX;
use thinkd_event::gather::Gather;
use thinkd_event::process::ErrorCode;
use thinkd_log::past::Past;
use thinkd_log::thread_row::ThreadRow;
use thinkd_thread::new_thread::{Ahead, Maker, NewThread, NotMade, ThreadLimits, ids};
use thinkd_thread::settings::{Gathered, Kind, Settings};
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{self, Label, Name, ThreadId};

/// Makes subthreads.
#[derive(Clone)]
pub struct Spawner(pub Supplies);

impl Spawner {
    /// Refuses a prompt for a subthread that is longer than a client's text may be: it stands in every request of that thread.
    pub fn check_prompt(&self, prompt: Option<&str>) -> Result<(), Failure> {
        let bytes = prompt.map_or(0, str::len);
        let most = self.0.limits.text_bytes;
        if bytes <= most {
            return Ok(());
        }
        let text = format!(
            "a prompt has at most {most} bytes (limits.text_bytes); this one has {bytes}: put what is long into the first message"
        );
        Err(Failure::new(FailureKind::Tool, text))
    }

    fn limits(&self) -> ThreadLimits {
        ThreadLimits::new(&self.0.budget, self.0.limits.threads)
    }

    /// Begins with the subthreads that the thread's rows know.
    pub async fn begin(&self, site: &CallSite) -> Result<Spawning, Failure> {
        let store = &self.0.store;
        let row = store.thread(&site.space, &site.thread).await?;
        let contacts = known(store, site).await?;
        let living = store.living(&site.space).await?;
        Ok(Spawning {
            spawner: self.clone(),
            row,
            contacts: contacts.into_keys().collect(),
            living,
            made: Vec::new(),
            put_aside: Vec::new(),
        })
    }
}

/// A subthread to be.
pub struct Child<'a> {
    /// A wish for the last part of its id.
    pub label: Option<&'a str>,
    /// Its purpose.
    pub prompt: Option<String>,
    /// Its first message.
    pub payload: Option<String>,
    /// Its gathering, and its number there.
    pub gathered: Option<Gathered>,
    /// The past that it begins with; none: it begins anew.
    pub past: Option<Past>,
}

/// The subthreads that are there already, and those that one call adds to them.
pub struct Spawning {
    spawner: Spawner,
    row: Option<ThreadRow>,
    /// The names by which the thread knows others, the new ones included.
    contacts: Vec<Name>,
    /// Threads of the space that have not ended, without the new ones.
    living: u64,
    made: Vec<ThreadId>,
    put_aside: Vec<ThreadId>,
}

impl Spawning {
    /// The new thread and the events that make it, or why it cannot be made.
    pub async fn spawn(
        &mut self,
        site: &CallSite,
        child: Child<'_>,
    ) -> Result<Result<(ThreadId, Vec<Draft>), Output>, Failure> {
        let given = child.label.unwrap_or("");
        let made = match child.label.map(Label::parse).transpose() {
            Ok(label) => self.make(site, label, &child).await?,
            Err(error) => Err((ErrorCode::InvalidLabel, error.to_string())),
        };
        Ok(made.map_err(|(code, text)| refusal(site, given, code, &text)))
    }

    async fn make(
        &mut self,
        site: &CallSite,
        label: Option<Label>,
        child: &Child<'_>,
    ) -> Result<Result<(ThreadId, Vec<Draft>), (ErrorCode, String)>, Failure> {
        let new = match &child.past {
            Some(past) => NewThread::with_past(past.clone()),
            None => NewThread {
                settings: self.settings(site, child),
                ..NewThread::default()
            },
        };
        let new = NewThread {
            label,
            parent: Some(site.thread.clone()),
            settings: Settings {
                spawned_by: Some(site.thread.clone()),
                ..new.settings
            },
            ..new
        };
        let mut drafts = Vec::new();
        let mut aside = None;
        let mut checked = self.check(&new);
        if let Err(NotMade::Subthreads(_)) = checked {
            aside = self.idle(site).await?;
            if let Some(idle) = &aside {
                drafts.extend(Draft::archived(&idle.thread, &site.thread, site.turn));
                self.put_aside.push(idle.thread.clone());
                checked = self.check(&new);
            }
        }
        let found = match checked {
            Ok(()) => self.free_id(site, new.label.as_ref()).await?,
            Err(why_not) => Err(said(why_not)),
        };
        let no_room = |failure: Failure| (ErrorCode::SubthreadLimit, failure.text);
        let taken = found.and_then(|found| {
            let taken = site.so_far.purse.take_thread();
            taken.map_err(no_room).map(|()| found)
        });
        let (name, thread) = match taken {
            Ok(found) => found,
            Err(why) => {
                aside.iter().for_each(|_| drop(self.put_aside.pop()));
                return Ok(Err(why));
            }
        };
        let maker = Maker {
            turn: site.turn,
            call_id: &site.call_id,
            name: &name,
        };
        let limits = self.spawner.limits();
        drafts.extend(limits.drafts(&new, &thread, Some(maker), self.ahead()));
        let payload = child.payload.as_deref();
        let payload = payload.filter(|payload| !payload.trim().is_empty());
        drafts.extend(payload.map(|payload| Draft::message(&thread, &site.thread, payload)));
        self.made.push(thread.clone());
        self.contacts.push(name);
        Ok(Ok((thread, drafts)))
    }

    /// Returns the threads that the append of this call makes and puts aside before it makes one
    /// more.
    fn ahead(&self) -> Ahead {
        Ahead {
            made: self.made.len() as u64,
            put_aside: self.put_aside.len() as u64,
        }
    }

    /// Checks the limits that every door checks, and that the space has room: a turn's append is
    /// not refused for a cause that can be seen before.
    fn check(&self, new: &NewThread) -> Result<(), NotMade> {
        let limits = self.spawner.limits();
        let ahead = self.ahead();
        limits.check(new, self.row.as_ref(), ahead)?;
        // The thread knows the new one, too.
        limits.check_contacts(self.contacts.len() as u64 + 1)?;
        if self.living + ahead.made >= limits.threads {
            Err(NotMade::Threads(limits.threads))
        } else {
            Ok(())
        }
    }

    /// Returns an id that no thread has, with a last part that has no meaning to the thread yet:
    /// that is its name for the new one.
    async fn free_id(
        &self,
        site: &CallSite,
        label: Option<&Label>,
    ) -> Result<Result<(Name, ThreadId), (ErrorCode, String)>, Failure> {
        let Supplies { store, budget, .. } = &self.spawner.0;
        let most = budget.sends;
        let row = self.row.as_ref();
        let sends = row.map_or(0, |row| u64::from(row.state.sends));
        if sends + self.made.len() as u64 >= most {
            let text = format!(
                "not made: the thread has made subthreads and sent messages {most} times, and may do so no more before something \
                 comes from outside"
            );
            return Ok(Err((ErrorCode::SendLimit, text)));
        }
        let ids = match ids(Some(&site.thread), label, id::fresh()) {
            Ok(ids) => ids,
            Err(why_not) => return Ok(Err(said(why_not))),
        };
        for (name, thread) in ids {
            let means_somebody =
                self.contacts.contains(&name) || [PARENT, SELF].contains(&name.as_str());
            let is_taken = means_somebody
                || self.made.contains(&thread)
                || store.thread(&site.space, &thread).await?.is_some();
            if !is_taken {
                return Ok(Ok((name, thread)));
            }
        }
        Ok(Err(said(NotMade::NoFreeId)))
    }

    /// Gives back the threads that were to be made: they are not made after all.
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
        let Some((index, text)) = gather.next() else {
            return Ok(Ok(Vec::new()));
        };
        let label = format!("{id}-{index}");
        let begun = Gathered {
            id: id.to_owned(),
            index,
        };
        let tried = Label::parse(&label)
            .ok()
            .and_then(|label| ids(Some(&site.thread), Some(&label), id::fresh()).ok());
        for (_, child) in tried.into_iter().flatten() {
            // A thread of that name may be anybody's: then the step has another one.
            let Some(row) = self.spawner.0.store.thread(&site.space, &child).await? else {
                break;
            };
            if Settings::of(&row.settings).gathered.as_ref() == Some(&begun) {
                // Begun already, by a turn that left its mailbox as it was.
                return Ok(Ok(Vec::new()));
            }
        }
        let before = index.checked_sub(1);
        let before = before.and_then(|before| gather.results.get(&before));
        let payload = match before {
            Some(back) => format!("{text}\n\n{}", back.text),
            None => text.to_owned(),
        };
        let child = Child {
            label: Some(&label),
            prompt: gather.prompt.clone(),
            payload: Some(payload),
            gathered: Some(begun),
            past: None,
        };
        Ok(self.spawn(site, child).await?.map(|(_, drafts)| drafts))
    }

    fn settings(&self, site: &CallSite, child: &Child<'_>) -> Settings {
        let row = self.row.as_ref();
        let own = row.map(|row| Settings::of(&row.settings).for_child());
        Settings {
            kind: Kind::Process,
            spawned_by: Some(site.thread.clone()),
            gathered: child.gathered.clone(),
            prompt: child.prompt.clone(),
            ..own.unwrap_or_default()
        }
    }

    /// The subthread that has had nothing to do for longest.
    async fn idle(&self, site: &CallSite) -> Result<Option<ThreadRow>, Failure> {
        let store = &self.spawner.0.store;
        let below = store.descendants(&site.space, &site.thread, None, 1000);
        let below = below.await?;
        let idle = |row: &ThreadRow| {
            row.thread.parent().as_ref() == Some(&site.thread)
                && row.is_asleep()
                && !row.state.archived
                && !self.put_aside.contains(&row.thread)
                && row.turn > 0
        };
        Ok(below.into_iter().filter(idle).min_by_key(|row| row.updated))
    }
}

fn refusal(site: &CallSite, given: &str, code: ErrorCode, text: &str) -> Output {
    let given: String = given.chars().take(100).collect();
    let error = Draft::thread_error(&site.thread, Some(site.turn), &given, code, text);
    let kind = match code {
        ErrorCode::InvalidLabel => FailureKind::Tool,
        _ => FailureKind::Budget,
    };
    let failure = Failure::new(kind, text).with(json!({ "reason": code.as_str() }));
    Output::failed(vec![error], failure)
}

/// Why a subthread is not made, as the model that wanted it is told.
fn said(why_not: NotMade) -> (ErrorCode, String) {
    match why_not {
        NotMade::Ended(_) => (
            ErrorCode::UnknownThread,
            "not made: this thread has ended".to_owned(),
        ),
        NotMade::Depth(most) => {
            let text = format!(
                "threads may be nested {most} deep (budget.depth); do it here, or in a thread further up"
            );
            (ErrorCode::DepthLimit, text)
        }
        NotMade::Subthreads(most) => {
            let text = format!(
                "there are {most} subthreads at work already (budget.subthreads); wait until one ends"
            );
            (ErrorCode::SubthreadLimit, text)
        }
        NotMade::Contacts(most) => {
            let text = format!(
                "not made: a subthread is a contact, and there are {most} contacts already; disconnect some"
            );
            (ErrorCode::SubthreadLimit, text)
        }
        NotMade::Threads(most) => {
            let text = format!(
                "not made: there are {most} threads at work in the whole mind; end some that are not needed"
            );
            (ErrorCode::SubthreadLimit, text)
        }
        NotMade::Id(_) => (
            ErrorCode::InvalidLabel,
            "the id would be too long; use a shorter label".to_owned(),
        ),
        NotMade::Ranges => {
            let text = format!(
                "not made: its past would have more than {RANGES_MAX} ranges of other threads' events; make a subthread that begins anew"
            );
            (ErrorCode::DepthLimit, text)
        }
        NotMade::Main | NotMade::OfRuns(_) | NotMade::NoFreeId => (
            ErrorCode::InvalidLabel,
            "no free id was found for the label; choose another".to_owned(),
        ),
    }
}
