//! A scripted model behind a real wire: a strict server sends the script's answers in one of the protocols, and the
//! real adapter requests and reads them. A run must not notice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use synthdev::adapters::providers::{ModelProviders, ModelTimeouts};
use synthdev::domain::model::{DeltaKind, ModelChoice, ModelError, ModelReply, ModelRequest};
use synthdev::ports::model::{DeltaSink, ModelPort};

use super::model_server::{Dialect, ModelServer};

/// A strict server and the way to it.
pub struct Wire {
    pub server: ModelServer,
    dialect: Dialect,
    providers: ModelProviders,
    request_count: AtomicUsize,
    /// Where to ask instead of at the server.
    pub redirect_url: Mutex<Option<String>>,
    /// What came of asking the server itself.
    pub outcomes: Mutex<Vec<Result<ModelReply, ModelError>>>,
}

struct Behind {
    inner_wire: Arc<Wire>,
    /// `None`: the server is asked as its behaviour is set.
    script: Option<Arc<dyn ModelPort>>,
}

impl Wire {
    pub async fn new(dialect: Dialect) -> Arc<Self> {
        Self::with_timeouts(dialect, ModelTimeouts::default()).await
    }

    pub async fn with_timeouts(dialect: Dialect, patience: ModelTimeouts) -> Arc<Self> {
        Arc::new(Self {
            server: ModelServer::start_in_dialect(dialect, Vec::new()).await,
            dialect,
            providers: ModelProviders::new(BTreeMap::new(), patience),
            request_count: AtomicUsize::new(0),
            redirect_url: Mutex::default(),
            outcomes: Mutex::default(),
        })
    }

    /// The server's own answers: those that were set for `mock-1`.
    pub fn direct_model(self: &Arc<Self>) -> Arc<dyn ModelPort> {
        Arc::new(Behind { inner_wire: Arc::clone(self), script: None })
    }

    /// The script's answers, but over this wire. Its errors are its own.
    pub fn through_wire(self: &Arc<Self>, script: Arc<dyn ModelPort>) -> Arc<dyn ModelPort> {
        Arc::new(Behind { inner_wire: Arc::clone(self), script: Some(script) })
    }

    /// Every request that the server did not take, and why.
    pub fn refused_requests(&self) -> Vec<String> {
        let refused = self.server.requests().into_iter();
        refused.filter_map(|one| one.rejection.map(|why| format!("{why}: {}", one.body))).collect()
    }

    /// How many requests came.
    pub fn requests(&self) -> usize {
        self.server.requests().len()
    }

    async fn ask_server(
        &self,
        request: &ModelRequest,
        model: String,
        sink: &dyn DeltaSink,
    ) -> Result<ModelReply, ModelError> {
        let elsewhere = self.redirect_url.lock().unwrap().clone();
        let mut choice = ModelChoice {
            provider: "mock".to_owned(),
            base_url: elsewhere.unwrap_or_else(|| self.server.base_url.clone()),
            protocol: self.dialect.protocol(),
            model,
            key: None,
            ..request.choice.clone()
        };
        choice.parameters.drop_incompatible(choice.protocol);
        self.providers.call(&ModelRequest { choice, ..request.clone() }, sink).await
    }

    async fn send_through(
        &self,
        request: &ModelRequest,
        scripted: ModelReply,
        sink: &dyn DeltaSink,
    ) -> Result<ModelReply, ModelError> {
        // Branches ask at the same time: each request has an answer of its own waiting for it.
        let model = format!("mock-{}", self.request_count.fetch_add(1, Ordering::Relaxed));
        self.server.queue_answer(&model, self.dialect.render_reply(&scripted));
        let reply = self.ask_server(request, model, sink).await?;
        assert_eq!(
            (&reply.text, &reply.reasoning, &reply.tool_calls),
            (&scripted.text, &scripted.reasoning, &scripted.tool_calls),
            "{:?}",
            self.dialect
        );
        // What it cost and how long it took stays the script's.
        let ModelReply { usage, usage_estimated, model, duration_ms, .. } = scripted;
        Ok(ModelReply { usage, usage_estimated, model, duration_ms, ..reply })
    }
}

impl ModelPort for Behind {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            if let Some(script) = &self.script {
                let scripted = script.call(request, &Deaf).await?;
                return self.inner_wire.send_through(request, scripted, sink).await;
            }
            let answer = self.inner_wire.ask_server(request, "mock-1".to_owned(), sink).await;
            self.inner_wire.outcomes.lock().unwrap().push(answer.clone());
            answer
        })
    }
}

struct Deaf;

impl DeltaSink for Deaf {
    fn delta(&self, _: DeltaKind, _: &str) {}
}
