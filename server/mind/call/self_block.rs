//! The self block tells a model of the mind that it is part of. Its identity and mission stand at
//! the end of the text that it is told first, which stays the same. Its task and mood come last of
//! all, in few bytes, so that a prompt cache can serve all before them.

use serde_json::Value;

use super::{ModelClient, PromptView, Question, TurnPlace};
use thinkd_log::error::StoreError;
use thinkd_log::thread_row::ThreadRow;
use thinkd_model::prompt::Prompts;
use thinkd_thread::history::one_line;
use thinkd_thread::settings::Settings;
use thinkd_words::failure::Who;
use thinkd_words::id::Space;
use thinkd_words::setting::Setting;
use thinkd_words::text::Text;

/// The step of a mission that judges: it sees a task and its answer, and nothing else.
const JUDGE: &str = "judge";
/// Most bytes of the text that comes last.
const NOW_BYTES: usize = 200;

/// The identity of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The purpose of the whole: the thread's own mission, or that of the space; none: none was
    /// given.
    pub mission: Option<String>,
    /// The purpose of the thread, in a line; none: none was given.
    pub task: Option<String>,
    /// Its mood, in a word.
    pub mood: String,
}

/// The texts for a model about its thread.
pub(super) struct SelfBlock {
    /// The text that the model is told first, with its identity.
    pub system: Text,
    /// The text that it is told last.
    pub now: String,
}

impl ModelClient {
    /// Returns the identity of a thread; of one that is not there, the identity that it would have.
    pub async fn identity(
        &self,
        space: &Space,
        row: Option<&ThreadRow>,
    ) -> Result<Identity, StoreError> {
        let settings = row.map(|row| Settings::of(&row.settings));
        let settings = settings.unwrap_or_default();
        let mission = match settings.wanted {
            // The threads of a mission have their own.
            Some(wanted) => Some(wanted.mission),
            None => match self.store.setting(space, Setting::Mission).await? {
                Value::String(mission) => Some(mission),
                _ => None,
            },
        };
        let said = |text: &String| !text.trim().is_empty();
        let words = self.prompts.mood_words.source().as_str().lines();
        let words = words.map(str::trim).filter(|line| !line.is_empty());
        let mood = row.and_then(|row| row.state.mood).unwrap_or_default();
        Ok(Identity {
            mission: mission.filter(said),
            task: settings.title.filter(said),
            mood: mood.word(&Vec::from_iter(words)).to_owned(),
        })
    }

    /// Returns the texts for the asker of a question about itself; none: it has no self, or models
    /// are not told of theirs. An asker that tries statements, sums up, works in a pipeline or
    /// judges an answer is an instrument: its words must not depend on a mood.
    pub(super) async fn self_block(
        &self,
        place: &TurnPlace,
        view: &PromptView,
        question: &Question,
    ) -> Result<Option<SelfBlock>, StoreError> {
        let is_somebody = match &question.who {
            Who::Decision | Who::Submodule(_) => true,
            Who::Mission(node) => node.as_str() != JUDGE,
            Who::Tool(_) | Who::Pipeline(_) | Who::Trial | Who::Summary | Who::Core => false,
        };
        if !self.tells_self || !is_somebody {
            return Ok(None);
        }
        let identity = self.identity(&place.space, Some(&view.row)).await?;
        let who = who(&identity, &self.prompts);
        let system = Text::new(format!("{}\n\n{who}", question.system.as_str()));
        Ok(Some(SelfBlock {
            system,
            now: now(&identity, &self.prompts),
        }))
    }
}

fn who(identity: &Identity, prompts: &Prompts) -> String {
    let named = |mission: &String| {
        let mission = one_line(mission);
        prompts.self_mission.fill(&[("mission", &*mission)])
    };
    let mission = identity.mission.as_ref().map(named).unwrap_or_default();
    let who = prompts.self_who.fill(&[("mission", &mission)]);
    let who = who.trim_end();
    // The same in every call: it does not end what prompt caches serve.
    match &prompts.theory_of_mind {
        Some(minds) => format!("{who}\n\n{minds}"),
        None => who.to_owned(),
    }
}

/// The task, cut to the room that is left for it, and the mood.
fn now(identity: &Identity, prompts: &Prompts) -> String {
    let with = |task: &str| {
        let task = match task {
            "" => String::new(),
            task => prompts.self_task.fill(&[("task", task)]),
        };
        let values = [("mood", &*identity.mood), ("task", &*task)];
        format!("\n\n{}", prompts.self_now.fill(&values))
    };
    let task = one_line(identity.task.as_deref().unwrap_or_default()).into_owned();
    let mut whole = with(&task);
    if whole.len() > NOW_BYTES {
        let over = whole.len() - NOW_BYTES + "…".len();
        let end = task.floor_char_boundary(task.len().saturating_sub(over));
        whole = match end {
            0 => with(""),
            end => with(&format!("{}…", &task[..end])),
        };
    }
    whole.truncate(whole.floor_char_boundary(NOW_BYTES));
    whole
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However long a task is, the text that comes last has at most 200 bytes, says the mood,
        /// and is one line.
        #[test]
        fn what_comes_last_is_short(task in "\\PC{0,400}|[\\n\\t a-z]{0,300}") {
            let prompts = Prompts::load(None).unwrap();
            let identity = Identity { mission: None, task: Some(task), mood: "composed".into() };
            let now = now(&identity, &prompts);
            prop_assert!(now.len() <= NOW_BYTES, "{} bytes", now.len());
            prop_assert!(now.contains("composed"), "{}", now);
            prop_assert_eq!(now.trim_start().lines().count(), 1);
        }
    }
}
