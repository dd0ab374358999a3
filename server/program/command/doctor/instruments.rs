//! What trials of statements can be tested by: which instruments there are, and whether the knowledge base answers.

use anyhow::{Context as _, anyhow};

use super::Report;
use crate::program::settings::Settings;
use crate::tools::knowledge::{Options, Search};
use crate::tools::mcp::offer::{TOOLS_MAX, offers};
use crate::tools::mcp::wire::{self, Garbled};

/// What is looked for.
const WORDS: &str = "thinkd";

/// Names the instruments, and asks the knowledge base.
pub async fn check(settings: &Settings, report: &mut Report) -> anyhow::Result<()> {
    let knowledge = &settings.memory.knowledge;
    if knowledge.is_on() {
        report
            .check("knowledge", asked(settings, knowledge))
            .await?;
    }
    let all = [
        ("knowledge", knowledge.is_on()),
        ("code", settings.tools.code.enabled),
    ];
    let experiments: Vec<&str> = all
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect();
    // Whoever claims something does not test it: people are one where they say who they are.
    let people = if settings.memory.questions > 0 {
        "people who name themselves and did not claim it, "
    } else {
        ""
    };
    let said = match experiments.as_slice() {
        [] => {
            format!(
                "only {people}reflection: set memory.knowledge.url, or tools.code.enabled, to test what is claimed"
            )
        }
        experiments => format!(
            "what is claimed is tested by {}, {people}reflection",
            experiments.join(", ")
        ),
    };
    report.tell("instruments", Ok(said))
}

async fn asked(settings: &Settings, knowledge: &Options) -> anyhow::Result<(String, ())> {
    if let Some(url) = &knowledge.url {
        let cure = "memory.knowledge: what it is to answer is in docs/memory.md";
        let found = Search::new(knowledge)
            .ask(WORDS)
            .await
            .map_err(|why| anyhow!(why))
            .context(cure)?;
        let count = if found.len() == 1 {
            "1 passage".to_owned()
        } else {
            format!("{} passages", found.len())
        };
        return Ok((
            format!(
                "{} finds {count} for {WORDS:?}",
                crate::words::secret::shown_url(url)
            ),
            (),
        ));
    }
    let (server, _) = knowledge
        .tool()
        .context("memory.knowledge.mcp is server/tool")?;
    let options = settings
        .tools
        .mcp
        .get(server)
        .context("memory.knowledge.mcp names no server of [tools.mcp]")?;
    let veil = wire::veil(options);
    let refused = |why: String| {
        anyhow!(
            "{} does not serve tools: {}",
            options.place(),
            veil.over(&why)
        )
    };
    let connection = wire::connect(server, options, Garbled::default())
        .await
        .map_err(refused)?;
    let told = connection.link.tools(TOOLS_MAX).await;
    connection.close().await;
    let offers = offers(
        server,
        options,
        told.map_err(|trouble| refused(trouble.to_string()))?.tools,
    );
    let name = knowledge.tool_name().unwrap_or_default();
    match offers.iter().find(|offer| offer.name == name) {
        None => Err(anyhow!("memory.knowledge.mcp: {server} has no tool {name}")),
        Some(offer) if offer.wrong.is_some() => {
            Err(anyhow!("memory.knowledge.mcp: {name} is withheld"))
        }
        Some(_) => Ok((format!("{name} of {}", options.place()), ())),
    }
}
