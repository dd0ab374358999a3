//! What a model says of a framework that is to be made, and what of it can be used. Who asks for it
//! is `missions/making.rs`. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::said::some;
use super::solving::Computed;
use super::using::read_input;
use crate::event::framework::{CODE_MAX, ITEMS_MAX, NAME_MAX, TEXT_MAX};

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
    /// Returns what can be kept of it; none: it declines.
    pub fn read(&self) -> Result<Option<Sketch>, String> {
        if self.kind == Kind::None {
            return Ok(None);
        }
        let (name, purpose) = (some(&self.name, NAME_MAX), some(&self.purpose, TEXT_MAX));
        let (Some(name), Some(purpose)) = (name, purpose) else {
            return Err("a framework has a name, and says for which tasks it is".to_owned());
        };
        let knowledge = self.knowledge.iter().filter_map(|it| some(it, TEXT_MAX));
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
        let most = CODE_MAX - 2 * SET_MAX;
        if code.chars().count() > most {
            return Err(format!("a program has at most {most} characters"));
        }
        Ok(Programmed {
            code: tuned(&code, None),
            input: read_input(self.input.as_deref())?,
            sets: self.sets().filter_map(Result::ok).collect(),
            first: None,
        })
    }

    /// Returns its sets of values; the error says which one is left out, and why.
    fn sets(&self) -> impl Iterator<Item = Result<Json, (usize, String)>> {
        let read = |text: &String| match text.chars().count() > SET_MAX {
            true => Err(format!("it has more than {SET_MAX} characters")),
            false => read_input(Some(text)).map_err(|why| why.replace("`input`", "it")),
        };
        let all = (1..).zip(self.parameters.iter().take(SETS_MAX));
        all.map(move |(at, text)| read(text).map_err(|why| (at, why)))
    }

    /// Returns the sets of values that are left out.
    pub fn left_out(&self) -> impl Iterator<Item = (String, String)> {
        let wrong = self.sets().filter_map(Result::err);
        wrong.map(|(at, why)| (format!("the set of parameters {at}"), why))
    }
}

impl Guideline {
    pub fn is_some(&self) -> Result<(), String> {
        match self.guideline.trim() {
            "" => Err("the guideline is empty".to_owned()),
            _ => Ok(()),
        }
    }
}

impl Programmed {
    /// Returns its input, with these values.
    pub fn with(&self, set: Option<&Json>) -> Json {
        let mut input = self.input.clone();
        if let Some(set) = set {
            input["parameters"] = set.clone();
        }
        input
    }
}

/// Returns the program with these values as those of its parameters, where its input has no others.
/// Its first line, if it has one of these already, is replaced.
pub(super) fn tuned(code: &str, set: Option<&Json>) -> String {
    const BEFORE: &str = "const parameters = { ...";
    let code = match code.split_once('\n') {
        Some((first, rest)) if first.starts_with(BEFORE) => rest,
        _ => code,
    };
    let set = set.map_or_else(|| "{}".to_owned(), Json::to_string);
    format!("{BEFORE}{set}, ...input.parameters }};\n{code}")
}
