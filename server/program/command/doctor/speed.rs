//! The predicted cost of a turn in seconds, calls and tokens, from the one call that the model was
//! tried with. Also the part of this setup that a turn waits for most. All is computed from
//! measurements.

use std::net::IpAddr;
use std::time::Duration;

use super::Report;
use crate::program::settings::Settings;
use thinkd_model::endpoint::Options;
use thinkd_model::prompt::Prompts;
use thinkd_tools::catalogue::Catalogue;
use thinkd_words::text::counted;

/// A reply that takes longer than this is worth advice.
const SLOW: Duration = Duration::from_secs(10);
/// Shorter calls say nothing of the processors: their clock ticks a hundred times a second.
const COUNTED: Duration = Duration::from_millis(300);
/// A share of busy processors from which on they are the limit.
const BUSY: f64 = 0.7;
/// Bytes of a request beside prompts and tools: the model, its parameters, a short message.
const AROUND: usize = 300;
/// Bytes of a tool beside its words and its schema.
const AROUND_TOOL: usize = 90;
/// Commits that a reply waits for: the input, and the reply.
const COMMITS: u32 = 2;

/// A submodule of the space that is looked at.
pub struct Submodule {
    /// The bytes of its prompt.
    pub prompt_bytes: usize,
    /// Asked once more after the decision.
    pub follow_up: bool,
}

/// One call of a model, as it went.
#[derive(Debug, Clone, Copy)]
pub struct Called {
    /// From the request to the end of the answer.
    pub took: Duration,
    /// The prompt's tokens, as the provider counted them; 0: it counted none.
    pub tokens: u64,
    /// The request's bytes.
    pub bytes: usize,
    /// The share of time in which the processors of this machine were busy meanwhile.
    pub busy: Option<f64>,
    /// The time that a connection to its server takes; none: there was none.
    pub connect: Option<Duration>,
}

/// The things that a turn is predicted from.
pub struct Setup<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// The prompts.
    pub prompts: &'a Prompts,
    /// The tools.
    pub tools: &'a Catalogue,
    /// The model that decides.
    pub options: &'a Options,
}

/// Prints the prediction for a turn.
pub fn check(setup: &Setup<'_>, called: Called, report: &mut Report) -> anyhow::Result<()> {
    let submodules = submodules(setup, report.submodules.take());
    let turn = Turn {
        submodules: submodules.len(),
        follow_ups: match setup.settings.turn.follow_up {
            true => submodules
                .iter()
                .filter(|submodule| submodule.follow_up)
                .count(),
            false => 0,
        },
        call: called.took,
        is_local: is_local(&setup.options.base_url),
    };
    report.tell("speed", Ok(turn.seconds(setup.settings)))?;
    if let Some(bytes) = bytes(setup, &submodules) {
        report.tell("tokens", Ok(turn.tokens(bytes, called, setup.settings)))?;
    }
    let bottleneck = turn.bottleneck(called, report.write);
    report.tell("bottleneck", Ok(bottleneck))
}

/// The submodules of the space; where it is new, those that it will begin with.
fn submodules(setup: &Setup<'_>, known: Option<Vec<Submodule>>) -> Vec<Submodule> {
    let first = || match setup.settings.runtime.default_submodules {
        true => {
            let submodule = |first: &thinkd_model::prompt::FirstSubmodule| Submodule {
                prompt_bytes: first.prompt.len(),
                follow_up: first.follow_up,
            };
            setup.prompts.submodules.iter().map(submodule).collect()
        }
        false => Vec::new(),
    };
    known.unwrap_or_else(first)
}

/// About how many bytes the calls of a first turn send; none: something is wrong with the prompts, which is said elsewhere.
fn bytes(setup: &Setup<'_>, submodules: &[Submodule]) -> Option<usize> {
    let (decision, submodule) = setup.tools.bytes(setup.prompts, AROUND_TOOL).ok()?;
    let text = |template: &thinkd_model::prompt::Template| template.source().as_str().len();
    let of_submodules: usize = submodules
        .iter()
        .map(|one| {
            let calls = 1 + usize::from(one.follow_up && setup.settings.turn.follow_up);
            calls * (AROUND + text(&setup.prompts.submodule) + submodule + one.prompt_bytes)
        })
        .sum();
    Some(of_submodules + AROUND + text(&setup.prompts.decision) + decision)
}

