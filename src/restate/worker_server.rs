//! The address of a worker, where the Restate server calls it.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use restate_sdk::prelude::{Endpoint, HttpServer, IntoServiceDefinition, ServiceOptions};
use tokio::net::{TcpListener, TcpSocket};

use super::journaled_step::StepRefusal;
use super::run_session::refusal;
use super::worker::RunWorker;
use super::workflow_service::SynthdevRun;

/// A connection that is silent for so long is given back; a run that waits for an answer needs none. A step that lasts
/// longer ends first: then the server calls again, and gets the next one.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// A step lasts as long as the driver appends nothing: as long as a model call or a command. One that is cut off after
/// this is taken up again with nothing lost.
const LONGEST_STEP: Duration = Duration::from_secs(2 * 60 * 60);

/// The server calls a worker that is gone again so soon, and at least so often.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const LONGEST_RETRY: Duration = Duration::from_secs(5);

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Opens the address of a worker.
///
/// # Errors
/// It is not of this machine alone and no key of a server is set, or it cannot be opened.
pub fn open_listener(address: SocketAddr, identity_key: Option<&str>) -> Result<TcpListener, StepRefusal> {
    if !address.ip().is_loopback() && identity_key.is_none() {
        return Err(StepRefusal {
            message: format!(
                "{address} can be reached from other machines: a program that reaches it could run commands here"
            ),
            hint: Some(
                "listen on 127.0.0.1, or name the key of your Restate server with --identity-key".to_owned(),
            ),
        });
    }
    let opened = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // steps are small messages that wait for each other; accepted connections inherit it
        socket.set_nodelay(true)?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    opened().map_err(|error: std::io::Error| refusal(format!("{address} cannot be opened: {error}")))
}

/// Serves the calls of the Restate server until `stop`, then leaves all runs.
///
/// # Errors
/// The identity key is none.
pub async fn serve_runs(
    worker: Arc<RunWorker>,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> Result<(), StepRefusal> {
    let options = ServiceOptions::new()
        .inactivity_timeout(LONGEST_SILENCE)
        .abort_timeout(LONGEST_STEP)
        .retry_policy_initial_interval(FIRST_RETRY)
        .retry_policy_max_interval(LONGEST_RETRY)
        .metadata("host_id", worker.options.host_id.clone());
    let service = SynthdevRun { worker: Arc::clone(&worker) }.into_service_definition().options(options);
    let mut endpoint = Endpoint::builder().bind(service);
    if let Some(key) = &worker.options.identity_key {
        endpoint = endpoint
            .identity_key(key)
            .map_err(|error| refusal(format!("the identity key of the server is none: {error}")))?;
    }
    let stopped = async {
        stop.await;
        worker.drain().await;
    };
    HttpServer::new(endpoint.build()).serve_with_cancel(listener, stopped).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn other_machines_reach_a_worker_only_with_a_key_of_their_server() {
        let rows =
            [("127.0.0.1:0", None, true), ("0.0.0.0:0", None, false), ("0.0.0.0:0", Some("publickey"), true)];
        for (address, key, opened) in rows {
            let listener = open_listener(address.parse().unwrap(), key);
            assert_eq!(listener.is_ok(), opened, "{address} {key:?}");
            let hint = listener.err().and_then(|refused| refused.hint).unwrap_or_default();
            assert!(opened || hint.contains("--identity-key"), "{hint}");
        }
    }
}
