//! The meaning of a refusal, read from a provider's status, code and words: the request is too
//! long, or one of its parts is not taken. Pure. Each provider has words of its own, so they are
//! read as a sentence: a subject, a size, and that it is too much.

use crate::refusal_text::{has_any, spelled_out};
use reqwest::StatusCode;
use serde_json::{Value, json};

use thinkd_words::failure::{FILTERED, MEDIA, TOO_LONG, UNCLEAR, UNSAID};

/// The meaning of a refusal, as far as its words go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The request is longer than the model takes.
    TooLong,
    /// The model takes no media of this kind, or not this one.
    Media(Medium),
    /// A filter does not let the words of the request pass.
    Filtered,
    /// Nothing that could be read: it may be the length.
    Unsaid,
    /// Words without a cause that is known: something new in the request may be it.
    Unclear,
    /// Something else: the key, the quota, the model, a parameter, a tool, the moment.
    Other,
}

/// Media that are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Medium {
    /// `image` or `audio`; none: the words do not say.
    pub kind: Option<&'static str>,
    /// The model takes none of the kind; else these alone are not taken.
    pub is_all: bool,
}

/// Reads a refusal.
pub fn meaning(status: StatusCode, code: &str, message: &str) -> Meaning {
    let said = Said::new(code, message);
    let status = status.as_u16();
    if is_too_long(status, &said) {
        Meaning::TooLong
    } else if let Some(medium) = medium(status, &said) {
        Meaning::Media(medium)
    } else if is_filtered(status, &said) {
        Meaning::Filtered
    } else if status == 500 && said.has("out of memory|outofmemory") {
        // A shorter one takes less.
        Meaning::Unsaid
    } else if has_clear_cause(status, &said) {
        Meaning::Other
    } else if matches!(status, 400 | 413 | 422 | 500)
        && !said.has(OTHER_CAUSES)
        && !said.has(TEMPLATE)
    {
        Meaning::Unsaid
    } else {
        Meaning::Unclear
    }
}

/// Returns whether a refusal says more than that it is one.
pub fn is_worded(message: &str) -> bool {
    let is_word = |word: &&str| word.chars().any(char::is_alphabetic);
    let letters = message
        .chars()
        .filter(|c| !c.is_ascii() && c.is_alphabetic());
    let words = message.split_whitespace().filter(is_word);
    !message.trim_start().starts_with('<') && (words.count() >= 4 || letters.count() >= 4)
}

/// The facts of a failure with this meaning.
pub fn detail(status: StatusCode, meaning: Meaning, message: &str) -> Value {
    let mut detail = json!({ "status": status.as_u16() });
    let reason = match meaning {
        Meaning::TooLong => TOO_LONG,
        Meaning::Unsaid | Meaning::Unclear => {
            detail["worded"] = json!(is_worded(message));
            match meaning {
                Meaning::Unsaid => UNSAID,
                _ => UNCLEAR,
            }
        }
        Meaning::Filtered => FILTERED,
        Meaning::Media(Medium { kind, is_all }) => {
            (detail["media"], detail["all"]) = (json!(kind), json!(is_all));
            MEDIA
        }
        Meaning::Other => return detail,
    };
    detail["reason"] = json!(reason);
    detail
}

/// Code and words in small letters, without marks that divide a word.
struct Said {
    code: String,
    all: String,
}

impl Said {
    fn new(code: &str, message: &str) -> Self {
        let plain = |text: &str| spelled_out(&text.to_lowercase());
        Self {
            code: plain(code),
            all: format!("{}. {}", plain(code), plain(message)),
        }
    }

    fn has(&self, words: &str) -> bool {
        has_any(&self.all, words)
    }

    /// Returns whether it has one of these codes.
    fn is_coded(&self, codes: &[&str]) -> bool {
        self.code.split_whitespace().any(|it| codes.contains(&it))
    }

    /// Its sentences.
    fn sentences(&self) -> impl Iterator<Item = &str> {
        let ends = [". ", "; ", "\n", "。", "；", "! "];
        let mut rest = self.all.as_str();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let end = ends
                .iter()
                .filter_map(|end| Some((rest.find(end)?, end.len())))
                .min();
            let (at, skip) = end.unwrap_or((rest.len(), 0));
            let sentence = &rest[..at];
            rest = &rest[at + skip..];
            Some(sentence)
        })
    }
}

