//! The HTTP clients, each made when it is first needed and then kept with its open connections.
//!
//! Two of them, because reading the system's certificates costs milliseconds that a model on this machine does
//! not need: `local` for http to a loopback address knows no certificates and no proxy, `public` knows both.

use std::cell::Cell;
use std::error::Error;
use std::iter::successors;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Inspect;
use http::Extensions;
use hyper_util::client::legacy::Error as ExchangeError;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpInfo};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Request, Response};
use tower::{Layer, Service};

use synthdev_domain::model::ModelError;

use super::address::ProviderAddress;
use super::errors::short_line;

tokio::task_local! {
    /// Our end of the last connection that the request under way has opened.
    static OPENED_CONNECTION: Cell<Option<SocketAddr>>;
}

/// A request without a response.
#[derive(Debug)]
pub struct UnansweredRequest {
    pub error: reqwest::Error,
    /// It went out on a connection that was there before it, and that connection is dead.
    pub is_stale_connection: bool,
}

/// Sends a request once.
///
/// # Errors
/// As [`Client::execute`].
pub async fn send_once(client: &Client, request: Request) -> Result<Response, UnansweredRequest> {
    let sent = async {
        client.execute(request).await.map_err(|error| {
            let opened = OPENED_CONNECTION.with(Cell::get);
            // a request that opens a connection may ride another one that became idle meanwhile
            let is_stale_connection =
                connection_used(&error).is_some_and(|used| opened.is_none() || local_address(used) != opened);
            UnansweredRequest { error, is_stale_connection }
        })
    };
    OPENED_CONNECTION.scope(Cell::new(None), sent).await
}

/// The connection on which a request failed; none where it failed before it had one.
fn connection_used(error: &reqwest::Error) -> Option<&Connected> {
    let first: &(dyn Error + 'static) = error;
    successors(Some(first), |error: &&(dyn Error + 'static)| Error::source(*error))
        .find_map(|error| error.downcast_ref::<ExchangeError>())
        .and_then(ExchangeError::connect_info)
}

fn local_address(connection: &Connected) -> Option<SocketAddr> {
    let mut extras = Extensions::new();
    connection.get_extras(&mut extras);
    extras.get::<HttpInfo>().map(HttpInfo::local_addr)
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

impl<T, S: Service<T, Response: Connection>> Service<T> for NotedConnector<S> {
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
fn note_connection<C: Connection, E>(opened: &Result<C, E>) {
    if let Ok(connection) = opened {
        let address = local_address(&connection.connected());
        // an error means that no request is in scope
        let _ = OPENED_CONNECTION.try_with(|opened| opened.set(address));
    }
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
