//! The failures of an exchange, in our words: an endpoint that cannot be reached, refuses, or gives
//! an answer that cannot be read.

use std::time::Duration;

use async_openai::error::OpenAIError;
use http::header::{HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use parking_lot::Mutex;
use reqwest::{Response, StatusCode};
use serde_json::Value;

use super::Endpoint;
use super::echo::without_echo;
use super::refusal::{self, Meaning};
use crate::answer::{Reported, reported};
use crate::guard::Seen;
use crate::http::root_cause;
use crate::refusal_text::has_any;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::time::Timestamp;

/// Most bytes of a refusal that are read, and the longest time for that.
const REFUSAL_MAX: usize = 64 << 10;
const REFUSAL_WAIT: Duration = Duration::from_secs(5);

/// The shortest time until a quota is new that is waited for: that of a day, not of a minute.
const RESET_MIN: Duration = Duration::from_mins(10);

/// Most characters of a provider's words that are repeated in a failure, and most bytes that are
/// read for that.
const QUOTE_MAX: usize = 300;
const QUOTE_FROM: usize = 4096;

/// A failed exchange.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
pub struct Trouble {
    /// The failure that is told if it stays at that.
    pub failure: Failure,
    /// The pause that the provider asks for.
    pub pause: Option<Duration>,
    /// All that the provider said, as it came: to be looked through, never to be shown.
    pub said: String,
    /// The provider's words and code, where it refused a member of the request, or its length.
    pub refused: Option<String>,
}

impl Trouble {
    /// Returns whether it is the same as before and in words about a template: one that fails on
    /// a request fails each time.
    pub fn stays(&self, before: Option<&str>) -> bool {
        before == Some(self.said.as_str()) && refusal::is_of_template(&self.said)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            pause: None,
            said: String::new(),
            refused: None,
        }
    }
}

impl Endpoint {
    /// Returns the failure that async-openai reports, in our words.
    pub fn trouble(&self, error: OpenAIError, seen: &Mutex<Seen>) -> Trouble {
        if let Some((broke, passing)) = &seen.lock().broke {
            let mut failure = self.failure(format_args!("{broke}"));
            failure.retryable = *passing;
            return failure.into();
        }
        match error {
            OpenAIError::Boxed(error) => match error.downcast::<Trouble>() {
                Ok(trouble) => *trouble,
                Err(error) => {
                    let quote = self.quote(&error.to_string());
                    self.failure(format_args!("could not be asked: {quote}"))
                        .into()
                }
            },
            OpenAIError::JSONDeserialize(error, text) => {
                let quote = self.quote(&text);
                let mut failure = self.failure(format_args!("answered what is no JSON: {quote}"));
                failure.retryable = error.is_eof();
                failure.into()
            }
            other => {
                let quote = self.quote(&other.to_string());
                self.failure(format_args!("gave no readable answer: {quote}"))
                    .into()
            }
        }
    }

    pub fn unreachable(&self, error: &reqwest::Error) -> Trouble {
        let cause = root_cause(error);
        if error.is_timeout() {
            let text = format!("{} could not be reached in time: {cause}", self.name);
            return Failure::new(FailureKind::Timeout, text).retryable().into();
        }
        let text = format_args!("could not be reached: {cause}");
        self.failure(text).retryable().into()
    }

    /// An answer that is an error, by its status or by its words, of which a quotation of the request
    /// says nothing.
    pub fn refusal(
        &self,
        status: StatusCode,
        reported: &Reported,
        (asked, pause): (&str, Option<Duration>),
    ) -> Trouble {
        let meant = reported.status.filter(|_| status.is_success());
        let meant = meant.and_then(|code| StatusCode::from_u16(code).ok());
        let status = meant.unwrap_or(status);
        let quote = self.quote(&reported.message);
        let reported = &Reported {
            message: without_echo(&reported.message, asked).into_owned(),
            code: reported.code.clone(),
            status: reported.status,
        };
        let hint = hint(status);
        let failure = match status.is_success() {
            true => self.failure(format_args!("answered with an error: {quote}{hint}")),
            false => self.failure(format_args!("answered {status}: {quote}{hint}")),
        };
        let meaning = refusal::meaning(status, &reported.code, &reported.message);
        let mut failure = failure.with(refusal::detail(status, meaning, &reported.message));
        // The same request is never taken where it is too long, or where a part of it is not taken.
        let is_final = !matches!(meaning, Meaning::Unsaid | Meaning::Unclear | Meaning::Other);
        failure.retryable = !is_final && is_passing(status, reported);
        let is_about_request = matches!(
            status.as_u16(),
            400 | 404 | 405 | 413 | 415 | 422 | 500 | 501
        ) || status.is_success();
        let is_too_long = meaning == Meaning::TooLong;
        let words = format!("{} {}", reported.code, reported.message);
        Trouble {
            failure,
            pause: pause.or_else(|| pause_asked(&reported.message)),
            refused: (is_about_request && (!is_final || is_too_long)).then(|| words.clone()),
            said: words,
        }
    }

