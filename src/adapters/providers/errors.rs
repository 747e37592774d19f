//! Maps any error of a server, a proxy or the network to one `ModelError` with one clear line.
//!
//! Error bodies come as OpenAI's object, as bare objects, arrays, plain strings, `{"detail"}`, HTML or nothing.
//! Refuses: showing a whole page, control characters, or a key.

use std::error::Error as _;
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, LOCATION};
use serde_json::Value;

use synthdev_domain::model::ModelError;
use synthdev_domain::secret::{REDACTION_MARK, SecretText};

use super::retry_after::retry_after_ms;

/// Characters of a foreign text that are shown.
const SHOWN: usize = 200;
/// A shorter key cannot be distinguished from ordinary words.
const SCRUBBED: usize = 4;

const TOO_LONG: [&str; 11] = [
    "context_length",
    "context length",
    "context window",
    "context size",
    "context limit",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "input token count",
    "reduce the length",
];
const REFUSED: [&str; 5] = [
    "content_filter",
    "content filter",
    "content management policy",
    "responsibleaipolicy",
    "content_policy_violation",
];
const NO_CREDIT: [&str; 4] = ["insufficient_quota", "insufficient credit", "insufficient balance", "billing"];
const RATE: [&str; 4] = ["rate_limit", "rate limit", "too many requests", "ratelimit"];
const OVERLOADED: [&str; 9] = [
    "overloaded",
    "server_error",
    "api_error",
    "internal server",
    "internalservererror",
    "internal_error",
    "unavailable",
    "capacity",
    "timed out",
];
const AUTH: [&str; 4] = ["invalid_api_key", "authentication", "unauthorized", "invalid api key"];
/// The key is valid but lacks the permission.
const NOT_ALLOWED: &str = "permission_error";
/// Part of the message for an account without money, for a server whose status does not say so.
const EMPTY_ACCOUNT: &str = "credit balance is too low";

/// A response with a status other than 2xx. `now` is only used for dates in `Retry-After`.
pub fn from_status(
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    server_label: &str,
    now: SystemTime,
) -> ModelError {
    let words = String::from_utf8_lossy(&body[..body.len().min(4096)]).to_lowercase();
    let text = body_line(body);
    let target = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let detail = match target {
        Some(target) if (300..400).contains(&status) => {
            format!(
                "{server_label} answered {status} and points to {}; set that as the base URL",
                short_line(target)
            )
        }
        _ if text.is_empty() => format!("{server_label} answered {status} without a word"),
        _ if no_credit(status, &words) => format!(
            "{server_label} says that the account has no credit left; add some there, or set another provider for \
             the level ({status}: {text})"
        ),
        _ if unknown_model(status, &words) => {
            format!("{server_label} has no such model; set another one for the level ({status}: {text})")
        }
        _ if status == 403 => format!("{server_label} does not allow this ({status}: {text})"),
        _ => format!("{server_label} answered {status}: {text}"),
    };
    classify_error(Some(status), &words, retry_after_ms(headers, now), detail)
}

/// An error object inside a response whose status was 200.
pub fn from_error_object(value: &Value, server_label: &str) -> ModelError {
    let inner = value.get("error").filter(|inner| inner.is_object()).unwrap_or(value);
    let status = ["code", "status", "status_code"].iter().find_map(|key| match inner.get(key)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    });
    let status = status.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
    let detail = format!("{server_label} broke the answer off: {}", message_text(value));
    classify_error(status, &value.to_string().to_lowercase(), None, detail)
}

/// A failure below HTTP: connecting, reading or sending failed. `had`: what had arrived of the reply, for the text.
pub fn from_transport_error(
    error: reqwest::Error,
    server_label: &str,
    connect: Duration,
    had: &str,
) -> ModelError {
    let error = error.without_url();
    let mut cause = error.to_string();
    let mut next = error.source();
    while let Some(inner) = next {
        cause = inner.to_string();
        next = inner.source();
    }
    let cause = short_line(&cause);
    let detail = if error.is_connect() && error.is_timeout() {
        format!("no connection to {server_label} within {}", seconds_text(connect))
    } else if error.is_connect() {
        format!("cannot connect to {server_label}: {cause}")
    } else {
        format!("the connection to {server_label} broke{had}: {cause}")
    };
    ModelError::Transport { detail }
}

/// Nothing arrived for longer than the limit.
pub fn idle_timeout_error(server_label: &str, idle: Duration, had: &str) -> ModelError {
    ModelError::IdleTimeout { detail: format!("{server_label} sent nothing for {}{had}", seconds_text(idle)) }
}

/// The call as a whole took longer than it may.
pub fn call_timeout_error(server_label: &str, limit: Duration, had: &str) -> ModelError {
    let detail =
        format!("{server_label} was not finished within {}: the call was stopped{had}", seconds_text(limit));
    ModelError::CallTimeout { detail }
}

