//! The tools of a thread, as people see them; and the changes of other servers' tools that they
//! approve.

use std::collections::BTreeMap;

use super::append::append_told;
use super::handle::Runtime;
use super::refused::Refused;
use thinkd_event::draft::Draft;
use thinkd_event::fact::Fact;
use thinkd_event::fact::calls::{Came, Outcome};
use thinkd_log::error::StoreError;
use thinkd_log::query::{Order, Query, Show};
use thinkd_model::provider::AskedModel;
use thinkd_thread::settings::Settings;
use thinkd_tools::toolbox::said::Provider;
use thinkd_tools::toolbox::{Approved, Shown, State, Unapproved};
use thinkd_words::id::{Seq, Space, ThreadId};

/// Number of the thread's newest results that are counted by tool.
const RESULTS: usize = 1000;
/// Number of results that are read at once.
const PAGE: u32 = 500;

/// The tools of a thread.
#[derive(Debug, Clone, Default)]
pub struct ThreadTools {
    /// The tools, in the order in which models are told of them; those that are withheld stand last.
    pub tools: Vec<ThreadTool>,
    /// The providers of tools that come and go.
    pub providers: Vec<Provider>,
}

/// A tool, and the counts of its calls.
#[derive(Debug, Clone)]
pub struct ThreadTool {
    /// The tool.
    pub shown: Shown,
    /// Number of its calls, as far as looked at.
    pub calls: u64,
    /// Number of its failures.
    pub failed: u64,
}

impl Runtime {
    /// Returns the models that are asked, with the habits learned of each.
    pub fn models(&self) -> Vec<AskedModel> {
        self.0.ground.mind.client.models()
    }

    /// Returns the tools of a thread; without a thread those of `main`.
    pub async fn tools(
        &self,
        space: &Space,
        thread: Option<&ThreadId>,
    ) -> Result<ThreadTools, Refused> {
        let ground = &self.0.ground;
        let main = ThreadId::default();
        let settings = match thread {
            Some(thread) => Settings::of(&ground.known_thread(space, thread).await?.settings),
            None => ground
                .store
                .thread(space, &main)
                .await?
                .map(|row| Settings::of(&row.settings))
                .unwrap_or_default(),
        };
        let shelf = ground.mind.tools.of(&settings);
        let counts = self.counts(space, thread.unwrap_or(&main)).await?;
        let refused = ground.mind.client.refused_tools();
        let tool = |shown: Shown| {
            let words = shown.told.as_ref();
            let words = words.and_then(|(spec, _)| refused.words(spec));
            let shown = match words {
                Some(words) if shown.state != State::Changed => Shown {
                    state: State::Withheld,
                    why: Some(format!("the provider refused it: {words}")),
                    ..shown
                },
                _ => shown,
            };
            let (calls, failed) = counts.get(&shown.name).copied().unwrap_or_default();
            ThreadTool {
                shown,
                calls,
                failed,
            }
        };
        let tools = shelf.shown(space).await?.into_iter().map(tool).collect();
        Ok(ThreadTools {
            tools,
            providers: shelf.providers(space).await?,
        })
    }

    /// Returns the number of calls of each tool in a thread lately, and the number of failures.
    async fn counts(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<BTreeMap<String, (u64, u64)>, StoreError> {
        let mut counts = BTreeMap::<String, (u64, u64)>::new();
        let (mut before, mut seen): (Option<Seq>, usize) = (None, 0);
        while seen < RESULTS {
            let query = Query {
                thread: Some(thread.clone()),
                tags: vec!["result".into()],
                show: Show::Public,
                order: Order::Descending,
                before,
                limit: PAGE,
                ..Query::default()
            };
            let page = self.0.ground.store.events(space, &query).await?;
            for event in &page {
                let (tool, failed) = match event.fact() {
                    Fact::Result(Outcome { tool, came, .. }) => {
                        (tool, matches!(came, Came::Failed(_)))
                    }
                    Fact::Reply(_) => ("reply", false),
                    _ => continue,
                };
                let count = counts.entry(tool.to_owned()).or_default();
                count.0 += 1;
                count.1 += u64::from(failed);
            }
            seen += page.len();
            before = page.last().map(|event| event.seq);
            if page.len() < PAGE as usize {
                break;
            }
        }
        Ok(counts)
    }

    /// Takes these tools of other servers, by name and hash, as their servers describe them now, if the hashes are those: all of them,
    /// or of none.
    pub async fn approve_tools(
        &self,
        space: &Space,
        tools: &[(String, String)],
        by: &str,
    ) -> Result<(), Refused> {
        let ground = &self.0.ground;
        self.open(space).await?;
        // After a start nobody may have needed its server yet.
        ground.mind.tools.conversation.prepare(space).await?;
        let mut drafts = Vec::new();
        for (name, sha256) in tools {
            drafts.extend(self.approval(space, (name, sha256), by).await?);
        }
        if drafts.is_empty() {
            return Ok(());
        }
        match append_told(&*ground.store, &ground.mind.on_stored, space, drafts).await {
            Ok(_) => Ok(()),
            Err(StoreError::Unmet(unmet)) => Err(Refused::Settled(unmet.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the event by which a space accepts a tool as it is now; none: it does already.
    async fn approval(
        &self,
        space: &Space,
        (name, sha256): (&str, &str),
        by: &str,
    ) -> Result<Option<Draft>, Refused> {
        let tools = &self.0.ground.mind.tools.conversation;
        match tools.approved(space, name, sha256, by).await? {
            Ok(Approved::Already) => Ok(None),
            Ok(Approved::By(draft)) => Ok(Some(*draft)),
            Err(Unapproved::Unknown) => {
                Err(Refused::NotFound(format!("tool {name} of another server")))
            }
            Err(Unapproved::Other) => Err(Refused::ToolChanged(format!(
                "what its server says of {name} is not what this sha256 is of: look at it again (GET /tools)"
            ))),
            Err(Unapproved::Wrong(why)) => Err(Refused::Unprocessable(format!(
                "{name} is withheld whatever people say: {why}"
            ))),
        }
    }
}
