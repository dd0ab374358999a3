//! One run of Python, of which the interpreter (monty) knows a part, in an interpreter of its own.
//! The code finds `input` and `print`, and nothing that reaches outside. Its value is its last
//! expression.

use std::borrow::Cow;
use std::time::Instant;

use monty::MontyRun;
use monty_types::{
    CompileOptions, ExcType, MontyException, MontyObject, PrintWriter, PrintWriterCallback,
    ResourceLimits, ResourceTracker,
};
use serde_json::{Map, Number, Value as Json};

use crate::frame::FromWorker;
use crate::request::{Limits, Reason, Thrown};

/// Runs it. The process's mapped memory has a bound: where that ends, so does the process.
pub(crate) fn run(code: &str, input: &Json, limits: &Limits) -> FromWorker {
    let begin = Instant::now();
    let mut printed = Printed {
        text: String::new(),
        most: limits.output_bytes,
        is_full: false,
    };
    let tracker = ResourceTracker::new(ResourceLimits::default().max_duration(limits.time));
    let outcome = MontyRun::new(
        code.to_owned(),
        "code",
        vec!["input".to_owned()],
        CompileOptions::default(),
    )
    .and_then(|run| {
        run.run(
            vec![object(input)],
            tracker,
            PrintWriter::Callback(&mut printed),
        )
    });
    let Printed {
        text: printed,
        is_full,
        ..
    } = printed;
    let stopped = |reason, detail| FromWorker::Stopped {
        reason,
        detail,
        printed: printed.clone(),
    };
    let most = limits.output_bytes;
    let too_much = || {
        stopped(
            Reason::Output,
            format!("it printed or returned more than {most} bytes"),
        )
    };
    match outcome {
        _ if is_full => too_much(),
        Ok(value) => {
            let value = json(value).to_string();
            if value.len() as u64 > most {
                too_much()
            } else {
                FromWorker::Ended {
                    outcome: Ok(value),
                    printed,
                }
            }
        }
        Err(error)
            if error.exc_type() == ExcType::TimeoutError && begin.elapsed() >= limits.time =>
        {
            stopped(
                Reason::Time,
                format!("it ran for more than {} ms", limits.time.as_millis()),
            )
        }
        Err(error) => FromWorker::Ended {
            outcome: Err(thrown(&error)),
            printed,
        },
    }
}

/// Printed text, as far as there is room.
struct Printed {
    text: String,
    most: u64,
    is_full: bool,
}

impl PrintWriterCallback for Printed {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        if self.is_full || (self.text.len() + output.len()) as u64 > self.most {
            // The run ends as one that printed too much, whatever the code does with this error.
            self.is_full = true;
            return Err(MontyException::new(
                ExcType::OSError,
                Some("too much is printed".to_owned()),
            ));
        }
        self.text.push_str(&output);
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.stdout_write(Cow::Borrowed(end.encode_utf8(&mut [0; 4])))
    }
}

fn thrown(error: &MontyException) -> Thrown {
    Thrown::new(
        &error.summary(),
        error.traceback().last().map(|frame| frame.start.line),
    )
}

fn object(json: &Json) -> MontyObject {
    match json {
        Json::Null => MontyObject::None,
        Json::Bool(value) => MontyObject::Bool(*value),
        Json::Number(number) => number.as_i64().map_or_else(
            || MontyObject::Float(number.as_f64().unwrap_or(f64::NAN)),
            MontyObject::Int,
        ),
        Json::String(text) => MontyObject::String(text.clone()),
        Json::Array(items) => MontyObject::List(items.iter().map(object).collect()),
        Json::Object(members) => {
            let pair =
                |(key, value): (&String, &Json)| (MontyObject::String(key.clone()), object(value));
            MontyObject::dict(members.iter().map(pair).collect::<Vec<_>>())
        }
    }
}

/// A value without a form in JSON is its text, as `str` gives it.
fn json(object: MontyObject) -> Json {
    match object {
        MontyObject::None => Json::Null,
        MontyObject::Bool(value) => Json::Bool(value),
        MontyObject::Int(value) => value.into(),
        MontyObject::Float(value) => Number::from_f64(value).map_or(Json::Null, Json::Number),
        MontyObject::String(text) => Json::String(text),
        MontyObject::List(items)
        | MontyObject::Tuple(items)
        | MontyObject::Set(items)
        | MontyObject::FrozenSet(items)
        | MontyObject::NamedTuple { values: items, .. } => {
            Json::Array(items.into_iter().map(json).collect())
        }
        MontyObject::Dict(pairs) => {
            let pair = |(key, value): (MontyObject, MontyObject)| (key.to_string(), json(value));
            Json::Object(pairs.into_iter().map(pair).collect::<Map<_, _>>())
        }
        other => Json::String(other.to_string()),
    }
}
