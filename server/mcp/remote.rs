//! A tool of another server as toolboxes have it: its call goes over the server's line, and the
//! answer is data.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::asking::{Asker, Desk};
use super::content::output;
use super::line::Line;
use super::offer::Offer;
use super::options::Options;
use super::wire::Trouble;
use thinkd_model::provider::ToolSpec;
use thinkd_tools::server_names::PREFIX;
use thinkd_tools::tool::{CallSite, Effect, Output, Spec, Tool, invalid};
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::text::Json;

/// See the module.
pub struct Remote {
    spec: Spec,
    original: String,
    line: Arc<Line>,
    limit: Duration,
    /// The time that a call may take in all, where progress lengthens it.
    longest: Duration,
    desk: Arc<Desk>,
}

impl Remote {
    /// Returns the tool of an offer.
    pub fn new(offer: &Offer, line: Arc<Line>, options: &Options, desk: Arc<Desk>) -> Self {
        let limit = options.timeout();
        let longest = options.longest();
        // Whose words these are, before them.
        let description = format!("(the server {} says:) {}", line.name, offer.description);
        let told = ToolSpec {
            name: offer.name.clone(),
            description,
            parameters: Json::of(&offer.schema),
            is_strict: false,
        };
        let effect = if offer.is_repeatable {
            Effect::Repeatable
        } else {
            Effect::Outside
        };
        let spec = Spec {
            // As long for a place as for the call.
            time: Some(limit + longest),
            only_reads: offer.only_reads,
            always_gated: offer.waits,
            alias: Some(format!("{PREFIX}{}__{}", line.name, offer.original)),
            ..Spec::new(told, effect)
        };
        Self {
            spec,
            original: offer.original.clone(),
            line,
            limit,
            longest,
            desk,
        }
    }
}

/// Returns the failure of a call without an answer that can be used. A call that may have taken
/// effect has an unknown outcome.
pub fn failed(tool: &str, server: &str, effect: Effect, trouble: Trouble) -> Failure {
    let may_have_happened = effect == Effect::Outside;
    let failed = |text: String| Failure::new(FailureKind::Tool, text);
    let unknown = |text: String| {
        let text = format!("{text}: whether it took effect is not known");
        Failure::new(FailureKind::OutcomeUnknown, text)
    };
    let away = |failure: Failure| {
        failure
            .retryable()
            .with(json!({ "reason": "server_away", "server": server }))
    };
    match trouble {
        Trouble::Unreached(why) => away(failed(format!(
            "{tool} was not called: the server {server} is away: {why}"
        ))),
        Trouble::Refused(why) => failed(format!("{tool} was refused by its server: {why}")),
        Trouble::Lost(why) if may_have_happened => {
            unknown(format!("the server was lost while {tool} ran ({why})"))
        }
        Trouble::Unusable(why) if may_have_happened => {
            unknown(format!("{tool} had no answer that can be used ({why})"))
        }
        Trouble::Lost(why) => away(failed(format!(
            "{tool} was called, and its server was lost before it answered: {why}"
        ))),
        Trouble::Unusable(why) => failed(format!(
            "{tool} was called, and had no answer that can be used: {why}"
        )),
    }
}

/// Returns the failure of a call that had no place until its limit. Nothing was sent.
pub fn busy(tool: &str, server: &str, limit: Duration) -> Failure {
    let text = format!(
        "{tool} was not called: other calls of this space took all its places at the server {server} for {} ms; try again later",
        limit.as_millis()
    );
    Failure::new(FailureKind::Tool, text)
        .retryable()
        .with(json!({ "reason": "server_busy", "server": server }))
}

/// Returns the failure of a call that was given up at its limit. `garbled` is the number of lines
/// that came meanwhile and are no messages.
pub fn late(tool: &str, effect: Effect, limit: Duration, garbled: u64) -> Failure {
    let ms = limit.as_millis();
    let lines = if garbled == 1 {
        "1 line that is no message"
    } else {
        &format!("{garbled} lines that are no messages")
    };
    let meanwhile =
        format!(" (meanwhile its server wrote {lines}: its answer may be lost in that)");
    let text = format!(
        "{tool} did not answer within {ms} ms{}",
        if garbled > 0 { &meanwhile } else { "" }
    );
    let failure = |text| Failure::new(FailureKind::Timeout, text).with(json!({ "limit_ms": ms }));
    if effect == Effect::Outside {
        return failure(format!("{text}: whether it took effect is not known"));
    }
    failure(text).retryable()
}

