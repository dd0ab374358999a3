//! Acts of a person on threads and submodules from outside: create, change, end. Each act is an
//! event.

use super::handle::Runtime;
use super::mailbox::PAGE;
use super::refused::Refused;
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::{Change, Submodule};
use thinkd_log::appended::{Append, Appended};
use thinkd_log::error::StoreError;
use thinkd_log::projections::submodules::SubmoduleRow;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::{Below, PARENT_ENDED};
use thinkd_thread::new_thread::{Ahead, NewThread, NotMade, ThreadLimits, ids};
use thinkd_words::id::{self, Name, Space, ThreadId};

/// Tries of a change where others change the same submodule at the same time.
const CHANGE_TRIES: u32 = 16;

impl Runtime {
    /// Creates a thread. The server assigns the id: the label, with a number where that is taken. Its parent is told.
    pub async fn create_thread(&self, space: &Space, new: NewThread) -> Result<ThreadRow, Refused> {
        self.open(space).await?;
        let options = &self.0.ground.options;
        let limits = ThreadLimits::new(&options.budget, options.tool_limits.threads);
        self.check_new(space, &new, &limits).await?;
        for (_, thread) in ids(new.parent.as_ref(), new.label.as_ref(), id::fresh())? {
            if self.store().thread(space, &thread).await?.is_some() {
                continue;
            }
            let drafts = limits.drafts(&new, &thread, None, Ahead::default());
            match self.append(space, drafts).await {
                Ok(_) => return self.0.ground.known_thread(space, &thread).await,
                Err(StoreError::Unmet(unmet)) => {
                    if let Some(why_not) = NotMade::by_append(&unmet, &new, &thread, &limits) {
                        return Err(why_not.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(NotMade::NoFreeId.into())
    }

    /// Checks that everything that a new thread names is there, and that there is room for it.
    async fn check_new(
        &self,
        space: &Space,
        new: &NewThread,
        limits: &ThreadLimits,
    ) -> Result<(), Refused> {
        let parent = match &new.parent {
            Some(parent) => Some(self.0.ground.known_thread(space, parent).await?),
            None => None,
        };
        limits.check(new, parent.as_ref(), Ahead::default())?;
        if let Some(submodules) = &new.settings.submodules {
            let known = self.store().submodules(space).await?;
            let is_new = |name: &&Name| !known.iter().any(|row| row.name == **name);
            if let Some(name) = submodules.iter().find(is_new) {
                return Err(Refused::NotFound(format!("submodule {name}")));
            }
        }
        for contact in &new.contacts {
            self.0.ground.known_thread(space, &contact.thread).await?;
        }
        Ok(())
    }

    /// Ends a thread (status `stopped`): its turn is cancelled, it takes no more messages. With
    /// `subtree` all threads below it end, too; without, they get the nearest living thread above
    /// as their parent. If very many threads know it or get another parent, they are told after the
    /// answer.
    pub async fn end(
        &self,
        space: &Space,
        thread: &ThreadId,
        subtree: bool,
    ) -> Result<ThreadRow, Refused> {
        let row = self.0.ground.known_thread(space, thread).await?;
        if thread.is_main() && !row.status.is_final() {
            return Err(Refused::Unprocessable(format!(
                "the thread {thread} does not end: who names no thread speaks to it. POST /threads/{thread}/cancel stops the turn that \
                 runs; to begin anew, speak in a thread of another id"
            )));
        }
        if row.status.is_final() {
            self.0.ends.end_the_rest(space, thread).await?;
            return Err(Refused::Ended(thread.clone()));
        }
        let kind = self.0.lease_loop.kind_of(thread);
        if let Some(kind) = kind.filter(|kind| kind.is_whole_thread()) {
            kind.cancel(space, &row, None).await?;
            return self.0.ground.known_thread(space, thread).await;
        }
        let below = if subtree { Below::End } else { Below::Stay };
        let ends = &self.0.ends;
        ends.end(space, thread, "ended from outside", below).await?;
        if subtree {
            // What a turn below made meanwhile ends with it.
            for row in self.store().descendants(space, thread, None, PAGE).await? {
                ends.end(space, &row.thread, PARENT_ENDED, below).await?;
            }
        }
        self.0.ground.known_thread(space, thread).await
    }

    /// Creates a submodule.
    pub async fn create_submodule(
        &self,
        space: &Space,
        name: &Name,
        submodule: Submodule,
    ) -> Result<SubmoduleRow, Refused> {
        self.open(space).await?;
        let limit = self.0.ground.options.tool_limits.submodules;
        let change = Change::Submodule(Some(submodule));
        let draft = Draft::set(&ThreadId::default(), name.as_str(), change);
        let draft = draft.only_if(Condition::NewSubmodule {
            name: name.clone(),
            most: limit as usize,
        });
        match self.append(space, vec![draft]).await {
            Ok(_) => self.submodule(space, name).await,
            Err(StoreError::Unmet(_)) => match self.submodule(space, name).await {
                Ok(_) => Err(Refused::Exists(format!("the submodule {name}"))),
                Err(Refused::NotFound(_)) => Err(Refused::TooMany {
                    what: "submodules in a space",
                    limit,
                }),
                Err(refused) => Err(refused),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Changes a submodule. A member that is absent stays as it is, also under other changes at the
    /// same time.
    pub async fn change_submodule(
        &self,
        space: &Space,
        name: &Name,
        prompt: Option<&str>,
        follow_up: Option<bool>,
    ) -> Result<SubmoduleRow, Refused> {
        self.open(space).await?;
        for _ in 0..CHANGE_TRIES {
            let now = self.submodule(space, name).await?;
            let change = Change::Submodule(Some(Submodule {
                prompt: prompt.unwrap_or(&now.prompt).to_owned(),
                follow_up: follow_up.unwrap_or(now.follow_up),
            }));
            let draft = Draft::set(&ThreadId::default(), name.as_str(), change)
                .only_if(Condition::PromptIs {
                    name: name.clone(),
                    prompt: now.prompt,
                })
                .only_if(Condition::FollowUpIs {
                    name: name.clone(),
                    follow_up: now.follow_up,
                });
            match self.append(space, vec![draft]).await {
                Ok(_) => return self.submodule(space, name).await,
                Err(StoreError::Unmet(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refused::Crowded(format!(
            "the submodule {name} is changed by others at this moment; send the change again"
        )))
    }

    async fn append(&self, space: &Space, drafts: Vec<Draft>) -> Result<Appended, StoreError> {
        self.store().append(Append::free(space, drafts)).await
    }

    /// Returns the submodule of that name.
    async fn submodule(&self, space: &Space, name: &Name) -> Result<SubmoduleRow, Refused> {
        let rows = self.store().submodules(space).await?;
        rows.into_iter()
            .find(|row| row.name == *name)
            .ok_or_else(|| Refused::NotFound(format!("submodule {name}")))
    }

    /// Returns the space's submodules by name; an unused space gets its first ones now.
    pub async fn submodules(&self, space: &Space) -> Result<Vec<SubmoduleRow>, Refused> {
        self.open(space).await?;
        Ok(self.store().submodules(space).await?)
    }

    /// Removes a submodule.
    pub async fn remove_submodule(&self, space: &Space, name: &Name) -> Result<(), Refused> {
        self.open(space).await?;
        let draft = Draft::set(&ThreadId::default(), name.as_str(), Change::Submodule(None));
        let draft = draft.only_if(Condition::HasSubmodule(name.clone()));
        match self.append(space, vec![draft]).await {
            Ok(_) => Ok(()),
            Err(StoreError::Unmet(_)) => Err(Refused::NotFound(format!("submodule {name}"))),
            Err(error) => Err(error.into()),
        }
    }
}
