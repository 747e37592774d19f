//! OpenAI-compatible chat completions at any base URL: strict in what is sent, lenient in what comes.
//!
//! How much of async-openai is used, and why not more: its types make the request and its config the URL and
//! headers. Its streams, also those with types of one's own (`byot`), are not used: they hide status and content type
//! (a page, a JSON error or a whole completion with status 200 give silence), retry by themselves, and pass every event
//! through a task and a channel, a wake-up per token. Here the body is read with the same reqwest, one wake-up per
//! network read.

mod decode;
mod request;

use async_openai::config::{Config, OpenAIConfig};
use reqwest::header::{AUTHORIZATION, HeaderMap};

use synthdev_domain::model::{ModelChoice, ModelError, ModelReply, ModelRequest};
use synthdev_domain::secret::SecretText;
use synthdev_ports::model::DeltaSink;

use super::address::ProviderAddress;
use super::api_keys;
use super::attached_images::AttachedImages;
use super::transport::{ProviderPostRequest, ProviderTransport};
use decode::ChatCompletionDecoder;

pub use request::build_request;
use request::build_with_images;

const PATH: &str = "/chat/completions";

/// Sends the request and reads the whole reply.
///
/// # Errors
/// The reply did not arrive whole.
pub async fn call_model(
    http: &ProviderTransport,
    request: &ModelRequest,
    images: &AttachedImages,
    key: Option<&SecretText>,
    sink: &dyn DeltaSink,
) -> Result<ModelReply, ModelError> {
    let address = server_address(&request.choice)?;
    let body = build_with_images(request, images)?;
    let (url, headers) = (client_config(&address).url(PATH), request_headers(&address, key)?);
    let post = ProviderPostRequest::new(url, headers, request, body);
    http.ask_model::<ChatCompletionDecoder>(&address, post, sink).await
}

/// Where the server of a choice is.
///
/// # Errors
/// The base URL is invalid.
pub fn server_address(choice: &ModelChoice) -> Result<ProviderAddress, ModelError> {
    ProviderAddress::parse(&choice.base_url, &[PATH])
}

/// Organisation and project are set empty: async-openai would read them from the environment.
fn client_config(address: &ProviderAddress) -> OpenAIConfig {
    OpenAIConfig::new().with_org_id("").with_project_id("").with_api_base(&address.base)
}

/// # Errors
/// The key contains characters that are not allowed in a header.
pub fn request_headers(address: &ProviderAddress, key: Option<&SecretText>) -> Result<HeaderMap, ModelError> {
    let config = client_config(address);
    let Some(key) = key else {
        let mut headers = config.with_api_key("").headers();
        headers.remove(AUTHORIZATION);
        return Ok(headers);
    };
    // Asked first, because the config would panic.
    api_keys::key_header(key)?;
    let mut headers = config.with_api_key(key.expose_secret().trim()).headers();
    if let Some(value) = headers.get_mut(AUTHORIZATION) {
        value.set_sensitive(true);
    }
    Ok(headers)
}
