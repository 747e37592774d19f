//! The address of a worker, where the Restate server calls it.

use std::collections::HashMap;
use std::future::{Future, Ready, ready};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::Service as HyperService;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::graceful::GracefulShutdown;
use restate_sdk::hyper::HyperEndpoint;
use restate_sdk::prelude::{Endpoint, HandlerOptions, ServiceOptions};
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::{sleep, timeout};

use super::journaled_step::StepRefusal;
use super::run_host_names::parse_service;
use super::run_session::refusal;
use super::worker::RunWorker;
use super::workflow_service::{SynthdevRun, named_service};

/// A connection that is silent for so long is given back; a run that waits for an answer needs none. A step that lasts
/// longer ends first: then the server calls again, and gets the next one.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// A step lasts as long as the driver appends nothing: as long as a model call or a command. One that is cut off after
/// this is taken up again with nothing lost.
const LONGEST_STEP: Duration = Duration::from_secs(2 * 60 * 60);

/// The server calls a worker that is gone again so soon, and at least so often.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const LONGEST_RETRY: Duration = Duration::from_secs(5);
/// A run waits for its host as long as that takes: five seconds each, for years.
const MOST_ATTEMPTS: u64 = 100_000_000;
/// How long the server can say how a run has ended.
const END_IS_KNOWN: Duration = Duration::from_secs(7 * 24 * 3_600);

/// No host has this name.
const NO_SERVICE: &str = "SynthdevRun";
/// More hosts than a server has.
const MOST_SERVICES: usize = 1000;

/// Until a connection is accepted after one could not be.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// What is under way when the worker ends may take so long.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

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

/// One endpoint for each service that this host answers for, made at its first call: the address names it.
struct ServiceRouter {
    worker: Arc<RunWorker>,
    endpoints: Mutex<HashMap<String, HyperEndpoint>>,
}

impl ServiceRouter {
    fn endpoint(&self, path: &str) -> Result<HyperEndpoint, StepRefusal> {
        // paths that name none of ours get an endpoint that knows no other
        let named = path.split('/').find(|part| parse_service(part).is_some()).unwrap_or(NO_SERVICE);
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = endpoints.get(named) {
            return Ok(known.clone());
        }
        if endpoints.len() >= MOST_SERVICES {
            endpoints.clear();
        }
        let made = make_endpoint(&self.worker, named)?;
        endpoints.insert(named.to_owned(), made.clone());
        Ok(made)
    }
}

fn make_endpoint(worker: &Arc<RunWorker>, service: &str) -> Result<HyperEndpoint, StepRefusal> {
    let options = ServiceOptions::new()
        .inactivity_timeout(LONGEST_SILENCE)
        .abort_timeout(LONGEST_STEP)
        .retry_policy_initial_interval(FIRST_RETRY)
        .retry_policy_max_interval(LONGEST_RETRY)
        .retry_policy_max_attempts(MOST_ATTEMPTS)
        // what those who follow a run are told is in no journal
        .handler("follow", HandlerOptions::new().journal_retention(Duration::ZERO))
        .handler("run", HandlerOptions::new().workflow_retention(END_IS_KNOWN));
    let runs = SynthdevRun { worker: Arc::clone(worker), service: service.to_owned() };
    let named = named_service(runs)
        .ok_or_else(|| refusal(format!("the Restate server takes no service with the name {service}")))?;
    let mut endpoint = Endpoint::builder().bind(named.options(options));
    if let Some(key) = &worker.options.identity_key {
        endpoint = endpoint
            .identity_key(key)
            .map_err(|error| refusal(format!("the identity key of the server is none: {error}")))?;
    }
    Ok(HyperEndpoint::new(endpoint.build()))
}

#[derive(Clone)]
struct RoutedCalls(Arc<ServiceRouter>);

impl HyperService<Request<Incoming>> for RoutedCalls {
    type Response = <HyperEndpoint as HyperService<Request<Incoming>>>::Response;
    type Error = StepRefusal;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let endpoint = match self.0.endpoint(request.uri().path()) {
            Ok(endpoint) => endpoint,
            Err(refused) => return ready(Err(refused)),
        };
        let answered = endpoint.call(request).into_inner();
        ready(answered.map_err(|never| match never {}))
    }
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
    let router = Arc::new(ServiceRouter { worker: Arc::clone(&worker), endpoints: Mutex::default() });
    router.endpoint("")?;
    let connections = GracefulShutdown::new();
    let stopped = async {
        stop.await;
        worker.drain().await;
    };
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let calls = RoutedCalls(Arc::clone(&router));
                    let serving = http2::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), calls);
                    // others look at the address only to see whether this host lives
                    tokio::spawn(connections.watch(serving));
                }
                // such as too many open files: some are closed soon
                Err(_) => sleep(ACCEPT_AGAIN).await,
            },
            () = &mut stopped => break,
        }
    }
    drop(listener);
    let _ = timeout(LAST_ANSWERS, connections.shutdown()).await;
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
