//! The parts of a view that a refusal may be about: media of a kind, or words. They are left out, and one failure says so.

use serde_json::Value;

use super::{PromptView, Ready};
use thinkd_event::draft::Draft;
use thinkd_event::unshown::LeftOut;
use thinkd_thread::history::{self, Entry};
use thinkd_words::failure::{
    FILTERED, Failure, FailureKind, MEDIA, TOO_LONG, UNCLEAR, UNSAID, WITHHELD, Who,
};
use thinkd_words::id::Seq;

/// Fewest characters of a word that a refusal quotes.
const QUOTED_MIN: usize = 4;

/// Parts of a view that may be the refused ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    NewMedia,
    Media,
    New,
    All,
}

/// Stretches of a thread, and kinds of media.
pub(super) type Chosen = (Vec<(Seq, Seq)>, Vec<String>);

/// Chooses the parts that a refusal is about: media of the kind that it names, or words. New parts
/// are left out first, then all that the view holds. None: it is about neither.
pub(super) fn left_out(
    view: &PromptView,
    round: u64,
    failure: &Failure,
    ready: &Ready,
) -> Option<Chosen> {
    let named = failure.detail.get("media").and_then(Value::as_str);
    let is_all = failure.detail.get("all").and_then(Value::as_bool) == Some(true);
    if is_all {
        let is_kind = |kind: &str| named.is_none_or(|named| named == kind);
        let mut kinds: Vec<String> = Vec::new();
        let shown = view.entries.iter().filter(|entry| !entry.is_refused());
        for kind in shown.filter_map(|entry| entry.media_kind()) {
            if is_kind(kind) && !kinds.iter().any(|it| it == kind) {
                kinds.push(kind.to_owned());
            }
        }
        if !kinds.is_empty() {
            return Some((Vec::new(), kinds));
        }
    }
    let parts: &[Part] = match failure.reason()? {
        FILTERED | WITHHELD => &[Part::New, Part::All],
        MEDIA => &[Part::NewMedia, Part::Media, Part::New],
        UNSAID | UNCLEAR => &[Part::NewMedia, Part::New, Part::Media],
        TOO_LONG => &[Part::NewMedia, Part::Media],
        _ => return None,
    };
    let is_filter = parts.contains(&Part::All);
    let may_be =
        |part: &Part| *part != Part::New || is_filter || may_be_words(view, failure, ready);
    let chosen = parts.iter().filter(|part| may_be(part));
    let mut chosen = chosen.map(|part| stretches(view, round, *part, named));
    Some((chosen.find(|it| !it.is_empty())?, Vec::new()))
}

/// Returns true if new words may be the refused part where the refusal names no cause. The request
/// is refused, not the moment, and no voice's model judges the text that others are shown.
fn may_be_words(view: &PromptView, failure: &Failure, ready: &Ready) -> bool {
    let fact = |key: &str| failure.detail.get(key);
    let status = fact("status").and_then(Value::as_u64);
    let is_refused = status.is_some_and(|status| (400..500).contains(&status));
    let is_worded = fact("worded").is_none_or(|it| *it == Value::Bool(true));
    is_refused && is_worded && ready.who == Who::Decision && view.scope.about.is_some()
}

/// The stretches of a part that are not left out yet; of media those of the kind that is named.
pub(super) fn stretches(
    view: &PromptView,
    round: u64,
    part: Part,
    named: Option<&str>,
) -> Vec<(Seq, Seq)> {
    let is_named = |kind: &str| named.is_none_or(|named| named == kind);
    let is_kind = |entry: &Entry| entry.media_kind().is_some_and(is_named);
    // A later round was asked with the batch before, and answered.
    let new = match view.scope.about {
        Some((_, last)) if round > 0 => last + 1,
        Some((first, _)) => first,
        None => 0,
    };
    history::stretches(&view.entries, &view.left_out, |entry: &Entry| {
        let is_meant = match part {
            Part::NewMedia => entry.seq >= new && is_kind(entry),
            Part::Media => is_kind(entry),
            Part::New => entry.seq >= new,
            Part::All => true,
        };
        is_meant && !entry.is_refused()
    })
}

/// Returns the failure without the words of the parts left out: quoted in an event they would stand
/// in the next prompts, and be refused again.
pub(super) fn unquoted(failure: &Failure, left_out: &LeftOut, view: &PromptView) -> Failure {
    let is_out = |seq: Seq| {
        let mut refused = left_out.refused.iter();
        refused.any(|(from, to)| (*from..=*to).contains(&seq))
    };
    let refused = Vec::from_iter(view.entries.iter().filter(|entry| is_out(entry.seq)));
    let is_quoted = |word: &str| {
        let word = word.to_lowercase();
        word.chars().count() >= QUOTED_MIN && refused.iter().any(|entry| entry.says(&word))
    };
    let Some((ours, said)) = failure.text.split_once(": ") else {
        return failure.clone();
    };
    let mut text = format!("{ours}: ");
    let mut is_hidden = false;
    for part in said.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        if is_quoted(word) {
            text.push_str(if is_hidden { "" } else { "…" });
            text.push_str(&part[word.len()..]);
            is_hidden = true;
        } else {
            text.push_str(part);
            is_hidden &= word.is_empty();
        }
    }
    Failure {
        text,
        ..failure.clone()
    }
}

/// Returns the event that names the parts left out.
pub(super) fn told(left_out: &LeftOut, failure: &Failure, ready: &Ready) -> Draft {
    let LeftOut {
        model,
        refused,
        kinds,
    } = left_out;
    let positions = |(from, to): &(Seq, Seq)| match from == to {
        true => format!("#{from}"),
        false => format!("#{from} to #{to}"),
    };
    let parts = refused.iter().map(positions).collect::<Vec<_>>().join(", ");
    let text = if refused.is_empty() {
        let kinds = kinds.join(" and ");
        format!("{model} takes no {kinds}: it is left out of its prompts in this thread.")
    } else {
        format!("{parts} was refused by {model}, and is left out of the prompts of this thread.")
    };
    let reason = failure.reason().unwrap_or_default();
    let text = format!("{text} The log keeps it. {}", failure.text);
    let failure = Failure::new(FailureKind::Model, text).with(left_out.to_detail(reason));
    ready.place.failure(&Who::Core, &failure)
}
