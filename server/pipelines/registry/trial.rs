//! The pipeline `trial` tries a proposed prompt of a submodule on past turns. It makes each
//! recorded call again, with the same view and tier, and with the proposed prompt in the place of
//! the recorded one. The answers are not acted on.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use unhurried::{Context, NodeExecutionError, node, outcomes};
use uuid::Uuid;

use crate::host::Host;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_log::query::{Order, Query, Show};
use thinkd_mind::submodule;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{Name, Seq};

/// Most turns of one trial.
const TURNS_MAX: u32 = 10;
/// Records of calls that are looked at: a submodule may make several in a turn.
const LOOKED_AT: u32 = 200;
/// Events of a submodule after its call among which its words are.
const WORDS_WITHIN: u32 = 20;

/// What to try.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The submodule.
    #[schemars(with = "String")]
    submodule: Name,
    /// The prompt, in the place of its own.
    #[serde(deserialize_with = "some_words")]
    #[schemars(length(min = 1))]
    prompt: String,
    /// Over so many of its last turns, at most 10.
    #[serde(default = "five", deserialize_with = "some_turns")]
    #[schemars(range(min = 1, max = 10))]
    turns: u32,
}

fn five() -> u32 {
    5
}

fn some_turns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let turns = u32::deserialize(deserializer)?;
    let wrong = || D::Error::custom(format!("{turns} is not one of 1 to {TURNS_MAX}"));
    (1..=TURNS_MAX)
        .contains(&turns)
        .then_some(turns)
        .ok_or_else(wrong)
}

fn some_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let words = String::deserialize(deserializer)?;
    if words.trim().is_empty() {
        Err(D::Error::custom("it is empty"))
    } else {
        Ok(words)
    }
}

/// A turn in which the submodule was asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Turn {
    call: Uuid,
    seq: Seq,
    thread: String,
    turn: u64,
    said: Option<String>,
    failed: bool,
}

/// The answer to the proposed prompt.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Said {
    text: Option<String>,
    calls: Vec<String>,
}

/// The answers to one view, then and now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tried {
    /// The record of the call of then, and its position.
    call: Uuid,
    seq: Seq,
    /// The thread in which the submodule was asked.
    thread: String,
    turn: u64,
    /// The answer then; null: none.
    then: Option<String>,
    /// True if there was none because the submodule failed, was late or was stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    then_failed: bool,
    now: Option<String>,
    /// The tools that it would have called now.
    calls: Vec<String>,
    /// Why there is no answer now.
    failure: Option<String>,
}

/// The pipeline.
pub async fn trial(
    wanted: Context<Wanted>,
    host: Host,
) -> Result<Context<Vec<Tried>>, NodeExecutionError> {
    let turns = turns(&wanted, host.clone());
    let all = turns.data().await?;
    let answers = all
        .iter()
        .map(|turn| ask(turns.taken(turn.call), &wanted, host.clone()));
    let answers = outcomes(answers.collect::<Vec<_>>()).data().await?;
    let tried = |(turn, answer): (Turn, Result<Said, NodeExecutionError>)| {
        let Turn {
            call,
            seq,
            thread,
            turn,
            said,
            failed,
        } = turn;
        let (now, calls, failure) = match answer {
            Ok(Said { text, calls }) => (text, calls, None),
            Err(failure) => (None, Vec::new(), Some(failure.to_string())),
        };
        Tried {
            call,
            seq,
            thread,
            turn,
            then: said,
            then_failed: failed,
            now,
            calls,
            failure,
        }
    };
    Ok(Context::new(
        all.into_iter().zip(answers).map(tried).collect(),
    ))
}

fn wrong(text: String) -> Failure {
    Failure::new(FailureKind::Node, text)
}

/// The last turns in which it was asked about something new, the newest first.
#[node]
async fn turns(wanted: Wanted, host: Host) -> Result<Vec<Turn>, Failure> {
    let name = wanted.submodule;
    let query = Query {
        tags: vec![format!("call:submodule:{name}")],
        show: Show::All,
        order: Order::Descending,
        limit: LOOKED_AT,
        ..Query::default()
    };
    let records = host.events(&query).await?;
    let mut turns = Vec::new();
    for record in records
        .iter()
        .filter(|record| is_first(record))
        .take(wanted.turns as usize)
    {
        let call = record.event_id;
        let seq = record.seq;
        let thread = record.thread.to_string();
        let said = words(record, &name, &host).await?;
        let failed = said.is_none() && !was_answered(record);
        turns.push(Turn {
            call,
            seq,
            thread,
            turn: record.turn().unwrap_or_default(),
            said,
            failed,
        });
    }
    if turns.is_empty() {
        return Err(wrong(format!(
            "the last {LOOKED_AT} calls of the submodule {name} were about nothing new: there is nothing to try a prompt over"
        )));
    }
    Ok(turns)
}

/// Returns true for the record of a first call about something new.
fn is_first(record: &Event) -> bool {
    let Fact::Call(call) = record.fact() else {
        return false;
    };
    let is_new = call.get("purpose").and_then(serde_json::Value::as_str) == Some("turn");
    is_new && call.get("round").and_then(serde_json::Value::as_u64) == Some(0)
}

fn was_answered(record: &Event) -> bool {
    let Fact::Call(call) = record.fact() else {
        return false;
    };
    call.get("outcome").and_then(serde_json::Value::as_str) == Some("answered")
}

/// Returns the answer of the submodule then.
async fn words(record: &Event, name: &Name, host: &Host) -> Result<Option<String>, Failure> {
    let query = Query {
        thread: Some(record.thread.clone()),
        tags: vec![format!("submodule:{name}")],
        show: Show::All,
        after: Some(record.seq),
        order: Order::Ascending,
        limit: WORDS_WITHIN,
        ..Query::default()
    };
    let events = host.events(&query).await?;
    let said = |event: &Event| match event.fact() {
        Fact::Remark(remark) if Some(remark.turn) == record.turn() && !remark.is_follow_up => {
            Some(remark.text.to_owned())
        }
        _ => None,
    };
    Ok(events.iter().find_map(said))
}

#[node]
async fn ask(call: Uuid, wanted: Wanted, host: Host) -> Result<Said, Failure> {
    let answer = host.ask_again(call, &wanted.prompt).await?;
    let words = answer.whole_words()?.trim();
    let text = (!words.is_empty() && words != submodule::PASS).then(|| words.to_owned());
    Ok(Said {
        text,
        calls: answer.calls.into_iter().map(|call| call.name).collect(),
    })
}
