//! `propose_submodule` and `propose_submodule_removal`: a mind proposes to have other submodules. A
//! person is shown the change as a diff, and it is made only when they approve it. It is made with
//! the event that the same act of an operator leaves, and only where it is still the change that
//! they were shown.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;

use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed, refused};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::{Change, Submodule};
use thinkd_log::kernel::Store;
use thinkd_log::projections::submodules::SubmoduleRow;
use thinkd_words::diff::{applied, unified};
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{Name, Space};
use thinkd_words::unseen::first_unseen;

/// `propose_submodule`: creates one, or gives one another prompt.
pub struct ProposeSubmodule(pub Supplies);

/// Its arguments.
#[derive(Deserialize)]
#[serde(try_from = "Written")]
pub struct Proposal {
    name: Name,
    prompt: Prompt,
}

/// The prompt that a submodule is to have.
enum Prompt {
    Whole(String),
    /// The change of the present one.
    Diff(String),
}

/// The arguments as a model writes them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    prompt: Option<String>,
    diff: Option<String>,
}

impl JsonSchema for Proposal {
    fn schema_name() -> Cow<'static, str> {
        Written::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::json_schema(generator)
    }
}

impl TryFrom<Written> for Proposal {
    type Error = String;

    fn try_from(Written { name, prompt, diff }: Written) -> Result<Self, String> {
        let name = Name::parse(&name).map_err(|error| error.to_string())?;
        let prompt = match (prompt, diff) {
            (Some(prompt), None) if prompt.trim().is_empty() => {
                return Err("a submodule is its prompt: it cannot be empty".to_owned());
            }
            (Some(prompt), None) => Prompt::Whole(prompt),
            (None, Some(diff)) => Prompt::Diff(diff),
            _ => return Err("give either prompt or diff, and null for the other".to_owned()),
        };
        Ok(Self { name, prompt })
    }
}

/// The outcome of a proposal, as things are now.
struct Changed {
    old: Option<SubmoduleRow>,
    new: String,
    diff: String,
}

impl ProposeSubmodule {
    async fn changed(
        &self,
        Proposal { name, prompt }: &Proposal,
        space: &Space,
    ) -> Result<Changed, Failure> {
        let rows = self.0.store.submodules(space).await?;
        let old = rows.iter().find(|row| row.name == *name);
        let new = match (prompt, old) {
            (Prompt::Whole(prompt), _) => prompt.clone(),
            (Prompt::Diff(_), None) => {
                let text = format!(
                    "there is no submodule {name} that a diff could change: give its whole prompt"
                );
                return Err(refused(text, "not_there"));
            }
            (Prompt::Diff(diff), Some(old)) => applied(&old.prompt, diff).map_err(|why| {
                let text = format!("the prompt of {name} was not changed by the diff: {why}");
                refused(text, "does_not_fit")
            })?,
        };
        let most = self.0.limits.text_bytes;
        if new.trim().is_empty() {
            let text = format!("the diff leaves nothing of the prompt of {name}");
            return Err(refused(text, "empty"));
        }
        if new.len() > most {
            let text = format!("a prompt has at most {most} bytes (limits.text_bytes)");
            return Err(refused(text, "too_large"));
        }
        if let Some(name) = first_unseen(&new) {
            let text = format!(
                "the prompt has a character that people do not see ({name}), and they are to read it: leave it out"
            );
            return Err(refused(text, "unseen"));
        }
        if old.is_none() && rows.len() >= self.0.limits.submodules as usize {
            let text = format!(
                "there are {} submodules, and may be no more (limits.submodules)",
                rows.len()
            );
            return Err(
                Failure::new(FailureKind::Budget, text).with(json!({ "key": "limits.submodules" }))
            );
        }
        let diff = shown(name, old.map(|old| old.prompt.as_str()), Some(&new));
        if diff.is_empty() {
            let text = format!("the prompt of {name} is that already");
            return Err(refused(text, "unchanged"));
        }
        let old = old.cloned();
        Ok(Changed { old, new, diff })
    }
}

impl Typed for ProposeSubmodule {
    type Input = Proposal;
    const NAME: &'static str = "propose_submodule";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/propose_submodule.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;
    const ALWAYS_GATED: bool = true;

    async fn preview(
        &self,
        proposal: Proposal,
        site: &CallSite,
    ) -> Result<Option<String>, Failure> {
        Ok(Some(self.changed(&proposal, &site.space).await?.diff))
    }