/// Limits over time, and money: the same request passes later, or never, at any length.
const RATES: &str = "per minute|per min|per second|per hour|per day|per month|(tpm|(tpd|(rpm|rate limit|\
    rate_limit|ratelimit|quota|monthly|daily|try again in|please wait|throttl|credit|\
    billing|balance|afford|access token|auth token|api token";

/// The answer's length, which is a parameter.
const OUTPUT: &str = "max_tokens|max_completion_tokens|max_new_tokens|max_output_tokens|maxoutputtokens|\
    max tokens|completion tokens|output tokens|output length|output limit|completion length";

/// Codes and phrases that say it alone.
const LENGTHS: &str = "context_length|context length|contextlength|context window|context_window|contextwindow|\
    context size|context_size|context limit|maximum context|max_model_len|\
    maximum model length|model_max_prompt_tokens|tokens_limit_reached|prompt_too_long|\
    prompt too long|input_too_long|input too long|input is too long|prompt is too long|\
    too many tokens|too many input tokens|too many prompt tokens|input token count|\
    reduce the length|reduce your message size|request_too_large|request too large|\
    entity too large|payload too large|payloadtoolarge|body too large|content too large|\
    n_ctx|tokens exceed|token exceeds|max input|exceeds the token|exceeded the token|token limit exceeded|kv cache|上下文长度|输入过长|输入超长|文本过长";

/// The words of a sentence that says it: about whom, its size, and that it is too much.
const PROMPT: &str = "prompt|input|context|message|conversation|request|sequence|body|payload|query|text|输入|\
    提示|上下文|对话|请求|消息";
const SIZE: &str =
    "token|length| long|size|window|large|larger| big|character|bytes|长|大|字符|字数";
const TOO_MUCH: &str = "exceed|too long|too large|too big|too many|longer than|larger than|greater than|\
    bigger than|more than|maximum|limit|at most|must be <=|must be less|must have less|\
    less than|up to|range of|reduce|shorten|shorter|overflow|not fit|beyond| > |over the|超过|\
    超出|超长|过长|太长|过大|最大|上限";

/// Parts of a request with a length that says nothing of the view's.
const OTHER_PARTS: &str = "image|picture|photo|audio|video|file|pdf|document|attachment|media|tool|function|schema|\
    description|enum|header|cookie|uri|url|stop|took too long|taking too long|timed out|\
    timeout|time out|time limit|deadline|canceled|cancelled|queue|batch|metadata|user id|\
    seed|response|reasoning|thinking|concurren|requests|temperature|top_p|top_k|logit|\
    api key|api_key|cache_key|identifier";

/// Causes that have nothing to do with the length, where the words say no more.
const OTHER_CAUSES: &str = "parameter|unsupported|not supported|not support|unknown|unrecognized|unrecognised|\
    unexpected|invalid value|extra inputs|additional propert|missing|required|tool|function|\
    schema|strict|json|api key|api_key|apikey|unauthor|authenticat|permission|forbidden|\
    not allowed|access|billing|credit|quota|rate limit|rate_limit|balance|model_not|\
    model not|no such model|not found|not exist|not available|unavailable|overload|capacity|\
    loading|busy|timeout|timed out|deadline|region|failed_generation|role|\
    temperature|top_p|max_tokens|completion_tokens|stream|version|deprecated|image|audio|\
    grammar|connection|upstream|memory";

/// Errors in the template of a chat, which makes a prompt of a request.
const TEMPLATE: &str = "template|jinja|raise_exception|not callable|not subscriptable|cannot subscript|\
    undefined value|is undefined|unknown filter|unknown method| at row ";

/// Returns whether a refusal is an error in the template of a chat.
pub fn is_of_template(words: &str) -> bool {
    has_any(&words.to_lowercase(), TEMPLATE)
}

