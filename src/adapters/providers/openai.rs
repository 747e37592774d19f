//! OpenAI-compatible chat completions at any base URL (MODEL-1): strict in what is sent, lenient in what comes.
//!
//! How much of async-openai is used, and why not more: its types make the request and its config the URL and
//! headers. Its streams, `byot` ones too, are not used: they hide status and content type (a page, a JSON error
//! or a whole completion with status 200 give silence), retry by themselves, and pass every event through a task
//! and a channel, a wake-up per token. Here the body is read with the same reqwest, one wake-up per network read.
//!
//! Refuses: retries (the runtime's), redirects, a key in any text.

mod address;
mod calls;
mod client;
mod conversation;
mod decode;
mod errors;
mod request;
mod retry_after;
mod sse;
mod stream;
mod usage;

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

use async_openai::config::{Config, OpenAIConfig};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response};

use crate::domain::model::{ModelError, ModelReply, ModelRequest};
use crate::domain::secret::Secret;
use crate::ports::model::DeltaSink;

use super::Patience;
use address::Address;
use client::Clients;
use stream::Source;

pub use request::build;

/// Every server that speaks chat completions; connections are shared by all agents and runs.
#[derive(Debug)]
pub struct OpenAi {
    keys: BTreeMap<String, Secret>,
    /// Base URLs that each key may be sent to; `None`: wherever a choice says.
    homes: Option<BTreeMap<String, Vec<String>>>,
    patience: Patience,
    clients: Clients,
}

impl OpenAi {
    /// Costs nothing: clients come with the first call.
    pub fn new(keys: BTreeMap<String, Secret>, patience: Patience) -> Self {
        Self { keys, homes: None, patience, clients: Clients::default() }
    }

    /// Keys go to these servers only.
    #[must_use]
    pub fn with_homes(self, homes: BTreeMap<String, Vec<String>>) -> Self {
        Self { homes: Some(homes), ..self }
    }

    /// Asks and reads the whole answer. Dropping the future closes the connection (MODEL-3).
    ///
    /// # Errors
    /// Every way in which no whole answer arrived.
    pub async fn call(&self, request: &ModelRequest, sink: &dyn DeltaSink) -> Result<ModelReply, ModelError> {
        let key = self.key(request)?;
        let answer = self.exchange(request, key, sink).await;
        answer.map_err(|error| match key {
            Some(key) => errors::scrub(error, key),
            None => error,
        })
    }

    async fn exchange(
        &self,
        request: &ModelRequest,
        key: Option<&Secret>,
        sink: &dyn DeltaSink,
    ) -> Result<ModelReply, ModelError> {
        let begun = Instant::now();
        let address = Address::parse(&request.choice.base_url)?;
        let body = build(request)?.to_string();
        let prompt_bytes = body.len();
        let client = self.clients.get(&address, self.patience.connect)?;
        let response = self.send(client, &address, key, body).await?;
        let status = response.status();
        if !status.is_success() {
            let headers = response.headers().clone();
            let body = stream::error_body(response, self.patience.idle).await;
            let now = SystemTime::now();
            return Err(errors::of_status(status.as_u16(), &headers, &body, &address.shown, now));
        }
        let Patience { connect, idle } = self.patience;
        let source = Source { shown: &address.shown, connect, idle };
        let answer = stream::read(response, source, sink).await?;
        let mut reply = answer.into_reply(prompt_bytes, request.messages.len())?;
        reply.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(reply)
    }

    async fn send(
        &self,
        client: &Client,
        address: &Address,
        key: Option<&Secret>,
        body: String,
    ) -> Result<Response, ModelError> {
        let Patience { connect, idle } = self.patience;
        // Set to nothing what the config would else take from the environment.
        let config = OpenAIConfig::new().with_org_id("").with_project_id("").with_api_base(&address.base);
        let sent = client
            .post(config.url("/chat/completions"))
            .headers(headers(config, key)?)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(body)
            .send();
        match tokio::time::timeout(connect.saturating_add(idle), sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(errors::of_transport(error, &address.shown, connect, "")),
            Err(_) => Err(errors::silent(&address.shown, idle, "")),
        }
    }

    /// The key that the choice names; `None` where the server wants none.
    fn key(&self, request: &ModelRequest) -> Result<Option<&Secret>, ModelError> {
        let Some(name) = &request.choice.key else { return Ok(None) };
        let found = self.keys.get(name).filter(|key| !key.expose().trim().is_empty());
        let found = found.ok_or_else(|| ModelError::Auth {
            detail: format!("no key `{name}` is set for the provider {}", request.choice.provider),
        })?;
        let url = &request.choice.base_url;
        let at_home = self.homes.as_ref().is_none_or(|homes| {
            homes.get(name).is_some_and(|homes| homes.iter().any(|home| address::same_server(home, url)))
        });
        if at_home {
            return Ok(Some(found));
        }
        let shown = Address::parse(url)?.shown;
        Err(ModelError::Auth {
            detail: format!(
                "the run was recorded to ask {shown}, and the key `{name}` belongs to another server now: it was not \
                 sent (go on with `--upgrade` to ask what is set now, or set that server again)"
            ),
        })
    }
}

fn headers(config: OpenAIConfig, key: Option<&Secret>) -> Result<HeaderMap, ModelError> {
    let Some(key) = key else {
        let mut headers = config.with_api_key("").headers();
        headers.remove(AUTHORIZATION);
        return Ok(headers);
    };
    let key = key.expose().trim();
    // Asked first, because the config would panic.
    if HeaderValue::from_str(key).is_err() {
        let detail = "it holds characters that no key has (a line break?); set it again".to_owned();
        return Err(ModelError::Auth { detail });
    }
    let mut headers = config.with_api_key(key).headers();
    if let Some(value) = headers.get_mut(AUTHORIZATION) {
        value.set_sensitive(true);
    }
    Ok(headers)
}
