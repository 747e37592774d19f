//! The outside of declared ports: accepts what a command connects to in its own network, and carries it to the same port of
//! the machine's loopback.
//!
//! The listening sockets come from the sandbox before the command begins. Which port of the machine is meant says the kernel,
//! by the address to which a socket is bound, and only declared ones count.
//!
//! Each connection needs two open files of this process, and the history and the screen need files, too: all commands together
//! have a limited number of connections and of listeners, and each command has a share of the connections, so that no single
//! one keeps the others waiting. What is above it waits in the kernel's queues.

use std::collections::BTreeSet;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, copy_bidirectional};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, JoinSet};

/// Two for each port, for both kinds of addresses.
pub(super) const MOST_LISTENERS: usize = 32;

/// Connections of all commands at once. More of them wait.
const MOST_CONNECTIONS: usize = 128;

/// Connections of one command at once.
const MOST_CONNECTIONS_OF_COMMAND: usize = 32;

/// Listeners of all commands at once: eight commands with as many ports as a workflow may declare.
const MOST_LISTENERS_OF_ALL: usize = 8 * MOST_LISTENERS;

/// After an error of the system, as where no file can be opened any more.
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(target_os = "linux")]
const RECEIVED: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const RECEIVED: RecvFlags = RecvFlags::empty();

/// Serves the ports of one command. Dropping it ends all of its connections.
pub struct PortForwarder {
    task: AbortHandle,
    unanswered_ports: UnansweredPorts,
}

type UnansweredPorts = Arc<Mutex<BTreeSet<u16>>>;

/// What all forwarders of this process share.
static LIMITS: LazyLock<ForwarderLimits> = LazyLock::new(|| {
    ForwarderLimits::new(MOST_CONNECTIONS, MOST_CONNECTIONS_OF_COMMAND, MOST_LISTENERS_OF_ALL)
});

#[derive(Clone)]
struct ForwarderLimits {
    connections: Arc<Semaphore>,
    connections_of_command: usize,
    listeners: Arc<Semaphore>,
}

impl ForwarderLimits {
    fn new(connections: usize, connections_of_command: usize, listeners: usize) -> Self {
        Self {
            connections: Arc::new(Semaphore::new(connections)),
            connections_of_command,
            listeners: Arc::new(Semaphore::new(listeners)),
        }
    }

    fn for_command(&self) -> ConnectionLimits {
        let own = Arc::new(Semaphore::new(self.connections_of_command));
        ConnectionLimits { own, all: Arc::clone(&self.connections) }
    }
}

/// Of one command.
#[derive(Clone)]
struct ConnectionLimits {
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

impl ConnectionLimits {
    /// A connection holds both until it ends. The own one comes first: what waits for it keeps no other command waiting.
    async fn acquire(&self) -> Option<[OwnedSemaphorePermit; 2]> {
        let own = Arc::clone(&self.own).acquire_owned().await.ok()?;
        Some([own, Arc::clone(&self.all).acquire_owned().await.ok()?])
    }
}

impl PortForwarder {
    /// `control`: our end of the command's standard input. Needs a tokio runtime around it.
    ///
    /// # Errors
    /// The socket cannot be waited for.
    pub fn start(control: StdUnixStream, ports: BTreeSet<u16>) -> io::Result<Self> {
        Self::with_limits(LIMITS.clone(), control, ports)
    }

    fn with_limits(
        limits: ForwarderLimits,
        control: StdUnixStream,
        ports: BTreeSet<u16>,
    ) -> io::Result<Self> {
        control.set_nonblocking(true)?;
        let control = UnixStream::from_std(control)?;
        let unanswered = UnansweredPorts::default();
        let task =
            tokio::spawn(forward_ports(limits, control, ports, Arc::clone(&unanswered))).abort_handle();
        Ok(Self { task, unanswered_ports: unanswered })
    }