/// Causes that are neither the words of the request nor its media.
const CAUSES: &str = "api key|api_key|apikey|unauthor|authenticat|credential|permission|access denied|\
    forbidden|signature|invalid token|country|region|territory|api version|api-version|\
    arrear|overdue|payment|good standing|suspended|subscri|free tier|model_not|model not|\
    no such model|unknown model|not found|not exist|deployment|decommission|deprecated|\
    overload|capacity|loading|busy|unavailable|timeout|timed out|try again|retry|connection|\
    upstream|memory|cuda|unexpected eof|broken pipe|bad response status|budget|organization|\
    location|valid model|no available channel|access to the model|on-demand|coding agents|繁忙|重试|再试|过载|限流";

/// Causes that stand in other members than the messages.
const MEMBERS: &str = "tool|function|schema|grammar|failed_generation|strict|temperature|top_p|top_k|\
    max_tokens|max_completion_tokens|stream|logprob|logit|penalty|effort|response_format|\
    unsupported parameter|unknown parameter|unrecognized request|unsupported value|parameter";

fn has_clear_cause(status: u16, said: &Said) -> bool {
    let may_be = status == 500 || (400..500).contains(&status);
    let is_clear = matches!(status, 401 | 402 | 404 | 405 | 407..=409 | 425 | 429);
    let is_of_messages = said.has("messages[|messages.|messages,|content");
    !may_be
        || is_clear
        || said.has(RATES)
        || said.has(CAUSES)
        || !is_of_messages && said.has(MEMBERS)
}

fn is_too_long(status: u16, said: &Said) -> bool {
    if matches!(status, 401..=405 | 407..=408) {
        return false;
    }
    if said.has(RATES) || status == 429 {
        // A limit a minute that the request alone is above never lets it pass.
        let [limit, requested] = ["limit", "requested"].map(|words| number_after(said, words));
        let is_alone =
            said.has("too large|must be reduced|reduce your message") && !said.has("used ");
        return is_alone
            && requested
                .zip(limit)
                .is_some_and(|(asked, most)| asked > most);
    }
    if said.has("deadline|too long to|header|cookie") {
        return false;
    }
    if said.has(OUTPUT) && !counts_the_input(said) {
        return false;
    }
    if said.has("string too long|string_too_long|string_above_max_length|array too long|maxlength")
    {
        return is_of_the_prompt(said);
    }
    said.is_coded(&["1261", "1039", "10907", "336007"])
        || said.has(LENGTHS) && !is_of_media(said)
        || said.sentences().any(is_too_much)
}

fn is_of_media(said: &Said) -> bool {
    said.has("image|picture|audio|video|pdf|attachment|media")
        && !said.has("context|prompt is too long|token")
}

/// Most parts of a sentence that are looked at by themselves.
const PARTS_MAX: usize = 8;

/// Returns true if a sentence says that the prompt is too long: all of it, or a part about the
/// prompt behind the name of the thing that failed.
fn is_too_much(sentence: &str) -> bool {
    let subjects = ["prompt", "input", "context"];
    let parts = sentence.split(": ").skip(1).take(PARTS_MAX);
    let mut parts = parts.filter(|part| subjects.iter().any(|subject| part.starts_with(subject)));
    says_too_much(sentence) || parts.any(says_too_much)
}

fn says_too_much(sentence: &str) -> bool {
    let has = |words| has_any(sentence, words);
    let is_large = || numbers(sentence).filter(|number| *number >= 256).count() >= 2;
    has(PROMPT) && has(SIZE) && !has(OTHER_PARTS) && (has(TOO_MUCH) || is_large())
}

/// Returns whether words about the answer's length count the prompt, too, so that a shorter one may
/// pass.
fn counts_the_input(said: &Said) -> bool {
    let context = number_after(
        said,
        "context length is|context length of|context window of",
    );
    if said.has("is too large|too large:") {
        let asked = number_after(said, "too large");
        return asked.zip(context).is_some_and(|(asked, most)| asked < most);
    }
    said.has("inputs tokens|input tokens|prompt|input length|messages|context")
        && !said.has("range of max|range is|valid range|supports at most|between")
}

