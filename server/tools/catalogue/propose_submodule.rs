//! `propose_submodule` and `propose_submodule_removal`: a mind proposes to have other submodules. A person is shown the change as a diff, and it is made
//! only when they approve it: with the event that the same act of an operator leaves, and only where it is still what they were shown.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;

use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::fact::Fact;
use crate::event::fact::set::{Change, Submodule};
use crate::log::kernel::Store;
use crate::log::projections::submodules::SubmoduleRow;
use crate::tools::contacts::unreadable;
use crate::tools::supplies::Supplies;
use crate::tools::tool::{CallSite, Effect, Output, Typed};
use crate::words::diff::{applied, unified};
use crate::words::failure::{Failure, FailureKind};
use crate::words::id::{Name, Space};
use crate::words::unseen::first_unseen;

/// `propose_submodule`: creates one, or gives one another prompt.
pub struct ProposeSubmodule {
    store: Arc<dyn Store>,
    /// Most submodules of a space.
    most: u32,
    /// Longest prompt, in bytes.
    prompt_bytes: usize,
}

impl ProposeSubmodule {
    pub(super) fn new(supplies: &Supplies) -> Self {
        let limits = supplies.limits;
        Self {
            store: supplies.store.clone(),
            most: limits.submodules,
            prompt_bytes: limits.text_bytes,
        }
    }
}

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
    /// What the present one is changed by.
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

/// What a proposal comes to, as things are now.
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
        let rows = self.store.submodules(space).await.map_err(unreadable)?;
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
                refused(
                    format!("the prompt of {name} was not changed by the diff: {why}"),
                    "does_not_fit",
                )
            })?,
        };
        let most = self.prompt_bytes;
        if new.trim().is_empty() {
            return Err(refused(
                format!("the diff leaves nothing of the prompt of {name}"),
                "empty",
            ));
        }
        if new.len() > most {
            return Err(refused(
                format!("a prompt has at most {most} bytes (limits.text_bytes)"),
                "too_large",
            ));
        }
        if let Some(name) = first_unseen(&new) {
            let text = format!(
                "the prompt has a character that people do not see ({name}), and they are to read it: leave it out"
            );
            return Err(refused(text, "unseen"));
        }
        if old.is_none() && rows.len() >= self.most as usize {
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
            return Err(refused(
                format!("the prompt of {name} is that already"),
                "unchanged",
            ));
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
            is_as_shown(&*self.store, &name, &diff, site).await?;
        }
        let follow_up = old.as_ref().is_none_or(|old| old.follow_up);
        let submodule = Submodule {
            prompt: new,
            follow_up,
        };
        let draft = Draft::set(
            &site.thread,
            name.as_str(),
            Change::Submodule(Some(submodule)),
        );
        let (done, draft) = match old {
            None => (
                "created",
                draft.only_if(Condition::NewSubmodule {
                    name: name.clone(),
                    most: self.most as usize,
                }),
            ),
            Some(old) => (
                "changed",
                draft
                    .only_if(Condition::PromptIs {
                        name: name.clone(),
                        prompt: old.prompt,
                    })
                    .only_if(Condition::FollowUpIs {
                        name: name.clone(),
                        follow_up,
                    }),
            ),
        };
        Ok(Output {
            drafts: vec![draft],
            value: Some(json!({ done: name })),
            ..Output::default()
        })
    }
}

/// `propose_submodule_removal`: removes one.
pub struct ProposeRemoval {
    store: Arc<dyn Store>,
}

impl ProposeRemoval {
    pub(super) fn new(supplies: &Supplies) -> Self {
        Self {
            store: supplies.store.clone(),
        }
    }

    /// Its prompt, and what is shown of its removal.
    async fn present(&self, name: &Name, space: &Space) -> Result<(String, String), Failure> {
        let rows = self.store.submodules(space).await.map_err(unreadable)?;
        let prompt = prompt_of(&rows, name);
        let prompt =
            prompt.ok_or_else(|| refused(format!("there is no submodule {name}"), "not_there"))?;
        let diff = shown(name, Some(&prompt), None);
        Ok((prompt, diff))
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
        is_as_shown(&*self.store, &name, &diff, site).await?;
        let draft = Draft::set(&site.thread, name.as_str(), Change::Submodule(None));
        let draft = draft.only_if(Condition::PromptIs {
            name: name.clone(),
            prompt,
        });
        Ok(Output {
            drafts: vec![draft],
            value: Some(json!({ "removed": name })),
            ..Output::default()
        })
    }
}

fn prompt_of(rows: &[SubmoduleRow], name: &Name) -> Option<String> {
    rows.iter()
        .find(|row| row.name == *name)
        .map(|row| row.prompt.clone())
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

/// Whether a change that was approved as it was proposed is what the person was shown: somebody else may have changed the
/// submodule since, and would be overruled by a person who never saw that.
async fn is_as_shown(
    store: &dyn Store,
    name: &Name,
    diff: &str,
    site: &CallSite,
) -> Result<(), Failure> {
    let Some(grant) = &site.grant else {
        return Ok(());
    };
    let Ok(id) = grant.approval.parse() else {
        return Ok(());
    };
    let Some(event) = store.event(&site.space, id).await.map_err(unreadable)? else {
        return Ok(());
    };
    let Fact::ApprovalPending(proposed) = event.fact() else {
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

fn refused(text: String, reason: &str) -> Failure {
    Failure::new(FailureKind::Tool, text).with(json!({ "reason": reason }))
}
