//! The models: asks each configured one to act once, as a decision would, and explains refusals. An
//! embedding, too.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{anyhow, bail};
use futures_util::StreamExt as _;
use serde_json::Value;

use super::Report;
use super::speed::{self, Called, Processors};
use crate::program::parts::openai;
use crate::program::settings::Settings;
use endpoint::Endpoint;
use thinkd_mind::decision::REPLY;
use thinkd_mind::turn::options::PlainText;
use thinkd_model::endpoint::Options;
use thinkd_model::prompt::Prompts;
use thinkd_model::provider::{
    Answer, Content, Message, Model, Piece, Request, Role, Schemas, Tier, ToolChoice, ToolSpec,
};
use thinkd_model::written;
use thinkd_thread::settings::Language;
use thinkd_tools::catalogue::Catalogue;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{Name, Space, ThreadId};

mod endpoint;

/// Most characters of an answer that are quoted.
const QUOTE: usize = 80;

/// The check of the model that decides, and speaks for the submodules.
const DECIDES: &str = "model";
/// The remedy for a server that does not read tool calls.
const PARSER: &str = "start its server with a tool parser (vLLM: --enable-auto-tool-choice --tool-call-parser …; llama.cpp: --jinja)";
/// The meaning of an unknown model.
const UNKNOWN: &str = "So the server has no model of that name (THINKD_MODEL, models.low.model)";

/// Asks every configured model, and notes the clocks of their servers.
pub async fn check(
    settings: &Settings,
    prompts: &Prompts,
    tools: &Catalogue,
    report: &mut Report,
) -> anyhow::Result<()> {
    let models = &settings.models;
    let tiers = [(DECIDES, &models.low), ("high model", &models.high)];
    let tiers = tiers
        .into_iter()
        .filter_map(|(name, options)| Some((name, Who::Decision, options.as_ref()?)));
    let modules = models.modules.iter();
    let modules = modules.map(|(name, options)| (name.as_str(), who(name), options));
    let all: Vec<_> = tiers.chain(modules).collect();
    if all.is_empty() {
        let advice = models.unused().unwrap_or_else(|| {
            "set THINKD_MODEL (and OPENAI_API_KEY, or OPENAI_BASE_URL for a model of your own)"
                .to_owned()
        });
        let text = format!("the built-in offline model, which cannot think: {advice}");
        report.tell("model", Ok(text))?;
    }
    // What is wrong with their prompts is a finding of the configuration.
    let offered = tools.specs(prompts).unwrap_or_default().into_iter();
    let offered: Vec<ToolSpec> = offered.map(|spec| spec.told).collect();
    for (name, who, options) in all {
        let asked = Asked {
            options,
            who,
            language: settings.turn.language,
            plain_text: settings.turn.plain_text,
            prompts,
            offered: &offered,
        };
        let called = report.check(name, asked.acts()).await?;
        let mut connect = None;
        if let Ok(endpoint) = Endpoint::of(options) {
            connect = endpoint.connects().await;
            report.clocks.extend(endpoint.clock().await);
        }
        if let Some(called) = called.flatten().filter(|_| name == DECIDES) {
            let setup = speed::Setup {
                settings,
                prompts,
                tools,
                options,
            };
            speed::check(&setup, Called { connect, ..called }, report)?;
        }
    }
    if let Some(options) = &models.embedding {
        let embeds = async { Endpoint::of(options)?.embeds().await };
        report.look("embedding", embeds).await?;
    }
    Ok(())
}

/// Returns the caller for the model of a module: only decisions act.
fn who(module: &str) -> Who {
    let named = |kind: &str| {
        module
            .strip_prefix(kind)
            .and_then(|name| Name::parse(name).ok())
    };
    match (named("submodule:"), named("pipeline:")) {
        (Some(name), _) => Who::Submodule(name),
        (_, Some(name)) => Who::Pipeline(name),
        _ => Who::Decision,
    }
}

