//! The instrument *knowledge*: what a search finds is shown to a model, which says whether it
//! speaks for a prediction or against it. What it says counts only with words that stand in what
//! was found (`trials/said.rs` `Weigh`).

use serde_json::json;

use super::bench::{Bench, OnTrial};
use super::journal::Stored;
use super::said::{Claimed, Said, Silent};
use crate::event::evidence::{is_own_source, is_quote, rests_on};
use crate::event::statement::{Prediction, Reading};
use crate::tools::knowledge::{Options, Passage, Search, of_tool};
use crate::tools::tool::{CallSite, SoFar};
use crate::words::failure::Who;
use crate::words::time;

/// The knowledge base that is configured.
pub(super) enum Base {
    /// An address.
    Address(Search),
    /// A tool of a server of tools.
    Tool {
        /// What it is called here.
        name: String,
        /// The argument that takes the words.
        argument: String,
    },
}

impl Base {
    /// Returns the one that is configured, if there is one.
    pub fn of(options: &Options) -> Option<Self> {
        let Some(name) = options.tool_name() else {
            let is_address = options.url.is_some();
            return is_address.then(|| Self::Address(Search::new(options)));
        };
        Some(Self::Tool {
            name,
            argument: options.argument.clone(),
        })
    }
}

impl Bench<'_> {
    /// Looks a prediction up.
    pub async fn look_up(
        &self,
        on: &mut OnTrial,
        of: &Prediction,
        begun: Reading,
    ) -> Said<Reading> {
        let words = of.search.as_deref().unwrap_or(&of.text);
        let passages = match self.search(on, words, begun.prediction).await? {
            Err(silent) => return Ok(Err(silent)),
            Ok(none) if none.is_empty() => {
                return Ok(Err(Silent::says("the knowledge base found nothing")));
            }
            Ok(passages) => passages,
        };
        let found = passages.len();
        let passages = self.of_others(on, passages).await?;
        if passages.is_empty() {
            let why = format!(
                "the knowledge base found only what the claim itself rests on ({found} passages)"
            );
            return Ok(Err(Silent::says(why)));
        }
        let said = self.ask_weight(on, &of.text, &passages).await?;
        let claimed = Claimed {
            texts: &[&on.row.text, &of.text],
            triple: on.trial.triple(),
        };
        Ok(said.and_then(|weigh| weigh.reading(&passages, &claimed, begun)))
    }

    /// Returns the passages that a claim does not rest on itself.
    async fn of_others(&self, on: &OnTrial, mut passages: Vec<Passage>) -> Stored<Vec<Passage>> {
        let said = self.said(on).await?;
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let sources = on.row.sources.iter();
        let quotes = sources.filter_map(|source| source.quote.as_deref());
        let named: Vec<&str> = quotes.clone().chain([on.row.text.as_str()]).collect();
        passages.retain(|it| {
            !is_own_source(&it.url, &it.text, &said)
                && !is_own_source(&it.url, "", &named)
                && !quotes.clone().any(|quote| is_quote(&it.text, quote))
        });
        Ok(passages)
    }

    /// The words that a claim rests on: of the events that it comes from.
    async fn said(&self, on: &OnTrial) -> Stored<Vec<String>> {
        let mut said = Vec::new();
        for source in &on.row.sources {
            for seq in &source.seqs {
                let (event, quote) = (self.journal.at(*seq).await?, source.quote.as_deref());
                said.extend(event.iter().flat_map(|event| rests_on(event, quote)));
            }
        }
        Ok(said)
    }

    async fn search(&self, on: &OnTrial, words: &str, prediction: usize) -> Said<Vec<Passage>> {
        let (name, argument) = match &self.trials.knowledge {
            None => return Ok(Err(Silent::says("no knowledge base is configured"))),
            Some(Base::Address(search)) => {
                return Ok(search.ask(words).await.map_err(Silent::broke));
            }
            Some(Base::Tool { name, argument }) => (name, argument),
        };
        // Where it is configured which tools minds have, trials have this one all the same.
        let (shelf, space) = (&self.trials.ground.mind.tools.step, self.journal.space);
        shelf.prepare(space).await?;
        let toolbox = shelf.now(space);
        let Some(tool) = toolbox.get(name) else {
            return Ok(Err(Silent::broke(format!("there is no tool {name} now"))));
        };
        if tool.spec().always_gated || tool.spec().gated.is_some() {
            return Ok(Err(Silent::says(format!(
                "calls of {name} wait for a person: a trial does not"
            ))));
        }
        let site = CallSite {
            space: space.clone(),
            thread: self.row.thread.clone(),
            turn: 0,
            by: Who::Trial,
            call_id: format!("{}.{prediction}", on.row.id),
            now: time::now(),
            so_far: SoFar {
                purse: on.purse.clone(),
                ..SoFar::default()
            },
            grant: None,
        };
        let called = tool.call(json!({ argument.as_str(): words }), &site).await;
        let value = called.and_then(|output| output.failure.map_or(Ok(output.value), Err));
        let passages = value.map(|value| of_tool(name, value.unwrap_or_default()));
        Ok(passages.map_err(|failure| Silent::broke(failure.text)))
    }
}
