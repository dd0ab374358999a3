//! A session recalls the memory of its space, and looks at the graph of its statements.

use super::handle::{Acted, Error, Session};
use super::right::Right;
use thinkd_recall::finder::{self, Found, GraphPart, Look, Question};
use thinkd_recall::held::Memory;
use thinkd_recall::memories::Other;
use thinkd_runtime::refused::Refused;

impl Session {
    /// Returns held statements that are relevant to a question.
    pub async fn recall(&self, question: &Question) -> Acted<Found> {
        let recall = self.runtime(Right::Read)?.recall();
        Ok(recall.recall(self.space(), question).await?)
    }

    /// Returns relevant notes, thoughts and frameworks, and the number of those without room.
    pub async fn recall_others(
        &self,
        question: &Question,
        among: &[Memory],
    ) -> Acted<(Vec<Other>, usize)> {
        let recall = self.runtime(Right::Read)?.recall();
        Ok(recall.others(self.space(), question, among).await?)
    }

    /// Returns the vectors that are in force in the space, for people.
    pub fn vectors(&self) -> Acted<String> {
        Ok(self.runtime(Right::Oversee)?.recall().vectors(self.space()))
    }

    /// Returns the graph around a name, or between two; none: no held statement names it.
    pub async fn look(&self, look: &Look) -> Acted<Option<GraphPart>> {
        let recall = self.runtime(Right::Read)?.recall();
        Ok(recall.look(self.space(), look).await?)
    }
}

impl From<finder::Error> for Error {
    fn from(error: finder::Error) -> Self {
        Self::Refused(match error {
            finder::Error::Store(error) => Refused::Store(error),
            finder::Error::Busy => Refused::Crowded(error.to_string()),
            other => Refused::Unprocessable(other.to_string()),
        })
    }
}
