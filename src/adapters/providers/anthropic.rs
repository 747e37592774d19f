//! Anthropic's messages, natively: uses what the protocol has and chat completions lack.
//!
//! The system text is separate, user and assistant take strict turns, the next turn begins with the result of
//! every tool use, opaque reasoning blocks are sent back unchanged, the prefix of the conversation is marked for the
//! cache, and the length limit of a reply is always set.
//!
//! Refuses: retries (the runtime's), redirects, a key in any text.

mod cache_marks;
mod conversation;
mod decode;
mod request;
mod thinking;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use synthdev_domain::model::{ModelChoice, ModelError, ModelReply, ModelRequest};
use synthdev_domain::secret::SecretText;
use synthdev_ports::model::DeltaSink;

use super::address::ProviderAddress;
use super::api_keys;
use super::attached_images::AttachedImages;
use super::transport::{ProviderPostRequest, ProviderTransport};
use decode::AnthropicReplyDecoder;

pub use request::build_request;
use request::build_with_images;

/// The version of the protocol, as its header names it.
const VERSION: &str = "2023-06-01";

/// Asks and reads the whole reply. A base URL may end in `/v1` or not: both are in use.
///
/// # Errors
/// Every way in which no whole reply arrived.
pub async fn call_model(
    http: &ProviderTransport,
    request: &ModelRequest,
    images: &AttachedImages,
    key: Option<&SecretText>,
    sink: &dyn DeltaSink,
) -> Result<ModelReply, ModelError> {
    let address = server_address(&request.choice)?;
    let body = build_with_images(request, images);
    let (url, headers) = (format!("{}/v1/messages", address.base), request_headers(key)?);
    let post = ProviderPostRequest::new(url, headers, request, body);
    http.ask_model::<AnthropicReplyDecoder>(&address, post, sink).await
}

/// Where the server of a choice is.
///
/// # Errors
/// The base URL is invalid.
pub fn server_address(choice: &ModelChoice) -> Result<ProviderAddress, ModelError> {
    ProviderAddress::parse(&choice.base_url, &["/messages", "/v1"])
}

/// # Errors
/// The key contains characters that are not allowed in a header.
pub fn request_headers(key: Option<&SecretText>) -> Result<HeaderMap, ModelError> {
    let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
    let mut headers = HeaderMap::from_iter([version]);
    if let Some(key) = key {
        headers.insert(HeaderName::from_static("x-api-key"), api_keys::key_header(key)?);
    }
    Ok(headers)
}