/// The habits that a model showed while it was asked, for the end of a sentence.
fn learned(model: &dyn Model) -> String {
    let known = model.known().into_iter().flat_map(|known| known.learned);
    let habits: Vec<String> = known.map(|learned| learned.habit.sentence()).collect();
    match habits.as_slice() {
        [] => String::new(),
        habits => format!("; it {}", habits.join(", ")),
    }
}

/// A model and the task for it.
struct Asked<'a> {
    options: &'a Options,
    who: Who,
    language: Option<Language>,
    plain_text: PlainText,
    prompts: &'a Prompts,
    offered: &'a [ToolSpec],
}

impl Asked<'_> {
    /// Asks it to act as in a turn; names the habits that showed.
    async fn acts(&self) -> anyhow::Result<(String, Option<Called>)> {
        let model = openai(self.options)?;
        let (text, called) = self.tried(&model).await?;
        Ok((text + &learned(model.as_ref()), called))
    }

    async fn tried(&self, model: &Arc<dyn Model>) -> anyhow::Result<(String, Option<Called>)> {
        let begin = Instant::now();
        let name = model.name();
        let ms = || begin.elapsed().as_millis();
        if self.who != Who::Decision {
            self.ask(model, false).await?;
            return Ok((format!("{name} answers ({} ms)", ms()), None));
        }
        let (first, called) = self
            .ask(model, self.language == Some(Language::Xml))
            .await?;
        if !first.calls.is_empty() {
            as_offered(&first).map_err(|why| anyhow!("{name} {why}"))?;
            let tokens = first.usage.tokens();
            let text = format!("{name} calls tools ({} ms, {tokens} tokens)", ms());
            return Ok((text, Some(called)));
        }
        if self.is_written(&first) {
            let text = "writes its tool calls as text, which is read";
            return Ok((format!("{name} {text} ({} ms)", ms()), Some(called)));
        }
        let (last, called) = match self.language {
            Some(Language::Xml) => (first, called),
            Some(Language::Auto) => self.ask(model, true).await?,
            Some(Language::Tools) | None => bail!("{name} calls no tools: {}", self.remedy(&first)),
        };
        let own = ThreadId::default();
        let read = thinking_language::read(&last.text, own.label());
        if read.calls.iter().any(|call| call.name == REPLY) {
            let text = format!(
                "{name} calls no tools, and acts by elements in its text, such as <reply>…</reply> (turn.language; {} ms)",
                ms()
            );
            return Ok((text, Some(called)));
        }
        bail!(
            "{name} calls no tools and writes no elements: it wrote “{}”. Please choose another model",
            short(&last.text)
        )
    }

    /// True if its words are the tool call.
    fn is_written(&self, answer: &Answer) -> bool {
        let own = ThreadId::default();
        let offered = match self.language {
            Some(Language::Xml) => &[],
            _ => self.offered,
        };
        let (_, words) = written::apart(&answer.text);
        written::read(words, offered, own.label())
            .is_some_and(|calls| calls.iter().any(|call| call.name == REPLY))
    }

    fn remedy(&self, answer: &Answer) -> String {
        let words = match self.plain_text {
            PlainText::Reply => {
                " Such words are its answer (turn.plain_text), but it does nothing else."
            }
            PlainText::AskAgain | PlainText::Refuse => "",
        };
        format!(
            "it wrote “{}”.{words} So {PARSER}, set turn.language = \"auto\" (THINKD_TURN__LANGUAGE), by which it acts by \
             elements in its text, or choose another model",
            short(&answer.text)
        )
    }

    /// One call, with the tool or, in the thinking language, without.
    async fn ask(
        &self,
        model: &Arc<dyn Model>,
        in_language: bool,
    ) -> anyhow::Result<(Answer, Called)> {
        let prepared = model.prepare(&self.request(in_language));
        let bytes = prepared.body.as_str().len();
        let begin = Instant::now();
        let processors = Processors::now();
        let mut pieces = model.ask(prepared);
        while let Some(piece) = pieces.next().await {
            match piece {
                Ok(Piece::End(answer)) => {
                    let took = begin.elapsed();
                    let called = Called {
                        took,
                        tokens: answer.usage.input_tokens,
                        bytes,
                        busy: Processors::busy_since(processors, took),
                        connect: None,
                    };
                    return Ok((answer, called));
                }
                Ok(_) => {}
                Err(failure) => bail!("{failure}. {}", self.explained(&failure).await),
            }
        }
        bail!("{} broke its answer off", model.name())
    }

    fn request(&self, in_language: bool) -> Request {
        let own = ThreadId::default();
        let mut system = self.prompts.decision.source().as_str().to_owned();
        if in_language {
            system = format!(
                "{system}\n\n{}",
                self.prompts.language.fill(&[("own", own.label())])
            );
        }
        let is_wanted =
            |tool: &&ToolSpec| tool.name == REPLY && !in_language && self.who == Who::Decision;
        let message = |role, text: &str| Message {
            role,
            content: vec![Content::Text(text.to_owned())],
        };
        Request {
            space: Space::default(),
            thread: own,
            module: self.who.clone(),
            tier: Tier::Low,
            messages: vec![
                message(Role::System, &system),
                message(Role::User, self.prompts.doctor.source().as_str()),
            ],
            tools: self.offered.iter().filter(is_wanted).cloned().collect(),
            choice: ToolChoice::Auto,
            schemas: Schemas::Formed,
        }
    }

    /// Returns the remedy for a refusal.
    async fn explained(&self, failure: &Failure) -> String {
        let Options { model, api_key, .. } = self.options;
        let status = failure.detail["status"].as_u64().unwrap_or_default();
        let said = failure.text.split_once(" answered ");
        let said = said.map_or("", |(_, said)| said).to_lowercase();
        let said = said.replace("(check base_url and model)", "");
        let known = match Endpoint::of(self.options) {
            Ok(endpoint) if matches!(status, 400 | 404 | 422) => endpoint.models().await,
            _ => Vec::new(),
        };
        match status {
            401 | 403 => key_remedy(api_key.is_some()),
            429 if said.contains("quota") => {
                "The account's quota is used up: see to it at the provider's".to_owned()
            }
            429 => "It is asked too often: wait, or see to the account's limits".to_owned(),
            400.. if said.contains("tool") && self.language != Some(Language::Xml) => format!(
                "So the server refuses tools: {PARSER}, set turn.language = \"xml\" (THINKD_TURN__LANGUAGE), which offers none, or \
                 choose another model"
            ),
            400.. if !known.is_empty() && !known.contains(model) => {
                format!("{UNKNOWN}; it has {}", listed(&known))
            }
            404 if said.contains("model") => UNKNOWN.to_owned(),
            0 | 300..=399 | 404 | 405 if failure.kind != FailureKind::Timeout => base_url_remedy(),
            0 => "Is it loading, or too slow? Its limit is timeout_ms".to_owned(),
            _ => "Its own log may say more".to_owned(),
        }
    }
}

fn key_remedy(has_key: bool) -> String {
    match has_key {
        true => "So the key is refused: is it this endpoint's? (OPENAI_API_KEY; api_key beside a base_url of its own)"
            .to_owned(),
        false => "It wants a key: set OPENAI_API_KEY (models.api_key; api_key beside a base_url of its own)".to_owned(),
    }
}

fn base_url_remedy() -> String {
    "Is its server started, and base_url (OPENAI_BASE_URL) the right one? Most end in /v1"
        .to_owned()
}

fn listed(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(10).map(String::as_str).collect();
    match names.len().saturating_sub(10) {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

/// Checks that the model called the offered tool with fitting arguments.
fn as_offered(answer: &Answer) -> Result<(), String> {
    let fits = |arguments: &str| {
        serde_json::from_str::<Value>(arguments).is_ok_and(|it| it["text"].is_string())
    };
    match answer
        .calls
        .iter()
        .find(|call| call.name != REPLY || !fits(&call.arguments))
    {
        None => Ok(()),
        Some(call) => Err(format!(
            "called `{}` with `{}`: not the tool it was offered. Another tool parser of its server, or a larger model, may do",
            short(&call.name),
            short(&call.arguments)
        )),
    }
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
