//! A filter that takes thinking in tags, and the marks of a chat template, off the words of an answer while they
//! arrive. Only blocks at the beginning are thinking: a tag further on is part of the words. Pure.

/// Opening and closing tags of thinking, as chat templates write them.
const TAGS: [(&str, &str); 10] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
];

/// Gemini's tag. The thinking language has an element of this name, so that it counts only where no one speaks that.
const THOUGHT: (&str, &str) = ("<thought>", "</thought>");

/// Marks that may stand before the words.
const BEFORE: [&str; 6] = [
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "<|begin_of_solution|>",
    "<|START_RESPONSE|>",
    "<|im_start|>assistant",
    "<|start|>assistant",
];

/// Marks that may stand behind the words.
const BEHIND: [&str; 12] = [
    "<|return|>",
    "<|end|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end_of_solution|>",
    "<|END_RESPONSE|>",
    "<end_of_turn>",
    "<|end_of_turn|>",
    "</s>",
];

/// Most marks that are held back at once, and most blanks before the words.
const MARKS_MAX: usize = 8;
const BLANKS_MAX: usize = 1024;

/// The filter of one answer.
#[derive(Debug, Default)]
pub(super) struct Thinking {
    at: At,
    /// Text that is not told apart yet.
    held: String,
    /// `<thought>` is an element of the thinking language here.
    keeps_thought: bool,
    /// Nothing is passed on before the end: this model closes thinking that it never opened.
    holds_all: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the words.
    #[default]
    Begin,
    /// Behind a block of thinking.
    Behind,
    /// In a block that ends with this tag.
    Inside(&'static str),
    /// In the words.
    Words,
}

impl Thinking {
    pub fn new(keeps_thought: bool, holds_all: bool) -> Self {
        Self {
            keeps_thought,
            holds_all,
            ..Self::default()
        }
    }

    /// Takes up more of the text; returns the words that are certain.
    pub fn push(&mut self, more: &str) -> String {
        self.held.push_str(more);
        while self.step() {}
        if self.at != At::Words || self.holds_all {
            return String::new();
        }
        let keep = self.held.len() - held_back(&self.held);
        self.held.drain(..keep).collect()
    }

    /// The words that were held back, at the end of the answer.
    pub fn finish(&mut self) -> String {
        if let At::Inside(_) = self.at {
            return String::new();
        }
        let mut rest = std::mem::take(&mut self.held);
        while let Some(mark) = BEHIND.iter().find(|mark| rest.trim_end().ends_with(**mark)) {
            rest.truncate(rest.trim_end().len() - mark.len());
        }
        rest
    }

    /// One step through what is held. False: nothing more can be told apart now.
    fn step(&mut self) -> bool {
        match self.at {
            At::Words => false,
            At::Inside(close) => self.leave(close),
            At::Begin | At::Behind => self.enter(),
        }
    }

    fn leave(&mut self, close: &'static str) -> bool {
        match find(&self.held, close) {
            Some(at) => {
                self.held.drain(..at + close.len());
                self.at = At::Behind;
                true
            }
            None => {
                // Only as much is kept as may be the beginning of the tag.
                let keep = self
                    .held
                    .ceil_char_boundary(self.held.len().saturating_sub(close.len()));
                self.held.drain(..keep);
                false
            }
        }
    }

    fn enter(&mut self) -> bool {
        let text = self.held.trim_start();
        let skipped = self.held.len() - text.len();
        let thought = (!self.keeps_thought).then_some(&THOUGHT);
        let mut tags = TAGS.iter().chain(thought);
        if let Some((open, close)) = tags.clone().find(|(open, _)| starts_with(text, open)) {
            self.held.drain(..skipped + open.len());
            self.at = At::Inside(close);
            return true;
        }
        if let Some(mark) = BEFORE.iter().find(|mark| starts_with(text, mark)) {
            self.held.drain(..skipped + mark.len());
            self.at = At::Behind;
            return true;
        }
        let may_begin =
            |mark: &str| skipped < BLANKS_MAX && text.len() < mark.len() && starts_with(mark, text);
        if tags.any(|(open, _)| may_begin(open)) || BEFORE.iter().any(|mark| may_begin(mark)) {
            return false;
        }
        if self.at == At::Behind {
            self.held.drain(..skipped);
        }
        self.at = At::Words;
        false
    }
}

/// The words behind thinking that was closed and never opened; none where the text has no such tag on a line of its
/// own outside of code.
pub(super) fn behind_unopened(text: &str) -> Option<&str> {
    let mut is_code = false;
    let mut at = 0;
    let mut behind = None;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let said = line.trim();
        if said.starts_with("```") || said.starts_with("~~~") {
            is_code = !is_code;
        }
        let ends = |close: &str| {
            said.len() >= close.len() && find(said, close) == Some(said.len() - close.len())
        };
        let opens = |open: &str| find(text, open).is_some();
        let is_end = TAGS[..8]
            .iter()
            .any(|(open, close)| ends(close) && !opens(open));
        if is_end && !is_code && behind.is_none() {
            behind = Some(at);
        }
    }
    behind.map(|at| text[at..].trim_start())
}

/// The number of bytes at the end that may be the beginning of a mark, or marks with blanks around them.
fn held_back(text: &str) -> usize {
    let mut end = text.len();
    for _ in 0..MARKS_MAX {
        let trimmed = text[..end].trim_end();
        match BEHIND.iter().find(|mark| trimmed.ends_with(**mark)) {
            Some(mark) => end = trimmed.len() - mark.len(),
            None => break,
        }
    }
    let longest = BEHIND
        .iter()
        .map(|mark| mark.len())
        .max()
        .unwrap_or_default();
    let from = text.ceil_char_boundary(end.saturating_sub(longest));
    let is_beginning = |at: usize| BEHIND.iter().any(|mark| mark.starts_with(&text[at..end]));
    let begin = (from..end).find(|at| text.is_char_boundary(*at) && is_beginning(*at));
    text.len() - begin.unwrap_or(end)
}

fn starts_with(text: &str, mark: &str) -> bool {
    text.get(..mark.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(mark))
}

fn find(text: &str, mark: &str) -> Option<usize> {
    (0..(text.len() + 1).saturating_sub(mark.len()))
        .find(|at| text.is_char_boundary(*at) && starts_with(&text[*at..], mark))
}
