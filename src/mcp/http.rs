//! The workflow server over HTTP on this machine: many clients at once, each with the token.
//!
//! Owns connections and their limits; [`endpoint`] handles the requests. Refuses every address that other machines can
//! reach, because a client can start programs on this machine.

mod auth;
mod endpoint;
mod headers;
mod response_body;
mod sessions;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use self::auth::RequestAuth;
use self::endpoint::McpHttpEndpoint;
use super::backend::McpBackend;
use super::pause_timeouts;
use super::server::stop_drivers;

/// Connections at once; further ones wait.
const CONNECTIONS: usize = 512;
/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(10);
/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 64 << 10;
/// How long connections get to end when the server does.
const FAREWELL: Duration = Duration::from_secs(1);
/// After a connection could not be taken (there are too many open files, mostly).
const BREATH: Duration = Duration::from_millis(100);

/// Where the server can be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpServerUrl {
    pub url: String,
}

/// Serves clients on `address` until `stop` is ready. Runs are left as they are then, and can be resumed. `listening`
/// gets the URL before the first client is served.
///
/// # Errors
/// The address is not this machine's own, or cannot be bound; as text for the user.
pub async fn serve_http(
    backend: Arc<dyn McpBackend>,
    address: SocketAddr,
    token: &str,
    listening: impl FnOnce(&HttpServerUrl),
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    if !address.ip().is_loopback() {
        return Err(format!("{address} can be reached from other machines"));
    }
    let listener = TcpListener::bind(address).await.map_err(|error| format!("{address}: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    listening(&HttpServerUrl { url: format!("http://{address}{}", endpoint::PATH) });
    let handle = backend.handle().clone();
    let deadlines = tokio::spawn(pause_timeouts::run_timeout_loop(Arc::clone(&backend)));
    let endpoint = Arc::new(McpHttpEndpoint::new(backend, RequestAuth::new(token)));
    let (ending, _) = watch::channel(false);
    let mut connections = JoinSet::new();
    tokio::select! {
        () = accept_connections(&listener, &endpoint, &ending, &mut connections) => {}
        () = stop => {}
    }
    drop(listener);
    deadlines.abort();
    endpoint.mark_shutting_down();
    stop_drivers(&handle).await;
    endpoint.close();
    ending.send_replace(true);
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FAREWELL, ended).await;
    Ok(())
}

async fn accept_connections(
    listener: &TcpListener,
    endpoint: &Arc<McpHttpEndpoint>,
    ending: &watch::Sender<bool>,
    connections: &mut JoinSet<()>,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let served = serve_connection(stream, Arc::clone(endpoint), ending.subscribe());
                connections.spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(BREATH).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(
    stream: TcpStream,
    endpoint: Arc<McpHttpEndpoint>,
    mut ending: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let endpoint = Arc::clone(&endpoint);
        async move { Ok::<_, Infallible>(endpoint.answer_request(request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_header_size(LONGEST_HEAD);
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = async { drop(ending.wait_for(|ending| *ending).await) } => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}
