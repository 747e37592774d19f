//! What the protocol wants of a request's headers, and whether they agree with the message.

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, GetMeta, JsonRpcMessage, ProtocolVersion};
use serde_json::{Value, json};

use super::super::transport::{INVALID_REQUEST, error_response};

pub(super) const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// Whether a client takes both a message and a stream of them, as it must.
pub(super) fn accepts_types(headers: &HeaderMap, kinds: &[&str]) -> bool {
    let accepted: Vec<String> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        .collect();
    let takes = |kind: &str| {
        let group = kind.split('/').next().unwrap_or_default();
        accepted.iter().any(|one| one == kind || one == "*/*" || one.strip_suffix("/*") == Some(group))
    };
    kinds.iter().all(|kind| takes(kind))
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = header_text(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON))
}

pub(super) fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// How a message wants to be taken: in a session, or on its own, as newer clients do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SessionMode {
    Session,
    Alone,
}

/// # Errors
/// The answer to a request whose headers say something else than its message.
pub(super) fn session_mode(
    headers: &HeaderMap,
    message: Option<&ClientJsonRpcMessage>,
) -> Result<SessionMode, Value> {
    let header = match headers.get(VERSION) {
        Some(value) => {
            Some(value.to_str().map_err(|_| header_mismatch_error(message, "the version is no text"))?)
        }
        None => None,
    };
    let request = match message {
        Some(JsonRpcMessage::Request(request)) => Some(&request.request),
        _ => None,
    };
    if let Some(ClientRequest::InitializeRequest(initialize)) = request {
        let wanted = initialize.params.protocol_version.as_str();
        if header.is_some_and(|header| header != wanted) {
            return Err(invalid_request_error(
                message,
                "the header MCP-Protocol-Version and protocolVersion differ",
            ));
        }
        return Ok(SessionMode::Session);
    }
    let inline = request.and_then(|request| request.get_meta().protocol_version());
    if let Some(inline) = inline {
        if header != Some(inline.as_str()) {
            return Err(header_mismatch_error(
                message,
                "MCP-Protocol-Version and the protocolVersion of _meta differ",
            ));
        }
        check_repeated_headers(headers, message)?;
        return Ok(SessionMode::Alone);
    }
    let Some(header) = header else { return Ok(SessionMode::Session) };
    if !ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == header) {
        return Err(invalid_request_error(message, "this version of the protocol is not supported"));
    }
    if header < ProtocolVersion::V_2026_07_28.as_str() {
        return Ok(SessionMode::Session);
    }
    check_repeated_headers(headers, message)?;
    Ok(SessionMode::Alone)
}

/// The headers that newer clients repeat a request's method and name in.
fn check_repeated_headers(headers: &HeaderMap, message: Option<&ClientJsonRpcMessage>) -> Result<(), Value> {
    let Some(JsonRpcMessage::Request(request)) = message else { return Ok(()) };
    let Ok(said) = serde_json::to_value(&request.request) else { return Ok(()) };
    let only = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let first = values.next().and_then(|value| value.to_str().ok());
        if values.next().is_some() { None } else { first }
    };
    if only(METHOD) != said["method"].as_str() {
        return Err(header_mismatch_error(message, "the header Mcp-Method is not the method of the message"));
    }
    let name = match said["method"].as_str() {
        Some("tools/call" | "prompts/get") => &said["params"]["name"],
        Some("resources/read") => &said["params"]["uri"],
        _ => return Ok(()),
    };
    // what is written in base64 holds characters that none of our names has: the message is what counts
    let given = only(NAME);
    if given.is_some_and(|given| given.starts_with("=?base64?")) || given == name.as_str() {
        return Ok(());
    }
    Err(header_mismatch_error(message, "the header Mcp-Name is not the name in the message"))
}

fn header_mismatch_error(message: Option<&ClientJsonRpcMessage>, why: &str) -> Value {
    error_response(message_id(message), ErrorCode::HEADER_MISMATCH.0, &format!("Header mismatch: {why}"))
}

fn invalid_request_error(message: Option<&ClientJsonRpcMessage>, why: &str) -> Value {
    error_response(message_id(message), INVALID_REQUEST, &format!("Invalid request: {why}"))
}

fn message_id(message: Option<&ClientJsonRpcMessage>) -> Value {
    match message {
        Some(JsonRpcMessage::Request(request)) => json!(request.id),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(rows: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        rows.iter().map(pair).collect()
    }

    #[test]
    fn kinds_that_a_client_takes() {
        for (accept, expected) in [
            ("application/json, text/event-stream", true),
            ("TEXT/event-stream;q=0.5,application/*", true),
            ("*/*", true),
            ("application/json", false),
            ("text/event-stream", false),
            ("", false),
        ] {
            assert_eq!(accepts_types(&headers(&[("accept", accept)]), &[JSON, EVENTS]), expected, "{accept}");
        }
    }

    #[test]
    fn headers_say_what_the_message_says() {
        let new = "2026-07-28";
        let alone = json!({"io.modelcontextprotocol/protocolVersion": new});
        let call = json!({"name": "quick", "_meta": alone});
        let method = ("mcp-method", "tools/call");
        let version = ("mcp-protocol-version", new);
        for (sent, said, expected) in [
            (vec![], json!({"method": "tools/list"}), Ok(SessionMode::Session)),
            (
                vec![("mcp-protocol-version", "2025-06-18")],
                json!({"method": "ping"}),
                Ok(SessionMode::Session),
            ),
            (vec![("mcp-protocol-version", "1999-01-01")], json!({"method": "ping"}), Err(-32600)),
            (vec![version], json!({"method": "ping"}), Err(-32020)),
            (vec![version, ("mcp-method", "ping")], json!({"method": "ping"}), Ok(SessionMode::Alone)),
            (vec![], json!({"method": "tools/call", "params": call}), Err(-32020)),
            (vec![version], json!({"method": "tools/call", "params": call}), Err(-32020)),
            (vec![version, method], json!({"method": "tools/call", "params": call}), Err(-32020)),
            (
                vec![version, method, ("mcp-name", "slow")],
                json!({"method": "tools/call", "params": call}),
                Err(-32020),
            ),
            (
                vec![version, method, ("mcp-name", "quick")],
                json!({"method": "tools/call", "params": call}),
                Ok(SessionMode::Alone),
            ),
        ] {
            let mut said = said;
            said["jsonrpc"] = json!("2.0");
            said["id"] = json!(1);
            let message: ClientJsonRpcMessage = serde_json::from_value(said.clone()).unwrap();
            let found = session_mode(&headers(&sent), Some(&message));
            let found = found.map_err(|answer| answer["error"]["code"].as_i64().unwrap());
            assert_eq!(found, expected, "{sent:?} {said}");
        }
    }
}
