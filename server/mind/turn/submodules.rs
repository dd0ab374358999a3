//! The submodules that a turn asked: each answers in a task of its own, and an answer after the deadline is late.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::{Id, JoinError, JoinSet};

use crate::event::draft::{Draft, When};
use crate::event::fact::Fact;
use crate::mind::call::TurnPlace;
use crate::mind::submodule::{Submodule, SubmoduleAnswer, SubmoduleRequest, Tally, ask_submodule};
use crate::mind::turn_writer::TurnWriter;
use crate::tasks::share::Processors;
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::id::{Name, Space};

/// Submodules that were asked and have not answered yet.
pub(super) struct SubmoduleTasks {
    processors: Processors,
    space: Space,
    tasks: JoinSet<SubmoduleAnswer>,
    names: HashMap<Id, Name>,
}

impl SubmoduleTasks {
    pub fn new(processors: Processors, space: Space) -> Self {
        Self {
            processors,
            space,
            tasks: JoinSet::new(),
            names: HashMap::new(),
        }
    }

    pub fn ask(&mut self, request: SubmoduleRequest, submodule: Submodule, when: When) {
        let name = submodule.name.clone();
        let task = self.tasks.spawn(
            self.processors
                .of(&self.space, ask_submodule(request, submodule, when)),
        );
        self.names.insert(task.id(), name);
    }

    /// The next to have answered; a submodule whose task died is named. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<SubmoduleAnswer, (Name, JoinError)>> {
        let joined = self.tasks.join_next_with_id().await?;
        self.joined(joined)
    }

    fn joined(
        &mut self,
        joined: Result<(Id, SubmoduleAnswer), JoinError>,
    ) -> Option<Result<SubmoduleAnswer, (Name, JoinError)>> {
        match joined {
            Ok((id, answer)) => {
                self.names.remove(&id);
                Some(Ok(answer))
            }
            Err(error) => Some(Err((self.names.remove(&error.id())?, error))),
        }
    }

    pub fn silent(&self) -> impl Iterator<Item = &Name> {
        self.names.values()
    }
}

/// What comes after the deadline is appended as late.
pub(super) async fn late_submodules(
    mut asked: SubmoduleTasks,
    writer: Arc<TurnWriter>,
    place: TurnPlace,
    turn: u64,
    tally: Arc<Tally>,
) {
    while let Some(answer) = asked.next().await {
        if let Ok(answer) = &answer {
            tally.count(&place.space, answer, true);
        }
        let drafts = drafts_of(answer, &place, turn, When::InTime).into_iter();
        // That it was not heard in time stands in the log already; that it never came is in the record of its call.
        let drafts = drafts.filter(|draft| !is_timeout(draft));
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

pub(super) fn drafts_of(
    answer: Result<SubmoduleAnswer, (Name, JoinError)>,
    place: &TurnPlace,
    turn: u64,
    when: When,
) -> Vec<Draft> {
    match answer {
        Ok(answer) => answer.drafts,
        Err((name, error)) => {
            let failure = Failure::new(
                FailureKind::Internal,
                format!("the voice {name} broke down: {error}"),
            );
            vec![
                Draft::failure(&place.thread, Some(turn), &Who::Submodule(name), &failure)
                    .when(when),
            ]
        }
    }
}
