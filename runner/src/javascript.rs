//! One run of JavaScript in an engine of its own. The code finds `input`, `print` and `console`,
//! and nothing that reaches outside. Its value is its last expression, or its return value.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use rquickjs::context::EvalOptions;
use rquickjs::function::Rest;
use rquickjs::{
    CatchResultExt as _, CaughtError, Coerced, Context, Ctx, Error, Function, Object, Promise,
    Runtime, Value,
};
use serde_json::Value as Json;

use crate::cage;
use crate::frame::FromWorker;
use crate::request::{Limits, Reason, Thrown};

/// Most bytes of the engine's own stack: a recursion that goes deeper is an error of the code.
const STACK_BYTES: usize = 512 << 10;

/// The name of the code in the engine's traces.
const FILE: &str = "code";

/// State that the functions of the code and its watch share.
#[derive(Default)]
struct Watch {
    printed: RefCell<String>,
    stopped: Cell<Option<Reason>>,
}

/// Runs it. The engine comes back so that the answer is sent before it is taken apart.
pub(crate) fn run(code: &str, input: &Json, limits: &Limits) -> (FromWorker, Option<Runtime>) {
    let deadline = cage::computed().saturating_add(limits.time);
    let (answer, engine) = attempt(code, input, limits, deadline);
    // A `return` outside of any function: nothing of it ran, and as the body of one it would.
    let returns = matches!(&answer, FromWorker::Ended { outcome: Err(thrown), .. } if thrown.message == RETURNS);
    if !returns {
        return (answer, engine);
    }
    drop(engine);
    // On one line with the first of the code: the lines of errors stay.
    attempt(
        &format!("(async function () {{{code}\n}}).call(globalThis)"),
        input,
        limits,
        deadline,
    )
}

/// The error of the engine for a `return` outside of a function, before it runs anything.
const RETURNS: &str = "SyntaxError: return not in a function";

fn attempt(
    code: &str,
    input: &Json,
    limits: &Limits,
    deadline: Duration,
) -> (FromWorker, Option<Runtime>) {
    let watch = Rc::new(Watch::default());
    let (Ok(runtime), most) = (
        Runtime::new(),
        usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX),
    ) else {
        return (stopped(Reason::Memory, &watch, limits), None);
    };
    runtime.set_memory_limit(most);
    runtime.set_max_stack_size(STACK_BYTES);
    let seen = watch.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || {
        if seen.stopped.get().is_none() && cage::computed() >= deadline {
            seen.stopped.set(Some(Reason::Time));
        }
        seen.stopped.get().is_some()
    })));
    let Ok(context) = Context::full(&runtime) else {
        return (stopped(Reason::Memory, &watch, limits), Some(runtime));
    };
    let outcome = context.with(|ctx| {
        let value = evaluated(&ctx, code, input, limits, &watch);
        value.catch(&ctx).map_err(|error| failed(error, &watch))
    });
    let answer = match (watch.stopped.get(), outcome) {
        (Some(reason), _) => stopped(reason, &watch, limits),
        (None, Ok(value)) if value.len() as u64 > limits.output_bytes => {
            stopped(Reason::Output, &watch, limits)
        }
        (None, outcome) => FromWorker::Ended {
            outcome: outcome.map(well_formed),
            printed: watch.printed.take(),
        },
    };
    (answer, Some(runtime))
}

fn stopped(reason: Reason, watch: &Watch, limits: &Limits) -> FromWorker {
    let detail = match reason {
        Reason::Time => format!("it computed for more than {} ms", limits.time.as_millis()),
        Reason::Memory => format!(
            "it wanted more than {} bytes of memory, or threw null",
            limits.memory_bytes
        ),
        Reason::Output => format!(
            "it printed or returned more than {} bytes",
            limits.output_bytes
        ),
        Reason::Crash => "its worker broke".to_owned(),
    };
    FromWorker::Stopped {
        reason,
        detail,
        printed: watch.printed.take(),
    }
}

/// The value of the code as JSON, after all that it left to be done later.
fn evaluated<'js>(
    ctx: &Ctx<'js>,
    code: &str,
    input: &Json,
    limits: &Limits,
    watch: &Rc<Watch>,
) -> Result<String, Error> {
    prepare(ctx, input, limits, watch)?;
    let mut options = EvalOptions::default();
    (options.strict, options.promise, options.backtrace_barrier) = (false, true, true);
    options.filename = Some(FILE.to_owned());
    // With `await` allowed, the engine wraps the value of the last expression.
    let wrapped = ctx
        .eval_with_options::<Promise<'js>, _>(code, options)?
        .finish::<Object<'js>>()?;
    let mut value: Value<'js> = wrapped.get("value")?;
    if let Some(promise) = value.as_promise() {
        value = promise.finish()?;
    }
    while ctx.execute_pending_job() {}
    match ctx.json_stringify(value)? {
        Some(json) => Ok(json.to_string()?),
        // A function, or nothing.
        None => Ok("null".to_owned()),
    }
}