    async fn call(&self, proposal: Proposal, site: &CallSite) -> Result<Output, Failure> {
        let Changed { old, new, diff } = self.changed(&proposal, &site.space).await?;
        let Proposal { name, prompt } = proposal;
        // A diff says by itself what it goes by.
        if matches!(prompt, Prompt::Whole(_)) {
            is_as_shown(&*self.0.store, &name, &diff, site).await?;
        }
        let follow_up = old.as_ref().is_none_or(|old| old.follow_up);
        let submodule = Submodule {
            prompt: new,
            follow_up,
        };
        let change = Change::Submodule(Some(submodule));
        let mut draft = Draft::set(&site.thread, name.as_str(), change);
        let done = match old {
            None => {
                draft.conditions.push(Condition::NewSubmodule {
                    name: name.clone(),
                    most: self.0.limits.submodules as usize,
                });
                "created"
            }
            Some(old) => {
                let name = name.clone();
                draft.conditions.extend([
                    Condition::PromptIs {
                        name: name.clone(),
                        prompt: old.prompt,
                    },
                    Condition::FollowUpIs { name, follow_up },
                ]);
                "changed"
            }
        };
        Ok(Output::done(vec![draft], json!({ done: name })))
    }
}

/// `propose_submodule_removal`: removes one.
pub struct ProposeRemoval(pub Supplies);

impl ProposeRemoval {
    /// Returns its prompt, and the diff that shows its removal.
    async fn present(&self, name: &Name, space: &Space) -> Result<(String, String), Failure> {
        let rows = self.0.store.submodules(space).await?;
        let row = rows.into_iter().find(|row| row.name == *name);
        let row =
            row.ok_or_else(|| refused(format!("there is no submodule {name}"), "not_there"))?;
        let diff = shown(name, Some(&row.prompt), None);
        Ok((row.prompt, diff))
    }
}

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    #[schemars(with = "String")]
    name: Name,
}

impl Typed for ProposeRemoval {
    type Input = Removal;
    const NAME: &'static str = "propose_submodule_removal";
    const PROMPT: &'static str =
        include_str!("../../../prompts/tools/propose_submodule_removal.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;
    const ALWAYS_GATED: bool = true;

    async fn preview(
        &self,
        Removal { name }: Removal,
        site: &CallSite,
    ) -> Result<Option<String>, Failure> {
        Ok(Some(self.present(&name, &site.space).await?.1))
    }

    async fn call(&self, Removal { name }: Removal, site: &CallSite) -> Result<Output, Failure> {
        let (prompt, diff) = self.present(&name, &site.space).await?;
        is_as_shown(&*self.0.store, &name, &diff, site).await?;
        let draft = Draft::set(&site.thread, name.as_str(), Change::Submodule(None));
        let draft = draft.only_if(Condition::PromptIs {
            name: name.clone(),
            prompt,
        });
        Ok(Output::done(vec![draft], json!({ "removed": name })))
    }
}

/// The change of a prompt as people are shown it; none: there is none before, or after.
fn shown(name: &Name, old: Option<&str>, new: Option<&str>) -> String {
    let place = format!("submodules/{name}");
    let side = |prompt: Option<&str>| prompt.map_or("/dev/null", |_| place.as_str());
    unified(
        (side(old), old.unwrap_or_default()),
        (side(new), new.unwrap_or_default()),
    )
}

/// Refuses a change that was approved as it was proposed and is no longer the one that the person
/// was shown. Another writer may have changed the submodule since, and would be overruled by a
/// person without having seen that.
async fn is_as_shown(
    store: &dyn Store,
    name: &Name,
    diff: &str,
    site: &CallSite,
) -> Result<(), Failure> {
    let granted = site.grant.as_ref();
    let granted = granted.and_then(|grant| Some((grant, grant.approval.parse().ok()?)));
    let Some((grant, id)) = granted else {
        return Ok(());
    };
    let event = store.event(&site.space, id).await?;
    let Some(Fact::ApprovalPending(proposed)) = event.as_ref().map(Event::fact) else {
        return Ok(());
    };
    // Other arguments are a person's own, who was shown another change.
    if proposed.arguments_sha256 != grant.arguments_sha256 || proposed.diff == Some(diff) {
        return Ok(());
    }
    let text = format!(
        "the submodule {name} is another one than when this was proposed: look at it, and propose anew"
    );
    Err(refused(text, "changed_since"))
}