/// Returns whether the member that is named as too long holds the prompt.
fn is_of_the_prompt(said: &Said) -> bool {
    said.has("messages|invalid input|prompt|.content")
        && !said.has(".name|tool|function|user:|metadata|image|_key|identifier")
}

/// The first number after one of these words.
fn number_after(said: &Said, words: &str) -> Option<u64> {
    words.split('|').find_map(|word| {
        let at = said.all.find(word)? + word.len();
        numbers(&said.all[at..]).next()
    })
}

/// The numbers of a text; `128,000` is one.
fn numbers(text: &str) -> impl Iterator<Item = u64> + '_ {
    let is_in = |c: char| c.is_ascii_digit() || matches!(c, ',' | '_');
    text.split(move |c| !is_in(c)).filter_map(|part| {
        let digits: String = part.chars().filter(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

/// The media that are refused, if it is them. A refusal that names their kind is about them,
/// unless it says another cause.
fn medium(status: u16, said: &Said) -> Option<Medium> {
    const IMAGE: &str = "image|vision|picture|photo";
    const AUDIO: &str = "audio|sound|speech";
    const ANY: &str = "multimodal|multi-modal|multi modal|mmproj|media type|mime|media_type";
    const NONE: &str = "unknown variant|not support|unsupported content|only support|\
        supported only|text only|text-only|not a multimodal|not multimodal|\
        no endpoints found|not enabled|at most 0|missing data required|does not have|\
        cannot process|can only|does not accept|not accept|not allowed|not permitted|\
        unknown content|invalid content type|unexpected content|not available|no vision|\
        not capable|mmproj|expected text|must be a string|no attribute|extra inputs|不支持";
    const THIS: &str = "invalid|could not|couldnt|cannot|unable|exceed|too large|too small|too big|too many|\
        failed|format|decode|corrupt|represent|unsupported|not valid|maximum|at most|\
        refused|unsafe|inappropriate|flagged|download";
    if matches!(status, 401 | 402 | 407 | 408 | 429) || said.has(RATES) {
        return None;
    }
    // A server that reads text alone says so of the content that text and media stand in.
    let is_text_alone = said.has("content")
        && said.has("expected a string|expected string|valid string|be a string|not a string");
    let kind = match (said.has(IMAGE), said.has(AUDIO)) {
        (true, false) => Some("image"),
        (false, true) => Some("audio"),
        _ => None,
    };
    let is_named = kind.is_some() || said.has(IMAGE) || said.has(ANY);
    if !is_named && !is_text_alone {
        return None;
    }
    // The kinds of pictures that are taken say of one that it is of another.
    let is_format =
        said.has("format|mime|media type|media_type") && !said.has("unknown variant|multimodal");
    let is_all = is_text_alone || said.has(NONE) && !is_format;
    let is_it = is_all || said.has(THIS) || !has_clear_cause(status, said);
    is_it.then_some(Medium { kind, is_all })
}

fn is_filtered(status: u16, said: &Said) -> bool {
    const FILTERED: &str = "content_filter|content filter|contentfilter|content management policy|\
        content_policy|content policy|usage polic|responsible ai|responsibleai|\
        data_inspection|datainspection|inappropriate content|content exists risk|content risk|sensitive|\
        moderation|flagged|safety|prohibited_content|prohibited content|blocklist|\
        blockreason|block_reason|prompt was blocked|prompt is blocked|high risk|\
        high_risk|harmful|unsafe|guardrail|violates|violating|policy violation|illegal|censor|\
        blocked by|is blocked|was blocked|content blocked|敏感|违规|违法|不合规|不安全|风险";
    const NOT: &str = "unavailable|please retry|api key|api_key|safety_identifier|safety_settings|safety settings|case-sensitive|\
        case sensitive|insensitive|firewall|waf ";
    if status == 429 {
        return said.has("content_policy_violation|safety system|content management policy");
    }
    if matches!(status, 401 | 402 | 404 | 407 | 408) {
        return false;
    }
    status == 451
        || said.is_coded(&["1301", "1026", "1027", "invalid_prompt"])
        || said.has("content violates|violates usage|safety_check_type")
        || said.has(FILTERED) && !said.has(NOT)
}

#[cfg(test)]
mod tests;
