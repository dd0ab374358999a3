//! The servers of tools: each is connected once, and says how many tools it has.

use anyhow::anyhow;

use super::Report;
use crate::program::settings::Settings;
use crate::tools::mcp::offer::{Offer, TOOLS_MAX, offers};
use crate::tools::mcp::wire::{self, Garbled, Listing};

/// Asks every server that is configured.
pub async fn check(settings: &Settings, report: &mut Report) -> anyhow::Result<()> {
    for (name, options) in &settings.tools.mcp {
        let asked = async {
            let veil = wire::veil(options);
            let refused = |why: String| {
                anyhow!(
                    "{} does not serve tools: {}",
                    options.place(),
                    veil.over(&why)
                )
            };
            let connection = wire::connect(name, options, Garbled::default())
                .await
                .map_err(refused)?;
            let listed = connection.link.tools(TOOLS_MAX).await;
            connection.close().await;
            let Listing { tools, left_out } =
                listed.map_err(|trouble| refused(trouble.to_string()))?;
            let offers = offers(name, options, tools);
            let wrong = |offer: &Offer| Some(format!("{} ({})", offer.name, offer.wrong.as_ref()?));
            let wrong: Vec<String> = offers.iter().filter_map(wrong).collect();
            let withheld = if wrong.is_empty() {
                String::new()
            } else {
                format!("; withheld: {}", wrong.join(", "))
            };
            let lacks = veil.over(&left_out.join("; "));
            let lacks = if lacks.is_empty() {
                lacks
            } else {
                format!("; not taken of its list: {lacks}")
            };
            Ok((
                format!(
                    "{}: {} tools{withheld}{lacks}",
                    options.place(),
                    offers.len()
                ),
                (),
            ))
        };
        report.check(&format!("tools of {name}"), asked).await?;
    }
    Ok(())
}
