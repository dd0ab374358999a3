//! People change a thread: its title, and whether it is put aside in their lists. A message takes
//! such a thread up again.

use super::append::append_told;
use super::ground::Ground;
use super::handle::Runtime;
use super::refused::Refused;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::Thread;
use thinkd_log::thread_row::ThreadRow;
use thinkd_thread::settings::Settings;
use thinkd_words::id::{Space, ThreadId};

/// Changes of a thread; a member that is absent stays as it is.
#[derive(Debug, Clone, Default)]
pub struct ThreadChange {
    /// The title; inside `None`: the thread has none.
    pub title: Option<Option<String>>,
    /// True: the thread is put aside.
    pub archived: Option<bool>,
}

impl Runtime {
    /// Changes a thread, and returns its row. A change that changes nothing stores nothing.
    pub async fn change_thread(
        &self,
        space: &Space,
        thread: &ThreadId,
        change: &ThreadChange,
        by: Option<&str>,
    ) -> Result<ThreadRow, Refused> {
        let Ground { store, mind, .. } = &self.0.ground;
        let row = self.0.ground.known_thread(space, thread).await?;
        check(&row, change)?;
        let title = change.title.as_ref().map(Option::as_deref);
        let titled = Settings::of(&row.settings).title;
        let title = title.filter(|title| *title != titled.as_deref());
        let archived = change.archived.filter(|it| *it != row.state.archived);
        if title.is_none() && archived.is_none() {
            return Ok(row);
        }
        let changed = Thread {
            title,
            archived,
            by,
            ..Thread::default()
        };
        let draft = Draft::set_thread(thread, changed);
        append_told(&**store, &mind.on_stored, space, vec![draft]).await?;
        self.0.ground.known_thread(space, thread).await
    }
}

fn check(row: &ThreadRow, change: &ThreadChange) -> Result<(), Refused> {
    let thread = &row.thread;
    if thread.is_of_runs() {
        let text =
            format!("{thread} is kept for runs of pipelines, which have the pipeline's name");
        return Err(Refused::Unprocessable(text));
    }
    // The parent counts its subthreads, and is told of one that is put aside.
    match (change.archived, row.parent()) {
        (Some(_), Some(parent)) => Err(Refused::Unprocessable(format!(
            "{thread} is a subthread: {parent} puts it aside when it needs room for another; end it \
             where it is wanted no more (POST /threads/{thread}/end)"
        ))),
        _ => Ok(()),
    }
}
