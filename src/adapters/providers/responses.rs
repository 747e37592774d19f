//! OpenAI's Responses (MODEL-2), with nothing kept at the server: every request holds the whole conversation, and what
//! a model thought between its calls goes back sealed.
//!
//! Refuses: retries (the runtime's), redirects, a key in any text, the server's own tools and memory.

mod decode;
mod input;
mod limits;
mod request;
mod strict;

use reqwest::header::{AUTHORIZATION, HeaderMap};

use crate::domain::model::{ModelError, ModelReply, ModelRequest};
use crate::domain::secret::Secret;
use crate::ports::model::DeltaSink;

use super::address::Address;
use super::http::{Http, Post, longest_answer};
use super::keys;
use decode::Response;
use request::build_within;

pub use limits::Learnt;
pub use request::build;

const PATH: &str = "/responses";

/// Asks and reads the whole answer; asks again at once where the server refuses only what is good to have.
///
/// # Errors
/// Every way in which no whole answer arrived.
pub async fn call(
    (http, learnt): (&Http, &Learnt),
    request: &ModelRequest,
    key: Option<&Secret>,
    sink: &dyn DeltaSink,
) -> Result<ModelReply, ModelError> {
    let address = Address::parse(&request.choice.base_url, &[PATH])?;
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        headers.insert(AUTHORIZATION, keys::bearer(key)?);
    }
    let mut limits = learnt.of(&request.choice);
    loop {
        let body = build_within(request, limits);
        let (url, turn) = (format!("{}{PATH}", address.base), request.messages.len());
        let longest = longest_answer(&body, &request.choice);
        let post = Post { url, headers: headers.clone(), body: body.to_string(), turn, longest };
        let error = match http.ask::<Response>(&address, post, sink).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        // Ends: each limit is learnt once.
        limits = learnt.learn(&request.choice, limits, &error).ok_or(error)?;
    }
}
