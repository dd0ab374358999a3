//! The words of providers, each with its meaning.
//! Long because it is a table: a row for each provider that was seen.

use super::*;

fn read(status: u16, code: &str, message: &str) -> Meaning {
    meaning(StatusCode::from_u16(status).unwrap(), code, message)
}

fn all(cases: &[(u16, &str, &str)], is_it: impl Fn(Meaning) -> bool) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(status, code, message)| (status, message, read(*status, code, message)))
        .filter(|(.., meaning)| !is_it(*meaning))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_request_that_is_too_long_is_known_by_the_words_of_its_provider() {
    all(
        &[
            (
                400,
                "400",
                "The decoder prompt (length 13543) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.",
            ),
            (
                400,
                "Client specified an invalid argument",
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            ),
            (
                400,
                "invalid_parameter_error",
                "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
            ),
            (400, "1261", "Prompt exceeds max length"),
            (
                500,
                "",
                "Encountered an error in forwardAsync function: Prompt length (9000) exceeds maximum input length (4096).",
            ),
            (
                500,
                "",
                "Encountered an error when fetching new request: Prompt length (200) exceeds maximum input length (1)",
            ),
            (
                400,
                "model_max_prompt_tokens_exceeded",
                "prompt token count of 128500 exceeds the limit of 128000",
            ),
            (
                500,
                "server_error",
                "the request exceeds the available context size. try increasing the context size or enable context shift",
            ),
            (
                400,
                "exceed_context_size_error",
                "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
            ),
            (
                200,
                "context_length_exceeded",
                "This model's maximum context length is 4096 tokens.",
            ),
            (
                400,
                "InvalidParameter",
                "Input length 140000 exceeds the maximum length 131072",
            ),
            (
                400,
                "context_length_exceeded",
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens (8000 in the messages, 1000 in the functions). Please reduce the length of the messages or functions.",
            ),
            (
                400,
                "",
                "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
            ),
            (
                400,
                "",
                "'max_tokens' or 'max_completion_tokens' is too large: 1024. This model's maximum context length is 8192 tokens and your request has 7900 input tokens (1024 > 8192 - 7900).",
            ),
            (
                400,
                "",
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
            ),
            (
                400,
                "invalid_request_error",
                "prompt is too long: 208310 tokens > 200000 maximum",
            ),
            (
                400,
                "",
                "input length and `max_tokens` exceed context limit: 199211 + 20000 > 200000, decrease input length or `max_tokens` and try again",
            ),
            (
                422,
                "validation",
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`",
            ),
            (
                422,
                "",
                "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
            ),
            (400, "", "Input is too long for requested model."),
            (
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            ),
            (
                400,
                "",
                "Invalid request: Your request exceeded model token limit: 8192",
            ),
            (
                400,
                "",
                "invalid params, context window exceeds limit (2013)",
            ),
            (
                400,
                "3051",
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            ),
            (
                400,
                "",
                "too many tokens: total number of tokens in the prompt cannot exceed 4081 — received 5000. Try using a shorter prompt",
            ),
            (
                400,
                "",
                "The prompt is too long: 140000, model maximum context length: 131071",
            ),
            (
                400,
                "",
                "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
            ),
            (
                500,
                "",
                "input is too large to process. increase the physical batch size",
            ),
            (
                400,
                "",
                "Prompt length (9000) exceeds maximum input length (8192).",
            ),
            (
                400,
                "",
                "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            ),
            (
                400,
                "",
                "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens: 8900 tokens from the input messages and 100 tokens for the completion.",
            ),
            (
                400,
                "",
                "The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8000).",
            ),
            (
                400,
                "",
                "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model",
            ),
            (400, "", "Prompt tokens too long"),
            (
                400,
                "",
                "The prompt has 537,812 tokens; this model takes prompts of up to 131,072 tokens",
            ),
            (400, "", "输入长度超过最大限制 8192"),
            (
                400,
                "",
                "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 2000000 instead.",
            ),
            (
                413,
                "tokens_limit_reached",
                "Request body too large for gpt-4o model. Max size: 8000 tokens.",
            ),
            (
                413,
                "",
                "<html><h1>413 Request Entity Too Large</h1></html>",
            ),
            (
                413,
                "rate_limit_exceeded",
                "Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Requested 8000, please reduce your message size and try again.",
            ),
            (400, "", "Context size has been exceeded."),
            (
                400,
                "string_above_max_length",
                "Invalid 'input': string too long",
            ),
        ],
        |meaning| meaning == Meaning::TooLong,
    );
}

#[test]
fn words_about_another_length_are_not_taken_for_the_prompts() {
    all(
        &[
            (
                400,
                "",
                "max_tokens is too large: 32768. This model supports at most 16384 completion tokens, whereas you provided 32768.",
            ),
            (
                400,
                "",
                "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 500 input tokens (8192 > 8192 - 500).",
            ),
            (400, "", "Range of max_tokens should be [1, 8192]"),
            (
                400,
                "",
                "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            ),
            (
                400,
                "",
                "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
            ),
            (
                400,
                "",
                "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 7340032 bytes > 5242880 bytes",
            ),
            (400, "", "The image is too large"),
            (
                413,
                "",
                "image too large: the maximum size of an input image is 20971520 bytes",
            ),
            (
                429,
                "rate_limit_exceeded",
                "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.",
            ),
            (429, "", "Too many tokens, please wait before trying again."),
            (
                429,
                "insufficient_quota",
                "You exceeded your current quota, please check your plan and billing details.",
            ),
            (
                429,
                "",
                "Too many requests: the maximum request size per minute is exceeded",
            ),
            (
                402,
                "",
                "This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 3000.",
            ),
            (
                400,
                "",
                "You have exceeded your monthly token limit of 1000000 tokens for input",
            ),
            (
                400,
                "string_above_max_length",
                "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.",
            ),
            (
                400,
                "",
                "Invalid 'tools[3].function.description': string too long. Expected a string with maximum length 1024",
            ),
            (
                400,
                "",
                "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 163 instead.",
            ),
            (
                400,
                "",
                "Invalid 'user': string too long. Expected a string with maximum length 64",
            ),
            (
                400,
                "",
                "Invalid 'stop': array too long. Expected an array with maximum length 4 for the request",
            ),
            (500, "", "context deadline exceeded"),
            (500, "", "The request took too long to process"),
            (
                504,
                "",
                "upstream request timeout: the request took too long",
            ),
            (400, "", "Request Header Or Cookie Too Large"),
            (401, "", "Your token exceeds its maximum length"),
            (
                503,
                "",
                "The request queue is too long, its limit of 512 is exceeded",
            ),
            (
                400,
                "",
                "Invalid value for 'temperature': 3 is greater than the maximum of 2",
            ),
            (
                400,
                "",
                "The tool call id in the message exceeds the maximum length of 40 characters",
            ),
            (404, "", "The model `gpt-4o-long-context` does not exist"),
            (
                400,
                "",
                "This model's maximum output length is 4096 tokens, but you requested 8000",
            ),
            (
                400,
                "string_above_max_length",
                "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64",
            ),
            (
                422,
                "",
                r#"[{"loc":["body","user"],"msg":"String should have at most 64 characters","type":"string_too_long","input":"x"}]"#,
            ),
            (500, "", "context canceled"),
            (400, "", "Too many tools: at most 128 tools per request"),
        ],
        |meaning| meaning != Meaning::TooLong,
    );
}

#[test]
fn a_refusal_without_words_may_be_about_the_length_and_one_with_a_cause_is_not() {
    all(
        &[
            (400, "", "(nothing)"),
            (400, "bad_request", "Bad Request"),
            (413, "", ""),
            (422, "", "Unprocessable Entity"),
            (500, "server_error", "Internal Server Error"),
            (500, "", "CUDA out of memory. Tried to allocate 2.00 GiB"),
            (400, "invalid_request_error", "Provider returned error"),
        ],
        |meaning| meaning == Meaning::Unsaid,
    );
    all(
        &[
            (400, "", "Unsupported parameter: 'temperature'"),
            (400, "", "Incorrect API key provided"),
            (
                400,
                "tool_use_failed",
                "Failed to call a function. Please adjust your prompt.",
            ),
            (400, "", "tools[4].function.parameters: invalid schema"),
            (503, "", "Service Unavailable"),
            (500, "", "The model is overloaded"),
            (401, "", ""),
            (404, "", "Not Found"),
        ],
        |meaning| meaning == Meaning::Other,
    );
}

#[test]
fn media_are_refused_as_a_kind_or_each() {
    let none = |meaning| matches!(meaning, Meaning::Media(Medium { is_all: true, .. }));
    all(
        &[
            (
                400,
                "invalid_request_error",
                "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 5029",
            ),
            (400, "", "This model does not support image input"),
            (404, "404", "No endpoints found that support image input"),
            (
                400,
                "",
                "Invalid content type. image_url is only supported by certain models.",
            ),
            (400, "", "Qwen/Qwen3-8B is not a multimodal model"),
            (400, "", "At most 0 image(s) may be provided in one prompt."),
            (
                500,
                "",
                "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
            ),
            (
                500,
                "",
                "this model is missing data required for image input",
            ),
            (400, "", "audio input is not supported by this model"),
            (
                422,
                "",
                "messages.1.content: invalid type: sequence, expected a string",
            ),
        ],
        none,
    );
    let this = |meaning| {
        matches!(
            meaning,
            Meaning::Media(Medium {
                is_all: false,
                kind: Some("image")
            })
        )
    };
    all(
        &[
            (
                400,
                "",
                "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
            ),
            (
                400,
                "invalid_image",
                "The image data you provided does not represent a valid image. Please check your input and try again.",
            ),
            (400, "", "Could not process image"),
            (
                400,
                "",
                "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 7340032 bytes > 5242880 bytes",
            ),
        ],
        this,
    );
    all(
        &[
            (400, "", "Bad Request"),
            (400, "", "This model does not support tools"),
        ],
        |meaning| !matches!(meaning, Meaning::Media(_)),
    );
}

#[test]
fn filtered_words_are_known_by_those_of_each_provider() {
    all(
        &[
            (
                400,
                "content_filter",
                "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
            ),
            (400, "", "Content Exists Risk"),
            (
                400,
                "data_inspection_failed",
                "Input data may contain inappropriate content.",
            ),
            (
                400,
                "1301",
                "系统检测到输入或生成内容可能包含不安全或敏感内容",
            ),
            (
                403,
                "403",
                "Your chosen model requires moderation and your input was flagged for \"violence\"",
            ),
            (
                400,
                "",
                "The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices.",
            ),
            (
                400,
                "SensitiveContentDetected",
                "The request failed because the input text may contain sensitive information.",
            ),
            (
                400,
                "content_filter",
                "The request was rejected because it was considered high risk",
            ),
            (
                400,
                "invalid_prompt",
                "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
            ),
        ],
        |meaning| meaning == Meaning::Filtered,
    );
    all(
        &[
            (400, "", "Unknown parameter: 'safety_identifier'"),
            (401, "", "blocked by the policy of this key"),
            (429, "", "flagged as abuse: rate limit"),
        ],
        |meaning| meaning != Meaning::Filtered,
    );
}

#[test]
fn a_refusal_that_names_no_known_cause_may_be_about_what_is_new() {
    all(
        &[
            (
                400,
                "",
                "We would rather not talk about this, please choose another topic",
            ),
            (400, "", "can only concatenate str (not \"list\") to str"),
            (
                400,
                "invalid_parameter_error",
                "The content field is a required field.",
            ),
            (
                500,
                "",
                "Jinja Exception: Cannot perform operation + on undefined values",
            ),
            (
                403,
                "",
                "Requests of this kind are against what we agreed on",
            ),
        ],
        |meaning| matches!(meaning, Meaning::Unclear | Meaning::Unsaid),
    );
    all(
        &[
            (
                403,
                "",
                "The caller does not have permission to execute the operation",
            ),
            (
                400,
                "Arrearage",
                "Access denied, please make sure your account is in good standing.",
            ),
            (
                400,
                "",
                "Unsupported parameter: 'logit_bias' is not supported with this model.",
            ),
            (404, "", "model 'stub' not found, try pulling it first"),
            (412, "", "Account x is suspended"),
        ],
        |meaning| meaning == Meaning::Other,
    );
    all(
        &[
            (
                400,
                "",
                "This model doesn't support the image content block",
            ),
            (400, "", "Image uploads are only supported on Sonar"),
            (
                500,
                "",
                "'NoneType' object has no attribute 'image_processor'",
            ),
            (
                400,
                "",
                "Input should be a valid string: input.messages.1.content",
            ),
            (400, "", "No pictures, please"),
        ],
        |meaning| matches!(meaning, Meaning::Media(_)),
    );
    all(
        &[
            (451, "", "blocked"),
            (400, "", "the content of the request is illegal"),
            (400, "", "输入内容不合规"),
            (400, "", "Sorry, your request was blocked by our policies"),
        ],
        |meaning| meaning == Meaning::Filtered,
    );
    assert!(is_worded("the content of the request is not for us"));
    assert!(!is_worded("Bad Request") && !is_worded("No. 1") && !is_worded("<p>a b c d</p>"));
}

#[test]
fn a_length_is_known_by_numbers_and_by_words_of_gateways() {
    for (status, code, words) in [
        (
            500,
            "",
            "Prompt length (9000) exceeds maximum input length (4096).",
        ),
        (200, "336007", "the max input characters is 24000"),
        (200, "1039", "token limit"),
        (200, "10907", "token exceeds limit"),
        (
            502,
            "",
            "Provider returned error: {\"error\":\"This model's maximum context length is 32768 tokens\"}",
        ),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let read = meaning(status, code, words);
        assert_eq!(read, Meaning::TooLong, "{words}");
    }
}
