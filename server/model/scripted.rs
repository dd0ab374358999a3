//! The scripted model gives prepared answers, for tests and for users of the library. It records
//! its requests.

use std::collections::VecDeque;

use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;

use super::endpoint::Options;
use super::openai;
use super::provider::{Answer, Model, Piece, Pieces, Prepared, Request, ToolCall};
use thinkd_words::failure::{Failure, FailureKind};

/// Most prepared requests that wait to be asked.
const PREPARED_MAX: usize = 1024;

type Script = Box<dyn FnMut(&Request) -> Result<Answer, Failure> + Send>;

/// A model that follows a script.
pub struct Scripted {
    options: Options,
    script: Mutex<Script>,
    prepared: Mutex<VecDeque<(Prepared, Request)>>,
    asked: Mutex<Vec<Request>>,
}

impl Scripted {
    /// A model with the answers of a function.
    pub fn by(script: impl FnMut(&Request) -> Result<Answer, Failure> + Send + 'static) -> Self {
        Self {
            options: Options::new("scripted"),
            script: Mutex::new(Box::new(script)),
            prepared: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// A model that gives these answers in this order, and then a failure.
    pub fn queue(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: VecDeque<Answer> = answers.into_iter().collect();
        Self::by(move |_| {
            answers
                .pop_front()
                .ok_or_else(|| Failure::new(FailureKind::Model, "the script has no further answer"))
        })
    }

    /// Returns the requests so far, in order.
    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().clone()
    }
}

impl Answer {
    /// An answer in words.
    pub fn says(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            finish: "stop".to_owned(),
            ..Self::default()
        }
    }

    /// The same answer, which also calls a tool.
    #[must_use]
    pub fn calling(mut self, tool: impl Into<String>, arguments: serde_json::Value) -> Self {
        let id = format!("call_{}", self.calls.len() + 1);
        self.calls.push(ToolCall {
            id,
            name: tool.into(),
            arguments: arguments.to_string(),
        });
        self.finish = "tool_calls".to_owned();
        self
    }

    /// An answer that only calls a tool.
    pub fn calls(tool: impl Into<String>, arguments: serde_json::Value) -> Self {
        Self::default().calling(tool, arguments)
    }
}

impl Model for Scripted {
    fn prepare(&self, request: &Request) -> Prepared {
        let ready = openai::prepare(&self.options, request);
        let mut prepared = self.prepared.lock();
        if prepared.len() == PREPARED_MAX {
            prepared.pop_front();
        }
        prepared.push_back((ready.clone(), request.clone()));
        ready
    }

    fn ask(&self, prepared: Prepared) -> Pieces {
        let answer = self.answer(&prepared);
        let pieces = match answer {
            Ok(answer) => pieces(answer).into_iter().map(Ok).collect(),
            Err(failure) => vec![Err(failure)],
        };
        stream::iter(pieces).boxed()
    }

    fn name(&self) -> String {
        "a scripted model".to_owned()
    }
}

impl Scripted {
    fn answer(&self, ready: &Prepared) -> Result<Answer, Failure> {
        let request = {
            let mut prepared = self.prepared.lock();
            let at = prepared.iter().position(|(known, _)| known == ready);
            at.and_then(|at| prepared.remove(at))
                .map(|(_, request)| request)
        };
        let request = request.ok_or_else(|| {
            Failure::new(
                FailureKind::Model,
                "the scripted model was asked what it had not prepared",
            )
        })?;
        self.asked.lock().push(request.clone());
        let mut script = self.script.lock();
        (*script)(&request)
    }
}

fn pieces(answer: Answer) -> Vec<Piece> {
    let text = (!answer.text.is_empty()).then(|| Piece::Text(answer.text.clone()));
    let call = |(index, call): (usize, &ToolCall)| Piece::Call {
        index,
        name: Some(call.name.clone()),
        arguments: call.arguments.clone(),
    };
    let mut pieces: Vec<Piece> = text
        .into_iter()
        .chain(answer.calls.iter().enumerate().map(call))
        .collect();
    pieces.push(Piece::End(answer));
    pieces
}
