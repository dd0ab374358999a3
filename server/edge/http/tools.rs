//! `/tools`: the tools that a thread may use, and the approval of the changes that other servers
//! made to theirs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::needs::{Needs, Read, Shape};
use super::params::Params;
use super::path::{Id as _, Path, ToolName};
use super::{Answer, Only, bounds};
use crate::json::Body;
use crate::problem::{Slug, Wrongs};
use thinkd_runtime::tools::{ThreadTool, ThreadTools};
use thinkd_tools::approval::WaitingCalls;
use thinkd_tools::tool::Effect;
use thinkd_tools::toolbox::said::Provider;
use thinkd_tools::toolbox::{self, State};
use thinkd_words::text::Json;

/// Most tools that one act approves.
const APPROVED_MAX: usize = 256;

resource! {
    /// See the module.
    RESOURCE tagged "tools": "What a thread may use";
    "/tools" => get(list);
    "/tools/approve" => post(approve_all);
    "/tools/{name}/approve" => post(approve);
    bounds: |document| {
        bounds::of_body(document, "ToolApproval", [("sha256", bounds::sha256())]);
        let named = [("name", bounds::tool()), ("sha256", bounds::sha256())];
        bounds::of_body(document, "NamedTool", named);
        let all = json!({ "minItems": 1, "maxItems": APPROVED_MAX });
        bounds::of_body(document, "ToolApprovals", [("tools", all)]);
        // A tool may be called what no other name may be.
        let parameters = &mut document["paths"]["/tools/{name}/approve"]["post"]["parameters"];
        bounds::put(&mut parameters[0]["schema"], bounds::tool());
    };
}

/// All that a thread may use.
#[derive(Debug, Serialize, ToSchema)]
pub struct Tools {
    /// The tools, in the order in which models are told of them; those that are withheld stand last.
    pub items: Vec<Tool>,
    /// The servers that offer tools from outside.
    pub servers: Vec<ToolServer>,
}

/// A tool of a thread.
#[derive(Debug, Serialize, ToSchema)]
pub struct Tool {
    /// Its name.
    #[schema(example = "mcp__files__read")]
    pub name: String,
    /// The server it is from; null: it is one of this server's own.
    #[schema(example = "files")]
    pub server: Option<String>,
    /// Its state: it says whether models are told of it.
    pub state: State,
    /// Why it is not ready.
    pub why: Option<String>,
    /// Of one that is withheld because it changed: the changes in its server's words, as a unified
    /// diff.
    pub diff: Option<String>,
    /// The hash of its server's present words about it: an approval names it.
    pub sha256: Option<String>,
    /// Its calls wait for a person.
    pub needs_approval: bool,
    /// Its purpose, as models are told; null: they are not told of it.
    pub description: Option<String>,
    /// The JSON Schema of its arguments, as models are told.
    #[schema(value_type = Option<Object>)]
    pub schema: Option<Json>,
    /// The effect of a call on the world, once it runs.
    pub effect: Option<Effect>,
    /// The number of the thread's last 1,000 results that are of this tool.
    #[schema(value_type = i64, minimum = 0)]
    pub calls: u64,
    /// The number of these that are failures.
    #[schema(value_type = i64, minimum = 0)]
    pub failed: u64,
}

/// A server that offers tools.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolServer {
    /// Its name, as it is configured.
    #[schema(example = "files")]
    pub name: String,
    /// The calls of its tools that wait for a person, besides those that `tools.approval` names.
    pub approve: WaitingCalls,
    /// The tools with calls that wait for no person, of those that models are told of.
    pub unseen: Vec<String>,
    /// True if it is connected.
    pub connected: bool,
    /// Why it is not, or another fact that is to be known.
    pub why: Option<String>,
    /// Its words about all its tools together; null: none.
    pub instructions: Option<ToolInstructions>,
}

/// The words of a server about all its tools together, as the space has them.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolInstructions {
    /// The name by which it is approved, as a tool is.
    #[schema(example = "mcp__files")]
    pub name: String,
    /// Its words, as models that have one of the tools are told; where they are too long, the beginning.
    pub text: String,
    /// The standing of these words.
    pub state: State,
    /// The reason that models are not told of them.
    pub why: Option<String>,
    /// Their difference from the words that the space knows, as a unified diff.
    pub diff: Option<String>,
    /// Their hash: an approval names it.
    pub sha256: Option<String>,
}

impl From<(String, toolbox::Shown)> for ToolInstructions {
    fn from((text, shown): (String, toolbox::Shown)) -> Self {
        Self {
            name: shown.name,
            text,
            state: shown.state,
            why: shown.why,
            diff: shown.diff,
            sha256: shown.sha256,
        }
    }
}

impl From<ThreadTool> for Tool {
    fn from(tool: ThreadTool) -> Self {
        let shown = tool.shown;
        let (told, effect) = shown.told.unzip();
        let told = told.map(|told| (told.description, told.parameters));
        let (description, schema) = told.unzip();
        Self {
            name: shown.name,
            server: shown.server,
            state: shown.state,
            why: shown.why,
            diff: shown.diff,
            sha256: shown.sha256,
            needs_approval: shown.needs_approval,
            description,
            schema,
            effect,
            calls: tool.calls,
            failed: tool.failed,
        }
    }
}

