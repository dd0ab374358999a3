//! The log as lines for people: a short time, the author in a colour of its own, the text; a tool
//! call and its result in one line.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use crate::program::command::paint::{ALARM, BOLD, FAINT, of_name, painted};
use crate::program::command::words::{what, who};
use crate::program::telemetry::escaped;
use thinkd_event::envelope::{Event, Modality};
use thinkd_event::fact::Fact;

/// Longest wait of a live tool call for its result; then it is shown alone.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Makes lines of events that come in order.
pub struct Lines {
    colours: bool,
    /// Calls that still wait for their results.
    calls: Vec<(Event, Instant)>,
}

impl Lines {
    /// Lines with or without colours.
    pub fn new(colours: bool) -> Self {
        Self {
            colours,
            calls: Vec::new(),
        }
    }

    /// All lines of a list. A call without a result in it stands where it is.
    pub fn list(&mut self, events: Vec<Event>) -> Vec<String> {
        let mut results: HashSet<(String, String)> = HashSet::new();
        let mut waits = vec![false; events.len()];
        // From the end: call ids may come again in a later turn.
        for (at, event) in events.iter().enumerate().rev() {
            let Some(call) = call_of(event) else { continue };
            let key = (event.thread.to_string(), call.to_owned());
            if is_action(event) {
                waits[at] = results.remove(&key)
            } else if answers(event) {
                results.insert(key);
            }
        }
        let lines = events.into_iter().zip(waits);
        let lines = lines.flat_map(|(event, waits)| match waits {
            false if is_action(&event) => vec![self.line(&event, None)],
            _ => self.take(event),
        });
        lines.collect()
    }

    /// The lines that are due with an event.
    pub fn take(&mut self, event: Event) -> Vec<String> {
        if is_action(&event) && call_of(&event).is_some() {
            self.calls.push((event, Instant::now()));
            return Vec::new();
        }
        let is_call = |(call, _): &(Event, Instant)| {
            call.thread == event.thread && call_of(call) == call_of(&event)
        };
        let call = self.calls.iter().position(is_call);
        let call = call.filter(|_| answers(&event));
        let call = call.map(|at| self.calls.remove(at).0);
        let mut lines = Vec::new();
        if matches!(event.fact(), Fact::TurnEnded(_)) {
            // Nothing more comes of these.
            lines = self.without_results(|(call, _)| call.thread == event.thread);
        }
        lines.push(self.line(&event, call.as_ref()));
        lines
    }

    /// The lines of calls that have waited long enough.
    pub fn overdue(&mut self) -> Vec<String> {
        self.without_results(|(_, since)| since.elapsed() >= PATIENCE)
    }

    /// The lines of these calls, which wait no longer.
    fn without_results(&mut self, are: impl Fn(&(Event, Instant)) -> bool) -> Vec<String> {
        let calls = Vec::from_iter(self.calls.extract_if(.., |call| are(call)));
        let lines = calls.iter().map(|(call, _)| self.line(call, None));
        lines.collect()
    }

    /// Returns an event as a line: time, place in the log, thread, author, text; a result with its
    /// call.
    fn line(&self, event: &Event, call: Option<&Event>) -> String {
        let paint = |codes: &[&str], text: &str| painted(self.colours, codes, text);
        let mut name = who(event);
        let mut said = what(event);
        // A reply's call says only what the reply says.
        if let Some(call) = call.filter(|_| !matches!(event.fact(), Fact::Reply(_))) {
            let arguments = what(call);
            let tool = match call.fact() {
                Fact::Action(action) => action.tool,
                _ => "",
            };
            let arguments = arguments.strip_prefix(tool).unwrap_or(&arguments);
            let arguments = arguments.trim_start();
            said = format!("{arguments} ⇒ {said}");
            name = match event.fact().is_failure() {
                true => format!("{} (failure)", who(call)),
                false => who(call),
            };
        }
        let colour = match is_alarm(event) {
            true => ALARM,
            false => of_name(name.split([' ', ':']).next().unwrap_or("")),
        };
        let look: &[&str] = match event.modality {
            Modality::State => &[FAINT],
            _ => &[BOLD, colour],
        };
        let position = format!("{} {:>6} {}", short(event), event.seq, event.thread);
        let position = paint(&[FAINT], &position);
        let name = paint(look, &escaped(&name));
        format!("{position} {name}: {}", escaped(&said))
    }
}

/// The tool call that an event belongs to.
fn call_of(event: &Event) -> Option<&str> {
    event.fact().call_id()
}

fn is_action(event: &Event) -> bool {
    matches!(event.fact(), Fact::Action(_))
}

fn is_alarm(event: &Event) -> bool {
    let fact = event.fact();
    fact.is_failure() || matches!(fact, Fact::ClientFailure(_))
}

/// Returns true if the event is the outcome of a tool call.
fn answers(event: &Event) -> bool {
    matches!(event.fact(), Fact::Result(_) | Fact::Reply(_)) && call_of(event).is_some()
}

/// The time of day (UTC, as in the log); with its date, if that is not today.
fn short(event: &Event) -> String {
    let moment = event.ts.to_string();
    let now = thinkd_words::time::now().to_string();
    let (date, time) = moment.split_at_checked(11).unwrap_or((&moment, ""));
    let time = time.get(..8).unwrap_or(time);
    if now.starts_with(date) {
        time.to_owned()
    } else {
        format!("{} {time}", date.trim_end_matches('T'))
    }
}
