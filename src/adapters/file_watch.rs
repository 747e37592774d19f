//! Notifies about writes to a file, for callers that must not poll.
//!
//! Linux notifies without periodic wake-ups. On other systems there is no notification: the caller polls.

use std::path::Path;

use futures_util::stream::BoxStream;

/// An item after each burst of writes to the file, or to SQLite's log beside it. The watch begins with the first poll;
/// the stream ends where the system cannot watch.
pub fn watch_file(path: &Path) -> BoxStream<'static, ()> {
    #[cfg(target_os = "linux")]
    return linux::watch_file(path);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        Box::pin(futures_util::stream::empty())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::io::{self, ErrorKind};
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use futures_util::stream::{self, BoxStream};
    use rustix::fs::inotify::{CreateFlags, ReadFlags, WatchFlags, add_watch, init};
    use tokio::net::unix::pipe::Receiver;
    use tokio::time::{Instant, sleep_until};

    /// Shortest time between two notifications, for a file that is written all the time.
    const APART: Duration = Duration::from_millis(500);

    struct InotifyWatcher {
        /// It is read like a pipe.
        events: Receiver,
        name: OsString,
        /// No notification before this time.
        quiet_until: Instant,
    }

    enum FileWatchStage {
        New(PathBuf),
        Listens(InotifyWatcher),
    }

    pub(super) fn watch_file(path: &Path) -> BoxStream<'static, ()> {
        Box::pin(stream::unfold(FileWatchStage::New(path.to_owned()), |stage| async {
            let ear = match stage {
                FileWatchStage::New(path) => InotifyWatcher::wait_until_created(&path).await,
                FileWatchStage::Listens(ear) => ear.wait_for_write().await,
            };
            Some(((), FileWatchStage::Listens(ear.ok()?)))
        }))
    }

    impl InotifyWatcher {
        /// When the file was written for the first time. Its directory may have to be made before that.
        async fn wait_until_created(path: &Path) -> io::Result<Self> {
            let nowhere = || io::Error::from(ErrorKind::NotFound);
            let directory = path.parent().ok_or_else(nowhere)?;
            if let Ok(ear) = Self::new(path) {
                return ear.wait_for_write().await;
            }
            loop {
                let missing = directory.ancestors().take_while(|part| !part.is_dir()).last();
                let Some(missing) = missing else { break };
                let ear = Self::new(missing)?;
                // it may have been created before the watch began
                if !missing.is_dir() {
                    ear.wait_for_write().await?;
                }
            }
            Self::new(path)
        }

        fn new(path: &Path) -> io::Result<Self> {
            let (directory, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
            let fd = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
            add_watch(&fd, directory, WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO)?;
            let events = Receiver::from_owned_fd_unchecked(fd)?;
            Ok(Self { events, name: name.to_owned(), quiet_until: Instant::now() })
        }

        async fn wait_for_write(mut self) -> io::Result<Self> {
            sleep_until(self.quiet_until).await;
            loop {
                self.events.readable().await?;
                if self.drain_events()? {
                    self.quiet_until = Instant::now() + APART;
                    return Ok(self);
                }
            }
        }

        /// Takes all that is there; whether any of it was about the file.
        fn drain_events(&self) -> io::Result<bool> {
            let mut room = [0; 4 << 10];
            let mut heard = false;
            loop {
                match self.events.try_read(&mut room) {
                    Ok(length) => heard |= mentions_file(&room[..length], self.name.as_bytes()),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(heard),
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Whether one of the events is about the file of that name, or its log. Each is four numbers, what has happened the second
    /// of them and the length of the name the last, and the name, filled up with zeros.
    fn mentions_file(mut events: &[u8], name: &[u8]) -> bool {
        const HEAD: usize = 16;
        let number = |head: &[u8], at: usize| head[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
        while let Some((head, rest)) = events.split_at_checked(HEAD) {
            // too many to be kept: any of them may have been
            if number(head, 4) & ReadFlags::QUEUE_OVERFLOW.bits() != 0 {
                return true;
            }
            let length = usize::try_from(number(head, 12)).unwrap_or(usize::MAX);
            let Some((file, rest)) = rest.split_at_checked(length) else { return false };
            // SQLite makes the index of its log anew whenever it opens a file, also to read
            let file = file.split(|byte| *byte == 0).next().unwrap_or_default();
            if file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest == b"-wal") {
                return true;
            }
            events = rest;
        }
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use futures_util::{FutureExt, StreamExt};

    #[tokio::test]
    async fn writes_to_the_file_and_its_log_are_heard_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("runs.sqlite");
        let mut stirs = super::watch_file(&file);
        assert!(stirs.next().now_or_never().is_none());
        for name in ["runs.sqlite", "runs.sqlite-wal", "runs.sqlite"] {
            fs::write(directory.path().join("settings.json"), "x").unwrap();
            fs::write(directory.path().join("runs.sqlite-shm"), "x").unwrap();
            assert!(stirs.next().now_or_never().is_none(), "{name}");
            fs::write(directory.path().join(name), "y").unwrap();
            fs::write(directory.path().join(name), "z").unwrap();
            assert_eq!(stirs.next().await, Some(()), "{name}");
        }
        // its directory is made later
        let deep = directory.path().join("share/of/it");
        let mut stirs = super::watch_file(&deep.join("runs.sqlite"));
        assert!(stirs.next().now_or_never().is_none());
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("runs.sqlite"), "x").unwrap();
        assert_eq!(stirs.next().await, Some(()));
        fs::write(deep.join("runs.sqlite"), "y").unwrap();
        assert_eq!(stirs.next().await, Some(()));
    }
}
