//! The gate is the layer around a tool that waits for a person: a call without a grant is parked, which is only an event, and the turn goes on;
//! a call with a grant runs, if it is the call that was granted. It stands where the tool starts, so that no door leads around it.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::approval::{Grant, Rules, hash_of};
use super::tool::{CallSite, Effect, Output, Spec, Tool, refused};
use thinkd_event::condition::RequestState;
use thinkd_event::draft::without_nul;
use thinkd_event::fact::Fact;
use thinkd_event::fact::approval::Pending;
use thinkd_log::kernel::Store;
use thinkd_log::projections::requests::RequestRow;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id;
use thinkd_words::text::sha256;

/// Returns the version of a tool: the hash of the text that models are told of it.
pub fn version_of(spec: &Spec) -> String {
    let told = &spec.told;
    let told = json!([told.name, told.description, told.parameters.as_str()]);
    sha256(told.to_string().as_bytes())
}

/// See the module.
pub struct Gate {
    spec: Spec,
    version: String,
    /// The tool, which checks arguments and says the change that they would make.
    tool: Arc<dyn Tool>,
    /// The same inside of its other layers.
    runs: Arc<dyn Tool>,
    rules: Arc<Rules>,
    store: Arc<dyn Store>,
}

impl Gate {
    /// Around a tool; `runs` is the same inside of its other layers.
    pub fn new(
        tool: Arc<dyn Tool>,
        runs: Arc<dyn Tool>,
        rules: Arc<Rules>,
        store: Arc<dyn Store>,
    ) -> Self {
        let version = version_of(tool.spec());
        let spec = Spec {
            // To park a call is only an event; how many are open is read from rows.
            effect: Effect::Events,
            gated: Some(tool.spec().effect),
            reads_rows: true,
            leaves_action: true,
            ..tool.spec().clone()
        };
        Self {
            spec,
            version,
            tool,
            runs,
            rules,
            store,
        }
    }

    async fn park(&self, arguments: &Value, site: &CallSite) -> Result<Output, Failure> {
        let name = self.spec.name();
        if site.by != Who::Decision {
            let text = format!(
                "{name} waits for a person before it runs, so that only the decision may propose it"
            );
            return Err(refused(text, "needs_approval"));
        }
        // Whatever would be refused anyway is not put before a person.
        self.tool.check(arguments)?;
        open_places(&*self.store, self.rules.open_max, site).await?;
        let diff = self.tool.preview(arguments, site).await?;
        let id = id::fresh();
        let expires = self.rules.expires(site.now).to_string();
        let pending = Pending {
            approval: &id.to_string(),
            turn: site.turn,
            call_id: &site.call_id,
            tool: name,
            arguments,
            arguments_sha256: &hash_of(arguments),
            tool_version: &self.version,
            diff: diff.as_deref(),
            expires: &expires,
        };
        let draft = Fact::ApprovalPending(pending).encode(&site.thread);
        Ok(Output::events(vec![draft.with_id(id)]))
    }

    fn is_granted(&self, grant: &Grant, arguments: &Value, site: &CallSite) -> Result<(), Failure> {
        let name = self.spec.name();
        let refuse = |why: &str, reason: &str| {
            let text = format!("{name} was not run: {why}; propose it again");
            Err(refused(text, reason))
        };
        if grant.tool_version != self.version {
            let why = "the tool is another one than what was approved";
            return refuse(why, "tool_changed");
        }
        if grant.tool != name
            || grant.call_id != site.call_id
            || grant.arguments_sha256 != hash_of(arguments)
        {
            return refuse("the approval is of another call", "not_granted");
        }
        Ok(())
    }
}

/// Refuses where the thread has as many requests to people open as it may.
pub async fn open_places(store: &dyn Store, most: u64, site: &CallSite) -> Result<(), Failure> {
    let rows = store.requests_of(&site.space, &site.thread).await?;
    let of_people = |row: &&RequestRow| row.state != RequestState::Client;
    let open = rows.iter().filter(of_people).count() as u64;
    if open < most {
        return Ok(());
    }
    let text =
        format!("{most} requests of this thread wait for people already; wait for what they say");
    Err(Failure::new(FailureKind::Budget, text)
        .with(json!({ "limit": most, "key": "tools.open_requests" })))
}

#[async_trait]
impl Tool for Gate {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), Failure> {
        self.tool.check(arguments)
    }

    async fn call(&self, arguments: Value, site: &CallSite) -> Result<Output, Failure> {
        let Some(grant) = &site.grant else {
            return self.park(&without_nul(arguments), site).await;
        };
        self.is_granted(grant, &arguments, site)?;
        self.runs.call(arguments, site).await
    }
}