#[async_trait]
impl Tool for Remote {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    async fn call(&self, arguments: Value, site: &CallSite) -> Result<Output, Failure> {
        self.check(&arguments)?;
        let Value::Object(arguments) = arguments else {
            return Err(invalid(format!(
                "the arguments of {} are not valid: they are an object",
                self.spec.name()
            )));
        };
        let name = self.spec.name();
        let effect = self.spec.effect;
        let place = self.line.place(&site.space, self.limit).await;
        let _place = place.ok_or_else(|| busy(name, &self.line.name, self.limit))?;
        let begin = Instant::now();
        let mut until = begin + self.limit;
        let end = begin + self.longest;
        let failed = |trouble| failed(name, &self.line.name, effect, trouble);
        let reached = timeout_at(until, self.line.link()).await;
        let reached = reached.unwrap_or_else(|_| {
            Err(format!(
                "it was not reached within {} ms",
                self.limit.as_millis()
            ))
        });
        let link = reached.map_err(|why| failed(Trouble::Unreached(why)))?;
        let asker = Asker::new(self.desk.clone(), &self.line.name, name, site.clone(), end);
        let asker = Arc::new(asker);
        let garbled = self.line.garbled.so_far();
        let call = link.call(&self.original, arguments, asker.clone());
        tokio::pin!(call);
        let answer = loop {
            tokio::select! {
                answer = &mut call => break answer,
                () = asker.progress.notified() => until = until.max(end.min(Instant::now() + self.limit)),
                () = sleep_until(until) => {
                    let garbled = self.line.garbled.so_far() - garbled;
                    return Err(late(name, effect, until - begin, garbled));
                }
            }
        };
        let answer = answer.map_err(failed)?;
        output(name, answer, &*self.desk.store, &site.space).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_failure_goes_by_the_trouble_and_by_what_the_call_may_have_done() {
        use FailureKind::{OutcomeUnknown, Timeout, Tool};
        let why = || "why".to_owned();
        let troubles = [
            Trouble::Unreached(why()),
            Trouble::Lost(why()),
            Trouble::Refused(why()),
            Trouble::Unusable(why()),
        ];
        // The kind and whether the same may succeed later, by effect; last, that of a call that was given up.
        let outside = [
            (Tool, true),
            (OutcomeUnknown, false),
            (Tool, false),
            (OutcomeUnknown, false),
            (Timeout, false),
        ];
        let repeatable = [
            (Tool, true),
            (Tool, true),
            (Tool, false),
            (Tool, false),
            (Timeout, true),
        ];
        for (effect, wanted) in [(Effect::Outside, outside), (Effect::Repeatable, repeatable)] {
            let failures = troubles
                .iter()
                .map(|trouble| failed("t", "s", effect, trouble.clone()));
            let failures = failures.chain([late("t", effect, Duration::from_millis(7), 0)]);
            for (failure, wanted) in failures.zip(wanted) {
                assert_eq!(
                    (failure.kind, failure.retryable),
                    wanted,
                    "{effect:?}: {}",
                    failure.text
                );
                let is_unknown = failure.text.ends_with("is not known");
                let may_have_happened =
                    effect == Effect::Outside && matches!(wanted.0, OutcomeUnknown | Timeout);
                assert_eq!(is_unknown, may_have_happened, "{}", failure.text);
                assert_eq!(
                    failure.detail["reason"] == "server_away",
                    wanted == (Tool, true),
                    "{}",
                    failure.text
                );
            }
        }
        assert!(
            late("t", Effect::Outside, Duration::from_millis(7), 2)
                .text
                .contains("2 lines that are no messages")
        );
    }
}
