//! An operator withdraws a statement, without a trial.

use super::{TRIES, Trials, contesting, settling, word};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::fact::statement::Trials as Said;
use crate::event::statement::{Judged, Outcome, Status};
use crate::log::error::StoreError;
use crate::log::projections::statements::StatementRow;
use crate::runtime::refused::Refused;
use crate::words::id::Space;

impl Trials {
    /// An operator withdraws a statement, without a trial, and all that stands on it: in as many appends as that takes, the word on the statement in the
    /// last. Trials go on meanwhile: what they come to hold, is looked at, too.
    pub async fn retract(
        &self,
        space: &Space,
        id: &str,
        reason: String,
        by: &str,
    ) -> Result<StatementRow, Refused> {
        let unknown = || {
            Refused::NotFound(format!(
                "statement {:?}",
                id.chars().take(60).collect::<String>()
            ))
        };
        let mut overtaken = 0;
        while overtaken < TRIES {
            let seq = self.store.head(space).await?.seq;
            let row = self.store.statement(space, id).await?.ok_or_else(unknown)?;
            if row.status == Status::Retracted {
                return Err(Refused::Settled(format!(
                    "the statement {id} is retracted already"
                )));
            }
            let judged = word(&row, Outcome::Is(Status::Retracted), reason.clone());
            let judged = Judged {
                by: Some(by.to_owned()),
                ..judged
            };
            let mut parts =
                settling::parts(settling::consequences(&*self.store, space, &row, &judged).await?);
            let is_last = parts.len() == 1;
            let (mut part, forms) = self.with_merges(space, parts.swap_remove(0)).await?;
            let names = self.store.names(space, None).await?;
            let quiet = Condition::NoneHeldSince {
                seq,
                about: contesting::about(&names, &row),
            };
            part.first_mut()
                .into_iter()
                .for_each(|draft| draft.conditions.push(quiet.clone()));
            // Threads are to be told of it.
            part.push(Draft::trials(Said::Due));
            match self.append(space, part).await {
                Err(StoreError::Unmet(_)) => overtaken += 1,
                Err(error) => return Err(error.into()),
                Ok(()) => {
                    self.contest_anew(space, &forms).await?;
                    if is_last {
                        return self.store.statement(space, id).await?.ok_or_else(unknown);
                    }
                }
            }
        }
        Err(Refused::Unprocessable(format!(
            "the statement {id} changes all the time: try again"
        )))
    }
}