    /// The beginning of a provider's words on one line, without our key, should they repeat it or a part of it.
    fn quote(&self, words: &str) -> String {
        let begin = &words[..words.floor_char_boundary(QUOTE_FROM)];
        let words = self.veil.over(begin);
        let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(QUOTE_MAX) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None if line.is_empty() => "(nothing)".to_owned(),
            None => line,
        }
    }
}

/// Returns true if the same request may succeed later.
fn is_passing(status: StatusCode, reported: &Reported) -> bool {
    let passing = matches!(status.as_u16(), 408 | 409 | 425 | 429) || status.is_server_error();
    let said = format!("{} {}", reported.code, reported.message).to_lowercase();
    let says = |words| has_any(&said, words);
    // Gateways say so under a status of success, and of a request that is wrong.
    let may_be_busy = status.is_success() || matches!(status.as_u16(), 400 | 403 | 422);
    let is_busy = may_be_busy && says(BUSY) && !says(LASTING);
    (passing || says(ABOUT_THE_ANSWER) || is_busy) && !is_spent(&said)
}

/// Refusals of the moment, which some send with a status of success: too much is asked, by one or
/// by all, or something failed on the way.
const BUSY: &str = "unexpected eof|broken pipe|bad response status|please retry|overload|again later|\
    again in|retry later|retry after|retry in|rate limit|rate_limit|rate-limit|\
    ratelimit|request limit|requests limit|too many requests|too frequen|per minute|\
    per second|slow down|throttl|qps|rpm|tpm|concurren|busy|capacity|temporar|\
    unavailable|timeout|timed out|internal server error|internal error|重试|再试|限流|频率|并发|\
    繁忙|过载|负载";

/// Limits that outlast all tries.
const LASTING: &str = "daily|per day|weekly|monthly|total request|今日";

/// Refusals of the answer that the model made: another try makes another one.
const ABOUT_THE_ANSWER: &str = "tool_use_failed|failed to call a function|tool call validation failed|\
    output_parse_failed|model generated output that could not be parsed|\
    json_validate_failed|error parsing tool call|failed to parse tool call";

/// Refusals until a payment, or until another day.
const SPENT: &str = "no available channel|per_day|per-day|perday|monthly quota|insufficient_quota|\
    exceeded_current_quota|billing_hard_limit|billing_not_active|insufficient balance|\
    insufficient_balance|insufficient account balance|insufficient credit|\
    credit balance|out of credits|all available credits|spending limit|\
    account is suspended|accountoverdue|余额不足";

/// The pause that a provider asks for in its words: `retry in 12.5s`, `try again in 1h2m`,
/// `Please wait 60 seconds`, `"retryDelay": "7s"`.
fn pause_asked(words: &str) -> Option<Duration> {
    let said = words.to_lowercase();
    let after = [
        "again in",
        "again after",
        "retry in",
        "retry after",
        "retry_after",
        "retry-after",
        "retryafter",
        "retrydelay",
        "wait",
    ];
    let asked = after.iter().flat_map(|words| said.match_indices(words));
    asked
        .filter_map(|(at, words)| length(&said[at + words.len()..]))
        .max()
}

