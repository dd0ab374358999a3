//! The instrument *knowledge*: the passages that a search finds are shown to a model, which says
//! whether they speak for a prediction or against it. Its answer counts only with words that stand
//! in one of the passages (`memory/said.rs` `Weigh`).

use serde_json::json;

use super::asking::{WEIGH, ask, predicted};
use super::bench::OnTrial;
use super::journal::Stored;
use super::said::{Claimed, Said, Silent, Weigh};
use thinkd_event::evidence::{is_own_source, is_quote, rests_on};
use thinkd_event::statement::{Prediction, Reading};
use thinkd_tools::knowledge::{Passage, of_tool};
use thinkd_tools::tool::{CallSite, SoFar};
use thinkd_words::failure::Who;
use thinkd_words::time;

/// Looks a prediction up.
pub(super) async fn look_up(
    on: &mut OnTrial<'_>,
    of: &Prediction,
    begun: Reading,
) -> Said<Reading> {
    let words = of.search.as_deref().unwrap_or(&of.text);
    let passages = search(on, words, begun.prediction).await?;
    let found = passages.len();
    if found == 0 {
        let why = "the knowledge base found nothing";
        return Err(Silent::Says(why.to_owned()));
    }
    let passages = of_others(on, passages).await?;
    if passages.is_empty() {
        let why = format!(
            "the knowledge base found only what the claim itself rests on ({found} passages)"
        );
        return Err(Silent::Says(why));
    }
    let shown = ("passages".to_owned(), json!(passages).to_string());
    let values = predicted(on, &of.text).into_iter().chain([shown]);
    let weigh = ask::<Weigh>(on, WEIGH, values.collect()).await?;
    let claimed = Claimed {
        texts: &[&on.row.text, &of.text],
        triple: on.trial.triple(),
    };
    weigh.reading(&passages, &claimed, begun)
}

/// Returns the passages that a claim does not rest on itself: neither on the words of the events
/// that it comes from nor on its quotes.
async fn of_others(on: &OnTrial<'_>, mut passages: Vec<Passage>) -> Stored<Vec<Passage>> {
    let mut said = Vec::new();
    for source in &on.row.sources {
        for seq in &source.seqs {
            if let Some(event) = on.bench.journal.at(*seq).await? {
                said.extend(rests_on(&event, source.quote.as_deref()));
            }
        }
    }
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let sources = on.row.sources.iter();
    let quotes: Vec<&str> = sources.filter_map(|it| it.quote.as_deref()).collect();
    let mut named = quotes.clone();
    named.push(&on.row.text);
    passages.retain(|it| {
        !is_own_source(&it.url, &it.text, &said)
            && !is_own_source(&it.url, "", &named)
            && !quotes.iter().any(|quote| is_quote(&it.text, quote))
    });
    Ok(passages)
}

/// Asks the knowledge base that is configured: an address, or a tool of a server of tools.
async fn search(on: &OnTrial<'_>, words: &str, prediction: usize) -> Said<Vec<Passage>> {
    let options = &on.bench.journal.memory().knowledge;
    let Some(name) = options.tool_name() else {
        return match &on.bench.trials.search {
            None => Err(Silent::Says("no knowledge base is configured".to_owned())),
            Some(search) => search.ask(words).await.map_err(Silent::Broke),
        };
    };
    // Where it is configured which tools minds have, trials have this one all the same.
    let shelf = &on.bench.trials.ground.mind.tools.step;
    let space = on.bench.journal.space;
    shelf.prepare(space).await?;
    let toolbox = shelf.now(space);
    let Some(tool) = toolbox.get(&name) else {
        return Err(Silent::Broke(format!("there is no tool {name} now")));
    };
    if tool.spec().always_gated || tool.spec().gated.is_some() {
        let why = format!("calls of {name} wait for a person: a trial does not");
        return Err(Silent::Says(why));
    }
    let site = CallSite {
        space: space.clone(),
        thread: on.bench.row.thread.clone(),
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
    let called = tool.call(json!({ &options.argument: words }), &site).await;
    let value = called.and_then(|output| output.failure.map_or(Ok(output.value), Err));
    let passages = value.map(|value| of_tool(&name, value.unwrap_or_default()));
    passages.map_err(|failure| Silent::Broke(failure.text))
}
