//! The outside of declared ports: accepts what a command connects to in its own network, and carries it to the same port of
//! the machine's loopback.
//!
//! The listening sockets come from the sandbox before the command begins. Which port of the machine is meant says the kernel,
//! by the address to which a socket is bound, and only declared ones count.

use std::collections::BTreeSet;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::{Interest, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

/// Two for each port, for both kinds of addresses.
pub(super) const MOST_LISTENERS: usize = 32;

/// Connections of one command at once. More of them wait.
const MOST_CONNECTIONS: usize = 128;

/// After an error of the system, as where no file can be opened any more.
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(target_os = "linux")]
const RECEIVED: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const RECEIVED: RecvFlags = RecvFlags::empty();

/// Serves the ports of one command. Dropping it ends all of its connections.
pub struct PortForwarder {
    task: AbortHandle,
    unanswered: Unanswered,
}

type Unanswered = Arc<Mutex<BTreeSet<u16>>>;

impl PortForwarder {
    /// `control`: our end of the command's standard input. Needs a tokio runtime around it.
    ///
    /// # Errors
    /// The socket cannot be waited for.
    pub fn start(control: StdUnixStream, ports: BTreeSet<u16>) -> io::Result<Self> {
        control.set_nonblocking(true)?;
        let control = UnixStream::from_std(control)?;
        let unanswered = Unanswered::default();
        let task = tokio::spawn(forward(control, ports, Arc::clone(&unanswered))).abort_handle();
        Ok(Self { task, unanswered })
    }

    /// One line for ports at which nothing of this machine has answered.
    pub fn told(&self) -> Option<String> {
        super::denial::unanswered(&lock(&self.unanswered))
    }
}

impl Drop for PortForwarder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(control: UnixStream, ports: BTreeSet<u16>, unanswered: Unanswered) {
    let Ok(received) = control.async_io(Interest::READABLE, || receive(&control)).await else { return };
    drop(control);
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut served = JoinSet::new();
    for (listener, port) in received.into_iter().filter_map(|file| listener(file, &ports)) {
        served.spawn(serve(listener, port, Arc::clone(&connections), Arc::clone(&unanswered)));
    }
    while served.join_next().await.is_some() {}
}

fn receive(control: &UnixStream) -> io::Result<Vec<OwnedFd>> {
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
fn listener(file: OwnedFd, ports: &BTreeSet<u16>) -> Option<(TcpListener, u16)> {
    let listener = std::net::TcpListener::from(file);
    let address = listener.local_addr().ok().filter(|address| address.ip().is_loopback())?;
    let port = address.port();
    listener.set_nonblocking(true).ok().filter(|()| ports.contains(&port))?;
    Some((TcpListener::from_std(listener).ok()?, port))
}

async fn serve(listener: TcpListener, port: u16, connections: Arc<Semaphore>, unanswered: Unanswered) {
    let mut open = JoinSet::new();
    loop {
        let Ok((inside, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        let unanswered = Arc::clone(&unanswered);
        open.spawn(async move {
            carry(inside, port, &unanswered).await;
            drop(permit);
        });
        while open.try_join_next().is_some() {}
    }
}

async fn carry(mut inside: TcpStream, port: u16, unanswered: &Mutex<BTreeSet<u16>>) {
    let mut outside = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
    if outside.is_err() {
        outside = TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await;
    }
    let Ok(mut outside) = outside else {
        lock(unanswered).insert(port);
        // the command is told of an error, not of an end
        let _ = inside.set_zero_linger();
        return;
    };
    let _ = inside.set_nodelay(true).and_then(|()| outside.set_nodelay(true));
    let _ = copy_bidirectional(&mut inside, &mut outside).await;
}

fn lock(ports: &Mutex<BTreeSet<u16>>) -> MutexGuard<'_, BTreeSet<u16>> {
    ports.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::os::fd::AsFd;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn only_listeners_at_declared_ports_of_a_loopback_are_served() {
        let listen = |address: &str| std::net::TcpListener::bind(address).unwrap();
        // the same network stands for both: the one side has the addresses of 127.0.0.2, the other the true ones
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let declared = server.local_addr().unwrap().port();
        let (inside, other) = (listen(&format!("127.0.0.2:{declared}")), listen("127.0.0.2:0"));
        // bound, so that nobody else takes it, and not listened at
        let bound = tokio::net::TcpSocket::new_v4().unwrap();
        bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let silent = bound.local_addr().unwrap().port();
        let inside_silent = listen(&format!("127.0.0.2:{silent}"));
        let (address, other_address) = (inside.local_addr().unwrap(), other.local_addr().unwrap());
        let (control, sender) = StdUnixStream::pair().unwrap();
        let forwarder = PortForwarder::start(control, BTreeSet::from([declared, silent])).unwrap();
        let no_socket = std::fs::File::open("/dev/null").unwrap();
        {
            let files = [no_socket.as_fd(), other.as_fd(), inside.as_fd(), inside_silent.as_fd()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_LISTENERS))];
            let mut sent = SendAncillaryBuffer::new(&mut space);
            assert!(sent.push(SendAncillaryMessage::ScmRights(&files)));
            sendmsg(&sender, &[IoSlice::new(b"x")], &mut sent, SendFlags::empty()).unwrap();
        }
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
        assert_eq!(forwarder.told(), None);
        let mut client = TcpStream::connect(silent_address).await.unwrap();
        assert!(client.read(&mut [0]).await.is_err(), "reset");
        assert!(forwarder.told().unwrap().contains(&silent.to_string()));
        let mut open = TcpStream::connect(address).await.unwrap();
        let (mut served, _) = server.accept().await.unwrap();
        drop(forwarder);
        assert_eq!(open.read(&mut [0]).await.unwrap_or(0), 0, "it ends with the command");
        assert_eq!(served.read(&mut [0]).await.unwrap_or(0), 0);
        assert!(TcpStream::connect(address).await.is_err());
    }
}
