//! The `ModelPort` for real servers: routes each request by its `ModelChoice`.
//!
//! The provider `scripted` is answered from a file (`scripted.rs`). Every other one uses the protocol of its choice at
//! its base URL: chat completions (`openai.rs`), OpenAI's Responses (`responses.rs`) or Anthropic's messages
//! (`anthropic.rs`). All share one HTTP transport (`transport.rs`), one reader of bodies (`reply_stream.rs`) and one
//! list of errors (`errors.rs`). Refuses: retries (the runtime's), keys in any text.

mod address;
pub mod anthropic;
mod api_keys;
mod attached_images;
mod context_windows;
mod conversation;
mod errors;
mod http_clients;
pub mod mock_model;
mod model_listing;
mod offered_tools;
mod opaque_reasoning;
pub mod openai;
mod pricing;
pub mod recording;
mod reply_builder;
mod reply_decoder;
mod reply_guard;
mod reply_stream;
mod reported_usage;
pub mod responses;
mod retry_after;
pub mod run_models;
pub mod scripted;
mod sse;
mod strict_schema;
mod timeouts;
mod token_estimate;
mod tool_call_assembler;
mod tool_call_ids;
mod transport;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::Value;

use synthdev_domain::model::{ModelChoice, ModelError, ModelReply, ModelRequest};
use synthdev_domain::model_list::ListedModel;
use synthdev_domain::protocol::ModelProtocol;
use synthdev_domain::secret::SecretText;
use synthdev_ports::clock::ClockPort;
use synthdev_ports::model::{DeltaSink, ModelPort};

pub use pricing::{PriceList, ProviderPriceLists};
pub use timeouts::ModelTimeouts;

use crate::image_store::ImageStore;
use attached_images::AttachedImages;
use context_windows::ServerWindows;
use pricing::{PricingSink, served_price};
use scripted::ScriptedModel;
use transport::ProviderTransport;

/// The provider name that is answered from a replies file.
pub const SCRIPTED: &str = "scripted";
/// The provider whose models are those of the workflow server's client: answered before a request comes here.
pub const AGENT_LLM: &str = "agentllm";

/// Every model that a run can ask. Making one opens nothing, reads nothing and builds no TLS.
#[derive(Debug)]
pub struct ModelProviders {
    http: ProviderTransport,
    server_quirks: responses::ServerQuirks,
    scripted_model: Option<ScriptedModel>,
    prices: ProviderPriceLists,
    windows: ServerWindows,
    /// What conversations refer to; `None`: no image is sent.
    image_store: Option<ImageStore>,
}

impl ModelProviders {
    /// `keys`: the key ring; a `ModelChoice` holds only the name of its key.
    pub fn new(keys: BTreeMap<String, SecretText>, timeouts: ModelTimeouts) -> Self {
        Self {
            http: ProviderTransport::new(keys, timeouts),
            server_quirks: responses::ServerQuirks::default(),
            scripted_model: None,
            prices: ProviderPriceLists::new(),
            windows: ServerWindows::default(),
            image_store: None,
        }
    }

    /// Sends the images that conversations refer to from here.
    #[must_use]
    pub fn with_images(mut self, images: ImageStore) -> Self {
        self.image_store = Some(images);
        self
    }

    /// Sends each key only to the servers of these base URLs, by the name of the key: a recorded run may name others.
    #[must_use]
    pub fn with_key_servers(mut self, allowed_servers: BTreeMap<String, Vec<String>>) -> Self {
        self.http.restrict_keys_to_servers(allowed_servers);
        self
    }

    /// What models cost that answer in the place of others.
    #[must_use]
    pub fn with_prices(mut self, prices: ProviderPriceLists) -> Self {
        self.prices = prices;
        self
    }

    /// Answers the provider `scripted` from this script.
    #[must_use]
    pub fn with_scripted(mut self, script: ScriptedModel) -> Self {
        self.scripted_model = Some(script);
        self
    }

