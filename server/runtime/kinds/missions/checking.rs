//! How an answer is checked without a model: by the program or the query that was chosen before there was an answer. Where these decide nothing, a model
//! does (`missions/steps.rs`).

use runner::request::{Error, Language, Request};
use serde_json::{Value as Json, json};

use super::desk::Desk;
use crate::event::mission::{Check, sameness};
use crate::event::statement::cut;

/// Longest note about a check, in characters.
const NOTE_MAX: usize = 500;

/// A verdict.
pub(super) struct Decided {
    /// `program`, `knowledge` or `rubric`.
    pub by: &'static str,
    pub passes: bool,
    pub why: String,
}

impl Desk {
    /// What program or query say of an answer. The error says why they decide nothing; it is empty where none was to.
    pub async fn decided(&self, check: &Check, answer: &str) -> Result<Decided, String> {
        match check {
            // Whether tries agree is seen elsewhere (`missions/agreeing.rs`).
            Check::Rubric { .. } | Check::Agreement { .. } => Err(String::new()),
            Check::Program { code, .. } => self.by_program(code, answer).await,
            Check::Knowledge { query, .. } => self.by_knowledge(query, answer).await,
        }
    }

    async fn by_program(&self, code: &str, answer: &str) -> Result<Decided, String> {
        if !self.code().is_enabled() {
            return Err("programs are not run here (tools.code.enabled)".to_owned());
        }
        let (language, input) = (Language::JavaScript, json!({ "answer": answer }));
        let request = Request {
            language,
            code: code.to_owned(),
            input,
        };
        let ran = self
            .code()
            .run(self.space(), request)
            .await
            .map_err(|error| stopped(&error))?;
        match ran.outcome {
            Ok(Json::Bool(passes)) => {
                let printed = cut(&ran.printed, NOTE_MAX);
                let why = if printed.is_empty() {
                    format!("the value of the program is {passes}")
                } else {
                    printed
                };
                Ok(Decided {
                    by: "program",
                    passes,
                    why,
                })
            }
            Ok(value) => Err(cut(
                &format!("the value of the check is neither true nor false: {value}"),
                NOTE_MAX,
            )),
            Err(thrown) => Err(cut(
                &format!("the check ended in an error: {}", thrown.message),
                NOTE_MAX,
            )),
        }
    }

    /// What the knowledge base says to words, for who does a task: passages, or why there are none. Others wrote them.
    pub async fn looked_up(&self, words: &str) -> Json {
        let Some(search) = self.knowledge() else {
            return json!("no knowledge base is configured: do without");
        };
        match search.ask(words).await {
            Ok(found) => json!(found),
            Err(why) => json!(cut(&why, NOTE_MAX)),
        }
    }

    async fn by_knowledge(&self, query: &str, answer: &str) -> Result<Decided, String> {
        let Some(search) = self.knowledge() else {
            return Err("no knowledge base is configured".to_owned());
        };
        let found = search.ask(query).await.map_err(|why| cut(&why, NOTE_MAX))?;
        if found.is_empty() {
            return Err("the knowledge base found nothing".to_owned());
        }
        let wanted = sameness(answer);
        let holds = found
            .iter()
            .find(|passage| sameness(&passage.text).contains(&wanted));
        let why = match holds {
            Some(passage) => {
                format!(
                    "it stands in {}",
                    if passage.url.is_empty() {
                        &passage.title
                    } else {
                        &passage.url
                    }
                )
            }
            None => format!(
                "it stands in none of the {} passages that were found",
                found.len()
            ),
        };
        Ok(Decided {
            by: "knowledge",
            passes: holds.is_some(),
            why: cut(&why, NOTE_MAX),
        })
    }
}

/// Why code did not come to its end.
pub(super) fn stopped(error: &Error) -> String {
    match error {
        Error::Stopped { reason, detail, .. } => cut(
            &format!("the program was stopped ({}): {detail}", reason.as_str()),
            NOTE_MAX,
        ),
        Error::Unavailable(why) => cut(&format!("the program was not run: {why}"), NOTE_MAX),
    }
}