/// A body as one line: the message in its JSON, the title of its page, or its first characters.
pub fn body_line(body: &[u8]) -> String {
    if let Ok(value) = serde_json::from_slice::<Value>(body) {
        return message_text(&value);
    }
    let text = String::from_utf8_lossy(body);
    let lower = text.to_ascii_lowercase();
    if let Some(start) = lower.find("<title") {
        let open = lower[start..].find('>').map_or(text.len(), |at| start + at + 1);
        let end = lower[open..].find("</title").map_or(text.len(), |at| open + at);
        return format!("a web page, \"{}\"", short_line(&text[open..end]));
    }
    short_line(&text)
}

/// At most `SHOWN` characters, spaces for every run of white space, no control characters.
pub fn short_line(text: &str) -> String {
    let mut line = String::new();
    let mut gap = false;
    for (count, c) in text.trim_start().chars().enumerate() {
        if c.is_whitespace() || c.is_control() {
            gap = true;
            continue;
        }
        if gap && !line.is_empty() {
            line.push(' ');
        }
        gap = false;
        if count >= SHOWN {
            line.push('…');
            break;
        }
        line.push(c);
    }
    line
}

/// The same error without the key, in case a server echoes it.
pub fn redact_key(mut error: ModelError, key: &SecretText) -> ModelError {
    let key = key.expose_secret().trim();
    if key.len() >= SCRUBBED {
        let detail = detail_mut(&mut error);
        if detail.contains(key) {
            *detail = detail.replace(key, REDACTION_MARK);
        }
    }
    error
}

fn detail_mut(error: &mut ModelError) -> &mut String {
    match error {
        ModelError::RateLimited { detail, .. }
        | ModelError::Overloaded { detail, .. }
        | ModelError::Transport { detail }
        | ModelError::IdleTimeout { detail }
        | ModelError::CallTimeout { detail }
        | ModelError::Auth { detail }
        | ModelError::Denied { detail }
        | ModelError::TooLong { detail }
        | ModelError::Refused { detail }
        | ModelError::Protocol { detail }
        | ModelError::Empty { detail }
        | ModelError::Repetition { detail }
        | ModelError::Delegated { detail, .. }
        | ModelError::Unfit { detail }
        | ModelError::Drift { detail } => detail,
    }
}

/// The class by status first, then by words; `words` in lower case.
fn classify_error(
    status: Option<u16>,
    words: &str,
    retry_after_ms: Option<u64>,
    detail: String,
) -> ModelError {
    let says = |list: &[&str]| list.iter().any(|word| words.contains(word));
    match status {
        Some(401) => ModelError::Auth { detail },
        Some(403) => ModelError::Denied { detail },
        // Asking again does not fill an empty account.
        Some(status) if no_credit(status, words) => ModelError::Denied { detail },
        Some(429) => ModelError::RateLimited { retry_after_ms, detail },
        Some(413) => ModelError::TooLong { detail },
        _ if says(&TOO_LONG) => ModelError::TooLong { detail },
        Some(408 | 409 | 425 | 500..=599) => ModelError::Overloaded { retry_after_ms, detail },
        _ if says(&REFUSED) => ModelError::Refused { detail },
        Some(_) => ModelError::Protocol { detail },
        None if says(&RATE) => ModelError::RateLimited { retry_after_ms, detail },
        None if says(&AUTH) => ModelError::Auth { detail },
        None if words.contains(NOT_ALLOWED) => ModelError::Denied { detail },
        None if says(&OVERLOADED) => ModelError::Overloaded { retry_after_ms, detail },
        None => ModelError::Protocol { detail },
    }
}

/// Whether a server refuses for lack of payment.
fn no_credit(status: u16, words: &str) -> bool {
    match status {
        402 => true,
        429 => NO_CREDIT.iter().any(|word| words.contains(word)),
        400 => words.contains(EMPTY_ACCOUNT),
        _ => false,
    }
}

/// Whether a server refuses because it does not know the model.
fn unknown_model(status: u16, words: &str) -> bool {
    let named = ["model_not_found", "model not found", "unknown model", "no such model"];
    let missing = words.contains("not_found_error") && words.contains("model:");
    matches!(status, 400 | 404) && (missing || named.iter().any(|word| words.contains(word)))
}

/// The sentence in an error value of any shape; the value itself where there is none.
fn message_text(value: &Value) -> String {
    sentence_of(value).map_or_else(|| short_line(&value.to_string()), |text| short_line(&text))
}

fn sentence_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(items) => items.iter().find_map(sentence_of),
        Value::Object(members) => {
            ["error", "message", "detail", "msg", "errors", "error_description", "title", "type", "code"]
                .iter()
                .find_map(|key| sentence_of(members.get(*key)?))
        }
        _ => None,
    }
}

fn seconds_text(span: Duration) -> String {
    format!("{} s", span.as_secs_f64())
}

#[cfg(test)]
#[path = "errors/tests.rs"]
mod tests;
