//! The worker's side: a process that reads requests from its standard input and writes answers to its standard output, one at a
//! time, until the input ends. Each run has an engine of its own, so that nothing of it is left for the next one.

use std::io::{self, stdin, stdout};

use crate::cage;
use crate::frame::{self, FromWorker, ToWorker};
use crate::javascript;
use crate::request::{Language, Limits, Request};

/// Serves until the server hangs up. To be called first thing by a process that has one thread and
/// was started by a [`crate::pool::Pool`].
///
/// # Errors
/// Fails if the input is no frame, or the server is gone.
pub fn main() -> io::Result<()> {
    let ToWorker::Limits(limits) = frame::read(&mut stdin())? else {
        return Err(io::Error::other("a worker wants its limits first"));
    };
    // The C library looks for its time zone once, in a file: while there are files. Nobody wants the answer.
    drop(javascript::run(
        "new Date(0).getHours()",
        &serde_json::Value::Null,
        &limits,
    ));
    // So does the library of regular expressions for the number of processors.
    #[cfg(feature = "python")]
    drop(python(
        "import re\nre.match('a', 'a')",
        &serde_json::Value::Null,
        &limits,
    ));
    let kept = cage::enter(&limits);
    loop {
        frame::write(&mut stdout(), &FromWorker::Ready { kept: kept.clone() })?;
        let request = match frame::read(&mut stdin()) {
            Ok(ToWorker::Run(request)) => request,
            Ok(ToWorker::Limits(_)) => {
                return Err(io::Error::other("a worker has its limits already"));
            }
            // The server has no more work, or is gone.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        };
        cage::compute_until(&limits);
        if run(&request, &limits)? {
            return Ok(());
        }
    }
}

/// Runs it and writes the answer; whether this was the last one.
fn run(request: &Request, limits: &Limits) -> io::Result<bool> {
    let code = &request.code;
    let input = &request.input;
    let (answer, engine) = match request.language {
        Language::JavaScript => javascript::run(code, input, limits),
        Language::Python => (python(code, input, limits), None),
    };
    frame::write(&mut stdout(), &answer)?;
    // An engine that was stopped somewhere in the middle is not taken apart; it goes with its process.
    let is_last = matches!(answer, FromWorker::Stopped { .. });
    if is_last {
        std::mem::forget(engine);
    }
    Ok(is_last)
}

#[cfg(feature = "python")]
use crate::python::run as python;

#[cfg(not(feature = "python"))]
fn python(_: &str, _: &serde_json::Value, _: &Limits) -> FromWorker {
    let thrown = crate::request::Thrown::new(
        "the program that runs code here was built without Python",
        None,
    );
    FromWorker::Ended {
        outcome: Err(thrown),
        printed: String::new(),
    }
}