    /// One line that names the ports at which no server of this machine answered.
    pub fn unanswered_line(&self) -> Option<String> {
        super::denial::unanswered_ports_line(&lock_ports(&self.unanswered_ports))
    }
}

impl Drop for PortForwarder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward_ports(
    limits: ForwarderLimits,
    control: UnixStream,
    ports: BTreeSet<u16>,
    unanswered: UnansweredPorts,
) {
    let most = (2 * ports.len()).min(MOST_LISTENERS);
    let permits = u32::try_from(most).unwrap_or(u32::MAX);
    // before they are received: until then they are no open files of this process
    let Ok(_permits) = limits.listeners.acquire_many(permits).await else { return };
    let Ok(received) = control.async_io(Interest::READABLE, || receive_descriptors(&control)).await else {
        return;
    };
    drop(control);
    let connections = limits.for_command();
    let mut served = JoinSet::new();
    for (listener, port) in received.into_iter().filter_map(|file| checked_listener(file, &ports)).take(most)
    {
        served.spawn(serve_listener(listener, port, connections.clone(), Arc::clone(&unanswered)));
    }
    while served.join_next().await.is_some() {}
}

fn receive_descriptors(control: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_LISTENERS))];
    let mut received = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(control, &mut [IoSliceMut::new(&mut byte)], &mut received, RECEIVED)?;
    let files = received.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    Ok(files.flatten().collect())
}

/// `None`: it is no socket at a declared port of a loopback.
fn checked_listener(file: OwnedFd, ports: &BTreeSet<u16>) -> Option<(AsyncFd<TcpListener>, u16)> {
    let listener = TcpListener::from(file);
    let address = listener.local_addr().ok().filter(|address| address.ip().is_loopback())?;
    let port = address.port();
    listener.set_nonblocking(true).ok().filter(|()| ports.contains(&port))?;
    Some((watch_listener(listener).ok()?, port))
}

/// Tokio's own listener cannot be waited for without accepting.
#[expect(
    deprecated,
    reason = "what replaces it needs `unsafe`; the file of a std listener is its own and does not change"
)]
fn watch_listener(listener: TcpListener) -> io::Result<AsyncFd<TcpListener>> {
    AsyncFd::with_interest(listener, Interest::READABLE)
}

