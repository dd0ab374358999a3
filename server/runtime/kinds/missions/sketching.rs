//! What a model says of a framework that is to be made, and what of it can be used. Who asks for it is `missions/making.rs`. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::using::{Computed, read_input};
use crate::event::framework::{CODE_MAX, ITEMS_MAX, NAME_MAX, TEXT_MAX};
use crate::event::statement::cut;

/// Most sets of values that a program is tried with.
const SETS_MAX: usize = 8;
/// Most characters of one set.
const SET_MAX: usize = 500;

/// What a model makes of what was tried in vain.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    kind: Kind,
    pub why: String,
    name: String,
    purpose: String,
    knowledge: Vec<String>,
    code: Option<String>,
    /// What the program finds as `input` for this task, as JSON.
    input: Option<String>,
    /// Sets of values of the free parameters, each a JSON object.
    parameters: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    None,
    Text,
    Program,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Guideline {
    pub guideline: String,
}

/// A framework before it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Sketch {
    pub name: String,
    pub purpose: String,
    pub knowledge: Vec<String>,
    pub program: Option<Programmed>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Programmed {
    pub code: String,
    input: Json,
    /// The values that it is tried with; empty: it has no parameters.
    pub sets: Vec<Json>,
    /// What it came to with the first of them.
    #[serde(default)]
    pub first: Option<Computed>,
}

impl Write {
    /// What can be kept of it; none: it declines.
    pub fn read(&self) -> Result<Option<Sketch>, String> {
        if self.kind == Kind::None {
            return Ok(None);
        }
        let (name, purpose) = (cut(&self.name, NAME_MAX), cut(&self.purpose, TEXT_MAX));
        if name.is_empty() || purpose.is_empty() {
            return Err("a framework has a name, and says for which tasks it is".to_owned());
        }
        let knowledge = self
            .knowledge
            .iter()
            .map(|it| cut(it, TEXT_MAX))
            .filter(|it| !it.is_empty());
        let knowledge: Vec<String> = knowledge.take(ITEMS_MAX).collect();
        let program = match self.kind {
            Kind::Program => Some(self.program()?),
            _ if knowledge.is_empty() => {
                return Err("a framework of the kind text has knowledge".to_owned());
            }
            _ => None,
        };
        Ok(Some(Sketch {
            name,
            purpose,
            knowledge,
            program,
        }))
    }

    fn program(&self) -> Result<Programmed, String> {
        let code = self.code.clone().filter(|code| !code.trim().is_empty());
        let code = code.ok_or_else(|| "a framework of the kind program has code".to_owned())?;
        // The line with its parameters comes to it.
        if code.chars().count() > CODE_MAX - 2 * SET_MAX {
            return Err(format!(
                "a program has at most {} characters",
                CODE_MAX - 2 * SET_MAX
            ));
        }
        Ok(Programmed {
            code: tuned(&code, None),
            input: read_input(self.input.as_deref())?,
            sets: self.sets().filter_map(Result::ok).collect(),
            first: None,
        })
    }

    /// Its sets of values; the error says which one is left out, and why.
    fn sets(&self) -> impl Iterator<Item = Result<Json, (usize, String)>> {
        let read = |text: &String| match text.chars().count() > SET_MAX {
            true => Err(format!("it has more than {SET_MAX} characters")),
            false => read_input(Some(text)).map_err(|why| why.replace("`input`", "it")),
        };
        (1..)
            .zip(self.parameters.iter().take(SETS_MAX))
            .map(move |(at, text)| read(text).map_err(|why| (at, why)))
    }

    /// The sets of values that are left out.
    pub fn left_out(&self) -> impl Iterator<Item = (String, String)> {
        self.sets()
            .filter_map(Result::err)
            .map(|(at, why)| (format!("the set of parameters {at}"), why))
    }
}

impl Guideline {
    pub fn is_some(&self) -> Result<(), String> {
        if self.guideline.trim().is_empty() {
            Err("the guideline is empty".to_owned())
        } else {
            Ok(())
        }
    }
}

impl Programmed {
    /// Its input, with these values.
    pub fn with(&self, set: Option<&Json>) -> Json {
        let mut input = self.input.clone();
        if let Some(set) = set {
            input["parameters"] = set.clone();
        }
        input
    }
}

/// The program with these values as those of its parameters, where its input has no others. Its first line, if it has one of these already, is replaced.
pub(super) fn tuned(code: &str, set: Option<&Json>) -> String {
    const BEFORE: &str = "const parameters = { ...";
    let code = match code.split_once('\n') {
        Some((first, rest)) if first.starts_with(BEFORE) => rest,
        _ => code,
    };
    let set = set.map_or_else(|| "{}".to_owned(), Json::to_string);
    format!("{BEFORE}{set}, ...input.parameters }};\n{code}")
}
