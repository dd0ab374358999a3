//! The submodules that a turn asked: each answers in a task of its own, and an answer after the deadline is late.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::{Id, JoinSet};

use crate::call::TurnPlace;
use crate::submodule::{Submodule, SubmoduleAnswer, SubmoduleRequest, Tally, ask_submodule};
use crate::turn_writer::TurnWriter;
use thinkd_event::draft::{Draft, When};
use thinkd_event::fact::Fact;
use thinkd_tasks::share::Processors;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::Name;

/// Submodules that were asked and have not answered yet.
pub(super) struct SubmoduleTasks {
    processors: Processors,
    tally: Arc<Tally>,
    place: TurnPlace,
    when: When,
    tasks: JoinSet<SubmoduleAnswer>,
    names: HashMap<Id, Name>,
}

impl SubmoduleTasks {
    pub fn new(processors: Processors, tally: Arc<Tally>, place: TurnPlace, when: When) -> Self {
        Self {
            processors,
            tally,
            place,
            when,
            tasks: JoinSet::new(),
            names: HashMap::new(),
        }
    }

    pub fn ask(&mut self, request: SubmoduleRequest, submodule: Submodule) {
        let name = submodule.name.clone();
        let answer = ask_submodule(request, submodule, self.when);
        let task = self
            .tasks
            .spawn(self.processors.of(&self.place.space, answer));
        self.names.insert(task.id(), name);
    }

    /// Returns the next answer, which is counted; of a submodule with a task that died, the
    /// failure. Cancel safe.
    pub async fn next(&mut self, is_late: bool) -> Option<SubmoduleAnswer> {
        match self.tasks.join_next_with_id().await? {
            Ok((id, answer)) => {
                self.names.remove(&id);
                self.tally.count(&self.place.space, &answer, is_late);
                Some(answer)
            }
            Err(error) => {
                let name = self.names.remove(&error.id())?;
                let text = format!("the voice {name} broke down: {error}");
                let failure = Failure::new(FailureKind::Internal, text);
                let told = self.place.failure(&Who::Submodule(name.clone()), &failure);
                let drafts = vec![told.when(self.when)];
                Some(SubmoduleAnswer { name, drafts })
            }
        }
    }

    pub fn silent(&self) -> impl Iterator<Item = &Name> {
        self.names.values()
    }
}

/// Appends answers after the deadline as late.
pub(super) async fn late_submodules(mut asked: SubmoduleTasks, writer: Arc<TurnWriter>) {
    while let Some(answer) = asked.next(true).await {
        // That it was not heard in time stands in the log already; that it never came is in the record of its call.
        let drafts = answer.drafts.into_iter().filter(|it| !is_timeout(it));
        let late = |draft: Draft| match draft.fact() {
            Fact::Call(_) => draft,
            _ => draft.when(When::Late),
        };
        write_beside(&writer, drafts.map(late).collect()).await;
    }
}

fn is_timeout(draft: &Draft) -> bool {
    matches!(draft.fact(), Fact::Failure(failed) if failed.problem.kind == FailureKind::Timeout.as_str())
}

pub(super) async fn write_beside(writer: &TurnWriter, drafts: Vec<Draft>) {
    if let Err(error) = writer.write_beside(drafts).await {
        tracing::warn!(%error, "what a voice said beside its turn is lost");
    }
}
