//! What a person does to threads and submodules from outside: create, change, end. Each act is an event.

use serde_json::{Value, json};

use super::handle::{NewContact, NewThread, Runtime};
use super::mailbox::PAGE;
use super::refused::{Refused, too_many_threads};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::log::store::{self, Append, SubmoduleRow, ThreadRow};
use crate::mind::submodule::Heard;
use crate::mind::turn::{Below, PARENT_ENDED};
use crate::tools::spawning::labels;
use crate::words::id::{MAIN, Name, Space, ThreadId};

impl Runtime {
    /// Creates a thread. The server assigns the id: the label, with a number where that is taken. Its parent is told.
    pub async fn create_thread(&self, space: &Space, new: NewThread) -> Result<ThreadRow, Refused> {
        self.open(space).await?;
        self.check_new(space, &new).await?;
        let settings = serde_json::to_value(&new.settings).unwrap_or_default();
        for label in labels(new.label.as_ref()) {
            let thread = match &new.parent {
                Some(parent) => parent.child(&label),
                None => ThreadId::parse(label.as_str()),
            };
            let thread = thread.map_err(|error| Refused::Unprocessable(error.to_string()))?;
            if thread.is_of_runs() || self.0.store.thread(space, &thread).await?.is_some() {
                continue;
            }
            let contact = |it: &NewContact| Draft::contact(&thread, &it.name, &it.thread, &it.description);
            let room = Condition::FewerSubthreads(self.0.options.budget.subthreads);
            let told = |parent: &ThreadId| Draft::spawned(parent, None, &thread, None).only_if(room);
            let mut drafts = vec![Draft::created(&thread, &settings).only_if(self.0.options.room_in_space())];
            drafts.extend(new.contacts.iter().map(contact));
            drafts.extend(new.parent.as_ref().map(told));
            match self.0.store.append(Append::free(space, drafts)).await {
                Ok(_) => return self.known_thread(space, &thread).await,
                Err(store::Error::Unmet(Condition::FewerSubthreads(_))) => return Err(self.too_many_subthreads()),
                Err(store::Error::Unmet(Condition::FewerThreads(limit))) => return Err(too_many_threads(limit)),
                Err(store::Error::Unmet(Condition::NotEnded)) => {
                    return Err(new.parent.map_or_else(|| Refused::Ended(thread), Refused::Ended));
                }
                // Somebody else has just taken the id.
                Err(store::Error::Unmet(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refused::Unprocessable("no free id was found for the label; choose another".into()))
    }

    /// Whether everything that a new thread names is there, and there is room for it.
    async fn check_new(&self, space: &Space, new: &NewThread) -> Result<(), Refused> {
        let budget = &self.0.options.budget;
        let is_main = new.parent.is_none() && new.label.as_ref().is_some_and(|label| label.as_str() == MAIN);
        if is_main && new.settings.is_process() {
            return Err(Refused::Unprocessable(format!(
                "{MAIN} is kept for the conversation that a message without a thread goes to; choose another label for a process"
            )));
        }
        if let Some(parent) = &new.parent {
            let row = self.known_thread(space, parent).await?;
            if parent.is_of_runs() {
                let text = format!("{parent} is kept for runs of pipelines, which have no subthreads");
                return Err(Refused::Unprocessable(text));
            }
            if row.status.is_final() {
                return Err(Refused::Ended(parent.clone()));
            }
            if u64::from(row.standing.subthreads) >= budget.subthreads {
                return Err(self.too_many_subthreads());
            }
            let depth = parent.as_str().split('.').count() as u64 + 1;
            if depth > budget.depth {
                let text = format!("threads may be nested {} deep (budget.depth)", budget.depth);
                return Err(Refused::Unprocessable(text));
            }
        }
        if let Some(voices) = &new.settings.submodules {
            let known = self.0.store.submodules(space).await?;
            if let Some(name) = voices.iter().find(|name| !known.iter().any(|row| row.name == **name)) {
                return Err(Refused::NotFound(format!("submodule {name}")));
            }
        }
        // A new thread has these contacts and no others.
        if new.contacts.len() as u64 > budget.contacts {
            let limit = u32::try_from(budget.contacts).unwrap_or(u32::MAX);
            return Err(Refused::TooMany { what: "contacts of a thread (budget.contacts)", limit });
        }
        for contact in &new.contacts {
            self.known_thread(space, &contact.thread).await?;
        }
        Ok(())
    }

    fn too_many_subthreads(&self) -> Refused {
        let limit = u32::try_from(self.0.options.budget.subthreads).unwrap_or(u32::MAX);
        Refused::TooMany { what: "subthreads of a thread that have not ended (budget.subthreads)", limit }
    }

    /// Ends a thread (status `stopped`): its turn is cancelled, it takes no more messages. With `subtree` all threads below it end,
    /// too; without, they get the nearest living thread above as their parent. Those who know it are told after the answer where they
    /// are very many, and so are those who get another parent.
    pub async fn end(&self, space: &Space, thread: &ThreadId, subtree: bool) -> Result<ThreadRow, Refused> {
        let row = self.known_thread(space, thread).await?;
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
        if thread.is_of_runs() {
            self.cancel_run(space, thread, None).await?;
            return self.known_thread(space, thread).await;
        }
        let below = if subtree { Below::End } else { Below::Stay };
        self.0.ends.end(space, thread, "ended from outside", below).await?;
        if subtree {
            // What a turn below made meanwhile ends with it.
            for row in self.0.store.below(space, thread, None, PAGE).await? {
                self.0.ends.end(space, &row.thread, PARENT_ENDED, below).await?;
            }
        }
        self.known_thread(space, thread).await
    }

    /// Creates a submodule (`create`) or gives one another prompt.
    pub async fn set_submodule(
        &self,
        space: &Space,
        name: &Name,
        prompt: &str,
        create: bool,
    ) -> Result<SubmoduleRow, Refused> {
        self.open(space).await?;
        let limit = self.0.options.submodules_max;
        let condition = match create {
            true => Condition::NewSubmodule { name: name.clone(), most: limit as usize },
            false => Condition::HasSubmodule(name.clone()),
        };
        let change = json!({ "prompt": prompt });
        let draft = Draft::changed(&ThreadId::default(), "submodule", name.as_str(), change).only_if(condition);
        let stored = self.0.store.append(Append::free(space, vec![draft])).await;
        let rows = self.0.store.submodules(space).await?;
        let known = rows.iter().any(|row| row.name == *name);
        match stored {
            Ok(_) => {}
            Err(store::Error::Unmet(_)) if create && known => {
                return Err(Refused::Exists(format!("the submodule {name}")));
            }
            Err(store::Error::Unmet(_)) if create => {
                return Err(Refused::TooMany { what: "submodules in a space", limit });
            }
            Err(store::Error::Unmet(_)) => return Err(Refused::NotFound(format!("submodule {name}"))),
            Err(error) => return Err(error.into()),
        }
        rows.into_iter().find(|row| row.name == *name).ok_or_else(|| Refused::NotFound(format!("submodule {name}")))
    }

    /// The space's voices by name; a space that nobody has used yet gets its first ones now.
    pub async fn submodules(&self, space: &Space) -> Result<Vec<SubmoduleRow>, Refused> {
        self.open(space).await?;
        Ok(self.0.store.submodules(space).await?)
    }

    /// What became of the times that this server asked a voice.
    pub fn heard(&self, space: &Space, name: &Name) -> Heard {
        self.0.tally.of(space, name)
    }

    /// Removes a submodule.
    pub async fn remove_submodule(&self, space: &Space, name: &Name) -> Result<(), Refused> {
        self.open(space).await?;
        let draft = Draft::changed(&ThreadId::default(), "submodule", name.as_str(), Value::Null);
        let draft = draft.only_if(Condition::HasSubmodule(name.clone()));
        match self.0.store.append(Append::free(space, vec![draft])).await {
            Ok(_) => Ok(()),
            Err(store::Error::Unmet(_)) => Err(Refused::NotFound(format!("submodule {name}"))),
            Err(error) => Err(error.into()),
        }
    }
}