    /// The clock that measures how long ago a server did not respond.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn ClockPort>) -> Self {
        self.windows = ServerWindows::with_clock(clock);
        self
    }

    /// The script, to ask it what was not used.
    pub fn scripted_model(&self) -> Option<&ScriptedModel> {
        self.scripted_model.as_ref()
    }

    /// What the server of a choice says it has; its model is not looked at. Costs nothing there.
    ///
    /// # Errors
    /// No list arrived within `deadline`.
    pub async fn list_models(
        &self,
        choice: &ModelChoice,
        deadline: Duration,
    ) -> Result<Vec<ListedModel>, ModelError> {
        let key = self.http.key(choice)?;
        let asked = tokio::time::timeout(deadline, model_listing::list_models(&self.http, choice, key)).await;
        let answer = asked.unwrap_or_else(|_| {
            let server_label = address::ProviderAddress::parse(&choice.base_url, &[])?.display_text;
            Err(errors::idle_timeout_error(&server_label, deadline, ""))
        });
        let answer = answer.map_err(|error| key.map_or(error.clone(), |key| errors::redact_key(error, key)));
        answer.map_err(|error| api_keys::explain_missing_key(error, choice))
    }

    /// The window of a model, without a request: the setting, else what its server has reported. `None`: the server
    /// should be asked.
    pub fn known_window(&self, choice: &ModelChoice) -> Option<Option<u64>> {
        self.windows.known_window(choice)
    }

    /// The same, but asks a local server that has reported nothing yet.
    pub async fn window(&self, choice: &ModelChoice) -> Option<u64> {
        self.windows.load_window(&self.http, choice).await
    }

    /// They are read and encoded off the async workers.
    async fn attached_images(&self, request: &ModelRequest) -> AttachedImages {
        if !AttachedImages::are_in(request) {
            return AttachedImages::default();
        }
        let (request, store) = (request.clone(), self.image_store.clone());
        let loading = tokio::task::spawn_blocking(move || AttachedImages::load(&request, store.as_ref()));
        loading.await.unwrap_or_default()
    }

    async fn ask_model(
        &self,
        request: &ModelRequest,
        sink: &dyn DeltaSink,
    ) -> Result<ModelReply, ModelError> {
        let key = self.http.key(&request.choice)?;
        let begun = Instant::now();
        let priced = PricingSink::new(sink, &self.prices, &request.choice);
        let sink: &dyn DeltaSink = &priced;
        let images = &self.attached_images(request).await;
        let answer = match request.choice.protocol {
            ModelProtocol::Chat => openai::call_model(&self.http, request, images, key, sink).await,
            ModelProtocol::Responses => {
                responses::call_with_quirks(&self.http, &self.server_quirks, request, images, key, sink).await
            }
            ModelProtocol::Anthropic => anthropic::call_model(&self.http, request, images, key, sink).await,
        };
        let mut reply = answer.map_err(|error| match key {
            Some(key) => errors::redact_key(error, key),
            None => error,
        })?;
        reply.price = served_price(&self.prices, &request.choice, reply.model.as_deref());
        reply.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(reply)
    }
}

impl ModelPort for ModelProviders {
    fn request_body(&self, request: &ModelRequest) -> Option<Value> {
        if [SCRIPTED, AGENT_LLM].contains(&request.choice.provider.as_str()) {
            return None;
        }
        match request.choice.protocol {
            ModelProtocol::Chat => openai::build_request(request).ok(),
            ModelProtocol::Responses => Some(responses::build_request(request)),
            ModelProtocol::Anthropic => Some(anthropic::build_request(request)),
        }
    }

    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            if request.choice.provider == AGENT_LLM {
                let agent = &request.agent;
                let detail =
                    format!("agent `{agent}` asks the client of `synthdev mcp`, and there is none here");
                return Err(ModelError::Drift { detail });
            }
            if request.choice.provider != SCRIPTED {
                let answer = self.ask_model(request, sink).await;
                return answer.map_err(|error| api_keys::explain_missing_key(error, &request.choice));
            }
            match &self.scripted_model {
                Some(script) => script.answer_request(request, sink).await,
                None => Err(ModelError::Drift {
                    detail: format!(
                        "agent `{}` asks the scripted model, but no replies file was given",
                        request.agent
                    ),
                }),
            }
        })
    }
}
