//! A client's question to the log, checked: not too many tags, the log's epoch, a cursor that is not beyond its end.

use uuid::Uuid;

use super::limits::Limits;
use super::problem::{Problem, Slug};
use thinkd_log::query::Query;

/// A question with its tags as they are compared (blank ones and repetitions left out), if they are not too many.
pub fn within_tags(query: Query, limits: &Limits) -> Result<Query, String> {
    let tags = query.tags();
    let most = limits.filter_tags;
    if tags.len() > most {
        metrics::counter!("thinkd_limit_total", "limit" => "filter_tags").increment(1);
        let count = tags.len();
        return Err(format!(
            "a filter has at most {most} tags; this one has {count}"
        ));
    }
    Ok(Query {
        tags: tags.into_iter().collect(),
        ..query
    })
}

/// Refuses a position in another incarnation of the log: other events stand there.
pub fn check_epoch(given: Option<Uuid>, now: Uuid) -> Result<(), Problem> {
    match given {
        Some(given) if given != now => {
            let detail = format!("the log is {now} now, not {given}; read it anew (after 0)");
            Err(Problem::new(Slug::EpochChanged, detail))
        }
        _ => Ok(()),
    }
}
