//! The entries of a view that a provider refused: a sentence stands for the text, or behind the
//! line of a picture or sound. Entries that were taken back are not among those of a view.

use std::sync::Arc;

use super::Entry;
use super::writing::mark_max;
use thinkd_event::unshown::Unshown;
use thinkd_model::prompt::Prompts;
use thinkd_words::id::Seq;

impl Entry {
    /// Returns whether it, or its turn, was taken back.
    pub fn is_back(&self, unshown: &Unshown) -> bool {
        unshown.hides(self.seq, self.turn)
    }

    /// The kind of its image or sound: `image`, `audio`.
    pub fn media_kind(&self) -> Option<&str> {
        let (_, mime) = self.media.as_ref()?;
        mime.split('/').next()
    }

    /// Returns whether it is left out, or its image or sound is.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Returns the same without the part that a provider refused: its image or sound, or else its
    /// text.
    fn refused(&self, prompts: &Prompts) -> Self {
        let head = if self.media.is_some() {
            self.line.len()
        } else {
            self.around
                .saturating_sub(mark_max(prompts))
                .min(self.line.len())
        };
        let line = match self.line.get(..head) {
            Some(head) => head.trim_end(),
            None => &self.line,
        };
        Self {
            line: format!("{line} {}", prompts.view_refused.source().as_str()),
            is_refused: true,
            media: None,
            ..self.clone()
        }
    }
}

/// Leaves out of these entries those that are refused, and images or sounds of these kinds.
pub fn leave_out(
    entries: &mut [Arc<Entry>],
    unshown: &Unshown,
    kinds: &[String],
    prompts: &Prompts,
) {
    if unshown.is_empty() && kinds.is_empty() {
        return;
    }
    for entry in entries.iter_mut().filter(|entry| !entry.is_refused) {
        let is_kind = |kind: &str| kinds.iter().any(|it| it == kind);
        let is_out = unshown.refuses(entry.seq) || entry.is_back(unshown);
        if is_out || entry.media_kind().is_some_and(is_kind) {
            *entry = Arc::new(entry.refused(prompts));
        }
    }
}

/// The same of these entries, as a record names them.
pub fn refused(entries: Vec<Arc<Entry>>, seqs: &[Seq], prompts: &Prompts) -> Vec<Arc<Entry>> {
    let one = |entry: Arc<Entry>| match seqs.contains(&entry.seq) {
        true => Arc::new(entry.refused(prompts)),
        false => entry,
    };
    entries.into_iter().map(one).collect()
}

/// The entries that are meant, as stretches of the thread: none of them has an event that is not
/// meant, those that are hidden from the view included.
pub fn stretches(
    entries: &[Arc<Entry>],
    hidden: &[Seq],
    is_meant: impl Fn(&Entry) -> bool,
) -> Vec<(Seq, Seq)> {
    let mut stretches: Vec<(Seq, Seq)> = Vec::new();
    let mut is_open = false;
    for entry in entries {
        if !is_meant(entry) {
            is_open = false;
            continue;
        }
        match stretches.last_mut() {
            Some((_, to)) if is_open && !hidden.iter().any(|it| (*to..entry.seq).contains(it)) => {
                *to = entry.seq;
            }
            _ => stretches.push((entry.seq, entry.seq)),
        }
        is_open = true;
    }
    stretches
}
