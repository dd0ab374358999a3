//! A family answers in its own file the questions of readers to every fact. Projections, views, the
//! turn's fold and the terminal go by the answers, so that a new family needs no arm in them.
//! `Plain` has the questions without a default: a decision that every family has to make.

use std::borrow::Cow;

use super::Kind;
use crate::envelope::Visibility;
use crate::intent::Intent;
use crate::raw::Raw;
use thinkd_words::id::ThreadId;

/// The role of a fact in the turn of the number that it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Nothing: it came from outside, or is said beside the turn.
    Aside,
    /// Moves the turn, which looks into it: its beginning and end, a model call, a failure.
    Turn,
    /// The decision said or did it, or it came of an act of the decision: the submodules hear of it
    /// after the turn.
    Decision,
    /// A submodule did it on the way to its answer.
    Submodule,
}

/// The speaker in an entry of a view, piece by piece.
pub type Byline<'a> = Vec<Piece<'a>>;

/// A piece of a byline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Ours.
    Word(&'static str),
    /// Not ours: the view quotes it where it could be read as anything but a name.
    Name(Cow<'a, str>),
    /// Not ours: the view quotes it.
    Quoted(&'a str),
}

/// The answers that every family has to give.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain {
    /// Its kind in the documents; none: in a form that they do not have.
    pub kind: Option<Kind>,
    /// The store goes by tags (`Event::visibility`), which say the same.
    pub visibility: Visibility,
    /// Its role in the turn of the number that it carries.
    pub role: Role,
    /// True if it starts a turn of its thread. The store goes by tags (`Event::wakes`), which say
    /// the same.
    pub wakes: bool,
    /// True if it changes more of its thread's row than every event does: `log/thread_fold.rs` has
    /// the changes.
    pub changes_thread: bool,
    /// The speaker or actor, in a word for the terminal; none: the event's source.
    pub label: Option<&'static str>,
}

impl Plain {
    /// A kind that wakes no thread and changes none, unless it says so.
    pub const fn new(kind: &'static str, visibility: Visibility, role: Role) -> Self {
        Self {
            kind: Some(Kind::named(kind)),
            visibility,
            role,
            wakes: false,
            changes_thread: false,
            label: None,
        }
    }

    /// The same, which starts a turn of its thread, or does not.
    pub const fn waking(self, wakes: bool) -> Self {
        Self { wakes, ..self }
    }

    /// The same, which changes its thread's row, or does not.
    pub const fn changing_thread(self, changes_thread: bool) -> Self {
        Self {
            changes_thread,
            ..self
        }
    }

    /// The same, with a label.
    pub const fn labelled(self, label: &'static str) -> Self {
        Self {
            label: Some(label),
            ..self
        }
    }
}

/// A fact whose plain answers are declared: by `#[derive(Fact)]`, or by hand.
pub(super) trait Declared {
    /// The answers without a default.
    fn plain(&self) -> Plain;
}

/// A family of facts.
pub(super) trait Family<'a>: Declared {
    /// Returns the speaker in its entry of a view: by default its first tag.
    fn byline(&self, raw: Raw<'a>) -> Byline<'a> {
        let first = raw.tags.first().map_or(raw.source.as_str(), String::as_str);
        vec![Piece::Name(first.into())]
    }

    /// Returns the words of its entry of a view, where they differ from its text.
    fn content(&self) -> Option<String> {
        None
    }

    /// Returns the speaker or actor, in a few words for the terminal.
    fn label(&self) -> Option<String> {
        self.plain().label.map(str::to_owned)
    }

    /// The submodule that said it, did it or failed.
    fn submodule(&self) -> Option<&'a str> {
        None
    }

    /// The tool call that it belongs to.
    fn call_id(&self) -> Option<&'a str> {
        None
    }

    /// Returns the intent of its turn since.
    fn intent(&self) -> Option<Intent> {
        None
    }

    /// Returns true if it says in its thread that something went wrong, of a tool call, too.
    fn is_failure(&self) -> bool {
        false
    }

    /// Returns true if other events go back to it: words from outside, or an answer from outside.
    fn is_root(&self) -> bool {
        false
    }

    /// Returns true if others go by the event from outside that it goes back to: for the usage of a
    /// call, the cause of a thread, or an event that wakes another thread, or this one later.
    fn has_root(&self) -> bool {
        false
    }

    /// Returns true if it came from outside the mind: a client's input, a trigger, the clock.
    fn is_from_outside(&self) -> bool {
        self.is_root()
    }

    /// Returns true if another thread than `own`, which has it, spoke to it, or is told to have
    /// ended or to be stuck.
    fn is_from_others(&self, _own: &ThreadId) -> bool {
        false
    }

    /// Returns true if the thread `own`, which has it, woke itself, or only its own attempts did.
    /// Such are a thought, a message to itself, the end of a wait that is of no use.
    fn is_from_itself(&self, _own: &ThreadId) -> bool {
        false
    }

    /// The thread that it is from, or is about, and that is not outside.
    fn by(&self) -> Option<&'a str> {
        None
    }

    /// Returns true if it ends any wait of its thread.
    fn ends_any_wait(&self) -> bool {
        false
    }
}
