//! What a server answered: read within a limit, freed of secrets, and put into the step's result.

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode, Url};
use serde_json::{Map, Value, json};

use super::super::tool_answer::ToolAnswer;
use super::super::truncated_output::shorten_text;
use super::client::innermost_cause;
use super::redaction::ResponseRedaction;
use super::request::display_url;

/// Headers that conditions may read; others are the server's own business, or secrets such as cookies.
const SAFE: [&str; 13] = [
    "content-type",
    "content-length",
    "content-language",
    "content-disposition",
    "location",
    "link",
    "etag",
    "last-modified",
    "date",
    "retry-after",
    "x-request-id",
    "x-total-count",
    "cache-control",
];

const SAFE_BEGINNINGS: [&str; 2] = ["x-ratelimit-", "ratelimit"];

pub(super) struct ReceivedResponse {
    status: StatusCode,
    headers: HeaderMap,
    url: Url,
    body: Vec<u8>,
    /// The body was longer than the limit.
    is_truncated: bool,
    /// Why a redirect was not followed.
    redirect_refusal: Option<String>,
}

/// # Errors
/// The connection broke.
pub(super) async fn read_response(
    mut response: Response,
    url: Url,
    stopped: Option<String>,
    most: usize,
) -> Result<ReceivedResponse, String> {
    let mut body = Vec::new();
    let mut cut = false;
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| format!("{}: {}", display_url(&url), innermost_cause(&error)))?
    {
        let room = most - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            cut = true;
            break;
        }
    }
    Ok(ReceivedResponse {
        status: response.status(),
        headers: response.headers().clone(),
        url,
        body,
        is_truncated: cut,
        redirect_refusal: stopped,
    })
}

impl ReceivedResponse {
    pub(super) fn into_answer(self, redaction: &ResponseRedaction, cap: usize, took: u64) -> ToolAnswer {
        let (body, notice) = self.read_body(redaction, cap);
        let text = match &body {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => format!("{other:#}"),
        };
        let data = json!({
            "status": self.status.as_u16(),
            "headers": self.safe_headers(redaction),
            "body": body,
            "url": redaction.redact_text(&display_url(&self.url)),
            "truncated": self.is_truncated,
            "timed_out": false,
            "duration_ms": took,
        });
        let reason = self.status.canonical_reason().unwrap_or_default();
        let line = format!("{} {reason}", self.status.as_u16()).trim_end().to_owned();
        let mut answer = ToolAnswer::success(&line);
        if !self.status.is_success() {
            let why = self.redirect_refusal.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            answer = answer.with_error(redaction.redact_text(&format!("status {line}{why}")));
        }
        answer = answer.with_fact("status", self.status.as_u16());
        if let Some(notice) = notice {
            answer = answer.with_fact("notice", notice);
        }
        answer.body(text).data(data)
    }

    fn safe_headers(&self, redaction: &ResponseRedaction) -> Map<String, Value> {
        let safe = |name: &str| SAFE.contains(&name) || SAFE_BEGINNINGS.iter().any(|b| name.starts_with(b));
        let names = self.headers.keys().filter(|name| safe(name.as_str()));
        let text = |name| {
            let values = self.headers.get_all(name).iter().map(|v| String::from_utf8_lossy(v.as_bytes()));
            redaction.redact_text(&values.collect::<Vec<_>>().join(", "))
        };
        names.map(|name| (name.as_str().to_owned(), text(name).into())).collect()
    }

    /// JSON where the server says so, else text; and what there is to say about it.
    fn read_body(&self, redaction: &ResponseRedaction, cap: usize) -> (Value, Option<String>) {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let says_json = kind == "application/json" || kind.ends_with("+json");
        if self.body.is_empty() {
            return (Value::Null, None);
        }
        let mut notice = None;
        if self.is_truncated {
            notice = Some(format!("only the first {} bytes of the body were read", self.body.len()));
        } else if says_json {
            match serde_json::from_slice(&self.body) {
                Ok(value) => return (redaction.clean_value(value), None),
                Err(error) => {
                    notice = Some(format!("the body is not the JSON that it claims to be: {error}"))
                }
            }
        }
        // a cut may go through a character
        let whole =
            std::str::from_utf8(&self.body).map_or_else(|e| e.valid_up_to() + 3 >= self.body.len(), |_| true);
        if !whole && !says_json && !kind.starts_with("text/") {
            return (Value::Null, Some(format!("the body is no text ({} bytes)", self.body.len())));
        }
        let mut text = redaction.redact_text(&String::from_utf8_lossy(&self.body));
        if self.is_truncated {
            // half a secret at the very end would not have been found
            text.truncate(text.floor_char_boundary(text.len().saturating_sub(redaction.longest_secret())));
        }
        text.retain(|c| c != '\0');
        (shorten_text(&text, cap).into(), notice)
    }
}
