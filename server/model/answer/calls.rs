//! Tool calls put together from the parts of an answer. Servers number parts, or do not; they repeat ids, names and
//! whole calls. A part belongs to a call by its index, its id or its place, unless that call is whole already. Pure.

use serde::de::IgnoredAny;

use crate::provider::{Piece, ToolCall};

/// Weight of a tool call besides its letters, so that a flood of empty ones ends too.
const CALL_WEIGHT: usize = 64;

/// One part of a tool call as a provider sent it; members that it left out are empty.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub index: Option<u64>,
    pub id: &'a str,
    pub name: &'a str,
    pub arguments: String,
}

impl Part<'_> {
    /// True if it has anything of a call.
    pub fn is_full(&self) -> bool {
        !self.name.is_empty() || !self.arguments.is_empty()
    }
}

/// The tool calls of one answer as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<Coming>,
}

#[derive(Debug, Default)]
struct Coming {
    call: ToolCall,
    index: Option<u64>,
    scan: Scan,
    /// Its name was said once more when it was whole.
    is_renamed: bool,
    /// The arguments are `{}` so far and were not passed on: some servers send that before the real ones.
    is_held: bool,
    /// The arguments, where a part that begins as they do repeats them. It may be a value inside of
    /// them as well, which they are read as where that comes to be JSON.
    repeated: Option<Repeated>,
}

/// Arguments as parts that repeat them say them.
#[derive(Debug, Default)]
struct Repeated {
    text: String,
    scan: Scan,
}

/// The place of a part among the calls.
enum Place {
    /// Goes on with this call.
    In(usize),
    /// Begins a call.
    New,
    /// Repeats a call that is whole.
    Again,
    /// Says a call that was whole once more, and more of it.
    Grown(usize),
    /// Repeats the name of a call that is whole: arguments that follow are of another call.
    Named(usize),
}

impl Calls {
    /// Takes up a part. Returns its piece, if readers gain by it, and its weight in bytes.
    pub fn take(&mut self, part: Part<'_>) -> (Option<Piece>, usize) {
        let at = match self.place(&part) {
            Place::Again => return (None, 0),
            Place::Named(at) => {
                self.list[at].is_renamed = true;
                return (None, 0);
            }
            Place::Grown(at) => {
                let coming = &mut self.list[at];
                coming.scan = Scan::default();
                coming.scan.read(&part.arguments);
                let weight = part.arguments.len();
                coming.call.arguments = part.arguments;
                return (None, weight);
            }
            Place::In(at) => at,
            Place::New => {
                // Arguments without a name, behind a whole call whose name was said again.
                let last = self.list.last().filter(|_| part.name.is_empty());
                let renamed = last.filter(|it| it.is_renamed);
                let name = renamed.map(|it| it.call.name.clone());
                let weight = CALL_WEIGHT + part.name.len() + part.arguments.len();
                let mut coming = Coming {
                    index: part.index,
                    ..Coming::default()
                };
                let more = coming.add(Part {
                    name: name.as_deref().unwrap_or(part.name),
                    ..part
                });
                self.list.push(coming);
                return (more.map(piece(self.list.len() - 1)), weight);
            }
        };
        let weight = part.name.len() + part.arguments.len();
        (self.list[at].add(part).map(piece(at)), weight)
    }

    /// Puts whole calls in the place of these.
    pub fn replace(&mut self, parts: Vec<Part<'_>>) {
        self.list.clear();
        parts.into_iter().for_each(|part| drop(self.take(part)));
    }

    /// True if no call has begun.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of calls, and the number of those with whole arguments.
    pub fn counts(&self) -> (usize, usize) {
        let whole = self.list.iter().filter(|it| it.is_whole() || it.is_blank());
        (self.list.len(), whole.count())
    }

    /// True if a call has no arguments yet, or is in the middle of them.
    pub fn are_open(&self) -> bool {
        let is_open = |it: &Coming| it.is_blank() || it.is_held || !it.is_whole();
        self.list.iter().any(is_open)
    }

    /// The calls in order; without the last ones that are not whole where the answer was cut.
    pub fn finish(self, is_cut: bool) -> Vec<ToolCall> {
        let mut list = self.list;
        while is_cut && list.last().is_some_and(|it| !it.is_whole()) {
            list.pop();
        }
        let call = |coming: Coming| {
            let is_blank = coming.is_blank() || coming.is_held;
            let is_repeated = coming.is_repeated();
            let arguments = match coming.repeated {
                _ if is_blank => "{}".to_owned(),
                Some(repeated) if is_repeated => repeated.text,
                _ => coming.call.arguments,
            };
            ToolCall {
                arguments,
                ..coming.call
            }
        };
        list.into_iter().map(call).collect()
    }

