//! One request to one server, and its answer read to the end: what all protocols share.
//!
//! Refuses: retries (the runtime's), redirects, knowing what any body means.

use std::collections::BTreeMap;
use std::time::SystemTime;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response};

use crate::domain::model::{ModelChoice, ModelError, ModelReply};
use crate::domain::secret::Secret;
use crate::ports::model::DeltaSink;

use super::Patience;
use super::address::Address;
use super::answer::Answer;
use super::client::Clients;
use super::errors;
use super::keys::Keys;
use super::stream::{self, Source};

/// Bytes. The longest known list of models is a twentieth of that.
const LARGEST_DOCUMENT: usize = 16 << 20;

/// Connections and keys of every server; shared by all protocols, agents and runs.
#[derive(Debug)]
pub struct Http {
    keys: Keys,
    patience: Patience,
    clients: Clients,
}

/// What is sent.
#[derive(Debug)]
pub struct Post {
    pub url: String,
    /// Beside content type and accepted types.
    pub headers: HeaderMap,
    pub body: String,
    /// How many messages it holds: tool calls without ids are named by it.
    pub turn: usize,
}

impl Http {
    /// Costs nothing: clients come with the first call.
    pub fn new(keys: BTreeMap<String, Secret>, patience: Patience) -> Self {
        Self { keys: Keys::new(keys), patience, clients: Clients::default() }
    }

    /// Keys go to these servers only.
    pub fn keep_keys_to(&mut self, homes: BTreeMap<String, Vec<String>>) {
        self.keys.keep_to(homes);
    }

    /// The key for a choice; `None` where the server wants none.
    ///
    /// # Errors
    /// As [`Keys::of`].
    pub fn key(&self, choice: &ModelChoice) -> Result<Option<&Secret>, ModelError> {
        self.keys.of(choice)
    }

    /// Sends and reads the whole answer. Dropping the future closes the connection (MODEL-3).
    ///
    /// # Errors
    /// Every way in which no whole answer arrived.
    pub async fn ask<A: Answer>(
        &self,
        address: &Address,
        post: Post,
        sink: &dyn DeltaSink,
    ) -> Result<ModelReply, ModelError> {
        let (prompt_bytes, turn) = (post.body.len(), post.turn);
        let client = self.clients.get(address, self.patience.connect)?;
        let response = self.send(client, address, post).await?;
        let status = response.status();
        if !status.is_success() {
            let headers = response.headers().clone();
            let body = stream::error_body(response, self.patience.idle).await;
            let now = SystemTime::now();
            return Err(errors::of_status(status.as_u16(), &headers, &body, &address.shown, now));
        }
        let Patience { connect, idle } = self.patience;
        let source = Source { shown: &address.shown, connect, idle, prompt_bytes };
        let answer: A = stream::read(response, source, sink).await?;
        answer.into_reply(prompt_bytes, turn)
    }

    /// Gets a short document whole.
    ///
    /// # Errors
    /// Every way in which it did not arrive.
    pub async fn fetch(
        &self,
        address: &Address,
        url: &str,
        headers: HeaderMap,
    ) -> Result<Vec<u8>, ModelError> {
        let Patience { connect, idle } = self.patience;
        let client = self.clients.get(address, connect)?;
        let broken = |error| errors::of_transport(error, &address.shown, connect, "");
        let sent = client.get(url).headers(headers).header(ACCEPT, "application/json").send();
        let mut response = sent.await.map_err(broken)?;
        let status = response.status();
        if !status.is_success() {
            let headers = response.headers().clone();
            let body = stream::error_body(response, idle).await;
            let now = SystemTime::now();
            return Err(errors::of_status(status.as_u16(), &headers, &body, &address.shown, now));
        }
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(broken)? {
            body.extend_from_slice(&bytes);
            if body.len() > LARGEST_DOCUMENT {
                let detail = format!("{} sends more than {} MiB", address.shown, LARGEST_DOCUMENT >> 20);
                return Err(ModelError::Protocol { detail });
            }
        }
        Ok(body)
    }

    async fn send(&self, client: &Client, address: &Address, post: Post) -> Result<Response, ModelError> {
        let Patience { connect, idle } = self.patience;
        let sent = client
            .post(post.url)
            .headers(post.headers)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(post.body)
            .send();
        match tokio::time::timeout(connect.saturating_add(idle), sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(errors::of_transport(error, &address.shown, connect, "")),
            Err(_) => Err(errors::silent(&address.shown, connect.saturating_add(idle), "")),
        }
    }
}