/// Says whether an address is one of this machine.
fn is_local(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// A turn to come.
struct Turn {
    submodules: usize,
    follow_ups: usize,
    call: Duration,
    is_local: bool,
}

impl Turn {
    fn calls(&self) -> usize {
        self.submodules + 1 + self.follow_ups
    }

    /// The time to the reply where calls are answered at the same time.
    fn side_by_side(&self) -> Duration {
        self.call * if self.submodules > 0 { 2 } else { 1 }
    }

    /// The time to the reply where calls are answered one after the other.
    fn one_by_one(&self) -> Duration {
        self.call * u32::try_from(self.submodules + 1).unwrap_or(u32::MAX)
    }

    /// The longer of both that has to be expected.
    fn expected(&self) -> Duration {
        match self.is_local {
            true => self.one_by_one(),
            false => self.side_by_side(),
        }
    }

    fn seconds(&self, settings: &Settings) -> String {
        let call = shown(self.call);
        let calls = self.calls();
        let after = match self.follow_ups {
            0 => String::new(),
            some => format!(
                ", and {} after the reply",
                counted(some as u64, "follow-up")
            ),
        };
        if self.submodules == 0 {
            return format!(
                "a call takes {call}; a turn makes one{after}, so expect a reply after {call}"
            ) + &self.advice(settings);
        }
        let submodules = counted(self.submodules as u64, "submodule");
        let turn = format!(
            "a call takes {call}. A turn makes {calls}: {submodules} at the same time, then the decision{after}. Expect a reply \
             after {}",
            shown(self.expected())
        );
        let else_ = match (self.is_local, self.submodules) {
            (true, _) => format!(
                ", or {} if the model's server answers {} calls at the same time",
                shown(self.side_by_side()),
                self.submodules
            ),
            (false, 1) => String::new(),
            (false, _) => format!(
                ", or {} if the model's server answers one call after the other",
                shown(self.one_by_one())
            ),
        };
        turn + &else_ + &self.advice(settings)
    }

    /// The settings that shorten a reply that takes long, except those that are set already.
    fn advice(&self, settings: &Settings) -> String {
        if self.expected() < SLOW {
            return String::new();
        }
        let mut advice = Vec::new();
        let waits = Duration::from_millis(settings.turn.submodule_timeout_ms);
        let submodules = self.expected().saturating_sub(self.call);
        if self.submodules > 0 && submodules > waits {
            // Half as long again: no call takes exactly what another one took.
            let enough = (submodules.as_secs() + 1) * 1500;
            advice.push(format!(
                "turn.submodule_timeout_ms = {enough} lets the decision wait for all submodules, which have {} now",
                shown(waits)
            ));
        }
        if self.follow_ups > 0 {
            advice.push("turn.follow_up = false saves the calls after the reply".to_owned());
        }
        if self.submodules > 0 {
            let name = "DELETE /submodules/NAME";
            advice.push(format!("a submodule less ({name}) saves its calls"));
        }
        advice.push("a smaller model answers sooner".to_owned());
        format!(". To be faster: {}", advice.join("; "))
    }

    fn tokens(&self, bytes: usize, called: Called, settings: &Settings) -> String {
        let (tokens, by) = match called.tokens {
            0 => (bytes as f64 / 4.0, "a token taken for four bytes"),
            counted => (
                bytes as f64 * counted as f64 / called.bytes.max(1) as f64,
                "as this model counts",
            ),
        };
        // Two digits: it is an estimate.
        let unit = 10_f64.powf((tokens.max(1.0).log10().floor() - 1.0).max(0.0));
        let tokens = (tokens / unit).round() * unit;
        format!(
            "the first message of a conversation costs about {tokens:.0} tokens of prompts in {} ({by}); later ones carry what \
             was said before, too, at most {} bytes of it a call (history.bytes)",
            counted(self.calls() as u64, "call"),
            settings.history.bytes
        )
    }

    fn bottleneck(&self, called: Called, write: Option<Duration>) -> String {
        let model = self.expected();
        let disk = write.map(|write| write * COMMITS);
        if let (true, Some(write)) = (disk.is_some_and(|disk| disk > model), write) {
            return format!(
                "the disk: a durable write takes {}, and a reply waits for {COMMITS}, longer than for the model. Put the \
                 database on a faster disk",
                shown(write)
            );
        }
        let rest = disk.map(|disk| format!(", and for the disk {}", shown(disk)));
        let waits = format!(
            "the model: a reply waits {} for it{}",
            shown(model),
            rest.unwrap_or_default()
        );
        match (self.is_local, called.busy, called.connect) {
            (true, Some(busy), _) if busy >= BUSY => format!(
                "{waits}. Its server runs on this machine, of which the processors were {:.0} % busy while it answered: a \
                 smaller model or a graphics card is what helps",
                busy * 100.0
            ),
            (true, Some(busy), _) => format!(
                "{waits}. Its server runs on this machine, of which the processors were {:.0} % busy while it answered: they \
                 are not the limit",
                busy * 100.0
            ),
            (false, _, Some(connect)) if connect * 2 > called.took => format!(
                "the network: of a call of {} the way to the model's server and back takes {}",
                shown(called.took),
                shown(connect)
            ),
            (false, _, Some(connect)) => format!(
                "{waits}. The way to its server and back takes {} of each call: another model or provider is what helps",
                shown(connect)
            ),
            _ => waits,
        }
    }
}

/// A length of time as people say it.
fn shown(time: Duration) -> String {
    match time.as_millis() {
        ms @ 0..=999 => format!("{ms} ms"),
        1000..=9999 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{:.0} s", time.as_secs_f64()),
    }
}

/// The processors of this machine at a moment: ticks in all, and those in which they rested; none where the system says nothing of it.
#[derive(Clone, Copy)]
pub struct Processors {
    all: u64,
    idle: u64,
}

impl Processors {
    /// As they are now.
    pub fn now() -> Option<Self> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let ticks: Vec<u64> = stat
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .take(8)
            .filter_map(|ticks| ticks.parse().ok())
            .collect();
        let idle = ticks.get(3)? + ticks.get(4)?;
        Some(Self {
            all: ticks.iter().sum(),
            idle,
        })
    }

    /// The share of time since then in which they were busy; none: it was too short.
    pub fn busy_since(before: Option<Self>, took: Duration) -> Option<f64> {
        let before = before?;
        let now = Self::now()?;
        let all = now.all.checked_sub(before.all).filter(|all| *all > 0)?;
        let idle = now.idle.saturating_sub(before.idle);
        (took >= COUNTED).then(|| 1.0 - idle as f64 / all as f64)
    }
}
