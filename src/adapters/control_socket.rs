//! A request channel between processes of the same user: a socket in a private directory, one line to it and any number
//! of lines back.
//!
//! The requester waits as long as it likes; a process that ends in between gives no answer. Works on Unix only. Does
//! not interpret requests.

use std::path::{Path, PathBuf};

use futures_util::stream::BoxStream;

use synthdev_ports::run_store::DriverRequest;

/// Where the process of this name listens, in the directory of those that do. Addresses are short on many systems: the
/// beginning of the name is enough.
pub fn socket_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(name.get(..SHORT_NAME).unwrap_or(name)).with_extension(EXTENSION)
}

/// With what the name of the process begins that a file of that directory is the socket of.
pub fn socket_owner(file: &Path) -> Option<&str> {
    let socket = file.extension().is_some_and(|extension| extension == EXTENSION);
    file.file_stem().filter(|_| socket)?.to_str()
}

const EXTENSION: &str = "control";
const SHORT_NAME: usize = 16;

/// Receives requests at this path until it is dropped. Empty on systems without Unix sockets. Needs the async runtime.
pub fn listen_for_requests(place: PathBuf) -> BoxStream<'static, DriverRequest> {
    #[cfg(unix)]
    return unix::listen_for_requests(place);
    #[cfg(not(unix))]
    {
        let _ = place;
        Box::pin(futures_util::stream::empty())
    }
}

