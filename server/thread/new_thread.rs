//! The making of a thread, the same for every maker. Here are the ids that it may have, the limits
//! that are checked before, the events that make it, and the conditions under which the append
//! stores them. A door looks up in the store the values that are asked for here, and appends.

use serde_json::json;
use uuid::Uuid;

use super::settings::Settings;
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::Fact;
use thinkd_event::fact::withdrawn::Withdrawn;
use thinkd_event::fork::{Forked, RANGES_MAX};
use thinkd_event::unshown::Back;
use thinkd_log::past::Past;
use thinkd_log::projections::contacts::ContactRow;
use thinkd_log::thread_row::ThreadRow;
use thinkd_words::budget::Budget;
use thinkd_words::id::{Label, MAIN, Name, ThreadId};

/// Characters of a subthread's prompt that its parent has as the contact's description.
const ABOUT_CHARS: usize = 200;

/// A contact that a new thread has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewContact {
    /// The new thread's name for it.
    pub name: Name,
    /// The thread.
    pub thread: ThreadId,
    /// A text about its work, its wants and its offers.
    pub description: String,
}

/// The wish for a new thread.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewThread {
    /// A suggestion for the last part of its id.
    pub label: Option<Label>,
    /// The thread it is created below.
    pub parent: Option<ThreadId>,
    /// Whom it can send to, besides its parent.
    pub contacts: Vec<NewContact>,
    /// Everything else.
    pub settings: Settings,
    /// The past that it begins with, of a fork.
    pub forked: Option<Forked>,
    /// Inputs of that past that were taken back since.
    pub taken_back: Vec<Back>,
}

/// The turn that makes a subthread by a tool call. Its thread gets the new one as a contact; over
/// HTTP no thread does.
#[derive(Debug, Clone, Copy)]
pub struct Maker<'a> {
    /// The turn.
    pub turn: u64,
    /// The call.
    pub call_id: &'a str,
    /// The parent's name for it.
    pub name: &'a Name,
}

/// Changes by the append that makes a thread, before it makes the thread: rows do not have them
/// yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ahead {
    /// Threads that it makes.
    pub made: u64,
    /// Idle subthreads of the same parent that it puts aside.
    pub put_aside: u64,
}

/// The limits on threads: their depth, subthreads, contacts and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadLimits {
    /// `budget.depth`: names in an id.
    pub depth: u64,
    /// `budget.subthreads`: those of one thread that have not ended.
    pub subthreads: u64,
    /// Contacts of one thread.
    pub contacts: u64,
    /// Threads of a space that have not ended.
    pub threads: u64,
}

/// Why a thread is not made. Each door says it in its own words: to a client, or to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotMade {
    /// A process cannot have the id `main`.
    Main,
    /// Runs of pipelines have no subthreads.
    OfRuns(ThreadId),
    /// The parent has ended.
    Ended(ThreadId),
    /// So deep threads may be nested.
    Depth(u64),
    /// So many subthreads a thread may have that have not ended.
    Subthreads(u64),
    /// So many contacts a thread may have.
    Contacts(u64),
    /// So many threads a space may have that have not ended.
    Threads(u64),
    /// A fork of a fork of a fork …: its past would have too many ranges.
    Ranges,
    /// The label makes no id, and why.
    Id(String),
    /// All ids that go with the label are taken.
    NoFreeId,
}

impl ThreadLimits {
    /// By the budget, and by the threads of a space.
    pub fn new(budget: &Budget, threads: u64) -> Self {
        Self {
            depth: budget.depth,
            subthreads: budget.subthreads,
            contacts: budget.contacts,
            threads,
        }
    }

    /// Checks everything that the parent's row and the wish itself say. The append checks again the
    /// parts that may change until then.
    pub fn check(
        &self,
        new: &NewThread,
        parent: Option<&ThreadRow>,
        ahead: Ahead,
    ) -> Result<(), NotMade> {
        if new.parent.is_none()
            && new.settings.is_process()
            && new.label.as_ref().is_some_and(|it| it.as_str() == MAIN)
        {
            return Err(NotMade::Main);
        }
        if let Some(row) = parent {
            if row.thread.is_of_runs() {
                return Err(NotMade::OfRuns(row.thread.clone()));
            }
            if row.status.is_final() {
                return Err(NotMade::Ended(row.thread.clone()));
            }
            if u64::from(row.state.subthreads) >= self.room_for_subthreads(ahead) {
                return Err(NotMade::Subthreads(self.subthreads));
            }
            if row.thread.as_str().split('.').count() as u64 >= self.depth {
                return Err(NotMade::Depth(self.depth));
            }
        }
        let forked = new.forked.as_ref();
        if forked.is_some_and(|forked| forked.ranges.len() > RANGES_MAX) {
            return Err(NotMade::Ranges);
        }
        self.check_contacts(new.contacts.len() as u64)
    }

