//! The HTTP clients, each made when it is first needed and then kept with its open connections.
//!
//! Two of them, because reading the system's certificates costs milliseconds that a model on this machine does
//! not need: `local` for http to a loopback address knows no certificates and no proxy, `public` knows both.

use std::cell::Cell;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Inspect;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use tower::{Layer, Service};

use synthdev_domain::model::ModelError;

use super::address::ProviderAddress;
use super::errors::short_line;

tokio::task_local! {
    /// The request under way has opened a connection.
    static CONNECTED: Cell<bool>;
}

/// The outcome of a request, and whether a connection was opened for it.
pub async fn noting_connections<F: Future>(request: F) -> (F::Output, bool) {
    let noted = async {
        let outcome = request.await;
        (outcome, CONNECTED.with(Cell::get))
    };
    CONNECTED.scope(Cell::new(false), noted).await
}

/// Notes each connection that is opened, in the request that it is opened for.
#[derive(Clone)]
struct ConnectionNote;

#[derive(Clone)]
struct NotedConnector<S>(S);

impl<S> Layer<S> for ConnectionNote {
    type Service = NotedConnector<S>;

    fn layer(&self, inner: S) -> NotedConnector<S> {
        NotedConnector(inner)
    }
}

impl<T, S: Service<T>> Service<T> for NotedConnector<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Inspect<S::Future, fn(&Result<S::Response, S::Error>)>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: T) -> Self::Future {
        self.0.call(target).inspect(note_connection)
    }
}

/// At its end: a request that gets an idle connection meanwhile leaves the new one to another task.
fn note_connection<R, E>(_: &Result<R, E>) {
    // an error means that no request is in scope
    let _ = CONNECTED.try_with(|connected| connected.set(true));
}

#[derive(Default, Debug)]
pub struct ProviderClients {
    local_client: OnceLock<Client>,
    public: OnceLock<Client>,
}

impl ProviderClients {
    /// The client for an address.
    ///
    /// # Errors
    /// TLS cannot be set up, for instance because the system has no root certificates.
    pub fn get(&self, address: &ProviderAddress, connect: Duration) -> Result<&Client, ModelError> {
        let local = address.is_loopback && !address.is_secure;
        let place = if local { &self.local_client } else { &self.public };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        // An error means that another provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = if local {
            client_builder(connect).no_proxy().tls_certs_only([])
        } else {
            client_builder(connect)
        };
        let client = builder.build().map_err(|error| ModelError::Transport {
            detail: format!(
                "cannot set up the connection to {}: {}",
                address.display_text,
                short_line(&innermost_cause(&error))
            ),
        })?;
        Ok(place.get_or_init(|| client))
    }
}

/// No redirects: a POST that follows one loses its body. No compression: proxies would hold back a stream.
/// No retries: they are the runtime's.
fn client_builder(connect: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("synthdev/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .gzip(false)
        .tcp_nodelay(true)
        .connector_layer(ConnectionNote)
}

fn innermost_cause(error: &reqwest::Error) -> String {
    let mut error: &dyn std::error::Error = error;
    while let Some(inner) = error.source() {
        error = inner;
    }
    error.to_string()
}
