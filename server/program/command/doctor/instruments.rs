//! The instruments that test statements in trials: lists them, and checks that the knowledge base
//! answers.

use anyhow::{Context as _, anyhow};

use super::Report;
use crate::program::settings::Settings;
use thinkd_mcp::offer::{TOOLS_MAX, offers};
use thinkd_mcp::wire::{self, Garbled};
use thinkd_tools::knowledge::{Options, Search};

/// The search words of the check.
const WORDS: &str = "thinkd";
/// Beginning of the sentence about checks.
const CHECKED: &str = "what is to be remembered as known is checked first by";

/// Names the instruments, and asks the knowledge base.
pub async fn check(settings: &Settings, report: &mut Report) -> anyhow::Result<()> {
    let knowledge = &settings.memory.knowledge;
    if knowledge.is_on() {
        let found = asked(settings, knowledge);
        report.look("knowledge", found).await?;
    }
    let mut experiments = Vec::new();
    experiments.extend(knowledge.is_on().then_some("looking it up"));
    experiments.extend((settings.tools.code.enabled).then_some("running code"));
    let people = match settings.memory.questions {
        0 => "",
        _ => "asking people other than the one who said it, ",
    };
    let said = match experiments.as_slice() {
        _ if !settings.models.has_model() => {
            "no model is configured: a claim is stored as proposed, and nothing tests it".to_owned()
        }
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

async fn asked(settings: &Settings, knowledge: &Options) -> anyhow::Result<String> {
    if let Some(url) = &knowledge.url {
        let cure = "memory.knowledge: what it is to answer is in docs/memory.md";
        let found = Search::new(knowledge).ask(WORDS).await;
        let found = found.map_err(|why| anyhow!(why)).context(cure)?;
        let count = match found.len() {
            1 => "1 passage".to_owned(),
            count => format!("{count} passages"),
        };
        let place = thinkd_words::secret::shown_url(url);
        return Ok(format!("{place} finds {count} for {WORDS:?}"));
    }
    let tool = knowledge.tool();
    let (server, _) = tool.context("memory.knowledge.mcp is server/tool")?;
    let options = settings.tools.mcp.get(server);
    let options = options.context("memory.knowledge.mcp names no server of [tools.mcp]")?;
    let refused = |why: String| anyhow!("{} does not serve tools: {why}", options.place());
    let connection = wire::connect(server, options, Garbled::default());
    let connection = connection.await.map_err(refused)?;
    let told = connection.link.tools(TOOLS_MAX).await;
    connection.close().await;
    let told = told.map_err(|trouble| refused(trouble.to_string()))?;
    let offers = offers(server, options, told.tools);
    let name = knowledge.tool_name().unwrap_or_default();
    match offers.iter().find(|offer| offer.name == name) {
        None => Err(anyhow!("memory.knowledge.mcp: {server} has no tool {name}")),
        Some(offer) if offer.wrong.is_some() => {
            Err(anyhow!("memory.knowledge.mcp: {name} is withheld"))
        }
        Some(_) => Ok(format!("{name} of {}", options.place())),
    }
}