/// Sends a request to the process that listens there: its replies, until it closes or ends. Empty if there is none.
pub fn send_request(place: PathBuf, text: String) -> BoxStream<'static, String> {
    #[cfg(unix)]
    return unix::send_request(place, text);
    #[cfg(not(unix))]
    {
        let _ = (place, text);
        Box::pin(futures_util::stream::empty())
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, File};
    use std::io;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use futures_util::stream::{self, BoxStream, FuturesUnordered, StreamExt};
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
    use tokio::net::{UnixListener, UnixStream};
    use tokio::sync::mpsc;
    use tokio::time::timeout;

    use synthdev_ports::run_store::DriverRequest;

    /// Most bytes of a request or its answer.
    const LONGEST: u64 = 64 << 10;
    /// How long a client may stay silent after it connects.
    const PATIENCE: Duration = Duration::from_secs(5);
    /// Most requests that are read at once; further ones wait.
    const ASKING: usize = 64;
    /// Bytes of an address that every system takes.
    const SHORT: usize = 100;

    /// Removes the socket when the listener is dropped.
    struct ControlListener {
        listener: UnixListener,
        socket_path: PathBuf,
    }

    impl Drop for ControlListener {
        fn drop(&mut self) {
            // a socket that stays has no listener behind it; the next process removes it
            let _ = fs::remove_file(&self.socket_path);
        }
    }

    pub(super) fn listen_for_requests(place: PathBuf) -> BoxStream<'static, DriverRequest> {
        let Ok(ear) = bind_socket(place) else { return stream::empty().boxed() };
        let state = (ear, FuturesUnordered::new());
        stream::unfold(state, |(ear, mut asking)| async {
            loop {
                tokio::select! {
                    Some(heard) = asking.next() => if let Some(request) = heard {
                        return Some((request, (ear, asking)));
                    },
                    caller = ear.listener.accept(), if asking.len() < ASKING => match caller {
                        Ok((stream, _)) => asking.push(read_request(stream)),
                        // out of descriptors, for now
                        Err(_) => tokio::time::sleep(PATIENCE).await,
                    },
                }
            }
        })
        .boxed()
    }

    fn bind_socket(place: PathBuf) -> io::Result<ControlListener> {
        let listener = with_short_path(&place, |address| UnixListener::bind(address))?;
        Ok(ControlListener { listener, socket_path: place })
    }

    /// Reads a request; replies go through `answers`. A reply without a connected requester is dropped.
    async fn read_request(stream: UnixStream) -> Option<DriverRequest> {
        let (from, mut to) = stream.into_split();
        let mut text = String::new();
        let mut from = BufReader::new(from.take(LONGEST));
        timeout(PATIENCE, from.read_line(&mut text)).await.ok()?.ok()?;
        let text = text.strip_suffix('\n')?.to_owned();
        let (answers, mut told) = mpsc::unbounded_channel::<String>();
        tokio::spawn(async move {
            let mut rest = Vec::new();
            let telling = async {
                while let Some(told) = told.recv().await {
                    timeout(PATIENCE, to.write_all(format!("{told}\n").as_bytes())).await.ok()?.ok()?;
                }
                Some(())
            };
            tokio::select! {
                _ = telling => {}
                // the requester has gone; the sender of the replies sees that
                _ = from.read_to_end(&mut rest) => {}
            }
        });
        Some(DriverRequest { text, answers })
    }

    pub(super) fn send_request(place: PathBuf, text: String) -> BoxStream<'static, String> {
        let asked = stream::once(async move {
            let stream =
                with_short_path(&place, |address| std::os::unix::net::UnixStream::connect(address)).ok()?;
            stream.set_nonblocking(true).ok()?;
            let (from, mut to) = UnixStream::from_std(stream).ok()?.into_split();
            to.write_all(format!("{text}\n").as_bytes()).await.ok()?;
            // both directions stay open: a closed one means that the client has gone
            Some((BufReader::new(from.take(LONGEST)), to))
        });
        let asked = asked.filter_map(std::future::ready).boxed();
        asked
            .flat_map(|ways| {
                stream::unfold(ways, |(mut from, to)| async {
                    let mut told = String::new();
                    from.read_line(&mut told).await.ok()?;
                    Some((told.strip_suffix('\n')?.to_owned(), (from, to)))
                })
                .boxed()
            })
            .boxed()
    }

    /// A long path is no address: the directory is named by its descriptor then, where that can be done.
    fn with_short_path<T>(place: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        if place.as_os_str().len() <= SHORT {
            return act(place);
        }
        let directory = File::open(place.parent().unwrap_or(place))?;
        let number = std::os::fd::AsRawFd::as_raw_fd(&directory);
        act(&Path::new("/proc/self/fd").join(number.to_string()).join(place.file_name().unwrap_or_default()))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    #[tokio::test]
    async fn what_is_asked_is_answered_as_long_as_somebody_listens() {
        let said = |place: &Path, text: &str| {
            send_request(place.to_owned(), text.to_owned()).collect::<Vec<String>>()
        };
        let directory = tempfile::tempdir().unwrap();
        for deep in ["", &"deep/".repeat(30)] {
            let directory = directory.path().join(deep);
            std::fs::create_dir_all(&directory).unwrap();
            let place = socket_path(&directory, "me");
            assert!(said(&place, "who?").await.is_empty(), "nobody listens");
            let mut asked = listen_for_requests(place.clone());
            let answering = tokio::spawn(async move {
                for words in [&["me", "and now all"][..], &["me"], &[]] {
                    let DriverRequest { text, answers } = asked.next().await.unwrap();
                    assert_eq!(text, "who?");
                    words.iter().for_each(|word| answers.send((*word).to_owned()).unwrap());
                }
                // the server does not wait for a client that no longer waits
                let DriverRequest { answers, .. } = asked.next().await.unwrap();
                answers.send("wait".to_owned()).unwrap();
                answers.closed().await;
            });
            assert!(place.exists());
            // a silent client does not block others
            let silent = tokio::net::UnixStream::connect(&place).await;
            assert_eq!(silent.is_ok(), deep.is_empty(), "a long path is no address");
            assert_eq!(said(&place, "who?\nand more").await, ["me", "and now all"]);
            let told = futures_util::future::join(said(&place, "who?"), said(&place, "who?")).await;
            let mut told = [told.0, told.1];
            told.sort();
            assert_eq!(told, [vec![], vec!["me".to_owned()]]);
            let mut gone = send_request(place.clone(), "who?".to_owned());
            assert_eq!(gone.next().await.as_deref(), Some("wait"));
            drop(gone);
            answering.await.unwrap();
            assert!(!place.exists(), "what is left of it");
        }
    }

    #[test]
    fn a_socket_tells_whose_it_is() {
        let place = socket_path(Path::new("/x"), "me");
        assert_eq!((place.to_str(), socket_owner(&place)), (Some("/x/me.control"), Some("me")));
        assert_eq!(socket_owner(Path::new("/x/me")), None);
    }
}
