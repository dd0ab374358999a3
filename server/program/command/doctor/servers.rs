//! The servers of tools: each is connected once, and says how many tools it has.

use anyhow::anyhow;

use super::Report;
use crate::program::settings::Settings;
use thinkd_mcp::offer::{Offer, TOOLS_MAX, offers};
use thinkd_mcp::wire::{self, Garbled, Listing};
use thinkd_tools::catalogue::Catalogue;
use thinkd_tools::crowd;
use thinkd_tools::server_names::PREFIX;

/// Most tools that a line names.
const NAMED: usize = 8;

/// Asks every server that is configured.
pub async fn check(
    settings: &Settings,
    tools: &Catalogue,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut found: Vec<String> = Vec::new();
    let marks = settings.tools.approvals();
    for (name, options) in &settings.tools.servers() {
        let asked = async {
            let refused = |why: String| anyhow!("{} does not serve tools: {why}", options.place());
            let connection = wire::connect(name, options, Garbled::default());
            let connection = connection.await.map_err(refused)?;
            let listed = connection.link.tools(TOOLS_MAX).await;
            connection.close().await;
            let Listing { tools, left_out } =
                listed.map_err(|trouble| refused(trouble.to_string()))?;
            let offers = offers(name, options, tools);
            let wrong = |offer: &Offer| Some(format!("{} ({})", offer.name, offer.wrong.as_ref()?));
            let wrong: Vec<String> = offers.iter().filter_map(wrong).collect();
            let withheld = match wrong.as_slice() {
                [] => String::new(),
                wrong => format!("; withheld: {}", wrong.join(", ")),
            };
            let lacks = match left_out.as_slice() {
                [] => String::new(),
                left_out => format!("; not taken of its list: {}", left_out.join("; ")),
            };
            let unseen = unseen(&offers, |offer| {
                let alias = format!("{PREFIX}{name}__{}", offer.original);
                offer.waits || marks.marks(&offer.name) || marks.marks(&alias)
            });
            let place = options.place();
            let count = offers.len();
            let text = format!("{place}: {count} tools{unseen}{withheld}{lacks}");
            Ok((text, offers))
        };
        let offers = report.check(&format!("tools of {name}"), asked).await?;
        let offers = offers.into_iter().flatten();
        let ready = offers.filter(|offer| offer.wrong.is_none());
        found.extend(ready.map(|offer| offer.name));
    }
    let names: Vec<&str> = found.iter().map(String::as_str).collect();
    let (stay, rare) = tools.counts();
    let rest = crowd::rare(stay, rare, &names);
    if !rest.is_empty() {
        let text = format!(
            "{} tools, more than the {} that a request offers: models open {} of them with more_tools; `allow` of a server \
             takes those that are needed",
            stay + names.len(),
            crowd::TOOLS_MAX,
            rest.len()
        );
        report.tell("tools", Ok(text))?;
    }
    Ok(())
}

/// Says which tools run without a person.
fn unseen(offers: &[Offer], waits: impl Fn(&Offer) -> bool) -> String {
    let run = offers
        .iter()
        .filter(|offer| offer.wrong.is_none() && !waits(offer));
    let names: Vec<&str> = run.map(|offer| offer.name.as_str()).collect();
    match names.as_slice() {
        [] => String::new(),
        names if names.len() <= NAMED => {
            format!("; calls run without a person: {}", names.join(", "))
        }
        names => format!(
            "; calls run without a person: {} and {} more",
            names[..NAMED].join(", "),
            names.len() - NAMED
        ),
    }
}
