//! The instrument *knowledge*: what a search finds is shown to a model, which says whether it speaks for a prediction or against it. What it says
//! counts only with words that stand in what was found (`trials/said.rs` `Weigh`).

use serde_json::json;

use super::asking::Said;
use super::bench::{Bench, OnTrial};
use super::said::no_answer;
use crate::event::draft::Draft;
use crate::event::statement::{Instrument, Prediction, Reading};
use crate::mind::turn_writer::Lost;
use crate::tools::knowledge::{Options, Passage, Search, of_tool};
use crate::tools::tool::{CallSite, SoFar};
use crate::words::failure::Who;
use crate::words::time;

/// The knowledge base that is configured.
pub(super) enum Base {
    /// There is none.
    None,
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
    /// The one that is configured.
    pub fn of(options: &Options) -> Self {
        match options.tool_name() {
            Some(name) => Self::Tool { name, argument: options.argument.clone() },
            None if options.url.is_some() => Self::Address(Search::new(options)),
            None => Self::None,
        }
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        !matches!(self, Self::None)
    }
}

impl Bench<'_> {
    /// Looks a prediction up. Returns the record of the model call, where one was made, and the reading.
    pub async fn look_up(
        &self,
        on: &OnTrial,
        of: &Prediction,
        (prediction, choice): (usize, String),
    ) -> Result<(Vec<Draft>, Reading), Lost> {
        let words = of.search.as_deref().unwrap_or(&of.text);
        let nothing = |choice, why: &str| no_answer(prediction, Instrument::Knowledge, choice, why);
        let passages = match self.search(on, words, prediction).await? {
            Err(why) => return Ok((vec![], nothing(choice, &why))),
            Ok(none) if none.is_empty() => return Ok((vec![], nothing(choice, "the knowledge base found nothing"))),
            Ok(passages) => passages,
        };
        let about = (on.row.text.as_str(), on.trial.valid());
        let Said { record, said } = self.asker.weigh(&on.row.id, about, &of.text, &passages, time::now()).await?;
        let reading = match said {
            Ok(weigh) => weigh.reading(&passages, prediction, choice),
            Err(failure) => nothing(choice, &failure.text),
        };
        Ok((vec![record], reading))
    }

    async fn search(&self, on: &OnTrial, words: &str, prediction: usize) -> Result<Result<Vec<Passage>, String>, Lost> {
        let (name, argument) = match &self.trials.knowledge {
            Base::None => return Ok(Err("no knowledge base is configured".into())),
            Base::Address(search) => return Ok(search.ask(words).await),
            Base::Tool { name, argument } => (name, argument),
        };
        // Where it is configured which tools minds have, trials have this one all the same.
        let shelf = &self.trials.mind.tools.step;
        shelf.prepare(&self.fence.space).await?;
        let toolbox = shelf.now(&self.fence.space);
        let Some(tool) = toolbox.get(name) else { return Ok(Err(format!("there is no tool {name} now"))) };
        if tool.spec().always_gated || tool.spec().gated.is_some() {
            return Ok(Err(format!("calls of {name} wait for a person: a trial does not")));
        }
        let site = CallSite {
            space: self.fence.space.clone(),
            thread: self.asker.place.thread.clone(),
            turn: 0,
            by: Who::Trial,
            call_id: format!("{}.{prediction}", on.row.id),
            now: time::now(),
            so_far: SoFar { purse: self.asker.place.purse.clone(), ..SoFar::default() },
            grant: None,
        };
        Ok(match tool.call(json!({ argument.as_str(): words }), &site).await {
            Err(failure) => Err(failure.text),
            Ok(output) => match (output.failure, output.value) {
                (Some(failure), _) => Err(failure.text),
                (None, value) => Ok(of_tool(name, value.unwrap_or_default())),
            },
        })
    }
}