async fn serve_listener(
    listener: AsyncFd<TcpListener>,
    port: u16,
    connections: ConnectionLimits,
    unanswered: UnansweredPorts,
) {
    let mut open = JoinSet::new();
    loop {
        let Ok(mut waiting) = listener.readable().await else { return };
        // an accepted connection is an open file already; a listener to which nothing connects holds no permit
        let Some(permits) = connections.acquire().await else { return };
        let inside = match waiting.try_io(|listener| accept_connection(listener.get_ref())) {
            Ok(Ok(inside)) => inside,
            Ok(Err(_)) => {
                drop(permits);
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Err(_) => continue,
        };
        let unanswered = Arc::clone(&unanswered);
        open.spawn(async move {
            relay_connection(inside, port, &unanswered).await;
            drop(permits);
        });
        while open.try_join_next().is_some() {}
    }
}

fn accept_connection(listener: &TcpListener) -> io::Result<TcpStream> {
    let (inside, _) = listener.accept()?;
    inside.set_nonblocking(true)?;
    // it has the options of its listener, and with this one `close` would wait for the other side
    set_socket_linger(&inside, None)?;
    TcpStream::from_std(inside)
}

async fn relay_connection(mut inside: TcpStream, port: u16, unanswered: &Mutex<BTreeSet<u16>>) {
    let mut outside = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
    if outside.is_err() {
        outside = TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await;
    }
    let Ok(mut outside) = outside else {
        lock_ports(unanswered).insert(port);
        // the command gets an error, not an end of file
        let _ = inside.set_zero_linger();
        return;
    };
    let _ = inside.set_nodelay(true).and_then(|()| outside.set_nodelay(true));
    let _ = copy_bidirectional(&mut inside, &mut outside).await;
}

fn lock_ports(ports: &Mutex<BTreeSet<u16>>) -> MutexGuard<'_, BTreeSet<u16>> {
    ports.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::os::fd::{AsFd, BorrowedFd};

    use futures_util::FutureExt;
    use rustix::net::sockopt::socket_linger;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener as TokioListener;

    use super::*;

    fn listen(address: &str) -> TcpListener {
        TcpListener::bind(address).unwrap()
    }

    fn send(sender: &StdUnixStream, files: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_LISTENERS))];
        let mut sent = SendAncillaryBuffer::new(&mut space);
        assert!(sent.push(SendAncillaryMessage::ScmRights(files)));
        sendmsg(sender, &[IoSlice::new(b"x")], &mut sent, SendFlags::empty()).unwrap();
    }

    /// Whatever is ready has been done after it.
    async fn yield_to_others() {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn only_listeners_at_declared_ports_of_a_loopback_are_served() {
        // both sides share one network here: the inside has the addresses of 127.0.0.2, the outside the real ones
        let server = TokioListener::bind("127.0.0.1:0").await.unwrap();
        let declared = server.local_addr().unwrap().port();
        let (inside, other) = (listen(&format!("127.0.0.2:{declared}")), listen("127.0.0.2:0"));
        // bound, so that no other process takes it, and not listened at
        let bound = tokio::net::TcpSocket::new_v4().unwrap();
        bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let silent = bound.local_addr().unwrap().port();
        let inside_silent = listen(&format!("127.0.0.2:{silent}"));
        let (address, other_address) = (inside.local_addr().unwrap(), other.local_addr().unwrap());
        let (control, sender) = StdUnixStream::pair().unwrap();
        let forwarder = PortForwarder::start(control, BTreeSet::from([declared, silent])).unwrap();
        let no_socket = std::fs::File::open("/dev/null").unwrap();
        send(&sender, &[no_socket.as_fd(), other.as_fd(), inside.as_fd(), inside_silent.as_fd()]);
        let silent_address = inside_silent.local_addr().unwrap();
        drop((inside, other, inside_silent));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"asked").await.unwrap();
        client.shutdown().await.unwrap();
        let (mut served, _) = server.accept().await.unwrap();
        let mut asked = String::new();
        served.read_to_string(&mut asked).await.unwrap();
        served.write_all(b"answered").await.unwrap();
        drop(served);
        let mut answered = String::new();
        client.read_to_string(&mut answered).await.unwrap();
        assert_eq!((asked.as_str(), answered.as_str()), ("asked", "answered"));
        // nothing holds the undeclared one open: it has been closed, not served
        assert!(TcpStream::connect(other_address).await.is_err());
        assert_eq!(forwarder.unanswered_line(), None);
        let mut client = TcpStream::connect(silent_address).await.unwrap();
        assert!(client.read(&mut [0]).await.is_err(), "reset");
        assert!(forwarder.unanswered_line().unwrap().contains(&silent.to_string()));
        let mut open = TcpStream::connect(address).await.unwrap();
        let (mut served, _) = server.accept().await.unwrap();
        drop(forwarder);
        assert_eq!(open.read(&mut [0]).await.unwrap_or(0), 0, "it ends with the command");
        assert_eq!(served.read(&mut [0]).await.unwrap_or(0), 0);
        assert!(TcpStream::connect(address).await.is_err());
    }
    /// Of all forwarders together, and before it is accepted: it waits in the queue of the kernel, not in an open file.
    #[tokio::test]
    async fn a_connection_above_the_limit_is_accepted_after_another_has_ended() {
        let server = TokioListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let limits = ForwarderLimits::new(2, 2, 4);
        let mut forwarders = Vec::new();
        let mut insides = Vec::new();
        for host in ["127.0.0.3", "127.0.0.4"] {
            let (control, sender) = StdUnixStream::pair().unwrap();
            let forwarder =
                PortForwarder::with_limits(limits.clone(), control, BTreeSet::from([port])).unwrap();
            let inside = listen(&format!("{host}:{port}"));
            send(&sender, &[inside.as_fd()]);
            forwarders.push(forwarder);
            insides.push(inside);
        }
        let addresses: Vec<_> = insides.iter().map(|inside| inside.local_addr().unwrap()).collect();
        let mut open = Vec::new();
        for address in &addresses {
            let client = TcpStream::connect(address).await.unwrap();
            open.push((client, server.accept().await.unwrap()));
        }
        assert_eq!((limits.connections.available_permits(), limits.listeners.available_permits()), (0, 0));
        let third = TcpStream::connect(addresses[1]).await.unwrap();
        yield_to_others().await;
        let (taken, from) = insides[1].accept().expect("it still waits in the queue");
        assert_eq!(from, third.local_addr().unwrap());
        drop((taken, third));
        let mut third = TcpStream::connect(addresses[1]).await.unwrap();
        yield_to_others().await;
        assert!(server.accept().now_or_never().is_none());
        drop(open.remove(0));
        let (mut served, _) = server.accept().await.unwrap();
        served.write_all(b"x").await.unwrap();
        assert_eq!(third.read(&mut [0]).await.unwrap(), 1);
        // what a command held is free after it
        drop((forwarders, open));
        let all = limits.listeners.acquire_many(4).await;
        assert!(all.is_ok() && limits.connections.acquire_many(2).await.is_ok());
    }

    /// The forwarder of one command that listens at this host of its own.
    fn forward_from(
        limits: &ForwarderLimits,
        host: &str,
        port: u16,
    ) -> (PortForwarder, std::net::SocketAddr) {
        let (control, sender) = StdUnixStream::pair().unwrap();
        let forwarder = PortForwarder::with_limits(limits.clone(), control, BTreeSet::from([port])).unwrap();
        let inside = listen(&format!("{host}:{port}"));
        send(&sender, &[inside.as_fd()]);
        (forwarder, inside.local_addr().unwrap())
    }

    #[tokio::test]
    async fn a_command_that_has_its_share_leaves_the_rest_to_others() {
        let server = TokioListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let limits = ForwarderLimits::new(3, 2, 8);
        let start = |host: &str| forward_from(&limits, host, port);
        let (_greedy, greedy_address) = start("127.0.0.7");
        let mut open = Vec::new();
        for _ in 0..4 {
            open.push(TcpStream::connect(greedy_address).await.unwrap());
        }
        let held = [server.accept().await.unwrap(), server.accept().await.unwrap()];
        yield_to_others().await;
        assert!(server.accept().now_or_never().is_none(), "no more than its share");
        let (_other, other_address) = start("127.0.0.8");
        let _client = TcpStream::connect(other_address).await.unwrap();
        server.accept().await.unwrap();
        drop((held, open));
    }

    #[tokio::test]
    async fn listeners_above_the_limit_are_received_after_those_of_another_command() {
        let server = TokioListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let limits = ForwarderLimits::new(2, 2, 2);
        let start = |host: &str| forward_from(&limits, host, port);
        let (first, first_address) = start("127.0.0.5");
        let _first = (TcpStream::connect(first_address).await.unwrap(), server.accept().await.unwrap());
        let (_second, second_address) = start("127.0.0.6");
        let _waiting = TcpStream::connect(second_address).await.unwrap();
        yield_to_others().await;
        assert!(server.accept().now_or_never().is_none());
        drop(first);
        server.accept().await.unwrap();
    }

    #[tokio::test]
    async fn no_close_waits_because_of_an_option_of_the_listener() {
        let inside = listen("127.0.0.1:0");
        set_socket_linger(&inside, Some(Duration::from_secs(60))).unwrap();
        let _client = std::net::TcpStream::connect(inside.local_addr().unwrap()).unwrap();
        let accepted = accept_connection(&inside).unwrap();
        assert_eq!(socket_linger(&accepted).unwrap(), None);
    }
}
