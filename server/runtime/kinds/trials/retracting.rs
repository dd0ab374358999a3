//! An operator withdraws a statement, without a trial.

use super::entities::contest_anew;
use super::journal::{under, word};
use super::merging::with_merges;
use super::settling::{consequences, parts};
use super::{TRIES, Trials};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::fact::statement::Trials as Said;
use crate::event::statement::{Judged, Outcome, Status};
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
            let id: String = id.chars().take(60).collect();
            Refused::NotFound(format!("statement {id:?}"))
        };
        let (journal, store) = (self.journal(space), &self.ground.store);
        let mut overtaken = 0;
        while overtaken < TRIES {
            let seq = store.head(space).await?.seq;
            let row = journal.statement(id).await?.ok_or_else(unknown)?;
            if row.status == Status::Retracted {
                let why = format!("the statement {id} is retracted already");
                return Err(Refused::Settled(why));
            }
            let judged = Judged {
                by: Some(by.to_owned()),
                ..word(&row, Outcome::Is(Status::Retracted), reason.clone())
            };
            let mut parts = parts(consequences(journal, &row, &judged).await?);
            let is_last = parts.len() == 1;
            let part = parts.swap_remove(0);
            let (mut part, forms) = with_merges(journal, self.memory(), part).await?;
            let names = store.names(space, None).await?;
            let triple = row.triple.as_ref();
            let about = triple.map(|it| (names.forms(&it.subject), it.relation.clone()));
            under(&mut part, [Condition::NoneHeldSince { seq, about }]);
            // Threads are to be told of it.
            part.push(Draft::trials(Said::Due));
            if !journal.is_appended(part).await? {
                overtaken += 1;
                continue;
            }
            contest_anew(journal, &forms).await?;
            if is_last {
                return journal.statement(id).await?.ok_or_else(unknown);
            }
        }
        let why = format!("the statement {id} changes all the time: try again");
        Err(Refused::Unprocessable(why))
    }
}
