//! OpenAI's Responses, with nothing stored at the server: every request holds the whole conversation, and the opaque
//! reasoning blocks of the model's calls are sent back with them.
//!
//! Refuses: retries (the runtime's), redirects, a key in any text, the server's own tools and memory.

mod decode;
mod input;
mod request;
mod server_quirks;

use reqwest::header::{AUTHORIZATION, HeaderMap};

use synthdev_domain::model::{ModelError, ModelReply, ModelRequest};
use synthdev_domain::secret::SecretText;
use synthdev_ports::model::DeltaSink;

use super::address::ProviderAddress;
use super::api_keys;
use super::attached_images::AttachedImages;
use super::transport::{ProviderPostRequest, ProviderTransport};
use decode::ResponsesDecoder;
use request::build_within;

pub use request::build_request;
pub use server_quirks::ServerQuirks;

const PATH: &str = "/responses";

/// Asks and reads the whole reply; asks again at once where the server refuses only what is good to have.
///
/// # Errors
/// Every way in which no whole reply arrived.
pub async fn call_with_quirks(
    http: &ProviderTransport,
    learnt: &ServerQuirks,
    request: &ModelRequest,
    images: &AttachedImages,
    key: Option<&SecretText>,
    sink: &dyn DeltaSink,
) -> Result<ModelReply, ModelError> {
    let address = ProviderAddress::parse(&request.choice.base_url, &[PATH])?;
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        headers.insert(AUTHORIZATION, api_keys::bearer_header(key)?);
    }
    let mut unsupported = learnt.unsupported_by(&request.choice);
    loop {
        let body = build_within(request, unsupported, images);
        let url = format!("{}{PATH}", address.base);
        let post = ProviderPostRequest::new(url, headers.clone(), request, body);
        let error = match http.ask_model::<ResponsesDecoder>(&address, post, sink).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        // The loop ends: each refused feature is left out once.
        unsupported = learnt.learn_from_error(&request.choice, unsupported, &error).ok_or(error)?;
    }
}
