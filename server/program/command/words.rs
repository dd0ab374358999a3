//! Events in the words of the command line: the author and the text.

use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::input::{Content, Input};

/// Returns the speaker or actor, in a few words.
pub fn who(event: &Event) -> String {
    let who = event.fact().label();
    let who = who.unwrap_or_else(|| event.source.to_string());
    let marks = event.marks();
    if marks.is_empty() {
        who
    } else {
        format!("{who} ({})", marks.join(", "))
    }
}

/// Returns the text of an event; of media, their kind.
pub fn what(event: &Event) -> String {
    match event.fact() {
        Fact::Input(Input {
            content: Content::Media { blob, mime, .. },
            ..
        }) => format!("[{mime} {blob}]"),
        _ => event.text().to_owned(),
    }
}
