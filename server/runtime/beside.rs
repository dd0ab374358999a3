//! Calls of a model beside the turns of a thread: a title for it, and the small questions of chat
//! pages. They are answered outside of the log; a record says their cost.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::ground::Ground;
use super::handle::Runtime;
use super::refused::Refused;
use super::thread_change::ThreadChange;
use thinkd_event::envelope::{Event, tag};
use thinkd_log::appended::Append;
use thinkd_log::query::{Order, Query};
use thinkd_mind::call::{Beside, Ended, TurnPlace, Until};
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{Space, ThreadId};

/// Most characters of a title.
pub const TITLE_MAX: usize = 200;
/// Messages that a title is made from, and characters of each.
const TITLED_BY: u32 = 4;
const MESSAGE_CHARS: usize = 600;
/// Most characters of a title that a model makes.
const SUGGESTED_MAX: usize = 60;

const TITLE: &str = "Write a title for this conversation: at most six words, in its language, \
                     without quotes and without a full stop. Answer with the title alone.";

impl Runtime {
    /// Asks the model of the tier `low`, and returns its words. The record of the call, which the
    /// usage counts, stands in the thread; its words stand nowhere.
    pub async fn ask_beside(
        &self,
        (space, thread): (&Space, &ThreadId),
        asked: Beside<'_>,
        stop: &CancellationToken,
    ) -> Result<String, Refused> {
        self.open(space).await?;
        let Ground {
            store,
            mind,
            quotas,
            ..
        } = &self.0.ground;
        let place = TurnPlace {
            space: space.clone(),
            thread: thread.clone(),
            turn: 0,
            purse: quotas.open(space, thread, None, false),
        };
        let ready = mind.client.prepare_beside(&place, asked).await?;
        let until = Until::ms(mind.options.decision_timeout_ms);
        let ended = mind.client.ask(&ready, until, stop, |_| {}).await;
        let record = ready.record(&place, &ended, json!({}));
        store.append(Append::free(space, vec![record])).await?;
        match ended {
            Ended::Answered(answer) => Ok(answer.text),
            Ended::Failed(failure) => Err(refused(&failure)),
            Ended::Stopped => Err(Refused::Crowded("the call was stopped".into())),
        }
    }

    /// Gives a thread a title that the model of the tier `low` makes of its first messages, and
    /// returns it.
    pub async fn suggest_title(
        &self,
        (space, thread): (&Space, &ThreadId),
        by: Option<&str>,
        stop: &CancellationToken,
    ) -> Result<String, Refused> {
        self.0.ground.known_thread(space, thread).await?;
        let first = Query {
            thread: Some(thread.clone()),
            tags: ["type:message", tag::RESPONSE].map(str::to_owned).into(),
            order: Order::Ascending,
            limit: TITLED_BY,
            ..Query::default()
        };
        let first = self.store().events(space, &first).await?;
        let said: Vec<String> = first.iter().filter_map(line).collect();
        if said.is_empty() {
            let text = format!("nothing was said in {thread} yet that a title could be made of");
            return Err(Refused::Unprocessable(text));
        }
        let user = said.join("\n\n");
        let asked = Beside {
            purpose: "title",
            system: TITLE,
            user: &user,
        };
        let answer = self.ask_beside((space, thread), asked, stop).await?;
        let Some(title) = title_in(&answer) else {
            let text = "the model answered nothing where a title was asked for".to_owned();
            return Err(Refused::ModelFailed(text));
        };
        let change = ThreadChange {
            title: Some(Some(title.clone())),
            archived: None,
        };
        self.change_thread(space, thread, &change, by).await?;
        Ok(title)
    }
}

fn line(event: &Event) -> Option<String> {
    let who = match event.meta.tags.iter().any(|tag| tag == tag::RESPONSE) {
        true => "assistant",
        false => "person",
    };
    let text: String = event.text().chars().take(MESSAGE_CHARS).collect();
    (!text.trim().is_empty()).then(|| format!("{who}: {text}"))
}

/// Returns the first line with words of an answer, without quotes around it.
fn title_in(answer: &str) -> Option<String> {
    let line = answer
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    let line = line.trim_matches(['"', '*', '#', '\u{201c}', '\u{201d}', ' ']);
    let title: String = line.chars().take(SUGGESTED_MAX).collect();
    (!title.is_empty()).then_some(title)
}

fn refused(failure: &Failure) -> Refused {
    match failure.kind {
        FailureKind::Budget => Refused::Crowded(failure.text.clone()),
        _ => Refused::ModelFailed(failure.text.clone()),
    }
}
