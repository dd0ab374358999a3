//! A tool of another server as toolboxes have it: its call goes over the server's line, and what comes back is data.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::asking::{Asker, Desk};
use super::content::output;
use super::line::Line;
use super::offer::Offer;
use super::wire::Trouble;
use crate::model::provider::ToolSpec;
use crate::tools::tool::{CallSite, Effect, Output, Spec, Tool};
use crate::words::failure::{Failure, FailureKind};
use crate::words::text::Json;

/// See the module.
pub struct Remote {
    spec: Spec,
    original: String,
    line: Arc<Line>,
    limit: Duration,
    desk: Arc<Desk>,
}

impl Remote {
    /// The tool of an offer.
    pub fn new(offer: &Offer, line: Arc<Line>, limit: Duration, desk: Arc<Desk>) -> Self {
        // Whose words these are, before them.
        let description = format!("(the server {} says:) {}", line.name, offer.description);
        let told =
            ToolSpec { name: offer.name.clone(), description, parameters: Json::of(&offer.schema), is_strict: false };
        let effect = if offer.is_repeatable { Effect::Repeatable } else { Effect::Outside };
        let spec = Spec { time: Some(limit), only_reads: offer.only_reads, ..Spec::new(told, effect) };
        Self { spec, original: offer.original.clone(), line, limit, desk }
    }

    /// Whether a call that was cut off may have taken effect.
    fn may_have_happened(&self) -> bool {
        self.spec.effect == Effect::Outside
    }

    fn away(&self, why: &str) -> Failure {
        let text = format!("{} was not called: the server {} is away: {why}", self.spec.name(), self.line.name);
        Failure::new(FailureKind::Tool, text)
            .retryable()
            .with(json!({ "reason": "server_away", "server": self.line.name }))
    }

    fn late(&self) -> Failure {
        let (name, ms) = (self.spec.name(), self.limit.as_millis());
        let text = format!("{name} did not answer within {ms} ms");
        if self.may_have_happened() {
            let text = format!("{text}: whether it took effect is not known");
            return Failure::new(FailureKind::Timeout, text).with(json!({ "limit_ms": ms }));
        }
        Failure::new(FailureKind::Timeout, text).retryable().with(json!({ "limit_ms": ms }))
    }

    fn failed(&self, trouble: Trouble) -> Failure {
        let name = self.spec.name();
        match trouble {
            Trouble::Away(why) if self.may_have_happened() => {
                let text = format!("the server was lost while {name} ran ({why}): whether it took effect is not known");
                Failure::new(FailureKind::OutcomeUnknown, text)
            }
            Trouble::Away(why) => {
                let text = format!("{name} was called, and its server was lost before it answered: {why}");
                let detail = json!({ "reason": "server_away", "server": self.line.name });
                Failure::new(FailureKind::Tool, text).retryable().with(detail)
            }
            Trouble::Garbled(why) if self.may_have_happened() => {
                let text =
                    format!("{name} had no answer that can be read ({why}): whether it took effect is not known");
                Failure::new(FailureKind::OutcomeUnknown, text)
            }
            Trouble::Garbled(why) => {
                let text = format!("{name} was called, and had no answer that can be read: {why}");
                Failure::new(FailureKind::Tool, text)
            }
            Trouble::Refused(why) => {
                Failure::new(FailureKind::Tool, format!("{name} was refused by its server: {why}"))
            }
            Trouble::Odd(why) => {
                Failure::new(FailureKind::Tool, format!("{name} had an answer that cannot be used: {why}"))
            }
        }
    }
}

#[async_trait]
impl Tool for Remote {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    async fn call(&self, arguments: Value, site: &CallSite) -> Result<Output, Failure> {
        self.check(&arguments)?;
        let Value::Object(arguments) = arguments else {
            let text = format!("the arguments of {} are not valid: they are an object", self.spec.name());
            return Err(Failure::new(FailureKind::Tool, text).with(json!({ "reason": "invalid_arguments" })));
        };
        let until = Instant::now() + self.limit;
        let asker = Asker::new(self.desk.clone(), &self.line.name, self.spec.name(), site.clone(), until);
        let asked = async {
            let link = self.line.link().await.map_err(|why| self.away(&why))?;
            link.call(&self.original, arguments, Arc::new(asker)).await.map_err(|trouble| self.failed(trouble))
        };
        let answer = timeout(self.limit, asked).await.map_err(|_| self.late())??;
        output(self.spec.name(), answer, &*self.desk.store, &site.space).await
    }
}
