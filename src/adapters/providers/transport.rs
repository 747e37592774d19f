//! One request to one server, and its reply read to the end: what all protocols share.
//!
//! Refuses: retries (the runtime's), redirects, knowing what any body means.

use std::collections::BTreeMap;
use std::time::SystemTime;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Request, Response};
use serde_json::Value;
use tokio::time::Instant;

use synthdev_domain::model::{ModelChoice, ModelError, ModelReply, ModelRequest};
use synthdev_domain::secret::SecretText;
use synthdev_ports::model::DeltaSink;

use super::ModelTimeouts;
use super::address::ProviderAddress;
use super::api_keys::ApiKeyRing;
use super::errors;
use super::http_clients::{ProviderClients, send_once};
use super::reply_decoder::ReplyDecoder;
use super::reply_guard::AnswerLimits;
use super::reply_stream::{self, ReplySource};

/// Stale pooled connections to try; after so many, the next error is final.
const MAX_STALE_CONNECTIONS: usize = 16;

/// Bytes. The longest known list of models is a twentieth of that.
const LARGEST_DOCUMENT: usize = 16 << 20;

/// Connections and keys of every server; shared by all protocols, agents and runs.
#[derive(Debug)]
pub struct ProviderTransport {
    keys: ApiKeyRing,
    model_timeouts: ModelTimeouts,
    clients: ProviderClients,
}

/// What is sent.
#[derive(Debug)]
pub struct ProviderPostRequest {
    pub url: String,
    /// Beside content type and accepted types.
    pub headers: HeaderMap,
    pub body: String,
    /// How many messages it holds: tool calls without ids are named by it.
    pub message_count: usize,
    /// Tokens of its reply, as far as they are bounded.
    pub max_answer_tokens: Option<u64>,
}

impl ProviderPostRequest {
    /// Only the text of `body` stays in memory while the model answers.
    pub fn new(url: String, headers: HeaderMap, request: &ModelRequest, body: Value) -> Self {
        Self {
            url,
            headers,
            max_answer_tokens: longest_answer(&body, &request.choice),
            message_count: request.messages.len(),
            body: body.to_string(),
        }
    }
}

/// How long a reply can be: as its request asks for, else as the model is known to give.
fn longest_answer(body: &Value, choice: &ModelChoice) -> Option<u64> {
    let names = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    names.iter().find_map(|name| body.get(*name)?.as_u64()).or(choice.max_output)
}

impl ProviderTransport {
    /// Costs nothing: clients come with the first call.
    pub fn new(keys: BTreeMap<String, SecretText>, model_timeouts: ModelTimeouts) -> Self {
        Self { keys: ApiKeyRing::new(keys), model_timeouts, clients: ProviderClients::default() }
    }

    /// Sends each key only to the servers of these base URLs, by the name of the key.
    pub fn restrict_keys_to_servers(&mut self, allowed_servers: BTreeMap<String, Vec<String>>) {
        self.keys.restrict_to_servers(allowed_servers);
    }

    pub fn model_timeouts(&self) -> ModelTimeouts {
        self.model_timeouts
    }

    /// The key for a choice; `None` where the server wants none.
    ///
    /// # Errors
    /// As [`ApiKeyRing::key_for`].
    pub fn key(&self, choice: &ModelChoice) -> Result<Option<&SecretText>, ModelError> {
        self.keys.key_for(choice)
    }

    /// Sends and reads the whole reply. Dropping the future closes the connection.
    ///
    /// # Errors
    /// Every way in which no whole reply arrived.
    pub async fn ask_model<A: ReplyDecoder>(
        &self,
        address: &ProviderAddress,
        post: ProviderPostRequest,
        sink: &dyn DeltaSink,
    ) -> Result<ModelReply, ModelError> {
        let (prompt_bytes, message_count, tokens) =
            (post.body.len(), post.message_count, post.max_answer_tokens);
        let ModelTimeouts { connect_timeout: connect, idle_timeout: idle, call_timeout: call, .. } =
            self.model_timeouts;
        let limits = AnswerLimits { tokens, deadline: Instant::now() + call, call };
        let client = self.clients.get(address, connect)?;
        let response = self.send_request(client, address, post).await?;
        let status = response.status();
        if !status.is_success() {
            let headers = response.headers().clone();
            let body = reply_stream::error_body(response, idle).await;
            let now = SystemTime::now();
            return Err(errors::from_status(status.as_u16(), &headers, &body, &address.display_text, now));
        }
        let source = ReplySource {
            server_label: &address.display_text,
            timeouts: self.model_timeouts,
            prompt_bytes,
            limits,
        };
        let answer: A = reply_stream::read_reply(response, source, sink).await?;
        answer.into_reply(prompt_bytes, message_count)
    }

    /// Gets a short document whole.
    ///
    /// # Errors
    /// Every way in which it did not arrive.
    pub async fn fetch_document(
        &self,
        address: &ProviderAddress,
        url: &str,
        headers: HeaderMap,
    ) -> Result<Vec<u8>, ModelError> {
        let ModelTimeouts { connect_timeout: connect, idle_timeout: idle, .. } = self.model_timeouts;
        let client = self.clients.get(address, connect)?;
        let broken = |error| errors::from_transport_error(error, &address.display_text, connect, "");
        let request = client.get(url).headers(headers).header(ACCEPT, "application/json").build();
        let mut response = send_with_reconnect(client, request.map_err(broken)?).await.map_err(broken)?;
        let status = response.status();
        if !status.is_success() {
            let headers = response.headers().clone();
            let body = reply_stream::error_body(response, idle).await;
            let now = SystemTime::now();
            return Err(errors::from_status(status.as_u16(), &headers, &body, &address.display_text, now));
        }
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(broken)? {
            body.extend_from_slice(&bytes);
            if body.len() > LARGEST_DOCUMENT {
                let detail =
                    format!("{} sends more than {} MiB", address.display_text, LARGEST_DOCUMENT >> 20);
                return Err(ModelError::Protocol { detail });
            }
        }
        Ok(body)
    }

    async fn send_request(
        &self,
        client: &Client,
        address: &ProviderAddress,
        post: ProviderPostRequest,
    ) -> Result<Response, ModelError> {
        let connect = self.model_timeouts.connect_timeout;
        let request = client
            .post(post.url)
            .headers(post.headers)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(post.body)
            .build();
        let broken = |error| errors::from_transport_error(error, &address.display_text, connect, "");
        let begin = send_with_reconnect(client, request.map_err(broken)?);
        self.model_timeouts.limit_start(&address.display_text, begin).await?.map_err(broken)
    }
}

/// Sends a request. A server may close a pooled connection at any time, and the client learns of it only when it sends.
/// If such a stale connection fails before the reply begins, the request is sent again on another connection.
async fn send_with_reconnect(client: &Client, request: Request) -> Result<Response, reqwest::Error> {
    for _ in 0..MAX_STALE_CONNECTIONS {
        let Some(copy) = request.try_clone() else { break };
        match send_once(client, copy).await {
            Err(unanswered) if unanswered.is_stale_connection => {}
            outcome => return outcome.map_err(|unanswered| unanswered.error),
        }
    }
    client.execute(request).await
}