    fn place(&self, part: &Part<'_>) -> Place {
        if let Some(at) = self.cut_open(part) {
            return Place::In(at);
        }
        let Some(at) = self.candidate(part) else {
            return Place::New;
        };
        let coming = &self.list[at];
        let known = coming.call.id.as_str();
        let same_id = !part.id.is_empty() && part.id == known;
        let other_id = !part.id.is_empty() && !known.is_empty() && part.id != known;
        let is_blank = part.arguments.trim().is_empty();
        let is_again = is_blank || part.arguments == coming.call.arguments;
        if part.name.is_empty() {
            return match coming.is_whole() {
                true if is_again => Place::Again,
                true if coming.is_renamed => Place::New,
                _ => Place::In(at),
            };
        }
        let other_name = !coming.call.name.is_empty() && part.name != coming.call.name;
        // A name in pieces, of which the first has the id.
        let goes_on = part.id.is_empty() && !known.is_empty() && part.index.is_some();
        if other_name && (same_id || goes_on) && coming.is_blank() && is_blank {
            return Place::In(at);
        }
        if other_id || other_name {
            return Place::New;
        }
        // It waits for its name, or for the end of its arguments.
        if coming.call.name.is_empty() && is_again || coming.scan.is_open() {
            return Place::In(at);
        }
        if coming.is_held {
            return match same_id && !is_blank {
                true => Place::In(at),
                false => Place::New,
            };
        }
        if coming.is_whole() {
            return match is_again {
                _ if same_id && coming.is_grown(&part.arguments) => Place::Grown(at),
                true if same_id => Place::Again,
                true if is_blank => Place::Named(at),
                _ => Place::New,
            };
        }
        let begins = part.arguments.trim_start().starts_with('{') && !coming.is_blank();
        match begins && !coming.is_snapshot(&part.arguments) {
            true => Place::New,
            false => Place::In(at),
        }
    }

    /// The last call, which is in the middle of its arguments, where a part that is named as it goes on
    /// with them: some servers give each part an id or a number of its own.
    fn cut_open(&self, part: &Part<'_>) -> Option<usize> {
        let at = self.list.len().checked_sub(1)?;
        let last = &self.list[at];
        let is_another = |it: &Coming| {
            let by_id = !part.id.is_empty() && it.call.id == part.id;
            by_id || part.index.is_some() && it.index == part.index
        };
        let is_known = self.list[..at].iter().any(is_another);
        let arguments = part.arguments.trim_start();
        let goes_on = !arguments.is_empty() && !arguments.starts_with('{');
        let is_named = !part.name.is_empty() && part.name == last.call.name;
        (goes_on && is_named && last.scan.is_open() && !is_known).then_some(at)
    }

    /// The call that a part may belong to: of its index, of its id, or, where it has no name, the last one.
    fn candidate(&self, part: &Part<'_>) -> Option<usize> {
        let has_index = |it: &Coming| part.index.is_some() && it.index == part.index;
        let has_id = |it: &Coming| !part.id.is_empty() && it.call.id == part.id;
        let of_index = self.list.iter().rposition(has_index);
        let by_id = || self.list.iter().rposition(has_id);
        // A name beside a number that is new begins a call, whatever its id: some servers repeat one id.
        if part.index.is_some() && !part.name.is_empty() && of_index.is_none() {
            return None;
        }
        // A name alone, said once more in the middle of its call, begins none.
        let last = || {
            let at = self.list.len().checked_sub(1)?;
            let Coming { call, scan, .. } = &self.list[at];
            let is_bare = part.id.is_empty() && part.index.is_none() && part.name == call.name;
            (part.name.is_empty() || (is_bare && scan.is_open())).then_some(at)
        };
        // Of several calls with one number the id tells.
        let is_of_other = |at: &usize| {
            let known = self.list[*at].call.id.as_str();
            !part.id.is_empty() && !known.is_empty() && part.id != known
        };
        let of_id = of_index.filter(is_of_other).and_then(|_| by_id());
        of_id.or(of_index).or_else(by_id).or_else(last)
    }
}

