//! Words that come in deltas of which some say all words once more: each does (snapshots), or the
//! last one. Pure.

/// Fewer bytes that stand twice may be meant so.
const MIN: usize = 8;

/// The words of an answer as far as deltas have said them.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    /// The words that were passed on.
    told: String,
    /// The number of deltas that had words.
    count: usize,
    /// The second delta, which begins with the first: the third one tells.
    held: Option<String>,
    /// Each delta says all words.
    are_snapshots: bool,
}

impl Deltas {
    /// Takes up the words of a delta, the last one or not. Returns those that are new.
    pub fn take(&mut self, words: &str, is_last: bool) -> String {
        if words.is_empty() || is_last && words.len() >= MIN && words == self.told {
            return String::new();
        }
        self.count += 1;
        if let Some(second) = self.held.take() {
            self.are_snapshots = words.starts_with(&second);
            if !self.are_snapshots {
                return self.pass(&(second + words));
            }
        }
        if self.are_snapshots && words.starts_with(&self.told) {
            let new = words[self.told.len()..].to_owned();
            return self.pass(&new);
        }
        self.are_snapshots = false;
        let goes_on = words.len() > self.told.len() && words.starts_with(&self.told);
        if self.count == 2 && goes_on && !self.told.trim().is_empty() {
            self.held = Some(words.to_owned());
            return String::new();
        }
        self.pass(words)
    }

    /// The words that no other delta came to tell of.
    pub fn finish(&mut self) -> String {
        match self.held.take() {
            Some(second) if self.told.len() >= MIN => second[self.told.len()..].to_owned(),
            second => second.unwrap_or_default(),
        }
    }

    fn pass(&mut self, words: &str) -> String {
        self.told.push_str(words);
        words.to_owned()
    }
}