/// Sets the globals of the code, and takes the fine clock away.
fn prepare<'js>(
    ctx: &Ctx<'js>,
    input: &Json,
    limits: &Limits,
    watch: &Rc<Watch>,
) -> Result<(), Error> {
    let globals = ctx.globals();
    globals.remove("performance")?;
    globals.set("input", ctx.json_parse(input.to_string())?)?;
    // Larger integers come back as text instead of as an error.
    ctx.eval::<(), _>("BigInt.prototype.toJSON = function () { return this.toString() }")?;
    let watch = watch.clone();
    let most = limits.output_bytes;
    let print = Function::new(
        ctx.clone(),
        move |ctx: Ctx<'js>, values: Rest<Value<'js>>| print(&ctx, &values.0, &watch, most),
    )?;
    let console = Object::new(ctx.clone())?;
    for name in ["log", "info", "warn", "error", "debug"] {
        console.set(name, print.clone())?;
    }
    globals.set("console", console)?;
    globals.set("print", print)
}

fn print<'js>(
    ctx: &Ctx<'js>,
    values: &[Value<'js>],
    watch: &Watch,
    most: u64,
) -> Result<(), Error> {
    for (index, value) in values.iter().enumerate() {
        let text = shown(ctx, value)?;
        let mut printed = watch.printed.borrow_mut();
        if printed.len() as u64 + text.len() as u64 + 2 > most {
            // The watch ends the run at its next look, whatever the code does with this error.
            watch.stopped.set(Some(Reason::Output));
            return Err(rquickjs::Exception::throw_range(ctx, "too much is printed"));
        }
        if index > 0 {
            printed.push(' ');
        }
        printed.push_str(&text);
    }
    watch.printed.borrow_mut().push('\n');
    Ok(())
}

/// A value as it is printed: a text as it is, an error with its trace, an object as JSON, anything else as its text.
fn shown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<String, Error> {
    if let Some(exception) = value.as_exception() {
        return Ok(format!(
            "{}\n{}",
            named(exception),
            exception.stack().unwrap_or_default()
        )
        .trim_end()
        .to_owned());
    }
    if value.is_object()
        && !value.is_function()
        && let Some(json) = ctx.json_stringify(value.clone())?
    {
        return Ok(well_formed(json.to_string()?));
    }
    match value.get::<Coerced<String>>() {
        Ok(text) => Ok(text.0),
        // Half a character, which is no text elsewhere: its escape is.
        Err(Error::Utf8(_)) => Ok(ctx
            .json_stringify(value.clone())?
            .map_or(Ok(String::new()), |json| json.to_string())?),
        Err(error) => Err(error),
    }
}

/// Returns the text of an uncaught error. One that only says that memory ended is the end of the run.
fn failed(error: CaughtError<'_>, watch: &Watch) -> Thrown {
    let (message, line) = match &error {
        CaughtError::Exception(exception) => (
            named(exception),
            exception.stack().as_deref().and_then(line_of),
        ),
        CaughtError::Value(value) => {
            let text = shown(value.ctx(), value).unwrap_or_else(|_| value.type_of().to_string());
            (text, None)
        }
        CaughtError::Error(Error::WouldBlock) => (
            "the code waits for something that never comes".to_owned(),
            None,
        ),
        CaughtError::Error(error) => (error.to_string(), None),
    };
    // Where not even an error fits into memory any more, the engine throws null. Code that does so is told of both.
    let is_null = matches!(&error, CaughtError::Value(value) if value.is_null());
    if (is_null || message == "InternalError: out of memory") && watch.stopped.get().is_none() {
        watch.stopped.set(Some(Reason::Memory));
    }
    Thrown::new(&message, line)
}

fn named(exception: &rquickjs::Exception<'_>) -> String {
    let name = exception
        .get::<_, Option<Coerced<String>>>("name")
        .ok()
        .flatten()
        .map_or("Error".to_owned(), |name| name.0);
    format!("{name}: {}", exception.message().unwrap_or_default())
}

/// The line of the innermost frame of the code in a trace such as `at f (code:3:7)`.
fn line_of(stack: &str) -> Option<u32> {
    let (_, from) = stack.split_once(&format!("{FILE}:"))?;
    from.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// Returns JSON with valid text everywhere: the engine escapes half a surrogate pair as `\udxxx`,
/// which stands for no character.
fn well_formed(json: String) -> String {
    if !json.contains("\\ud") {
        return json;
    }
    let mut rest = json.as_str();
    let mut whole = String::with_capacity(json.len());
    while let Some(at) = rest.find('\\') {
        let escape = &rest.as_bytes()[at..];
        let is_half = escape.starts_with(b"\\ud")
            && escape
                .get(3)
                .is_some_and(|digit| b"89abcdef".contains(digit));
        // An escape is two bytes at least: what it escapes may be a backslash.
        let end = at + if is_half { 6 } else { 2 };
        whole.push_str(if is_half { &rest[..at] } else { &rest[..end] });
        whole.push_str(if is_half { "\u{fffd}" } else { "" });
        rest = &rest[end..];
    }
    whole + rest
}
