//! What trials of statements can be tested by: which instruments there are, and whether the knowledge base answers.

use anyhow::{Context as _, anyhow};

use super::Report;
use crate::program::settings::Settings;
use crate::tools::knowledge::{Options, Search};
use crate::tools::mcp::offer::{TOOLS_MAX, offers};
use crate::tools::mcp::wire::{self, Garbled};

/// What is looked for.
const WORDS: &str = "thinkd";
/// The beginning of what is said of checks.
const CHECKED: &str = "what is to be remembered as known is checked first by";

/// Names the instruments, and asks the knowledge base.
pub async fn check(settings: &Settings, report: &mut Report) -> anyhow::Result<()> {
    let knowledge = &settings.memory.knowledge;
    if knowledge.is_on() {
        report
            .check("knowledge", asked(settings, knowledge))
            .await?;
    }
    let all = [
        ("looking it up", knowledge.is_on()),
        ("running code", settings.tools.code.enabled),
    ];
    let experiments: Vec<&str> = all
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect();
    // People are asked where they say who they are: the one who claims something does not check it.
    let people = if settings.memory.questions > 0 {
        "asking people other than the one who said it, "
    } else {
        ""
    };
    let said = match experiments.as_slice() {
        [] => format!(
            "{CHECKED} {people}thinking it over; set memory.knowledge.url to look things up for it, or tools.code.enabled to run code"
        ),
        experiments => format!(
            "{CHECKED} {}, {people}thinking it over",
            experiments.join(", ")
        ),
    };
    report.tell("memory", Ok(said))
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
    let refused = |why: String| anyhow!("{} does not serve tools: {why}", options.place());
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