/// The length of time that a text begins with, in one unit or several: `43m12.5s`, ` for 3 hours`.
fn length(text: &str) -> Option<Duration> {
    let is_between = |c: char| c.is_whitespace() || "\"'\\:=".contains(c);
    let mut rest = text.trim_start_matches(is_between);
    for word in ["for ", "about ", "at least ", "another "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let mut seconds = None;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (digits, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let Ok(number) = digits.trim_end_matches('.').parse::<f64>() else {
            return Duration::try_from_secs_f64(seconds?).ok();
        };
        let unit = behind.trim_start();
        let end = unit.find(|c: char| !c.is_alphabetic());
        let (unit, behind) = unit.split_at(end.unwrap_or(unit.len()));
        let one = match unit {
            unit if unit.starts_with("ms") || unit.starts_with("milli") => 0.001,
            unit if unit.starts_with('m') => 60.0,
            unit if unit.starts_with('h') => 3600.0,
            unit if unit.starts_with('d') => 86400.0,
            _ => 1.0,
        };
        seconds = Some(seconds.unwrap_or(0.0) + number * one);
        rest = behind.trim_start_matches([' ', ',']);
        if !unit.starts_with(['h', 'm', 'd']) {
            return Duration::try_from_secs_f64(seconds?).ok();
        }
    }
}

/// Returns the remedy for the operator, where it is known.
fn hint(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 | 403 => " (check api_key)",
        404 => " (check base_url and model)",
        _ => "",
    }
}

/// Returns the trouble of a response that is no success.
pub async fn refused(endpoint: &Endpoint, response: Response, asked: &str) -> Trouble {
    let status = response.status();
    let pause = retry_after(response.headers());
    let location = response.headers().get(LOCATION);
    let moved = |to: &HeaderValue| format!("moved to {}", String::from_utf8_lossy(to.as_bytes()));
    let location = location.map(moved);
    let body = read_some(response).await;
    let said: Option<Value> = serde_json::from_slice(&body).ok();
    let said = said.and_then(|body| reported(&body));
    let (said, code) = said.map(|said| (said.message, said.code)).unzip();
    let code = code.unwrap_or_default();
    let text = || String::from_utf8_lossy(&body).into_owned();
    let message = location.or(said).unwrap_or_else(text);
    let reported = Reported {
        message,
        code,
        status: None,
    };
    let trouble = endpoint.refusal(status, &reported, (asked, pause));
    let said = without_echo(&String::from_utf8_lossy(&body), asked).into_owned();
    let mut failure = trouble.failure;
    // Gemini names the quota that is spent beside its words.
    failure.retryable &= !is_spent(&said.to_lowercase());
    Trouble {
        failure,
        pause: trouble.pause.or_else(|| pause_asked(&said)),
        said,
        refused: trouble.refused,
    }
}

fn is_spent(said: &str) -> bool {
    has_any(said, SPENT)
}

/// The beginning of a refusal's body, as far as it comes.
async fn read_some(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= REFUSAL_MAX {
                break;
            }
        }
    };
    // What came in time is quoted; a refusal without words is one too.
    let _in_time = tokio::time::timeout(REFUSAL_WAIT, read).await.is_ok();
    body
}

/// `Retry-After` in seconds or as a date; `retry-after-ms` where a provider is that exact; the time
/// until a quota of which nothing remains is new (`x-ratelimit-reset-requests: 6h0m0s`).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = text("retry-after-ms").and_then(|ms| ms.parse().ok());
    let millis = millis.map(Duration::from_millis);
    let seconds = || {
        text(RETRY_AFTER.as_str()).and_then(|s| Duration::try_from_secs_f64(s.parse().ok()?).ok())
    };
    let date = || {
        let until = Timestamp::parse_http(text(RETRY_AFTER.as_str())?)?.seconds()
            - thinkd_words::time::now().seconds();
        Some(Duration::from_secs(u64::try_from(until).unwrap_or(0)))
    };
    let reset = |kind: &str| {
        let left = text(&format!("x-ratelimit-remaining-{kind}"))?;
        let reset = text(&format!("x-ratelimit-reset-{kind}"))?;
        // A short one says when all of it is new; one more request passes sooner.
        length(reset).filter(|reset| left == "0" && *reset > RESET_MIN)
    };
    let resets = || ["requests", "tokens"].into_iter().filter_map(reset).max();
    millis.or_else(seconds).or_else(date).or_else(resets)
}
