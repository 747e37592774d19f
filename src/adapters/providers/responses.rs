//! OpenAI's Responses (MODEL-2), with nothing kept at the server: every request holds the whole conversation, and what
//! a model thought between its calls goes back sealed.
//!
//! Refuses: retries (the runtime's), redirects, a key in any text, the server's own tools and memory.

mod decode;
mod input;
mod request;
mod strict;

use reqwest::header::{AUTHORIZATION, HeaderMap};

use crate::domain::model::{ModelError, ModelReply, ModelRequest};
use crate::domain::secret::Secret;
use crate::ports::model::DeltaSink;

use super::address::Address;
use super::http::{Http, Post};
use super::keys;
use decode::Response;

pub use request::build;

const PATH: &str = "/responses";

/// Asks and reads the whole answer.
///
/// # Errors
/// Every way in which no whole answer arrived.
pub async fn call(
    http: &Http,
    request: &ModelRequest,
    key: Option<&Secret>,
    sink: &dyn DeltaSink,
) -> Result<ModelReply, ModelError> {
    let address = Address::parse(&request.choice.base_url, &[PATH])?;
    let body = build(request).to_string();
    let prompt_bytes = body.len();
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        headers.insert(AUTHORIZATION, keys::bearer(key)?);
    }
    let url = format!("{}{PATH}", address.base);
    let answer: Response = http.ask(&address, Post { url, headers, body }, sink).await?;
    answer.into_reply(prompt_bytes, request.messages.len())
}