impl From<ThreadTools> for Tools {
    fn from(all: ThreadTools) -> Self {
        let items: Vec<Tool> = all.tools.into_iter().map(Tool::from).collect();
        let server = |it: Provider| {
            let is_unseen = |tool: &&Tool| {
                tool.server.as_ref() == Some(&it.name)
                    && !tool.needs_approval
                    && !matches!(tool.state, State::Changed | State::Withheld)
            };
            let unseen = items.iter().filter(is_unseen);
            ToolServer {
                unseen: unseen.map(|tool| tool.name.clone()).collect(),
                name: it.name,
                approve: it.approve,
                connected: it.is_connected,
                why: it.why,
                instructions: it.said.map(Into::into),
            }
        };
        let servers = all.providers.into_iter().map(server).collect();
        Self { items, servers }
    }
}

/// The approval of another server's present words about a tool.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolApproval {
    /// The hash of the words that were looked at.
    pub sha256: String,
}

/// The approval of several tools as their servers describe them now: of all of them, or of none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolApprovals {
    /// The tools.
    pub tools: Vec<NamedTool>,
}

/// A tool, and the hash of its description.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedTool {
    /// Its name.
    #[schema(example = "mcp__files__read")]
    pub name: String,
    /// The hash of the words that were looked at.
    pub sha256: String,
}

impl Body for ToolApproval {
    fn check(&self, wrongs: &mut Wrongs) {
        check_hash(&self.sha256, "/sha256", wrongs);
    }
}

impl Body for ToolApprovals {
    fn check(&self, wrongs: &mut Wrongs) {
        if self.tools.is_empty() || self.tools.len() > APPROVED_MAX {
            let text = format!("1 to {APPROVED_MAX} tools");
            wrongs.add(Slug::InvalidFrame, "/tools", text);
        }
        for (at, tool) in self.tools.iter().enumerate().take(APPROVED_MAX) {
            if ToolName::read(&tool.name).is_err() {
                let text = "1 to 64 of a-z, A-Z, 0-9, _ and -, as GET /tools shows them";
                wrongs.add(Slug::InvalidFrame, format!("/tools/{at}/name"), text);
            }
            check_hash(&tool.sha256, &format!("/tools/{at}/sha256"), wrongs);
        }
    }
}

fn check_hash(sha256: &str, pointer: &str, wrongs: &mut Wrongs) {
    if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let text = "64 hex digits, as GET /tools shows them";
        wrongs.add(Slug::InvalidFrame, pointer, text);
    }
}

/// The tools of which models are told from now on.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolsApproved {
    /// Their names.
    pub names: Vec<String>,
}

/// The result of an approval.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolApproved {
    /// The tool, of which models are told from now on.
    #[schema(example = "mcp__files__read")]
    pub name: String,
}

/// Returns all that a thread may use: where it is from, how it stands, how often it was called.
#[utoipa::path(get, path = "/tools", operation_id = "list_tools", tag = "tools",
    params(("thread" = Option<String>, Query, description = "the thread; without it `main`")),
    responses((status = 200, body = Tools)))]
pub async fn list(session: Needs<Read>, mut params: Params) -> Answer<Tools> {
    let thread = params.thread()?;
    params.end()?;
    Ok(axum::Json(session.tools(thread.as_ref()).await?.into()))
}

/// Lets models be told of another server's present words about a tool, if these are the words that
/// were looked at.
#[utoipa::path(post, path = "/tools/{name}/approve", operation_id = "approve_tool", tag = "tools",
    params(("name" = String, Path, description = "the tool")),
    request_body = ToolApproval, responses((status = 200, body = ToolApproved)))]
pub async fn approve(
    session: Needs<Shape>,
    Path(ToolName(name)): Path<ToolName>,
    Only(body): Only<ToolApproval>,
) -> Answer<ToolApproved> {
    let tool = (name.clone(), body.sha256.to_ascii_lowercase());
    session.approve_tools(&[tool]).await?;
    Ok(axum::Json(ToolApproved { name }))
}

/// Takes these tools as their servers describe them now, if the hashes are those: all of them, or none.
#[utoipa::path(post, path = "/tools/approve", operation_id = "approve_tools", tag = "tools",
    request_body = ToolApprovals, responses((status = 200, body = ToolsApproved)))]
pub async fn approve_all(
    session: Needs<Shape>,
    Only(body): Only<ToolApprovals>,
) -> Answer<ToolsApproved> {
    // The same one twice is one; with two hashes, one of them is wrong.
    let named = body.tools.into_iter();
    let named = named.map(|tool| (tool.name, tool.sha256.to_ascii_lowercase()));
    let tools = Vec::from_iter(BTreeSet::from_iter(named));
    session.approve_tools(&tools).await?;
    let names = tools.into_iter().map(|(name, _)| name).collect();
    Ok(axum::Json(ToolsApproved { names }))
}
