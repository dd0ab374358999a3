//! `remember`: claims something for the world model. The call only claims: a trial tests it, beside the conversation (`event/trial.rs`).
//! A statement of a person about themselves is held on their word (`tools/word.rs`).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::quote::{says, with_call};
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed, invalid, refused};
use crate::word::{self, Held, person};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::evidence::speaks_of;
use thinkd_event::fact::statement::Trials;
use thinkd_event::statement::{
    Claim, Claimant, PREMISES_MAX, SENTENCE_MAX, STATEMENT_MAX, Source, Status, spaced,
};
use thinkd_event::word::{is_of_self, mark};
use thinkd_log::kernel::Store;
use thinkd_log::query::{Query, Show};
use thinkd_log::shown_to_models::shown_to_models;
use thinkd_words::failure::Failure;
use thinkd_words::id::{self, Seq};

/// Events of a thread among which a quote is looked for.
const HEARD: u32 = 500;
/// Most events of them that a claim names as its source.
const FOUND: usize = 16;
/// See the module.
pub struct Remember {
    store: Arc<dyn Store>,
    /// Most claims of a space that wait for their trial.
    waiting: u32,
}

impl Remember {
    pub(super) fn new(supplies: &Supplies) -> Self {
        Self {
            store: supplies.store.clone(),
            waiting: supplies.limits.claims,
        }
    }

    /// Returns the source of a claim, and whether it is about the source's person. The source has
    /// the events in which the claim's quote stands, and the person that gives their word, or said
    /// it first. Without a quote, and where no person said the statement itself, the mind has
    /// concluded it.
    async fn source(
        &self,
        site: &CallSite,
        statement: &str,
        quote: Option<String>,
    ) -> Result<(Source, bool), Failure> {
        let speaks = |quote: &String| speaks_of(quote, &[statement], None);
        if !quote.iter().all(speaks) {
            let text =
                "quote: it says nothing of the statement; copy the words that do, or give null";
            return Err(refused(text, "quote-not-found"));
        }
        let root = site.so_far.purse.root();
        let events = self.heard(site, root).await?;
        let words = quote.as_deref().unwrap_or(statement.trim_end_matches('.'));
        let words = spaced(words);
        // A statement that a person said themselves has words that tell something: "Yes." stands in every talk.
        let says_it = |it: &Event, by: Claimant| word::says_all(it.text(), statement, by.shown());
        let is_source =
            |it: &&Event| quote.is_some() || person(it).is_some_and(|by| says_it(it, by));
        let found = events.iter().filter(|it| says(it, &words));
        let mut found: Vec<&Event> = found.filter(is_source).collect();
        found.sort_by_key(|event| event.seq);
        found.dedup_by_key(|event| event.seq);
        found.truncate(FOUND);
        if found.is_empty() && quote.is_some() {
            let text = format!(
                "quote: these words do not stand in the last {HEARD} events of this thread, as a person or a tool \
                 said them; copy them letter by letter, or give null"
            );
            return Err(refused(text, "quote-not-found"));
        }
        // A word is that of the person to whom the turn goes back, where their own message says all of the statement.
        let speaker = events.iter().find(|it| Some(it.seq) == root);
        let speaker = speaker.and_then(person);
        let is_word = |event: &&&Event| {
            let by = person(event).filter(|by| Some(by) == speaker.as_ref());
            by.is_some_and(|by| says_it(event, by))
        };
        let said = found.iter().find(is_word);
        let first = || found.iter().find_map(|event| person(event));
        let by = speaker.filter(|_| said.is_some()).or_else(first);
        let by = by.unwrap_or(Claimant::Mind);
        let own = spaced(statement.trim_end_matches('.'));
        let is_own = said.is_some_and(|event| is_of_self(statement, &by, says(event, &own)));
        let mut seqs: Vec<Seq> = found.iter().flat_map(|it| with_call(it, &events)).collect();
        if seqs.is_empty() {
            seqs.extend(root);
        }
        let word = match said {
            Some(_) => word::counts(&*self.store, &site.space, &by).await?,
            None => false,
        };
        let source = Source {
            by,
            seqs,
            quote,
            word,
        };
        Ok((source, is_own))
    }

    /// The event that a turn goes back to, and the last ones of its thread, as far as models may see them.
    async fn heard(&self, site: &CallSite, root: Option<Seq>) -> Result<Vec<Event>, Failure> {
        let here = Query {
            thread: Some(site.thread.clone()),
            show: Show::Visible,
            limit: HEARD,
            ..Query::default()
        };
        let mut events = Vec::new();
        for query in root.map(Query::at).into_iter().chain([here]) {
            events.extend(self.store.events(&site.space, &query).await?);
        }
        Ok(shown_to_models(&*self.store, &site.space, Some(&site.thread), events).await?)
    }
}

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    statement: String,
    quote: Option<String>,
    derived_from: Option<Vec<String>>,
    replaces: Option<String>,
}