    /// Checks that a thread may have so many contacts.
    pub fn check_contacts(&self, contacts: u64) -> Result<(), NotMade> {
        if contacts > self.contacts {
            Err(NotMade::Contacts(self.contacts))
        } else {
            Ok(())
        }
    }

    /// The events that make the thread under this id, and tell its parent.
    pub fn drafts(
        &self,
        new: &NewThread,
        thread: &ThreadId,
        maker: Option<Maker<'_>>,
        ahead: Ahead,
    ) -> Vec<Draft> {
        let room = Condition::FewerThreads(self.threads.saturating_sub(ahead.made));
        let settings = json!(new.settings);
        let created = match &new.forked {
            Some(forked) => Draft::forked(thread, &settings, forked.clone()),
            None => Draft::created(thread, &settings),
        };
        let mut drafts = vec![created.only_if(room)];
        for it in &new.contacts {
            drafts.push(Draft::contact(
                thread,
                &it.name,
                &it.thread,
                &it.description,
            ));
        }
        let forked = new.forked.as_ref();
        drafts.extend(new.taken_back.iter().map(|back| {
            let withdrawn = Withdrawn {
                from: back.from,
                input: back.input,
                user: None,
                turns: back.turns,
            };
            Fact::Withdrawn(withdrawn).encode(thread)
        }));
        let left = forked.filter(|forked| !forked.left.is_empty());
        drafts.extend(left.map(|forked| Draft::told_forked(thread, forked)));
        let Some(parent) = &new.parent else {
            return drafts;
        };
        if let Some(maker) = maker {
            let prompt = new.settings.prompt.as_deref();
            let about = prompt.unwrap_or("a subthread of yours").chars();
            let about: String = about.take(ABOUT_CHARS).collect();
            drafts.push(Draft::contact(parent, maker.name, thread, &about));
        }
        let turn = maker.map(|it| it.turn);
        let name = maker.map(|it| it.name);
        let room = Condition::FewerSubthreads(self.room_for_subthreads(ahead));
        let told = Draft::spawned(parent, turn, thread, name).only_if(room);
        drafts.push(match maker {
            Some(maker) => told.of_call(maker.call_id),
            None => told,
        });
        drafts
    }

    /// Returns the most subthreads that the row may count, with one more to be made: the changes of
    /// the same append are not in it.
    fn room_for_subthreads(&self, ahead: Ahead) -> u64 {
        self.subthreads
            .saturating_add(ahead.put_aside)
            .saturating_sub(ahead.made)
    }
}

impl NewThread {
    /// Returns a fork with this past.
    pub fn with_past(past: Past) -> Self {
        let contact = |it: ContactRow| NewContact {
            name: it.name,
            thread: it.target,
            description: it.description,
        };
        Self {
            label: None,
            parent: None,
            contacts: past.contacts.into_iter().map(contact).collect(),
            settings: Settings {
                // Of a gathering, and of the thread that made it, a fork is no part.
                gathered: None,
                spawned_by: None,
                ..Settings::of(&past.settings)
            },
            forked: Some(past.forked),
            taken_back: past.taken_back,
        }
    }
}

impl NotMade {
    /// Returns the reason for which the append did not store a new thread. None: another thread
    /// took its id, and another id may do.
    pub fn by_append(
        unmet: &Condition,
        new: &NewThread,
        thread: &ThreadId,
        limits: &ThreadLimits,
    ) -> Option<Self> {
        match unmet {
            Condition::FewerSubthreads(_) => Some(Self::Subthreads(limits.subthreads)),
            Condition::FewerThreads(_) => Some(Self::Threads(limits.threads)),
            Condition::NotEnded => Some(Self::Ended(new.parent.as_ref().unwrap_or(thread).clone())),
            _ => None,
        }
    }
}

/// Returns the ids to try for a new thread, with the name that its maker has for each: its label,
/// then the label with numbers. A thread without a label has a short one that is made of `drawn`.
/// Ids of runs of pipelines are left out.
pub fn ids(
    parent: Option<&ThreadId>,
    label: Option<&Label>,
    drawn: Uuid,
) -> Result<Vec<(Name, ThreadId)>, NotMade> {
    let short = || format!("t-{}", &drawn.simple().to_string()[20..]);
    let stem = label.map_or_else(short, |label| label.as_str().to_owned());
    let head = &stem[..stem.len().min(28)];
    let numbered = (2..100).map(|number| format!("{head}-{number}"));
    let labels = std::iter::once(stem.clone())
        .chain(numbered)
        .filter_map(|label| Label::parse(&label).ok());
    let mut ids = Vec::new();
    for label in labels {
        let thread = match parent {
            Some(parent) => parent.child(&label),
            None => ThreadId::parse(label.as_str()),
        };
        match thread {
            Ok(thread) if thread.is_of_runs() => {}
            Ok(thread) => ids.push((label.name(), thread)),
            Err(error) if ids.is_empty() => return Err(NotMade::Id(error.to_string())),
            // Only with a number it is too long.
            Err(_) => break,
        }
    }
    Ok(ids)
}
