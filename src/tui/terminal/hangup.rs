//! Detects that the terminal is gone. The kernel signals the leader of its session; a process that only has it open
//! sees it by `poll`, while every read returns at once.

use std::future::Future;

/// Which terminal is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WatchedTerminal {
    /// Standard input, or the one that the program was started in.
    Any,
    /// Standard input, if it is one.
    Stdin,
}

/// Ends when the terminal that keys come from has gone away. Without one, never.
#[cfg(target_os = "linux")]
pub(super) fn wait_hangup(watched: WatchedTerminal) -> impl Future<Output = ()> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        if linux::block_until_hangup(watched) {
            // the program ends already
            let _ = sender.send(());
        }
    });
    async move {
        if receiver.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn wait_hangup(_: WatchedTerminal) -> impl Future<Output = ()> {
    std::future::pending()
}

/// As far as it is known now.
pub(super) fn is_stdin_hung_up() -> bool {
    #[cfg(target_os = "linux")]
    return linux::is_stdin_hung_up();
    #[cfg(not(target_os = "linux"))]
    return false;
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, IsTerminal};
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{Mode, OFlags, open};
    use rustix::io::Errno;

    use super::WatchedTerminal;

    /// Waits for the end of the terminal. `false`: there is none, or that cannot be known.
    pub(super) fn block_until_hangup(watched: WatchedTerminal) -> bool {
        if io::stdin().is_terminal() {
            return is_hung_up(io::stdin(), None);
        }
        if watched == WatchedTerminal::Stdin {
            return false;
        }
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        open("/dev/tty", flags, Mode::empty()).is_ok_and(|terminal| is_hung_up(terminal, None))
    }

    pub(super) fn is_stdin_hung_up() -> bool {
        is_hung_up(io::stdin(), Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
    }

    /// Requests no events: then `poll` reports only a hangup.
    fn is_hung_up(terminal: impl AsFd, max_wait: Option<&Timespec>) -> bool {
        loop {
            let mut polled = [PollFd::new(&terminal, PollFlags::empty())];
            match poll(&mut polled, max_wait) {
                Ok(_) => return polled[0].revents().contains(PollFlags::HUP),
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}