fn piece(index: usize) -> impl Fn((Option<String>, String)) -> Piece {
    move |(name, arguments)| Piece::Call {
        index,
        name,
        arguments,
    }
}

impl Coming {
    fn is_blank(&self) -> bool {
        self.call.arguments.trim().is_empty()
    }

    fn is_whole(&self) -> bool {
        let is_repeated = self.repeated.as_ref().is_some_and(|it| it.scan.is_whole());
        (self.scan.is_whole() || is_repeated) && !self.is_held
    }

    /// True if arguments repeat all that came before.
    fn is_snapshot(&self, arguments: &str) -> bool {
        let so_far = self.call.arguments.as_str();
        so_far.starts_with('{') && arguments.starts_with(so_far)
    }

    /// True if arguments are whole, and say all that was said and more: `{"text":"h"}`, `{"text":"hi"}`.
    fn is_grown(&self, arguments: &str) -> bool {
        let so_far = self.call.arguments.as_str();
        let begun = so_far.trim_end().trim_end_matches(['"', '}', ']']);
        let is_json = || serde_json::from_str::<IgnoredAny>(arguments).is_ok();
        let is_longer = begun.len() > 1 && arguments.len() > so_far.len();
        is_longer && arguments.starts_with(begun) && is_json()
    }

    /// True where a value is to follow, so that an object there may begin as the whole does.
    fn wants_value(&self) -> bool {
        !self.scan.in_string && self.call.arguments.trim_end().ends_with([':', '[', ','])
    }

    /// True if the arguments are JSON where parts repeat them, and not where they are joined.
    fn is_repeated(&self) -> bool {
        let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
        let is_one = self.repeated.as_ref().is_some_and(|it| is_json(&it.text));
        is_one && !is_json(&self.call.arguments)
    }

    /// Adds a part; returns the name, where it is new, and the arguments that readers have not seen.
    fn add(&mut self, part: Part<'_>) -> Option<(Option<String>, String)> {
        if self.call.id.is_empty() {
            part.id.clone_into(&mut self.call.id);
        }
        let is_named = self.call.name.is_empty() && !part.name.is_empty();
        if is_named || part.name.starts_with(&self.call.name) {
            part.name.clone_into(&mut self.call.name);
        } else if self.is_blank() {
            // A name in pieces; one that is repeated is the same.
            self.call.name.push_str(part.name);
        }
        let mut more = part.arguments;
        if self.is_held && !more.trim().is_empty() {
            self.is_held = false;
            self.call.arguments.clear();
            self.scan = Scan::default();
        }
        let repeats = !self.is_blank() && self.is_snapshot(&more);
        if self.repeated.is_some() || repeats && self.wants_value() {
            Repeated::take(&mut self.repeated, &more);
        } else if repeats {
            more.drain(..self.call.arguments.len());
        }
        if self.is_blank() && more.trim() == "{}" {
            self.is_held = true;
            self.call.arguments = more;
            more = String::new();
        } else {
            self.scan.read(&more);
            self.call.arguments.push_str(&more);
        }
        if self.repeated.is_some() {
            // Readers are shown no more of what may be read otherwise.
            more.clear();
        }
        let name = is_named.then(|| self.call.name.clone());
        (is_named || !more.is_empty()).then_some((name, more))
    }
}

impl Repeated {
    /// Takes up a part, which says all once more or goes on.
    fn take(known: &mut Option<Self>, part: &str) {
        let goes_on = known.take().filter(|it| !part.starts_with(&it.text));
        let mut repeated = goes_on.unwrap_or_default();
        repeated.scan.read(part);
        repeated.text.push_str(part);
        *known = Some(repeated);
    }
}

/// A scanner that tells where a JSON object, array or string ends. It is lenient about everything else.
#[derive(Debug, Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    has_begun: bool,
}

impl Scan {
    fn read(&mut self, text: &str) {
        for letter in text.chars() {
            if self.is_escaped {
                self.is_escaped = false;
                continue;
            }
            match letter {
                '\\' if self.in_string => self.is_escaped = true,
                '"' => self.in_string = !self.in_string,
                '{' | '[' if !self.in_string => self.depth += 1,
                '}' | ']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.has_begun |= matches!(letter, '{' | '[' | '"');
        }
    }

    fn is_whole(&self) -> bool {
        self.has_begun && self.depth == 0 && !self.in_string
    }

    /// True in the middle of a string, an object or an array.
    fn is_open(&self) -> bool {
        self.depth > 0 || self.in_string
    }
}
