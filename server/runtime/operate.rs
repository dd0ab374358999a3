//! What a person does to threads and submodules from outside: create, change, end. Each act is an event.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{NewThread, Refused, Runtime};
use crate::event::Draft;
use crate::id::{self, Name, Space, ThreadId};
use crate::store::{self, Append, Appended, Status, SubmoduleRow, ThreadRow};
use crate::turn::driver::Why;

impl Runtime {
    /// Ends a thread (status `stopped`): its turn is cancelled, it takes no more messages.
    pub async fn end(&self, space: &Space, thread: &ThreadId) -> Result<ThreadRow, Refused> {
        let row = self.known_thread(space, thread).await?;
        if row.status.is_final() {
            return Err(Refused::Ended(thread.clone()));
        }
        if thread.is_of_runs() {
            self.cancel_run(space, thread, None).await?;
            return self.known_thread(space, thread).await;
        }
        let change = json!({ "status": Status::Stopped.as_str() });
        let ended = Draft::changed(thread, "thread", thread.as_str(), change);
        self.0.store.append(Append::free(space, vec![ended])).await?;
        self.stop_turn(space, thread, Why::Cancel);
        self.hint_status(space, thread, Status::Stopped, 0);
        self.known_thread(space, thread).await
    }

    /// Creates a conversation. The server assigns the id: the label, with a number where that is taken.
    pub async fn create_thread(&self, space: &Space, new: NewThread) -> Result<ThreadRow, Refused> {
        self.open(space).await?;
        if let Some(parent) = &new.parent {
            self.known_thread(space, parent).await?;
        }
        if let Some(voices) = &new.settings.submodules {
            let known = self.0.store.submodules(space).await?;
            if let Some(name) = voices.iter().find(|name| !known.iter().any(|row| row.name == **name)) {
                return Err(Refused::NotFound(format!("submodule {name}")));
            }
        }
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
            // Two who create the same id at once: the id of the event is made from it, so that one of them finds it taken.
            let id = id::part_of(Uuid::nil(), 0);
            let id = Uuid::new_v5(&id, format!("thread {space} {thread}").as_bytes());
            let created =
                Draft::changed(&thread, "thread", thread.as_str(), json!({ "settings": settings })).with_id(id);
            match self.0.store.append(Append::free(space, vec![created])).await {
                Ok(Appended::Stored(placed)) if placed.iter().all(|placed| !placed.duplicate) => {
                    return self.known_thread(space, &thread).await;
                }
                Ok(_) | Err(store::Error::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refused::Unprocessable("no free id was found for the label; choose another".into()))
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
        let rows = self.0.store.submodules(space).await?;
        let known = rows.iter().any(|row| row.name == *name);
        let limit = self.0.options.submodules_max;
        match (create, known) {
            (true, true) => return Err(Refused::Exists(format!("the submodule {name}"))),
            (false, false) => return Err(Refused::NotFound(format!("submodule {name}"))),
            (true, false) if rows.len() >= limit as usize => {
                return Err(Refused::TooMany { what: "submodules in a space", limit });
            }
            _ => {}
        }
        let change = json!({ "prompt": prompt });
        let draft = Draft::changed(&ThreadId::default(), "submodule", name.as_str(), change);
        self.0.store.append(Append::free(space, vec![draft])).await?;
        let rows = self.0.store.submodules(space).await?;
        rows.into_iter().find(|row| row.name == *name).ok_or_else(|| Refused::NotFound(format!("submodule {name}")))
    }

    /// The space's voices by name; a space that nobody has used yet gets its first ones now.
    pub async fn submodules(&self, space: &Space) -> Result<Vec<SubmoduleRow>, Refused> {
        self.open(space).await?;
        Ok(self.0.store.submodules(space).await?)
    }

    /// Removes a submodule.
    pub async fn remove_submodule(&self, space: &Space, name: &Name) -> Result<(), Refused> {
        self.open(space).await?;
        if !self.0.store.submodules(space).await?.iter().any(|row| row.name == *name) {
            return Err(Refused::NotFound(format!("submodule {name}")));
        }
        let draft = Draft::changed(&ThreadId::default(), "submodule", name.as_str(), Value::Null);
        self.0.store.append(Append::free(space, vec![draft])).await?;
        Ok(())
    }
}

/// Ids to try for a label: itself, then with numbers.
fn labels(label: Option<&Name>) -> Vec<Name> {
    let drawn = || format!("t-{}", &id::fresh().simple().to_string()[20..]);
    let stem = label.map_or_else(drawn, |label| label.as_str().to_owned());
    let short = &stem[..stem.len().min(28)];
    let numbered = (2..100).map(|number| format!("{short}-{number}"));
    std::iter::once(stem.clone()).chain(numbered).filter_map(|label| Name::parse(&label).ok()).collect()
}
