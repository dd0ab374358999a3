//! Threads that a model's name names: they are there, but for `main`. A slip of the pen makes no
//! thread; the answer names the threads that may be meant.

use strsim::damerau_levenshtein;

use super::asking::MODEL;
use crate::problem::{Problem, Slug};
use thinkd_session::handle::Session;
use thinkd_words::id::ThreadId;

/// Threads among which the nearest are looked for.
const LISTED: u32 = 500;
/// Most that are named.
const NAMED: usize = 3;

/// Refuses a thread that is not there.
pub async fn check(session: &Session, thread: &ThreadId) -> Result<(), Problem> {
    if thread.is_main() || session.thread(thread).await?.is_some() {
        return Ok(());
    }
    let rows = session.threads(None, LISTED).await?;
    let ids = rows.iter().map(|row| row.thread.as_str());
    let near = near(thread.as_str(), ids);
    let near = match near.is_empty() {
        true => String::new(),
        false => {
            let names = near.iter().map(|id| format!("{MODEL}/{id}"));
            format!("; there is {}", Vec::from_iter(names).join(", "))
        }
    };
    let detail = format!(
        "there is no thread {thread}{near}. A thread is made by a message without a thread \
         ({MODEL}), or by POST /threads"
    );
    Err(Problem::at(Slug::NotFound, "/model", detail))
}

/// Returns the ids that one may have been meant for: the nearest first.
fn near<'a>(wanted: &str, ids: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let most = wanted.chars().count().div_ceil(3);
    let mut near = Vec::from_iter(ids.map(|id| (damerau_levenshtein(wanted, id), id)));
    near.retain(|(distance, _)| *distance <= most);
    near.sort_unstable();
    near.truncate(NAMED);
    near.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_near_and_another_word_is_not() {
        let ids = ["main", "research", "reserch-2", "garden"];
        assert_eq!(near("reserach", ids.into_iter())[0], "research");
        assert_eq!(near("mian", ids.into_iter()), ["main"]);
        assert!(near("kitchen", ids.into_iter()).is_empty());
    }
}
