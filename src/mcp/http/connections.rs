//! The connections of the server over HTTP: a queue for those that come at once, and a bound. A connection beyond the
//! bound gets status 429; none is left without an answer.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::endpoint::McpHttpEndpoint;
use super::response_body;

/// Connections that are served at once, where the process may open enough files.
const MOST_SERVED: usize = 2048;
const FEWEST_SERVED: usize = 16;
/// Connections that are refused at once; further ones wait in the backlog.
const REFUSED: usize = 64;
/// Connections that the system holds until they are taken. Its own limit may be lower (`net.core.somaxconn`).
const BACKLOG: u32 = 4096;
/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(10);
/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 64 << 10;
/// How long a client that is refused may take to send its request and to read the answer.
const REFUSAL: Duration = Duration::from_secs(2);
/// After a connection could not be taken (there are too many open files, mostly).
const BREATH: Duration = Duration::from_millis(100);

/// How many connections are served at once by a process that may have so many open files: half of them, so that runs
/// have the rest.
pub(super) fn most_served(open_files: u64) -> usize {
    usize::try_from(open_files / 2).unwrap_or(MOST_SERVED).clamp(FEWEST_SERVED, MOST_SERVED)
}

/// # Errors
/// The address cannot be bound.
pub(super) fn listen_on(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // elsewhere it would let two servers share an address
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Takes connections until it is dropped, and serves `most` of them at once.
pub(super) async fn accept_connections(
    listener: &TcpListener,
    most: usize,
    endpoint: &Arc<McpHttpEndpoint>,
    ending: &watch::Sender<bool>,
    connections: &mut JoinSet<()>,
) {
    let (served, refused) = (Arc::new(Semaphore::new(most)), Arc::new(Semaphore::new(REFUSED)));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                if let Ok(place) = Arc::clone(&served).try_acquire_owned() {
                    let served = serve_connection(stream, Arc::clone(endpoint), ending.subscribe());
                    connections.spawn(async move {
                        served.await;
                        drop(place);
                    });
                } else if let Ok(place) = Arc::clone(&refused).acquire_owned().await {
                    connections.spawn(async move {
                        let _ = tokio::time::timeout(REFUSAL, refuse_connection(stream, most)).await;
                        drop(place);
                    });
                }
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
    let service = service_fn(move |request| {
        let endpoint = Arc::clone(&endpoint);
        async move { Ok::<_, Infallible>(endpoint.answer_request(request).await) }
    });
    let http = http_rules();
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

/// Reads the request before it answers: what is unread when a connection is closed resets it, and the answer is lost.
async fn refuse_connection(stream: TcpStream, most: usize) {
    let service = service_fn(|request: Request<Incoming>| async move {
        let mut body = request.into_body();
        while let Some(Ok(_)) =
            std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await
        {}
        let text = format!("Too many connections: {most} are served at once; try again in a second");
        Ok::<_, Infallible>(response_body::busy_response(&text))
    });
    let mut http = http_rules();
    if let Err(error) = http.keep_alive(false).serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection that was refused ended badly");
    }
}

fn http_rules() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_header_size(LONGEST_HEAD);
    http
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_open_files_are_for_connections() {
        for (files, most) in [(0, 16), (64, 32), (1024, 512), (4096, 2048), (u64::MAX, 2048)] {
            assert_eq!(most_served(files), most, "{files}");
        }
    }
}
