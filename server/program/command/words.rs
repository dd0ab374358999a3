//! Events in the words of the command line: who speaks or acts, and what.

use crate::event::draft::InputKind;
use crate::event::envelope::{Event, tag};
use crate::event::fact::Fact;
use crate::event::input::{Content, Input};
use crate::event::remark::Decision;
use crate::words::failure::By;

/// Who speaks or acts, in a few words.
pub fn who(event: &Event) -> String {
    let who = match event.fact() {
        Fact::Decided(decided) => match decided.what {
            Decision::Question(voice) => format!("decision asks {voice}"),
            Decision::Said | Decision::Thought | Decision::NoAction => "decision".to_owned(),
        },
        Fact::Reply(_) => "reply".to_owned(),
        Fact::Input(input) => user(&input),
        Fact::Trigger(trigger) => format!("trigger {}", trigger.name),
        Fact::Action(action) => match action.by {
            By::Submodule(voice) => format!("{voice} → {}", action.tool),
            By::Decision | By::Tool(_) | By::Pipeline(_) | By::Core => format!("decision → {}", action.tool),
        },
        Fact::Result(result) => match result.voice {
            Some(voice) => format!("{voice} → {}", result.tool),
            None => result.tool.to_owned(),
        },
        Fact::Remark(remark) => remark.voice.to_owned(),
        Fact::Failure(failed) => match failed.who {
            By::Submodule(name) | By::Tool(name) => name.to_owned(),
            By::Decision => "decision".to_owned(),
            By::Pipeline(_) | By::Core => event.source.to_string(),
        },
        Fact::TurnStarted(_) | Fact::TurnEnded(_) => "turn".to_owned(),
        Fact::Call(record) => record.module.to_owned(),
        Fact::Set(set) => set.change.kind().as_str().to_owned(),
        Fact::TurnCancel(_) | Fact::Run(_) | Fact::Node(_) => "state".to_owned(),
        Fact::Message(_) | Fact::Told(_) | Fact::ClientFailure(_) | Fact::Unknown(_) => event.source.to_string(),
    };
    // Shown as they stand, of what a newer server wrote, too.
    let marks = [tag::THOUGHT, tag::NO_ACTION, tag::LATE, tag::FOLLOW_UP, tag::PARTIAL, tag::FAILURE];
    let marks: Vec<&str> = marks.into_iter().filter(|mark| event.has(mark)).collect();
    if marks.is_empty() { who } else { format!("{who} ({})", marks.join(", ")) }
}

fn user(input: &Input<'_>) -> String {
    let user = input.user.unwrap_or("user");
    match input.kind {
        InputKind::Message => user.to_owned(),
        InputKind::Sensory => format!("{user} (sensory)"),
    }
}

/// What is said; of media, what they are.
pub fn what(event: &Event) -> String {
    match event.fact() {
        Fact::Input(Input { content: Content::Media { blob, mime, .. }, .. }) => format!("[{mime} {blob}]"),
        _ => event.text().to_owned(),
    }
}
