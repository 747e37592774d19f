//! The workflow server over HTTP on this machine: many clients at once, each with the token.
//!
//! Owns the beginning and the end; [`connections`] takes clients, [`endpoint`] handles the requests. Refuses every address
//! that other machines can reach, because a client can start programs on this machine.

mod auth;
mod connections;
mod endpoint;
mod headers;
mod response_body;
mod sessions;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use self::auth::RequestAuth;
use self::endpoint::McpHttpEndpoint;
use super::backend::McpBackend;
use super::pause_timeouts;
use super::server::stop_drivers;

/// How long connections get to end when the server does.
const FAREWELL: Duration = Duration::from_secs(1);

/// Where the server can be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpServerUrl {
    pub url: String,
}

/// Serves clients on `address` until `stop` is ready. Runs are left as they are then, and can be resumed. `listening`
/// gets the URL before the first client is served. `open_files` is how many files this process may have open.
///
/// # Errors
/// The address is not this machine's own, or cannot be bound; as text for the user.
pub async fn serve_http(
    backend: Arc<dyn McpBackend>,
    address: SocketAddr,
    token: &str,
    open_files: u64,
    listening: impl FnOnce(&HttpServerUrl),
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    if !address.ip().is_loopback() {
        return Err(format!("{address} can be reached from other machines"));
    }
    let listener = connections::listen_on(address).map_err(|error| format!("{address}: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    listening(&HttpServerUrl { url: format!("http://{address}{}", endpoint::PATH) });
    let handle = backend.handle().clone();
    let deadlines = tokio::spawn(pause_timeouts::run_timeout_loop(Arc::clone(&backend)));
    let endpoint = Arc::new(McpHttpEndpoint::new(backend, RequestAuth::new(token)));
    let (ending, _) = watch::channel(false);
    let most = connections::most_served(open_files);
    let mut open = JoinSet::new();
    tokio::select! {
        () = connections::accept_connections(&listener, most, &endpoint, &ending, &mut open) => {}
        () = stop => {}
    }
    drop(listener);
    deadlines.abort();
    endpoint.mark_shutting_down();
    stop_drivers(&handle).await;
    endpoint.close();
    ending.send_replace(true);
    let ended = async { while open.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FAREWELL, ended).await;
    Ok(())
}