impl Typed for Remember {
    type Input = Input;
    const NAME: &'static str = "remember";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/remember.md");
    const EFFECT: Effect = Effect::Events;
    // Others claim at the same time: how many wait is told by what is stored.
    const READS_ROWS: bool = true;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let text = input.statement.trim().to_owned();
        let premises = input.derived_from.unwrap_or_default();
        self.check(site, &text, &premises).await?;
        let quote = input.quote.map(|quote| quote.trim().to_owned());
        let quote = quote.filter(|quote| !quote.is_empty());
        let count = quote.iter().flat_map(|quote| quote.chars()).count();
        if count > SENTENCE_MAX {
            let text = format!("a quote has at most {SENTENCE_MAX} characters");
            return Err(refused(text, "text-too-large"));
        }
        let (mut source, is_own) = self.source(site, &text, quote).await?;
        // What is concluded is nobody's word.
        source.word &= premises.is_empty();
        let is_held = is_own && source.word;
        let claim = Claim {
            text,
            source,
            premises,
            root: site.so_far.purse.root(),
        };
        let ended = self.ended(site, input.replaces, &claim).await?;
        let mut output = self.claimed(site, claim, is_held).await?;
        if let Some(ended) = ended {
            // Threads are to be told of it.
            output.drafts.extend([ended, Draft::trials(Trials::Due)]);
        }
        Ok(output)
    }
}

impl Remember {
    /// Refuses a statement that is too long or none, or that is derived from none that is there.
    async fn check(&self, site: &CallSite, text: &str, from: &[String]) -> Result<(), Failure> {
        let count = text.chars().count();
        if count == 0 {
            return Err(refused("the statement says nothing", "empty-input"));
        }
        if count > STATEMENT_MAX {
            let text =
                format!("a statement has at most {STATEMENT_MAX} characters; this one has {count}");
            return Err(refused(text, "text-too-large"));
        }
        if from.len() > PREMISES_MAX {
            let text = format!("a statement is derived from {PREMISES_MAX} others at most");
            return Err(invalid(text));
        }
        for premise in from {
            let row = self.store.statement(&site.space, premise).await?;
            if row.is_none() {
                let text = format!("derived_from: there is no statement {premise}");
                return Err(invalid(text));
            }
        }
        Ok(())
    }

    /// Returns the word that ends an earlier statement of the same person.
    async fn ended(
        &self,
        site: &CallSite,
        replaces: Option<String>,
        claim: &Claim,
    ) -> Result<Option<Draft>, Failure> {
        let what = replaces.filter(|what| !what.trim().is_empty());
        let Some(what) = what.filter(|what| !word::is_same(what, &claim.text)) else {
            return Ok(None);
        };
        let of = (what.trim(), claim);
        let ended = word::replaced(&*self.store, &site.space, of, site.now).await?;
        let wrong = |why| invalid(format!("replaces: {why}"));
        ended.map(Some).map_err(wrong)
    }

    /// Returns the events of a claim: it is held on a person's word, or waits for its trial.
    async fn claimed(
        &self,
        site: &CallSite,
        claim: Claim,
        is_held: bool,
    ) -> Result<Output, Failure> {
        let id = id::fresh();
        let by = claim.source.by.shown().to_owned();
        let place = (&site.space, &site.thread);
        let held = match is_held {
            true => word::held(&*self.store, place, id, &claim).await?,
            false => None,
        };
        let (id, drafts, status, note) = match held {
            Some(Held { id, drafts }) => {
                let note = format!("held: {}", mark(Status::Surviving, &by));
                (id, drafts, Status::Surviving, note)
            }
            None => {
                let mark = mark(Status::Proposed, &by);
                let note = match claim.source.word {
                    true => format!("kept: {mark}; held once it survives a test"),
                    false => "it is tested, and held only if it survives".to_owned(),
                };
                let most = self.waiting;
                let waiting = word::waiting(&*self.store, place, (id, claim), most).await?;
                let full = || {
                    let text =
                        format!("{most} claims wait for their trial already: claim it later");
                    refused(text, "too-many-claims")
                };
                let drafts = waiting.ok_or_else(full)?;
                (id.to_string(), drafts, Status::Proposed, note)
            }
        };
        let value = json!({ "statement": id, "status": status, "note": note });
        Ok(Output {
            drafts,
            ..Output::value(value)
        })
    }
}
